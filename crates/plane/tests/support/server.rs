use std::sync::OnceLock;

use http::{HeaderValue, Request};
use kube::{Client, Config, client::Body, config::Kubeconfig};
use plane::{Plane, hooks::User, security::Security, workloads::Workloads};
use quintet_harness::kube::Cluster;
use tower::ServiceExt as _;

const TOKEN: &str = "conformance";
const BEARER: &str = "Bearer conformance";

/// The server under test.
pub(crate) struct Server {
    pub(crate) client: Client,
    /// Whether this is our own plane, which may have listed disagreements, or the real thing.
    pub(crate) is_plane: bool,
    /// Kept so that it lives as long as the test.
    _plane: Option<Plane>,
}

/// The server this run is about: the cluster of `PLANE_CONFORMANCE_KUBECONFIG`; with `PLANE_CONFORMANCE=real` a real
/// control plane of our own (see hack/kube); otherwise a plane in this process, a new one at each call.
pub(crate) async fn chosen() -> Server {
    let _ = rustls::crypto::ring::default_provider().install_default();
    if let Ok(path) = std::env::var("PLANE_CONFORMANCE_KUBECONFIG") {
        let kubeconfig = Kubeconfig::read_from(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &Default::default())
            .await
            .unwrap_or_else(|e| panic!("{path}: {e}"));
        config.default_retry = false; // a refusal is an answer to compare, not one to try again
        let client = Client::try_from(config).unwrap_or_else(|e| panic!("{path}: {e}"));
        return Server { client, is_plane: false, _plane: None };
    }
    if std::env::var("PLANE_CONFORMANCE").is_ok_and(|value| value == "real") {
        let cluster = Cluster::shared().await.unwrap_or_else(|e| panic!("{e}"));
        let client = cluster.client().await.unwrap_or_else(|e| panic!("{e}"));
        return Server { client, is_plane: false, _plane: None };
    }
    // By token rather than `Plane::client`, whose requests are its user's whatever they say: scenarios impersonate.
    let security = Security::enforced().token(TOKEN, User::admin());
    let workloads = Workloads::new().root_ca(certificate());
    let plane = Plane::builder().security(security).workloads(workloads).build();
    let service = plane.service().map_request(|mut request: Request<Body>| {
        request.headers_mut().insert("authorization", HeaderValue::from_static(BEARER));
        request
    });
    Server { client: Client::new(service, "default"), is_plane: true, _plane: Some(plane) }
}

/// A certificate for `kube-root-ca.crt`; any will do, since nobody connects.
fn certificate() -> String {
    static PEM: OnceLock<String> = OnceLock::new();
    let make =
        || rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate").cert.pem();
    PEM.get_or_init(make).clone()
}
