//! A server with the operator running on it, and what people and the cluster's own controllers do there.
//!
//! Whenever the operator has come to rest, [`Play::look`](crate::Play) looks at what it did.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::StreamExt;
use http::StatusCode;
use k8s_openapi::{
    api::events::v1::Event, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    core::{GroupVersionKind, NamespaceResourceScope, TypeMeta},
    discovery::{self, Scope},
};
use quintet_harness::faults::{Asked, Edge};
use quintet_kit::{
    Clock, Fence, Kind, Manager, System, error::is_not_found, metrics::Metrics, run::Settings,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    Play, Server,
    objects::{Objects, id},
    rights, server,
};

/// A kind that lives in a namespace.
pub trait Beside: Kind + kube::Resource<Scope = NamespaceResourceScope> {}
impl<K: Kind + kube::Resource<Scope = NamespaceResourceScope>> Beside for K {}

/// A server with the operator running on it.
pub struct Stage {
    // Dropped first: an operator that has ended writes nothing into the next test.
    operator: Option<DropGuard>,
    /// The way between the operator and the server.
    pub edge: Edge,
    /// A client with every right.
    pub admin: Client,
    /// The operator's metrics.
    pub metrics: Metrics,
    /// What is played.
    pub play: Play,
    /// The server.
    pub server: Server,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.edge.crash_after(0);
        rights::note_asked(&self.server, &self.play);
    }
}

impl Stage {
    /// A new server with the operator on it.
    pub async fn new(play: Play) -> Self {
        let mut stage = Stage::without_operator(play).await;
        stage.start().await;
        stage
    }

    /// Everything but the operator.
    pub async fn without_operator(play: Play) -> Self {
        let server = Server::new(&play).await;
        Stage::beside(server, play)
    }

    /// The operator on a server that was made to lack something.
    pub async fn on(server: Server, play: Play) -> Self {
        let mut stage = Stage::beside(server, play);
        stage.start().await;
        stage
    }

    fn beside(server: Server, play: Play) -> Self {
        let (edge, metrics, admin) = (Edge::new(0), Metrics::new(), server.admin());
        Stage { operator: None, edge, admin, metrics, play, server }
    }

    /// Starts the operator, ending one that runs.
    pub async fn start(&mut self) {
        self.operator = None;
        self.metrics = Metrics::new();
        let client = self.server.operator(&self.play, &self.edge).await;
        let clock = match self.server {
            Server::Plane(_) => still(),
            Server::Real(_) => Clock::system(),
        };
        self.operator = Some(run(client, self.play.system.clone(), self.metrics.clone(), clock));
        self.settle().await;
    }

    /// Ends the operator.
    pub fn stop(&mut self) {
        self.operator = None;
    }

    /// Starts the operator with other settings, as a new install would.
    pub async fn start_as(&mut self, system: Arc<dyn System>) {
        self.operator = None;
        self.play.system = system;
        server::authorise(&self.admin, &*self.play.system, self.play.holder()).await;
        self.start().await;
    }

