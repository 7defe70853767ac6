//! What is filled in, dropped and rewritten before a registry is stored. The definition's own defaults come first: a
//! missing `serviceRoute` is never seen here.

use quintet_api::model_registry::{
    ModelRegistry, ModelRegistrySpec, ModelRegistryStatus, Proxy, Rest,
    convert::{proxy_instead_of, to_v1beta1},
    v1alpha1,
};
use serde_json::{Value, json};

use crate::Config;

/// What the mutating webhook makes of a registry.
pub fn default_v1beta1(registry: &mut ModelRegistry, config: &Config) {
    default_spec(&mut registry.spec);
    drop_default_image(&mut registry.spec.rest, registry.status.as_ref(), config);
}

/// The same, of one in the old version. The proxy of old stays one: the controller turns it into the new one later.
pub fn default_v1alpha1(registry: &mut v1alpha1::ModelRegistry, config: &Config) {
    let stored = to_v1beta1(registry).spec.postgres;
    if stored.is_some_and(|postgres| !postgres.has_host() && !postgres.is_generated()) {
        registry.spec.postgres = None;
    }
    registry.spec.mysql = registry.spec.mysql.take().filter(|mysql| !mysql.host.is_empty());
    if let Some(istio) = registry.spec.istio.take() {
        registry.spec.oauth_proxy = Some(proxy_instead_of(&istio));
    }
    drop_default_image(&mut registry.spec.rest, registry.status.as_ref(), config);
}

/// A database without a place is none; the proxy of old is the new one.
pub(crate) fn default_spec(spec: &mut ModelRegistrySpec) {
    spec.postgres = spec.postgres.take().filter(|postgres| postgres.has_host() || postgres.is_generated());
    spec.mysql = spec.mysql.take().filter(|mysql| !mysql.host.is_empty());
    if spec.kube_rbac_proxy.is_none() {
        spec.kube_rbac_proxy = spec.oauth_proxy.take().map(replaced);
    }
}

/// The new proxy in the place of the old one. Its image is another program's.
fn replaced(old: Proxy) -> Proxy {
    Proxy { image: None, ..old }
}

/// The change that turns a stored proxy of old into the new one, if there is one.
pub(crate) fn without_oauth_proxy(spec: &ModelRegistrySpec) -> Option<Value> {
    let old = spec.oauth_proxy.clone()?;
    Some(match &spec.kube_rbac_proxy {
        Some(_) => json!({ "oauthProxy": null }),
        None => json!({ "oauthProxy": null, "kubeRBACProxy": replaced(old) }),
    })
}

/// The change that takes an image off a stored registry that is the operator's default in some version: the registry is
/// then upgraded with the operator.
pub(crate) fn without_default_image(spec: &ModelRegistrySpec, config: &Config) -> Option<Value> {
    is_default_image(&spec.rest, config).then(|| json!({ "rest": { "image": null } }))
}

/// Only before the operator has looked at the registry, or when it found everything spelled out.
fn drop_default_image(rest: &mut Rest, status: Option<&ModelRegistryStatus>, config: &Config) {
    let found = status.map(|status| status.spec_defaults.as_str()).unwrap_or_default();
    if (found.is_empty() || found == "{}") && is_default_image(rest, config) {
        rest.image = None;
    }
}

/// Who pins a digest means it.
fn is_default_image(rest: &Rest, config: &Config) -> bool {
    let image = rest.image.as_deref().unwrap_or_default();
    !image.is_empty() && !image.contains('@') && repository(image) == repository(&config.rest_image)
}

