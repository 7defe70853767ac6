//! Enough of a Kubernetes client that a machine without kubectl can follow the README.

pub mod catalogue;
pub mod connect;
pub mod manifests;
pub mod raw;
