//! A server that answers as the providers do, and remembers what it was sent.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// One request as it arrived.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

#[derive(Clone)]
pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Option<Seen>>>,
    gate: Arc<Semaphore>,
}

impl Provider {
    pub(crate) async fn start() -> Provider {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let provider = Provider { address, seen: Arc::default(), gate: Arc::new(Semaphore::new(0)) };
        let router = Router::new().fallback(answer).with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    /// The last request, once.
    pub(crate) fn seen(&self) -> Option<Seen> {
        self.seen.lock().take()
    }

    /// Lets a stream that waits go on.
    pub(crate) fn release(&self) {
        self.gate.add_permits(1);
    }
}

async fn answer(State(provider): State<Provider>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let path = parts.uri.path().to_owned();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let trailers = parts.headers.contains_key("x-want-trailers");
    *provider.seen.lock() = Some(Seen { path: path.clone(), headers: parts.headers, body });
    let words = asked["messages"]
        .as_array()
        .and_then(|m| m.last())
        .map_or("", |m| m["content"].as_str().unwrap_or(""));
    if words == "overload" {
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        return (StatusCode::from_u16(529).unwrap(), axum::Json(error)).into_response();
    }
    if asked["stream"] == true {
        return events(&provider, path == "/v1/messages", words == "wait");
    }
    let whole = if path == "/v1/messages" { anthropic(&asked, words) } else { openai() };
    if trailers { with_trailers(whole.to_string()) } else { axum::Json(whole).into_response() }
}

fn anthropic(asked: &Value, words: &str) -> Value {
    let (content, stop) = if asked.get("tools").is_some() {
        (
            json!([{"type": "tool_use", "id": "t", "name": "get_weather", "input": {"location": "SF"}}]),
            "tool_use",
        )
    } else {
        let text = if words.starts_with("echo") { words } else { "Hello!" };
        (json!([{"type": "text", "text": text}]), "end_turn")
    };
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": stop, "usage": {"input_tokens": 10, "output_tokens": 20}})
}

/// With the extras of Azure and Vertex, which must not reach the client.
fn openai() -> Value {
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "prompt_filter_results": [], "choices": [{"index": 0, "content_filter_results": {}, "message": {"role": "assistant", "content": "Hello!"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "extra_properties": {}}})
}

fn events(provider: &Provider, anthropic: bool, wait: bool) -> Response {
    let openai = |text: &str| {
        format!(
            "data: {}\n\n",
            json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "content_filter_results": {}, "delta": {"content": text}}]})
        )
    };
    let delta = |text: &str| {
        format!(
            "event: content_block_delta\ndata: {}\n\n",
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
        )
    };
    let events = if anthropic {
        let start =
            json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 10}}});
        let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}});
        vec![
            format!("data: {start}\n\n"),
            delta("Hel"),
            delta("lo"),
            format!("data: {end}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"),
        ]
    } else {
        vec![openai("Hel"), openai("lo"), "data: [DONE]\n\n".into()]
    };
    let gate = provider.gate.clone();
    let body = stream::iter(events.into_iter().enumerate()).then(move |(n, event)| {
        let gate = gate.clone();
        async move {
            if wait && n == 1 {
                gate.acquire().await.unwrap().forget();
            }
            Ok::<_, Infallible>(event)
        }
    });
    ([("content-type", "text/event-stream")], Body::from_stream(body)).into_response()
}

fn with_trailers(body: String) -> Response {
    let trailers = HeaderMap::from_iter([("x-done".parse().unwrap(), "yes".parse().unwrap())]);
    let frames = [Frame::data(Bytes::from(body)), Frame::trailers(trailers)];
    let body = StreamBody::new(stream::iter(frames.map(Ok::<_, Infallible>)));
    ([("content-type", "application/json")], Body::new(body)).into_response()
}