/// An image without its tag. A registry's port is not a tag.
fn repository(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    match image.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => image,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config() -> Config {
        Config::new(|_| None).unwrap()
    }

    fn defaulted(spec: Value, status: Value) -> Value {
        let object = json!({ "metadata": { "name": "reg" }, "spec": spec, "status": status });
        let mut registry: ModelRegistry = serde_json::from_value(object).unwrap();
        default_v1beta1(&mut registry, &config());
        serde_json::to_value(registry.spec).unwrap()
    }

    #[test]
    fn a_database_without_a_place_is_dropped() {
        let mysql = |host: &str| json!({ "host": host, "database": "d", "username": "u" });
        let spec =
            defaulted(json!({ "rest": {}, "postgres": { "host": "" }, "mysql": mysql("") }), json!({}));
        assert_eq!((spec.get("postgres"), spec.get("mysql")), (None, None));
        let spec = defaulted(
            json!({ "rest": {}, "postgres": { "generateDeployment": true }, "mysql": mysql("db") }),
            json!({}),
        );
        assert!(spec["postgres"].is_object() && spec["mysql"].is_object());
        assert!(
            defaulted(json!({ "rest": {}, "postgres": { "hostAddress": "1.2.3.4" } }), json!({}))["postgres"]
                .is_object()
        );
        assert_eq!(spec["rest"]["serviceRoute"], "disabled");
    }

    #[test]
    fn the_proxy_of_old_becomes_the_new_one_without_its_image() {
        let spec = defaulted(
            json!({ "rest": {}, "oauthProxy": { "port": 1, "domain": "d", "routePort": 2, "image": "x" } }),
            json!({}),
        );
        let wanted = json!({ "port": 1, "domain": "d", "routePort": 2, "serviceRoute": "enabled" });
        assert_eq!((spec.get("oauthProxy"), &spec["kubeRBACProxy"]), (None, &wanted));
    }

    #[test]
    fn scenario_26_a_tag_of_the_default_image_is_dropped_and_resources_stay() {
        let resources = json!({ "requests": { "cpu": "1" } });
        let rest = |image: &str, status: Value| {
            defaulted(json!({ "rest": { "image": image, "resources": resources } }), status)["rest"].clone()
        };
        let dropped = rest("quay.io/opendatahub/model-registry:v9", json!({}));
        assert_eq!((dropped.get("image"), &dropped["resources"]), (None, &resources));
        assert_eq!(
            rest("quay.io/opendatahub/model-registry", json!({ "specDefaults": "{}" })).get("image"),
            None
        );
        let kept = |image, status| rest(image, status)["image"] == image;
        assert!(kept("quay.io/opendatahub/model-registry:v9", json!({ "specDefaults": "{\"a\":1}" })));
        assert!(
            kept("quay.io/opendatahub/model-registry@sha256:0123", json!({})),
            "who pins a digest means it"
        );
        assert!(kept("quay.io:5000/other/image:v1", json!({})));
        assert_eq!(repository("host:5000/a/b"), "host:5000/a/b");
        assert_eq!(repository("host:5000/a/b:v1"), "host:5000/a/b");
    }

    #[test]
    fn the_old_version_is_defaulted_as_it_is() {
        let object = |spec: Value| -> v1alpha1::ModelRegistry {
            serde_json::from_value(json!({ "metadata": {}, "spec": spec })).unwrap()
        };
        let mut old = object(json!({
            "rest": { "image": "quay.io/opendatahub/model-registry:v1" }, "grpc": {},
            "postgres": { "database": "d" }, "istio": {},
        }));
        default_v1alpha1(&mut old, &config());
        assert_eq!((old.spec.postgres, old.spec.istio, old.spec.rest.image), (None, None, None));
        assert!(!old.spec.oauth_proxy.unwrap().service_route.is_enabled());
        // What was generated stays so, whoever writes it back.
        let mut kept = object(json!({ "rest": {}, "grpc": {}, "postgres": { "database": "" } }));
        kept.metadata.annotations = Some(
            [(
                quintet_api::model_registry::convert::KEPT.to_owned(),
                r#"{"generateDeployment":true}"#.to_owned(),
            )]
            .into(),
        );
        default_v1alpha1(&mut kept, &config());
        assert!(kept.spec.postgres.is_some());
    }
}
