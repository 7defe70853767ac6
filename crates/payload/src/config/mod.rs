//! Configuration: command line flags, environment, plugins.

mod flags;
mod plugin_spec;

pub use flags::{FlagError, Flags};
pub use plugin_spec::{PluginSpec, SpecError};
