//! The service behind a real Envoy, in both body modes, with a provider that answers as the real ones do.

mod provider;
mod site;

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use quintet_harness::envoy::BodyMode;
use serde_json::{Value, json};
use site::Site;

const MODES: [BodyMode; 2] = [BodyMode::Duplex, BodyMode::Buffered];

fn chat(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}]})
}

fn url(name: &str) -> String {
    format!("/llm/{name}/v1/chat/completions")
}

/// Runs `test` in both modes.
macro_rules! in_both_modes {
    ($site:ident, $body:block) => {
        for mode in MODES {
            let Some($site) = Site::start(mode).await else { return };
            async { $body }.await;
        }
    };
}

#[tokio::test]
async fn an_internal_request_passes_as_it_is() {
    in_both_modes!(site, {
        let body = r#"{ "model":"llama", "messages":[] }"#;
        let answer = site.post("/internal/llama/v1/chat/completions", body).await;
        assert_eq!(answer.status(), 200);
        let seen = site.seen();
        assert_eq!(seen.path, "/internal/llama/v1/chat/completions");
        assert_eq!(seen.header("x-gateway-model-name"), Some("llama"));
        assert_eq!(seen.header("authorization"), Some("Bearer caller"));
        assert_eq!(seen.body, body.as_bytes());
    });
}

#[tokio::test]
async fn every_provider_gets_its_path_key_and_route() {
    in_both_modes!(site, {
        for (name, model, path, header, key) in [
            ("gpt", "gpt-4o", "/v1/chat/completions", "authorization", "Bearer sk-2"),
            ("claude", "claude-x", "/v1/messages", "x-api-key", "sk-1"),
            ("azure", "gpt-az", "/openai/v1/chat/completions", "api-key", "sk-3"),
            (
                "vertex",
                "gemini-x",
                "/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
                "authorization",
                "Bearer sk-4",
            ),
            ("bedrock", "nova-x", "/v1/chat/completions", "authorization", "Bearer sk-5"),
        ] {
            let answer = site.post(&url(name), &chat(model).to_string()).await;
            assert_eq!(answer.status(), 200, "{name}");
            let answer: Value = answer.json().await.unwrap();
            assert_eq!(answer["choices"][0]["message"]["content"], "Hello!", "{name}: {answer}");
            assert_eq!(
                answer.get("prompt_filter_results").is_some(),
                matches!(name, "gpt" | "vertex" | "bedrock"),
                "{name}"
            );
            assert_eq!(
                answer["usage"].get("extra_properties").is_some(),
                matches!(name, "gpt" | "azure" | "bedrock"),
                "{name}"
            );
            let seen = site.seen();
            assert_eq!((seen.path.as_str(), seen.header(header)), (path, Some(key)), "{name}");
            assert_eq!(seen.header("x-route"), Some("by-header"), "{name}: routed anew, by the model's name");
            assert_eq!(
                seen.body.len().to_string(),
                seen.header("content-length").unwrap_or(&seen.body.len().to_string())
            );
            let all = format!("{seen:?}");
            assert!(!all.contains("caller"), "{name}: the caller's key stays here: {all}");
            let sent: Value = serde_json::from_slice(&seen.body).unwrap();
            match name {
                "claude" => assert_eq!(sent["system"], "S"),
                _ => assert_eq!(sent, chat(model), "{name}"),
            }
        }
    });
}

#[tokio::test]
async fn tool_calls_and_errors_come_back_in_openais_words() {
    in_both_modes!(site, {
        let mut body = chat("claude-x");
        body["tools"] = json!([{"type": "function", "function": {"name": "get_weather"}}]);
        let answer: Value = site.post(&url("claude"), &body.to_string()).await.json().await.unwrap();
        let call = &answer["choices"][0]["message"]["tool_calls"][0];
        assert_eq!(
            (&answer["choices"][0]["finish_reason"], &call["function"]["name"]),
            (&json!("tool_calls"), &json!("get_weather"))
        );

        let mut body = chat("claude-x");
        body["messages"][1]["content"] = json!("overload");
        let answer = site.post(&url("claude"), &body.to_string()).await;
        assert_eq!(answer.status(), 529, "the provider's status is left alone");
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["error"]["type"], "overloaded_error");
    });
}

