//! A server with the operator running on it, and what people and the cluster's own controllers do there.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Endpoints, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{ClusterRoleBinding, Role, RoleBinding},
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use quintet_api::{
    crd,
    foreign::{
        openshift::{Group, Ingress, Route},
        platform::{Auth, ModelRegistryComponent},
        storage_migration::StorageVersionMigration,
    },
    model_registry::ModelRegistry,
};
use quintet_kit::Kind;
use quintet_model_registry::ModelRegistryOperator;
use quintet_stage::{
    Play, Server, Subject,
    objects::{Objects, id},
    server::plane_with_pods,
};
use serde_json::{Value, json};

use super::{config, rendering};

/// Where registries may be.
pub(crate) const NAMESPACE: &str = "mr";

/// The optional APIs that a cluster serves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Serves {
    pub(crate) route: bool,
    pub(crate) group: bool,
    pub(crate) platform: bool,
}

pub(crate) const PLAIN: Serves = Serves { route: false, group: false, platform: false };
pub(crate) const OPENSHIFT: Serves = Serves { route: true, group: true, platform: false };
pub(crate) const BYOIDC: Serves = Serves { route: true, group: false, platform: false };
pub(crate) const PLATFORM: Serves = Serves { route: true, group: true, platform: true };

/// Settings of registries in one namespace, without a catalog.
pub(crate) const NO_CATALOG: &[(&str, &str)] = &[
    ("REGISTRIES_NAMESPACE", NAMESPACE),
    ("ENABLE_MODEL_CATALOG", "false"),
    ("DEFAULT_DOMAIN", "example.com"),
];
/// Settings with a catalog.
pub(crate) const CATALOG: &[(&str, &str)] =
    &[("REGISTRIES_NAMESPACE", NAMESPACE), ("DEFAULT_DOMAIN", "example.com")];

fn system(variables: &[(&str, &str)]) -> Arc<ModelRegistryOperator> {
    Arc::new(ModelRegistryOperator::new(config(variables)))
}

/// The operator with these environment variables, in such a cluster.
pub(crate) fn play(serves: Serves, variables: &[(&str, &str)]) -> Play {
    Play {
        system: system(variables),
        home: "opendatahub",
        account: "model-registry-operator-controller-manager",
        subject: Subject { resource: ModelRegistry::api_resource(), namespace: Some(NAMESPACE), name: "reg" },
        namespaces: vec!["other"],
        optional: vec![
            (serves.route, crd::of::<Route>()),
            (serves.route, crd::of::<Ingress>()),
            (serves.group, crd::of::<Group>()),
            (serves.platform, crd::of::<Auth>()),
            (serves.platform, crd::of::<ModelRegistryComponent>()),
            (false, crd::of::<StorageVersionMigration>()),
            (false, in_tree_migrator()),
        ],
        children: vec![
            Deployment::api_resource(),
            Service::api_resource(),
            ServiceAccount::api_resource(),
            ConfigMap::api_resource(),
            Secret::api_resource(),
            PersistentVolumeClaim::api_resource(),
            Role::api_resource(),
            RoleBinding::api_resource(),
            ClusterRoleBinding::api_resource(),
            NetworkPolicy::api_resource(),
            Route::api_resource(),
            Group::api_resource(),
        ],
        others: vec![Ingress::api_resource(), Auth::api_resource(), ModelRegistryComponent::api_resource()],
        is_ours: |name| {
            let is_ours = name.ends_with("-auth-delegator") && !name.starts_with("system:");
            is_ours
                || name.ends_with("-users")
                || ["auth", "cluster", "default-modelregistry"].contains(&name)
        },
        look: rendering::look,
    }
}

/// A stage on which everything is about the registry `reg` in [`NAMESPACE`].
pub(crate) struct Stage(quintet_stage::Stage);

impl Deref for Stage {
    type Target = quintet_stage::Stage;

    fn deref(&self) -> &quintet_stage::Stage {
        &self.0
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut quintet_stage::Stage {
        &mut self.0
    }
}

impl Stage {
    pub(crate) async fn new(serves: Serves, variables: &[(&str, &str)]) -> Self {
        Stage(quintet_stage::Stage::new(play(serves, variables)).await)
    }

    /// Everything but the operator.
    pub(crate) async fn without_operator(serves: Serves, variables: &[(&str, &str)]) -> Self {
        Stage(quintet_stage::Stage::without_operator(play(serves, variables)).await)
    }

    /// Plain Kubernetes, where pods behave like this.
    pub(crate) async fn with_pods(script: Value) -> Self {
        let play = play(PLAIN, NO_CATALOG);
        let server = plane_with_pods(&play, script).await;
        Stage(quintet_stage::Stage::on(server, play).await)
    }

    /// Plain Kubernetes, registries alone.
    pub(crate) async fn plain() -> Self {
        Stage::new(PLAIN, NO_CATALOG).await
    }

    /// OpenShift, registries alone.
    pub(crate) async fn openshift() -> Self {
        Stage::new(OPENSHIFT, NO_CATALOG).await
    }

    /// Starts the operator with these settings, ending one that runs.
    pub(crate) async fn start_with(&mut self, variables: &[(&str, &str)]) {
        self.0.start_as(system(variables)).await;
    }

    pub(crate) async fn registry(&self) -> ModelRegistry {
        self.subject().await.expect("the registry").try_parse().expect("a ModelRegistry")
    }

