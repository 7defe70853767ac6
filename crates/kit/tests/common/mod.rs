//! What the tests share: a kind of our own, an API server in process, and a system made of closures.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::client::ClientBuilder;
use kube::{Client, CustomResource, CustomResourceExt, Resource, ResourceExt};
use parking_lot::Mutex;
use plane::Plane;
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Controller, Fatal, Observed, RenderError, Settings, Started};
use quintet_kit::wiring::SystemRows;
use quintet_kit::{
    Action, Clock, Context, Desired, Failure, Fence, FieldManager, Key, Manager, Reconcile, Retry, System,
    Wiring,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub const US: FieldManager = FieldManager::with_legacy("us", &["manager"]);

/// A kind of our own.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "kit.example",
    version = "v1",
    kind = "Garden",
    namespaced,
    status = "GardenStatus",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct GardenSpec {
    #[serde(default)]
    pub plants: i32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GardenStatus {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Set by users, not by the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wish: Option<String>,
}

/// An API server in process, and clients of it.
pub struct World {
    pub plane: Plane,
    pub client: Client,
}

impl World {
    pub fn new() -> Self {
        let plane = Plane::new();
        let client = plane.client();
        World { plane, client }
    }

    pub async fn with_garden() -> Self {
        let world = World::new();
        world.install_garden().await;
        world
    }

    pub async fn install_garden(&self) {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        crds.create(&PostParams::default(), &Garden::crd()).await.expect("the definition is accepted");
        let gardens: Api<Garden> = Api::default_namespaced(self.client.clone());
        for _ in 0..1000 {
            if gardens.list(&ListParams::default()).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the kind is not served");
    }

    pub async fn remove_garden(&self) {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        crds.delete(&Garden::crd().name_any(), &DeleteParams::default()).await.expect("the definition goes");
    }

    pub async fn garden(&self, name: &str) -> Garden {
        let gardens: Api<Garden> = Api::default_namespaced(self.client.clone());
        gardens
            .create(&PostParams::default(), &Garden::new(name, GardenSpec::default()))
            .await
            .expect("created")
    }

    pub fn gardens(&self) -> Api<Garden> {
        Api::default_namespaced(self.client.clone())
    }

    pub fn maps(&self) -> Api<ConfigMap> {
        Api::default_namespaced(self.client.clone())
    }

    pub fn context(&self) -> Context {
        Context::new(self.client.clone(), settings())
    }

    pub fn mark(&self) -> u64 {
        self.plane.requests().mark()
    }

    /// What was asked for since the mark, as `verb resource/name`.
    pub fn asked(&self, mark: u64) -> Vec<String> {
        let all = self.plane.requests().since(mark);
        all.iter().map(|r| format!("{} {}/{}", r.verb, r.resource, r.name)).collect()
    }

    /// What was written since the mark, as `verb resource/name`.
    pub fn written(&self, mark: u64) -> Vec<String> {
        let all = self.plane.requests().writes(mark);
        all.iter().map(|r| format!("{} {}/{}", r.verb, r.resource, r.name)).collect()
    }
}

pub fn settings() -> Settings {
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"));
    Settings { clock, instance: "test".into(), ..Settings::default() }
}

/// A ConfigMap in the default namespace, owned by the garden.
pub fn map_of(owner: &Garden, name: &str, data: &[(&str, &str)]) -> ConfigMap {
    let mut map = map(name, data);
    map.metadata.owner_references = owner.controller_owner_ref(&()).map(|reference| vec![reference]);
    map
}

pub fn map(name: &str, data: &[(&str, &str)]) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some("default".into()),
            ..ObjectMeta::default()
        },
        data: Some(data.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()),
        ..ConfigMap::default()
    }
}

/// Waits in virtual time until something is so.
pub async fn eventually(what: &str, mut test: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if test() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within 30 seconds: {what}");
}

/// Lets what is under way come to rest, in virtual time.
pub async fn settle() {
    tokio::time::sleep(Duration::from_millis(500)).await;
}

