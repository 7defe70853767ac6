//! API keys: what they look like, how long they live, and everything that can be done to them.

mod base62;
pub mod expiry;
pub mod format;

pub use expiry::{ExpiresIn, ExpiryError, Lifetime};
pub use format::{ApiKey, KeyHash};
