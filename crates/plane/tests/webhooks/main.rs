//! Webhooks behind a Service, each asked in this process and over real HTTPS.

mod admission;
mod conversion;
#[path = "../support/tls.rs"]
mod tls;

use axum::Router;
use plane::Plane;
use plane::webhook::Backend;
use serde_json::{Value, json};
use tls::TlsServer;

const HOST: &str = "hook.default.svc";

/// How the webhook's Service is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Transport {
    InProcess,
    Https,
}

const TRANSPORTS: [Transport; 2] = [Transport::InProcess, Transport::Https];

/// A plane whose Service `hook` is this router, and the `caBundle` to trust.
async fn plane(transport: Transport, router: Router) -> (Plane, Value) {
    let plane = Plane::new();
    let (backend, ca) = match transport {
        Transport::InProcess => (Backend::InProcess(router), Value::Null),
        Transport::Https => {
            let server = TlsServer::start(router, &[HOST]).await;
            (Backend::Address(server.address), json!(server.ca))
        }
    };
    plane.webhook_backends().insert("default", "hook", backend);
    (plane, ca)
}
