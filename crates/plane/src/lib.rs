//! A Kubernetes API in one process, for local use and for tests.

pub mod hooks;
pub mod resource;
pub mod status;