#[tokio::test]
async fn streams_are_translated() {
    in_both_modes!(site, {
        let mut body = chat("claude-x");
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
        let answer = site.post(&url("claude"), &body.to_string()).await;
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let text = answer.text().await.unwrap();
        assert!(
            text.contains(r#""delta":{"content":"Hel"}"#) && text.contains(r#""total_tokens":30"#),
            "{text}"
        );
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");

        let mut body = chat("gpt-az");
        body["stream"] = json!(true);
        let text = site.post(&url("azure"), &body.to_string()).await.text().await.unwrap();
        assert!(text.contains("Hel") && !text.contains("content_filter_results"), "{text}");
    });
}

/// The provider sends its first event and waits until the client has it: with a buffer in between, this would hang.
#[tokio::test]
async fn the_first_token_is_not_held_back() {
    let Some(site) = Site::start(BodyMode::Duplex).await else { return };
    for (path, model) in [
        (url("claude"), "claude-x"),
        (url("gpt"), "gpt-4o"),
        (url("azure"), "gpt-az"),
        ("/internal/llama/v1/chat/completions".into(), "llama"),
    ] {
        let mut body = chat(model);
        body["stream"] = json!(true);
        body["messages"][1]["content"] = json!("wait");
        let mut answer = site.post(&path, &body.to_string()).await;
        let first = tokio::time::timeout(Duration::from_secs(10), answer.chunk())
            .await
            .expect("the first event")
            .unwrap()
            .unwrap();
        assert!(!first.is_empty());
        site.provider.release();
        let rest = answer.text().await.unwrap();
        assert!(rest.contains("[DONE]"), "{path}: {rest}");
    }
}

#[tokio::test]
async fn refusals_reach_the_client() {
    in_both_modes!(site, {
        for (path, body, status, text) in [
            (
                url("gpt"),
                chat("other").to_string(),
                404,
                "inference error: NotFound - model in request body 'other' doesn't match ExternalModel",
            ),
            (
                "/llm/gpt/v1/embeddings".into(),
                chat("gpt-4o").to_string(),
                400,
                "inference error: BadRequest - only /chat/completions input type is supported",
            ),
            (
                url("gpt"),
                "{".into(),
                400,
                "inference error: BadRequest - failed to parse request body: unexpected end of JSON input",
            ),
            (
                url("nokey"),
                chat("nokey-x").to_string(),
                500,
                "inference error: Internal - provider 'openai' credentials not found",
            ),
        ] {
            let answer = site.post(&path, &body).await;
            assert_eq!(answer.status(), status, "{path}");
            assert_eq!(answer.text().await.unwrap(), text);
        }
        let answer = site.post(&url("cohere"), &chat("command").to_string()).await;
        assert_eq!(answer.status(), 500, "a plain error fails the stream");
        assert!(site.provider.seen().is_none(), "nothing of this reached the provider");
    });
}

#[tokio::test]
async fn a_model_of_others_cannot_be_reached_by_naming_it() {
    in_both_modes!(site, {
        for path in ["/v1/chat/completions", "/nowhere/x/v1/chat/completions"] {
            let answer = site.post(path, &chat("gpt-4o").to_string()).await;
            assert_eq!(answer.status(), 404, "{path}: no route");
            let request = site.client.get(site.envoy.url(path)).header("x-gateway-model-name", "gpt-4o");
            assert_eq!(request.send().await.unwrap().status(), 404, "{path}: a claimed header");
        }
        assert!(site.provider.seen().is_none());
    });
}

#[tokio::test]
async fn bodies_without_json_and_without_bytes_pass() {
    in_both_modes!(site, {
        let binary: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
        let request = site
            .client
            .post(site.envoy.url("/internal/upload"))
            .header("content-type", "application/octet-stream");
        assert_eq!(request.body(binary.clone()).send().await.unwrap().status(), 200);
        assert_eq!(site.seen().body, binary);
        let request = site.client.post(site.envoy.url("/internal/x")).header("content-length", "0");
        assert_eq!(request.send().await.unwrap().status(), 200);
        site.seen();
        assert_eq!(site.client.get(site.envoy.url("/internal/x")).send().await.unwrap().status(), 200);
    });
}

#[tokio::test]
async fn large_bodies_arrive_whole() {
    in_both_modes!(site, {
        let mut body = chat("gpt-4o");
        body["messages"][1]["content"] = json!("x".repeat(700_000));
        let body = body.to_string();
        let answer = site.post(&url("gpt"), &body).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(site.seen().body, body.as_bytes());

        let mut body = chat("claude-x");
        body["messages"][1]["content"] = json!(format!("echo {}", "y".repeat(300_000)));
        let answer: Value = site.post(&url("claude"), &body.to_string()).await.json().await.unwrap();
        assert_eq!(answer["choices"][0]["message"]["content"].as_str().unwrap().len(), 300_005);
    });
}

#[tokio::test]
async fn too_large_bodies_are_refused() {
    let Some(site) = Site::start(BodyMode::Duplex).await else { return };
    let body = format!(r#"{{"model":"gpt-4o","x":"{}"}}"#, "x".repeat(site::MAX_BODY));
    let answer = site.post(&url("gpt"), &body).await;
    assert_eq!(answer.status(), 413);
    // Without an announced length, too.
    let chunks =
        futures::stream::iter((0..40).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 65_536]))));
    let request = site.client.post(site.envoy.url(&url("gpt"))).body(reqwest::Body::wrap_stream(chunks));
    assert_eq!(request.send().await.unwrap().status(), 413);
    assert!(site.provider.seen().is_none());
}

