//! An API server in this process with the operator running on it, under just the rights that follow from its wiring.
//! Time is Tokio's and paused: waiting costs nothing.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{Endpoints, Namespace, Pod},
        events::v1::Event,
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
    discovery::ApiResource,
};
use plane::{Plane, hooks::User, security::Security};
use quintet_api::{
    crd,
    foreign::{
        openshift::{Group, Ingress, Route},
        platform::{Auth, ModelRegistryComponent},
    },
    model_registry::ModelRegistry,
};
use quintet_kit::{
    Clock, Fence, Kind, Manager, System,
    metrics::Metrics,
    rights::{Holder, rights},
    run::Settings,
};
use quintet_model_registry::ModelRegistryOperator;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Objects, config, id};

/// Where registries may be.
pub(crate) const NAMESPACE: &str = "mr";
/// Where the operator is.
const HOME: &str = "opendatahub";
const ACCOUNT: &str = "model-registry-operator-controller-manager";
const START: &str = "2026-01-01T00:00:00Z";

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

/// A server with the operator running on it.
pub(crate) struct Stage {
    pub(crate) plane: Plane,
    pub(crate) admin: Client,
    pub(crate) metrics: Metrics,
    operator: Option<DropGuard>,
}

impl Stage {
    pub(crate) async fn new(serves: Serves, variables: &[(&str, &str)]) -> Self {
        let mut stage = Stage::without_operator(serves, variables).await;
        stage.start(variables).await;
        stage
    }

    /// Everything but the operator.
    pub(crate) async fn without_operator(serves: Serves, variables: &[(&str, &str)]) -> Self {
        let plane = server(serves, variables).await;
        Stage { admin: plane.client(), plane, metrics: Metrics::new(), operator: None }
    }

    /// Starts the operator, ending one that runs.
    pub(crate) async fn start(&mut self, variables: &[(&str, &str)]) {
        self.operator = None;
        self.metrics = Metrics::new();
        self.operator = Some(operator(self.plane.client_as(identity()), variables, self.metrics.clone()));
        self.settle().await;
    }

