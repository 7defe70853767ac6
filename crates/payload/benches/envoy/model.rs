//! A model server that answers at once, or after a while, or as a stream.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{StreamExt, stream};

/// Tells the model server how long to think, inside the body so that no proxy drops it.
pub(crate) const THINK: &str = "think-ms-";

pub(crate) async fn start() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let router = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

async fn answer(uri: Uri, _: HeaderMap, body: Bytes) -> Response {
    let anthropic = uri.path() == "/v1/messages";
    if find(&body, br#""stream":true"#).is_some() {
        return events(anthropic);
    }
    if let Some(at) = find(&body, THINK.as_bytes()) {
        let digits = body[at + THINK.len()..].iter().take_while(|b| b.is_ascii_digit());
        let millis = digits.fold(0, |n, digit| n * 10 + u64::from(digit - b'0'));
        if millis > 0 {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
    }
    ([("content-type", "application/json")], if anthropic { ANTHROPIC } else { OPENAI }).into_response()
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

const ANTHROPIC: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Sunny, with a light breeze from the west and some clouds in the evening."}],"stop_reason":"end_turn","usage":{"input_tokens":400,"output_tokens":20}}"#;
const OPENAI: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Sunny, with a light breeze from the west and some clouds in the evening."},"finish_reason":"stop"}],"usage":{"prompt_tokens":400,"completion_tokens":20,"total_tokens":420}}"#;

fn events(anthropic: bool) -> Response {
    let event = if anthropic {
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n"
    } else {
        "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n"
    };
    let body = stream::iter(0..20).then(move |n| async move {
        if n > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok::<_, Infallible>(event)
    });
    ([("content-type", "text/event-stream")], Body::from_stream(body)).into_response()
}
