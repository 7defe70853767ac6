//! JSON Schema as schemars writes it, rewritten into the "structural" form that CustomResourceDefinitions demand and
//! controller-gen produces: no references, no `null`, one `type` per node.

use serde_json::{Map, Value, json};

use super::builtin;

/// Rewrites a root schema together with its `$defs`.
pub(super) fn structural(mut root: Value) -> Value {
    let definitions = match root.as_object_mut().and_then(|root| root.remove("$defs")) {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    node(root, &definitions)
}

fn node(schema: Value, definitions: &Map<String, Value>) -> Value {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        // `true`: anything goes.
        _ => return json!({ "x-kubernetes-preserve-unknown-fields": true }),
    };
    for noise in ["$schema", "title", "nullable"] {
        schema.remove(noise);
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(reference) = schema.remove("$ref") {
        return resolve(&reference, schema, definitions);
    }
    for variants in ["anyOf", "oneOf"] {
        if let Some(Value::Array(of)) = schema.remove(variants) {
            return alternatives(variants, of, schema, definitions);
        }
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(only) = schema.remove("const") {
        schema.insert("enum".into(), json!([only]));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|v| !v.is_null());
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            *property = node(property.take(), definitions);
        }
    }
    if let Some(items) = schema.get_mut("items") {
        *items = node(items.take(), definitions);
    }
    match schema.get_mut("additionalProperties") {
        Some(Value::Bool(false)) => drop(schema.remove("additionalProperties")),
        Some(Value::Bool(true)) => {
            schema.remove("additionalProperties");
            schema.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
        }
        Some(values) => *values = node(values.take(), definitions),
        None => {}
    }
    Value::Object(schema)
}

/// A named type in place: its own schema, what we know of it beside that, and what the place says.
fn resolve(reference: &Value, here: Map<String, Value>, definitions: &Map<String, Value>) -> Value {
    let path = reference.as_str().unwrap_or_default().trim_start_matches("#/$defs/");
    let name = path.replace("~1", "/").replace("~0", "~");
    let definition = definitions.get(&name).unwrap_or_else(|| panic!("schema type {name} is not defined"));
    let mut schema = node(definition.clone(), definitions);
    builtin::complete(&name, &mut schema);
    if let Value::Object(schema) = &mut schema {
        schema.extend(here);
    }
    schema
}

/// `Option<T>` is "T or null": the null goes. An enum of documented variants is a list of constants: one `enum`.
fn alternatives(
    keyword: &str,
    of: Vec<Value>,
    here: Map<String, Value>,
    definitions: &Map<String, Value>,
) -> Value {
    let is_null = |v: &Value| v.get("type").is_some_and(|t| t == "null");
    let mut of: Vec<Value> = of.into_iter().filter(|v| !is_null(v)).collect();
    if of.len() == 1 {
        let mut schema = node(of.remove(0), definitions);
        if let Value::Object(schema) = &mut schema {
            schema.extend(here);
        }
        return schema;
    }
    let constants: Option<Vec<Value>> = of
        .iter()
        .map(|v| v.get("const").map(|c| vec![c.clone()]).or_else(|| v.get("enum")?.as_array().cloned()))
        .collect::<Option<Vec<_>>>()
        .map(|lists| lists.concat());
    let mut schema = here;
    match constants {
        Some(values) => {
            schema.insert("type".into(), "string".into());
            schema.insert("enum".into(), values.into());
        }
        None => {
            let of = of.into_iter().map(|v| node(v, definitions)).collect();
            schema.insert(keyword.into(), Value::Array(of));
        }
    }
    Value::Object(schema)
}
