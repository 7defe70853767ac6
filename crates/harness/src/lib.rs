//! Real servers for tests: a Kubernetes control plane, PostgreSQL, Envoy; and, in [`faults`], what can go wrong with any.
//!
//! Each module starts one kind of server on loopback and hands out what a test needs to talk to it. What they share is
//! here: where built tools are kept ([`cache_dir`]), processes and directories that end with the test run however it ends
//! ([`Process`], [`Scratch`]), free ports ([`free_port`]), and what happens where a tool is missing ([`or_skip`]).

mod cache;
pub mod envoy;
pub mod faults;
pub mod kube;
mod missing;
mod port;
pub mod postgres;
mod process;
mod scratch;
mod tools;

pub use cache::{cache_dir, workspace_dir};
pub use missing::{Error, Missing, or_skip};
pub use port::free_port;
pub use process::{Process, Stop};
pub use scratch::Scratch;
pub use tools::tool;
