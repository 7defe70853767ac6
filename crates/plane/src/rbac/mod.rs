//! Who may do what: roles, bindings, and the texts of refusals.
//!
//! [`Policy`] is an index over the RBAC objects, kept up to date as they change, so that a decision looks only at the
//! bindings of this user and these groups.

mod aggregation;
mod attributes;
mod bootstrap;
mod escalation;
mod policy;
mod review;
mod rule;

pub use aggregation::aggregated_rules;
pub use attributes::{Attributes, Target, forbidden_message};
pub use bootstrap::bootstrap_objects;
pub use escalation::{NotHeld, missing_rules};
pub use policy::{Decision, Policy, RoleRef};
pub use review::{AccessReview, ReviewError, rules_review_status};
pub use rule::Rule;

#[cfg(test)]
mod tests;
