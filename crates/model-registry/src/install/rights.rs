//! What the original's manager may do, and why ours may do less or more.

use quintet_kit::rights::{Because, Original, Reserve};

const READ: &[&str] = &["get", "list", "watch"];
const ALL: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];

/// The original's role: all of it holds everywhere.
pub(super) const ORIGINAL: &[Original] = &[
    right("", &["configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts", "services"], ALL),
    right("", &["endpoints", "pods", "pods/log"], READ),
    right("", &["events"], &["create", "patch"]),
    right("events.k8s.io", &["events"], &["create", "patch"]),
    right("apps", &["deployments"], ALL),
    right("networking.k8s.io", &["networkpolicies"], ALL),
    right("rbac.authorization.k8s.io", &["clusterrolebindings", "rolebindings", "roles"], ALL),
    right("route.openshift.io", &["routes", "routes/custom-host"], ALL),
    right("user.openshift.io", &["groups"], ALL),
    right("modelregistry.opendatahub.io", &["modelregistries"], ALL),
    right("modelregistry.opendatahub.io", &["modelregistries/finalizers"], &["update"]),
    right("modelregistry.opendatahub.io", &["modelregistries/status"], &["get", "patch", "update"]),
    right("migration.k8s.io", &["storageversionmigrations"], ALL),
    right("apiextensions.k8s.io", &["customresourcedefinitions"], READ),
    right("config.openshift.io", &["ingresses"], READ),
    right("components.platform.opendatahub.io", &["modelregistries"], READ),
    right("services.platform.opendatahub.io", &["auths"], READ),
    right("authentication.k8s.io", &["tokenreviews"], &["create"]),
    right("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
];

/// Why ours differ, by resource. Rights in one namespace are the catalog's.
pub(super) const REASONS: &[Because] = &[
    because("auths", "read by the catalog"),
    because("clusterrolebindings", "written by server-side apply; the catalog's only by its name"),
    because(
        "configmaps",
        "written by server-side apply; administrators of the catalog are given the right to edit",
    ),
    because("customresourcedefinitions", "tells when an optional API comes or goes"),
    because(
        "customresourcedefinitions/status",
        "a migration takes the old version off the list of stored ones",
    ),
    because("deployments", "the catalog's rights end at its namespace"),
    because("endpoints", "must be held to be given to callers"),
    because("events", "recorded in the newer API only"),
    because("groups", "written by server-side apply, which is a patch"),
    because("ingresses", "tells the cluster's domain"),
    because("modelregistries", "custom resources are their users': none is made or deleted"),
    because("modelregistries/finalizers", "children block the deletion of their owner"),
    because("modelregistries/status", "written by a merge patch of what changed"),
    because("networkpolicies", "written by server-side apply, which is a patch"),
    because(
        "persistentvolumeclaims",
        "written by server-side apply; a registry's goes by the garbage collector",
    ),
    because("pods", "watched by label"),
    because("pods/log", "read by name, of servers that do not come up"),
    because("rolebindings", "written by server-side apply; a registry's goes by the garbage collector"),
    because("roles", "written by server-side apply; deleted by the garbage collector"),
    because("routes", "written by server-side apply, which is a patch"),
    because("routes/custom-host", "to choose a Route's host, and nothing else"),
    because(
        "secrets",
        "of a registry only made, and cleared of the original's annotation; the catalog's is completed",
    ),
    because("serviceaccounts", "written by server-side apply; a registry's goes by the garbage collector"),
    because("services", "the catalog's rights end at its namespace"),
    because(
        "storageversionmigrations",
        "only where a migration is configured; of Kubernetes' own migrator, too",
    ),
    because("subjectaccessreviews", "must be held to be given to the proxies"),
    because("tokenreviews", "must be held to be given to the proxies"),
];

/// Rights that no scenario uses.
pub(super) const RESERVES: &[Reserve] = &[
    Reserve::finalizers("modelregistry.opendatahub.io", "modelregistries/finalizers"),
    Reserve {
        group: "route.openshift.io",
        resource: "routes/custom-host",
        verbs: &["create", "update"],
        why: "OpenShift's API server asks for it when a Route is given a host",
    },
];

const fn right(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Original {
    Original { own_namespace: false, group, resources, verbs }
}

const fn because(resource: &'static str, why: &'static str) -> Because {
    Because { resource, why }
}
