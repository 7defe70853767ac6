//! The types of expressions, with the sizes their values can have.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::escape::escape;
use crate::schema::{Additional, Schema, Type};

/// The largest request: what bounds a value whose schema does not.
pub(super) const MAX_REQUEST: u64 = 3 * 1024 * 1024;
const MAX_TIMESTAMP: u64 = 32;
const MAX_DURATION: u64 = 32;
const DATE: u64 = 12;

/// What kind of value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Known at run time only.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    List(Box<Ty>),
    Map(Box<Ty>, Box<Ty>),
    Object(Arc<Fields>),
    Optional(Box<Ty>),
    /// The type of types.
    Type,
    /// A Kubernetes library type: `url`, `ip`, `cidr`, `quantity`, `semver`, `format`.
    Opaque(&'static str),
}

/// The fields of an object, by their escaped names.
#[derive(Debug, PartialEq)]
pub(super) struct Fields(pub(super) BTreeMap<String, Ty>);

/// A type. `max` bounds the size of a value that comes from the object; `min_json` is the least it takes in a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ty {
    pub(super) kind: Kind,
    pub(super) max: Option<u64>,
    min_json: u64,
}

impl From<Kind> for Ty {
    fn from(kind: Kind) -> Self {
        Ty { kind, max: None, min_json: 0 }
    }
}

impl Ty {
    fn sized(kind: Kind, max: u64, min_json: u64) -> Self {
        Ty { kind, max: Some(max), min_json }
    }

    /// The same type with another bound.
    pub(super) fn with_max(&self, max: Option<u64>) -> Self {
        Ty { max, ..self.clone() }
    }

    /// How often a rule on values of this type can run at most within one request.
    pub(super) fn max_cardinality(&self) -> u64 {
        MAX_REQUEST / (self.min_json + 1)
    }

    /// The type of values of a schema; `None` when expressions cannot see them.
    pub(super) fn of(schema: &Schema, root: bool) -> Option<Ty> {
        if schema.int_or_string {
            return Some(Ty::sized(Kind::Dyn, schema.max_length.map_or(MAX_REQUEST - 2, |max| max * 4), 1));
        }
        Some(match schema.kind? {
            Type::Array => {
                let items = schema.element()?;
                let element = Ty::of(items, items.embedded_resource)?;
                let max = schema.max_items.unwrap_or((MAX_REQUEST - 2) / (element.min_json + 1));
                Ty::sized(Kind::List(Box::new(element)), max, 2)
            }
            Type::Object => return Ty::object(schema, root),
            Type::String => Ty::string(schema),
            Type::Boolean => Ty::sized(Kind::Bool, 0, 4),
            Type::Integer => Ty::sized(Kind::Int, 0, 1),
            Type::Number => Ty::sized(Kind::Double, 0, 1),
        })
    }

