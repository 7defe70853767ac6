//! What a cluster needs before an operator can run there: accounts, rights, settings, Deployments, Services, monitors.
//!
//! A system says what its original's manifests are called and hold ([`Operator`]); the rights come from its wiring. Two
//! shapes come out: [`split`], one Deployment per system under the original's names, and [`fused`], one Deployment for
//! all. Both are plain lists of objects in the order in which they should be made.

mod access;
mod fused;
mod settings;
mod split;
mod webhooks;
mod workload;

pub use fused::{Process, fused};
pub use settings::settings_name;
pub use split::split;
pub use webhooks::{HookNames, Hooks, announced, converted, keeps_certificates};

use crate::WritePolicy;
use crate::rights::{Because, Original, Reserve};
use crate::wiring::SystemRows;
use k8s_openapi::api::core::v1::{ConfigMap, ResourceRequirements};
use k8s_openapi::api::rbac::v1::ClusterRole;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// What the cluster brings along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Kubernetes alone: a manager that needs a certificate makes its own.
    Kubernetes,
    /// OpenShift: its service CA makes certificates, and its Prometheus reads monitors.
    OpenShift,
}

/// Where and from what to install.
#[derive(Clone, Debug)]
pub struct Site {
    /// The operators' own namespace.
    pub namespace: String,
    /// The image of the managers.
    pub image: String,
    /// What the cluster brings along.
    pub platform: Platform,
    /// Where the API server calls webhooks, such as `https://host:9443`; none for through a Service.
    pub webhook_url: Option<String>,
}

impl Site {
    /// True if the platform makes the webhooks' certificates: it knows only those who are called through a Service.
    fn has_service_ca(&self) -> bool {
        self.platform == Platform::OpenShift && self.webhook_url.is_none()
    }

    /// The host that the API server calls webhooks by, if not by a Service's name.
    #[must_use]
    pub fn webhook_host(&self) -> Option<String> {
        let url: http::Uri = self.webhook_url.as_ref()?.parse().ok()?;
        url.host().map(|host| host.trim_matches(['[', ']']).to_owned())
    }
}

/// How one system is installed: the names and values of its original's manifests.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The system's name.
    pub system: &'static str,
    /// What names begin with, such as `garden-operator-`.
    pub prefix: &'static str,
    /// On the account, the Deployment, the Service and their like.
    pub labels: Labels,
    /// Of the pods.
    pub selector: Labels,
    /// The Lease that decides which process writes.
    pub lease: &'static str,
    /// Flags of the original's program.
    pub args: Vec<String>,
    /// The settings that the manager gets as environment variables.
    pub env: Vec<(&'static str, String)>,
    /// What the manager asks for and may use.
    pub resources: ResourceRequirements,
    /// The ConfigMap that the settings are taken from, without a namespace.
    pub settings: ConfigMap,
    /// Where its metrics are read.
    pub metrics: Metrics,
    /// Its webhooks, if it serves any.
    pub webhooks: Option<Hooks>,
    /// Roles for people, and those that children are bound to.
    pub roles: Vec<ClusterRole>,
    /// What else the original's manifests bring, with its namespace.
    pub others: Vec<Value>,
    /// What the original's manager may do.
    pub original_rights: &'static [Original],
    /// Why ours may do otherwise.
    pub reasons: &'static [Because],
    /// What ours may do though no scenario uses it, and why.
    pub reserves: &'static [Reserve],
}

/// The objects round a manager's metrics, by name.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// The Secret that the platform's service CA fills.
    pub secret: String,
    /// The volume that it is.
    pub volume: &'static str,
    /// The mode of its files, if not the usual one.
    pub mode: Option<i32>,
    /// Where the manager finds it.
    pub mount: &'static str,
    /// The flags that tell the original's manager so.
    pub flags: Vec<String>,
    /// The role to ask who a caller is and what it may do.
    pub review_role: &'static str,
    /// The ServiceMonitor.
    pub monitor: &'static str,
}

impl Operator {
    /// An object's name.
    fn named(&self, rest: &str) -> String {
        format!("{}{rest}", self.prefix)
    }

    /// What the objects round its webhooks are called.
    #[must_use]
    pub fn hook_names(&self) -> HookNames {
        HookNames::of(self.prefix)
    }

    /// The Secret that its own Deployment keeps certificates in, where the platform makes none.
    #[must_use]
    pub fn hook_secret(&self) -> String {
        self.named("webhook-certificates")
    }

    /// The Service in front of the metrics.
    #[must_use]
    pub fn metrics_service(&self) -> String {
        self.named("controller-manager-metrics-service")
    }
}

/// One system: how it is installed, and what it does.
pub type Installed<'a> = (&'a Operator, &'a SystemRows);

/// Those of a list that say who may do what; what is left when only the image of a running original is replaced.
#[must_use]
pub fn rights_only(objects: Vec<Value>) -> Vec<Value> {
    let kinds = ["ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
    objects.into_iter().filter(|o| o["kind"].as_str().is_some_and(|kind| kinds.contains(&kind))).collect()
}

/// What a system's managers make outside of any namespace, by name, as something to delete: no collector is sure to find
/// it. Nothing may own it, and what its custom resource owns may come back in the moment in which the definition goes.
#[must_use]
pub fn outlasting(site: &Site, rows: &SystemRows) -> Vec<Value> {
    let writes = rows.controllers.iter().flat_map(|controller| &controller.writes);
    let made = writes.filter(|row| {
        let is_whole = row.policy == WritePolicy::Apply && row.subresource.is_empty();
        is_whole && row.namespace.is_none() && (row.kind.is_builtin() || site.platform == Platform::OpenShift)
    });
    let objects = made.flat_map(|row| {
        let object = |name| json!({"apiVersion": row.kind.api_version(), "kind": row.kind.kind, "metadata": {"name": name}});
        row.names.iter().map(object)
    });
    objects.collect()
}

/// In the order in which they should be deleted: definitions first, while a manager still runs that cleans up after its
/// custom resources; the namespace last.
#[must_use]
pub fn deletion_order(objects: Vec<Value>) -> Vec<Value> {
    let is_definition = |object: &Value| object["kind"] == "CustomResourceDefinition";
    let (definitions, mut others): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_definition);
    others.reverse();
    definitions.into_iter().chain(others).collect()
}

/// The object with labels on it.
fn labelled(mut object: Value, labels: &Labels) -> Value {
    object["metadata"]["labels"] = value(labels);
    object
}

fn value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or(Value::Null) // these types always fit JSON
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kinds(objects: Vec<Value>) -> Vec<String> {
        objects.into_iter().map(|o| o["kind"].as_str().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn definitions_go_first_and_the_namespace_last() {
        let made = ["Namespace", "CustomResourceDefinition", "ClusterRole", "Deployment"];
        let made = made.map(|kind| json!({"kind": kind})).to_vec();
        let order = ["CustomResourceDefinition", "Deployment", "ClusterRole", "Namespace"];
        assert_eq!(kinds(deletion_order(made.clone())), order);
        assert_eq!(kinds(rights_only(made)), ["ClusterRole"]);
    }
}
