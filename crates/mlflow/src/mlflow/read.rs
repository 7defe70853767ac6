//! What the decision needs beside the resource itself, gathered into plain data: by the controller from its caches, for
//! `quintet render` from the objects that it is given.

use std::{collections::BTreeSet, sync::Arc};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        batch::v1::CronJob,
        core::v1::{ConfigMap, PersistentVolumeClaim, Secret, SecretKeySelector, Service, ServiceAccount},
        rbac::v1::{ClusterRole, ClusterRoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::ResourceExt;
use quintet_api::{
    foreign::{console::ConsoleLink, gateway::HTTPRoute, monitoring::ServiceMonitor},
    mlflow::{CaBundleConfigMap, MLflow},
};
use quintet_kit::{Hubs, Kind, Meta, ObjectKey, parts::ca_bundle::Scripts, run::Observed};

use super::{
    error::Error,
    names::{GC_SERVICE_ACCOUNT, Names, PORT, SHARED_ROLE, TLS_SECRET},
    original,
};
use crate::{Config, config::PLATFORM_CA_BUNDLE};

/// Which of the APIs that a cluster may lack are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apis {
    /// `console.openshift.io/v1` ConsoleLink: we are on OpenShift.
    pub console_link: bool,
    /// `gateway.networking.k8s.io/v1` HTTPRoute.
    pub http_route: bool,
    /// `monitoring.coreos.com/v1` ServiceMonitor.
    pub service_monitor: bool,
}

impl Apis {
    /// An API counts as served if its definition, or an object of its kind, was observed.
    fn observed(observed: &Observed) -> Self {
        Apis {
            console_link: is_served::<ConsoleLink>(observed),
            http_route: is_served::<HTTPRoute>(observed),
            service_monitor: is_served::<ServiceMonitor>(observed),
        }
    }
}

fn is_served<K: Kind>(observed: &Observed) -> bool {
    let definition = ObjectKey::cluster(K::gvk().crd_name());
    observed.get::<Meta<CustomResourceDefinition>>(&definition).is_some() || !observed.all::<K>().is_empty()
}

/// All that the desired state depends on, beside the resource and the settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// Which optional APIs are served.
    pub apis: Apis,
    /// The platform's CA bundle exists.
    pub platform_ca: bool,
    /// Owners that the shared ClusterRole has.
    pub shared_role_owners: Vec<OwnerReference>,
    /// The Service has a port of our name at another number.
    pub stray_service_port: bool,
    /// The Deployment has a port of our name at another number.
    pub stray_container_port: bool,
    /// The original's shell programs, if the Deployment has them.
    pub original_scripts: Option<Scripts>,
    /// What there is of the garbage collection.
    pub gc: GcObjects,
}

/// Which objects of the garbage collection exist and are the resource's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcObjects {
    /// The CronJob.
    pub cron_job: bool,
    /// The ServiceAccount.
    pub service_account: bool,
    /// The ClusterRole.
    pub role: bool,
    /// The ClusterRoleBinding.
    pub binding: bool,
}

impl Inputs {
    /// What the controller would find, if the cluster held just what was observed: for rendering without one.
    ///
    /// # Errors
    /// If the resource names a CA bundle that was not observed.
    pub fn observed(mlflow: &MLflow, config: &Config, observed: &Observed) -> Result<Self, Error> {
        let beside = |name: &str| ObjectKey::namespaced(&config.namespace, name);
        let is_there = |name: &str| observed.get::<Meta<ConfigMap>>(&beside(name)).is_some();
        if let Some(bundle) = &mlflow.spec.ca_bundle_config_map
            && !is_there(&bundle.name)
        {
            return Err(missing(bundle, config));
        }
        let server = beside(&Names::of(mlflow, &config.namespace).server());
        Ok(Inputs::of(
            Apis::observed(observed),
            is_there(PLATFORM_CA_BUNDLE),
            observed.get::<ClusterRole>(&ObjectKey::cluster(SHARED_ROLE)).as_ref(),
            observed.get::<Service>(&server).as_ref(),
            observed.get::<Deployment>(&server).as_ref(),
            GcObjects::default(), // what would be deleted is not rendered
        ))
    }

    /// What follows from the objects there are. `gc` is what the resource owns of the garbage collection.
    fn of(
        apis: Apis,
        platform_ca: bool,
        shared_role: Option<&ClusterRole>,
        service: Option<&Service>,
        deployment: Option<&Deployment>,
        gc: GcObjects,
    ) -> Self {
        Inputs {
            apis,
            platform_ca,
            shared_role_owners: shared_role.map(|role| role.owner_references().to_vec()).unwrap_or_default(),
            stray_service_port: service.is_some_and(has_stray_service_port),
            stray_container_port: deployment.is_some_and(has_stray_container_port),
            original_scripts: deployment.and_then(original::scripts),
            gc,
        }
    }
}

