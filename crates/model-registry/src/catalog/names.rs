//! Names and labels of the catalog's objects.

use std::collections::BTreeMap;

use crate::parts::labels::{Family, selector};

/// ServiceAccount, Service, Deployment, Role; and the label `component` of the server's objects.
pub(super) const NAME: &str = "model-catalog";
/// Deployment, Service, Secret, claim and NetworkPolicy of the database, and their label `component`.
pub(super) const DATABASE: &str = "model-catalog-postgres";
/// The proxy's ConfigMap.
pub(super) const PROXY_CONFIG: &str = "model-catalog-kube-rbac-proxy-config";
/// The Secret with the proxy's certificate.
pub(super) const PROXY_CERTIFICATE: &str = "model-catalog-kube-rbac-proxy";
/// Lets the proxy ask about callers.
pub(super) const AUTH_DELEGATOR: &str = "model-catalog-auth-delegator";
/// The Route to the proxy.
pub(super) const ROUTE: &str = "model-catalog-https";
/// Lets the routers in.
pub(super) const ROUTE_POLICY: &str = "model-catalog-https-route";
/// Gives the platform's administrators their role.
pub(super) const ADMIN_BINDING: &str = "model-catalog-admin-binding";

/// Labels of the server's objects.
pub(super) fn family() -> Family {
    named(NAME, NAME)
}

/// The same, with another name and part.
pub(super) fn named(name: &str, role: &'static str) -> Family {
    Family { app: NAME.into(), component: NAME, name: name.into(), role, part_of: NAME }
}

/// Labels of the database's volume and Service.
pub(super) fn database_family() -> Family {
    Family {
        app: DATABASE.into(),
        component: DATABASE,
        name: DATABASE.into(),
        role: "database",
        part_of: NAME,
    }
}

/// Labels of the database's Deployment and NetworkPolicy.
pub(super) fn database_server_family() -> Family {
    Family { app: NAME.into(), component: DATABASE, name: DATABASE.into(), role: NAME, part_of: NAME }
}

/// What selects the server's pods.
pub(super) fn pods() -> BTreeMap<String, String> {
    selector(NAME, NAME, NAME)
}

/// What selects the database's pods.
pub(super) fn database_pods() -> BTreeMap<String, String> {
    selector(NAME, NAME, DATABASE)
}
