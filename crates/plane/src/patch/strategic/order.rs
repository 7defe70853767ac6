//! The order of a merged list: elements of the patch in the patch's order, the others kept in their place.

use serde_json::Value;

use super::super::PatchError;
use super::{go_print, no_merge_key};

/// A list as Go prints it with `%v`.
pub(super) fn go_list(elements: &[Value]) -> String {
    let elements: Vec<_> = elements.iter().map(go_print).collect();
    format!("[{}]", elements.join(" "))
}

/// How two elements are recognised as the same: by a key, or as scalars.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) key: Option<&'a str>,
}

impl Order<'_> {
    pub(super) fn same(self, a: &Value, b: &Value) -> bool {
        match self.key {
            Some(key) => matches!((a.get(key), b.get(key)), (Some(a), Some(b)) if a == b),
            None => a == b,
        }
    }

    fn place(self, list: &[Value], value: &Value) -> Option<usize> {
        list.iter().position(|other| self.same(other, value))
    }

    /// Brings `merged` in order: what `wanted` has in that order, the rest as in `live`, both woven as in `live`.
    pub(super) fn normalise(
        self,
        merged: Vec<Value>,
        wanted: &[Value],
        live: &[Value],
    ) -> Result<Vec<Value>, PatchError> {
        if let Some(key) = self.key
            && let Some(Value::Object(keyless)) =
                merged.iter().chain(wanted).find(|v| v.is_object() && v.get(key).is_none())
        {
            return Err(no_merge_key(keyless, key));
        }
        let (mut right, mut left): (Vec<_>, Vec<_>) =
            merged.into_iter().partition(|value| self.place(wanted, value).is_some());
        right.sort_by_key(|value| self.place(wanted, value));
        left.sort_by_key(|value| self.place(live, value));
        let mut woven = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        loop {
            let left_first = match (left.peek(), right.peek()) {
                (None, None) => return Ok(woven),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (Some(l), Some(r)) => {
                    matches!((self.place(live, l), self.place(live, r)), (Some(l), Some(r)) if l < r)
                }
            };
            woven.extend(if left_first { left.next() } else { right.next() });
        }
    }
}
