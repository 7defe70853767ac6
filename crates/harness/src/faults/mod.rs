//! Things that go wrong, on purpose and from a seed.
//!
//! An [`Edge`] stands between a client and its server. Through it a process can die right after a write, watches lag,
//! break and lose their place, requests fail, and somebody else writes first. [`explore`] runs a [`World`] (a server, an
//! operator, a story) with and without such faults: the end must be the same.
//!
//! Nothing here knows an operator or the plane: any system's tests can use it, on any server.

mod body;
mod edge;
pub mod explore;
mod request;
mod state;

pub use edge::{Chaos, Edge, Fault};
pub use explore::World;
pub use request::Asked;
pub use state::{normalise, objects};
