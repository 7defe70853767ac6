//! Stand-ins for the kinds of other projects that our systems read or write.
//!
//! A cluster has these from Gateway API, Kuadrant, Istio, KServe, Kueue, the Prometheus operator or OpenShift. Locally
//! nobody serves them, so `quintet up` installs definitions of our own: the real names, scope and versions, and a schema
//! that keeps whatever is written. Each is labelled as a stand-in, so that nobody takes it for the real thing.

use clap::ValueEnum;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

/// The label that tells a stand-in from the real definition.
pub const LABEL: &str = "local.quintet.dev/stand-in";

/// Which cluster the local one looks like: it decides which foreign kinds exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Platform {
    /// Gateway API, Kuadrant, Istio, KServe, Kueue and Prometheus
    #[default]
    Kubernetes,
    /// The same, and OpenShift's Route, ConsoleLink, Ingress and Authentication
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
}

const fn everywhere(
    group: &'static str,
    versions: &'static [&'static str],
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
) -> StandIn {
    StandIn { group, versions, kind, plural, short, namespaced: true, platform: Platform::Kubernetes }
}

const fn openshift(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> StandIn {
    StandIn { group, versions: &["v1"], kind, plural, short: &[], namespaced, platform: Platform::Openshift }
}

const GATEWAY: &str = "gateway.networking.k8s.io";
const ISTIO: &str = "networking.istio.io";

const ALL: &[StandIn] = &[
    StandIn {
        namespaced: false,
        ..everywhere(GATEWAY, &["v1", "v1beta1"], "GatewayClass", "gatewayclasses", &["gc"])
    },
    everywhere(GATEWAY, &["v1", "v1beta1"], "Gateway", "gateways", &["gtw"]),
    everywhere(GATEWAY, &["v1", "v1beta1"], "HTTPRoute", "httproutes", &[]),
    everywhere("kuadrant.io", &["v1"], "AuthPolicy", "authpolicies", &[]),
    everywhere("kuadrant.io", &["v1alpha1"], "TokenRateLimitPolicy", "tokenratelimitpolicies", &[]),
    everywhere("extensions.kuadrant.io", &["v1alpha1"], "TelemetryPolicy", "telemetrypolicies", &[]),
    everywhere(ISTIO, &["v1", "v1beta1", "v1alpha3"], "DestinationRule", "destinationrules", &["dr"]),
    everywhere(ISTIO, &["v1", "v1beta1", "v1alpha3"], "ServiceEntry", "serviceentries", &["se"]),
    everywhere(ISTIO, &["v1", "v1beta1", "v1alpha3"], "VirtualService", "virtualservices", &["vs"]),
    everywhere(ISTIO, &["v1alpha3"], "EnvoyFilter", "envoyfilters", &[]),
    everywhere("telemetry.istio.io", &["v1alpha1", "v1"], "Telemetry", "telemetries", &["telemetry"]),
    everywhere(
        "serving.kserve.io",
        &["v1alpha2", "v1alpha1"],
        "LLMInferenceService",
        "llminferenceservices",
        &["llmisvc"],
    ),
    everywhere("kueue.x-k8s.io", &["v1beta1"], "Workload", "workloads", &["wl"]),
    everywhere("monitoring.coreos.com", &["v1"], "ServiceMonitor", "servicemonitors", &["smon"]),
    everywhere("monitoring.coreos.com", &["v1"], "PodMonitor", "podmonitors", &["pmon"]),
    openshift("route.openshift.io", "Route", "routes", true),
    openshift("user.openshift.io", "Group", "groups", false),
    openshift("console.openshift.io", "ConsoleLink", "consolelinks", false),
    openshift("config.openshift.io", "Ingress", "ingresses", false),
    openshift("config.openshift.io", "Authentication", "authentications", false),
];

/// The definitions that a local cluster of this platform has.
pub fn definitions(platform: Platform) -> Vec<CustomResourceDefinition> {
    let wanted = |s: &&StandIn| s.platform == Platform::Kubernetes || platform == Platform::Openshift;
    ALL.iter().filter(wanted).map(StandIn::definition).collect()
}

impl StandIn {
    fn definition(&self) -> CustomResourceDefinition {
        let versions: Vec<Value> =
            self.versions.iter().enumerate().map(|(i, v)| version(v, i == 0)).collect();
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

fn version(name: &str, storage: bool) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "name": name,
        "served": true,
        "storage": storage,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {
            "type": "object",
            "description": "A local stand-in of Quintet's: it keeps whatever is written and checks nothing.",
            "properties": {"spec": anything.clone(), "status": anything},
            "x-kubernetes-preserve-unknown-fields": true, // some kinds have no spec, a Group for one
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

    #[test]
    fn every_stand_in_stores_exactly_one_version_and_says_what_it_is() {
        for definition in definitions(Platform::Openshift) {
            let stored = definition.spec.versions.iter().filter(|v| v.storage).count();
            assert_eq!(stored, 1, "{:?}", definition.metadata.name);
            assert_eq!(definition.metadata.labels.unwrap()[LABEL], "true");
        }
    }
}
