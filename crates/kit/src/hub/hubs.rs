//! The hubs of the process.

use super::drive::{ABSENCE, UNANNOUNCED};
use super::presence::Presence;
use super::{Hub, State};
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::queue::Backoff;
use crate::wiring::Select;
use kube::Client;
use parking_lot::RwLock;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Every hub of the process, made on first use; clones share them. Dropping the last clone ends the watches.
#[derive(Clone)]
pub struct Hubs(Arc<Inner>);

/// Hubs that are not kept alive by this.
#[derive(Clone, Debug)]
pub struct WeakHubs(Weak<Inner>);

struct Inner {
    client: Client,
    metrics: Metrics,
    kinds: RwLock<HashMap<TypeId, Vec<Entry>>>,
    presence: Arc<Presence>,
    absence: Backoff,
    started: watch::Sender<bool>,
    stop: CancellationToken,
}

struct Entry {
    select: Select,
    hub: Box<dyn Any + Send + Sync>,
}

/// What the caches know of an object.
pub(crate) enum Found<K> {
    /// No hub would show it.
    Unwatched,
    /// Not there.
    Missing {
        /// The newest version that the hub has seen.
        seen: u64,
        /// The cache would show any object of that name.
        complete: bool,
        /// The watch shows only what its selector matches.
        narrowed: bool,
    },
    /// There.
    Present(Arc<K>),
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hubs").field("kinds", &self.kinds.read().len()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Hubs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl WeakHubs {
    /// The hubs, if somebody still uses them.
    #[must_use]
    pub fn upgrade(&self) -> Option<Hubs> {
        self.0.upgrade().map(Hubs)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Hubs {
    /// Hubs on this client. Nothing is listed before [`Hubs::start`], so that every controller can be wired first and
    /// each kind is listed once.
    #[must_use]
    pub fn new(client: Client, metrics: Metrics) -> Self {
        let hubs = Self::with(client.clone(), metrics, ABSENCE);
        let (presence, mut on_start) = (hubs.0.presence.clone(), hubs.0.started.subscribe());
        tokio::spawn(hubs.0.stop.clone().run_until_cancelled_owned(async move {
            if on_start.wait_for(|started| *started).await.is_ok() {
                presence.drive(client).await;
            }
        }));
        hubs
    }

    /// The same for a process that may not watch the definitions of custom resources: a kind that is not served is
    /// looked for every few seconds instead of being heard of.
    #[must_use]
    pub fn unannounced(client: Client, metrics: Metrics) -> Self {
        Self::with(client, metrics, UNANNOUNCED)
    }

    fn with(client: Client, metrics: Metrics, absence: Backoff) -> Self {
        let (presence, started, stop) = (Arc::default(), watch::channel(false).0, CancellationToken::new());
        Hubs(Arc::new(Inner { client, metrics, kinds: RwLock::default(), presence, absence, started, stop }))
    }

    /// Begins to list and watch; hubs made later begin at once.
    pub fn start(&self) {
        self.0.started.send_replace(true);
    }

    /// The client that the hubs use.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// The hub of a kind and selection, made if this is its first use.
    #[must_use]
    pub fn of<K: Kind>(&self, select: &Select) -> Hub<K> {
        if let Some(hub) = self.existing::<K>().into_iter().find(|hub| hub.0.select == *select) {
            return hub;
        }
        let mut kinds = self.0.kinds.write();
        let entries = kinds.entry(TypeId::of::<K>()).or_default();
        if let Some(entry) = entries.iter().find(|entry| entry.select == *select)
            && let Some(hub) = entry.hub.downcast_ref::<Hub<K>>()
        {
            return hub.clone(); // made by another meanwhile
        }
        let metrics = self.0.metrics.cache(&K::gvk(), &select.to_string());
        let hub = Hub::<K>::new(self.0.client.clone(), select.clone(), metrics);
        entries.push(Entry { select: select.clone(), hub: Box::new(hub.clone()) });
        let (news, mut on_start) = (self.0.presence.of(&K::gvk()), self.0.started.subscribe());
        let (driven, absence) = (hub.clone(), self.0.absence);
        tokio::spawn(self.0.stop.clone().run_until_cancelled_owned(async move {
            if on_start.wait_for(|started| *started).await.is_ok() {
                driven.drive(news, absence).await;
            }
        }));
        hub
    }

    fn existing<K: Kind>(&self) -> Vec<Hub<K>> {
        let kinds = self.0.kinds.read();
        let entries = kinds.get(&TypeId::of::<K>()).into_iter().flatten();
        entries.filter_map(|entry| entry.hub.downcast_ref::<Hub<K>>().cloned()).collect()
    }

    /// The cached object of this name, from whichever hub of the kind has it.
    #[must_use]
    pub fn get<K: Kind>(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.existing::<K>().iter().find_map(|hub| hub.get(key))
    }

    /// Every cached object of the kind, each once, sorted by key.
    #[must_use]
    pub fn all<K: Kind>(&self) -> Vec<Arc<K>> {
        sorted(self.existing::<K>().iter().flat_map(Hub::list).collect())
    }

    /// Every cached object of the kind with this owner, each once, sorted by key.
    #[must_use]
    pub fn owned_by<K: Kind>(&self, uid: &str) -> Vec<Arc<K>> {
        sorted(self.existing::<K>().iter().flat_map(|hub| hub.owned_by(uid)).collect())
    }

    /// Every cached object of the kind with this value in a named index, each once, sorted by key.
    #[must_use]
    pub fn by<K: Kind>(&self, index: &str, value: &str) -> Vec<Arc<K>> {
        sorted(self.existing::<K>().iter().flat_map(|hub| hub.by(index, value)).collect())
    }

    /// True if the cluster serves the kind, as far as its hub knows; none if it is not watched or not known yet.
    #[must_use]
    pub fn serves<K: Kind>(&self) -> Option<bool> {
        let states = self.existing::<K>().into_iter().map(|hub| hub.state());
        states.filter(|state| state.is_settled()).map(|state| state == State::Ready).max()
    }

    /// The object of this name: from a cache, or with one request if no cache vouches for its absence.
    ///
    /// # Errors
    /// If the request fails.
    pub async fn fetch<K: Kind>(&self, key: &ObjectKey) -> kube::Result<Option<Arc<K>>> {
        if let Some(object) = self.get(key) {
            return Ok(Some(object));
        }
        let mut hubs = self.existing::<K>();
        hubs.sort_by_key(|hub| !(hub.0.select.is_whole() && hub.0.select.covers(key.namespace.as_deref())));
        match hubs.first() {
            Some(hub) => hub.fetch(key).await,
            None => Hub::<K>::request(&self.0.client, key).await,
        }
    }

    pub(crate) fn locate<K: Kind>(&self, key: &ObjectKey) -> Found<K> {
        let mut found = Found::Unwatched;
        for hub in self.existing::<K>() {
            if !hub.0.select.covers(key.namespace.as_deref()) || hub.state() == State::Syncing {
                continue;
            }
            let (object, seen) = {
                let store = hub.0.store.read();
                (store.get(key), store.seen())
            };
            if let Some(object) = object {
                return Found::Present(object);
            }
            let complete = hub.is_complete() || hub.state() != State::Ready; // not served: nothing there
            let narrowed = !hub.0.select.is_whole();
            if !narrowed || matches!(found, Found::Unwatched) {
                found = Found::Missing { seen, complete, narrowed };
            }
        }
        found
    }

    /// True if some hub watches the kind.
    pub(crate) fn watches<K: Kind>(&self) -> bool {
        self.0.kinds.read().contains_key(&TypeId::of::<K>())
    }

    /// The hubs, not kept alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakHubs {
        WeakHubs(Arc::downgrade(&self.0))
    }
}

/// Each object once, in a fixed order: what is computed from a list must not depend on a map's whim.
fn sorted<K: Kind>(mut objects: Vec<Arc<K>>) -> Vec<Arc<K>> {
    objects.sort_by_cached_key(|object| ObjectKey::of(&**object));
    objects.dedup_by_key(|object| ObjectKey::of(&**object));
    objects
}
