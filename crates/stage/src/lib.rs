//! Where operators play their scenarios: a server with an operator on it, under just the rights that follow from its
//! wiring, and what people and the cluster's own controllers do there.
//!
//! The server is a plane in this process, on which time is paused and costs nothing, or, with `QUINTET_SCENARIOS=real`, a
//! real control plane. The same scenarios run on both. A system brings a [`Play`]: itself, its definitions, what it
//! makes; and gets a [`Stage`].
//!
//! | file | what |
//! |---|---|
//! | [`play`] | what a system brings |
//! | [`server`] | the two kinds of server, and how one is prepared |
//! | [`stage`] | the operator on the server, and what scenarios do and see |
//! | [`rendering`] | what was applied against what `quintet render` gives |
//! | [`objects`] | objects as JSON: places in them, differences between them |
//! | [`original`] | the original operator beside ours |
//! | [`rights`] | which rights no scenario uses |
//! | [`story`] | the same play with things going wrong, and random walks |

pub mod objects;
pub mod original;
pub mod play;
pub mod rendering;
pub mod rights;
pub mod server;
pub mod stage;
pub mod story;

pub use play::{Play, Subject};
pub use server::Server;
pub use stage::Stage;
