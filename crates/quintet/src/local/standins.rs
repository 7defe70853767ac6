//! Stand-ins for the kinds of other projects that our systems read or write.
//!
//! A cluster has these from Gateway API, Kuadrant, Istio, KServe, Kueue, the Prometheus operator or OpenShift. Locally
//! nobody serves them, so `quintet up` installs definitions of our own: the real names, scope and versions, and a schema
//! that knows the fields we use, where we have a type for them, and keeps whatever else is written. Each is labelled as a
//! stand-in, so that nobody takes it for the real thing.

use clap::ValueEnum;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use quintet_api::crd;
use quintet_api::foreign::{console::ConsoleLink, gateway::HTTPRoute, monitoring::ServiceMonitor};
use serde_json::{Value, json};

/// The label that tells a stand-in from the real definition.
pub const LABEL: &str = "local.quintet.dev/stand-in";

/// Which cluster the local one looks like: it decides which foreign kinds exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Platform {
    /// Gateway API, Kuadrant, Istio, KServe, Kueue, Prometheus and Perses
    #[default]
    Kubernetes,
    /// The same, and those of OpenShift (Route, ConsoleLink, Ingress, …) and of its AI platform
    Openshift,
}

impl From<Platform> for quintet_kit::install::Platform {
    fn from(platform: Platform) -> Self {
        match platform {
            Platform::Kubernetes => Self::Kubernetes,
            Platform::Openshift => Self::OpenShift,
        }
    }
}

struct StandIn {
    group: &'static str,
    /// The storage version first; the others are served too.
    versions: &'static [&'static str],
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    namespaced: bool,
    platform: Platform,
    /// The definition that our own type gives, for the fields we use.
    model: Option<fn() -> CustomResourceDefinition>,
}

impl StandIn {
    const fn cluster_wide(mut self) -> Self {
        self.namespaced = false;
        self
    }

    const fn modelled(mut self, model: fn() -> CustomResourceDefinition) -> Self {
        self.model = Some(model);
        self
    }
}

const fn everywhere(
    group: &'static str,
    versions: &'static [&'static str],
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
) -> StandIn {
    let (namespaced, platform) = (true, Platform::Kubernetes);
    StandIn { group, versions, kind, plural, short, namespaced, platform, model: None }
}

const fn openshift(
    group: &'static str,
    versions: &'static [&'static str],
    kind: &'static str,
    plural: &'static str,
) -> StandIn {
    StandIn { platform: Platform::Openshift, ..everywhere(group, versions, kind, plural, &[]) }
}

const GATEWAY: &str = "gateway.networking.k8s.io";
const ISTIO: &str = "networking.istio.io";

const KSERVE: &str = "serving.kserve.io";
const CONFIG: &str = "config.openshift.io";

#[rustfmt::skip]
const ALL: &[StandIn] = &[
    everywhere(GATEWAY, &["v1", "v1beta1"], "GatewayClass", "gatewayclasses", &["gc"]).cluster_wide(),
    everywhere(GATEWAY, &["v1", "v1beta1"], "Gateway", "gateways", &["gtw"]),
    everywhere(GATEWAY, &["v1", "v1beta1"], "HTTPRoute", "httproutes", &[]).modelled(crd::of::<HTTPRoute>),
    everywhere("kuadrant.io", &["v1"], "AuthPolicy", "authpolicies", &[]),
    everywhere("kuadrant.io", &["v1alpha1"], "TokenRateLimitPolicy", "tokenratelimitpolicies", &[]),
    everywhere("extensions.kuadrant.io", &["v1alpha1"], "TelemetryPolicy", "telemetrypolicies", &[]),
    everywhere("authorino.kuadrant.io", &["v1beta3"], "AuthConfig", "authconfigs", &[]),
    everywhere("operator.authorino.kuadrant.io", &["v1beta1"], "Authorino", "authorinos", &[]),
    everywhere(ISTIO, &["v1", "v1beta1", "v1alpha3"], "DestinationRule", "destinationrules", &["dr"]),
    everywhere(ISTIO, &["v1", "v1beta1", "v1alpha3"], "ServiceEntry", "serviceentries", &["se"]),
    everywhere(ISTIO, &["v1", "v1beta1", "v1alpha3"], "VirtualService", "virtualservices", &["vs"]),
    everywhere(ISTIO, &["v1alpha3"], "EnvoyFilter", "envoyfilters", &[]),
    everywhere("telemetry.istio.io", &["v1alpha1", "v1"], "Telemetry", "telemetries", &["telemetry"]),
    everywhere(KSERVE, &["v1alpha2", "v1alpha1"], "LLMInferenceService", "llminferenceservices", &["llmisvc"]),
    everywhere(KSERVE, &["v1beta1"], "InferenceService", "inferenceservices", &["isvc"]),
    everywhere(KSERVE, &["v1alpha1"], "ServingRuntime", "servingruntimes", &[]),
    everywhere(KSERVE, &["v1alpha1"], "ClusterServingRuntime", "clusterservingruntimes", &[]).cluster_wide(),
    everywhere("kueue.x-k8s.io", &["v1beta1"], "Workload", "workloads", &["wl"]),
    everywhere("monitoring.coreos.com", &["v1"], "ServiceMonitor", "servicemonitors", &["smon"])
        .modelled(crd::of::<ServiceMonitor>),
    everywhere("monitoring.coreos.com", &["v1"], "PodMonitor", "podmonitors", &["pmon"]),
    everywhere("perses.dev", &["v1alpha1"], "PersesDashboard", "persesdashboards", &[]),
    everywhere("perses.dev", &["v1alpha1"], "PersesDatasource", "persesdatasources", &[]),
    openshift("route.openshift.io", &["v1"], "Route", "routes"),
    openshift("console.openshift.io", &["v1"], "ConsoleLink", "consolelinks").cluster_wide()
        .modelled(crd::of::<ConsoleLink>),
    openshift(CONFIG, &["v1"], "Ingress", "ingresses").cluster_wide(),
    openshift(CONFIG, &["v1"], "Authentication", "authentications").cluster_wide(),
    openshift("user.openshift.io", &["v1"], "Group", "groups").cluster_wide(),
    openshift("template.openshift.io", &["v1"], "Template", "templates"),
    openshift("services.platform.opendatahub.io", &["v1alpha1"], "Auth", "auths").cluster_wide(),
];

