//! Clients that ask as fast as they are answered.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;

use crate::model::THINK;

/// What is asked, and by how many at once.
pub(crate) struct Load {
    pub(crate) connections: usize,
    pub(crate) path: &'static str,
    pub(crate) body: Bytes,
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Measured {
    latencies: Vec<Duration>,
    took: Duration,
}

impl Measured {
    pub(crate) fn add(&mut self, other: Measured) {
        self.latencies.extend(other.latencies);
        self.latencies.sort();
        self.took += other.took;
    }

    pub(crate) fn count(&self) -> u64 {
        self.latencies.len() as u64
    }

    pub(crate) fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.took.as_secs_f64()
    }

    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        self.latencies[(self.latencies.len() - 1) * percent / 100]
    }
}

/// A chat request of 2 KB.
pub(crate) fn chat(model: &str, thinking: Duration) -> Bytes {
    let start = format!(
        r#"{{"model":"{model}","max_tokens":100,"messages":[{{"role":"user","content":"{THINK}{} "#,
        thinking.as_millis()
    );
    let end = r#""}]}"#;
    let filler =
        "Tell me what the weather will be like. ".chars().cycle().take(2048 - start.len() - end.len());
    Bytes::from(format!("{start}{}{end}", filler.collect::<String>()))
}

async fn connect(to: SocketAddr) -> SendRequest<Full<Bytes>> {
    let stream = tokio::net::TcpStream::connect(to).await.expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP/1.1");
    tokio::spawn(connection);
    sender
}

fn request(path: &str, body: Bytes) -> http::Request<Full<Bytes>> {
    http::Request::post(path)
        .header("host", "gateway.example")
        .header("content-type", "application/json")
        .header("authorization", "Bearer caller")
        .body(Full::new(body))
        .expect("a request")
}

impl Load {
    pub(crate) async fn run(&self, to: SocketAddr, round: Duration) -> Measured {
        let started = Instant::now();
        let clients = (0..self.connections).map(|_| {
            let (path, body) = (self.path, self.body.clone());
            tokio::spawn(async move {
                let mut sender = connect(to).await;
                let mut latencies = Vec::new();
                while started.elapsed() < round {
                    let asked = Instant::now();
                    sender.ready().await.expect("an open connection");
                    let answer = sender.send_request(request(path, body.clone())).await.expect("an answer");
                    assert_eq!(answer.status(), 200);
                    answer.into_body().collect().await.expect("a body");
                    latencies.push(asked.elapsed());
                }
                latencies
            })
        });
        let latencies = futures::future::join_all(clients).await;
        let took = started.elapsed();
        let mut measured =
            Measured { latencies: latencies.into_iter().flat_map(Result::unwrap).collect(), took };
        measured.latencies.sort();
        measured
    }
}

/// How long the first byte and the whole of a stream take.
pub(crate) async fn first_byte(to: SocketAddr, path: &'static str, model: &str) -> (Duration, Duration) {
    let body = Bytes::from(format!(
        r#"{{"model":"{model}","stream":true,"messages":[{{"role":"user","content":"Hi"}}]}}"#
    ));
    let mut sender = connect(to).await;
    let asked = Instant::now();
    let mut answer = sender.send_request(request(path, body)).await.expect("an answer").into_body();
    let mut first = None;
    while let Some(frame) = answer.frame().await {
        let frame = frame.expect("a frame");
        if frame.data_ref().is_some_and(|data| !data.is_empty()) {
            first.get_or_insert_with(|| asked.elapsed());
        }
    }
    (first.expect("an event"), asked.elapsed())
}
