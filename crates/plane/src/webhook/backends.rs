//! Which Service stands for what.

use std::collections::HashMap;
use std::net::SocketAddr;

use axum::Router;
use parking_lot::RwLock;

/// What answers for a Service.
#[derive(Clone)]
pub enum Backend {
    /// A TLS server; its certificate must be for `<service>.<namespace>.svc`.
    Address(SocketAddr),
    /// A router in this process, called without sockets or TLS.
    InProcess(Router),
}

/// The table of Services. Shared and changeable while the plane runs.
#[derive(Default)]
pub struct Backends(RwLock<HashMap<(String, String), Backend>>);

impl Backends {
    /// Lets `backend` answer for a Service, on whatever port it is called.
    pub fn insert(&self, namespace: impl Into<String>, name: impl Into<String>, backend: Backend) {
        self.0.write().insert((namespace.into(), name.into()), backend);
    }

    /// Nothing answers for the Service any more.
    pub fn remove(&self, namespace: &str, name: &str) {
        self.0.write().remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// What answers for a Service.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Backend> {
        self.0.read().get(&(namespace.to_owned(), name.to_owned())).cloned()
    }
}

impl std::fmt::Debug for Backends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.read().keys()).finish()
    }
}
