//! Values at run time. What lies in the object stays where it is and is read as the expression reaches it.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use base64::Engine;
use serde_json::Value;

use super::authz::Asking;
use super::escape::{escape, unescape};
use crate::builtin::quantity::Quantity;
use crate::schema::{ListType, Schema, Type, go_duration, object_meta};

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Rc<str>),
    Bytes(Rc<[u8]>),
    Time(jiff::Timestamp),
    /// In nanoseconds.
    Duration(i64),
    /// An object, map or list in the object under judgement; without a schema whatever it is.
    Json(Option<&'a Schema>, &'a Value, bool),
    List(Rc<Vec<Val<'a>>>),
    Map(Rc<BTreeMap<String, Val<'a>>>),
    Optional(Option<Rc<Val<'a>>>),
    Type(Rc<str>),
    Url(Rc<reqwest::Url>, bool),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Quantity(Quantity),
    Semver(Rc<semver::Version>),
    Format(Rc<str>),
    /// A question about rights.
    Asking(Rc<Asking<'a>>),
    /// A variable that could not be worked out: whoever reads it fails with it.
    Broken(Rc<str>),
}

impl<'a> Val<'a> {
    pub(super) fn text(text: impl AsRef<str>) -> Self {
        Val::Text(Rc::from(text.as_ref()))
    }

    /// The value of JSON under a schema (`root`: of a whole object).
    pub(super) fn of(schema: Option<&'a Schema>, json: &'a Value, root: bool) -> Result<Self, String> {
        let kind = schema.and_then(|s| s.kind);
        Ok(match json {
            Value::Null => Val::Null,
            Value::Bool(b) => Val::Bool(*b),
            Value::Number(n) => match kind {
                Some(Type::Number) => Val::Double(n.as_f64().unwrap_or_default()),
                Some(Type::Integer) if n.is_f64() => {
                    return Err("invalid data, expected int, got float64".into());
                }
                _ => match n.as_i64() {
                    Some(int) => Val::Int(int),
                    None => Val::Double(n.as_f64().unwrap_or_default()),
                },
            },
            Value::String(text) => match (kind, schema.and_then(|s| s.format.as_deref())) {
                (Some(Type::String), Some("duration")) => {
                    Val::Duration(go_duration(text).ok_or_else(|| format!("Invalid duration {text}"))?)
                }
                (Some(Type::String), Some("date-time")) => {
                    Val::Time(text.parse().map_err(|_| format!("Invalid date-time formatted string {text}"))?)
                }
                (Some(Type::String), Some("date")) => Val::Time(
                    format!("{text}T00:00:00Z")
                        .parse()
                        .map_err(|_| format!("Invalid date formatted string {text}"))?,
                ),
                (Some(Type::String), Some("byte")) => {
                    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
                    Val::Bytes(bytes.map_err(|_| format!("Invalid byte formatted string {text}"))?.into())
                }
                _ => Val::text(text),
            },
            Value::Array(_) | Value::Object(_) => Val::Json(schema, json, root),
        })
    }

    /// The field of an object or the value of a map key; `None` when it is not there.
    pub(super) fn field(&self, name: &str) -> Option<Result<Val<'a>, String>> {
        match self {
            Val::Json(schema, Value::Object(fields), root) => {
                let root = *root || schema.is_some_and(|s| s.embedded_resource);
                let object = schema.is_some_and(|s| !s.properties.is_empty()) || root;
                let own = if object { unescape(name) } else { name.to_owned() };
                let inner = match schema {
                    _ if root && own == "metadata" => Some(object_meta()),
                    Some(schema) => schema.field(&own),
                    None => None,
                };
                let json = fields.get(&own).filter(|json| !json.is_null())?;
                Some(Val::of(inner, json, inner.is_some_and(|s| s.embedded_resource)))
            }
            Val::Map(map) => map.get(name).cloned().map(|value| match value {
                Val::Broken(why) => Err(why.to_string()),
                value => Ok(value),
            }),
            Val::Asking(asking) => asking.field(name).map(Ok),
            _ => None,
        }
    }

    /// The elements of a list.
    pub(super) fn elements(&self) -> Option<Result<Vec<Val<'a>>, String>> {
        match self {
            Val::List(list) => Some(Ok(list.to_vec())),
            Val::Json(schema, Value::Array(elements), _) => {
                let items = schema.and_then(Schema::element);
                let embedded = items.is_some_and(|s| s.embedded_resource);
                Some(elements.iter().map(|json| Val::of(items, json, embedded)).collect())
            }
            _ => None,
        }
    }

    /// The keys of a map.
    pub(super) fn keys(&self) -> Option<Vec<String>> {
        match self {
            Val::Map(map) => Some(map.keys().cloned().collect()),
            Val::Json(schema, Value::Object(fields), _) => Some(match schema {
                Some(schema) if !schema.properties.is_empty() => {
                    fields.keys().filter_map(|k| escape(k)).collect()
                }
                _ => fields.keys().cloned().collect(),
            }),
            _ => None,
        }
    }

    /// What `size()` gives.
    pub(super) fn size(&self) -> Option<usize> {
        Some(match self {
            Val::Text(text) => text.chars().count(),
            Val::Bytes(bytes) => bytes.len(),
            Val::List(list) => list.len(),
            Val::Map(map) => map.len(),
            Val::Json(_, Value::Array(all), _) => all.len(),
            Val::Json(_, Value::Object(all), _) => all.len(),
            _ => return None,
        })
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Uint(_) => "uint",
            Val::Double(_) => "double",
            Val::Text(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::Time(_) => "google.protobuf.Timestamp",
            Val::Duration(_) => "google.protobuf.Duration",
            Val::List(_) | Val::Json(_, Value::Array(_), _) => "list",
            Val::Map(_) | Val::Json(..) => "map",
            Val::Optional(_) => "optional_type",
            Val::Type(_) => "type",
            Val::Url(..) => "kubernetes.URL",
            Val::Ip(_) => "net.IP",
            Val::Cidr(..) => "net.CIDR",
            Val::Quantity(_) => "kubernetes.Quantity",
            Val::Semver(_) => "kubernetes.Semver",
            Val::Format(_) => "kubernetes.NamedFormat",
            Val::Asking(asking) => asking.type_name(),
            Val::Broken(_) => "error",
        }
    }

    /// Equality; numbers of different types are compared by value.
    pub(super) fn same(&self, other: &Val<'a>) -> bool {
        match (self, other) {
            (Val::Null, Val::Null) => true,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Text(a), Val::Text(b))
            | (Val::Type(a), Val::Type(b))
            | (Val::Format(a), Val::Format(b)) => a == b,
            (Val::Bytes(a), Val::Bytes(b)) => a == b,
            (Val::Url(a, _), Val::Url(b, _)) => a == b,
            (Val::Ip(a), Val::Ip(b)) => a == b,
            (Val::Cidr(a, x), Val::Cidr(b, y)) => a == b && x == y,
            (Val::Semver(a), Val::Semver(b)) => a == b,
            (Val::Optional(a), Val::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.same(b),
                (None, None) => true,
                _ => false,
            },
            _ => {
                if let (Some(Ok(a)), Some(Ok(b))) = (self.elements(), other.elements()) {
                    return a.len() == b.len() && self.lists_same(&a, &b);
                }
                if let (Some(a), Some(b)) = (self.keys(), other.keys()) {
                    return a.len() == b.len()
                        && a.iter().all(|key| match (self.field(key), other.field(key)) {
                            (Some(Ok(a)), Some(Ok(b))) => a.same(&b),
                            (None, None) => true,
                            _ => false,
                        });
                }
                self.order(other) == Some(Ordering::Equal)
            }
        }
    }

    /// Sets and map lists are the same in any order.
    fn lists_same(&self, a: &[Val<'a>], b: &[Val<'a>]) -> bool {
        match self {
            Val::Json(Some(schema), _, _)
                if matches!(schema.list_type, Some(ListType::Set | ListType::Map)) =>
            {
                a.iter().all(|a| b.iter().any(|b| a.same(b)))
            }
            _ => a.iter().zip(b).all(|(a, b)| a.same(b)),
        }
    }

    /// Order, where there is one.
    pub(super) fn order(&self, other: &Val<'a>) -> Option<Ordering> {
        let number = |val: &Val<'_>| match val {
            Val::Int(n) => Some(*n as f64),
            Val::Uint(n) => Some(*n as f64),
            Val::Double(n) => Some(*n),
            _ => None,
        };
        match (self, other) {
            (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
            (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
            (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
            (Val::Text(a), Val::Text(b)) => Some(a.cmp(b)),
            (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
            (Val::Time(a), Val::Time(b)) => Some(a.cmp(b)),
            (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
            (Val::Quantity(a), Val::Quantity(b)) => Some(a.cmp(b)),
            (Val::Semver(a), Val::Semver(b)) => Some(a.cmp_precedence(b)),
            _ => number(self)?.partial_cmp(&number(other)?),
        }
    }
}