/// What status and events tell of, beside the outcome of the writes.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The server's Deployment.
    pub deployment: Option<Arc<Deployment>>,
    /// The server's route.
    pub route: Option<Arc<HTTPRoute>>,
    /// The server's volume claim.
    pub claim: Option<Arc<PersistentVolumeClaim>>,
    /// Secrets that the server's pods need and that are not there.
    pub missing_secrets: Vec<String>,
}

/// Reads from the caches. What they cannot vouch for is asked for once.
pub(super) struct Reader<'a> {
    pub(super) hubs: &'a Hubs,
    pub(super) mlflow: &'a MLflow,
    pub(super) config: &'a Config,
    pub(super) names: Names,
}

impl<'a> Reader<'a> {
    pub(super) fn new(hubs: &'a Hubs, mlflow: &'a MLflow, config: &'a Config) -> Self {
        Reader { hubs, mlflow, config, names: Names::of(mlflow, &config.namespace) }
    }

    pub(super) fn apis(&self) -> Apis {
        Apis {
            console_link: self.hubs.serves::<ConsoleLink>() == Some(true),
            http_route: self.hubs.serves::<HTTPRoute>() == Some(true),
            service_monitor: self.hubs.serves::<ServiceMonitor>() == Some(true),
        }
    }

    /// What the desired state depends on. A CA bundle that the resource names must be there.
    pub(super) async fn inputs(&self) -> Result<Inputs, Error> {
        if let Some(bundle) = &self.mlflow.spec.ca_bundle_config_map {
            let found = self.hubs.fetch::<Meta<ConfigMap>>(&self.beside(&bundle.name)).await;
            let found = found.map_err(|source| Error::CaBundleUnreadable {
                name: bundle.name.clone(),
                source: Box::new(source),
            })?;
            if found.is_none() {
                return Err(missing(bundle, self.config));
            }
        }
        let platform = self.hubs.fetch::<Meta<ConfigMap>>(&self.beside(PLATFORM_CA_BUNDLE)).await;
        let platform = platform.map_err(|source| Error::PlatformCaBundle(Box::new(source)))?;
        let role = self.hubs.fetch::<ClusterRole>(&ObjectKey::cluster(SHARED_ROLE)).await;
        let role =
            role.map_err(|source| Error::Read { what: "ClusterRole mlflow", source: Box::new(source) })?;
        let gc = GcObjects {
            cron_job: self.owns::<CronJob>(&self.beside(&self.names.gc())),
            service_account: self.owns::<ServiceAccount>(&self.beside(GC_SERVICE_ACCOUNT)),
            role: self.owns::<ClusterRole>(&ObjectKey::cluster(self.names.gc())),
            binding: self.owns::<ClusterRoleBinding>(&ObjectKey::cluster(self.names.gc())),
        };
        let (service, deployment) = (self.ours::<Service>(), self.ours::<Deployment>());
        Ok(Inputs::of(
            self.apis(),
            platform.is_some(),
            role.as_deref(),
            service.as_deref(),
            deployment.as_deref(),
            gc,
        ))
    }

    /// What status and events tell of, after the children were applied.
    pub(super) async fn seen(&self) -> Result<Seen, Error> {
        let deployment = self.ours::<Deployment>();
        let is_ready =
            deployment.as_deref().is_some_and(|d| super::status::Readiness::of(d, self.config).is_ready());
        let mut missing_secrets = vec![];
        // A server that runs has what it needs.
        if !is_ready {
            for name in required_secrets(self.mlflow) {
                let found = self.hubs.fetch::<Meta<Secret>>(&self.beside(&name)).await;
                let found =
                    found.map_err(|source| Error::Read { what: "Secrets", source: Box::new(source) })?;
                if found.is_none() {
                    missing_secrets.push(name);
                }
            }
        }
        Ok(Seen {
            deployment,
            route: self.ours::<HTTPRoute>(),
            claim: self.claim(is_ready).await?,
            missing_secrets,
        })
    }