/// How a test's reconcile fails.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Broken {
    pub text: &'static str,
    pub retry: Retry,
}

impl Failure for Broken {
    fn reason(&self) -> &'static str {
        "Broken"
    }
    fn retry(&self) -> Retry {
        self.retry
    }
}

type Work<Q> = Arc<dyn Fn(Q) -> BoxFuture<'static, Result<Action, Broken>> + Send + Sync>;

/// A reconcile that notes its keys, then does what it is told.
pub struct Noting<Q> {
    pub seen: Seen<Q>,
    pub work: Work<Q>,
}

pub type Seen<Q> = Arc<Mutex<Vec<Q>>>;

impl<Q: Key> Noting<Q> {
    pub fn new(seen: &Seen<Q>) -> Self {
        Noting { seen: seen.clone(), work: Arc::new(|_| async { Ok(Action::Wait) }.boxed()) }
    }

    pub fn doing<F>(seen: &Seen<Q>, work: impl Fn(Q) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Action, Broken>> + Send + 'static,
    {
        Noting { seen: seen.clone(), work: Arc::new(move |key| work(key).boxed()) }
    }
}

impl<Q: Key> Reconcile for Noting<Q> {
    type Key = Q;
    type Error = Broken;

    async fn reconcile(&self, key: Q) -> Result<Action, Broken> {
        self.seen.lock().push(key.clone());
        (self.work)(key).await
    }
}

type Make = Box<dyn Fn(&Context) -> Result<Started, Fatal> + Send + Sync>;

/// A system made of a closure.
pub struct Probe {
    pub name: &'static str,
    pub make: Make,
}

impl Probe {
    pub fn made(
        name: &'static str,
        make: impl Fn(&Context) -> Result<Started, Fatal> + Send + Sync + 'static,
    ) -> Arc<dyn System> {
        Arc::new(Probe { name, make: Box::new(make) })
    }

    /// A system with one controller that notes its keys.
    pub fn noting<Q: Key>(
        name: &'static str,
        wiring: impl Fn() -> Wiring<Q> + Send + Sync + 'static,
        seen: &Seen<Q>,
    ) -> Arc<dyn System> {
        let seen = seen.clone();
        Probe::made(name, move |_| {
            Ok(Started::new().controller(Controller::new(wiring(), Noting::new(&seen))))
        })
    }
}

impl System for Probe {
    fn name(&self) -> &'static str {
        self.name
    }
    fn rows(&self) -> SystemRows {
        SystemRows::default()
    }
    fn crds(&self) -> Vec<CustomResourceDefinition> {
        vec![]
    }
    fn render(&self, object: &DynamicObject, _: &Observed) -> Result<Desired, RenderError> {
        Err(RenderError::NotOurs(object.name_any()))
    }
    fn start(&self, context: Context) -> BoxFuture<'_, Result<Started, Fatal>> {
        async move { (self.make)(&context) }.boxed()
    }
}

/// A manager at work.
pub struct Running {
    pub manager: Manager,
    pub stop: CancellationToken,
    pub task: JoinHandle<()>,
}

impl World {
    pub fn run(&self, systems: impl IntoIterator<Item = Arc<dyn System>>) -> Running {
        self.run_behind(Fence::open(), systems)
    }

    pub fn run_behind(&self, fence: Fence, systems: impl IntoIterator<Item = Arc<dyn System>>) -> Running {
        let metrics = Metrics::new();
        let client = ClientBuilder::new(self.plane.service(), "default").with_layer(&metrics.rest()).build();
        let manager = Manager::new(client, metrics, settings());
        let manager =
            systems.into_iter().fold(manager, |manager, system| manager.with(system, fence.clone()));
        let stop = CancellationToken::new();
        let task = tokio::spawn(manager.clone().run(stop.clone()));
        Running { manager, stop, task }
    }
}

impl Running {
    /// Tells it to stop and waits until it has.
    pub async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(Duration::from_secs(60), self.task)
            .await
            .expect("stops in time")
            .expect("no panic");
    }
}
