//! What the decision needs beside the resource itself, gathered into plain data.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Endpoints, PersistentVolumeClaim, Pod, Secret, Service},
    networking::v1::NetworkPolicy,
    rbac::v1::ClusterRoleBinding,
};
use kube::ResourceExt;
use quintet_api::{
    foreign::openshift::{Ingress, Route},
    model_registry::{ModelRegistry, ModelRegistrySpec, Postgres},
};
use quintet_kit::{Hubs, Meta, ObjectKey};

use super::{
    desired::Inputs,
    error::Error,
    logs::{Finding, Logs},
    names::{Names, REST_CONTAINER},
    passwords::Passwords,
    references::{Reference, references},
    status,
    wiring::BY_REGISTRY,
};
use crate::{Apis, Config, apis::domain, config::difference::MISSING, existing::Existing, parts::password};

/// What status and events tell of, beside the outcome of the writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// Which optional APIs are served.
    pub(super) apis: Apis,
    /// The server's Deployment.
    pub(super) deployment: Option<Arc<Deployment>>,
    /// Where its pods are.
    pub(super) endpoints: Option<Arc<Endpoints>>,
    /// The pods of server and database that are not being deleted, by name.
    pub(super) pods: Vec<Arc<Pod>>,
    /// What the server's logs tell, by pod.
    pub(super) findings: BTreeMap<String, Finding>,
    /// The Route to the proxy.
    pub(super) route: Option<Arc<Route>>,
    /// Objects that the pods need and that are not there.
    pub(super) missing: Vec<Reference>,
    /// A database that the operator ran once and that nothing asks for now.
    pub(super) stray_database: Option<String>,
}

/// Reads from the caches. What they cannot vouch for is asked for once.
pub(super) struct Reader<'a> {
    hubs: &'a Hubs,
    registry: &'a ModelRegistry,
    config: &'a Config,
    names: Names,
}

impl<'a> Reader<'a> {
    pub(super) fn new(hubs: &'a Hubs, registry: &'a ModelRegistry, config: &'a Config) -> Self {
        Reader { hubs, registry, config, names: Names::of(registry) }
    }

    pub(super) fn apis(&self) -> Apis {
        Apis::of(self.hubs)
    }

    /// A registry of this name is elsewhere, and stays.
    pub(super) fn has_namesake(&self) -> bool {
        let is_namesake = |other: &ModelRegistry| {
            other.name_any() == self.names.server()
                && other.namespace() != self.registry.namespace()
                && other.metadata.deletion_timestamp.is_none()
        };
        self.hubs.all::<ModelRegistry>().iter().any(|other| is_namesake(other))
    }

    /// What the desired state depends on.
    pub(super) async fn inputs(&self, passwords: &Passwords) -> Result<Inputs, Error> {
        let ingress = self.hubs.get::<Ingress>(&ObjectKey::cluster("cluster"));
        Ok(Inputs {
            apis: self.apis(),
            domain: domain(self.config.default_domain.as_deref(), ingress.as_deref()),
            password: self.new_password().await?,
            password_apart: self.password_apart(passwords).await?,
            mend: false,
            claim: self.claim(),
            existing: self.existing(),
        })
    }

    /// Whether the password of the user's PostgreSQL does not fit into a URL.
    async fn password_apart(&self, passwords: &Passwords) -> Result<bool, Error> {
        let Some(key) = self.registry.spec.password() else { return Ok(false) };
        let fits = passwords.fits(self.hubs, self.names.namespace(), key).await;
        fits.map(|fits| !fits).map_err(Error::read("Secrets"))
    }

    /// A password, if the database needs one and has none.
    async fn new_password(&self) -> Result<Option<String>, Error> {
        if !self.registry.spec.postgres.as_ref().is_some_and(Postgres::is_generated) {
            return Ok(None);
        }
        let key = self.beside(&self.names.database_credentials());
        let found = self.hubs.fetch::<Meta<Secret>>(&key).await.map_err(Error::read("Secrets"))?;
        Ok(found.is_none().then(password::generate))
    }

