//! Sets of field paths, and their `FieldsV1` form in `managedFields`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// A field or map key: `f:name`.
    Field(String),
    /// An element of a map list, by its keys as compact JSON with sorted names: `k:{"name":"c"}`.
    Key(String),
    /// A member of a set, as JSON: `v:"a"`.
    Value(String),
    /// An element by its place: `i:0`.
    Index(i64),
}

impl Element {
    /// A field.
    pub fn field(name: &str) -> Self {
        Element::Field(name.to_owned())
    }

    fn encode(&self) -> String {
        match self {
            Element::Field(name) => format!("f:{name}"),
            Element::Key(keys) => format!("k:{keys}"),
            Element::Value(value) => format!("v:{value}"),
            Element::Index(index) => format!("i:{index}"),
        }
    }

    fn decode(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        Some(match kind {
            "f" => Element::Field(rest.to_owned()),
            // Read and written again: others may have ordered the keys or spaced them differently.
            "k" => Element::Key(serde_json::from_str::<BTreeMap<String, Value>>(rest).ok().map(canonical)?),
            "v" => Element::Value(serde_json::from_str::<Value>(rest).ok()?.to_string()),
            "i" => Element::Index(rest.parse().ok()?),
            _ => return None,
        })
    }
}

/// The text that names a map-list element: compact JSON, keys sorted.
pub(super) fn canonical(keys: BTreeMap<String, Value>) -> String {
    Value::Object(keys.into_iter().collect()).to_string()
}

/// As the server prints it in conflicts and errors: `.name`, `[name="c"]`, `[="a"]`, `[0]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Field(name) => write!(f, ".{name}"),
            Element::Key(keys) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let keys: Vec<_> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "[{}]", keys.join(","))
            }
            Element::Value(value) => write!(f, "[={value}]"),
            Element::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A set of paths. A path may be in it, and have others below it, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    members: BTreeSet<Element>,
    children: BTreeMap<Element, FieldSet>,
}

impl FieldSet {
    /// The set of these paths of plain fields, such as `["metadata", "labels"]`.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a [&'a str]>) -> Self {
        let mut set = FieldSet::default();
        for path in paths {
            let path: Vec<Element> = path.iter().map(|name| Element::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Whether no path is in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(FieldSet::is_empty)
    }

    /// Puts a path in; the empty path is none.
    pub fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether this one-step path is in.
    pub fn has(&self, element: &Element) -> bool {
        self.members.contains(element)
    }

    /// What is in below an element.
    pub fn below(&self, element: &Element) -> Option<&FieldSet> {
        self.children.get(element).filter(|set| !set.is_empty())
    }

    /// The members and what lies below, for walks beside a schema.
    pub(super) fn parts(&self) -> (&BTreeSet<Element>, &BTreeMap<Element, FieldSet>) {
        (&self.members, &self.children)
    }

    pub(super) fn from_parts(members: BTreeSet<Element>, children: BTreeMap<Element, FieldSet>) -> Self {
        FieldSet { members, children }
    }

    /// What is in either.
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        let mut out = self.clone();
        out.members.extend(other.members.iter().cloned());
        for (element, set) in &other.children {
            let child = out.children.entry(element.clone()).or_default();
            *child = child.union(set);
        }
        out
    }

