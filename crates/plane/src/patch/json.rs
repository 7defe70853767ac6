//! JSON patch as the real server reads it, which is not quite RFC 6902.
//!
//! `replace` of an absent key sets it, `test` of an absent key against `null` passes, numbers are compared as text,
//! negative array indices count from the end. The `json-patch` crate follows the RFC, hence this one.

use serde_json::Value;

use super::{PatchError, go_kind, too_deep};

/// More operations than this are refused.
pub const MAX_OPERATIONS: usize = 10_000;
/// `copy` may add this many bytes in all, so that a small patch cannot make a huge object.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Applies a JSON patch.
pub fn apply(target: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Array(operations) = patch else {
        return Err(PatchError::BadRequest(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
            go_kind(patch)
        )));
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut document = target.clone();
    let mut copied = 0;
    for operation in operations {
        step(&mut document, operation, &mut copied).map_err(PatchError::Rejected)?;
    }
    Ok(document)
}

fn step(document: &mut Value, operation: &Value, copied: &mut usize) -> Result<(), String> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let path = pointer(text("path").ok_or("missing path")?)?;
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    let from = || pointer(text("from").ok_or("missing from")?);
    match text("op").unwrap_or_default() {
        "add" => {
            if too_deep(operation) || path.len() > super::MAX_DEPTH {
                return Err("nested too deeply".into());
            }
            add(document, &path, value())
        }
        "remove" => remove(document, &path).map(drop),
        "replace" => replace(document, &path, value()),
        "test" => test(document, &path, &value()),
        "move" => {
            let moved = remove(document, &from()?)?;
            add(document, &path, moved)
        }
        "copy" => {
            let source = find(document, &from()?)?.cloned().unwrap_or(Value::Null);
            *copied += size(&source);
            if *copied > MAX_COPIED {
                return Err("copy adds too much".into());
            }
            add(document, &path, source)?;
            if too_deep(document) { Err("nested too deeply".into()) } else { Ok(()) }
        }
        other => Err(format!("unexpected kind: {other}")),
    }
}

fn pointer(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let rest = text.strip_prefix('/').ok_or_else(|| format!("path {text:?} does not begin with a slash"))?;
    Ok(rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect())
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(all) => all.iter().map(size).sum::<usize>() + 2,
        Value::Object(all) => all.iter().map(|(name, v)| name.len() + 3 + size(v)).sum::<usize>() + 2,
        Value::String(s) => s.len() + 2,
        _ => 4,
    }
}

/// The place in an array: `-` is the end where `append` allows it, negative numbers count from the end.
fn index(part: &str, len: usize, append: bool) -> Result<usize, String> {
    if append && part == "-" {
        return Ok(len);
    }
    let number: i64 = part.parse().map_err(|_| format!("{part:?} is no array index"))?;
    let place = if number < 0 { number + len as i64 } else { number };
    let last = if append { len as i64 } else { len as i64 - 1 };
    if (0..=last).contains(&place) {
        Ok(place as usize)
    } else {
        Err(format!("index {number} is out of bounds"))
    }
}

/// The container that holds the last part of `path`, and that part.
fn parent<'v, 'p>(document: &'v mut Value, path: &'p [String]) -> Result<(&'v mut Value, &'p str), String> {
    let (last, above) = path.split_last().ok_or("the whole document cannot be addressed")?;
    let mut here = document;
    for part in above {
        here = match here {
            Value::Object(fields) => fields.get_mut(part),
            Value::Array(elements) => {
                let place = index(part, elements.len(), false)?;
                elements.get_mut(place)
            }
            _ => None,
        }
        .ok_or_else(|| format!("{part:?} is not there"))?;
    }
    Ok((here, last))
}

fn add(document: &mut Value, path: &[String], value: Value) -> Result<(), String> {
    if path.is_empty() {
        *document = value;
        return Ok(());
    }
    match parent(document, path)? {
        (Value::Object(fields), last) => {
            fields.insert(last.to_owned(), value);
        }
        (Value::Array(elements), last) => {
            let place = index(last, elements.len(), true)?;
            elements.insert(place, value);
        }
        _ => return Err("nothing can be added to a scalar".into()),
    }
    Ok(())
}

fn remove(document: &mut Value, path: &[String]) -> Result<Value, String> {
    match parent(document, path)? {
        (Value::Object(fields), last) => fields.remove(last).ok_or_else(|| format!("{last:?} is not there")),
        (Value::Array(elements), last) => {
            let place = index(last, elements.len(), false)?;
            Ok(elements.remove(place))
        }
        _ => Err("nothing can be removed from a scalar".into()),
    }
}