    /// The claim. One that somebody else made is not in the cache, and only asked for while the server is not ready.
    async fn claim(&self, is_ready: bool) -> Result<Option<Arc<PersistentVolumeClaim>>, Error> {
        let key = self.beside(&self.names.claim());
        if is_ready || self.mlflow.spec.storage.is_none() {
            return Ok(self.hubs.get(&key));
        }
        let found = self.hubs.fetch(&key).await;
        found.map_err(|source| Error::Read { what: "PersistentVolumeClaims", source: Box::new(source) })
    }

    fn beside(&self, name: &str) -> ObjectKey {
        ObjectKey::namespaced(&self.config.namespace, name)
    }

    /// One of the objects that have the server's name.
    fn ours<K: Kind>(&self) -> Option<Arc<K>> {
        self.hubs.get(&self.beside(&self.names.server()))
    }

    fn owns<K: Kind>(&self, key: &ObjectKey) -> bool {
        let uid = self.mlflow.uid();
        let object = self.hubs.get::<K>(key);
        object.is_some_and(|object| {
            object.owner_references().iter().any(|owner| Some(&owner.uid) == uid.as_ref())
        })
    }
}

fn missing(bundle: &CaBundleConfigMap, config: &Config) -> Error {
    Error::CaBundleMissing { name: bundle.name.clone(), namespace: config.namespace.clone() }
}

/// Ports are told apart by number, and a name may occur once: ours at another number bars our own.
fn has_stray_service_port(service: &Service) -> bool {
    let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    ports.into_iter().any(|port| port.name.as_deref() == Some("https") && port.port != PORT)
}

fn has_stray_container_port(deployment: &Deployment) -> bool {
    let pods = deployment.spec.iter().filter_map(|spec| spec.template.spec.as_ref());
    let servers = pods.flat_map(|pod| &pod.containers).filter(|container| container.name == "mlflow");
    let mut ports = servers.flat_map(|server| server.ports.iter().flatten());
    ports.any(|port| port.name.as_deref() == Some("https") && port.container_port != PORT)
}

/// Secrets without which the server's pods cannot start, each once.
pub(super) fn required_secrets(mlflow: &MLflow) -> BTreeSet<String> {
    let spec = &mlflow.spec;
    let keys = [&spec.backend_store_uri_from, &spec.registry_store_uri_from].into_iter().flatten();
    let env =
        spec.env.iter().flatten().filter_map(|entry| entry.value_from.as_ref()?.secret_key_ref.as_ref());
    let is_required = |key: &&SecretKeySelector| key.optional != Some(true);
    let keys = keys.chain(env).filter(is_required).map(|key| key.name.clone());
    let sources = spec.env_from.iter().flatten().filter_map(|source| source.secret_ref.as_ref());
    let sources = sources.filter(|source| source.optional != Some(true)).map(|source| source.name.clone());
    [TLS_SECRET.to_owned()].into_iter().chain(keys).chain(sources).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_port_of_our_name_at_another_number_is_stray() {
        let service = |port: i32, name: &str| -> Service {
            serde_json::from_value(json!({ "spec": { "ports": [{ "port": port, "name": name }] } })).unwrap()
        };
        assert!(has_stray_service_port(&service(9999, "https")));
        assert!(!has_stray_service_port(&service(8443, "https")));
        assert!(!has_stray_service_port(&service(9999, "other")));
        let deployment = |container: &str, port: i32| -> Deployment {
            let containers =
                json!([{ "name": container, "ports": [{ "name": "https", "containerPort": port }] }]);
            let template = json!({ "spec": { "containers": containers } });
            serde_json::from_value(json!({ "spec": { "selector": {}, "template": template } })).unwrap()
        };
        assert!(has_stray_container_port(&deployment("mlflow", 9999)));
        assert!(!has_stray_container_port(&deployment("mlflow", 8443)));
        assert!(!has_stray_container_port(&deployment("somebodys", 9999)));
    }

    #[test]
    fn only_what_pods_cannot_start_without_is_required() {
        let mlflow: MLflow = serde_json::from_value(json!({ "metadata": {}, "spec": {
            "backendStoreUriFrom": { "name": "db", "key": "uri" },
            "registryStoreUriFrom": { "name": "perhaps", "key": "uri", "optional": true },
            "env": [
                { "name": "A", "valueFrom": { "secretKeyRef": { "name": "db", "key": "a" } } },
                { "name": "B", "value": "b" },
            ],
            "envFrom": [{ "secretRef": { "name": "aws" } }, { "configMapRef": { "name": "settings" } }],
        } }))
        .unwrap();
        assert_eq!(required_secrets(&mlflow).into_iter().collect::<Vec<_>>(), ["aws", "db", "mlflow-tls"]);
    }
}
