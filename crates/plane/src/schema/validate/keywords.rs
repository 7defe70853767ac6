//! The keywords of a schema against one value.

use serde_json::{Map, Value};

use super::super::error::{go_float, join};
use super::super::model::{Additional, ListType, Schema, Type};
use super::formats;
use crate::status::{FieldError, go_quote};

/// A walk over value and schema; `matched` counts the checks that were made, to pick the best of failed alternatives.
#[derive(Default)]
pub(super) struct Walk {
    pub(super) errors: Vec<FieldError>,
    matched: usize,
}

impl Walk {
    /// Checks `value` at `path`; equal to its old self it is left in peace.
    pub(super) fn value(&mut self, schema: &Schema, value: &Value, old: Option<&Value>, path: &str) {
        if old == Some(value) {
            self.matched += 1;
            return;
        }
        self.matched += 1;
        self.json_type(schema, value, path);
        if !value.is_null() {
            self.alternatives(schema, value, path);
        }
        match value {
            Value::String(text) => self.string(schema, text, path),
            Value::Number(number) => self.number(schema, number, path),
            Value::Array(elements) => self.array(schema, elements, old, path),
            Value::Object(fields) => self.object(schema, fields, old, path),
            _ => {}
        }
        let tolerated_null = value.is_null() && schema.nullable;
        if !schema.enumeration.is_empty()
            && !tolerated_null
            && !schema.enumeration.iter().any(|v| equal(v, value))
        {
            let supported = schema.enumeration.iter().map(|v| match v {
                Value::String(s) => s.clone(),
                other => other.to_string(),
            });
            self.errors.push(FieldError::unsupported(path, value.clone(), supported.collect()));
        }
    }

    fn json_type(&mut self, schema: &Schema, value: &Value, path: &str) {
        let (found, found_format) = json_type(value);
        let wanted = match schema.kind {
            _ if schema.int_or_string => "integer,string",
            Some(kind) => kind.name(),
            None => return,
        };
        if value.is_null() {
            if !schema.nullable {
                // The real server loses the name here.
                let detail = format!(" in body must be of type {wanted}: \"null\"");
                self.errors.push(FieldError::type_invalid(path, "null", detail));
            }
            return;
        }
        let whole = value.as_f64().is_some_and(|f| f.fract() == 0.0);
        let fits = wanted.split(',').any(|t| t == found)
            || (found == "integer" && wanted == "number")
            || (found == "number" && whole && wanted.contains("integer"));
        if fits {
            return;
        }
        match &schema.format {
            Some(format) if !matches!(value, Value::String(_) | Value::Array(_)) => {
                self.wrong_type(path, format, found_format);
            }
            Some(_) if !matches!(schema.kind, Some(Type::Integer | Type::Number)) => {}
            _ => self.wrong_type(path, wanted, found),
        }
    }

    fn wrong_type(&mut self, path: &str, wanted: &str, found: &str) {
        let detail = format!("{path} in body must be of type {wanted}: \"{found}\"");
        self.errors.push(FieldError::type_invalid(path, found, detail));
    }

    fn string(&mut self, schema: &Schema, text: &str, path: &str) {
        let invalid = |detail: String| FieldError::invalid(path, text, format!("{path} in body {detail}"));
        if let Some(format) = &schema.format
            && formats::check(format, text) == Some(false)
        {
            let detail = format!("{path} in body must be of type {format}: {}", go_quote(text));
            self.errors.push(FieldError::type_invalid(path, text, detail));
        }
        let length = text.chars().count() as u64;
        if let Some(max) = schema.max_length.filter(|max| length > *max) {
            self.errors.push(FieldError::too_long(path, max as usize));
        } else if let Some(min) = schema.min_length.filter(|min| length < *min) {
            self.errors.push(invalid(format!("should be at least {min} chars long")));
        } else if let Some(pattern) = &schema.pattern
            && !pattern.regex.as_ref().is_some_and(|regex| regex.is_match(text))
        {
            self.errors.push(invalid(format!("should match '{}'", pattern.source)));
        }
    }

