//! From a Rust type to its CustomResourceDefinition.
//!
//! kube's derive gives names, scope, subresources and printer columns, but inlines every embedded type, so that what
//! the original's definitions say about built-in types (list keys, atomic maps, defaults, bounds) can no longer be told
//! apart by type. We therefore let schemars keep the named types ([`structural`] inlines them) and lay what
//! k8s-openapi leaves out over each ([`builtin`]). [`facts`] takes a definition apart for comparison with the
//! original's.

mod builtin;
pub mod facts;
mod structural;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation, JSONSchemaProps,
};
use kube::core::crd::v1::CustomResourceExt;
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::Transform};
use serde_json::{Value, json};

/// The CustomResourceDefinition of `K`. Use this, never `K::crd()`: only this one is at parity with the original.
pub fn of<K: CustomResourceExt + JsonSchema>() -> CustomResourceDefinition {
    let mut crd = K::crd();
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    for version in &mut crd.spec.versions {
        version.schema = Some(CustomResourceValidation { open_api_v3_schema: Some(root::<K>()) });
        // The server's own form: absent, not empty.
        version.additional_printer_columns =
            version.additional_printer_columns.take().filter(|c| !c.is_empty());
        version.selectable_fields = version.selectable_fields.take().filter(|c| !c.is_empty());
    }
    for list in [&mut crd.spec.names.categories, &mut crd.spec.names.short_names] {
        *list = list.take().filter(|l| !l.is_empty());
    }
    crd
}

/// The schema of a whole object: what `K` says, and the three fields that every object has.
fn root<K: JsonSchema>() -> JSONSchemaProps {
    let generated = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<K>();
    let mut schema = structural::structural(generated.to_value());
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("apiVersion".into(), json!({ "type": "string" }));
        properties.insert("kind".into(), json!({ "type": "string" }));
        properties.insert("metadata".into(), json!({ "type": "object" }));
    }
    serde_json::from_value(schema).expect("a structural schema is a JSONSchemaProps")
}

/// Makes the definition ask for fields that the type does without.
pub(crate) fn required(fields: &'static [&'static str]) -> impl Transform {
    move |schema: &mut Schema| {
        for &field in fields {
            let of_field = schema.pointer_mut(&format!("/properties/{field}")).and_then(Value::as_object_mut);
            of_field.map(|property| property.remove("default"));
        }
        let required = schema.ensure_object().entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            required.extend(fields.iter().map(|&field| field.into()));
        }
    }
}