#[tokio::test]
async fn a_slow_client_is_waited_for_and_one_that_leaves_is_forgotten() {
    let Some(site) = Site::start(BodyMode::Duplex).await else { return };
    let body = chat("gpt-4o").to_string();
    let (send, receive) = tokio::sync::mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let stream = reqwest::Body::wrap_stream(tokio_stream::wrappers::ReceiverStream::new(receive));
    let slow = tokio::spawn(site.client.post(site.envoy.url(&url("gpt"))).body(stream).send());
    send.send(Ok(Bytes::copy_from_slice(&body.as_bytes()[..10]))).await.unwrap();
    assert_eq!(site.post(&url("gpt"), &body).await.status(), 200, "others are not kept waiting");
    site.seen();
    send.send(Ok(Bytes::copy_from_slice(&body.as_bytes()[10..]))).await.unwrap();
    drop(send);
    assert_eq!(slow.await.unwrap().unwrap().status(), 200);
    assert_eq!(site.seen().body, body.as_bytes());

    let (send, receive) = tokio::sync::mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let stream = reqwest::Body::wrap_stream(tokio_stream::wrappers::ReceiverStream::new(receive));
    let leaving = tokio::spawn(site.client.post(site.envoy.url(&url("gpt"))).body(stream).send());
    send.send(Ok(Bytes::copy_from_slice(&body.as_bytes()[..10]))).await.unwrap();
    while site.limits.used() == 0 {
        tokio::task::yield_now().await;
    }
    leaving.abort();
    drop(send);
    let forgotten = async {
        while site.limits.used() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), forgotten).await.expect("its memory is given back");
    assert!(site.provider.seen().is_none());
}

/// A request and a response with trailers hang in the original.
#[tokio::test]
async fn trailers_pass_in_both_directions() {
    let Some(site) = Site::start(BodyMode::Duplex).await else { return };
    for (path, body) in [
        (url("claude"), chat("claude-x").to_string()),
        ("/internal/x".to_owned(), r#"{"model":"llama"}"#.to_owned()),
    ] {
        let stream = tokio::net::TcpStream::connect(site.envoy.listener).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let trailers = http::HeaderMap::from_iter([("x-checksum".parse().unwrap(), "1".parse().unwrap())]);
        let frames = [Frame::data(Bytes::from(body)), Frame::trailers(trailers)];
        let body = StreamBody::new(futures::stream::iter(frames.map(Ok::<_, std::io::Error>)));
        let request =
            http::Request::post(site.envoy.url(&path)).header("x-want-trailers", "1").body(body).unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(20), sender.send_request(request))
            .await
            .expect("no hang")
            .unwrap();
        assert_eq!(answer.status(), 200);
        let body = tokio::time::timeout(Duration::from_secs(20), answer.into_body().collect())
            .await
            .expect("no hang")
            .unwrap();
        assert_eq!(
            body.trailers().and_then(|t| t.get("x-done")).map(|v| v.as_bytes()),
            Some(&b"yes"[..]),
            "{path}"
        );
        assert!(!body.to_bytes().is_empty());
        connection.abort();
    }
}

#[tokio::test]
async fn ext_proc_over_tls() {
    let Some(site) = Site::start_with(BodyMode::Duplex, true).await else { return };
    let answer = site.post(&url("claude"), &chat("claude-x").to_string()).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(site.seen().header("x-api-key"), Some("sk-1"));
}

/// How many messages Envoy has sent to the service so far.
async fn messages(site: &Site) -> u64 {
    let stats =
        reqwest::get(format!("http://{}/stats?filter=stream_msgs_sent", site.envoy.admin)).await.unwrap();
    let stats = stats.text().await.unwrap();
    stats.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

/// Request headers and body, and nothing of the answer. So in mode `BUFFERED` a stream is not held back either, as long
/// as nobody has to translate it.
#[tokio::test]
async fn answers_that_nobody_translates_are_not_shown() {
    in_both_modes!(site, {
        let internal = "/internal/llama/v1/chat/completions";
        let before = messages(&site).await;
        for _ in 0..10 {
            let answer: Value = site.post(internal, &chat("llama").to_string()).await.json().await.unwrap();
            assert_eq!(answer["choices"][0]["message"]["content"], "Hello!");
        }
        let untranslated = messages(&site).await - before;
        for _ in 0..10 {
            site.post(&url("claude"), &chat("claude-x").to_string()).await.text().await.unwrap();
        }
        let translated = messages(&site).await - before - untranslated;
        // Two or three for a request, at least two more for an answer that is shown.
        assert!(untranslated <= 30 && translated >= untranslated + 20, "{untranslated} {translated}");

        let mut body = chat("llama");
        body["stream"] = json!(true);
        body["messages"][1]["content"] = json!("wait");
        let mut answer = site.post(internal, &body.to_string()).await;
        let first = tokio::time::timeout(Duration::from_secs(10), answer.chunk()).await;
        assert!(!first.expect("the first event").unwrap().unwrap().is_empty());
        site.provider.release();
        assert!(answer.text().await.unwrap().contains("[DONE]"));
    });
}
