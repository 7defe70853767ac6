//! Server-sent events, read as they come: any cut into chunks gives the same result.

mod events;
mod lines;

pub use events::{Event, Events};
pub use lines::{Line, Lines};

/// Longest line, or event, that is held back waiting for its end.
pub const MAX_EVENT: usize = 8 * 1024 * 1024;

#[cfg(test)]
mod tests;
