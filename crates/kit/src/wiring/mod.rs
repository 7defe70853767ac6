//! What a controller is for, owns, watches, reads and writes: declared once, as data.
//!
//! From a [`Wiring`] come the running watches, the rights ([`crate::rights`]), the page and diagram
//! ([`crate::dataflow`]) and the metrics' labels. It is made without a cluster: predicates and mappings are functions
//! with a name, and get the caches only when they are called.

mod edge;
mod mapping;
mod predicate;
mod rows;
mod select;

pub use edge::{Read, Watch, Wiring, Write};
pub use mapping::Mapping;
pub use predicate::Predicate;
pub use rows::{
    ConfigRow, ControllerRows, Edge, EndpointRow, FailurePolicy, Grant, HookType, LeaseRow, Origin, ReadRow,
    ServiceRow, SystemRows, WatchRow, WebhookRow, WriteRow,
};
pub use select::Select;
