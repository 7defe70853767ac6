//! The plane on a socket: TLS, both HTTP versions, silent and rude clients, a clean stop.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use plane::Plane;
use plane::listen::Authority;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

struct Served {
    port: u16,
    authority: Authority,
    stop: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
}

async fn serve() -> Served {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let authority = Authority::new("test").unwrap();
    let tls = authority.tls(&authority.server(&["127.0.0.1", "localhost"]).unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, stop) = (listener.local_addr().unwrap().port(), CancellationToken::new());
    let (plane, stopping) = (Plane::new(), stop.clone());
    let task = tokio::spawn(async move { plane.serve(listener, Some(tls), stopping).await });
    Served { port, authority, stop, task }
}

async fn client(served: &Served) -> Client {
    let server = format!("https://127.0.0.1:{}", served.port);
    let kubeconfig: Kubeconfig = serde_json::from_value(serde_json::json!({
        "clusters": [{"name": "x", "cluster": {"server": server,
            "certificate-authority-data": base64(&served.authority.pem())}}],
        "users": [{"name": "x", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "current-context": "x",
    }))
    .unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn base64(text: &str) -> String {
    use ::base64::Engine;
    ::base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test]
async fn a_client_that_trusts_the_authority_is_served_over_tls() {
    let served = serve().await;
    let namespaces: Api<Namespace> = Api::all(client(&served).await);
    assert!(namespaces.get_opt("kube-system").await.unwrap().is_some());
}

#[tokio::test]
async fn a_stop_ends_the_listener_although_a_client_says_nothing() {
    let served = serve().await;
    let mut silent = TcpStream::connect(("127.0.0.1", served.port)).await.unwrap();
    silent.write_all(b"\x16\x03\x01").await.unwrap(); // half a handshake
    served.stop.cancel();
    tokio::time::timeout(Duration::from_secs(5), served.task).await.expect("stops in time").unwrap().unwrap();
}

/// A plane without TLS, for clients that speak byte by byte.
async fn serve_plainly() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { Plane::new().serve(listener, None, CancellationToken::new()).await });
    TcpStream::connect(address).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_ends_its_headers_is_cut_off() {
    let mut slow = serve_plainly().await;
    slow.write_all(b"GET /version HTTP/1.1\r\nHost: x\r\nX-").await.unwrap();
    let mut answer = vec![];
    slow.read_to_end(&mut answer).await.unwrap(); // without a limit this would never return
    assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_ends_its_body_gets_a_timeout() {
    let mut slow = serve_plainly().await;
    let head =
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n";
    slow.write_all(head.as_bytes()).await.unwrap();
    slow.write_all(b"{\"metadata\":").await.unwrap();
    let mut answer = vec![0; 4096];
    let read = slow.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]);
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert!(answer.contains("request did not complete within the allotted timeout"), "{answer}");
}

#[tokio::test]
async fn plain_text_on_the_tls_port_ends_only_that_connection() {
    let served = serve().await;
    let mut rude = TcpStream::connect(("127.0.0.1", served.port)).await.unwrap();
    rude.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = vec![];
    let _ = rude.read_to_end(&mut answer).await; // a TLS alert, or nothing
    let namespaces: Api<Namespace> = Api::all(client(&served).await);
    assert!(namespaces.get_opt("default").await.unwrap().is_some(), "others are served on");
}