    /// A server that is up: its Deployment is available since long enough, and its Service has an address.
    pub(crate) async fn up(&self) {
        match &self.server {
            Server::Plane(_) => {
                self.report::<Deployment>("reg", available("2025-12-31T23:00:00Z")).await;
                let subsets = json!([{ "addresses": [{ "ip": "10.0.0.1" }], "ports": [{ "port": 8080 }] }]);
                self.endpoints(subsets).await;
            }
            Server::Real(real) => {
                real.cluster.schedule_pods(true).await.expect("nodes");
                self.until("the server is up", async || {
                    let (_, reason, _) = self.condition("Available").await?;
                    let waits = ["DeploymentUnavailable", "DeploymentCooldown"].contains(&reason.as_str());
                    (!waits).then_some(())
                })
                .await;
                self.settle().await;
            }
        }
    }

    /// A server of which one pod is not available.
    pub(crate) async fn down(&self) {
        match &self.server {
            Server::Plane(_) => self.report::<Deployment>("reg", unavailable(1, "too few")).await,
            Server::Real(real) => {
                real.cluster.schedule_pods(false).await.expect("nodes");
                let pods = ListParams::default().labels("app=reg,pod-template-hash");
                let api = self.beside_api::<Pod>();
                api.delete_collection(&DeleteParams::default(), &pods).await.expect("they go");
                self.until("the server is down", async || {
                    let deployment = self.beside_api::<Deployment>().get("reg").await.ok()?;
                    (deployment.status?.unavailable_replicas == Some(1)).then_some(())
                })
                .await;
                self.settle().await;
            }
        }
    }

    /// Says which addresses the server's Service has.
    pub(crate) async fn endpoints(&self, subsets: Value) {
        let api = self.beside_api::<Endpoints>();
        if api.get_opt("reg").await.expect("an answer").is_some() {
            self.edit::<Endpoints>("reg", json!({ "subsets": subsets })).await;
        } else {
            let metadata =
                json!({ "name": "reg", "labels": { "app": "reg", "component": "model-registry" } });
            let object =
                json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets });
            self.put(object).await;
        }
    }

    /// A further pod of the server, with these containers and this status.
    pub(crate) async fn pod(&self, name: &str, containers: &[&str], status: Value) {
        let labels = json!({ "app": "reg", "component": "model-registry", "app.kubernetes.io/name": "reg" });
        let containers: Vec<Value> = containers.iter().map(|c| json!({ "name": c, "image": "i" })).collect();
        let pod =
            json!({ "metadata": { "name": name, "labels": labels }, "spec": { "containers": containers } });
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        let api = self.beside_api::<Pod>();
        api.create(&PostParams::default(), &pod).await.expect("it is accepted");
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(name, &PatchParams::default(), &patch).await.expect("it is accepted");
        self.settle().await;
    }

    /// The operator's objects, by kind and name.
    pub(crate) async fn children(&self) -> Objects {
        let everything = self.everything().await.into_iter().filter(|object| {
            object.labels().get("app.kubernetes.io/created-by").is_some()
                || object.owner_references().iter().any(|owner| owner.kind == "ModelRegistry")
        });
        everything.map(|object| json!(object)).map(|value| (id(&value), value)).collect()
    }

    /// How many reconciles of a controller have ended.
    pub(crate) fn passes(&self, controller: &str) -> u64 {
        let series = format!("controller_runtime_reconcile_total{{controller=\"{controller}\",");
        let metrics = self.metrics.encode();
        let counts = metrics.lines().filter_map(|line| line.strip_prefix(&series)?.rsplit_once(' '));
        counts.map(|(_, count)| count.parse::<u64>().expect("a count")).sum()
    }

    /// Reason and text of every event about registries and the catalog's sources.
    pub(crate) async fn events(&self) -> Vec<(String, String)> {
        self.events_about(&["ModelRegistry", "ConfigMap"]).await
    }
}

/// Kubernetes' own API of the migrator, as far as a request goes: it names no version.
pub(crate) fn in_tree_migrator() -> CustomResourceDefinition {
    let mut definition = json!(crd::of::<StorageVersionMigration>());
    definition["metadata"]["name"] = json!("storageversionmigrations.storagemigration.k8s.io");
    definition["spec"]["group"] = json!("storagemigration.k8s.io");
    let version = &mut definition["spec"]["versions"][0];
    version["name"] = json!("v1beta1");
    let resource = "/schema/openAPIV3Schema/properties/spec/properties/resource";
    let resource = version.pointer_mut(resource).expect("what is to be moved");
    resource["required"] = json!(["group", "resource"]);
    resource["properties"].as_object_mut().expect("its parts").remove("version");
    serde_json::from_value(definition).expect("a definition")
}

/// A ModelRegistry to be made.
pub(crate) fn registry(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "modelregistry.opendatahub.io/v1beta1", "kind": "ModelRegistry",
        "metadata": { "name": name }, "spec": spec })
}

/// The status of a Deployment that is available since then.
pub(crate) fn available(since: &str) -> Value {
    json!({ "replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "unavailableReplicas": null, "conditions": [
        { "type": "Available", "status": "True", "lastTransitionTime": since, "lastUpdateTime": since },
        { "type": "Progressing", "status": "True" },
    ] })
}

/// The status of a Deployment that lacks pods.
pub(crate) fn unavailable(replicas: i32, message: &str) -> Value {
    json!({ "unavailableReplicas": replicas, "conditions": [
        { "type": "Available", "status": "False", "message": message }, { "type": "Progressing", "status": "True" } ] })
}
