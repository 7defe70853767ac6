//! The functions of the language and of the Kubernetes libraries.

mod formats;
mod lists;
mod net;
mod numbers;
mod strings;
mod times;

use std::rc::Rc;

use super::authz;
use super::value::Val;

pub(super) type Out<'a> = Result<Val<'a>, String>;

fn no_overload<'a>() -> Out<'a> {
    Err("no such overload".into())
}

/// What a call costs: its share of the work by the size of what it reads.
pub(super) fn cost(name: &str, values: &[Val<'_>]) -> u64 {
    let size = |index: usize| values.get(index).and_then(Val::size).unwrap_or(1) as f64;
    let amount = match name {
        // A look into the rights of a cluster is not for nothing.
        "check" if matches!(values.first(), Some(Val::Asking(_))) => 350_000.0,
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" => size(0).min(size(1)) * 0.1,
        "_+_" if matches!(values.first(), Some(Val::Text(_) | Val::Bytes(_))) => (size(0) + size(1)) * 0.1,
        "@in" => values.get(1).and_then(Val::size).unwrap_or(1) as f64,
        "startsWith" | "endsWith" => size(1) * 0.1,
        "contains" => (size(0) * 0.1).ceil() * (size(1) * 0.1).ceil(),
        "matches" | "find" | "findAll" => ((size(0) + 1.0) * 0.1).ceil() * (size(1) * 0.25).ceil(),
        "replace" | "split" | "join" => size(0) * 0.2,
        "isSorted" | "sum" | "min" | "max" | "indexOf" | "lastIndexOf" | "sort" | "distinct" | "flatten"
        | "reverse" | "slice" => size(0),
        "sets.contains" | "sets.intersects" | "sets.equivalent" => size(0) * size(1),
        "lowerAscii" | "upperAscii" | "substring" | "trim" | "url" | "isURL" | "ip" | "isIP" | "cidr"
        | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" | "format" | "validate"
        | "strings.quote" => size(0) * 0.1,
        _ => 1.0,
    };
    amount.ceil().max(1.0) as u64
}

/// Calls a function; a member function's receiver comes first.
pub(super) fn call<'a>(name: &str, member: bool, values: &[Val<'a>]) -> Out<'a> {
    match (name, values) {
        ("_==_", [a, b]) => Ok(Val::Bool(a.same(b))),
        ("_!=_", [a, b]) => Ok(Val::Bool(!a.same(b))),
        ("!_", [Val::Bool(b)]) => Ok(Val::Bool(!b)),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => compare(name, a, b),
        ("@in", [value, container]) => contains(value, container),
        ("_[_]", [container, index]) => self::index(container, index),
        ("_[?_]", [container, key]) => {
            let inner = match container {
                Val::Optional(None) => return Ok(Val::Optional(None)),
                Val::Optional(Some(inner)) => inner,
                other => other,
            };
            Ok(Val::Optional(self::index(inner, key).ok().map(Rc::new)))
        }
        ("size", [value]) => value.size().map_or_else(no_overload, |size| Ok(Val::Int(size as i64))),
        ("type", [value]) => Ok(Val::Type(value.type_name().into())),
        ("dyn", [value]) => Ok(value.clone()),
        ("bool", [Val::Bool(b)]) => Ok(Val::Bool(*b)),
        ("bool", [Val::Text(text)]) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => Err("type conversion error from 'string' to 'bool'".into()),
        },
        ("bytes", [Val::Bytes(bytes)]) => Ok(Val::Bytes(bytes.clone())),
        ("bytes", [Val::Text(text)]) => Ok(Val::Bytes(text.as_bytes().into())),
        ("string", [value]) => Ok(Val::text(show(value))),
        ("optional.of", [value]) => Ok(Val::Optional(Some(Rc::new(value.clone())))),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(Val::Optional((!is_zero(value)).then(|| Rc::new(value.clone()))))
        }
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("hasValue", [Val::Optional(inner)]) => Ok(Val::Bool(inner.is_some())),
        ("value", [Val::Optional(inner)]) => match inner {
            Some(inner) => Ok((**inner).clone()),
            None => Err("optional.none() dereference".into()),
        },
        ("orValue", [Val::Optional(inner), other]) => Ok(inner.as_deref().unwrap_or(other).clone()),
        ("or", [Val::Optional(inner), other]) => match inner {
            Some(_) => Ok(values[0].clone()),
            None => Ok(other.clone()),
        },
        _ => numbers::call(name, values)
            .or_else(|| times::call(name, values))
            .or_else(|| strings::call(name, member, values))
            .or_else(|| lists::call(name, values))
            .or_else(|| net::call(name, values))
            .or_else(|| formats::call(name, values))
            .or_else(|| authz::call(name, values))
            .unwrap_or_else(no_overload),
    }
}