    /// Lets the operator come to rest.
    pub(crate) async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(4)).await;
    }

    fn api(&self, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = match kind {
            "ModelRegistry" => ModelRegistry::api_resource(),
            "Endpoints" => Endpoints::api_resource(),
            _ => ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)),
        };
        match namespace {
            Some(namespace) => Api::namespaced_with(self.admin.clone(), namespace, &resource),
            None => Api::all_with(self.admin.clone(), &resource),
        }
    }

    /// Makes an object in the registries' namespace, or wherever it says, and lets the operator see it.
    pub(crate) async fn put(&self, object: Value) {
        self.try_put(object).await.expect("it is accepted");
        self.settle().await;
    }

    pub(crate) async fn try_put(&self, object: Value) -> kube::Result<DynamicObject> {
        let is_cluster =
            matches!(object["kind"].as_str(), Some("Auth" | "Ingress" | "Group" | "ClusterRoleBinding"))
                || object["apiVersion"] == "components.platform.opendatahub.io/v1alpha1";
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or(NAMESPACE).to_owned();
        let (version, kind) =
            (object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str().unwrap_or_default());
        let api = match object["apiVersion"].as_str() {
            Some("components.platform.opendatahub.io/v1alpha1") => {
                Api::all_with(self.admin.clone(), &ModelRegistryComponent::api_resource())
            }
            _ => self.api(version, kind, (!is_cluster).then_some(namespace.as_str())),
        };
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        api.create(&PostParams::default(), &object).await
    }

    /// Makes the registry `reg`.
    pub(crate) async fn create(&self, spec: Value) {
        self.put(registry("reg", spec)).await;
    }

    /// Changes the specification of `reg`; `null` takes a field away.
    pub(crate) async fn patch(&self, spec: Value) {
        self.edit::<ModelRegistry>("reg", json!({ "spec": spec })).await;
    }

    pub(crate) async fn registry(&self) -> ModelRegistry {
        Api::<ModelRegistry>::namespaced(self.admin.clone(), NAMESPACE)
            .get("reg")
            .await
            .expect("the registry")
    }

    pub(crate) async fn status(&self) -> Value {
        serde_json::to_value(self.registry().await.status).expect("a status")
    }

    /// Status, reason and message of a condition; none if there is no such condition.
    pub(crate) async fn condition(&self, type_: &str) -> Option<(String, String, String)> {
        let status = self.registry().await.status?;
        let condition = status.conditions.into_iter().find(|c| c.type_ == type_)?;
        Some((condition.status, condition.reason, condition.message))
    }

    fn typed<K: Kind>(&self) -> Api<DynamicObject> {
        match K::is_namespaced() {
            true => Api::namespaced_with(self.admin.clone(), NAMESPACE, &K::api_resource()),
            false => Api::all_with(self.admin.clone(), &K::api_resource()),
        }
    }

    /// An object, as it is stored.
    pub(crate) async fn get<K: Kind>(&self, name: &str) -> Option<Value> {
        let found = self.typed::<K>().get_opt(name).await.expect("an answer");
        found.map(|object| serde_json::to_value(object).expect("an object"))
    }

    pub(crate) async fn delete<K: Kind>(&self, name: &str) {
        self.typed::<K>().delete(name, &DeleteParams::default()).await.expect("it goes");
        self.settle().await;
    }

    /// Edits an object by hand.
    pub(crate) async fn edit<K: Kind>(&self, name: &str, patch: Value) {
        let params = PatchParams { field_manager: Some("kubectl-edit".into()), ..PatchParams::default() };
        self.typed::<K>().patch(name, &params, &Patch::Merge(patch)).await.expect("it is accepted");
        self.settle().await;
    }

    /// Says what the Deployment controller would: the server is available since this time, or not.
    pub(crate) async fn deployment_status(&self, name: &str, status: Value) {
        let api: Api<Deployment> = Api::namespaced(self.admin.clone(), NAMESPACE);
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(name, &PatchParams::default(), &patch).await.expect("it is accepted");
        self.settle().await;
    }

    /// A server that is up: its Deployment is available since long ago, and its Service has an address.
    pub(crate) async fn up(&self, name: &str) {
        self.deployment_status(name, available("2025-12-31T23:00:00Z")).await;
        self.endpoints(name, json!([{ "addresses": [{ "ip": "10.0.0.1" }], "ports": [{ "port": 8080 }] }]))
            .await;
    }

    pub(crate) async fn endpoints(&self, name: &str, subsets: Value) {
        let metadata = json!({ "name": name, "labels": { "app": name, "component": "model-registry" } });
        self.put(
            json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets }),
        )
        .await;
    }

    /// A pod of the server with these containers and this status.
    pub(crate) async fn pod(&self, name: &str, containers: &[&str], status: Value) {
        let labels = json!({ "app": "reg", "component": "model-registry", "app.kubernetes.io/name": "reg" });
        let containers: Vec<Value> = containers.iter().map(|c| json!({ "name": c, "image": "i" })).collect();
        let api: Api<Pod> = Api::namespaced(self.admin.clone(), NAMESPACE);
        let pod =
            json!({ "metadata": { "name": name, "labels": labels }, "spec": { "containers": containers } });
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        api.create(&PostParams::default(), &pod).await.expect("it is accepted");
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(name, &PatchParams::default(), &patch).await.expect("it is accepted");
        self.settle().await;
    }

    /// The operator's objects, by kind and name.
    pub(crate) async fn children(&self) -> Objects {
        let mut found = Objects::new();
        for kind in child_kinds() {
            let api: Api<DynamicObject> = Api::all_with(self.admin.clone(), &kind);
            let Ok(list) = api.list(&ListParams::default()).await else { continue }; // not served
            for object in list {
                let is_ours = object.labels().get("app.kubernetes.io/created-by").is_some()
                    || object.owner_references().iter().any(|owner| owner.kind == "ModelRegistry");
                if is_ours {
                    let mut value = serde_json::to_value(&object).expect("an object");
                    (value["apiVersion"], value["kind"]) = (json!(kind.api_version), json!(kind.kind));
                    found.insert(id(&value), value);
                }
            }
        }
        found
    }

    /// The writes since a mark, as `verb resource/name`, events aside.
    pub(crate) fn writes(&self, mark: u64) -> Vec<String> {
        let writes = self.plane.requests().writes(mark).into_iter().filter(|w| w.resource != "events");
        writes.map(|w| format!("{} {}/{}", w.verb, w.resource, w.name)).collect()
    }

    /// Nothing is written for five minutes.
    pub(crate) async fn assert_at_rest(&self) {
        let mark = self.plane.requests().mark();
        tokio::time::sleep(Duration::from_secs(300)).await;
        assert_eq!(self.writes(mark), Vec::<String>::new(), "at rest nothing is written");
    }

    /// Reason and text of every event.
    pub(crate) async fn events(&self) -> Vec<(String, String)> {
        let events: Api<Event> = Api::namespaced(self.admin.clone(), NAMESPACE);
        let list = events.list(&ListParams::default()).await.expect("events");
        list.into_iter().map(|e| (e.reason.unwrap_or_default(), e.note.unwrap_or_default())).collect()
    }
}

