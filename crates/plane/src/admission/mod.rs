//! Admission by others: webhooks and validating policies.
//!
//! [`Webhooks`] runs the chain: mutating webhooks one after another (and once more where a later one changed the
//! object), then, after validation, the policies and the validating webhooks side by side.

mod condition;
mod configuration;
mod dispatch;
mod matching;
mod policy;
mod review;
mod rights;

pub use configuration::{Hook, Phase};
pub use dispatch::{Surroundings, Webhooks};

#[cfg(test)]
mod tests;
