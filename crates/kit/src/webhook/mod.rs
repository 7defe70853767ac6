//! Admission and conversion webhooks: handlers are pure functions on typed objects, and this is what lies between them and
//! the API server.
//!
//! | module | what is there |
//! |---|---|
//! | `handler` | what a handler is asked, and what it answers |
//! | `admission` | AdmissionReviews, `v1` and `v1beta1`: answered in the version they came in |
//! | `conversion` | ConversionReviews, likewise |
//! | `server` | all of them on one router |
//! | [`authority`] | a certificate authority of our own: when it renews, and what is trusted meanwhile |
//! | `publish` | tells the API server whom to trust |
//!
//! The same functions run inside a reconcile where no webhook is installed: they need no server.

mod admission;
pub mod authority;
mod conversion;
mod handler;
mod publish;
mod server;
#[cfg(test)]
mod tests;

pub use handler::{Allowed, Asked, Denied, Operation, Verdict};
pub use publish::Target;
pub use server::Webhooks;
