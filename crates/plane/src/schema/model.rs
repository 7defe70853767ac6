//! The schema model: what a CRD's `openAPIV3Schema` or a built-in kind's published schema says about a value.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use regex::Regex;
use serde_json::Value;

use super::cel::Rules;

/// The JSON type a schema asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
}

impl Type {
    /// The type of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Type::Object,
            "array" => Type::Array,
            "string" => Type::String,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            _ => return None,
        })
    }

    /// Its name in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Type::Object => "object",
            Type::Array => "array",
            Type::String => "string",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Boolean => "boolean",
        }
    }
}

/// How the elements of a list are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListType {
    /// The list is one value.
    #[default]
    Atomic,
    /// The elements are scalars, each at most once.
    Set,
    /// The elements are objects with keys.
    Map,
}

/// What may stand under keys that `properties` does not name.
#[derive(Debug, Clone, Default)]
pub enum Additional {
    /// Nothing.
    #[default]
    None,
    /// Anything (`additionalProperties: true`).
    Any,
    /// Values of this schema.
    Of(Node),
}

/// A pattern and its compiled form (absent when it is no valid expression, which the CRD check refuses).
#[derive(Debug, Clone)]
pub struct Pattern {
    /// As written.
    pub source: String,
    /// Compiled.
    pub regex: Option<Regex>,
}

/// How strategic merge treats a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strategy {
    /// The key that tells list elements apart.
    pub merge_key: Option<String>,
    /// `merge`: elements are merged rather than replaced.
    pub merge: bool,
    /// `retainKeys`: a patch may name the keys that stay.
    pub retain_keys: bool,
    /// `replace`: also an object is replaced rather than merged.
    pub replace: bool,
}

/// A schema inside another: its own, or a definition shared by name (definitions may be recursive).
#[derive(Debug, Clone)]
pub enum Node {
    /// Written in place.
    Own(Arc<Schema>),
    /// A shared definition of the built-in kinds.
    Shared(&'static OnceLock<Schema>),
}

static ANYTHING: OnceLock<Schema> = OnceLock::new();

impl Deref for Node {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        match self {
            Node::Own(schema) => schema,
            Node::Shared(cell) => cell.get().unwrap_or_else(|| ANYTHING.get_or_init(Schema::default)),
        }
    }
}

impl From<Schema> for Node {
    fn from(schema: Schema) -> Self {
        Node::Own(Arc::new(schema))
    }
}

/// What a value must look like.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// The JSON type; none where anything goes or `int_or_string` says it.
    pub kind: Option<Type>,
    /// The format, such as `date-time` or `int32`.
    pub format: Option<String>,
    /// Whether `null` is a value.
    pub nullable: bool,
    /// What stands there when nothing is given.
    pub default: Option<Value>,
    /// The named fields.
    pub properties: BTreeMap<String, Node>,
    /// The other fields.
    pub additional: Additional,
    /// The elements of an array.
    pub items: Option<Node>,
    /// Fields that must be there.
    pub required: Vec<String>,
    /// The allowed values, when not empty.
    pub enumeration: Vec<Value>,
    /// What a string must contain.
    pub pattern: Option<Pattern>,
    /// Lower bound and whether it is exclusive.
    pub minimum: Option<(f64, bool)>,
    /// Upper bound and whether it is exclusive.
    pub maximum: Option<(f64, bool)>,
    /// A number must be a multiple of this.
    pub multiple_of: Option<f64>,
    /// Least number of characters.
    pub min_length: Option<u64>,
    /// Greatest number of characters.
    pub max_length: Option<u64>,
    /// Least number of elements.
    pub min_items: Option<u64>,
    /// Greatest number of elements.
    pub max_items: Option<u64>,
    /// Least number of fields.
    pub min_properties: Option<u64>,
    /// Greatest number of fields.
    pub max_properties: Option<u64>,
    /// All of these must hold.
    pub all_of: Vec<Node>,
    /// One or more of these must hold.
    pub any_of: Vec<Node>,
    /// Exactly one of these must hold.
    pub one_of: Vec<Node>,
    /// This must not hold.
    pub not: Option<Node>,
    /// An integer or a string.
    pub int_or_string: bool,
    /// A whole Kubernetes object.
    pub embedded_resource: bool,
    /// Unknown fields are kept.
    pub preserve_unknown: bool,
    /// How list elements are told apart; none means atomic.
    pub list_type: Option<ListType>,
    /// The key fields of a map list.
    pub list_map_keys: Vec<String>,
    /// The object is one value for server-side apply.
    pub atomic_map: bool,
    /// How strategic merge treats this field.
    pub strategy: Strategy,
    /// The CEL rules on this value.
    pub rules: Rules,
    /// Whether this or anything below it has rules.
    pub rules_below: bool,
    /// The name of the definition this is, for the shared ones of the built-in kinds: `core.v1.PodSpec`.
    pub definition: Option<Arc<str>>,
}

impl Schema {
    /// Reads a schema without its CEL rules.
    ///
    /// What cannot be read is left out: [`super::crd::check`] is what refuses a bad CRD.
    pub fn parse(raw: &Value) -> Schema {
        Self::read(raw, &|_| None, false)
    }

