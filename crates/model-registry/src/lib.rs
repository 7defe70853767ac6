//! The model registry operator.
//!
//! Built so far: the beginning of the model catalog ([`catalog`]): its wiring, its account and the ConfigMaps that users
//! list their own sources in. The catalog's server and database, and `ModelRegistry` itself, are still to come; nothing
//! here is offered by the command line before they are.

pub mod catalog;
pub mod config;

pub use config::{Config, ConfigError};
