//! What should exist, and what should not: the outcome of a pure function.

mod child;
mod list;
mod policy;

pub use child::Child;
pub(crate) use child::{Live, LiveObject};
pub(crate) use list::PruneTarget;
pub use list::{Desired, Guard, Prune};
pub use policy::{Adopt, OnImmutable, WritePolicy};
