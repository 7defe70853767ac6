//! Dotted paths into an object.

use serde_json::{Map, Value};

/// A path: `spec`, `metadata.annotations[example.dev/list]`; with `[,]` at its end, text that is a shared set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) names: Vec<String>,
    pub(super) is_set: bool,
}

impl Path {
    pub(super) fn parse(text: &str) -> Self {
        let (text, is_set) = text.strip_suffix("[,]").map_or((text, false), |text| (text, true));
        let mut names = vec![];
        let mut rest = text;
        while !rest.is_empty() {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = match rest.strip_prefix('[') {
                Some(inner) => {
                    let end = inner.find(']').unwrap_or(inner.len());
                    names.push(inner[..end].to_owned());
                    (end + 2).min(rest.len())
                }
                None => {
                    let end = rest.find(['.', '[']).unwrap_or(rest.len());
                    names.push(rest[..end].to_owned());
                    end
                }
            };
            rest = &rest[end..];
        }
        Path { names, is_set }
    }

    pub(super) fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.names.iter().try_fold(value, |value, name| value.get(name))
    }

    /// Sets or removes the value, making the objects on the way.
    pub(super) fn set(&self, object: &mut Value, value: Option<Value>) {
        let Some((last, parents)) = self.names.split_last() else { return };
        let mut at = object;
        for name in parents {
            if !at.is_object() {
                if value.is_none() {
                    return;
                }
                *at = Value::Object(Map::new());
            }
            let Some(map) = at.as_object_mut() else { return };
            at = map.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
        }
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        if let Some(map) = at.as_object_mut() {
            match value {
                Some(value) => drop(map.insert(last.clone(), value)),
                None => drop(map.remove(last)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_are_dotted_and_names_with_dots_are_in_brackets() {
        let names = |text| Path::parse(text).names;
        assert_eq!(names("spec"), ["spec"]);
        assert_eq!(names("metadata.annotations[a.b/c]"), ["metadata", "annotations", "a.b/c"]);
        assert_eq!(names("metadata.annotations[a.b/c].x"), ["metadata", "annotations", "a.b/c", "x"]);
        let set = Path::parse("metadata.annotations[a.b/c][,]");
        assert!(set.is_set && set.names.len() == 3);
    }

    #[test]
    fn values_are_got_set_and_removed() {
        let mut object = json!({"spec": {"a": 1}});
        let path = Path::parse("metadata.labels[x/y]");
        assert_eq!(path.get(&object), None);
        path.set(&mut object, Some(json!("z")));
        assert_eq!(object, json!({"spec": {"a": 1}, "metadata": {"labels": {"x/y": "z"}}}));
        Path::parse("spec.a").set(&mut object, None);
        assert_eq!(object["spec"], json!({}));
    }
}
