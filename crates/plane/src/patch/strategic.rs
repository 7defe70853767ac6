//! Strategic merge patch: a merge patch that knows which lists are maps in disguise.
//!
//! The merge keys and strategies come from the schema (`x-kubernetes-patch-merge-key`, `x-kubernetes-patch-strategy`).
//! Custom resources have none, and their server offers no strategic merge.

mod order;

use serde_json::{Map, Value};

use self::order::{Order, go_list};
use super::{PatchError, go_kind, too_deep};
use crate::schema::{Schema, Strategy, go_number};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";

type Object = Map<String, Value>;
type Result<T> = std::result::Result<T, PatchError>;

/// Applies a strategic merge patch to an object of `schema`.
pub fn apply(schema: &Schema, target: &Value, patch: &Value) -> Result<Value> {
    let Value::Object(changes) = patch else {
        return Err(PatchError::BadRequest(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go_kind(patch)
        )));
    };
    if too_deep(patch) {
        return Err(PatchError::BadRequest("exceeded max depth".into()));
    }
    let live = target.as_object().cloned().unwrap_or_default();
    merge_map(Some(schema), live, changes.clone()).map(Value::Object)
}

/// A value as Go prints it with `%v`, which is how these errors show a patch.
pub fn go_print(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(s) => s.clone(),
        Value::Number(n) => go_number(n),
        Value::Bool(b) => b.to_string(),
        Value::Array(all) => go_list(all),
        Value::Object(all) => go_map(all),
    }
}

fn go_map(fields: &Object) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}:{}", go_print(value))).collect();
    format!("map[{}]", fields.join(" "))
}

fn unknown_directive(directive: &Value, map: &Object) -> PatchError {
    PatchError::Internal(format!("unknown patch type: {} in map: {}", go_print(directive), go_map(map)))
}

fn no_merge_key(map: &Object, key: &str) -> PatchError {
    PatchError::Internal(format!("map: {} does not contain declared merge key: {key}", go_map(map)))
}

fn merge_map(schema: Option<&Schema>, mut live: Object, mut patch: Object) -> Result<Object> {
    if let Some(directive) = patch.get(PATCH) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                Ok(patch)
            }
            Some("delete") => Ok(Object::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut live, &mut patch)?;
    set_orders(schema, &mut live, &mut patch)?;
    for (key, change) in patch {
        let deleted_from = key.strip_prefix(DELETE_FROM).map(|rest| rest.trim_start_matches('/').to_owned());
        let deletes = deleted_from.is_some();
        let name = deleted_from.unwrap_or(key);
        if change.is_null() {
            live.remove(&name);
            continue;
        }
        let field = schema.and_then(|s| s.field(&name));
        let merged = match (live.remove(&name), change) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                if field.is_some_and(|f| f.strategy.replace) {
                    Some(Value::Object(new))
                } else {
                    Some(Value::Object(merge_map(field, old, new)?))
                }
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                Some(Value::Array(merge_list(field, old, new, deletes)?))
            }
            (old, _) if deletes => old,
            (_, change) => without_directives(change),
        };
        if let Some(merged) = merged {
            live.insert(name, merged);
        }
    }
    Ok(live)
}

/// What a patch value is worth where there was nothing: no nulls, no directives.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => Some(Value::Object(
            fields
                .into_iter()
                .filter(|(name, value)| !value.is_null() && !is_directive(name))
                .filter_map(|(name, value)| Some((name, without_directives(value)?)))
                .collect(),
        )),
        Value::Array(elements) => {
            Some(Value::Array(elements.into_iter().filter_map(without_directives).collect()))
        }
        other => Some(other),
    }
}

fn is_directive(name: &str) -> bool {
    name == RETAIN_KEYS || name.starts_with(SET_ORDER) || name.starts_with(DELETE_FROM)
}

fn retain_keys(live: &mut Object, patch: &mut Object) -> Result<()> {
    let Some(directive) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let bad = || PatchError::BadRequest("invalid patch format of retainKeys".into());
    let keys = directive.as_array().ok_or_else(bad)?;
    let kept = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !kept(name)) {
        return Err(bad());
    }
    live.retain(|name, _| kept(name));
    Ok(())
}

