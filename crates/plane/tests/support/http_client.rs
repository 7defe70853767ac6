use std::time::Duration;

use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body};
use serde_json::Value;

/// How long a server may take to answer; generous, since a loaded machine is no disagreement.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came back, whatever its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    /// The body as JSON; text that is not JSON is a JSON string.
    pub(crate) body: Value,
}

impl Answer {
    /// The value at a JSON pointer, `null` when absent.
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.body.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The string at a JSON pointer, empty when absent.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// The texts of the `Warning` headers.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let all = self.headers.get_all("warning").iter();
        all.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }
}

/// A request with a JSON body (`null` for none).
pub(crate) fn request(method: &str, path: &str, body: &Value) -> Request<Vec<u8>> {
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let builder = Request::builder().method(method).uri(path);
    let builder = if body.is_null() { builder } else { builder.header("content-type", "application/json") };
    builder.body(bytes).expect("a well-formed request")
}

/// Sends a request and reads the whole answer.
pub(crate) async fn send(client: &Client, request: Request<Vec<u8>>) -> Answer {
    let shown = format!("{} {}", request.method(), request.uri());
    let exchange = async {
        let answer = client.send(request.map(Body::from)).await.unwrap_or_else(|e| panic!("{shown}: {e}"));
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap_or_else(|e| panic!("{shown}: {e}")).to_bytes();
        let text = String::from_utf8_lossy(&bytes);
        let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()));
        Answer { code: parts.status.as_u16(), headers: parts.headers, body }
    };
    tokio::time::timeout(PATIENCE, exchange).await.unwrap_or_else(|_| panic!("{shown}: no answer"))
}

/// `GET` as JSON.
pub(crate) async fn get(client: &Client, path: &str) -> Answer {
    send(client, request("GET", path, &Value::Null)).await
}

/// Opens a watch and reads its first `count` events. The stream may end earlier; it may not stall.
pub(crate) async fn events(client: &Client, request: Request<Vec<u8>>, count: usize) -> Vec<Value> {
    let shown = format!("{} {}", request.method(), request.uri());
    let mut seen: Vec<Value> = Vec::new();
    let reading = async {
        let answer = client.send(request.map(Body::from)).await.unwrap_or_else(|e| panic!("{shown}: {e}"));
        let (mut body, mut pending) = (answer.into_body(), Vec::new());
        while seen.len() < count {
            let Some(frame) = body.frame().await else { break };
            let frame = frame.unwrap_or_else(|e| panic!("{shown}: {e}"));
            pending.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                seen.push(serde_json::from_slice(&line).unwrap_or_else(|e| panic!("{shown}: {e}")));
            }
        }
    };
    if tokio::time::timeout(PATIENCE, reading).await.is_err() {
        panic!("{shown}: only {} of {count} events came: {seen:?}", seen.len());
    }
    seen.truncate(count);
    seen
}
