//! Tells the API server whom to trust: the `caBundle`s of webhook configurations and definitions.

use k8s_openapi::ByteString;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

/// An object with bundles in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A MutatingWebhookConfiguration of this name.
    Mutating(String),
    /// A ValidatingWebhookConfiguration of this name.
    Validating(String),
    /// A CustomResourceDefinition of this name, which is converted by a webhook.
    Definition(String),
}

impl Target {
    /// Sees to it that the object trusts this bundle; true if it did so already. One that was only just told needs a while
    /// until every API server has heard of it, and one that changed under our hands is told at the next look.
    pub(super) async fn trust(&self, client: &Client, bundle: &str) -> kube::Result<bool> {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &self.resource());
        // One that is not installed keeps nobody from trusting: it is given the bundle when it comes.
        let Some(object) = api.get_opt(self.name()).await? else { return Ok(true) };
        let patch = self.difference(&object.data, bundle);
        if patch.is_empty() {
            return Ok(true);
        }
        let mut whole = vec![
            json!({"op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version()}),
        ];
        whole.extend(patch);
        let patch: json_patch::Patch =
            serde_json::from_value(whole.into()).map_err(kube::Error::SerdeError)?;
        match api.patch(self.name(), &PatchParams::default(), &Patch::Json::<()>(patch)).await {
            Ok(_) => Ok(false),
            // The `test` failed: somebody else changed it.
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_invalid() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn name(&self) -> &str {
        match self {
            Target::Mutating(name) | Target::Validating(name) | Target::Definition(name) => name,
        }
    }

    fn resource(&self) -> ApiResource {
        let (group, kind, plural) = match self {
            Target::Mutating(_) => (
                "admissionregistration.k8s.io",
                "MutatingWebhookConfiguration",
                "mutatingwebhookconfigurations",
            ),
            Target::Validating(_) => (
                "admissionregistration.k8s.io",
                "ValidatingWebhookConfiguration",
                "validatingwebhookconfigurations",
            ),
            Target::Definition(_) => {
                ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions")
            }
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
    }

    /// The operations that put the bundle wherever another one is.
    fn difference(&self, object: &Value, bundle: &str) -> Vec<Value> {
        let wanted = json!(ByteString(bundle.as_bytes().to_vec()));
        let place = |path: String, config: &Value| {
            (config["caBundle"] != wanted)
                .then(|| json!({"op": "add", "path": format!("{path}/caBundle"), "value": wanted}))
        };
        match self {
            Target::Definition(_) => {
                let config = &object["spec"]["conversion"]["webhook"]["clientConfig"];
                let path = "/spec/conversion/webhook/clientConfig".to_owned();
                if config.is_object() { place(path, config).into_iter().collect() } else { vec![] }
            }
            Target::Mutating(_) | Target::Validating(_) => {
                let hooks = object["webhooks"].as_array().into_iter().flatten().enumerate();
                hooks
                    .filter_map(|(i, hook)| {
                        place(format!("/webhooks/{i}/clientConfig"), &hook["clientConfig"])
                    })
                    .collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bundles_that_differ_are_touched() {
        let right = json!(ByteString(b"pem".to_vec()));
        let hooks = json!({"webhooks": [{"clientConfig": {"caBundle": right}}, {"clientConfig": {"url": "https://x"}}]});
        assert_eq!(
            Target::Validating("v".into()).difference(&hooks, "pem"),
            [json!({"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": right})]
        );
        let definition = Target::Definition("d".into());
        assert!(
            definition.difference(&json!({"spec": {"conversion": {"strategy": "None"}}}), "pem").is_empty()
        );
        let converted = json!({"spec": {"conversion": {"webhook": {"clientConfig": {}}}}});
        assert_eq!(definition.difference(&converted, "pem").len(), 1);
    }
}