    fn number(&mut self, schema: &Schema, number: &serde_json::Number, path: &str) {
        let Some(float) = number.as_f64() else { return };
        if let Some(text) = out_of_range(schema, number, float, path) {
            self.errors.push(FieldError::invalid("", "", text));
        }
        let invalid = |detail: String| {
            FieldError::invalid(
                path,
                Value::Number(number.clone()),
                format!("{path} in body should be {detail}"),
            )
        };
        if let Some(factor) = schema.multiple_of {
            if float == 0.0 {
                let detail = format!("factor MultipleOf declared for {path} must be positive: 0");
                self.errors.push(FieldError::invalid(path, 0, detail));
            } else if factor > 0.0 {
                let times = if factor < 1.0 { 1.0 / factor * float } else { float / factor };
                if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
                    self.errors.push(invalid(format!("a multiple of {}", go_float(factor))));
                }
            }
        }
        if let Some((max, exclusive)) = schema.maximum {
            match exclusive {
                true if float >= max => self.errors.push(invalid(format!("less than {}", go_float(max)))),
                false if float > max => {
                    self.errors.push(invalid(format!("less than or equal to {}", go_float(max))));
                }
                _ => {}
            }
        }
        if let Some((min, exclusive)) = schema.minimum {
            match exclusive {
                true if float <= min => self.errors.push(invalid(format!("greater than {}", go_float(min)))),
                false if float < min => {
                    self.errors.push(invalid(format!("greater than or equal to {}", go_float(min))));
                }
                _ => {}
            }
        }
    }

    fn array(&mut self, schema: &Schema, elements: &[Value], old: Option<&Value>, path: &str) {
        if let Some(items) = schema.element() {
            let previous = Previous::new(schema, old);
            for (index, element) in elements.iter().enumerate() {
                self.value(items, element, previous.of(element), &format!("{path}[{index}]"));
            }
        }
        let length = elements.len();
        if let Some(min) = schema.min_items.filter(|min| (length as u64) < *min) {
            let detail = format!("{path} in body should have at least {min} items");
            self.errors.push(FieldError::invalid(path, length, detail));
        }
        if let Some(max) = schema.max_items.filter(|max| length as u64 > *max) {
            self.errors.push(FieldError::too_many(path, length, max as usize));
        }
    }

    fn object(&mut self, schema: &Schema, fields: &Map<String, Value>, old: Option<&Value>, path: &str) {
        let count = fields.len();
        if let Some(min) = schema.min_properties.filter(|min| (count as u64) < *min) {
            let detail = format!("{path} in body should have at least {min} properties");
            self.errors.push(FieldError::invalid(path, count, detail));
            return;
        }
        if let Some(max) = schema.max_properties.filter(|max| count as u64 > *max) {
            self.errors.push(FieldError::too_many(path, count, max as usize));
            return;
        }
        if schema.embedded_resource {
            self.embedded(fields, path);
        }
        for (name, value) in fields {
            let inner = match (schema.properties.get(name), &schema.additional) {
                (Some(property), _) => property,
                (None, Additional::Of(of)) => of,
                _ => continue,
            };
            self.value(inner, value, old.and_then(|o| o.get(name)), &join(path, name));
        }
        for name in &schema.required {
            if !fields.contains_key(name) {
                self.errors.push(FieldError::required(join(path, name), ""));
            }
        }
    }

    fn embedded(&mut self, fields: &Map<String, Value>, path: &str) {
        for name in ["apiVersion", "kind"] {
            let detail = match fields.get(name).and_then(Value::as_str) {
                Some("") => "must not be empty",
                Some(_) => continue,
                None => "",
            };
            self.errors.push(FieldError::required(join(path, name), detail));
        }
    }

    fn alternatives(&mut self, schema: &Schema, value: &Value, path: &str) {
        let attempt = |schema: &Schema| {
            let mut inner = Walk::default();
            inner.value(schema, value, None, path);
            inner
        };
        let mut say = Vec::new();
        if !schema.any_of.is_empty() {
            let tries: Vec<_> = schema.any_of.iter().map(|s| attempt(s)).collect();
            if tries.iter().all(|t| !t.errors.is_empty()) {
                say.push(about(path, "must validate at least one schema (anyOf)"));
                say.extend(best(tries));
            }
        }
        if !schema.one_of.is_empty() {
            let tries: Vec<_> = schema.one_of.iter().map(|s| attempt(s)).collect();
            let valid = tries.iter().filter(|t| t.errors.is_empty()).count();
            if valid == 0 {
                say.push(about(path, "must validate one and only one schema (oneOf). Found none valid"));
                say.extend(best(tries));
            } else if valid > 1 {
                let text = format!(
                    "must validate one and only one schema (oneOf). Found {valid} valid alternatives"
                );
                say.push(about(path, &text));
            }
        }
        if !schema.all_of.is_empty() {
            let tries: Vec<_> = schema.all_of.iter().map(|s| attempt(s)).collect();
            let valid = tries.iter().filter(|t| t.errors.is_empty()).count();
            let all = tries.len();
            say.extend(tries.into_iter().flat_map(|t| t.errors));
            if valid != all {
                let none = if valid == 0 { ". None validated" } else { "" };
                say.push(about(path, &format!("must validate all the schemas (allOf){none}")));
            }
        }
        if let Some(not) = &schema.not
            && attempt(not).errors.is_empty()
        {
            say.push(about(path, "must not validate the schema (not)"));
        }
        self.errors.append(&mut say);
    }
}

