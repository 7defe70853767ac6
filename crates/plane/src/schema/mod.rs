//! Structural schemas: one model for custom resources and built-in kinds, and what is done with it.
//!
//! | step of a write | function |
//! |---|---|
//! | unknown fields go | [`prune`] |
//! | `null`s that mean nothing go | [`drop_nulls`] |
//! | defaults come | [`default`] |
//! | the value is judged | [`validate`] (keywords, list types, then CEL rules) |
//! | a CRD itself is judged | [`crd::check`] |
//!
//! Everything here is a pure function of its arguments.

pub mod cel;
pub mod crd;
mod default;
mod error;
mod memo;
mod model;
mod prune;
mod validate;

pub use default::{default, drop_nulls};
pub use error::{go_float, go_number, join};
pub use model::{Additional, ListType, Node, Pattern, Schema, Strategy, Type};
pub use prune::prune;
pub use validate::{
    Findings, check_format, compile_pattern, go_duration, pattern_matches, validate, validate_at,
};

/// The schema of every object's `metadata`.
pub fn object_meta() -> &'static Schema {
    crate::builtin::object_meta()
}
