//! The guard plugin against an HTTP server that answers as NeMo guardrails do.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use bytes::Bytes;
use http::StatusCode;
use parking_lot::Mutex;
use quintet_payload::chain::Chain;
use quintet_payload::config::PluginSpec;
use quintet_payload::exchange::Exchange;
use quintet_payload::headers::Headers;
use quintet_payload::plugins::Parts;
use serde_json::{Value, json};

/// A guard that answers the same to everything and remembers what it was asked.
#[derive(Clone)]
struct Guard {
    status: StatusCode,
    answer: &'static [u8],
    asked: Arc<Mutex<Vec<Value>>>,
}

async fn answer(State(guard): State<Guard>, question: Bytes) -> impl IntoResponse {
    guard.asked.lock().push(serde_json::from_slice(&question).unwrap());
    (guard.status, guard.answer)
}

/// What becomes of `body`, and what the guard was asked.
async fn check(status: u16, answer_text: &'static str, body: &str) -> (Result<(), String>, Vec<Value>) {
    let guard = Guard {
        status: StatusCode::from_u16(status).unwrap(),
        answer: answer_text.as_bytes(),
        asked: Arc::default(),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(answer).with_state(guard.clone());
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let outcome = ask(&format!("http://{address}/v1/guardrail/checks"), body).await;
    server.abort();
    let asked = guard.asked.lock().clone();
    (outcome, asked)
}

async fn ask(url: &str, body: &str) -> Result<(), String> {
    let spec: PluginSpec =
        format!(r#"nemo-request-guard:guard:{{"nemoURL":"{url}","timeoutSeconds":5}}"#).parse().unwrap();
    let chain = Chain::build(&[spec], &Parts::default()).unwrap();
    let mut exchange = Exchange::new(
        Headers::received([(":path", "/llm/llama/x")]),
        Bytes::copy_from_slice(body.as_bytes()),
    );
    chain.request(&mut exchange).await.map_err(|failure| failure.to_string())
}

const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"first"},{"role":"assistant","content":"a"},{"role":"user","content":"last"}]}"#;
const BLOCKED: &str = "inference error: Forbidden - request blocked by NeMo guardrails";

#[tokio::test]
async fn s24_nemo_allow_and_block() {
    let (outcome, asked) = check(200, r#"{"status":" Success "}"#, CHAT).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(asked, [json!({"model": "m", "messages": [{"role": "user", "content": "last"}]})]);
    for answer in [
        r#"{"status":"blocked","rails_status":{"self check input":{"status":"blocked"}}}"#,
        "{}",
        "null",
        r#"{"status":7}"#,
    ] {
        assert_eq!(check(200, answer, CHAT).await.0, Err(BLOCKED.into()), "{answer}");
    }
    for (status, answer, expected) in [
        (500, r#"{"status":"success"}"#, "unexpected status 500"),
        (302, "", "unexpected status 302"),
        (200, "not json", "decode response: expected ident at line 1 column 2"),
    ] {
        let expected = format!("inference error: ServiceUnavailable - {expected}");
        assert_eq!(check(status, answer, CHAT).await.0, Err(expected));
    }
}

#[tokio::test]
async fn s25_nemo_mcp() {
    let body = r#"{"jsonrpc":"2.0","params":{"arguments":{"subject":"b","body":"a"}}}"#;
    let (outcome, asked) = check(200, r#"{"status":"success"}"#, body).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(asked[0]["messages"], json!([{"role": "user", "content": "a\nb"}]));
}

/// An image beside the words must not keep the words from being checked.
#[tokio::test]
async fn multimodal_text_is_guarded() {
    let body = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"bad"},{"type":"image_url","image_url":{"url":"u"}}]}]}"#;
    let (outcome, asked) = check(200, r#"{"status":"blocked"}"#, body).await;
    assert_eq!(outcome, Err(BLOCKED.into()));
    assert_eq!(asked[0]["messages"][0]["content"], "bad");
}

#[tokio::test]
async fn a_guard_that_cannot_be_reached_lets_nothing_through() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = ask(&format!("http://{closed}/"), CHAT).await.unwrap_err();
    assert!(error.starts_with("inference error: ServiceUnavailable - call failed: "), "{error}");
    assert!(!error.contains(&closed.to_string()), "the guard's address is nobody's business: {error}");
    let error = ask("::no url", CHAT).await.unwrap_err();
    assert!(error.starts_with("inference error: Internal - create request: "), "{error}");
}