    /// Lets the operator come to rest, and looks at what it did.
    pub async fn settle(&self) {
        match self.server {
            Server::Plane(_) => tokio::time::sleep(Duration::from_secs(4)).await,
            Server::Real(_) => {
                let late = Instant::now() + Duration::from_secs(60);
                tokio::time::sleep(Duration::from_millis(300)).await;
                while self.edge.idle() < Duration::from_millis(1500) && Instant::now() < late {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        if self.operator.is_some() {
            (self.play.look)(self).await;
        }
        rights::note_given(&self.server, &self.play).await;
    }

    /// Lets a long time pass, longer than the operator ever waits by itself.
    pub async fn rest(&self) {
        let long = if self.is_real() { 12 } else { 600 };
        tokio::time::sleep(Duration::from_secs(long)).await;
    }

    /// True on a real control plane, whose own controllers are at work, too.
    pub fn is_real(&self) -> bool {
        matches!(self.server, Server::Real(_))
    }

    /// Waits until something is there.
    ///
    /// # Panics
    /// If it is not there in time.
    pub async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        let late = Instant::now() + Duration::from_secs(90);
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(Instant::now() < late, "not in time: {what}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The API of a kind, in the place where the operator makes its objects.
    pub fn api<K: Kind>(&self) -> Api<DynamicObject> {
        match K::is_namespaced() {
            true => Api::namespaced_with(self.admin.clone(), self.play.place(), &K::api_resource()),
            false => Api::all_with(self.admin.clone(), &K::api_resource()),
        }
    }

    /// The same, typed.
    pub fn beside_api<K: Beside>(&self) -> Api<K> {
        Api::namespaced(self.admin.clone(), self.play.place())
    }

    fn subjects(&self) -> Api<DynamicObject> {
        let subject = &self.play.subject;
        match subject.namespace {
            Some(namespace) => Api::namespaced_with(self.admin.clone(), namespace, &subject.resource),
            None => Api::all_with(self.admin.clone(), &subject.resource),
        }
    }

    /// The subject, to be made.
    pub fn with_spec(&self, spec: Value) -> Value {
        let subject = &self.play.subject;
        json!({ "apiVersion": subject.resource.api_version, "kind": subject.resource.kind,
            "metadata": { "name": subject.name }, "spec": spec })
    }

    /// Makes the subject with this specification.
    pub async fn create(&self, spec: Value) -> DynamicObject {
        let created = self.try_create(spec).await.expect("it is accepted");
        self.settle().await;
        created
    }

    /// Tries to.
    ///
    /// # Errors
    /// If the server refuses it.
    pub async fn try_create(&self, spec: Value) -> kube::Result<DynamicObject> {
        let object: DynamicObject = serde_json::from_value(self.with_spec(spec)).expect("an object");
        self.subjects().create(&PostParams::default(), &object).await
    }

    /// Changes the subject's specification; `null` takes a field away.
    pub async fn patch(&self, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let name = self.play.subject.name;
        self.subjects().patch(name, &PatchParams::default(), &patch).await.expect("it is accepted");
        self.settle().await;
    }

    /// Asks for the deletion of the subject, and waits for nothing.
    pub async fn delete_subject(&self) {
        let name = self.play.subject.name;
        self.subjects().delete(name, &DeleteParams::default()).await.expect("it goes");
    }

    /// The subject as it is stored.
    pub async fn subject(&self) -> Option<DynamicObject> {
        match self.subjects().get(self.play.subject.name).await {
            Err(error) if is_not_found(&error) => None, // nor is it there if its kind is not served
            found => Some(found.expect("an answer")),
        }
    }

    /// The subject's status.
    pub async fn status(&self) -> Value {
        self.subject().await.expect("the subject").data["status"].clone()
    }

    /// Status, reason and message of a condition of the subject; none if there is no such condition.
    pub async fn condition(&self, type_: &str) -> Option<(String, String, String)> {
        condition(&self.subject().await.expect("the subject"), type_)
    }

    /// Looks at every state of the subject from now on, those that pass at once included.
    pub async fn states(&self) -> States {
        let (api, seen) = (self.subjects(), States::default());
        let version = self.subject().await.and_then(|object| object.resource_version()).unwrap_or_default();
        let events = api.watch(&WatchParams::default(), &version).await.expect("a watch");
        let sink = seen.0.clone();
        let watched = events.for_each(move |event| {
            if let Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) = event {
                sink.lock().expect("nobody panics with it").push(object);
            }
            std::future::ready(())
        });
        tokio::spawn(watched);
        seen
    }

    /// An object, as it is stored.
    pub async fn get<K: Kind>(&self, name: &str) -> Option<Value> {
        let found = self.api::<K>().get_opt(name).await.expect("an answer");
        found.map(|object| serde_json::to_value(object).expect("an object"))
    }

    /// Makes an object, where it says or beside the operator's, and lets the operator see it.
    pub async fn put(&self, object: Value) {
        self.try_put(object).await.expect("it is accepted");
        self.settle().await;
    }

    /// Makes an object of any kind that the server knows.
    ///
    /// # Errors
    /// If the server refuses it.
    pub async fn try_put(&self, object: Value) -> kube::Result<DynamicObject> {
        create(&self.admin, self.play.place(), object).await
    }

    /// Makes a ConfigMap.
    pub async fn put_config_map(&self, name: &str) {
        self.put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })).await;
    }

    /// Deletes an object.
    pub async fn delete<K: Kind>(&self, name: &str) {
        self.api::<K>().delete(name, &DeleteParams::default()).await.expect("it goes");
        self.settle().await;
    }

    /// Edits an object by hand.
    pub async fn edit<K: Kind>(&self, name: &str, patch: Value) {
        let params = PatchParams { field_manager: Some("kubectl-edit".into()), ..PatchParams::default() };
        self.api::<K>().patch(name, &params, &Patch::Merge(patch)).await.expect("it is accepted");
        self.settle().await;
    }

    /// Replaces an object by a changed one, again where somebody else was quicker.
    pub async fn replace<K: Beside>(&self, name: &str, change: impl Fn(&mut K)) {
        let api = self.beside_api::<K>();
        self.until("the change is accepted", async || {
            let mut object = api.get(name).await.expect("an object");
            change(&mut object);
            api.replace(name, &PostParams::default(), &object).await.ok()
        })
        .await;
        self.settle().await;
    }

