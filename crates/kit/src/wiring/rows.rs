//! The rows that a wiring is printed, authorised and documented from: plain data, no functions.

use super::select::Select;
use crate::desired::WritePolicy;
use crate::kind::Gvk;
use crate::lease::Terms;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Everything one system watches, reads, writes, serves and is configured by.
#[derive(Clone, Debug, Default)]
pub struct SystemRows {
    /// The system's name.
    pub system: String,
    /// One entry per controller.
    pub controllers: Vec<ControllerRows>,
    /// Services that the system creates, is installed with, or comes with as an example.
    pub services: Vec<ServiceRow>,
    /// The kinds whose definitions the system brings.
    pub crds: Vec<Gvk>,
    /// Admission and conversion webhooks.
    pub webhooks: Vec<WebhookRow>,
    /// HTTP endpoints that the system's processes serve.
    pub endpoints: Vec<EndpointRow>,
    /// Where settings come from.
    pub config: Vec<ConfigRow>,
    /// The lease without which the system does not write, in the namespace of its own process.
    pub lease: Option<LeaseRow>,
}

/// A lease that of several processes lets one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    /// Its name.
    pub name: String,
    /// Its timings.
    pub terms: Terms,
}

impl LeaseRow {
    /// A lease that lasts so long and is renewed so often.
    #[must_use]
    pub fn new(name: impl Into<String>, lasts: Duration, retry: Duration) -> Self {
        LeaseRow { name: name.into(), terms: Terms { lasts, retry } }
    }
}

/// What one controller watches, reads, writes and may grant.
#[derive(Clone, Debug, Default)]
pub struct ControllerRows {
    /// The controller's name: label of its metrics, part of its logs.
    pub controller: String,
    /// Watches that lead to a reconcile.
    pub watches: Vec<WatchRow>,
    /// Reads that do not.
    pub reads: Vec<ReadRow>,
    /// Writes.
    pub writes: Vec<WriteRow>,
    /// Rights that must be held to be given away.
    pub grants: Vec<Grant>,
    /// True if it records events.
    pub events: bool,
}

/// How a watched kind relates to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Edge {
    /// The kind it reconciles.
    For,
    /// A kind it makes, found again by its owner reference.
    Owns,
    /// A kind whose changes concern it.
    Watches,
}

/// One watch of a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRow {
    /// The relation.
    pub edge: Edge,
    /// The kind.
    pub kind: Gvk,
    /// The controller's name.
    pub controller: String,
    /// What is watched of the kind.
    pub select: Select,
    /// Only metadata is read and kept.
    pub metadata_only: bool,
    /// Objects are asked for by name, too.
    pub fetched: bool,
    /// The controller runs without this kind when the cluster does not serve it.
    pub optional: bool,
    /// Under which condition the watch exists, empty if always.
    pub when: String,
    /// The predicate's name, empty if every change counts.
    pub predicate: String,
    /// The mapping's name.
    pub mapping: String,
}

/// A read that no watch serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRow {
    /// The kind.
    pub kind: Gvk,
    /// The subresource, such as `log`, empty for the object itself.
    pub subresource: String,
    /// Where.
    pub namespace: Option<String>,
    /// Objects are listed, not only read by name.
    pub lists: bool,
    /// The names read, empty if they are not known beforehand.
    pub names: Vec<String>,
    /// Under which condition, empty if always.
    pub when: String,
}

/// Where a row comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A controller makes it while running.
    #[default]
    Controller,
    /// The install manifests bring it.
    Install,
    /// An example or development manifest brings it.
    Example,
}

/// A kind the controller writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRow {
    /// The kind.
    pub kind: Gvk,
    /// The subresource, such as `status`, empty for the object itself.
    pub subresource: String,
    /// How.
    pub policy: WritePolicy,
    /// Where it comes from.
    pub origin: Origin,
    /// Where, none for all namespaces or a cluster-scoped kind.
    pub namespace: Option<String>,
    /// The names written, empty if they are not known beforehand.
    pub names: Vec<String>,
    /// Objects of the kind are deleted too.
    pub deletes: bool,
    /// Under which condition, empty if always.
    pub when: String,
}

/// A right the controller must hold because it gives it to others, in a Role it writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// The rule.
    pub rule: PolicyRule,
    /// Where, none for everywhere.
    pub namespace: Option<String>,
    /// Which object gives it away.
    pub because: String,
}

/// A Service port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRow {
    /// The Service's name.
    pub name: String,
    /// The port.
    pub port: i32,
    /// The port's name, empty if it has none.
    pub port_name: String,
    /// Where the Service comes from.
    pub origin: Origin,
}

impl ServiceRow {
    /// One row per port of a Service, as it was built.
    #[must_use]
    pub fn of(service: &Service, origin: Origin) -> Vec<ServiceRow> {
        let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        ports
            .map(|port| ServiceRow {
                name: service.name_any(),
                port: port.port,
                port_name: port.name.clone().unwrap_or_default(),
                origin,
            })
            .collect()
    }
}

/// What kind of webhook it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookType {
    /// It may change an object before it is stored.
    Mutating,
    /// It may refuse an object.
    Validating,
    /// It turns one version of an object into another.
    Conversion,
}

/// What happens when a webhook does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FailurePolicy {
    /// The request is refused.
    Fail,
    /// The request goes on.
    Ignore,
}

/// A webhook.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookRow {
    /// Its name in the webhook configuration.
    pub name: String,
    /// What kind of webhook it is.
    #[serde(rename = "type")]
    pub type_: HookType,
    /// The path it is served at.
    pub path: String,
    /// What happens when it does not answer.
    pub failure_policy: FailurePolicy,
}

/// An HTTP endpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EndpointRow {
    /// The method, `*` for all.
    pub method: String,
    /// The path.
    pub path: String,
}

impl EndpointRow {
    /// An endpoint.
    pub fn new(method: impl Into<String>, path: impl Into<String>) -> Self {
        EndpointRow { method: method.into(), path: path.into() }
    }
}

/// A source of settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConfigRow {
    /// `Environment`, `ConfigMap`, `Secret` or `Flags`.
    pub kind: String,
    /// Its name, empty for the environment.
    pub name: String,
    /// The keys that are read.
    pub keys: Vec<String>,
}
