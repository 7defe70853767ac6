//! The built-in kinds: what their objects look like, what is filled in, what is refused.
//!
//! `schemas.json` is a table of facts (types, enums, list types, merge keys, defaults) taken from a 1.36 server's
//! published OpenAPI documents by `hack/builtin-schemas.py`. It is one source for pruning, server-side apply,
//! strategic merge and the OpenAPI documents the plane publishes itself; the JsonSchema of `k8s-openapi` lacks the
//! list types, merge keys and enums, so a second table would have been needed beside it, and the two kept in step.

mod defaults;
pub mod names;
mod normal;
mod prepare;
pub mod quantity;
mod table;
mod validate;
mod walk;
mod warnings;

pub use defaults::default;
pub use normal::{normalize, texts_for_nulls};
pub use prepare::prepare_create;
pub use table::{definitions, object_meta, schema};
pub use validate::{validate, validate_create, validate_update};
pub use warnings::warnings;
