//! One watch, one cache and one fan-out per kind and selection, shared by every controller of the process.
//!
//! A [`Hub`] is in one of four states: the cluster does not serve the kind ([`State::Absent`]), the first list is under
//! way ([`State::Syncing`]), the cache is complete ([`State::Ready`]), or the kind was served and is no more
//! ([`State::Gone`]). A CustomResourceDefinition that is installed or removed later moves it on without a restart.
//!
//! What the cache holds is limited: managed fields are stripped, and an object that concerns no controller is dropped
//! before the store, so that memory does not grow with objects that are none of our business. [`Hub::fetch`] gets such
//! an object with one request when somebody asks for it by name after all, and keeps it up to date from then on.

mod carrier;
mod change;
mod drive;
mod hubs;
mod presence;
mod store;

pub use change::Change;
pub(crate) use hubs::Found;
pub use hubs::{Hubs, WeakHubs};
pub use store::Index;

use crate::error::is_not_found;
use crate::key::ObjectKey;
use crate::kind::{Gvk, Kind};
use crate::metrics::CacheMetrics;
use crate::wiring::Select;
use carrier::Carrier;
use kube::api::Api;
use kube::{Client, Resource};
use parking_lot::{Mutex, RwLock};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use store::{Pinned, Store};
use tokio::sync::{Notify, watch};

/// Where a hub stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The cluster does not serve the kind.
    Absent,
    /// The first list is under way, or being tried.
    Syncing,
    /// The cache is complete, and kept up to date.
    Ready,
    /// The cluster served the kind and does so no more; the cache is empty.
    Gone,
}

impl State {
    /// True if it is known whether the kind is served, and, if it is, all its objects.
    #[must_use]
    pub fn is_settled(self) -> bool {
        self != State::Syncing
    }
}

/// Which objects a hub keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Keep {
    /// Those that concern a key, and those asked for by name.
    Concerned,
    /// Every selected one.
    All,
}

/// What a subscriber makes of a change.
pub(crate) struct Concern {
    /// The object must be kept.
    pub(crate) keep: bool,
    /// To be done once the store has the change.
    pub(crate) then: Option<Then>,
}

pub(crate) type Then = Box<dyn FnOnce() + Send>;
pub(crate) type Subscriber<K> = Box<dyn Fn(&Change<K>) -> Option<Concern> + Send + Sync>;

/// One watch, one cache and one fan-out of a kind; clones share it.
pub struct Hub<K: Kind>(Arc<Inner<K>>);

impl<K: Kind> Clone for Hub<K> {
    fn clone(&self) -> Self {
        Hub(self.0.clone())
    }
}

impl<K: Kind> std::fmt::Debug for Hub<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hub({} {}: {:?}, {} objects)", K::gvk(), self.0.select, self.state(), self.len())
    }
}

struct Inner<K: Kind> {
    client: Client,
    select: Select,
    store: RwLock<Store<K>>,
    subscribers: RwLock<Subscribers<K>>,
    state: watch::Sender<State>,
    problem: Arc<Mutex<Option<String>>>,
    relist: Notify,
    metrics: CacheMetrics,
}

struct Subscribers<K> {
    keep: Keep,
    next: u64,
    all: Vec<(u64, Arc<Subscriber<K>>)>,
}

/// Ends when dropped.
pub(crate) struct Subscription(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

/// Somebody hears of every change until this is dropped; see [`Hub::follow`].
#[must_use]
pub struct Following {
    _subscription: Subscription,
}

impl std::fmt::Debug for Following {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Following")
    }
}

/// A hub whose type is forgotten: what a runner needs to wait for it.
#[derive(Clone, Debug)]
pub struct HubRef {
    /// The kind.
    pub kind: Gvk,
    /// What is watched of it.
    pub select: Select,
    state: watch::Receiver<State>,
    problem: Arc<Mutex<Option<String>>>,
}

impl HubRef {
    /// Where the hub stands.
    #[must_use]
    pub fn state(&self) -> State {
        *self.state.borrow()
    }

    /// The last error of its watch, if it does not come on.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }

    /// Moves with the state, and with a problem while there is nothing to show yet.
    pub(crate) fn states(&self) -> watch::Receiver<State> {
        self.state.clone()
    }
}

