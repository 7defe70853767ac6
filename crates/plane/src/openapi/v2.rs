//! The one OpenAPI v2 document.

use serde_json::{Map, Value, json};

use super::{custom, paths, schemas};
use crate::resource::Catalog;

const PREFIX: &str = "#/definitions/";

pub(super) fn document(catalog: &Catalog) -> Value {
    let (mut all_paths, mut definitions) = (Map::new(), Map::new());
    schemas::add(schemas::OBJECT_META, &mut definitions, PREFIX);
    schemas::add(schemas::LIST_META, &mut definitions, PREFIX);
    for resource in catalog.all() {
        let name = match resource.is_custom() {
            true => {
                let name = custom::name_of(resource);
                definitions.insert(name.clone(), custom::schema(resource, PREFIX, true));
                name
            }
            false => {
                let Some(name) = schemas::name_of(&resource.gvk) else { continue };
                schemas::add(name, &mut definitions, PREFIX);
                name.clone()
            }
        };
        if resource.traits.stored {
            definitions.insert(format!("{name}List"), schemas::list(&resource.gvk, &name, PREFIX));
        }
        paths::add(resource, &mut all_paths, &format!("{PREFIX}{name}"), false);
    }
    for definition in definitions.values_mut() {
        without_alternatives(definition);
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": all_paths,
        "definitions": definitions,
    })
}

/// v2 has no words for these.
fn without_alternatives(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for key in ["oneOf", "anyOf", "not", "nullable"] {
                if fields.get(key).is_some_and(|v| v.is_array() || v.is_boolean()) {
                    fields.remove(key);
                }
            }
            fields.values_mut().for_each(without_alternatives);
        }
        Value::Array(items) => items.iter_mut().for_each(without_alternatives),
        _ => {}
    }
}
