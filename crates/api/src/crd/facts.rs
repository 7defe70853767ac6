//! A CustomResourceDefinition as a list of facts, one line each, so that two definitions can be compared whatever
//! wrote them: descriptions and key order do not count, everything that a server acts upon does.
//!
//! A line is a place and what holds there: `v1 .spec.env[].name {"type":"string"}`. `[]` stands for an array's items
//! and `{}` for a map's values. `facts/*.facts` hold the originals'; `cargo run -p quintet-api --example crd-facts`
//! prints those of a YAML file.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The facts of a definition, given as JSON (so that fields unknown to our types are compared too).
pub fn facts(crd: &Value) -> BTreeSet<String> {
    let mut facts = BTreeSet::new();
    let Some(Value::Object(spec)) = crd.get("spec") else { return facts };
    for (key, value) in spec {
        if key != "versions" {
            facts.insert(format!("{key} {value}"));
        }
    }
    for version in spec.get("versions").and_then(Value::as_array).into_iter().flatten() {
        let name = version["name"].as_str().unwrap_or_default();
        for (key, value) in version.as_object().into_iter().flatten() {
            if key != "schema" && key != "name" {
                facts.insert(format!("{name} {key} {}", undescribed(value)));
            }
        }
        collect(name, "", &version["schema"]["openAPIV3Schema"], &mut facts);
    }
    facts
}

/// What separates a definition from recorded facts: `-` lines only the record has, `+` lines only the definition has.
pub fn difference(crd: &Value, recorded: &str) -> Vec<String> {
    let ours = facts(crd);
    let theirs: BTreeSet<String> =
        recorded.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(str::to_owned).collect();
    let missing = theirs.difference(&ours).map(|f| format!("- {f}"));
    let extra = ours.difference(&theirs).map(|f| format!("+ {f}"));
    missing.chain(extra).collect()
}

fn collect(version: &str, path: &str, schema: &Value, facts: &mut BTreeSet<String>) {
    let Value::Object(schema) = schema else { return };
    let mut here = Map::new();
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("description" | "title", _) => {}
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    collect(version, &format!("{path}.{name}"), property, facts);
                }
            }
            ("items", items) => collect(version, &format!("{path}[]"), items, facts),
            ("additionalProperties", Value::Object(_)) => {
                collect(version, &format!("{path}{{}}"), value, facts)
            }
            ("required" | "enum" | "x-kubernetes-list-map-keys", Value::Array(values)) => {
                let mut values = values.clone();
                values.sort_by_key(Value::to_string);
                here.insert(key.clone(), values.into());
            }
            // A bound is a float in our types and an integer in YAML.
            (_, Value::Number(n)) if n.as_f64().is_some_and(|f| f.fract() == 0.0) => {
                here.insert(key.clone(), (n.as_f64().unwrap_or_default() as i64).into());
            }
            _ => drop(here.insert(key.clone(), value.clone())),
        }
    }
    let place = if path.is_empty() { "." } else { path };
    facts.insert(format!("{version} {place} {}", Value::Object(here)));
}

/// Printer columns carry descriptions too.
fn undescribed(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(undescribed).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(k, _)| *k != "description")
                .map(|(k, v)| (k.clone(), undescribed(v)))
                .collect(),
        ),
        other => other.clone(),
    }
}
