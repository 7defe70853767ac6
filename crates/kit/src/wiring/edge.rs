//! The builder of a controller's wiring.

use super::rows::{ControllerRows, Edge, Grant, Origin, ReadRow, WatchRow, WriteRow};
use super::{Mapping, Predicate, Select};
use crate::desired::WritePolicy;
use crate::hub::{Concern, HubRef, Hubs, Index, Keep, Subscriber, Subscription, Then};
use crate::key::{Key, ObjectKey};
use crate::kind::Kind;
use crate::queue::Queue;
use k8s_openapi::api::rbac::v1::PolicyRule;
use std::fmt;
use std::sync::Arc;

/// What a controller is for, owns, watches, reads and writes. `Q` is the type of its keys.
pub struct Wiring<Q: Key> {
    rows: ControllerRows,
    wires: Vec<Box<dyn Wire<Q>>>,
    every: Vec<Every<Q>>,
}

/// Keys taken from what the caches hold.
type Every<Q> = Arc<dyn Fn(&Hubs) -> Vec<Q> + Send + Sync>;

/// One watch made to run: it finds its hub, and feeds a queue from it.
pub(crate) trait Wire<Q: Key>: Send + Sync {
    /// The hub, made if this is its first use.
    fn hub(&self, hubs: &Hubs) -> HubRef;
    /// Feeds the queue until the subscription is dropped.
    fn connect(&self, hubs: &Hubs, queue: &Queue<Q>) -> Subscription;
    /// True if the controller runs without the kind.
    fn optional(&self) -> bool;
}

/// A kind to be watched: which objects, which changes, and whether the cluster must serve it.
#[derive(Debug)]
pub struct Watch<K: Kind> {
    select: Select,
    predicate: Predicate<K>,
    optional: bool,
    when: String,
    keep: Keep,
    fetched: bool,
    indexes: Vec<Index<K>>,
}

impl<K: Kind> Clone for Watch<K> {
    fn clone(&self) -> Self {
        Watch {
            select: self.select.clone(),
            predicate: self.predicate.clone(),
            optional: self.optional,
            when: self.when.clone(),
            keep: self.keep,
            fetched: self.fetched,
            indexes: self.indexes.clone(),
        }
    }
}

impl<K: Kind> Watch<K> {
    /// Every object of the kind.
    #[must_use]
    pub fn all() -> Self {
        Watch::within(Select::all())
    }

    /// The selected objects of the kind.
    #[must_use]
    pub fn within(select: Select) -> Self {
        Watch {
            select,
            predicate: Predicate::default(),
            optional: false,
            when: String::new(),
            keep: Keep::Concerned,
            fetched: false,
            indexes: vec![],
        }
    }

    /// Only these changes lead to a reconcile.
    #[must_use]
    pub fn only(mut self, predicate: Predicate<K>) -> Self {
        self.predicate = predicate;
        self
    }

    /// The controller runs with or without this kind. When the API comes or goes, every key is reconciled.
    #[must_use]
    pub fn when_served(mut self) -> Self {
        self.optional = true;
        if self.when.is_empty() {
            self.when = "the API is served".into();
        }
        self
    }

    /// Says in the dataflow page under which condition the watch exists.
    #[must_use]
    pub fn when(mut self, condition: impl Into<String>) -> Self {
        self.when = condition.into();
        self
    }

    /// Keeps every selected object in the cache, not only those that concern a key: for kinds that are listed.
    #[must_use]
    pub fn keep_all(mut self) -> Self {
        self.keep = Keep::All;
        self
    }

    /// Objects are asked for by name ([`crate::Hub::fetch`]), which is a request where the watch does not show them, and
    /// needs a right of its own. Those of a kind that is written are anyway.
    #[must_use]
    pub fn fetched(mut self) -> Self {
        self.fetched = true;
        self
    }

    /// Finds objects by a value taken from them ([`crate::Hub::by`]).
    #[must_use]
    pub fn index(mut self, name: &'static str, values: fn(&K) -> Vec<String>) -> Self {
        self.indexes.push(Index { name, values });
        self
    }
}