/// The definitions that a local cluster of this platform has.
pub fn definitions(platform: Platform) -> Vec<CustomResourceDefinition> {
    let wanted = |s: &&StandIn| s.platform == Platform::Kubernetes || platform == Platform::Openshift;
    ALL.iter().filter(wanted).map(StandIn::definition).collect()
}

impl StandIn {
    fn definition(&self) -> CustomResourceDefinition {
        let properties = self.properties();
        let versions: Vec<Value> =
            self.versions.iter().enumerate().map(|(i, v)| version(v, i == 0, &properties)).collect();
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{}.{}", self.plural, self.group),
                "labels": {LABEL: "true"},
                // Groups under k8s.io are protected; a server asks for this word of where the definition comes from.
                "annotations": {"api-approved.kubernetes.io": "unapproved, a local stand-in"},
            },
            "spec": {
                "group": self.group,
                "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": self.plural,
                    "singular": self.kind.to_lowercase(),
                    "shortNames": self.short,
                },
                "versions": versions,
            },
        });
        serde_json::from_value(definition).expect("the table above fits the type")
    }
}

impl StandIn {
    /// The schemas of an object's top-level fields. Kinds without `spec` (a Group has `users`) keep theirs too.
    fn properties(&self) -> Value {
        let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let mut properties = json!({"spec": anything.clone(), "status": anything});
        let modelled = self.model.and_then(|model| {
            let version = model().spec.versions.into_iter().next()?;
            serde_json::to_value(version.schema?.open_api_v3_schema?).ok()
        });
        for field in ["spec", "status"] {
            if let Some(schema) = modelled.as_ref().map(|m| &m["properties"][field]).filter(|s| s.is_object())
            {
                let mut schema = schema.clone();
                loosen(&mut schema);
                properties[field] = schema;
            }
        }
        properties
    }
}

/// Our types say what we write, not what others may: nothing is required, and unknown fields are kept.
fn loosen(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for rule in ["required", "x-kubernetes-validations", "default", "nullable"] {
        fields.remove(rule);
    }
    if fields.get("type").is_some_and(|kind| kind == "object") && !fields.contains_key("additionalProperties")
    {
        fields.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
    }
    // What is no longer required cannot be a key.
    if fields.get("x-kubernetes-list-type").is_some_and(|kind| kind == "map") {
        fields.remove("x-kubernetes-list-type");
        fields.remove("x-kubernetes-list-map-keys");
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(loosen);
    }
    for part in ["items", "additionalProperties"] {
        fields.get_mut(part).into_iter().for_each(loosen);
    }
}

