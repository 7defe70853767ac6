//! Models-as-a-Service's HTTP service: API keys, subscriptions, model listing.
//!
//! The gateway calls it on every inference request to validate the caller's key and to choose the subscription the
//! request runs under; users call it, through the gateway, to manage keys and to see what they may use. It trusts the
//! identity headers that the gateway sets and authenticates nobody itself.
//!
//! | where | what |
//! |---|---|
//! | [`routes`] | a file per family of endpoints |
//! | [`keys`] | what a key looks like, how long it lives, what can be done to it |
//! | [`store`] | where keys are kept: PostgreSQL, or SQLite in local mode |
//! | [`cache`] | what makes validation fit for every inference request |
//! | [`subscriptions`] | which subscription a request runs under: pure functions |
//! | [`models`] | which models a caller may use, by asking them |
//! | [`cluster`] | the little that is known of Kubernetes |
//! | [`server`] | dispatch, identity, limits, sockets, certificates |
//! | [`config`], [`cli`] | settings, and the program's life from start to stop |
//! | [`embed`] | the same inside another program: `quintet up` |

pub mod app;
pub mod cache;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod embed;
pub mod keys;
pub mod metrics;
pub mod models;
pub mod openapi;
mod reply;
mod request;
pub mod routes;
pub mod server;
pub mod store;
pub mod subscriptions;

pub use app::{App, Options};
pub use embed::Embedded;
