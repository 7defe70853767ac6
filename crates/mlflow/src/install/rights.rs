//! What the original's manager may do, and why ours may do less or more.

use quintet_kit::rights::{Because, Original, Reserve};

const READ: &[&str] = &["get", "list", "watch"];
const ALL: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];

/// The original's roles.
pub(super) const ORIGINAL: &[Original] = &[
    everywhere("", &["namespaces", "secrets `mlflow-artifact-connection`"], READ),
    everywhere("mlflow.kubeflow.org", &["mlflowconfigs"], READ),
    everywhere("mlflow.opendatahub.io", &["mlflows"], ALL),
    everywhere("mlflow.opendatahub.io", &["mlflows/status"], &["get", "patch", "update"]),
    everywhere("mlflow.opendatahub.io", &["mlflows/finalizers"], &["update"]),
    everywhere("rbac.authorization.k8s.io", &["clusterroles", "clusterrolebindings"], ALL),
    everywhere("console.openshift.io", &["consolelinks"], ALL),
    everywhere("gateway.networking.k8s.io", &["httproutes"], ALL),
    own("", &["configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts", "services"], ALL),
    own("apps", &["deployments"], ALL),
    own("batch", &["cronjobs"], ALL),
    own("networking.k8s.io", &["networkpolicies"], ALL),
    own("monitoring.coreos.com", &["servicemonitors"], ALL),
];

/// Why ours differ, by resource.
pub(super) const REASONS: &[Because] = &[
    because("clusterrolebindings", "changed and deleted only by the names that we make"),
    because("clusterroles", "changed and deleted only by the names that we make"),
    because("configmaps", "read for CA bundles, never written"),
    because("consolelinks", "changed only by the name that we make; deleted by the garbage collector"),
    because("cronjobs", "written by server-side apply, which is a patch"),
    because("customresourcedefinitions", "tells when an optional API comes or goes"),
    because("deployments", "deleted by the garbage collector"),
    because("events", "tells people what happened; the original records none"),
    because(
        "experiments",
        "must be held to be given to the garbage collection job; the original lacks it and fails",
    ),
    because("httproutes", "in the operator's own namespace only; deleted by the garbage collector"),
    because("mlflows", "custom resources are their users'; we never write or delete one"),
    because("mlflows/status", "written by a merge patch of what changed"),
    because("networkpolicies", "written by server-side apply; deleted by the garbage collector"),
    because("persistentvolumeclaims", "made once and never changed; deleted by the garbage collector"),
    because("secrets", "watched for changes, never written"),
    because("serviceaccounts", "written by server-side apply, which is a patch"),
    because("servicemonitors", "written by server-side apply; deleted by the garbage collector"),
    because("services", "deleted by the garbage collector"),
];

/// Rights that no scenario uses.
pub(super) const RESERVES: &[Reserve] = &[Reserve::finalizers("mlflow.opendatahub.io", "mlflows/finalizers")];

const fn everywhere(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Original {
    Original { own_namespace: false, group, resources, verbs }
}

const fn own(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Original {
    Original { own_namespace: true, group, resources, verbs }
}

const fn because(resource: &'static str, why: &'static str) -> Because {
    Because { resource, why }
}
