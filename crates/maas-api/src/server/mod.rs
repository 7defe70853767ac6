//! The HTTP server: which path leads where, what every request goes through, sockets and certificates.

mod cors;
mod dispatch;
mod extract;
mod limit;
mod listen;
mod patience;
mod tls;

pub use dispatch::service;
pub use limit::RateLimit;
pub use listen::{Listener, ServeError};
pub use tls::{TlsError, TlsFiles, TlsSource, TlsVersion};

pub(crate) use extract::{Body, ErrorBody, Identity, OpenAiErrorBody, text};
