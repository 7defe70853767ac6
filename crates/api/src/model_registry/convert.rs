//! From one version of a `ModelRegistry` to the other.
//!
//! What only `v1beta1` can say is kept in an annotation while an object is shown as `v1alpha1`, so that an old client
//! that writes back what it read takes nothing away. (In the original such a write removes the proxy in front of the
//! server, and with it all authorisation.) What only `v1alpha1` can say, Istio's part, becomes a proxy and is gone.

//!
//! Both ways go by the fields' names, on whatever part of an object is there: an API server that works out a server-side
//! apply also asks for what is left of an object once fields are taken away, and nothing may be filled in there.

use kube::Resource;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    parts::{Proxy, ServiceRoute},
    v1alpha1, v1beta1,
};

/// Holds, in a `v1alpha1` object, what that version has no fields for.
pub const KEPT: &str = "modelregistry.opendatahub.io/v1beta1-fields";

/// What `v1alpha1` has no fields for.
#[derive(Serialize, Deserialize, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct Kept {
    #[serde(rename = "kubeRBACProxy", skip_serializing_if = "Option::is_none")]
    kube_rbac_proxy: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generate_deployment: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    postgres_image: Option<String>,
}

/// Makes a `v1beta1` object, or part of one, of one in `v1alpha1`.
pub fn json_to_v1beta1(object: &mut Map<String, Value>) {
    object.insert("apiVersion".into(), v1beta1::ModelRegistry::api_version(&()).into());
    let kept = part(object, "metadata").map(take_kept).unwrap_or_default();
    let Some(spec) = part(object, "spec") else { return };
    drop_nulls(spec);
    if let Some(istio) = spec.remove("istio") {
        spec.insert("oauthProxy".into(), json!(proxy_of(&istio)));
    }
    if let Some(postgres) = part(spec, "postgres") {
        let says = |name: &str| postgres.get(name).is_some_and(|value| value != "");
        let names_host = says("host") || says("hostAddress");
        if let Some(is_generated) = kept.generate_deployment.filter(|generated| !generated || !names_host) {
            postgres.insert("generateDeployment".into(), is_generated.into());
        }
        if let Some(image) = kept.postgres_image {
            postgres.insert("image".into(), image.into());
        }
        if postgres.get("database").is_some_and(|database| database == "") {
            postgres.remove("database");
        }
    }
    // One proxy only: that which the client writes itself.
    if let Some(proxy) = kept.kube_rbac_proxy
        && !spec.contains_key("oauthProxy")
    {
        spec.insert("kubeRBACProxy".into(), proxy);
    }
}

/// Makes a `v1alpha1` object, or part of one, of one in `v1beta1`.
pub fn json_to_v1alpha1(object: &mut Map<String, Value>) {
    object.insert("apiVersion".into(), v1alpha1::ModelRegistry::api_version(&()).into());
    let Some(spec) = part(object, "spec") else { return };
    drop_nulls(spec);
    let mut kept = Kept { kube_rbac_proxy: spec.remove("kubeRBACProxy"), ..Kept::default() };
    if let Some(postgres) = part(spec, "postgres") {
        kept.generate_deployment = postgres.remove("generateDeployment").and_then(|is| is.as_bool());
        kept.postgres_image = postgres.remove("image").and_then(|image| image.as_str().map(str::to_owned));
        postgres.entry("database").or_insert_with(|| "".into()); // it must be there
    }
    spec.entry("grpc").or_insert_with(|| json!({})); // so must it
    if kept == Kept::default() {
        return;
    }
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let annotations = metadata.as_object_mut().map(|m| m.entry("annotations").or_insert_with(|| json!({})));
    if let Some(Value::Object(annotations)) = annotations {
        annotations.insert(KEPT.into(), json!(kept).to_string().into());
    }
}

fn part<'a>(object: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    object.get_mut(name)?.as_object_mut()
}

/// A field that is null is one that is not there.
fn drop_nulls(object: &mut Map<String, Value>) {
    object.retain(|_, value| !value.is_null());
    object.values_mut().filter_map(Value::as_object_mut).for_each(drop_nulls);
}

/// Takes away what was kept. What somebody spoilt says nothing.
fn take_kept(metadata: &mut Map<String, Value>) -> Kept {
    let Some(annotations) = part(metadata, "annotations") else { return Kept::default() };
    let text = annotations.remove(KEPT).unwrap_or_default();
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    let kept: Option<Kept> = text.as_str().and_then(|text| serde_json::from_str(text).ok());
    let is_sound =
        |kept: &Kept| kept.kube_rbac_proxy.as_ref().is_none_or(|proxy| Proxy::deserialize(proxy).is_ok());
    kept.filter(is_sound).unwrap_or_default()
}

/// The object as `v1beta1`.
pub fn to_v1beta1(object: &v1alpha1::ModelRegistry) -> v1beta1::ModelRegistry {
    converted(object, json_to_v1beta1)
}

/// The object as `v1alpha1`.
pub fn to_v1alpha1(object: &v1beta1::ModelRegistry) -> v1alpha1::ModelRegistry {
    converted(object, json_to_v1alpha1)
}

fn converted<To: DeserializeOwned>(from: &impl Serialize, convert: fn(&mut Map<String, Value>)) -> To {
    let mut object = json!(from);
    object.as_object_mut().into_iter().for_each(convert);
    // A whole object of one version always becomes a whole one of the other: what goes over has the same types.
    serde_json::from_value(object).expect("a registry")
}

/// The proxy that takes the place of Istio.
pub fn proxy_instead_of(istio: &v1alpha1::Istio) -> Proxy {
    proxy_of(&json!(istio))
}

fn proxy_of(istio: &Value) -> Proxy {
    let mut proxy = Proxy::default();
    let gateway = &istio["gateway"];
    let rest = &gateway["rest"];
    if gateway.is_null() || rest["gatewayRoute"] == "disabled" {
        proxy.service_route = ServiceRoute::Disabled;
    }
    proxy.domain = gateway["domain"].as_str().filter(|domain| !domain.is_empty()).map(str::to_owned);
    if let (false, Some(port)) = (rest["tls"].is_null(), rest["port"].as_i64()) {
        proxy.route_port = i32::try_from(port).unwrap_or(proxy.route_port);
    }
    proxy
}
