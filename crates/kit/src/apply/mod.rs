//! Brings the cluster to the desired state, each child by its own write policy, and sends nothing when nothing differs.
//!
//! What was sent is remembered by a hash of the intent, and what the server made of it by a fingerprint: a hash of the
//! server's values at the places the intent speaks of. So defaults and normalised quantities are no difference, other
//! managers' fields are none of our business, and drift is seen without asking. After a restart nothing is remembered:
//! each child is sent once, and the server finds it equal.

mod adoption;
mod applier;
mod error;
mod exclusive;
mod fingerprint;
mod foreign;
mod legacy;
mod memory;
mod path;
mod request;
mod sight;
mod work;

pub use applier::{Applier, Outcome, Report};
pub use error::ApplyError;
pub use legacy::FieldManager;

#[cfg(test)]
mod tests;
