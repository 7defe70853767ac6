//! An API server in this process with the operator running on it. Time is Tokio's and paused: waiting costs nothing.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace},
        events::v1::Event,
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
    discovery::ApiResource,
};
use plane::{Plane, hooks::User, security::Security};
use quintet_api::{
    crd,
    foreign::{console::ConsoleLink, gateway::HTTPRoute, monitoring::ServiceMonitor},
    mlflow::MLflow,
};
use quintet_kit::{Clock, Fence, Kind, Manager, System, metrics::Metrics, rights::rights, run::Settings};
use quintet_mlflow::Mlflow;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Objects, config, id, shorten};

pub const NAMESPACE: &str = "opendatahub";

/// The optional APIs that a cluster serves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serves {
    pub console_link: bool,
    pub http_route: bool,
    pub service_monitor: bool,
}

pub const PLAIN: Serves = Serves { console_link: false, http_route: false, service_monitor: false };
pub const OPENSHIFT: Serves = Serves { console_link: true, http_route: true, service_monitor: true };

/// A server with the operator running on it.
pub struct Stage {
    pub plane: Plane,
    pub admin: Client,
    _operator: DropGuard,
}

impl Stage {
    /// Plain Kubernetes and the default settings.
    pub async fn plain() -> Self {
        Stage::new(PLAIN, &[]).await
    }

    pub async fn new(serves: Serves, variables: &[(&str, &str)]) -> Self {
        let plane = server(serves).await;
        let admin = plane.client();
        let operator = operator(plane.client_as(identity()), variables);
        let stage = Stage { plane, admin, _operator: operator };
        stage.settle().await;
        stage
    }

