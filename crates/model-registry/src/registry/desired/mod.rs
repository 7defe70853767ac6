//! What should exist for a registry: a pure function of the resource, the operator's settings and what was read.
//!
//! | file | children |
//! |---|---|
//! | [`server`] | Deployment |
//! | [`connection`] | how the server reaches its database: arguments, environment, volumes |
//! | [`access`] | ServiceAccount, Role, Group, RoleBinding, the proxy's ConfigMap and ClusterRoleBinding |
//! | [`network`] | Service, Routes, NetworkPolicy |
//! | [`database`] | Secret, PersistentVolumeClaim, Deployment, Service, NetworkPolicy of a database that the operator runs |
//! | [`unwanted`] | what must not exist |

mod access;
mod connection;
mod database;
mod network;
mod server;
mod unwanted;

use k8s_openapi::{api::core::v1::PersistentVolumeClaim, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use quintet_api::model_registry::{ModelRegistry, ModelRegistrySpec, Postgres};
use quintet_kit::{Adopt, Child, Desired, Kind, WritePolicy, parts::meta};

pub(crate) use unwanted::at_the_end;

use super::{
    defaults::{connected, effective},
    names::Names,
};
use crate::{Apis, Config, existing::Existing, parts::labels::Family};

/// All that the desired state depends on, beside the resource and the settings.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Which optional APIs are served.
    pub apis: Apis,
    /// The domain of Routes.
    pub domain: Option<String>,
    /// A new password, if the database's Secret does not exist yet.
    pub password: Option<String>,
    /// The password of the user's PostgreSQL does not fit into a URL.
    pub password_apart: bool,
    /// Somebody renumbered a port of ours, so that applying it would leave two of one name: lists are written whole.
    pub mend: bool,
    /// The database's claim as it is.
    pub claim: Option<PersistentVolumeClaim>,
    /// What exists of that which may have to go.
    pub existing: Existing,
}

/// What should exist for a registry.
#[derive(Debug)]
pub struct Wanted {
    /// The specification with all defaults, that the server is built from.
    pub spec: ModelRegistrySpec,
    /// The database that the operator runs, if it does.
    pub database: Desired,
    /// The server and what leads to it.
    pub server: Desired,
}

/// A registry with what several children need.
pub(super) struct Plan<'a> {
    config: &'a Config,
    registry: &'a ModelRegistry,
    /// With all defaults.
    spec: &'a ModelRegistrySpec,
    inputs: &'a Inputs,
    names: Names,
}

impl Plan<'_> {
    /// Metadata of one of the server's objects, beside the registry and owned by it.
    fn meta(&self, name: impl Into<String>) -> ObjectMeta {
        self.of(&self.names.family(), name)
    }

    fn of(&self, family: &Family, name: impl Into<String>) -> ObjectMeta {
        let name = name.into();
        let labels = family.labels(&name);
        meta::child(name, Some(self.names.namespace()), labels, meta::controller_of(self.registry))
    }

    /// Metadata of a cluster-scoped object: nothing can own it.
    fn cluster_meta(&self, name: String) -> ObjectMeta {
        ObjectMeta {
            labels: Some(self.names.family().labels(&name)),
            name: Some(name),
            ..ObjectMeta::default()
        }
    }
}

/// The children of a registry, in the order in which they are applied.
pub fn desired(registry: &ModelRegistry, config: &Config, inputs: &Inputs) -> Wanted {
    let names = Names::of(registry);
    let asked = effective(registry, config, inputs.domain.as_deref());
    let spec = connected(&asked, &names);
    let plan = Plan { config, registry, spec: &spec, inputs, names };
    let image = asked.postgres.as_ref().filter(|postgres| postgres.is_generated()).map(image_of);
    let database = image.map(|image| database::all(&plan, image)).unwrap_or_default();
    let server = Desired::new()
        .with(ours(access::service_account(&plan)))
        .with(network::service(&plan))
        .with(server::deployment(&plan))
        .with(ours(access::user_role(&plan)))
        .with_some(access::group(&plan))
        .with_some(access::users_binding(&plan).map(ours))
        .with_some(network::http_route(&plan).map(ours))
        .with_some(access::proxy_config(&plan).map(ours))
        .with_some(access::auth_delegator(&plan))
        .with_some(network::https_route(&plan).map(ours))
        .with_some(network::https_policy(&plan).map(ours));
    let server = unwanted::in_passing(server, &plan);
    Wanted { server, database, spec }
}

fn image_of(postgres: &Postgres) -> String {
    postgres.image.clone().unwrap_or_default()
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