impl<Q: Key> Wiring<Q> {
    /// The wiring of a controller that does nothing yet.
    pub fn new(controller: impl Into<String>) -> Self {
        let rows = ControllerRows { controller: controller.into(), ..ControllerRows::default() };
        Wiring { rows, wires: vec![], every: vec![] }
    }

    /// The kind it reconciles. All its objects are cached, and reconciled once an hour whatever happens.
    #[must_use]
    pub fn is_for<K: Kind>(mut self, watch: Watch<K>) -> Self
    where
        Q: From<ObjectKey>,
    {
        let select = watch.select.clone();
        self.every.push(Arc::new(move |hubs| {
            hubs.of::<K>(&select).list().iter().map(|object| ObjectKey::of(&**object).into()).collect()
        }));
        self.edge(Edge::For, watch.keep_all(), Mapping::itself())
    }

    /// A kind it makes, found again by the controller reference to an `O`.
    #[must_use]
    pub fn owns<O: Kind, K: Kind>(self, watch: Watch<K>) -> Self
    where
        Q: From<ObjectKey>,
    {
        self.edge(Edge::Owns, watch, Mapping::controller_of::<O>())
    }

    /// A kind it makes, found again in a way of its own.
    #[must_use]
    pub fn owns_by<K: Kind>(self, watch: Watch<K>, mapping: Mapping<K, Q>) -> Self {
        self.edge(Edge::Owns, watch, mapping)
    }

    /// A kind whose changes concern it.
    #[must_use]
    pub fn watches<K: Kind>(self, watch: Watch<K>, mapping: Mapping<K, Q>) -> Self {
        self.edge(Edge::Watches, watch, mapping)
    }

    fn edge<K: Kind>(mut self, edge: Edge, watch: Watch<K>, mapping: Mapping<K, Q>) -> Self {
        self.rows.watches.push(WatchRow {
            edge,
            kind: K::gvk(),
            controller: self.rows.controller.clone(),
            select: watch.select.clone(),
            metadata_only: K::metadata_api(),
            fetched: watch.fetched,
            optional: watch.optional,
            when: watch.when.clone(),
            predicate: watch.predicate.name().to_owned(),
            mapping: mapping.name().to_owned(),
        });
        self.wires.push(Box::new(TypedWire { watch, mapping }));
        self
    }

    /// Keys that are reconciled at the start, when an API comes or goes, and once an hour: for controllers whose keys
    /// are not, or not only, the objects they are for.
    #[must_use]
    pub fn starts_with(mut self, keys: impl Fn(&Hubs) -> Vec<Q> + Send + Sync + 'static) -> Self {
        self.every.push(Arc::new(keys));
        self
    }

    /// A read that no watch serves.
    #[must_use]
    pub fn reads(mut self, read: Read) -> Self {
        self.rows.reads.push(read.0);
        self
    }

    /// A kind it writes.
    #[must_use]
    pub fn writes(mut self, write: Write) -> Self {
        self.rows.writes.push(write.0);
        self
    }

    /// A right that it must hold because an object it writes gives it away.
    #[must_use]
    pub fn grants(mut self, rule: PolicyRule, namespace: Option<String>, because: impl Into<String>) -> Self {
        self.rows.grants.push(Grant { rule, namespace, because: because.into() });
        self
    }

    /// It records events.
    #[must_use]
    pub fn events(mut self) -> Self {
        self.rows.events = true;
        self
    }

    /// The controller's name.
    #[must_use]
    pub fn controller(&self) -> &str {
        &self.rows.controller
    }

    /// The wiring as plain data.
    #[must_use]
    pub fn rows(&self) -> &ControllerRows {
        &self.rows
    }

    pub(crate) fn wires(&self) -> &[Box<dyn Wire<Q>>] {
        &self.wires
    }

    /// Every key there is to reconcile now, by what the caches hold.
    #[must_use]
    pub fn every_key(&self, hubs: &Hubs) -> Vec<Q> {
        let mut keys: Vec<Q> = self.every.iter().flat_map(|every| every(hubs)).collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

impl<Q: Key> fmt::Debug for Wiring<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wiring").field("rows", &self.rows).finish_non_exhaustive()
    }
}

