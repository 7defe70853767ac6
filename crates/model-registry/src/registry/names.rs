//! Names and labels of a registry's children.

use std::collections::BTreeMap;

use kube::ResourceExt;
use quintet_api::model_registry::ModelRegistry;

use crate::parts::labels::{Family, selector};

/// The label `component` of everything that belongs to a registry.
pub(super) const COMPONENT: &str = "model-registry";
/// The server's container.
pub(super) const REST_CONTAINER: &str = "rest-container";

/// The names of one registry's children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    name: String,
    namespace: String,
}

impl Names {
    pub(crate) fn of(registry: &ModelRegistry) -> Self {
        Names { name: registry.name_any(), namespace: registry.namespace().unwrap_or_default() }
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// ServiceAccount, Service and Deployment.
    pub(crate) fn server(&self) -> &str {
        &self.name
    }

    /// The Role that lets a user call the server.
    pub(crate) fn user_role(&self) -> String {
        format!("registry-user-{}", self.name)
    }

    /// The group of users, and the binding that gives it the role.
    pub(crate) fn users(&self) -> String {
        self.suffixed("users")
    }

    pub(crate) fn http_route(&self) -> String {
        self.suffixed("http")
    }

    pub(crate) fn https_route(&self) -> String {
        self.suffixed("https")
    }

    pub(crate) fn https_policy(&self) -> String {
        self.suffixed("https-route")
    }

    /// The Secret with the proxy's certificate, where the registry names none.
    pub(crate) fn proxy_certificate(&self) -> String {
        self.suffixed("kube-rbac-proxy")
    }

    pub(crate) fn proxy_config(&self) -> String {
        self.suffixed("kube-rbac-proxy-config")
    }

    pub(crate) fn auth_delegator(&self) -> String {
        self.suffixed("auth-delegator")
    }

    /// Deployment, Service and NetworkPolicy of the database that the operator runs.
    pub(crate) fn database(&self) -> String {
        self.suffixed("postgres")
    }

    pub(crate) fn database_credentials(&self) -> String {
        self.suffixed("postgres-credentials")
    }

    pub(crate) fn database_storage(&self) -> String {
        self.suffixed("postgres-storage")
    }

    /// Deployment and Service of the catalog that earlier releases ran beside each registry.
    pub(crate) fn old_catalog(&self) -> String {
        self.suffixed("catalog")
    }

    /// The server's name outside the cluster.
    pub(crate) fn external_host(&self, domain: &str) -> String {
        format!("{}-rest.{domain}", self.name)
    }

    fn suffixed(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.name)
    }

    /// Labels of the server's objects.
    pub(crate) fn family(&self) -> Family {
        Family {
            app: self.name.clone(),
            component: COMPONENT,
            name: self.name.clone(),
            role: COMPONENT,
            part_of: COMPONENT,
        }
    }

    /// Labels of the database's objects.
    pub(crate) fn database_family(&self) -> Family {
        Family {
            app: self.database(),
            component: "model-registry-postgres",
            name: self.database(),
            role: "database",
            part_of: COMPONENT,
        }
    }

    /// What selects the server's pods.
    pub(crate) fn pods(&self) -> BTreeMap<String, String> {
        selector(&self.name, COMPONENT, &self.name)
    }

    /// What selects the database's pods.
    pub(crate) fn database_pods(&self) -> BTreeMap<String, String> {
        selector(&self.name, COMPONENT, &self.database())
    }
}