    fn object(schema: &Schema, root: bool) -> Option<Ty> {
        if let Additional::Of(values) = &schema.additional {
            let value = Ty::of(values, values.embedded_resource)?;
            let max = schema.max_properties.unwrap_or((MAX_REQUEST - 2) / (value.min_json + 6));
            // The real estimator knows no bound on keys and reckons them as empty.
            let key = Ty::sized(Kind::String, 0, 2);
            return Some(Ty::sized(Kind::Map(Box::new(key), Box::new(value)), max, 2));
        }
        let mut min_json = 2;
        let mut fields = BTreeMap::new();
        for (name, property) in &schema.properties {
            if root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                continue;
            }
            let Some(ty) = Ty::of(property, property.embedded_resource) else { continue };
            if schema.required.contains(name) && property.default.is_none() {
                min_json += name.len() as u64 + ty.min_json + 4;
            }
            if let Some(escaped) = escape(name) {
                fields.insert(escaped, ty);
            }
        }
        if root {
            let text = || Ty::sized(Kind::String, MAX_REQUEST - 2, 2);
            let names = BTreeMap::from([("name".to_owned(), text()), ("generateName".to_owned(), text())]);
            fields.insert("apiVersion".into(), text());
            fields.insert("kind".into(), text());
            fields.insert("metadata".into(), Ty::sized(Kind::Object(Arc::new(Fields(names))), 0, 2));
        }
        Some(Ty::sized(Kind::Object(Arc::new(Fields(fields))), 0, min_json))
    }

    fn string(schema: &Schema) -> Ty {
        match schema.format.as_deref() {
            Some("byte") => Ty::sized(Kind::Bytes, schema.max_length.unwrap_or(MAX_REQUEST - 2), 2),
            Some("duration") => Ty::sized(Kind::Duration, MAX_DURATION, 4),
            Some("date") => Ty::sized(Kind::Timestamp, DATE, DATE),
            Some("date-time") => Ty::sized(Kind::Timestamp, MAX_TIMESTAMP, 22),
            _ => {
                let longest =
                    || schema.enumeration.iter().filter_map(|v| v.as_str()).map(|s| s.len() as u64).max();
                let max = schema.max_length.map(|max| max.saturating_mul(4)).or_else(longest);
                Ty::sized(Kind::String, max.unwrap_or(MAX_REQUEST - 2), 2)
            }
        }
    }

    /// Whether a value of one type may stand where the other is wanted.
    pub(super) fn fits(&self, other: &Ty) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Dyn, _) | (_, Kind::Dyn) => true,
            (Kind::List(a), Kind::List(b)) | (Kind::Optional(a), Kind::Optional(b)) => a.fits(b),
            (Kind::Map(k, a), Kind::Map(l, b)) => k.fits(l) && a.fits(b),
            (Kind::Object(a), Kind::Object(b)) => Arc::ptr_eq(a, b) || a == b,
            (
                Kind::Null,
                Kind::Object(_) | Kind::Timestamp | Kind::Duration | Kind::Optional(_) | Kind::Opaque(_),
            )
            | (
                Kind::Object(_) | Kind::Timestamp | Kind::Duration | Kind::Optional(_) | Kind::Opaque(_),
                Kind::Null,
            ) => true,
            (a, b) => {
                std::mem::discriminant(a) == std::mem::discriminant(b)
                    && match (a, b) {
                        (Kind::Opaque(a), Kind::Opaque(b)) => a == b,
                        _ => true,
                    }
            }
        }
    }

    /// A type that covers both.
    pub(super) fn union(&self, other: &Ty) -> Ty {
        let max = match (self.max, other.max) {
            (Some(a), Some(b)) => Some(a.max(b)),
            _ => None,
        };
        let kind = match (&self.kind, &other.kind) {
            (Kind::List(a), Kind::List(b)) => Kind::List(Box::new(a.union(b))),
            (Kind::Map(k, a), Kind::Map(l, b)) => Kind::Map(Box::new(k.union(l)), Box::new(a.union(b))),
            // An empty list or a null gives way to the type beside it.
            (Kind::Dyn | Kind::Null, other) => other.clone(),
            (this, _) => this.clone(),
        };
        Ty { kind, max, min_json: self.min_json.min(other.min_json) }
    }
}

/// As the compiler prints types in its messages.
impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Dyn => f.write_str("dyn"),
            Kind::Null => f.write_str("null"),
            Kind::Bool => f.write_str("bool"),
            Kind::Int => f.write_str("int"),
            Kind::Uint => f.write_str("uint"),
            Kind::Double => f.write_str("double"),
            Kind::String => f.write_str("string"),
            Kind::Bytes => f.write_str("bytes"),
            Kind::Timestamp => f.write_str("timestamp"),
            Kind::Duration => f.write_str("duration"),
            Kind::List(element) => write!(f, "list({element})"),
            Kind::Map(key, value) => write!(f, "map({key}, {value})"),
            Kind::Object(_) => f.write_str("object"),
            Kind::Optional(inner) => write!(f, "optional_type({inner})"),
            Kind::Type => f.write_str("type"),
            Kind::Opaque(name) => f.write_str(name),
        }
    }
}