    /// Reads a schema with its CEL rules, compiled.
    pub fn compile(raw: &Value) -> Schema {
        Self::read(raw, &|_| None, true)
    }

    /// As [`Schema::parse`], with `$ref` looked up in `definitions`.
    pub fn parse_with(raw: &Value, definitions: &dyn Fn(&str) -> Option<Node>) -> Schema {
        Self::read(raw, definitions, false)
    }

    fn read(raw: &Value, definitions: &dyn Fn(&str) -> Option<Node>, with_rules: bool) -> Schema {
        let node = |value: &Value| match value.get("$ref").and_then(Value::as_str).and_then(definitions) {
            Some(shared) => shared,
            None => Node::from(Self::read(value, definitions, with_rules)),
        };
        let nodes = |key: &str| -> Vec<Node> {
            raw.get(key)
                .and_then(Value::as_array)
                .map(|all| all.iter().map(node).collect())
                .unwrap_or_default()
        };
        let text = |key: &str| raw.get(key).and_then(Value::as_str);
        let flag = |key: &str| raw.get(key).and_then(Value::as_bool).unwrap_or(false);
        let size = |key: &str| raw.get(key).and_then(whole);
        let bound = |key: &str, exclusive: &str| {
            raw.get(key).and_then(Value::as_f64).map(|limit| (limit, flag(exclusive)))
        };
        let strategies = text("x-kubernetes-patch-strategy").unwrap_or_default();
        let has = |name: &str| strategies.split(',').any(|s| s == name);
        let properties: BTreeMap<_, _> = raw
            .get("properties")
            .and_then(Value::as_object)
            .map(|all| all.iter().map(|(name, value)| (name.clone(), node(value))).collect())
            .unwrap_or_default();
        let rules =
            if with_rules { Rules::parse(raw.get("x-kubernetes-validations")) } else { Rules::default() };
        let mut schema = Schema {
            kind: text("type").and_then(Type::parse),
            format: text("format").filter(|f| !f.is_empty()).map(str::to_owned),
            nullable: flag("nullable"),
            default: raw.get("default").filter(|d| !d.is_null()).cloned(),
            properties,
            additional: match raw.get("additionalProperties") {
                Some(Value::Bool(true)) => Additional::Any,
                Some(of @ Value::Object(_)) => Additional::Of(node(of)),
                _ => Additional::None,
            },
            items: raw.get("items").filter(|i| i.is_object()).map(node),
            required: strings(raw.get("required")),
            enumeration: raw.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            pattern: text("pattern").filter(|p| !p.is_empty()).map(|source| Pattern {
                source: source.to_owned(),
                regex: super::validate::compile_pattern(source).ok(),
            }),
            minimum: bound("minimum", "exclusiveMinimum"),
            maximum: bound("maximum", "exclusiveMaximum"),
            multiple_of: raw.get("multipleOf").and_then(Value::as_f64),
            min_length: size("minLength"),
            max_length: size("maxLength"),
            min_items: size("minItems"),
            max_items: size("maxItems"),
            min_properties: size("minProperties"),
            max_properties: size("maxProperties"),
            all_of: nodes("allOf"),
            any_of: nodes("anyOf"),
            one_of: nodes("oneOf"),
            not: raw.get("not").filter(|n| n.is_object()).map(node),
            int_or_string: flag("x-kubernetes-int-or-string") || text("format") == Some("int-or-string"),
            embedded_resource: flag("x-kubernetes-embedded-resource"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            list_type: text("x-kubernetes-list-type").and_then(|t| match t {
                "atomic" => Some(ListType::Atomic),
                "set" => Some(ListType::Set),
                "map" => Some(ListType::Map),
                _ => None,
            }),
            list_map_keys: strings(raw.get("x-kubernetes-list-map-keys")),
            atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
            strategy: Strategy {
                merge_key: text("x-kubernetes-patch-merge-key").map(str::to_owned),
                merge: has("merge"),
                retain_keys: has("retainKeys"),
                replace: has("replace"),
            },
            rules_below: !rules.is_empty(),
            rules,
            definition: text("x-definition").map(Arc::from),
        };
        if with_rules {
            schema.rules_below |= schema.properties.values().any(|node| node.rules_below)
                || schema.element().is_some_and(|node| node.rules_below)
                || matches!(&schema.additional, Additional::Of(node) if node.rules_below);
        }
        schema
    }

    /// The schema of the field `name`: its own, or that of all other fields.
    pub fn field(&self, name: &str) -> Option<&Schema> {
        match self.properties.get(name) {
            Some(node) => Some(node),
            None => match &self.additional {
                Additional::Of(node) => Some(node),
                _ => None,
            },
        }
    }

    /// The schema of the elements.
    pub fn element(&self) -> Option<&Schema> {
        self.items.as_deref()
    }
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|f| f.fract() == 0.0 && *f >= 0.0).map(|f| f as u64))
}

fn strings(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_array)
        .map(|all| all.iter().filter_map(|s| s.as_str().map(str::to_owned)).collect())
        .unwrap_or_default()
}