    fn existing(&self) -> Existing {
        let (hubs, names) = (self.hubs, &self.names);
        let beside = |name: String| self.beside(&name);
        let old = names.old_catalog();
        Existing::default()
            .seen::<Route>(hubs, &beside(names.http_route()))
            .seen::<Route>(hubs, &beside(names.https_route()))
            .seen::<NetworkPolicy>(hubs, &beside(names.https_policy()))
            .seen::<ConfigMap>(hubs, &beside(names.proxy_config()))
            .seen::<ClusterRoleBinding>(hubs, &ObjectKey::cluster(names.auth_delegator()))
            .seen::<Deployment>(hubs, &beside(old.clone()))
            .seen::<Service>(hubs, &beside(old.clone()))
            .seen::<Route>(hubs, &beside(format!("{old}-https")))
            .seen::<NetworkPolicy>(hubs, &beside(format!("{old}-https-route")))
    }

    /// What status and events tell of, after the children were applied. `spec` has all defaults.
    pub(super) async fn observed(&self, spec: &ModelRegistrySpec, logs: &Logs) -> Result<Observed, Error> {
        let deployment = self.hubs.get::<Deployment>(&self.beside(self.names.server()));
        let is_up = deployment.as_deref().is_some_and(status::is_available);
        let mut observed = Observed {
            apis: self.apis(),
            endpoints: self.hubs.get(&self.beside(self.names.server())),
            pods: self.pods(),
            route: self.hubs.get(&self.beside(&self.names.https_route())),
            stray_database: self.stray_database(),
            deployment,
            ..Observed::default()
        };
        // A server that runs has what it needs, and nothing to tell.
        if !is_up {
            if self.config.differences.has(MISSING) {
                observed.missing = self.missing(spec).await?;
            }
            for pod in observed.pods.iter().filter(|pod| status::has_something_to_tell(pod)) {
                if let Some(finding) = logs.of(pod, REST_CONTAINER).await {
                    observed.findings.insert(pod.name_any(), finding);
                }
            }
        }
        Ok(observed)
    }

    fn pods(&self) -> Vec<Arc<Pod>> {
        let index = format!("{}/{}", self.names.namespace(), self.names.server());
        let mut pods = self.hubs.by::<Pod>(BY_REGISTRY, &index);
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        pods
    }

    async fn missing(&self, spec: &ModelRegistrySpec) -> Result<Vec<Reference>, Error> {
        let mut missing = vec![];
        for reference in references(spec) {
            let found = match &reference {
                Reference::Secret(name) => {
                    let found = self.hubs.fetch::<Meta<Secret>>(&self.beside(name)).await;
                    found.map_err(Error::read("Secrets"))?.is_some()
                }
                Reference::ConfigMap(name) => {
                    let found = self.hubs.fetch::<Meta<ConfigMap>>(&self.beside(name)).await;
                    found.map_err(Error::read("ConfigMaps"))?.is_some()
                }
            };
            if !found {
                missing.push(reference);
            }
        }
        Ok(missing)
    }

    fn stray_database(&self) -> Option<String> {
        if self.registry.spec.postgres.as_ref().is_some_and(Postgres::is_generated) {
            return None;
        }
        let database = self.hubs.get::<Deployment>(&self.beside(&self.names.database()))?;
        let uid = self.registry.uid();
        let is_ours = database.owner_references().iter().any(|owner| Some(&owner.uid) == uid.as_ref());
        is_ours.then(|| self.names.database())
    }

    fn beside(&self, name: &str) -> ObjectKey {
        ObjectKey::namespaced(self.names.namespace(), name)
    }

    fn claim(&self) -> Option<PersistentVolumeClaim> {
        let claim = self.hubs.get::<PersistentVolumeClaim>(&self.beside(&self.names.database_storage()));
        claim.map(|claim| (*claim).clone())
    }
}
