//! What a system watches, writes and serves, for people and for scripts: pure functions of its rows.

mod json;
mod markdown;
mod mermaid;

pub use json::{Document, Kind, WatchEntry, WriteEntry, documents};
pub use markdown::markdown;
pub use mermaid::mermaid;
