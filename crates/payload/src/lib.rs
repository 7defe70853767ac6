//! Request and response processing between a gateway and model providers.
//!
//! A request runs through a chain of plugins ([`chain`], [`plugins`]): the model's name becomes a header, the path is
//! resolved to an ExternalModel, the body is translated to the provider's API ([`providers`]) and the provider's key is
//! added. The way back translates answers, whole or event by event ([`sse`]). All of that is plain data in, plain data
//! out.
//!
//! Around it: the service that Envoy calls ([`extproc`]), the watches that fill the stores ([`watch`]), the process
//! ([`server`], [`cli`]).
//!
//! What a key may never do is written where keys are handled: it goes into one header of one request, and is printed by
//! nothing.

pub mod chain;
pub mod cli;
pub mod config;
pub mod exchange;
pub mod extproc;
pub mod failure;
pub mod headers;
pub mod json;
pub mod logging;
pub mod metrics;
pub mod plugins;
pub mod providers;
pub mod rows;
pub mod server;
pub mod sse;
pub mod stores;
pub mod tls;
pub mod traces;
pub mod watch;
