//! What a controller is made of.
//!
//! A system declares its [`wiring`] as data, computes its [`desired`] state with pure functions, and leaves the rest to
//! this crate: one watch and one cache per kind and process ([`hub`]), a keyed work [`queue`], writes that send nothing
//! when nothing differs ([`apply`]), [`status`] and [`event`]s, typed [`config`]uration, [`metrics`], the [`rights`],
//! the [`dataflow`] page and the [`install`] manifests that follow from the wiring, and the [`run`]ner that puts them
//! together. On a cluster a process also needs [`lease`]s, [`webhook`]s, [`logging`] and what it takes to [`serve`]: sockets,
//! certificates, who may ask. [`parts`] holds what children of several systems are built from.
//!
//! `docs/adding-a-system.md` walks through a small system from end to end.

pub mod apply;
pub mod clock;
pub mod config;
pub mod dataflow;
pub mod desired;
pub mod error;
pub mod event;
pub mod fence;
pub mod finalizer;
pub mod hub;
pub mod install;
pub mod key;
pub mod kind;
pub mod lease;
pub mod logging;
pub mod metrics;
pub mod parts;
pub mod queue;
pub mod rights;
pub mod run;
mod said;
#[cfg(test)]
mod script;
pub mod serve;
pub mod spelling;
pub mod status;
pub mod webhook;
pub mod wiring;

pub use apply::{Applier, FieldManager};
pub use clock::Clock;
pub use desired::{Adopt, Child, Desired, OnImmutable, WritePolicy};
pub use error::{Failure, Retry};
pub use event::{Events, Note};
pub use fence::Fence;
pub use hub::{Change, Hub, Hubs};
pub use key::{Key, ObjectKey, Singleton};
pub use kind::{Gvk, Kind, Meta};
pub use queue::Action;
pub use run::{Context, Manager, Reconcile, System};
pub use said::Said;
pub use wiring::{Mapping, Predicate, Read, Select, Watch, Wiring, Write};