    /// Lets the operator come to rest.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(3)).await;
    }

    /// Makes the MLflow with this specification.
    pub async fn create(&self, spec: Value) -> MLflow {
        let created = self.try_create(spec).await.expect("it is accepted");
        self.settle().await;
        created
    }

    pub async fn try_create(&self, spec: Value) -> kube::Result<MLflow> {
        let object = json!({
            "apiVersion": "mlflow.opendatahub.io/v1", "kind": "MLflow", "metadata": { "name": "mlflow" }, "spec": spec,
        });
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let api: Api<DynamicObject> = Api::all_with(self.admin.clone(), &ApiResource::erase::<MLflow>(&()));
        let stored = api.create(&PostParams::default(), &object).await?;
        Ok(stored.try_parse().expect("an MLflow"))
    }

    /// Changes the specification; `null` takes a field away.
    pub async fn patch(&self, spec: Value) {
        let api: Api<MLflow> = Api::all(self.admin.clone());
        let patch = Patch::Merge(json!({ "spec": spec }));
        api.patch("mlflow", &PatchParams::default(), &patch).await.expect("it is accepted");
        self.settle().await;
    }

    pub async fn mlflow(&self) -> MLflow {
        Api::<MLflow>::all(self.admin.clone()).get("mlflow").await.expect("the MLflow")
    }

    pub async fn status(&self) -> Value {
        serde_json::to_value(self.mlflow().await.status).expect("a status")
    }

    /// Reason and message of a condition, with its status; none if there is no such condition.
    pub async fn condition(&self, type_: &str) -> Option<(String, String, String)> {
        let status = self.mlflow().await.status?;
        let condition = status.conditions.into_iter().find(|c| c.type_ == type_)?;
        Some((condition.status, condition.reason, condition.message))
    }

    /// An object beside the server, as it is stored.
    pub async fn get<K: Kind + kube::Resource<Scope = NamespaceResourceScope>>(
        &self,
        name: &str,
    ) -> Option<Value> {
        let api: Api<K> = Api::namespaced(self.admin.clone(), NAMESPACE);
        api.get_opt(name)
            .await
            .expect("an answer")
            .map(|object| serde_json::to_value(object).expect("an object"))
    }

    /// Makes an object beside the server.
    pub async fn put(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let types = object.types.clone().expect("a kind");
        let (group, version) = types.api_version.split_once('/').unwrap_or(("", &types.api_version));
        let kind = kube::core::GroupVersionKind::gvk(group, version, &types.kind);
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.admin.clone(), NAMESPACE, &ApiResource::from_gvk(&kind));
        api.create(&PostParams::default(), &object).await.expect("it is accepted");
        self.settle().await;
    }

    pub async fn delete<K: Kind + kube::Resource<Scope = NamespaceResourceScope>>(&self, name: &str) {
        let api: Api<K> = Api::namespaced(self.admin.clone(), NAMESPACE);
        api.delete(name, &DeleteParams::default()).await.expect("it goes");
        self.settle().await;
    }

    /// Edits an object beside the server by hand.
    pub async fn edit<K: Kind + kube::Resource<Scope = NamespaceResourceScope>>(
        &self,
        name: &str,
        patch: Value,
    ) {
        let api: Api<K> = Api::namespaced(self.admin.clone(), NAMESPACE);
        let params = PatchParams { field_manager: Some("kubectl-edit".into()), ..PatchParams::default() };
        api.patch(name, &params, &Patch::Merge(patch)).await.expect("it is accepted");
        self.settle().await;
    }

    /// Says how many pods of the server are ready, as the Deployment controller would.
    pub async fn ready(&self, ready: i32) {
        let api: Api<Deployment> = Api::namespaced(self.admin.clone(), NAMESPACE);
        let deployment = api.get("mlflow").await.expect("the Deployment");
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let status = json!({
            "observedGeneration": deployment.metadata.generation,
            "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": ready, "availableReplicas": ready,
        });
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status("mlflow", &PatchParams::default(), &patch).await.expect("it is accepted");
        self.settle().await;
    }

    /// Every object that an MLflow owns, without what the server fills in.
    pub async fn owned(&self) -> Objects {
        let mut found = Objects::new();
        for kind in child_kinds() {
            let api: Api<DynamicObject> = Api::all_with(self.admin.clone(), &kind);
            let Ok(list) = api.list(&ListParams::default()).await else { continue }; // not served
            for mut object in list {
                if !object.owner_references().iter().any(|owner| owner.kind == "MLflow") {
                    continue;
                }
                object.types = Some(kube::core::TypeMeta {
                    api_version: kind.api_version.clone(),
                    kind: kind.kind.clone(),
                });
                let mut value = serde_json::to_value(object).expect("an object");
                shorten(&mut value);
                found.insert(id(&value), value);
            }
        }
        found
    }

    /// The MLflow as it is stored.
    pub async fn dynamic(&self) -> DynamicObject {
        let api: Api<DynamicObject> = Api::all_with(self.admin.clone(), &ApiResource::erase::<MLflow>(&()));
        api.get("mlflow").await.expect("the MLflow")
    }

    /// Every stored object that the operator may look at.
    pub async fn everything(&self) -> Vec<DynamicObject> {
        let mut kinds = child_kinds();
        kinds.push(ApiResource::erase::<ConfigMap>(&()));
        kinds.push(ApiResource::erase::<CustomResourceDefinition>(&()));
        let mut found = vec![];
        for kind in kinds {
            let api: Api<DynamicObject> = Api::all_with(self.admin.clone(), &kind);
            let Ok(list) = api.list(&ListParams::default()).await else { continue }; // not served
            let types =
                kube::core::TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() };
            found.extend(
                list.into_iter().map(|object| DynamicObject { types: Some(types.clone()), ..object }),
            );
        }
        found
    }

    /// The writes since a mark, as `verb resource/name`, events aside.
    pub fn writes(&self, mark: u64) -> Vec<String> {
        let writes = self.plane.requests().writes(mark).into_iter().filter(|w| w.resource != "events");
        writes.map(|w| format!("{} {}/{}", w.verb, w.resource, w.name)).collect()
    }

    /// Reason and text of every event about the MLflow.
    pub async fn events(&self) -> Vec<(String, String)> {
        let events: Api<Event> = Api::namespaced(self.admin.clone(), "default");
        let list = events.list(&ListParams::default()).await.expect("events");
        list.into_iter().map(|e| (e.reason.unwrap_or_default(), e.note.unwrap_or_default())).collect()
    }
}

