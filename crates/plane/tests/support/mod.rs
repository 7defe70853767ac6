//! What the conformance suite and the recorded truths share: the server they ask, and raw requests to it.

mod case;
mod http_client;
mod server;

#[allow(unused_imports, reason = "each of the two targets uses a part")]
pub(crate) use case::Case;
#[allow(unused_imports, reason = "each of the two targets uses a part")]
pub(crate) use http_client::{Answer, events, get, request, send};
pub(crate) use server::chosen;
