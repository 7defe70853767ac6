//! What every process of ours needs to serve: sockets, certificates that renew, and the question who may ask.
//!
//! | module | what is there |
//! |---|---|
//! | `listen` | a socket, plain or with TLS, that lets running requests end when told to stop |
//! | `patience` | how long a client may dribble, or not read |
//! | `tls` | certificates: from files that are followed, made at start, or replaced by whoever renews them |
//! | `access` | TokenReview, then SubjectAccessReview, as metrics ports in a cluster ask |

mod access;
mod listen;
mod patience;
mod tls;

pub use access::{Access, Reviewer};
pub use listen::{Listener, ServeError};
pub use tls::{Certificate, Tls, TlsError, TlsFiles, TlsSource, TlsVersion};
