//! Puts it together: controllers that run when what they need is there, and systems that fail alone.

mod context;
mod controller;
mod health;
mod manager;
mod system;

pub use context::Context;
pub use controller::{Controller, Reconcile};
pub use health::{Health, Readiness};
pub use manager::{Manager, Settings};
pub use system::{Fatal, Observed, RenderError, Started, System};
