//! A Kubernetes API in one process, for local use and for tests.

pub mod apply;
pub mod builtin;
pub mod hooks;
pub mod patch;
pub mod resource;
pub mod schema;
pub mod status;