/// A ModelRegistry to be made.
pub(crate) fn registry(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "modelregistry.opendatahub.io/v1beta1", "kind": "ModelRegistry",
        "metadata": { "name": name }, "spec": spec })
}

/// The status of a Deployment that is available since then.
pub(crate) fn available(since: &str) -> Value {
    json!({ "replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "conditions": [
        { "type": "Available", "status": "True", "lastTransitionTime": since, "lastUpdateTime": since },
        { "type": "Progressing", "status": "True" },
    ] })
}

/// A server with namespaces, our definitions and those of the optional APIs.
pub(crate) async fn server(serves: Serves, variables: &[(&str, &str)]) -> Plane {
    let plane = Plane::builder().security(Security::enforced()).build();
    let admin = plane.client();
    for name in [NAMESPACE, HOME, "other"] {
        let namespace: Namespace =
            serde_json::from_value(json!({ "metadata": { "name": name } })).expect("a namespace");
        Api::all(admin.clone()).create(&PostParams::default(), &namespace).await.expect("it is accepted");
    }
    for definition in quintet_api::model_registry::crds() {
        install(&admin, definition).await;
    }
    if serves.route {
        install(&admin, crd::of::<Route>()).await;
        install(&admin, crd::of::<Ingress>()).await;
    }
    if serves.group {
        install(&admin, crd::of::<Group>()).await;
    }
    if serves.platform {
        install(&admin, crd::of::<Auth>()).await;
        install(&admin, crd::of::<ModelRegistryComponent>()).await;
    }
    authorise(&admin, variables).await;
    plane
}

pub(crate) async fn install(admin: &Client, mut definition: CustomResourceDefinition) {
    if definition.spec.group.ends_with(".k8s.io") {
        let annotations = definition.metadata.annotations.get_or_insert_default();
        annotations
            .insert("api-approved.kubernetes.io".into(), "unapproved, what this test needs of it".into());
    }
    let api: Api<CustomResourceDefinition> = Api::all(admin.clone());
    api.create(&PostParams::default(), &definition).await.expect("the definition is accepted");
}

/// Who the operator is.
pub(crate) fn identity() -> User {
    User::service_account(HOME, ACCOUNT)
}

/// Gives the operator the rights that follow from its wiring, and no others.
async fn authorise(admin: &Client, variables: &[(&str, &str)]) {
    let rows = ModelRegistryOperator::new(config(variables)).rows();
    let holder = Holder { namespace: HOME, account: ACCOUNT };
    let objects = rights(&rows).objects("operator", "operator", holder);
    if let Some((role, binding)) = objects.cluster {
        create::<ClusterRole>(Api::all(admin.clone()), role).await;
        create::<ClusterRoleBinding>(Api::all(admin.clone()), binding).await;
    }
    for (role, binding) in objects.namespaced {
        let place = role.namespace().expect("a namespace");
        create::<Role>(Api::namespaced(admin.clone(), &place), role).await;
        create::<RoleBinding>(Api::namespaced(admin.clone(), &place), binding).await;
    }
}

async fn create<K: Kind>(api: Api<K>, object: K) {
    api.create(&PostParams::default(), &object).await.expect("it is accepted");
}

/// Starts the operator on this client; it ends when the guard is dropped.
pub(crate) fn operator(client: Client, variables: &[(&str, &str)], metrics: Metrics) -> DropGuard {
    let stop = CancellationToken::new();
    let clock = Clock::starting_at(START.parse().expect("a time"));
    let settings = Settings { clock, ..Settings::default() };
    let system = Arc::new(ModelRegistryOperator::new(config(variables)));
    let manager = Manager::new(client, metrics, settings).with(system, Fence::open());
    tokio::spawn(manager.run(stop.clone()));
    stop.drop_guard()
}

/// The kinds of all children.
pub(crate) fn child_kinds() -> Vec<ApiResource> {
    use k8s_openapi::api::{
        core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
        networking::v1::NetworkPolicy,
    };
    vec![
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
    ]
}
