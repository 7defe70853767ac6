//! A Kubernetes API in one process, for local use and for tests.

pub mod admission;
pub mod apply;
pub mod auth;
pub mod builtin;
pub mod conversion;
pub mod hooks;
mod label_selector;
pub mod patch;
pub mod protobuf;
pub mod rbac;
pub mod resource;
pub mod schema;
pub mod status;
pub mod webhook;