    /// Says what a controller of the cluster found out about an object.
    pub async fn report<K: Kind>(&self, name: &str, status: Value) {
        let patch = Patch::Merge(json!({ "status": status }));
        self.api::<K>().patch_status(name, &PatchParams::default(), &patch).await.expect("it is accepted");
        self.settle().await;
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

    /// Every stored object of the kinds that the play is about, and the definitions.
    pub async fn everything(&self) -> Vec<DynamicObject> {
        everything(&self.admin, &self.play).await
    }

    /// Every object that a resource of the subject's kind owns, without what the server or its controllers fill in.
    pub async fn owned(&self) -> Objects {
        owned(&self.admin, &self.play).await
    }

    /// How many writes the operator has made so far, events aside: a mark to look back to.
    pub fn mark(&self) -> usize {
        self.edge.writes()
    }

    /// The operator's writes since a mark, as `verb resource/name`.
    pub fn writes(&self, mark: usize) -> Vec<String> {
        self.edge.written(mark).iter().map(Asked::to_string).collect()
    }

    /// Nothing is written for a long time.
    ///
    /// # Panics
    /// If something is.
    pub async fn assert_at_rest(&self) {
        let mark = self.mark();
        self.rest().await;
        assert_eq!(self.writes(mark), Vec::<String>::new(), "at rest nothing is written");
    }

    /// Reason and text of every event about objects of these kinds, sorted.
    pub async fn events_about(&self, kinds: &[&str]) -> Vec<(String, String)> {
        let events: Api<Event> = Api::all(self.admin.clone());
        let list = events.list(&ListParams::default()).await.expect("events");
        let about = list.into_iter().filter(|event| {
            let kind = event.regarding.as_ref().and_then(|object| object.kind.as_deref());
            kind.is_some_and(|kind| kinds.contains(&kind))
        });
        let mut said: Vec<(String, String)> =
            about.map(|e| (e.reason.unwrap_or_default(), e.note.unwrap_or_default())).collect();
        said.sort();
        said
    }
}

/// The states that a subject had.
#[derive(Clone, Debug, Default)]
pub struct States(Arc<Mutex<Vec<DynamicObject>>>);

impl States {
    /// True if one was like this.
    pub fn any(&self, like: impl Fn(&DynamicObject) -> bool) -> bool {
        self.0.lock().expect("nobody panics with it").iter().any(like)
    }

    /// Something, once a condition was like this.
    pub fn said(&self, type_: &str, like: &Option<(String, String, String)>) -> Option<()> {
        self.any(|state| condition(state, type_) == *like).then_some(())
    }
}

/// Status, reason and message of a condition of an object; none if there is no such condition.
pub fn condition(object: &DynamicObject, type_: &str) -> Option<(String, String, String)> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    let condition = conditions.iter().find(|condition| condition["type"] == type_)?;
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    Some((text("status"), text("reason"), text("message")))
}

/// The clock of an operator whose time is Tokio's.
fn still() -> Clock {
    Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"))
}

/// Runs a system on this client; it ends when the guard is dropped.
fn run(client: Client, system: Arc<dyn System>, metrics: Metrics, clock: Clock) -> DropGuard {
    let stop = CancellationToken::new();
    let settings = Settings { clock, ..Settings::default() };
    let manager = Manager::new(client, metrics, settings).with(system, Fence::open());
    tokio::spawn(manager.run(stop.clone()));
    stop.drop_guard()
}

/// Runs a system whose time is Tokio's on this client; it ends when the guard is dropped.
pub fn operator(client: Client, system: Arc<dyn System>) -> DropGuard {
    run(client, system, Metrics::new(), still())
}

/// Makes an object of any kind that the server knows, in this namespace unless it says otherwise.
///
/// # Errors
/// If the server refuses it.
pub async fn create(admin: &Client, namespace: &str, object: Value) -> kube::Result<DynamicObject> {
    let object: DynamicObject = serde_json::from_value(object).expect("an object");
    let kind = GroupVersionKind::try_from(object.types.as_ref().expect("a kind")).expect("a kind");
    let (resource, capabilities) = discovery::pinned_kind(admin, &kind).await?;
    let namespace = object.namespace().unwrap_or_else(|| namespace.to_owned());
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Namespaced => Api::namespaced_with(admin.clone(), &namespace, &resource),
        Scope::Cluster => Api::all_with(admin.clone(), &resource),
    };
    api.create(&PostParams::default(), &object).await
}

/// Every stored object of the kinds that the play is about, and the definitions.
pub async fn everything(admin: &Client, play: &Play) -> Vec<DynamicObject> {
    let mut found = vec![];
    let definitions = CustomResourceDefinition::api_resource();
    for kind in play.children.iter().chain(&play.others).chain([&definitions]) {
        let api: Api<DynamicObject> = Api::all_with(admin.clone(), kind);
        let Ok(list) = api.list(&ListParams::default()).await else { continue }; // not served
        let types = TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() };
        found.extend(list.into_iter().map(|object| DynamicObject { types: Some(types.clone()), ..object }));
    }
    found
}

/// Every object that a resource of the subject's kind owns, without what the server or its controllers fill in.
pub async fn owned(admin: &Client, play: &Play) -> Objects {
    let mut found = Objects::new();
    for object in everything(admin, play).await {
        let owner = &play.subject.resource.kind;
        if !object.owner_references().iter().any(|reference| reference.kind == *owner) {
            continue;
        }
        let mut value = serde_json::to_value(object).expect("an object");
        value.as_object_mut().expect("an object").remove("status");
        let metadata = value["metadata"].as_object_mut().expect("metadata");
        ["managedFields", "resourceVersion"].iter().for_each(|field| drop(metadata.remove(*field)));
        found.insert(id(&value), value);
    }
    found
}
