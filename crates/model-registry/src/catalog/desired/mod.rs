//! What the catalog consists of: a pure function of the operator's settings and what was read.
//!
//! | file | children |
//! |---|---|
//! | [`sources`] | the ConfigMaps that list what the catalog shows: ours, and those that are the users' own |
//! | [`server`] | Deployment |
//! | [`access`] | ServiceAccount, Roles, RoleBindings, the proxy's ConfigMap and ClusterRoleBinding |
//! | [`network`] | Service, Route, NetworkPolicy |
//! | [`database`] | Secret, PersistentVolumeClaim, Deployment, Service, NetworkPolicy |
//! | [`unwanted`] | what goes when the catalog is switched off, and what earlier releases left |

pub(super) mod access;
mod database;
mod network;
mod server;
mod sources;
mod unwanted;

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::PersistentVolumeClaim},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use quintet_kit::{Adopt, Child, Desired, Kind, WritePolicy};

pub(super) use unwanted::{OLD_COOKIE, OLD_SOURCES, removed};

use super::names::family;
use crate::{Apis, Config, existing::Existing};

/// All that the desired state depends on, beside the settings.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Where the catalog is.
    pub namespace: String,
    /// Which optional APIs are served.
    pub apis: Apis,
    /// The domain of Routes.
    pub domain: Option<String>,
    /// The platform's component, if there is one: what it owns goes with it.
    pub owner: Option<OwnerReference>,
    /// Groups whose members administer the platform.
    pub admin_groups: Vec<String>,
    /// ConfigMaps that somebody labelled as sources, sorted.
    pub sources: Vec<String>,
    /// What users' ConfigMaps are to hold from now on, by name.
    pub cleaned: BTreeMap<String, String>,
    /// What the database's Secret holds.
    pub credentials: BTreeMap<String, Vec<u8>>,
    /// A new password, for a Secret without one.
    pub password: String,
    /// The server's Deployment as it is.
    pub server: Option<Deployment>,
    /// Somebody renumbered a port of ours: lists are written whole.
    pub mend: bool,
    /// The database's Deployment as it is.
    pub database: Option<Deployment>,
    /// The database's claim as it is.
    pub claim: Option<PersistentVolumeClaim>,
    /// What exists of that which may have to go.
    pub existing: Existing,
}

/// The settings, with what was read.
pub(super) struct Plan<'a> {
    config: &'a Config,
    inputs: &'a Inputs,
}

impl Plan<'_> {
    /// Metadata of one of the catalog's objects that belongs to the platform's component.
    fn meta(&self, name: &str) -> ObjectMeta {
        self.owned(family().labels(name), name, self.inputs.owner.clone())
    }

    /// The same for an object that goes with the server's Deployment; none before that exists.
    fn of_server(&self, labels: BTreeMap<String, String>, name: &str) -> Option<ObjectMeta> {
        let owner = self.inputs.server.as_ref().and_then(owner_of)?;
        Some(self.owned(labels, name, Some(owner)))
    }

    fn owned(
        &self,
        labels: BTreeMap<String, String>,
        name: &str,
        owner: Option<OwnerReference>,
    ) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.into()),
            namespace: Some(self.inputs.namespace.clone()),
            labels: Some(labels),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        }
    }
}

/// A reference to a Deployment that the server has stored.
fn owner_of(deployment: &Deployment) -> Option<OwnerReference> {
    deployment.metadata.uid.as_ref().map(|_| quintet_kit::parts::meta::owner_of(deployment))
}

/// The catalog's objects, in the order in which they are applied. What goes with a Deployment follows once that exists:
/// its appearance brings the next pass.
pub fn desired(config: &Config, inputs: &Inputs) -> Desired {
    let plan = Plan { config, inputs };
    let mut desired = Desired::new()
        .with(ours(access::service_account(&plan)))
        .with(ours(sources::default(&plan)))
        .with(sources::users(&plan, sources::MODELS))
        .with(sources::users(&plan, sources::MCP))
        .with(server::deployment(&plan))
        .with_some(network::service(&plan))
        .with_some(access::user_role(&plan).map(ours))
        .with_some(access::authenticated(&plan).map(ours))
        .with_some(access::admin_role(&plan).map(ours))
        .with_some(access::admin_binding(&plan).map(ours));
    if !config.catalog.skip_database {
        desired.extend(database::all(&plan));
    }
    let desired = desired
        .with_some(network::route(&plan).map(ours))
        .with_some(network::policy(&plan).map(ours))
        .with(ours(access::proxy_config(&plan)))
        .with(access::auth_delegator(&plan));
    unwanted::in_passing(desired, &plan)
}

/// A child that is applied, and taken over if it exists and nobody controls it.
fn ours<K: Kind>(object: K) -> Child {
    Child::new(object).adopt(Adopt::Uncontrolled)
}

/// The same; to mend it, the list is written whole.
fn mended<K: Kind>(object: K, mend: bool, list: &str) -> Child {
    let child = ours(object);
    if mend { child.policy(WritePolicy::Exclusive(vec![list.into()])) } else { child }
}