struct TypedWire<K: Kind, Q: Key> {
    watch: Watch<K>,
    mapping: Mapping<K, Q>,
}

impl<K: Kind, Q: Key> Wire<Q> for TypedWire<K, Q> {
    fn hub(&self, hubs: &Hubs) -> HubRef {
        hubs.of::<K>(&self.watch.select).as_ref()
    }

    fn connect(&self, hubs: &Hubs, queue: &Queue<Q>) -> Subscription {
        let hub = hubs.of::<K>(&self.watch.select);
        for index in &self.watch.indexes {
            hub.add_index(*index);
        }
        let (predicate, mapping) = (self.watch.predicate.clone(), self.mapping.clone());
        let (hubs, queue) = (hubs.downgrade(), queue.clone());
        let subscriber: Subscriber<K> = Box::new(move |change| {
            let hubs = hubs.upgrade()?;
            let mut keys = mapping.keys(&change.object, &hubs);
            let keep = !change.gone && !keys.is_empty();
            if let Some(before) = &change.before {
                keys.extend(mapping.keys(before, &hubs));
            }
            if keys.is_empty() {
                return None;
            }
            let queue = predicate.test(change).then(|| queue.clone());
            let then = queue
                .map(|queue| -> Then { Box::new(move || keys.into_iter().for_each(|key| queue.add(key))) });
            Some(Concern { keep, then })
        });
        hub.subscribe(self.watch.keep, subscriber)
    }

    fn optional(&self) -> bool {
        self.watch.optional
    }
}

/// A read that no watch serves.
#[derive(Clone, Debug)]
pub struct Read(ReadRow);

impl Read {
    /// Objects of the kind, by name.
    #[must_use]
    pub fn by_name<K: Kind>() -> Self {
        Read(ReadRow {
            kind: K::gvk(),
            subresource: String::new(),
            namespace: None,
            lists: false,
            names: vec![],
            when: String::new(),
        })
    }

    /// Objects of the kind, listed.
    #[must_use]
    pub fn listed<K: Kind>() -> Self {
        let mut read = Read::by_name::<K>();
        read.0.lists = true;
        read
    }

    /// Only these names: the rights then name them too.
    #[must_use]
    pub fn names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.0.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// A subresource, such as `log`.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.0.subresource = subresource.into();
        self
    }

    /// Only in this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.0.namespace = Some(namespace.into());
        self
    }

    /// Under this condition.
    #[must_use]
    pub fn when(mut self, condition: impl Into<String>) -> Self {
        self.0.when = condition.into();
        self
    }
}

/// A kind that is written.
#[derive(Clone, Debug)]
pub struct Write(WriteRow);

impl Write {
    /// Objects of the kind, by this policy.
    #[must_use]
    pub fn of<K: Kind>(policy: WritePolicy) -> Self {
        Write(WriteRow {
            kind: K::gvk(),
            subresource: String::new(),
            policy,
            origin: Origin::Controller,
            namespace: None,
            names: vec![],
            deletes: false,
            when: String::new(),
        })
    }

    /// The status of the kind.
    #[must_use]
    pub fn status<K: Kind>() -> Self {
        Write::of::<K>(WritePolicy::PatchForeign(vec!["status".into()])).subresource("status")
    }

    /// The finalizers of the kind.
    #[must_use]
    pub fn finalizers<K: Kind>() -> Self {
        Write::of::<K>(WritePolicy::PatchForeign(vec!["metadata.finalizers".into()]))
    }

    /// A subresource.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.0.subresource = subresource.into();
        self
    }

    /// Objects of the kind are deleted too.
    #[must_use]
    pub fn deletes(mut self) -> Self {
        self.0.deletes = true;
        self
    }

    /// Only in this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.0.namespace = Some(namespace.into());
        self
    }

    /// Only these names: the rights then name them too, but for creation, which cannot be limited by name.
    #[must_use]
    pub fn names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.0.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Under this condition.
    #[must_use]
    pub fn when(mut self, condition: impl Into<String>) -> Self {
        self.0.when = condition.into();
        self
    }

    /// Where the objects come from.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.0.origin = origin;
        self
    }
}
