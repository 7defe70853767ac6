//! Label and field selectors.

mod field;
mod label;

pub use field::FieldSelector;
pub use label::{LabelSelector, Requirement};
