//! From one version of a registry to the other, as the API server asks for it.

use quintet_api::model_registry::convert::{json_to_v1alpha1, json_to_v1beta1};
use serde_json::{Value, json};

const GROUP: &str = "modelregistry.opendatahub.io";

/// The object in the version that is wanted, given as `group/version`.
///
/// # Errors
/// If it is no registry, or is to become what it is or what nobody knows. The text is for the user.
pub fn convert(object: Value, wanted: &str) -> Result<Value, String> {
    let from = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    let versions = |version: &str| {
        version.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('/')).map(str::to_owned)
    };
    if object["kind"] != "ModelRegistry" {
        return Err(format!("{from} {} cannot be converted: only ModelRegistry can", object["kind"]));
    }
    let convert = match (versions(&from).as_deref(), versions(wanted).as_deref()) {
        (Some("v1alpha1"), Some("v1beta1")) => json_to_v1beta1,
        (Some("v1beta1"), Some("v1alpha1")) => json_to_v1alpha1,
        (Some(from), Some(wanted)) if from == wanted => {
            return Err(format!("conversion is not allowed between same type {from} ModelRegistry"));
        }
        _ => return Err(format!("ModelRegistry cannot be converted from {from:?} to {wanted:?}")),
    };
    let Value::Object(mut object) = object else { return Err("an object is no text, number or list".into()) };
    convert(&mut object);
    // As the original answers: a status is always there.
    let status = object.entry("status").or_insert(Value::Null);
    if status.is_null() {
        *status = json!({});
    }
    Ok(object.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specifications_example_is_answered_as_written() {
        let old = json!({
            "apiVersion": "modelregistry.opendatahub.io/v1alpha1", "kind": "ModelRegistry",
            "metadata": { "name": "r", "namespace": "n" },
            "spec": { "rest": { "port": 8080 }, "grpc": { "port": 9090 },
                "istio": { "gateway": { "domain": "d.example", "rest": {}, "grpc": {} } } },
        });
        let new = convert(old, "modelregistry.opendatahub.io/v1beta1").unwrap();
        assert_eq!(
            new,
            json!({
                "apiVersion": "modelregistry.opendatahub.io/v1beta1", "kind": "ModelRegistry",
                "metadata": { "name": "r", "namespace": "n" },
                "spec": { "rest": { "port": 8080 }, "grpc": { "port": 9090 },
                    "oauthProxy": { "port": 8443, "serviceRoute": "enabled", "domain": "d.example", "routePort": 443 } },
                "status": {},
            })
        );
        let back = convert(new, "modelregistry.opendatahub.io/v1alpha1").unwrap();
        assert_eq!(back["apiVersion"], "modelregistry.opendatahub.io/v1alpha1");
    }

    #[test]
    fn what_cannot_be_converted_says_why() {
        let object = |version: &str, kind: &str| {
            json!({ "apiVersion": format!("modelregistry.opendatahub.io/{version}"), "kind": kind,
                "metadata": {}, "spec": { "rest": {}, "grpc": {} } })
        };
        let said = |object, wanted: &str| {
            convert(object, &format!("modelregistry.opendatahub.io/{wanted}")).unwrap_err()
        };
        assert!(
            said(object("v1beta1", "ModelRegistry"), "v1beta1")
                .starts_with("conversion is not allowed between same type")
        );
        assert!(said(object("v1beta1", "ModelRegistry"), "v9").contains("v9"));
        assert!(said(object("v1beta1", "Other"), "v1alpha1").contains("only ModelRegistry can"));
    }
    #[test]
    fn of_a_part_of_an_object_only_that_part_is_converted() {
        // So it is asked when a field is taken away by a server-side apply.
        let object = |version: &str, spec: Value| {
            json!({ "apiVersion": format!("modelregistry.opendatahub.io/{version}"), "kind": "ModelRegistry",
                "metadata": { "name": "r" }, "spec": spec })
        };
        let converted = |from: &str, spec: Value, wanted: &str| {
            let wanted = format!("modelregistry.opendatahub.io/{wanted}");
            convert(object(from, spec), &wanted).unwrap()["spec"].clone()
        };
        let left = json!({ "grpc": null, "rest": {}, "mysql": { "host": "db" }, "postgres": null });
        assert_eq!(converted("v1alpha1", left, "v1beta1"), json!({ "rest": {}, "mysql": { "host": "db" } }));
        assert_eq!(converted("v1alpha1", json!({}), "v1beta1"), json!({}));
        let left = json!({ "rest": { "port": null }, "postgres": { "host": "db" } });
        let shown = json!({ "rest": {}, "grpc": {}, "postgres": { "host": "db", "database": "" } });
        assert_eq!(converted("v1beta1", left, "v1alpha1"), shown);
        let bare = json!({ "apiVersion": "modelregistry.opendatahub.io/v1beta1", "kind": "ModelRegistry" });
        assert_eq!(convert(bare, "modelregistry.opendatahub.io/v1alpha1").unwrap()["spec"], Value::Null);
    }
}
