//! The three walks of server-side apply over typed values: merge, compare, remove.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::set::{Element, FieldSet};
use super::typed::{Shape, Typed};

/// The live value with the applied one merged into it. `None` where neither leaves anything.
pub(super) fn merge(of: Typed<'_>, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    let either = applied.or(live)?;
    // Where the two have different shapes the applied value decides.
    let shape = of.shape(match (live, applied) {
        (Some(live), Some(Value::Null)) => live,
        _ => either,
    });
    if shape == Shape::Leaf || (nothing(live) && nothing(applied)) {
        return applied.or(live).cloned();
    }
    match shape {
        Shape::Map => {
            let (old, new) = (object(live), object(applied));
            if old.is_none() && new.is_none() {
                return applied.or(live).cloned();
            }
            let mut out = Map::new();
            let empty = Map::new();
            let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
            for (name, value) in old {
                let field = of.field(name).unwrap_or(Typed::Deduced);
                out.extend(merge(field, Some(value), new.get(name)).map(|v| (name.clone(), v)));
            }
            for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                let field = of.field(name).unwrap_or(Typed::Deduced);
                out.extend(merge(field, None, Some(value)).map(|v| (name.clone(), v)));
            }
            (!out.is_empty()).then_some(Value::Object(out))
        }
        _ => {
            let out = merge_list(of, array(live), array(applied));
            (!out.is_empty()).then_some(Value::Array(out))
        }
    }
}

/// Applied elements take the order of the request, the others keep their place relative to the live list.
fn merge_list(of: Typed<'_>, live: &[Value], applied: &[Value]) -> Vec<Value> {
    let name = |value: &Value| of.name_element(value).ok();
    let left: Vec<(Element, &Value)> = live.iter().filter_map(|v| Some((name(v)?, v))).collect();
    let right: Vec<(Element, &Value)> = applied.iter().filter_map(|v| Some((name(v)?, v))).collect();
    // Elements that are in the live list more than once are not merged with but replaced by an applied one.
    let mut known: HashMap<&Element, Option<&Value>> = HashMap::new();
    for (name, value) in &left {
        known.entry(name).and_modify(|v| *v = None).or_insert(Some(value));
    }
    let wanted: HashMap<&Element, &Value> = right.iter().map(|(name, value)| (name, *value)).collect();
    let mut shared = right.iter().map(|(name, _)| name).filter(|name| known.contains_key(name));
    let mut next = shared.next();
    let mut done: HashMap<&Element, ()> = HashMap::new();
    let mut out = Vec::with_capacity(left.len() + right.len());
    let both =
        |name: &Element| merge(of.element(), known.get(name).copied().flatten(), wanted.get(name).copied());
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some((a, _)), Some((b, _))) = (left.get(l), right.get(r)) {
            if a == b {
                done.insert(b, ());
                out.extend(both(b));
                l += 1;
                r += 1;
                next = shared.next();
                continue;
            }
            if wanted.contains_key(a) && next.is_some_and(|next| next != a) {
                l += 1;
                continue;
            }
        }
        if let Some((a, value)) = left.get(l) {
            if !wanted.contains_key(a) {
                out.extend(merge(of.element(), Some(value), None));
                l += 1;
                continue;
            }
            if done.contains_key(a) {
                l += 1;
                continue;
            }
        }
        if let Some((b, _)) = right.get(r) {
            done.insert(b, ());
            out.extend(both(b));
            r += 1;
            if next == Some(b) {
                next = shared.next();
            }
        } else {
            l += 1;
        }
    }
    out
}

/// What differs between two values.
#[derive(Default)]
pub(super) struct Comparison {
    pub(super) added: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) removed: FieldSet,
}

impl Comparison {
    pub(super) fn of(typed: Typed<'_>, old: &Value, new: &Value) -> Self {
        let mut out = Comparison::default();
        out.compare(typed, Some(old), Some(new), &mut Vec::new());
        out
    }

    /// Added and modified.
    pub(super) fn set(&self) -> FieldSet {
        self.added.union(&self.modified)
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>, path: &[Element]) {
        match (old, new) {
            (None, Some(_)) => self.added.insert(path),
            (Some(_), None) => self.removed.insert(path),
            (Some(old), Some(new)) if !equal(old, new) => self.modified.insert(path),
            _ => {}
        }
    }

