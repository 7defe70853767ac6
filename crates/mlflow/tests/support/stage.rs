//! A server with the operator running on it, and what people and the cluster's own controllers do there.
//!
//! Whenever the operator has come to rest, what it wrote is compared with what `quintet render` gives for the same
//! resource and the same cluster: see [`super::rendering`].

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod, events::v1::Event};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
    discovery::ApiResource,
};
use quintet_api::mlflow::MLflow;
use quintet_harness::faults::{Asked, Edge};
use quintet_kit::{Clock, Fence, Kind, Manager, error::is_not_found, metrics::Metrics, run::Settings};
use quintet_mlflow::{Config, Mlflow};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Objects, config, rendering,
    server::{self, NAMESPACE, PLAIN, Server, Serves, install},
    stored, without_rules,
};

/// A kind that lives in a namespace.
pub trait Beside: Kind + kube::Resource<Scope = NamespaceResourceScope> {}
impl<K: Kind + kube::Resource<Scope = NamespaceResourceScope>> Beside for K {}

/// A server with the operator running on it.
pub struct Stage {
    // Dropped first: an operator that has ended writes nothing into the next test.
    _operator: DropGuard,
    pub edge: Edge,
    pub admin: Client,
    pub metrics: Metrics,
    config: Config,
    server: Server,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.edge.crash_after(0);
    }
}

impl Stage {
    /// Plain Kubernetes and the default settings.
    pub async fn plain() -> Self {
        Stage::new(PLAIN, &[]).await
    }

    pub async fn new(serves: Serves, variables: &[(&str, &str)]) -> Self {
        Stage::on(Server::new(serves).await, variables).await
    }

    /// On a server that was made to lack something.
    pub async fn on(server: Server, variables: &[(&str, &str)]) -> Self {
        let (edge, metrics, config) = (Edge::new(0), Metrics::new(), config(variables));
        let operator = operator(server.operator(&edge).await, config.clone(), metrics.clone());
        let stage = Stage { _operator: operator, edge, admin: server.admin(), metrics, config, server };
        stage.settle().await;
        stage
    }

