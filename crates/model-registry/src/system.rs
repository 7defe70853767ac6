//! The system as the command line knows it: its rows, its definitions, what it makes of a resource, how it starts.

use std::time::Duration;

use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{PersistentVolumeClaim, Secret, Service},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Resource, ResourceExt, api::DynamicObject};
use quintet_api::{
    foreign::{
        openshift::{Group, Ingress, Route},
        platform::Auth,
    },
    model_registry::{ModelRegistry, Postgres, v1alpha1},
};
use quintet_kit::{
    Context, Desired, Hubs, Kind, Meta, ObjectKey, System,
    config::environment_row,
    install::{Operator, Site},
    run::{Fatal, Observed, RenderError, Started},
    webhook::Webhooks,
    wiring::{LeaseRow, Origin, ServiceRow, SystemRows},
};
use serde_json::json;

use crate::{
    Apis, Config,
    apis::domain,
    catalog,
    config::{VARIABLES, difference::EVENTS},
    install, migration,
    parts::password,
    registry::{
        self, Names,
        desired::{Inputs, desired},
        fits_in,
    },
    webhook,
};

/// Services that the install brings: name, port, port's name.
const INSTALLED: [(&str, i32, &str); 2] = [
    ("model-registry-operator-controller-manager-metrics-service", 8443, "https"),
    ("model-registry-operator-webhook-service", 443, ""),
];

/// The model registry operator.
#[derive(Clone, Debug)]
pub struct ModelRegistryOperator {
    config: Config,
}

impl ModelRegistryOperator {
    /// The operator with these settings.
    pub fn new(config: Config) -> Self {
        ModelRegistryOperator { config }
    }

    /// The operator's Services, and those it would make: of a registry, of one with a proxy, and of the catalog.
    fn services(&self) -> Vec<ServiceRow> {
        let installed = INSTALLED.map(|(name, port, port_name)| ServiceRow {
            name: name.into(),
            port,
            port_name: port_name.into(),
            origin: Origin::Install,
        });
        let made = [json!({}), json!({ "kubeRBACProxy": {} })].into_iter().flat_map(|more| {
            let mut spec = json!({ "rest": {}, "postgres": { "generateDeployment": true } });
            more.as_object().into_iter().flatten().for_each(|(name, value)| spec[name] = value.clone());
            let object =
                json!({ "metadata": { "name": "<registry>", "namespace": "<namespace>" }, "spec": spec });
            let registry: ModelRegistry =
                serde_json::from_value(object).expect("every other field has a default");
            let wanted = desired(&registry, &self.config, &Inputs::default());
            services_of(&wanted.server).chain(services_of(&wanted.database)).collect::<Vec<_>>()
        });
        let existing: Deployment =
            serde_json::from_value(json!({ "metadata": { "uid": "-" } })).expect("a Deployment");
        let catalog = catalog::Inputs {
            server: Some(existing.clone()),
            database: Some(existing),
            ..catalog::Inputs::default()
        };
        let catalog = catalog::desired(&self.config, &catalog);
        let mut rows: Vec<ServiceRow> = vec![];
        for row in installed.into_iter().chain(made).chain(services_of(&catalog)) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows
    }

    /// What the controller would find, if the cluster held just what was observed.
    fn inputs(&self, registry: &ModelRegistry, observed: &Observed) -> Inputs {
        let names = Names::of(registry);
        let beside = |name: &str| ObjectKey::namespaced(names.namespace(), name);
        let ingress = observed.get::<Ingress>(&ObjectKey::cluster("cluster"));
        let secret = observed.get::<Meta<Secret>>(&beside(&names.database_credentials()));
        let is_generating = registry.spec.postgres.as_ref().is_some_and(Postgres::is_generated);
        Inputs {
            apis: Apis {
                route: is_served::<Route>(observed),
                group: is_served::<Group>(observed),
                config: is_served::<Ingress>(observed),
                auth: is_served::<Auth>(observed),
            },
            domain: domain(self.config.default_domain.as_deref(), ingress.as_ref()),
            password: (is_generating && secret.is_none()).then(password::generate),
            password_apart: registry.spec.password().is_some_and(|key| {
                observed.get::<Secret>(&beside(&key.name)).is_some_and(|secret| !fits_in(&secret, &key.key))
            }),
            claim: observed.get::<PersistentVolumeClaim>(&beside(&names.database_storage())),
            ..Inputs::default() // what would be deleted is not rendered
        }
    }
}

