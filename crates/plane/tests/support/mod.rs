//! What the conformance suite and the recorded truths share: the server they ask, and raw requests to it.

mod http_client;
mod server;

pub(crate) use http_client::{Answer, events, get, request, send};
pub(crate) use server::chosen;