impl<K: Kind> Hub<K> {
    fn new(client: Client, select: Select, metrics: CacheMetrics) -> Self {
        Hub(Arc::new(Inner {
            client,
            select,
            store: RwLock::new(Store::default()),
            subscribers: RwLock::new(Subscribers { keep: Keep::Concerned, next: 0, all: vec![] }),
            state: watch::channel(State::Syncing).0,
            problem: Arc::default(),
            relist: Notify::new(),
            metrics,
        }))
    }

    /// Where the hub stands.
    #[must_use]
    pub fn state(&self) -> State {
        *self.0.state.borrow()
    }

    /// Why the hub does not come on, if it does not: the last error of its watch.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.0.problem.lock().clone()
    }

    /// Waits until the state is this.
    pub async fn reached(&self, wanted: State) {
        // The sender lives as long as `self` does.
        let _ = self.0.state.subscribe().wait_for(|state| *state == wanted).await;
    }

    /// The handle that a runner waits by.
    #[must_use]
    pub fn as_ref(&self) -> HubRef {
        let (state, problem) = (self.0.state.subscribe(), self.0.problem.clone());
        HubRef { kind: K::gvk(), select: self.0.select.clone(), state, problem }
    }

    /// The cached object of this name.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.0.store.read().get(key)
    }

    /// Every cached object, in no particular order.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.0.store.read().list()
    }

    /// The cached objects of which the test is true.
    #[must_use]
    pub fn filter(&self, test: impl Fn(&K) -> bool) -> Vec<Arc<K>> {
        self.0.store.read().filter(test)
    }

    /// The cached objects with this owner.
    #[must_use]
    pub fn owned_by(&self, uid: &str) -> Vec<Arc<K>> {
        self.0.store.read().owned_by(uid)
    }

    /// The cached objects with this value in a named index; none if there is no such index.
    #[must_use]
    pub fn by(&self, index: &str, value: &str) -> Vec<Arc<K>> {
        self.0.store.read().by(index, value)
    }

    /// Adds an index, also over what is cached already.
    pub fn add_index(&self, index: Index<K>) {
        self.0.store.write().add_index(index);
    }

    /// How many objects are cached.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.store.read().len()
    }

    /// True if nothing is cached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object of this name, from the cache or, if the cache need not have it, with one request. What was asked for
    /// once is kept up to date by the watch, its absence too: asking again costs nothing.
    ///
    /// # Errors
    /// If the request fails.
    pub async fn fetch(&self, key: &ObjectKey) -> kube::Result<Option<Arc<K>>> {
        // Only a watch that would see any object of the name can vouch for what it does not show.
        let vouches = self.0.select.is_whole() && self.0.select.covers(key.namespace.as_deref());
        match self.state() {
            State::Absent | State::Gone => return Ok(None),
            State::Ready if vouches => {
                let complete = self.0.subscribers.read().keep == Keep::All;
                match self.0.store.write().pin(key, complete) {
                    Pinned::Known(object) => return Ok(object),
                    Pinned::Unknown => {}
                }
            }
            State::Ready | State::Syncing => {
                if let Some(object) = self.get(key) {
                    return Ok(Some(object));
                }
            }
        }
        let got = Self::request(&self.0.client, key).await?;
        let object = self.0.store.write().resolve(key, got);
        self.0.metrics.objects(self.len());
        Ok(object)
    }

    /// The object of this name, as the server has it.
    async fn request(client: &Client, key: &ObjectKey) -> kube::Result<Option<Arc<K>>> {
        let mut object = match Self::api(client, key.namespace.as_deref()).get(&key.name).await {
            Ok(got) => Some(got.into_object()?),
            Err(error) if is_not_found(&error) => None, // nor is it there if its kind is not served
            Err(error) => return Err(error),
        };
        object.iter_mut().for_each(slim);
        Ok(object.map(Arc::new))
    }

    fn api(client: &Client, namespace: Option<&str>) -> Api<Carrier<K>> {
        match namespace.filter(|_| K::is_namespaced()) {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &()),
            None => Api::all_with(client.clone(), &()),
        }
    }

    /// True if the cache would show any object of that name: nothing narrows the watch, and nothing is dropped.
    fn is_complete(&self) -> bool {
        self.0.select.is_whole() && self.0.subscribers.read().keep == Keep::All
    }

    /// For readers that are no controllers: from now on every selected object is kept, and `tell` hears of each change
    /// once the cache has it, until the answer is dropped. What is cached already is told first.
    #[must_use = "dropping it ends it"]
    pub fn follow(&self, tell: impl Fn(&Change<K>) + Send + Sync + 'static) -> Following {
        let tell = Arc::new(tell);
        let subscriber = move |change: &Change<K>| {
            let (tell, change) = (tell.clone(), change.clone());
            Some(Concern { keep: true, then: Some(Box::new(move || tell(&change))) })
        };
        Following { _subscription: self.subscribe(Keep::All, Box::new(subscriber)) }
    }

    /// Tells the subscriber of every change from now on, after all that is cached already.
    pub(crate) fn subscribe(&self, keep: Keep, subscriber: Subscriber<K>) -> Subscription {
        let subscriber = Arc::new(subscriber);
        let (id, complete) = {
            let mut subscribers = self.0.subscribers.write();
            let (id, complete) = (subscribers.next, subscribers.keep == Keep::All);
            subscribers.next += 1;
            subscribers.keep = subscribers.keep.max(keep);
            subscribers.all.push((id, subscriber.clone()));
            (id, complete)
        };
        for object in self.list() {
            let change = Change { object, before: None, gone: false };
            if let Some(then) = ask(&subscriber, &change).and_then(|concern| concern.then) {
                then();
            }
        }
        if self.state() == State::Ready && !complete {
            self.0.relist.notify_one(); // what concerns only the newcomer was dropped
        }
        let inner = Arc::downgrade(&self.0);
        Subscription(Some(Box::new(move || {
            if let Some(inner) = inner.upgrade() {
                inner.subscribers.write().all.retain(|(other, _)| *other != id);
            }
        })))
    }

    /// An object as the server has it now.
    fn applied(&self, mut object: K) {
        slim(&mut object);
        let key = ObjectKey::of(&object);
        let before = self.0.store.write().look(&key);
        if let Some(before) = &before {
            if before.meta().resource_version == object.meta().resource_version {
                return;
            }
            if before.meta().uid != object.meta().uid {
                self.gone(before.clone()); // a namesake took its place while we were not looking
            }
        }
        let before = before.filter(|before| before.meta().uid == object.meta().uid);
        let change = Change { object: Arc::new(object), before, gone: false };
        let (keep_all, concerns) = self.ask(&change);
        {
            let mut store = self.0.store.write();
            if keep_all || concerns.iter().any(|concern| concern.keep) || store.is_pinned(&key) {
                store.set(key, change.object.clone());
            } else {
                store.remove(&key);
            }
            self.0.metrics.objects(store.len());
        }
        concerns.into_iter().filter_map(|concern| concern.then).for_each(|then| then());
    }

    /// An object is no more; this was its last state.
    fn gone(&self, object: Arc<K>) {
        let key = ObjectKey::of(&*object);
        let before = {
            let mut store = self.0.store.write();
            store.saw(object.meta().resource_version.as_deref());
            store.get(&key)
        };
        let change = Change { object, before, gone: true };
        let (_, concerns) = self.ask(&change);
        {
            let mut store = self.0.store.write();
            store.remove(&key);
            self.0.metrics.objects(store.len());
        }
        concerns.into_iter().filter_map(|concern| concern.then).for_each(|then| then());
    }

    fn ask(&self, change: &Change<K>) -> (bool, Vec<Concern>) {
        let subscribers = self.0.subscribers.read();
        let concerns = subscribers.all.iter().filter_map(|(_, subscriber)| ask(subscriber, change)).collect();
        (subscribers.keep == Keep::All, concerns)
    }

    /// Everything was listed: what was not among it is no more.
    fn relisted(&self) {
        let vanished = self.0.store.write().end_relist();
        vanished.into_iter().for_each(|object| self.gone(object));
    }
}

/// A mapping that panics is a bug of one controller, and must not end the watch that others share.
fn ask<K: Kind>(subscriber: &Subscriber<K>, change: &Change<K>) -> Option<Concern> {
    catch_unwind(AssertUnwindSafe(|| subscriber(change))).unwrap_or_else(|_| {
        tracing::error!(kind = %K::gvk(), object = %ObjectKey::of(&*change.object), "a mapping panicked");
        Some(Concern { keep: true, then: None })
    })
}

/// Removes what no reconcile reads and what makes up half of a typical object's metadata.
fn slim<K: Resource>(object: &mut K) {
    object.meta_mut().managed_fields = None;
    if let Some(annotations) = &mut object.meta_mut().annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}

/// A resourceVersion as a number: the server orders versions of a kind so. Zero if there is none.
pub(crate) fn version(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
