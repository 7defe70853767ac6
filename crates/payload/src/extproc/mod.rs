//! The service Envoy calls: `envoy.service.ext_proc.v3.ExternalProcessor`.
//!
//! One gRPC stream is one HTTP request. [`Session`] is that request's state machine: messages in, messages out, no
//! socket. [`Service`] puts it on a stream, reads no further than it can answer, and keeps one request's trouble from
//! the others.
//!
//! | body mode | request | response |
//! |---|---|---|
//! | `FULL_DUPLEX_STREAMED` | held until complete, then headers and body are answered | passed on or translated as it comes; held only when a whole JSON answer has to be translated |
//! | `BUFFERED` | one message, one answer | one message, one answer |

mod limits;
mod request;
mod response;
mod service;
mod session;
pub mod wire;

pub use limits::{Buffer, Limits, Overflow};
pub use service::Service;
pub use session::{BodyMode, Session, Settings};