fn replace(document: &mut Value, path: &[String], value: Value) -> Result<(), String> {
    if path.is_empty() {
        *document = value;
        return Ok(());
    }
    match parent(document, path)? {
        (Value::Object(fields), last) => {
            fields.insert(last.to_owned(), value);
        }
        (Value::Array(elements), last) => {
            let place = index(last, elements.len(), false)?;
            elements[place] = value;
        }
        _ => return Err("nothing can be replaced in a scalar".into()),
    }
    Ok(())
}

/// The value at `path`; `None` when only its last key is absent.
fn find<'v>(document: &'v Value, path: &[String]) -> Result<Option<&'v Value>, String> {
    let Some((last, above)) = path.split_last() else { return Ok(Some(document)) };
    let mut here = document;
    for part in above {
        here = match here {
            Value::Object(fields) => fields.get(part),
            Value::Array(elements) => elements.get(index(part, elements.len(), false)?),
            _ => None,
        }
        .ok_or_else(|| format!("{part:?} is not there"))?;
    }
    match here {
        Value::Object(fields) => Ok(fields.get(last)),
        Value::Array(elements) => Ok(elements.get(index(last, elements.len(), false)?)),
        _ => Err("a scalar has no fields".into()),
    }
}

fn test(document: &Value, path: &[String], wanted: &Value) -> Result<(), String> {
    let found = find(document, path)?;
    let equal = match found {
        None => wanted.is_null(),
        Some(found) => same(found, wanted),
    };
    if equal { Ok(()) } else { Err("test failed".into()) }
}

/// Equality where numbers are compared as they are written.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.to_string() == b.to_string(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_read_as_by_the_real_server() {
        let live = json!({"a": {"b": 1}, "list": ["x", "y"]});
        let ok = [
            (json!([{"op": "test", "path": "/a/zz", "value": null}]), live.clone()),
            (json!([{"op": "test", "path": "/a/zz"}]), live.clone()),
            (json!([{"op": "test", "path": "/a/b", "value": 1}]), live.clone()),
            (json!([]), live.clone()),
            (
                json!([{"op": "replace", "path": "/a/new", "value": 2}]),
                json!({"a": {"b": 1, "new": 2}, "list": ["x", "y"]}),
            ),
            (
                json!([{"op": "add", "path": "/list/-", "value": "z"}]),
                json!({"a": {"b": 1}, "list": ["x", "y", "z"]}),
            ),
            (
                json!([{"op": "add", "path": "/list/-1", "value": "z"}]),
                json!({"a": {"b": 1}, "list": ["x", "z", "y"]}),
            ),
            (json!([{"op": "remove", "path": "/list/-1"}]), json!({"a": {"b": 1}, "list": ["x"]})),
            (
                json!([{"op": "move", "from": "/a/b", "path": "/c"}]),
                json!({"a": {}, "c": 1, "list": ["x", "y"]}),
            ),
            (
                json!([{"op": "copy", "from": "/a", "path": "/c"}]),
                json!({"a": {"b": 1}, "c": {"b": 1}, "list": ["x", "y"]}),
            ),
        ];
        for (patch, wanted) in ok {
            assert_eq!(apply(&live, &patch), Ok(wanted), "{patch}");
        }
        let refused = [
            json!([{"op": "test", "path": "/a/zz", "value": 1}]),
            json!([{"op": "test", "path": "/zz/yy", "value": null}]),
            json!([{"op": "test", "path": "/a/b", "value": 1.0}]),
            json!([{"op": "remove", "path": "/a/zz"}]),
            json!([{"op": "add", "path": "/zz/yy", "value": 1}]),
            json!([{"op": "add", "path": "/list/3", "value": 1}]),
            json!([{"op": "nope", "path": "/a"}]),
            json!([{"path": "/a"}]),
            json!([{"op": "add", "path": "a", "value": 1}]),
            json!(["x"]),
        ];
        for patch in refused {
            assert!(matches!(apply(&live, &patch), Err(PatchError::Rejected(_))), "{patch}");
        }
    }

    #[test]
    fn a_small_patch_cannot_grow_without_bound() {
        let double = json!({"op": "copy", "from": "/a", "path": "/a/a"});
        let deep = Value::Array(vec![double; 300]);
        assert!(matches!(apply(&json!({"a": {}}), &deep), Err(PatchError::Rejected(_))));
        let wide = json!({"op": "copy", "from": "/a", "path": "/b"});
        let big = json!({"a": "x".repeat(1 << 20)});
        assert!(matches!(apply(&big, &Value::Array(vec![wide; 5])), Err(PatchError::Rejected(_))));
    }

    #[test]
    fn too_many_operations_and_wrong_bodies_say_so() {
        let many = Value::Array(vec![json!({"op": "test", "path": "/a"}); MAX_OPERATIONS + 1]);
        let error = apply(&json!({}), &many).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
        );
        let error = apply(&json!({}), &json!({})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        );
    }
}
