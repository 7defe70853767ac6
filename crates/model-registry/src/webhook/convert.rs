//! From one version of a registry to the other, as the API server asks for it.

use quintet_api::model_registry::{
    ModelRegistry,
    convert::{to_v1alpha1, to_v1beta1},
    v1alpha1,
};
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
    let text = |error: serde_json::Error| error.to_string();
    let mut converted = match (versions(&from).as_deref(), versions(wanted).as_deref()) {
        (Some("v1alpha1"), Some("v1beta1")) => {
            let old: v1alpha1::ModelRegistry = serde_json::from_value(object).map_err(text)?;
            serde_json::to_value(to_v1beta1(&old)).map_err(text)?
        }
        (Some("v1beta1"), Some("v1alpha1")) => {
            let new: ModelRegistry = serde_json::from_value(object).map_err(text)?;
            serde_json::to_value(to_v1alpha1(&new)).map_err(text)?
        }
        (Some(from), Some(wanted)) if from == wanted => {
            return Err(format!("conversion is not allowed between same type {from} ModelRegistry"));
        }
        _ => return Err(format!("ModelRegistry cannot be converted from {from:?} to {wanted:?}")),
    };
    // As the original answers: a status is always there.
    if converted["status"].is_null() {
        converted["status"] = json!({});
    }
    Ok(converted)
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
                "spec": { "rest": { "port": 8080, "serviceRoute": "disabled" }, "grpc": { "port": 9090 },
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
        let broken = json!({ "apiVersion": "modelregistry.opendatahub.io/v1alpha1", "kind": "ModelRegistry", "metadata": {}, "spec": {} });
        assert!(said(broken, "v1beta1").contains("rest"));
    }
}
