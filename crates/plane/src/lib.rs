//! A Kubernetes API in one process, for local use and for tests.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), kube::Error> {
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube::Api;
//!
//! let plane = plane::Plane::new();
//! let namespaces: Api<Namespace> = Api::all(plane.client());
//! assert!(namespaces.get_opt("kube-system").await?.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! A request passes `server` (path, content type, who and whether), a verb in `verbs`, for writes the steps in `write`,
//! and ends in the `store`. `life` is what goes on between requests.

mod addresses;
pub mod admission;
pub mod apply;
pub mod auth;
pub mod builtin;
pub mod clock;
pub mod conversion;
mod discovery;
pub mod faults;
pub mod hooks;
mod internal;
mod label_selector;
mod life;
pub mod listen;
mod openapi;
pub mod patch;
mod plane;
mod plugins;
pub mod protobuf;
pub mod rbac;
pub mod requests;
pub mod resource;
pub mod schema;
pub mod security;
pub mod selector;
mod server;
pub mod status;
pub mod store;
mod streams;
mod table;
pub mod validate;
mod verbs;
pub mod webhook;
pub mod workloads;
mod write;

pub use plane::{Builder, Plane};
pub use server::PlaneService;
