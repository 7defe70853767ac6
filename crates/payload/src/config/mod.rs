//! Configuration: command line flags and plugins.

mod plugin_spec;

pub use plugin_spec::{PluginSpec, SpecError};
