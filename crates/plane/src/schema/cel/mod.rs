//! CEL rules (`x-kubernetes-validations`): compiled with the CRD, judged with every write.
//!
//! | file | does |
//! |---|---|
//! | `rule` | one rule, read from a schema |
//! | `parse`, `types`, `signatures`, `analyse`, `cost` | syntax, types and worst-case cost: what a CRD may have |
//! | `crd` | the judgement on a CRD's rules |
//! | `value`, `eval`, `functions` | evaluation, metered |
//! | `judge` | the judgement on an object |
//! | `expression`, `authz` | expressions of admission, which speak of requests and rights |
//!
//! The grammar and its macros come from the `cel` crate. Types, cost and evaluation are ours: the crate has no type
//! checker and no cost model, and both decide what the real server answers.

mod analyse;
mod authz;
mod cost;
mod crd;
mod escape;
mod eval;
mod expression;
mod functions;
mod judge;
mod parse;
mod rule;
mod signatures;
mod types;
mod value;

pub use authz::{Authorizer, Question};
pub use crd::check;
pub use expression::{Expression, Names, Scope, Unanswered, Wanted};
pub use judge::validate;
pub use rule::Rules;

#[cfg(test)]
mod tests;
