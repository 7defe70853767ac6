//! The ClusterRoles and ClusterRoleBindings that every server starts with, as far as clients lean on them.

use serde_json::{Value, json};

use super::aggregated_rules;

const READ: &str = "get list watch";
const WRITE: &str = "create delete deletecollection patch update";
const ALL: &str = "create delete deletecollection get list patch update watch";
const WORKLOADS: &str = "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale \
                         statefulsets statefulsets/scale";
const WORKLOADS_SEEN: &str = "controllerrevisions daemonsets daemonsets/status deployments deployments/scale \
                              deployments/status replicasets replicasets/scale replicasets/status statefulsets \
                              statefulsets/scale statefulsets/status";
/// Of a group that is gone; roles still name it.
const EXTENSIONS: &str = "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies \
                          replicasets replicasets/scale replicationcontrollers/scale";
const EXTENSIONS_SEEN: &str = "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses \
                               ingresses/status networkpolicies replicasets replicasets/scale replicasets/status \
                               replicationcontrollers/scale";

/// A role's name, the label it carries (see [`AGGREGATE`]), and its rules.
struct Role(&'static str, Option<&'static str>, &'static [Grant]);

/// Lists are words separated by blanks; the core group is `core` here.
enum Grant {
    On(&'static str, &'static str, &'static str),
    Paths(&'static str),
    Everything,
}
use Grant::{Everything, On, Paths};

const AGGREGATE: &str = "rbac.authorization.k8s.io/aggregate-to-";

const ROLES: &[Role] = &[
    Role("cluster-admin", None, &[Everything]),
    Role(
        "system:aggregate-to-admin",
        Some("admin"),
        &[
            On("authorization.k8s.io", "localsubjectaccessreviews", "create"),
            On("rbac.authorization.k8s.io", "rolebindings roles", ALL),
        ],
    ),
    Role(
        "system:aggregate-to-edit",
        Some("edit"),
        &[
            On("core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy", READ),
            On("core", "serviceaccounts", "impersonate"),
            On("core", "pods pods/attach pods/exec pods/portforward pods/proxy", WRITE),
            On("core", "pods/eviction", "create"),
            On(
                "core",
                "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale \
                 secrets serviceaccounts services services/proxy",
                WRITE,
            ),
            On("core", "serviceaccounts/token", "create"),
            On("core events.k8s.io", "events", WRITE),
            On("apps", WORKLOADS, WRITE),
            On("autoscaling", "horizontalpodautoscalers", WRITE),
            On("batch", "cronjobs jobs", WRITE),
            On("extensions", EXTENSIONS, WRITE),
            On("policy", "poddisruptionbudgets", WRITE),
            On("networking.k8s.io", "ingresses networkpolicies", WRITE),
            On("coordination.k8s.io", "leases", ALL),
            On("resource.k8s.io", "resourceclaims resourceclaimtemplates", WRITE),
        ],
    ),
    Role(
        "system:aggregate-to-view",
        Some("view"),
        &[
            On(
                "core",
                "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods \
                 replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
                READ,
            ),
            On(
                "core",
                "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status \
                 resourcequotas resourcequotas/status",
                READ,
            ),
            On("core", "namespaces", READ),
            On("core events.k8s.io", "events", READ),
            On("discovery.k8s.io", "endpointslices", READ),
            On("apps", WORKLOADS_SEEN, READ),
            On("autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status", READ),
            On("batch", "cronjobs cronjobs/status jobs jobs/status", READ),
            On("extensions", EXTENSIONS_SEEN, READ),
            On("policy", "poddisruptionbudgets poddisruptionbudgets/status", READ),
            On("networking.k8s.io", "ingresses ingresses/status networkpolicies", READ),
            On("resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates", READ),
        ],
    ),
    Role(
        "system:basic-user",
        None,
        &[
            On("authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", "create"),
            On("authentication.k8s.io", "selfsubjectreviews", "create"),
        ],
    ),
    Role(
        "system:discovery",
        None,
        &[Paths("/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/")],
    ),
    Role("system:public-info-viewer", None, &[Paths("/healthz /livez /readyz /version /version/")]),
    Role(
        "system:service-account-issuer-discovery",
        None,
        &[Paths(
            "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
        )],
    ),
    Role(
        "system:auth-delegator",
        None,
        &[
            On("authentication.k8s.io", "tokenreviews", "create"),
            On("authorization.k8s.io", "subjectaccessreviews", "create"),
        ],
    ),
];

/// Roles whose rules come from others: name, and the label it carries itself.
const AGGREGATED: &[(&str, Option<&str>)] =
    &[("admin", None), ("edit", Some("admin")), ("view", Some("edit"))];

/// A binding's name, which is its role's too, and the groups bound.
const BINDINGS: &[(&str, &[&str])] = &[
    ("cluster-admin", &["system:masters"]),
    ("system:basic-user", &["system:authenticated"]),
    ("system:discovery", &["system:authenticated"]),
    ("system:public-info-viewer", &["system:authenticated", "system:unauthenticated"]),
    ("system:service-account-issuer-discovery", &["system:serviceaccounts"]),
];

/// The ClusterRoles and ClusterRoleBindings to create before the first request.
pub fn bootstrap_objects() -> Vec<Value> {
    let mut roles: Vec<Value> = ROLES
        .iter()
        .map(|Role(name, label, grants)| {
            let mut role = object("ClusterRole", name, *label);
            role["rules"] = grants.iter().flat_map(rules).collect();
            role
        })
        .collect();
    // From the last, which aggregates plain roles only, to the first, which aggregates the others.
    for (name, label) in AGGREGATED.iter().rev() {
        let mut role = object("ClusterRole", name, *label);
        let selected = json!({ "matchLabels": { format!("{AGGREGATE}{name}"): "true" } });
        role["aggregationRule"] = json!({ "clusterRoleSelectors": [selected] });
        roles.sort_by(|a, b| a["metadata"]["name"].as_str().cmp(&b["metadata"]["name"].as_str()));
        role["rules"] = aggregated_rules(&role, &roles).unwrap_or_default().into();
        roles.push(role);
    }
    roles.extend(BINDINGS.iter().map(|(name, groups)| {
        let mut binding = object("ClusterRoleBinding", name, None);
        binding["roleRef"] =
            json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name });
        let group =
            |name: &&str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name });
        binding["subjects"] = groups.iter().map(group).collect();
        binding
    }));
    roles
}

fn object(kind: &str, name: &str, aggregated_to: Option<&str>) -> Value {
    let mut labels = json!({ "kubernetes.io/bootstrapping": "rbac-defaults" });
    if let Some(role) = aggregated_to {
        labels[format!("{AGGREGATE}{role}")] = json!("true");
    }
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" },
        },
    })
}

fn rules(grant: &Grant) -> Vec<Value> {
    let words = |text: &str| -> Vec<Value> { text.split_whitespace().map(Value::from).collect() };
    match grant {
        On(group, resources, verbs) => {
            let groups: Vec<&str> =
                group.split_whitespace().map(|group| if group == "core" { "" } else { group }).collect();
            vec![json!({ "apiGroups": groups, "resources": words(resources), "verbs": words(verbs) })]
        }
        Paths(urls) => vec![json!({ "nonResourceURLs": words(urls), "verbs": ["get"] })],
        Everything => vec![
            json!({ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }),
            json!({ "nonResourceURLs": ["*"], "verbs": ["*"] }),
        ],
    }
}
