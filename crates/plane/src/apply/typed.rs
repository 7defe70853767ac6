//! A value beside its schema, as server-side apply sees it: scalars, lists and maps, atomic or not.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::set::{Element, FieldSet, canonical};
use crate::patch::strategic::go_print;
use crate::schema::{Additional, ListType, Schema, Type, object_meta};
use crate::status::go_quote;

/// The type of a place in an object.
#[derive(Clone, Copy)]
pub(super) enum Typed<'a> {
    /// A whole object: its `apiVersion`, `kind` and `metadata` are known without being declared.
    Object(&'a Schema),
    /// By schema.
    Of(&'a Schema),
    /// A string, where no schema says so.
    Text,
    /// Whatever the value is: maps are merged, lists are atomic.
    Deduced,
}

/// What a place is for merging.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One value.
    Leaf,
    /// Merged by field.
    Map,
    /// Merged by element.
    List,
}

impl<'a> Typed<'a> {
    fn schema(self) -> Option<&'a Schema> {
        match self {
            Typed::Object(schema) | Typed::Of(schema) => Some(schema),
            Typed::Text | Typed::Deduced => None,
        }
    }

    /// The shape of a value (or of two, whichever is there).
    pub(super) fn shape(self, value: &Value) -> Shape {
        let Some(schema) = self.schema() else {
            return match (self, value) {
                (Typed::Deduced, Value::Object(_)) => Shape::Map,
                _ => Shape::Leaf,
            };
        };
        match schema.kind {
            Some(Type::Object) => map_shape(schema),
            Some(Type::Array) => list_shape(schema),
            None if !schema.int_or_string => match value {
                Value::Object(_) => map_shape(schema),
                Value::Array(_) => list_shape(schema),
                _ => Shape::Leaf,
            },
            _ => Shape::Leaf,
        }
    }

    /// The type of a field, unless the schema does not know it.
    pub(super) fn field(self, name: &str) -> Option<Typed<'a>> {
        let schema = match self {
            Typed::Deduced => return Some(Typed::Deduced),
            Typed::Text => return None,
            Typed::Object(schema) | Typed::Of(schema) => schema,
        };
        if matches!(self, Typed::Object(_)) || schema.embedded_resource {
            match name {
                "metadata" => return Some(Typed::Of(object_meta())),
                "apiVersion" | "kind" => return Some(Typed::Text),
                _ => {}
            }
        }
        match (schema.properties.get(name), &schema.additional) {
            (Some(property), _) => Some(Typed::Of(property)),
            (None, Additional::Of(of)) => Some(Typed::Of(of)),
            (None, Additional::Any) => Some(Typed::Deduced),
            (None, Additional::None) => free(schema).then_some(Typed::Deduced),
        }
    }

    /// Whether a field is declared by name (a struct's), not a key of a map.
    pub(super) fn declares(self, name: &str) -> bool {
        match self {
            Typed::Deduced | Typed::Text => false,
            Typed::Object(schema) => {
                matches!(name, "metadata" | "apiVersion" | "kind") || schema.properties.contains_key(name)
            }
            Typed::Of(schema) => {
                schema.properties.contains_key(name)
                    || (schema.embedded_resource && matches!(name, "metadata" | "apiVersion" | "kind"))
            }
        }
    }

    /// The type of the elements of a list.
    pub(super) fn element(self) -> Typed<'a> {
        self.schema().and_then(Schema::element).map_or(Typed::Deduced, Typed::Of)
    }

    /// The type one step further, for walks along a path.
    pub(super) fn step(self, element: &Element) -> Typed<'a> {
        match element {
            Element::Field(name) => self.field(name).unwrap_or(Typed::Deduced),
            _ => self.element(),
        }
    }

    /// What names an element of an associative list.
    pub(super) fn name_element(self, value: &Value) -> Result<Element, String> {
        let Some(schema) = self.schema() else { return Err("no associative list".into()) };
        if schema.list_type == Some(ListType::Set) {
            return match value {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".into())
                }
                Value::Array(_) => {
                    Err("associative list without keys has an element that's a list type".into())
                }
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null".into())
                }
                scalar => Ok(Element::Value(scalar.to_string())),
            };
        }
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null => return Err("associative list with keys may not have a null element".into()),
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let default = |key: &str| schema.element()?.properties.get(key)?.default.clone();
        let keys: BTreeMap<String, Value> = schema
            .list_map_keys
            .iter()
            .filter_map(|key| Some((key.clone(), fields.get(key).cloned().or_else(|| default(key))?)))
            .collect();
        if keys.is_empty() {
            let names: Vec<_> = schema.list_map_keys.iter().map(|key| go_quote(key)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] \
                 (and doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(Element::Key(canonical(keys)))
    }

    /// The paths a value sets: its leaves, its list elements, its map keys.
    pub(super) fn field_set(self, value: &Value) -> FieldSet {
        let mut set = FieldSet::default();
        self.collect(value, &mut Vec::new(), &mut set);
        set
    }

    fn collect(self, value: &Value, path: &mut Vec<Element>, set: &mut FieldSet) {
        match (self.shape(value), value) {
            (Shape::Map, Value::Object(fields)) => {
                for (name, value) in fields {
                    path.push(Element::field(name));
                    self.field(name).unwrap_or(Typed::Deduced).collect(value, path, set);
                    let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                    if empty || !self.declares(name) {
                        set.insert(path);
                    }
                    path.pop();
                }
            }
            (Shape::List, Value::Array(elements)) => {
                let names: Vec<_> =
                    elements.iter().filter_map(|e| self.name_element(e).ok().map(|n| (n, e))).collect();
                for (name, element) in &names {
                    let repeated = names.iter().filter(|(other, _)| other == name).count() > 1;
                    path.push(name.clone());
                    if !repeated {
                        self.element().collect(element, path, set);
                    }
                    set.insert(path);
                    path.pop();
                }
            }
            (Shape::Map | Shape::List, _) => {}
            (Shape::Leaf, _) => set.insert(path),
        }
    }

    /// The set with every struct field on the way to a member made a member itself.
    pub(super) fn with_named_fields(self, set: &FieldSet) -> FieldSet {
        let (members, children) = set.parts();
        let mut members = members.clone();
        let mut below = BTreeMap::new();
        for (element, set) in children {
            if let Element::Field(name) = element
                && self.declares(name)
            {
                members.insert(element.clone());
            }
            below.insert(element.clone(), self.step(element).with_named_fields(set));
        }
        FieldSet::from_parts(members, below)
    }

    /// Whether a value fits, in the words of the real server's typed values.
    pub(super) fn check(self, value: &Value, duplicates: bool) -> Vec<String> {
        let mut errors = Vec::new();
        self.check_at(value, duplicates, &mut String::new(), &mut errors);
        errors
    }

    fn check_at(self, value: &Value, duplicates: bool, path: &mut String, errors: &mut Vec<String>) {
        let mut say = |path: &str, what: String| {
            errors.push(if path.is_empty() { what } else { format!("{path}: {what}") });
        };
        if value.is_null() {
            return;
        }
        let kind = match self {
            Typed::Deduced => None,
            Typed::Text => Some(Type::String),
            Typed::Object(schema) | Typed::Of(schema) => match schema.kind {
                None if schema.int_or_string => {
                    if value.is_object() || value.is_array() {
                        say(path, format!("expected any scalar, got &{{{}}}", go_print(value)));
                    }
                    return;
                }
                kind => kind,
            },
        };
        match (kind, value) {
            (Some(Type::Object) | None, Value::Object(fields)) => {
                let length = path.len();
                for (name, value) in fields {
                    path.push('.');
                    path.push_str(name);
                    let field = self.field(name);
                    match field {
                        Some(field) => field.check_at(value, duplicates, path, errors),
                        None => errors.push(format!("{path}: field not declared in schema")),
                    }
                    path.truncate(length);
                    if field.is_none() {
                        return;
                    }
                }
            }
            (Some(Type::Array) | None, Value::Array(elements)) => {
                let associative = self.shape(value) == Shape::List;
                let mut seen = HashSet::new();
                let length = path.len();
                for (index, element) in elements.iter().enumerate() {
                    let name = match associative {
                        false => Element::Index(index as i64),
                        true => match self.name_element(element) {
                            Ok(name) => name,
                            Err(what) => {
                                errors.push(match path.as_str() {
                                    "" => format!("element {index}: {what}"),
                                    path => format!("{path}: element {index}: {what}"),
                                });
                                return;
                            }
                        },
                    };
                    if associative && !duplicates && seen.contains(&name) {
                        errors.push(format!("{path}: duplicate entries for key {name}"));
                    }
                    path.push_str(&name.to_string());
                    seen.insert(name);
                    self.element().check_at(element, duplicates, path, errors);
                    path.truncate(length);
                }
            }
            (Some(Type::Object), other) => say(path, format!("expected map, got &{{{}}}", go_print(other))),
            (Some(Type::Array), other) => say(path, format!("expected list, got &{{{}}}", go_print(other))),
            (Some(Type::String), other) if !other.is_string() => {
                say(
                    path,
                    format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(other)),
                );
            }
            (Some(Type::Integer | Type::Number), other) if !other.is_number() => {
                say(path, format!("expected numeric (int or float), got {}", go_type(other)));
            }
            (Some(Type::Boolean), other) if !other.is_boolean() => {
                say(path, format!("expected boolean, got &{{{}}}", go_print(other)));
            }
            _ => {}
        }
    }
}

fn map_shape(schema: &Schema) -> Shape {
    if schema.atomic_map { Shape::Leaf } else { Shape::Map }
}

fn list_shape(schema: &Schema) -> Shape {
    match schema.list_type {
        Some(ListType::Set | ListType::Map) => Shape::List,
        _ => Shape::Leaf,
    }
}

fn free(schema: &Schema) -> bool {
    schema.preserve_unknown || (schema.kind.is_none() && schema.properties.is_empty())
}

/// A value as Go prints it with `%#v`.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::String(s) => go_quote(s),
        Value::Array(all) => {
            format!("[]interface {{}}{{{}}}", all.iter().map(go_syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(all) => {
            let all: Vec<_> = all.iter().map(|(k, v)| format!("{}:{}", go_quote(k), go_syntax(v))).collect();
            format!("map[string]interface {{}}{{{}}}", all.join(", "))
        }
        other => go_print(other),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
    }
}