fn version(name: &str, storage: bool, properties: &Value) -> Value {
    json!({
        "name": name,
        "served": true,
        "storage": storage,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {
            "type": "object",
            "description": "A local stand-in of Quintet's: it checks the types of the fields that Quintet uses, and keeps \
                            whatever else is written.",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": properties,
        }},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openshift_adds_its_own_kinds_to_the_others() {
        let names = |p| definitions(p).into_iter().map(|d| d.metadata.name.unwrap()).collect::<Vec<_>>();
        let (plain, openshift) = (names(Platform::Kubernetes), names(Platform::Openshift));
        assert!(plain.contains(&"httproutes.gateway.networking.k8s.io".to_string()));
        assert!(!plain.iter().any(|n| n.contains("openshift")), "{plain:?}");
        assert!(plain.iter().all(|n| openshift.contains(n)));
        assert!(openshift.contains(&"consolelinks.console.openshift.io".to_string()));
    }

    /// Every kind of another project that a spec of one of the five systems names.
    #[test]
    fn every_kind_that_the_systems_use_is_there() {
        let kinds: Vec<String> = definitions(Platform::Openshift)
            .into_iter()
            .map(|d| format!("{}/{} {}", d.spec.group, d.spec.versions[0].name, d.spec.names.kind))
            .collect();
        for kind in [
            "gateway.networking.k8s.io/v1 Gateway",
            "gateway.networking.k8s.io/v1 GatewayClass",
            "gateway.networking.k8s.io/v1 HTTPRoute",
            "kuadrant.io/v1 AuthPolicy",
            "kuadrant.io/v1alpha1 TokenRateLimitPolicy",
            "extensions.kuadrant.io/v1alpha1 TelemetryPolicy",
            "authorino.kuadrant.io/v1beta3 AuthConfig",
            "operator.authorino.kuadrant.io/v1beta1 Authorino",
            "networking.istio.io/v1 DestinationRule",
            "networking.istio.io/v1 ServiceEntry",
            "networking.istio.io/v1 VirtualService",
            "networking.istio.io/v1alpha3 EnvoyFilter",
            "telemetry.istio.io/v1alpha1 Telemetry",
            "serving.kserve.io/v1alpha2 LLMInferenceService",
            "serving.kserve.io/v1beta1 InferenceService",
            "serving.kserve.io/v1alpha1 ServingRuntime",
            "serving.kserve.io/v1alpha1 ClusterServingRuntime",
            "kueue.x-k8s.io/v1beta1 Workload",
            "monitoring.coreos.com/v1 ServiceMonitor",
            "monitoring.coreos.com/v1 PodMonitor",
            "perses.dev/v1alpha1 PersesDashboard",
            "perses.dev/v1alpha1 PersesDatasource",
            "route.openshift.io/v1 Route",
            "console.openshift.io/v1 ConsoleLink",
            "config.openshift.io/v1 Ingress",
            "config.openshift.io/v1 Authentication",
            "user.openshift.io/v1 Group",
            "template.openshift.io/v1 Template",
            "services.platform.opendatahub.io/v1alpha1 Auth",
        ] {
            assert!(kinds.iter().any(|known| known == kind), "no {kind}");
        }
    }

    /// What we use is checked, what we do not know is kept: on a real server of definitions, the plane.
    #[tokio::test]
    async fn known_fields_are_checked_and_others_are_kept() {
        use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
        let plane = plane::Plane::new();
        let crds: Api<CustomResourceDefinition> = Api::all(plane.client());
        for definition in definitions(Platform::Openshift) {
            let name = definition.metadata.name.clone().unwrap();
            crds.create(&PostParams::default(), &definition).await.unwrap_or_else(|e| panic!("{name}: {e}"));
            let established = kube::runtime::conditions::is_crd_established();
            kube::runtime::wait::await_condition(crds.clone(), &name, established).await.unwrap();
        }
        let kind = GroupVersionKind::gvk(GATEWAY, "v1", "HTTPRoute");
        let routes: Api<DynamicObject> =
            Api::namespaced_with(plane.client(), "default", &ApiResource::from_gvk(&kind));
        let route = |spec: Value| json!({"apiVersion": format!("{GATEWAY}/v1"), "kind": "HTTPRoute", "metadata": {"name": "r"}, "spec": spec});
        let params = PatchParams::apply("test");
        let wrong =
            routes.patch("r", &params, &Patch::Apply(route(json!({"hostnames": "not a list"})))).await;
        assert!(wrong.unwrap_err().to_string().contains("hostnames"));
        let spec = json!({"hostnames": ["a.b"], "useDefaultGateways": "All", "rules": [{"sessionPersistence": {"type": "Cookie"}}]});
        let kept = routes.patch("r", &params, &Patch::Apply(route(spec.clone()))).await.unwrap();
        assert_eq!(kept.data["spec"], spec);
    }

    #[test]
    fn every_stand_in_stores_exactly_one_version_and_says_what_it_is() {
        for definition in definitions(Platform::Openshift) {
            let stored = definition.spec.versions.iter().filter(|v| v.storage).count();
            assert_eq!(stored, 1, "{:?}", definition.metadata.name);
            assert_eq!(definition.metadata.labels.unwrap()[LABEL], "true");
        }
    }
}
