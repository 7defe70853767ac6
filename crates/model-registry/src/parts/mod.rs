//! What registries and the catalog are both built from.

pub(crate) mod access;
pub(crate) mod database;
pub(crate) mod ingress;
pub(crate) mod labels;
pub(crate) mod password;
pub(crate) mod ports;
pub(crate) mod proxy;
pub(crate) mod server;