    /// What is in both.
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        let members = self.members.intersection(&other.members).cloned().collect();
        let children = self
            .children
            .iter()
            .filter_map(|(element, set)| {
                Some((element.clone(), set.intersection(other.children.get(element)?)))
            })
            .filter(|(_, set)| !set.is_empty())
            .collect();
        FieldSet { members, children }
    }

    /// What is in this but not in the other.
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        let members = self.members.difference(&other.members).cloned().collect();
        let children = self
            .children
            .iter()
            .map(|(element, set)| match other.children.get(element) {
                Some(less) => (element.clone(), set.difference(less)),
                None => (element.clone(), set.clone()),
            })
            .filter(|(_, set)| !set.is_empty())
            .collect();
        FieldSet { members, children }
    }

    /// As [`FieldSet::difference`], and what lies below the other's members goes too.
    pub fn recursive_difference(&self, other: &FieldSet) -> FieldSet {
        let members = self.members.difference(&other.members).cloned().collect();
        let children = self
            .children
            .iter()
            .filter(|(element, _)| !other.members.contains(element))
            .map(|(element, set)| match other.children.get(element) {
                Some(less) => (element.clone(), set.recursive_difference(less)),
                None => (element.clone(), set.clone()),
            })
            .filter(|(_, set)| !set.is_empty())
            .collect();
        FieldSet { members, children }
    }

    /// Only what is, or lies below, the top-level field `name`.
    pub fn only(&self, name: &str) -> FieldSet {
        let element = Element::field(name);
        FieldSet {
            members: self.members.iter().filter(|m| **m == element).cloned().collect(),
            children: self
                .children
                .iter()
                .filter(|(m, _)| **m == element)
                .map(|(m, s)| (m.clone(), s.clone()))
                .collect(),
        }
    }

    /// All paths, members of a level before what lies below them.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }

    fn collect(&self, prefix: &mut Vec<Element>, out: &mut Vec<Vec<Element>>) {
        for member in &self.members {
            let mut path = prefix.clone();
            path.push(member.clone());
            out.push(path);
        }
        for (element, set) in &self.children {
            prefix.push(element.clone());
            set.collect(prefix, out);
            prefix.pop();
        }
    }

    /// The `FieldsV1` form.
    pub fn to_fields_v1(&self) -> Value {
        let mut out = Map::new();
        for member in &self.members {
            out.insert(member.encode(), Value::Object(Map::new()));
        }
        for (element, set) in self.children.iter().filter(|(_, set)| !set.is_empty()) {
            let mut below = set.to_fields_v1();
            if self.members.contains(element)
                && let Value::Object(fields) = &mut below
            {
                fields.insert(".".into(), Value::Object(Map::new()));
            }
            out.insert(element.encode(), below);
        }
        Value::Object(out)
    }

    /// Reads the `FieldsV1` form; `None` when it is none.
    pub fn from_fields_v1(value: &Value) -> Option<FieldSet> {
        let mut set = FieldSet::default();
        for (name, below) in value.as_object()? {
            if name == "." {
                continue;
            }
            let element = Element::decode(name)?;
            let fields = below.as_object()?;
            if fields.is_empty() || fields.contains_key(".") {
                set.members.insert(element.clone());
            }
            if fields.keys().any(|name| name != ".") {
                set.children.insert(element, FieldSet::from_fields_v1(below)?);
            }
        }
        Some(set)
    }
}

/// A path as the server prints it.
pub(super) fn show(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_v1_goes_both_ways() {
        let fields = json!({"f:spec": {"f:replicas": {}, "f:list": {".": {}, "k:{\"name\":\"c\",\"port\":80}": {".": {}, "f:image": {}},
            "v:\"a\"": {}, "i:3": {}}}});
        let set = FieldSet::from_fields_v1(&fields).unwrap();
        assert_eq!(set.to_fields_v1(), fields);
        let paths: Vec<_> = set.paths().iter().map(|p| show(p)).collect();
        assert!(paths.contains(&r#".spec.list[name="c",port=80].image"#.to_owned()));
        assert!(paths.contains(&r#".spec.list[="a"]"#.to_owned()));
        assert_eq!(FieldSet::from_fields_v1(&json!({"x": {}})), None);
    }

    #[test]
    fn algebra() {
        let a =
            FieldSet::from_fields_v1(&json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:d": {}})).unwrap();
        let b = FieldSet::from_fields_v1(&json!({"f:a": {"f:b": {}}, "f:e": {}})).unwrap();
        assert_eq!(a.intersection(&b).to_fields_v1(), json!({"f:a": {"f:b": {}}}));
        assert_eq!(a.difference(&b).to_fields_v1(), json!({"f:a": {".": {}, "f:c": {}}, "f:d": {}}));
        let all = FieldSet::of([["a"].as_slice()]);
        assert_eq!(a.difference(&all).to_fields_v1(), json!({"f:a": {"f:b": {}, "f:c": {}}, "f:d": {}}));
        assert_eq!(a.recursive_difference(&all).to_fields_v1(), json!({"f:d": {}}));
        assert_eq!(b.union(&all).to_fields_v1(), json!({"f:a": {".": {}, "f:b": {}}, "f:e": {}}));
    }
}