    /// Lets the operator come to rest, and looks at what it did.
    pub async fn settle(&self) {
        match self.server {
            Server::Plane(_) => tokio::time::sleep(Duration::from_secs(3)).await,
            Server::Real { .. } => {
                let late = tokio::time::Instant::now() + Duration::from_secs(60);
                tokio::time::sleep(Duration::from_millis(300)).await;
                while self.edge.idle() < Duration::from_millis(1500) && tokio::time::Instant::now() < late {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        rendering::check(self, &self.config).await;
    }

    /// Gives the server what it was made to lack.
    pub async fn prepare(&self, serves: Serves) {
        server::prepare(&self.admin, serves).await;
    }

    /// Lets a long time pass, longer than the operator ever waits by itself.
    pub async fn rest(&self) {
        let long = if self.is_real() { 12 } else { 600 };
        tokio::time::sleep(Duration::from_secs(long)).await;
    }

    pub fn is_real(&self) -> bool {
        matches!(self.server, Server::Real { .. })
    }

    /// Waits until something is there.
    pub async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        let late = tokio::time::Instant::now() + Duration::from_secs(90);
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(tokio::time::Instant::now() < late, "not in time: {what}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Makes the MLflow with this specification.
    pub async fn create(&self, spec: Value) -> MLflow {
        let created = self.try_create(spec).await.expect("it is accepted");
        self.settle().await;
        created
    }

    /// Stores an MLflow that today's rules would refuse, as an older definition let it in.
    pub async fn create_before_the_rules(&self, spec: Value) {
        for definition in without_rules() {
            install(&self.admin, definition).await;
        }
        // The new rules need a moment on a real server.
        let mlflow =
            self.until("the rules are lifted", async || self.try_create(spec.clone()).await.ok()).await;
        for definition in quintet_api::mlflow::crds() {
            install(&self.admin, definition).await;
        }
        assert_eq!(mlflow.name_any(), "mlflow");
        self.settle().await;
    }

    pub async fn try_create(&self, spec: Value) -> kube::Result<MLflow> {
        let object = json!({
            "apiVersion": "mlflow.opendatahub.io/v1", "kind": "MLflow", "metadata": { "name": "mlflow" }, "spec": spec,
        });
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let stored = self.mlflows().create(&PostParams::default(), &object).await?;
        Ok(stored.try_parse().expect("an MLflow"))
    }

    /// Changes the specification; `null` takes a field away.
    pub async fn patch(&self, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.mlflows().patch("mlflow", &PatchParams::default(), &patch).await.expect("it is accepted");
        self.settle().await;
    }

    pub async fn delete_mlflow(&self) {
        self.mlflows().delete("mlflow", &DeleteParams::default()).await.expect("it goes");
    }

    /// The MLflow as it is stored.
    pub async fn dynamic(&self) -> Option<DynamicObject> {
        match self.mlflows().get("mlflow").await {
            Err(error) if is_not_found(&error) => None, // nor is it there if its kind is not served
            found => Some(found.expect("an answer")),
        }
    }

    pub async fn mlflow(&self) -> MLflow {
        self.dynamic().await.expect("the MLflow").try_parse().expect("an MLflow")
    }

    fn mlflows(&self) -> Api<DynamicObject> {
        Api::all_with(self.admin.clone(), &ApiResource::erase::<MLflow>(&()))
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

    fn beside<K: Beside>(&self) -> Api<K> {
        Api::namespaced(self.admin.clone(), NAMESPACE)
    }

    /// An object beside the server, as it is stored.
    pub async fn get<K: Beside>(&self, name: &str) -> Option<Value> {
        let found = self.beside::<K>().get_opt(name).await.expect("an answer");
        found.map(|object| {
            let mut value = serde_json::to_value(object).expect("an object");
            value["kind"] = K::kind(&()).into();
            value
        })
    }

    /// Makes an object beside the server.
    pub async fn put(&self, object: Value) {
        create(&self.admin, object).await;
        self.settle().await;
    }

    /// Makes a ConfigMap beside the server.
    pub async fn put_config_map(&self, name: &str) {
        self.put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })).await;
    }

    pub async fn delete<K: Beside>(&self, name: &str) {
        self.beside::<K>().delete(name, &DeleteParams::default()).await.expect("it goes");
        self.settle().await;
    }

    /// Edits an object beside the server by hand.
    pub async fn edit<K: Beside>(&self, name: &str, patch: Value) {
        let params = PatchParams { field_manager: Some("kubectl-edit".into()), ..PatchParams::default() };
        self.beside::<K>().patch(name, &params, &Patch::Merge(patch)).await.expect("it is accepted");
        self.settle().await;
    }

    /// Replaces an object beside the server by a changed one, again where somebody else was quicker.
    pub async fn replace<K: Beside>(&self, name: &str, change: impl Fn(&mut K)) {
        let api = self.beside::<K>();
        self.until("the change is accepted", async || {
            let mut object = api.get(name).await.expect("an object");
            change(&mut object);
            api.replace(name, &PostParams::default(), &object).await.ok()
        })
        .await;
        self.settle().await;
    }

    /// Says what a controller of the cluster found out about an object beside the server.
    pub async fn report<K: Beside>(&self, name: &str, status: Value) {
        let patch = Patch::Merge(json!({ "status": status }));
        self.beside::<K>().patch_status(name, &PatchParams::default(), &patch).await.expect("it is accepted");
        self.settle().await;
    }

    /// Makes all (or with 0, none) of the server's pods ready.
    pub async fn ready(&self, ready: i32) {
        let deployment = self.beside::<Deployment>().get("mlflow").await.expect("the Deployment");
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        assert!(ready == 0 || ready == replicas, "a real cluster cannot be told to do that");
        match &self.server {
            Server::Plane(_) => {
                // As the Deployment controller would say it.
                let status = json!({
                    "observedGeneration": deployment.metadata.generation,
                    "replicas": replicas, "updatedReplicas": replicas,
                    "readyReplicas": ready, "availableReplicas": ready,
                });
                self.report::<Deployment>("mlflow", status).await;
            }
            Server::Real { cluster, .. } => {
                cluster.schedule_pods(ready > 0).await.expect("nodes");
                if ready == 0 {
                    let pods = ListParams::default().labels("app=mlflow");
                    self.beside::<Pod>()
                        .delete_collection(&DeleteParams::default(), &pods)
                        .await
                        .expect("they go");
                }
                self.until("as many pods are ready", async || {
                    let status = self.beside::<Deployment>().get("mlflow").await.ok()?.status?;
                    let updated = status.updated_replicas.unwrap_or(0) == replicas;
                    (updated && status.ready_replicas.unwrap_or(0) == ready).then_some(())
                })
                .await;
                self.settle().await;
            }
        }
    }

    /// Something, once no pod uses the claim.
    pub async fn pods_without(&self, claim: &str) -> Option<()> {
        let pods = self.beside::<Pod>().list(&ListParams::default()).await.expect("pods");
        let volumes =
            pods.iter().flat_map(|pod| pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()));
        let mut claims = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
        (!claims.any(|used| used.claim_name == claim)).then_some(())
    }

    /// The API refuses every write of a kind.
    pub fn refuse_writes(&self, resource: &'static str) {
        let like = move |asked: &Asked| asked.is_write() && asked.resource == resource;
        self.edge.refuse(like, StatusCode::UNPROCESSABLE_ENTITY, "no");
    }

    /// The API fails when this object is read.
    pub fn fail_reads(&self, resource: &'static str, name: &'static str) {
        let like = move |asked: &Asked| !asked.is_write() && asked.resource == resource && asked.name == name;
        self.edge.refuse(like, StatusCode::INTERNAL_SERVER_ERROR, "not today");
    }

    /// Every object that an MLflow owns, without what the server or its controllers fill in.
    pub async fn owned(&self) -> Objects {
        stored::owned(&self.admin).await
    }

    /// Every stored object that the operator may look at.
    pub async fn everything(&self) -> Vec<DynamicObject> {
        stored::everything(&self.admin).await
    }

    /// How many writes the operator has made so far, events aside: a mark to look back to.
    pub fn mark(&self) -> usize {
        self.edge.writes()
    }

    /// The operator's writes since a mark, as `verb resource/name`.
    pub fn writes(&self, mark: usize) -> Vec<String> {
        self.edge.written(mark).iter().map(Asked::to_string).collect()
    }

    /// How many reconciles ended like this: `success`, `requeue_after`, `error`.
    pub fn reconciles(&self, result: &str) -> u64 {
        let series =
            format!("controller_runtime_reconcile_total{{controller=\"mlflow\",result=\"{result}\"}} ");
        let text = self.metrics.encode();
        let line = text.lines().find_map(|line| line.strip_prefix(&series));
        line.unwrap_or_else(|| panic!("{text}")).parse().expect("a number")
    }

    /// Reason and text of every event about the MLflow.
    pub async fn events(&self) -> Vec<(String, String)> {
        let events: Api<Event> = Api::namespaced(self.admin.clone(), "default");
        let list = events.list(&ListParams::default()).await.expect("events");
        let about = list.into_iter().filter(|event| {
            event.regarding.as_ref().is_some_and(|object| object.kind.as_deref() == Some("MLflow"))
        });
        let mut said: Vec<(String, String)> =
            about.map(|e| (e.reason.unwrap_or_default(), e.note.unwrap_or_default())).collect();
        said.sort();
        said
    }
}

/// Starts the operator on this client; it ends when the guard is dropped.
pub fn operator(client: Client, config: Config, metrics: Metrics) -> DropGuard {
    let stop = CancellationToken::new();
    let settings = Settings {
        clock: Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time")),
        ..Settings::default()
    };
    let manager = Manager::new(client, metrics, settings).with(Arc::new(Mlflow::new(config)), Fence::open());
    tokio::spawn(manager.run(stop.clone()));
    stop.drop_guard()
}

/// Makes an object, in the operator's namespace if it has one.
pub async fn create(admin: &Client, object: Value) {
    let object: DynamicObject = serde_json::from_value(object).expect("an object");
    let types = object.types.clone().expect("a kind");
    let (group, version) = types.api_version.split_once('/').unwrap_or(("", &types.api_version));
    let kind = ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(group, version, &types.kind));
    let api: Api<DynamicObject> = match types.kind.as_str() {
        "MLflow" => Api::all_with(admin.clone(), &kind),
        _ => Api::namespaced_with(admin.clone(), NAMESPACE, &kind),
    };
    api.create(&PostParams::default(), &object).await.expect("it is accepted");
}
