//! Admission by others: webhooks and validating policies.
//!
//! [`Webhooks`] runs the chain: mutating webhooks one after another (and once more where a later one changed the
//! object), then, after validation, validating webhooks side by side and the policies.

mod condition;
mod configuration;
mod dispatch;
mod expression;
mod matching;
mod policy;
mod review;

pub use configuration::{Hook, Phase};
pub use dispatch::{Surroundings, Webhooks};

#[cfg(test)]
mod tests;
