//! What makes validation fit for every inference request: answers kept for a short while, lookups in batches, times of
//! last use written in batches.

mod batch;
mod last_used;
mod validation;

pub use batch::{LookupError, Lookups};
pub use last_used::LastUsed;
pub use validation::{CacheLimits, CachedKey, Refusal, ValidationCache};