    fn compare(&mut self, of: Typed<'_>, old: Option<&Value>, new: Option<&Value>, path: &mut Vec<Element>) {
        let Some(any) = new.or(old) else { return };
        let shape = of.shape(any);
        if let (Some(a), Some(b)) = (old, new)
            && of.shape(a) != of.shape(b)
        {
            self.modified.insert(path);
            return;
        }
        if shape == Shape::Leaf || (nothing(old) && nothing(new)) {
            return self.leaf(old, new, path);
        }
        if shape == Shape::Map {
            let empty = Map::new();
            let (a, b) = (object(old).unwrap_or(&empty), object(new).unwrap_or(&empty));
            for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
                path.push(Element::field(name));
                self.compare(of.field(name).unwrap_or(Typed::Deduced), a.get(name), b.get(name), path);
                path.pop();
            }
        } else {
            self.compare_lists(of, array(old), array(new), path);
        }
        match (old, new) {
            (None, _) => self.added.insert(path),
            (_, None) => self.removed.insert(path),
            _ => {}
        }
    }

    fn compare_lists(&mut self, of: Typed<'_>, old: &[Value], new: &[Value], path: &mut Vec<Element>) {
        let mut order: Vec<Element> = Vec::new();
        let mut by_name: HashMap<Element, (Vec<&Value>, Vec<&Value>)> = HashMap::new();
        for (value, is_new) in old.iter().map(|v| (v, false)).chain(new.iter().map(|v| (v, true))) {
            let Ok(name) = of.name_element(value) else { continue };
            let entry = by_name.entry(name.clone()).or_insert_with(|| {
                order.push(name);
                Default::default()
            });
            if is_new { entry.1.push(value) } else { entry.0.push(value) }
        }
        for name in order {
            let Some((a, b)) = by_name.remove(&name) else { continue };
            path.push(name);
            match (a.as_slice(), b.as_slice()) {
                ([] | [_], [] | [_]) => {
                    self.compare(of.element(), a.first().copied(), b.first().copied(), path);
                }
                // Elements that are there more than once count as one value.
                ([_, _, ..], [_, _, ..]) => {
                    if a.len() != b.len() || a.iter().zip(&b).any(|(a, b)| !equal(a, b)) {
                        self.modified.insert(path);
                    }
                }
                ([_, _, ..], _) => {
                    if let Some(b) = b.first() {
                        self.compare(of.element(), None, Some(b), path);
                    }
                    self.removed.insert(path);
                }
                (_, _) => {
                    if let Some(a) = a.first() {
                        self.compare(of.element(), Some(a), None, path);
                    }
                    self.added.insert(path);
                }
            }
            path.pop();
        }
    }
}

/// The value without the paths in `gone`; `null` where nothing is left of a struct.
pub(super) fn remove(of: Typed<'_>, value: &Value, gone: &FieldSet) -> Value {
    match (of.shape(value), value) {
        (Shape::Map, Value::Object(fields)) => {
            let mut out = Map::new();
            for (name, value) in fields {
                let element = Element::field(name);
                if gone.has(&element) {
                    continue;
                }
                let kept = match gone.below(&element) {
                    Some(below) => remove(of.field(name).unwrap_or(Typed::Deduced), value, below),
                    None => value.clone(),
                };
                out.insert(name.clone(), kept);
            }
            if out.is_empty() { Value::Null } else { Value::Object(out) }
        }
        (Shape::List, Value::Array(elements)) => {
            let out: Vec<Value> = elements
                .iter()
                .filter_map(|element| {
                    let Ok(name) = of.name_element(element) else { return Some(element.clone()) };
                    if gone.has(&name) {
                        return None;
                    }
                    Some(match gone.below(&name) {
                        Some(below) => remove(of.element(), element, below),
                        None => element.clone(),
                    })
                })
                .collect();
            if out.is_empty() { Value::Null } else { Value::Array(out) }
        }
        // Below an atomic value nothing is owned by itself.
        (Shape::Leaf, Value::Object(_) | Value::Array(_)) => Value::Null,
        _ => value.clone(),
    }
}

/// Equality where `1` and `1.0` are the same number.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

fn nothing(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Array(elements)) => elements.is_empty(),
        Some(_) => false,
    }
}

fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
