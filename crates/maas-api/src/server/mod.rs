//! The HTTP server: which path leads where, what every request goes through, sockets and certificates.

mod cors;
mod dispatch;
mod extract;
mod limit;

pub use dispatch::service;
pub use limit::RateLimit;
pub use quintet_kit::serve::{Listener, ServeError, Tls, TlsError, TlsFiles, TlsSource, TlsVersion};

pub(crate) use extract::{Body, ErrorBody, Identity, OpenAiErrorBody, text};
