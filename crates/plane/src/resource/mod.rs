//! Which resources the plane serves: the built-in table, and what CustomResourceDefinitions add.

mod names;

pub use names::{GroupVersionKind, Names};
