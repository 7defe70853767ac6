//! What `quintet up` needs beside the plane and the operators.

pub mod instance;
pub mod kubeconfig;
pub mod maas_api;
pub mod parts;
pub mod prerequisites;
pub mod service_ca;
pub mod standins;