/// Merges and orders the lists that have a `$setElementOrder` directive, and takes both out of the patch.
fn set_orders(schema: Option<&Schema>, live: &mut Object, patch: &mut Object) -> Result<()> {
    let directives: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let name = directive[SET_ORDER.len()..].trim_start_matches('/').to_owned();
        let wanted = match patch.remove(&directive) {
            Some(Value::Array(wanted)) => wanted,
            _ => return Err(PatchError::Internal("invalid argument type".into())),
        };
        let field = schema.and_then(|s| s.field(&name));
        let key = field.and_then(|f| f.strategy.merge_key.as_deref());
        let change = match patch.get(&name) {
            Some(Value::Array(change)) => Some(change.clone()),
            Some(Value::Null) => continue,
            Some(_) => return Err(PatchError::Internal("invalid argument type".into())),
            None => None,
        };
        if let Some(change) = &change {
            check_order(change, &wanted, key)?;
        }
        let old = match live.get(&name) {
            Some(Value::Array(old)) => Some(old.clone()),
            _ => None,
        };
        let merged = match (&old, change) {
            (None, None) => continue,
            (Some(old), None) => old.clone(),
            (None, Some(change)) => change.into_iter().filter_map(without_directives).collect(),
            (Some(old), Some(change)) => merge_list(field, old.clone(), change, false)?,
        };
        patch.remove(&name);
        let order = Order { key };
        let ordered = order.normalise(merged, &wanted, &old.unwrap_or_default())?;
        live.insert(name, Value::Array(ordered));
    }
    Ok(())
}

/// The elements of a patch list must come in the order its directive names.
fn check_order(change: &[Value], wanted: &[Value], key: Option<&str>) -> Result<()> {
    let order = Order { key };
    let mut rest = wanted.iter();
    let in_order = change
        .iter()
        .filter(|element| element.get(PATCH).and_then(Value::as_str) != Some("delete"))
        .all(|element| rest.any(|other| order.same(element, other)));
    if in_order {
        return Ok(());
    }
    Err(PatchError::Internal(format!(
        "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
        go_list(change),
        go_list(wanted)
    )))
}

fn merge_list(
    field: Option<&Schema>,
    live: Vec<Value>,
    patch: Vec<Value>,
    deletes: bool,
) -> Result<Vec<Value>> {
    static REPLACED: Strategy =
        Strategy { merge_key: None, merge: false, retain_keys: false, replace: false };
    let strategy = field.map_or(&REPLACED, |f| &f.strategy);
    if deletes {
        return Ok(live.into_iter().filter(|value| !patch.contains(value)).collect());
    }
    if !strategy.merge {
        return Ok(patch);
    }
    if live.is_empty() && patch.is_empty() {
        return Ok(live);
    }
    let maps = live.iter().chain(&patch).filter(|v| v.is_object()).count();
    if maps == 0 {
        let mut merged: Vec<Value> = Vec::with_capacity(live.len() + patch.len());
        for value in live.iter().chain(&patch) {
            if !merged.contains(value) {
                merged.push(value.clone());
            }
        }
        return Order { key: None }.normalise(merged, &patch, &live);
    }
    if maps != live.len() + patch.len() {
        return Err(PatchError::Internal("list element types are not identical".into()));
    }
    let Some(key) = strategy.merge_key.as_deref() else {
        return Err(PatchError::Internal("cannot merge lists without merge key".into()));
    };
    let (live, patch) = special_elements(live, patch, key)?;
    let mut merged = live.clone();
    let order = Order { key: Some(key) };
    for element in &patch {
        let Value::Object(change) = element else { continue };
        if !change.contains_key(key) {
            return Err(no_merge_key(change, key));
        }
        match merged.iter().position(|other| order.same(other, element)) {
            Some(place) => {
                let old = merged[place].as_object().cloned().unwrap_or_default();
                merged[place] =
                    Value::Object(merge_map(field.and_then(Schema::element), old, change.clone())?);
            }
            None => merged.extend(without_directives(element.clone())),
        }
    }
    order.normalise(merged, &patch, &live)
}

/// Carries out the elements that are directives: `delete` an element, `replace` the list.
fn special_elements(mut live: Vec<Value>, patch: Vec<Value>, key: &str) -> Result<(Vec<Value>, Vec<Value>)> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replace = false;
    for element in patch {
        let Some(directive) = element.get(PATCH) else {
            plain.push(element);
            continue;
        };
        let map = element.as_object().cloned().unwrap_or_default();
        match directive.as_str() {
            Some("delete") => {
                let gone = map.get(key).ok_or_else(|| no_merge_key(&map, key))?;
                live.retain(|other| other.get(key) != Some(gone));
            }
            Some("replace") => replace = true,
            Some("merge") => {
                let text = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Internal(text.into()));
            }
            _ => return Err(unknown_directive(directive, &map)),
        }
    }
    Ok(if replace { (plain, Vec::new()) } else { (live, plain) })
}

#[cfg(test)]
mod tests;