fn about(path: &str, text: &str) -> FieldError {
    FieldError::invalid("", "", format!("\"{path}\" {text}"))
}

/// The errors of the alternative that came furthest.
fn best(tries: Vec<Walk>) -> Vec<FieldError> {
    tries.into_iter().rev().max_by_key(|t| t.matched).map(|t| t.errors).unwrap_or_default()
}

fn json_type(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", "null"),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Number(n) if n.is_f64() => ("number", "double"),
        Value::Number(_) => ("integer", "int64"),
    }
}

fn out_of_range(schema: &Schema, number: &serde_json::Number, float: f64, path: &str) -> Option<String> {
    let kind = match schema.kind {
        Some(Type::Integer) => "integer",
        Some(Type::Number) => "number",
        None if schema.int_or_string => "integer",
        _ => return None,
    };
    let format = schema.format.as_deref().unwrap_or_default();
    let fits = match (kind, format) {
        ("integer", "int32") => float.fract() == 0.0 && (i32::MIN as f64..=i32::MAX as f64).contains(&float),
        ("integer", _) => {
            number.is_i64() || (number.is_f64() && float.fract() == 0.0 && float.abs() < 9.3e18)
        }
        ("number", "float") => float.abs() <= f32::MAX as f64,
        _ => true,
    };
    let of = match format {
        "" => format!("{kind} (default format)"),
        format => format!("{kind} with format {format}"),
    };
    (!fits).then(|| format!("Checked value must be of type {of} in {path}"))
}

/// Equality where `1` and `1.0` are the same number.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        _ => a == b,
    }
}

/// The old elements of a list, as far as they can be told to be the predecessors of new ones.
pub(in super::super) struct Previous<'a> {
    keys: &'a [String],
    items: Option<&'a Schema>,
    old: &'a [Value],
}

impl<'a> Previous<'a> {
    pub(in super::super) fn new(schema: &'a Schema, old: Option<&'a Value>) -> Self {
        let old = match (schema.list_type, old) {
            (Some(ListType::Map), Some(Value::Array(old))) => old.as_slice(),
            _ => &[],
        };
        Previous { keys: &schema.list_map_keys, items: schema.element(), old }
    }

    pub(in super::super) fn of(&self, element: &Value) -> Option<&'a Value> {
        let key = |value: &'a Value, name: &str| {
            value.get(name).or_else(|| self.items?.properties.get(name)?.default.as_ref())
        };
        self.old.iter().find(|old| {
            self.keys.iter().all(|name| {
                let new = element.get(name).or_else(|| self.items?.properties.get(name)?.default.as_ref());
                new == key(old, name)
            })
        })
    }
}
