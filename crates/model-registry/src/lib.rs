//! The model registry operator: a `ModelRegistry` becomes a REST server on a database of the user's, or on one that the
//! operator runs, with a proxy that lets authorised callers through; and beside all registries there is one model catalog.
//!
//! | where | what |
//! |---|---|
//! | [`config`] | settings: the original's environment variables |
//! | [`registry`] | the controller of `ModelRegistry` |
//! | [`catalog`] | the controller of the model catalog, which has no resource of its own |
//! | [`webhook`] | defaulting, validation and conversion, as pure functions |
//! | [`migration`] | moves stored registries to the storage version |
//! | `parts` | what registries and the catalog are both built from |
//! | `install` | the names of the original's manifests, and its rights beside ours |
//! | [`system`] | the system as the command line knows it |

mod apis;
pub mod catalog;
pub mod config;
mod existing;
mod install;
pub mod migration;
mod parts;
pub mod registry;
pub mod system;
mod takeover;
pub mod webhook;

use quintet_kit::FieldManager;

pub use apis::Apis;
pub use config::{Config, ConfigError};
pub use existing::Existing;
pub use install::{INSTALLED, WEBHOOK_MOUNT};
pub use system::ModelRegistryOperator;

/// The original writes as `manager`, the name of its program: what it set and we drop goes away.
const MANAGER: FieldManager = FieldManager::with_legacy("model-registry-operator", &["manager"]);
