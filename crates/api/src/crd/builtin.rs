//! What the originals' definitions say about embedded Kubernetes types and k8s-openapi's schemas leave out: which lists
//! have keys and which maps are one value (server-side apply merges accordingly), defaults, bounds.
//!
//! The tables grow with the types that our custom resources embed; `tests/parity.rs` says what is missing.

use serde_json::{Value, json};

const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";
const CONDITION_REASON: &str = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";
const CONDITION_TYPE: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// Types whose value is replaced whole.
const ATOMIC_TYPES: &[&str] = &[
    "api.core.v1.ConfigMapEnvSource",
    "api.core.v1.ConfigMapKeySelector",
    "api.core.v1.FileKeySelector",
    "api.core.v1.LocalObjectReference",
    "api.core.v1.NodeSelector",
    "api.core.v1.NodeSelectorTerm",
    "api.core.v1.ObjectFieldSelector",
    "api.core.v1.ResourceFieldSelector",
    "api.core.v1.SecretEnvSource",
    "api.core.v1.SecretKeySelector",
    "api.core.v1.TypedLocalObjectReference",
    "apimachinery.pkg.apis.meta.v1.LabelSelector",
];

/// Lists whose value is replaced whole.
const ATOMIC_LISTS: &[(&str, &[&str])] = &[
    ("api.core.v1.Capabilities", &["add", "drop"]),
    ("api.core.v1.NodeAffinity", &["preferredDuringSchedulingIgnoredDuringExecution"]),
    ("api.core.v1.NodeSelector", &["nodeSelectorTerms"]),
    ("api.core.v1.NodeSelectorRequirement", &["values"]),
    ("api.core.v1.NodeSelectorTerm", &["matchExpressions", "matchFields"]),
    ("api.core.v1.PersistentVolumeClaimSpec", &["accessModes"]),
    (
        "api.core.v1.PodAffinity",
        &[
            "preferredDuringSchedulingIgnoredDuringExecution",
            "requiredDuringSchedulingIgnoredDuringExecution",
        ],
    ),
    ("api.core.v1.PodAffinityTerm", &["matchLabelKeys", "mismatchLabelKeys", "namespaces"]),
    (
        "api.core.v1.PodAntiAffinity",
        &[
            "preferredDuringSchedulingIgnoredDuringExecution",
            "requiredDuringSchedulingIgnoredDuringExecution",
        ],
    ),
    ("api.core.v1.PodSecurityContext", &["supplementalGroups", "sysctls"]),
    ("api.networking.v1.IPBlock", &["except"]),
    ("api.networking.v1.NetworkPolicyEgressRule", &["ports", "to"]),
    ("apimachinery.pkg.apis.meta.v1.LabelSelector", &["matchExpressions"]),
    ("apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement", &["values"]),
];

/// Lists whose items are told apart by keys.
const KEYED_LISTS: &[(&str, &str, &[&str])] = &[("api.core.v1.ResourceRequirements", "claims", &["name"])];

/// Fields with a default, which are then not required.
const DEFAULTS: &[(&str, &str, Default)] = &[
    ("api.core.v1.ConfigMapEnvSource", "name", Default::EmptyString),
    ("api.core.v1.ConfigMapKeySelector", "name", Default::EmptyString),
    ("api.core.v1.FileKeySelector", "optional", Default::False),
    ("api.core.v1.LocalObjectReference", "name", Default::EmptyString),
    ("api.core.v1.SecretEnvSource", "name", Default::EmptyString),
    ("api.core.v1.SecretKeySelector", "name", Default::EmptyString),
];

#[derive(Clone, Copy)]
enum Default {
    EmptyString,
    False,
}

/// Lays what is known of the named type over its schema.
pub(super) fn complete(name: &str, schema: &mut Value) {
    let Some(name) = name.strip_prefix("io.k8s.") else { return };
    if ATOMIC_TYPES.contains(&name) {
        schema["x-kubernetes-map-type"] = "atomic".into();
    }
    for field in ATOMIC_LISTS.iter().filter(|(of, _)| *of == name).flat_map(|(_, fields)| *fields) {
        schema["properties"][field]["x-kubernetes-list-type"] = "atomic".into();
    }
    for (_, field, keys) in KEYED_LISTS.iter().filter(|(of, ..)| *of == name) {
        schema["properties"][field]["x-kubernetes-list-type"] = "map".into();
        schema["properties"][field]["x-kubernetes-list-map-keys"] = json!(keys);
    }
    for (_, field, default) in DEFAULTS.iter().filter(|(of, ..)| *of == name) {
        schema["properties"][field]["default"] = match default {
            Default::EmptyString => "".into(),
            Default::False => false.into(),
        };
        not_required(field, schema);
    }
    match name {
        "apimachinery.pkg.api.resource.Quantity" => {
            schema["anyOf"] = json!([{ "type": "integer" }, { "type": "string" }]);
            schema["pattern"] = QUANTITY.into();
        }
        "apimachinery.pkg.util.intstr.IntOrString" => {
            schema["anyOf"] = json!([{ "type": "integer" }, { "type": "string" }]);
        }
        "apimachinery.pkg.apis.meta.v1.Condition" => {
            let field = &mut schema["properties"];
            field["message"]["maxLength"] = 32768.into();
            field["observedGeneration"]["minimum"] = 0.into();
            field["reason"]["minLength"] = 1.into();
            field["reason"]["maxLength"] = 1024.into();
            field["reason"]["pattern"] = CONDITION_REASON.into();
            field["status"]["enum"] = json!(["True", "False", "Unknown"]);
            field["type"]["maxLength"] = 316.into();
            field["type"]["pattern"] = CONDITION_TYPE.into();
        }
        _ => {}
    }
}

fn not_required(field: &str, schema: &mut Value) {
    let Some(Value::Array(required)) = schema.get_mut("required") else { return };
    required.retain(|name| name != field);
    if required.is_empty()
        && let Value::Object(schema) = schema
    {
        schema.remove("required");
    }
}
