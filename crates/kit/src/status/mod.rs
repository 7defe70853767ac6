//! Status: computed by pure functions, written only when it differs.

mod condition;
mod difference;
mod writer;

pub use condition::{ConditionLike, Conditions, set_condition};
pub use difference::difference;
pub use writer::{StatusError, StatusWriter};