fn compare<'a>(name: &str, a: &Val<'a>, b: &Val<'a>) -> Out<'a> {
    let Some(order) = a.order(b) else { return no_overload() };
    Ok(Val::Bool(match name {
        "_<_" => order.is_lt(),
        "_<=_" => order.is_le(),
        "_>_" => order.is_gt(),
        _ => order.is_ge(),
    }))
}

fn contains<'a>(value: &Val<'a>, container: &Val<'a>) -> Out<'a> {
    if let Some(elements) = container.elements() {
        return Ok(Val::Bool(elements?.iter().any(|element| element.same(value))));
    }
    match (container.keys(), value) {
        (Some(_), Val::Text(key)) => Ok(Val::Bool(container.field(key).is_some())),
        (Some(_), _) => Ok(Val::Bool(false)),
        (None, _) => no_overload(),
    }
}

fn index<'a>(container: &Val<'a>, index: &Val<'a>) -> Out<'a> {
    if let Val::Optional(inner) = container {
        return match inner {
            None => Ok(Val::Optional(None)),
            Some(inner) => Ok(Val::Optional(self::index(inner, index).ok().map(Rc::new))),
        };
    }
    if let Some(elements) = container.elements() {
        let place = match index {
            Val::Int(i) => *i,
            Val::Uint(u) => *u as i64,
            Val::Double(d) if d.fract() == 0.0 => *d as i64,
            _ => return no_overload(),
        };
        let elements = elements?;
        return match usize::try_from(place).ok().and_then(|place| elements.get(place)) {
            Some(element) => Ok(element.clone()),
            None => Err(format!("index out of bounds: {place}")),
        };
    }
    match (container.keys(), index) {
        (Some(_), Val::Text(key)) => match container.field(key) {
            Some(value) => value,
            None => Err(format!("no such key: {key}")),
        },
        _ => no_overload(),
    }
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null => true,
        Val::Bool(b) => !b,
        Val::Int(n) => *n == 0,
        Val::Uint(n) => *n == 0,
        Val::Double(n) => *n == 0.0,
        Val::Duration(n) => *n == 0,
        other => other.size() == Some(0),
    }
}

/// A value as `string()` shows it.
pub(super) fn show(value: &Val<'_>) -> String {
    match value {
        Val::Null => "null".into(),
        Val::Bool(b) => b.to_string(),
        Val::Int(n) => n.to_string(),
        Val::Uint(n) => n.to_string(),
        Val::Double(n) => crate::schema::go_float(*n),
        Val::Text(text) | Val::Type(text) | Val::Format(text) => text.to_string(),
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Time(time) => time.to_string(),
        Val::Duration(nanos) => format!("{}s", crate::schema::go_float(*nanos as f64 / 1e9)),
        Val::Json(_, json, _) => json.to_string(),
        Val::List(list) => format!("[{}]", list.iter().map(show).collect::<Vec<_>>().join(", ")),
        Val::Map(map) => {
            format!(
                "{{{}}}",
                map.iter().map(|(k, v)| format!("{k}: {}", show(v))).collect::<Vec<_>>().join(", ")
            )
        }
        Val::Optional(Some(inner)) => format!("optional({})", show(inner)),
        Val::Optional(None) => "optional.none()".into(),
        Val::Url(url, relative) => net::show_url(url, *relative),
        Val::Ip(ip) => ip.to_string(),
        Val::Cidr(ip, bits) => format!("{ip}/{bits}"),
        Val::Quantity(quantity) => quantity.to_string(),
        Val::Semver(version) => version.to_string(),
        Val::Asking(asking) => asking.type_name().to_owned(),
        Val::Broken(why) => why.to_string(),
    }
}