/// A server with the namespace, our definitions and those of the optional APIs.
pub async fn server(serves: Serves) -> Plane {
    let plane = Plane::builder().security(Security::enforced()).build();
    let admin = plane.client();
    let namespace: Namespace =
        serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } })).expect("a namespace");
    Api::all(admin.clone()).create(&PostParams::default(), &namespace).await.expect("it is accepted");
    for definition in quintet_api::mlflow::crds() {
        install(&admin, definition).await;
    }
    if serves.console_link {
        install(&admin, crd::of::<ConsoleLink>()).await;
    }
    if serves.http_route {
        install(&admin, crd::of::<HTTPRoute>()).await;
    }
    if serves.service_monitor {
        install(&admin, crd::of::<ServiceMonitor>()).await;
    }
    authorise(&admin).await;
    plane
}

pub async fn install(admin: &Client, mut definition: CustomResourceDefinition) {
    if definition.spec.group.ends_with(".k8s.io") {
        let annotations = definition.metadata.annotations.get_or_insert_default();
        annotations
            .insert("api-approved.kubernetes.io".into(), "unapproved, what this test needs of it".into());
    }
    let api: Api<CustomResourceDefinition> = Api::all(admin.clone());
    api.create(&PostParams::default(), &definition).await.expect("the definition is accepted");
}

/// Who the operator is.
pub fn identity() -> User {
    User::service_account(NAMESPACE, "mlflow-operator-controller-manager")
}

/// Gives the operator the rights that follow from its wiring, and no others.
async fn authorise(admin: &Client) {
    let rights = rights(&Mlflow::new(config(&[])).rows());
    let subjects = json!([{ "kind": "ServiceAccount", "name": "mlflow-operator-controller-manager", "namespace": NAMESPACE }]);
    let cluster = json!({ "metadata": { "name": "operator" }, "rules": rights.cluster });
    create::<ClusterRole>(Api::all(admin.clone()), cluster).await;
    let reference =
        |kind: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "operator" });
    let binding = json!({ "metadata": { "name": "operator" }, "roleRef": reference("ClusterRole"), "subjects": subjects });
    create::<ClusterRoleBinding>(Api::all(admin.clone()), binding).await;
    for (namespace, rules) in rights.namespaces {
        let role = json!({ "metadata": { "name": "operator" }, "rules": rules });
        create::<Role>(Api::namespaced(admin.clone(), &namespace), role).await;
        let binding =
            json!({ "metadata": { "name": "operator" }, "roleRef": reference("Role"), "subjects": subjects });
        create::<RoleBinding>(Api::namespaced(admin.clone(), &namespace), binding).await;
    }
}

async fn create<K: Kind>(api: Api<K>, object: Value) {
    let object: K = serde_json::from_value(object).expect("an object");
    api.create(&PostParams::default(), &object).await.expect("it is accepted");
}

/// Starts the operator on this client; it ends when the guard is dropped.
pub fn operator(client: Client, variables: &[(&str, &str)]) -> DropGuard {
    let stop = CancellationToken::new();
    let settings = Settings {
        clock: Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time")),
        ..Settings::default()
    };
    let manager = Manager::new(client, Metrics::new(), settings)
        .with(Arc::new(Mlflow::new(config(variables))), Fence::open());
    tokio::spawn(manager.run(stop.clone()));
    stop.drop_guard()
}

/// The kinds of all children.
pub fn child_kinds() -> Vec<ApiResource> {
    use k8s_openapi::api::{
        batch::v1::CronJob,
        core::v1::{PersistentVolumeClaim, Secret, Service, ServiceAccount},
        networking::v1::NetworkPolicy,
    };
    vec![
        ApiResource::erase::<Deployment>(&()),
        ApiResource::erase::<Service>(&()),
        ApiResource::erase::<ServiceAccount>(&()),
        ApiResource::erase::<ClusterRole>(&()),
        ApiResource::erase::<ClusterRoleBinding>(&()),
        ApiResource::erase::<NetworkPolicy>(&()),
        ApiResource::erase::<PersistentVolumeClaim>(&()),
        ApiResource::erase::<CronJob>(&()),
        ApiResource::erase::<Secret>(&()),
        ApiResource::erase::<ServiceMonitor>(&()),
        ApiResource::erase::<ConsoleLink>(&()),
        ApiResource::erase::<HTTPRoute>(&()),
    ]
}