fn services_of(desired: &Desired) -> impl Iterator<Item = ServiceRow> {
    desired.all::<Service>().flat_map(|service| ServiceRow::of(service, Origin::Controller))
}

impl System for ModelRegistryOperator {
    fn name(&self) -> &'static str {
        "model-registry"
    }

    fn rows(&self) -> SystemRows {
        let place = self.config.catalog.namespace.clone();
        let controllers = [registry::wiring(&self.config).rows().clone()]
            .into_iter()
            .chain(place.map(|namespace| catalog::wiring(&self.config, &namespace).rows().clone()))
            .chain(self.config.migration.as_ref().map(|_| migration::rows()));
        SystemRows {
            system: self.name().into(),
            controllers: controllers.collect(),
            services: self.services(),
            crds: vec![v1alpha1::ModelRegistry::gvk(), ModelRegistry::gvk()],
            webhooks: if self.config.webhooks { webhook::rows() } else { vec![] },
            config: vec![environment_row(&VARIABLES)],
            lease: Some(LeaseRow::new(
                crate::install::LEASE,
                Duration::from_secs(15),
                Duration::from_secs(2),
            )),
            ..SystemRows::default()
        }
    }

    fn crds(&self) -> Vec<CustomResourceDefinition> {
        quintet_api::model_registry::crds()
    }

    fn install(&self, site: &Site) -> Option<Operator> {
        Some(install::operator(site, &self.config))
    }

    fn render(&self, object: &DynamicObject, observed: &Observed) -> Result<Desired, RenderError> {
        let types = object.types.clone().unwrap_or_default();
        let group = types.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        if types.kind != ModelRegistry::kind(&()) || group != ModelRegistry::group(&()) {
            return Err(RenderError::NotOurs(types.kind));
        }
        let mut registry: ModelRegistry = if types.api_version.ends_with("/v1alpha1") {
            quintet_api::model_registry::convert::to_v1beta1(&RenderError::parse(object)?)
        } else {
            RenderError::parse(object)?
        };
        registry.metadata.namespace =
            registry.namespace().or_else(|| self.config.namespace.clone()).or_else(|| Some("default".into()));
        webhook::default_v1beta1(&mut registry, &self.config);
        webhook::sound(&registry, &self.config).map_err(|error| RenderError::refused(&registry, &error))?;
        let wanted = desired(&registry, &self.config, &self.inputs(&registry, observed));
        let mut all = wanted.database;
        all.extend(wanted.server);
        Ok(all)
    }

    fn webhooks(&self, hubs: &Hubs) -> Webhooks {
        if self.config.webhooks { webhook::serve(&self.config, hubs) } else { Webhooks::new() }
    }

    fn start(&self, context: Context) -> BoxFuture<'_, Result<Started, Fatal>> {
        let mut started = Started::new().controller(registry::controller(&context, self.config.clone()));
        match &self.config.catalog.namespace {
            Some(namespace) => {
                let catalog = catalog::controller(&context, self.config.clone(), namespace.clone());
                started = started.controller(catalog);
            }
            None if self.config.catalog.enabled => {
                tracing::warn!(
                    "REGISTRIES_NAMESPACE is not set: there is no namespace for the model catalog, so it is not run"
                );
            }
            None => {}
        }
        if let Some(versions) = self.config.migration.clone() {
            let tells = self.config.differences.has(EVENTS);
            started = started.task(migration::run(context, versions, tells));
        }
        async { Ok(started) }.boxed()
    }
}

/// An API counts as served if its definition, or an object of its kind, was observed.
fn is_served<K: Kind>(observed: &Observed) -> bool {
    let definition = ObjectKey::cluster(K::gvk().crd_name());
    observed.get::<Meta<CustomResourceDefinition>>(&definition).is_some() || !observed.all::<K>().is_empty()
}
