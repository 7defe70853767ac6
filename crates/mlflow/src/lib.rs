//! The MLflow operator: one cluster-scoped `MLflow` becomes a tracking server with its storage, rights, network rules,
//! garbage collection, metrics and its place in the platform's gateway and console.
//!
//! | where | what |
//! |---|---|
//! | [`config`] | settings: the original's environment variables |
//! | [`mlflow`] | the controller of `MLflow`: what it watches ([`mlflow::wiring`]), reads, wants and reports |
//! | [`system`] | the system as the command line knows it |
//!
//! `MLflowConfig` is installed by this system, but read by the MLflow server alone.

pub mod config;
pub mod install;
pub mod mlflow;
pub mod system;

pub use config::{Config, ConfigError};
pub use mlflow::{
    desired::{RenderError, desired},
    read::{Apis, GcObjects, Inputs},
};
pub use system::Mlflow;
