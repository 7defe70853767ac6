//! The acceptance scenarios of the specification, by number, and what we do better where a response is concerned.

mod support;

use quintet_payload::config::PluginSpec;
use quintet_payload::extproc::BodyMode;
use serde_json::{Value, json};
use support::*;

const CLAUDE: &str = "/llm/claude/v1/chat/completions";
const GPT: &str = "/llm/gpt/v1/chat/completions";

fn json_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

fn with_messages(extra: Value) -> String {
    let mut body = json!({"model": "claude-x", "messages": [{"role": "user", "content": "Hi"}]});
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body.to_string()
}

/// Sends a request to `path`, then gives `answer` of the provider: headers and body of what the client gets.
fn answer_of(
    world: &World,
    path: &str,
    request: &str,
    answer: &str,
) -> (Vec<quintet_payload::extproc::wire::ProcessingResponse>, Vec<u8>) {
    let mut talk = world.talk();
    talk.say(request_headers(&[(":path", path)], false));
    talk.say(request_body(request.as_bytes(), true));
    assert!(talk.say(response_headers(JSON, false)).is_empty(), "the length is not known yet");
    let (first, second) = answer.as_bytes().split_at(answer.len() / 2);
    assert!(talk.say(response_body(first, false)).is_empty());
    let answers = talk.say(response_body(second, true));
    let body = answers.iter().flat_map(|a| chunk(&common(a)).0).collect();
    (answers, body)
}

#[test]
fn s01_no_body() {
    let answers = World::new().run(vec![request_headers(&[(":path", "/x"), (":method", "GET")], true)]);
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(kinds(&answers), ["request_headers"]);
    assert_eq!(common(&answers[0]), Default::default());
}

#[test]
fn s02_internal_model() {
    let body = br#"{"model":"llama","messages":[]}"#;
    let mut talk = World::new().talk();
    let headers = [(":path", "/llm/llama/v1/chat/completions"), ("authorization", "Bearer mine")];
    assert!(talk.say(request_headers(&headers, false)).is_empty());
    assert!(talk.say(request_body(&body[..9], false)).is_empty());
    let answers = talk.say(request_body(&body[9..], true));
    assert_eq!(kinds(&answers), ["request_headers", "request_body"]);
    let mut effective = headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    apply(&mut effective, &common(&answers[0]));
    assert!(common(&answers[0]).clear_route_cache);
    assert_eq!(effective["x-gateway-model-name"], "llama");
    assert_eq!(effective["content-length"], body.len().to_string());
    assert_eq!(effective["authorization"], "Bearer mine");
    assert_eq!(chunk(&common(&answers[1])), (body.to_vec(), true));
}

#[test]
fn s03_no_model_field() {
    let world = World::new();
    let answers = world
        .run(vec![request_headers(&[(":path", "/a/b")], false), request_body(br#"{"prompt":"x"}"#, true)]);
    let mutation = common(answers[0].as_ref().unwrap()).header_mutation.unwrap();
    let set: Vec<_> = mutation.set_headers.iter().map(|h| h.header.as_ref().unwrap().key.as_str()).collect();
    assert_eq!((set, mutation.remove_headers), (vec!["content-length"], vec![]));
    assert!(world.metrics.encode().contains(r#"bbr_body_field_not_found_total{field="model"} 1"#));
}

#[test]
fn s04_large_body() {
    let body = format!(r#"{{"model":"llama","x":"{}"}}"#, "a".repeat(70_000 - 24));
    assert_eq!(body.len(), 70_000);
    let answers = World::new()
        .run(vec![request_headers(&[(":path", "/a/b")], false), request_body(body.as_bytes(), true)]);
    let chunks: Vec<_> = answers[1..].iter().map(|a| chunk(&common(a.as_ref().unwrap()))).collect();
    let shape: Vec<_> = chunks.iter().map(|(bytes, last)| (bytes.len(), *last)).collect();
    assert_eq!(shape, [(62_000, false), (8_000, true)]);
    assert_eq!(chunks.into_iter().flat_map(|(bytes, _)| bytes).collect::<Vec<_>>(), body.as_bytes());
}

#[test]
fn s05_openai() {
    let body = r#"{ "model":"gpt-4o", "messages":[{"role":"user","content":"Hi"}] }"#;
    let path = format!("{GPT}?x=1");
    let headers = [(":path", path.as_str()), ("authorization", "Bearer sk-oai-a_b")];
    let (headers, sent) = World::new().send(&headers, body.as_bytes()).forwarded();
    assert_eq!(headers[":path"], "/v1/chat/completions");
    assert_eq!(headers["authorization"], "Bearer sk-2");
    assert_eq!(sent, body.as_bytes());
}

#[test]
fn s06_anthropic_basic() {
    let body = r#"{"model":"claude-x","max_tokens":10,"messages":[{"role":"system","content":"S"},{"role":"user","content":"Hi"}]}"#;
    let headers = [(":path", CLAUDE), ("authorization", "")];
    let (headers, sent) = World::new().send(&headers, body.as_bytes()).forwarded();
    let expected =
        json!({"max_tokens":10,"messages":[{"content":"Hi","role":"user"}],"model":"claude-x","system":"S"});
    assert_eq!(json_of(&sent), expected);
    assert_eq!(headers[":path"], "/v1/messages");
    assert_eq!(headers["anthropic-version"], "2023-06-01");
    assert_eq!(headers["x-api-key"], "sk-1");
    assert_eq!(headers["content-length"], sent.len().to_string());
    assert!(!headers.contains_key("authorization"));
}

#[test]
fn s07_anthropic_default_max() {
    let max = |extra| {
        json_of(&World::new().post(CLAUDE, &with_messages(extra)).forwarded().1)["max_tokens"].clone()
    };
    assert_eq!(max(json!({})), 4096);
    assert_eq!(max(json!({"max_completion_tokens": 200, "max_tokens": 100})), 200);
}

#[test]
fn s08_anthropic_tools() {
    let extra =
        json!({"tools": [{"type": "function", "function": {"name": "now"}}], "tool_choice": "required"});
    let sent = json_of(&World::new().post(CLAUDE, &with_messages(extra)).forwarded().1);
    assert_eq!(sent["tools"], json!([{"name": "now", "input_schema": {"type": "object"}}]));
    assert_eq!(sent["tool_choice"], json!({"type": "any"}));
}

#[test]
fn s09_anthropic_tool_turn() {
    let call = |id| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]);
    let sent =
        json_of(&World::new().post(CLAUDE, &with_messages(json!({ "messages": messages }))).forwarded().1);
    let messages = sent["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[2]["role"]), (3, &json!("user")));
    let results: Vec<_> =
        messages[2]["content"].as_array().unwrap().iter().map(|b| b["type"].clone()).collect();
    assert_eq!(results, ["tool_result", "tool_result"]);
}

#[test]
fn s10_anthropic_bad_role() {
    let extra = json!({"messages": [{"role": "narrator", "content": "x"}]});
    let refused = World::new().post(CLAUDE, &with_messages(extra)).refused();
    let text = "inference error: BadRequest - message at index 0 has unknown role 'narrator'";
    assert_eq!(refused, (400, text.into()));
}

#[test]
fn s11_anthropic_reply() {
    let answer = r#"{"id":"msg_1","type":"message","content":[{"type":"text","text":"4"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}"#;
    let (answers, body) = answer_of(&World::new(), CLAUDE, &with_messages(json!({})), answer);
    let got = json_of(&body);
    assert_eq!(got["choices"][0]["message"]["content"], "4");
    assert_eq!(got["choices"][0]["finish_reason"], "stop");
    assert_eq!(got["usage"], json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}));
    assert_eq!((&got["model"], &got["created"]), (&json!("claude-x"), &json!(NOW)));
    assert_eq!(kinds(&answers), ["response_headers", "response_body"]);
    assert!(common(&answers[0]).clear_route_cache);
    let mut headers = Default::default();
    apply(&mut headers, &common(&answers[0]));
    assert_eq!(headers["content-length"], body.len().to_string());
    assert!(chunk(&common(&answers[1])).1);
}

#[test]
fn s12_anthropic_tool_reply() {
    let answer = r#"{"id":"msg_1","type":"message","content":[{"type":"tool_use","id":"t","name":"w","input":{"location":"SF"}}],"stop_reason":"tool_use"}"#;
    let got = json_of(&answer_of(&World::new(), CLAUDE, &with_messages(json!({})), answer).1);
    let call = &got["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(got["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(call["index"], 0);
    assert_eq!(
        json_of(call["function"]["arguments"].as_str().unwrap().as_bytes()),
        json!({"location": "SF"})
    );
}

#[test]
fn s13_anthropic_error() {
    let answer = r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
    let got = json_of(&answer_of(&World::new(), CLAUDE, &with_messages(json!({})), answer).1);
    let expected = json!({"error": {"message": "m", "type": "overloaded_error", "param": null, "code": "overloaded_error"}});
    assert_eq!(got, expected);
}

#[test]
fn s14_azure_strip() {
    let request = r#"{"model":"gpt-az","messages":[]}"#;
    let path = "/llm/azure/v1/chat/completions";
    let (headers, sent) = World::new().post(path, request).forwarded();
    assert_eq!(headers[":path"], "/openai/v1/chat/completions");
    assert_eq!(headers["api-key"], "sk-3");
    assert_eq!(sent, request.as_bytes());

    let answer =
        r#"{"id":"x","prompt_filter_results":[1],"choices":[{"content_filter_results":{},"index":0}]}"#;
    let (_, body) = answer_of(&World::new(), path, request, answer);
    assert_eq!(body, br#"{"id":"x","choices":[{"index":0}]}"#);

    let plain = r#"{"id":"x", "choices":[{"index":0}]}"#;
    let (answers, body) = answer_of(&World::new(), path, request, plain);
    assert_eq!(body, plain.as_bytes());
    let mut headers = std::collections::BTreeMap::new();
    apply(&mut headers, &common(&answers[0]));
    assert!(headers.is_empty(), "no content-length is set");
}

#[test]
fn s15_vertex_config() {
    let request = r#"{"model":"gemini-x","messages":[1]}"#;
    let path = "/llm/vertex/v1/chat/completions";
    let mut chain = PluginSpec::maas();
    chain[2] = r#"api-translation:api-translation:{"vertexOpenAI":{"project":"p","location":"us-central1","endpoint":"openapi"}}"#.parse().unwrap();
    let world = World::with(&chain, BodyMode::Duplex);
    let (headers, _) = world.post(path, request).forwarded();
    assert_eq!(headers[":path"], "/v1/projects/p/locations/us-central1/endpoints/openapi/chat/completions");
    let (_, body) =
        answer_of(&world, path, request, r#"{"usage":{"total_tokens":1,"extra_properties":{"a":1}}}"#);
    assert_eq!(body, br#"{"usage":{"total_tokens":1}}"#);

    match World::new().post(path, request) {
        Outcome::Failed(status) => {
            assert_eq!(status.code(), tonic::Code::Unknown);
            assert!(status.message().contains("unsupported provider - 'vertex-openai'"), "{status}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn s16_empty_messages() {
    let refused = World::new().post(GPT, r#"{"model":"gpt-4o","messages":[]}"#).refused();
    let text = "inference error: BadRequest - messages field is required and must not be empty";
    assert_eq!(refused, (400, text.into()));
}

#[test]
fn s17_wrong_model() {
    let refused = World::new().post(GPT, r#"{"model":"other","messages":[1]}"#).refused();
    let text = "inference error: NotFound - model in request body 'other' doesn't match ExternalModel";
    assert_eq!(refused, (404, text.into()));
}

#[test]
fn s18_wrong_endpoint() {
    let refused = World::new().post("/llm/gpt/v1/embeddings", r#"{"model":"gpt-4o"}"#).refused();
    assert_eq!(
        refused,
        (400, "inference error: BadRequest - only /chat/completions input type is supported".into())
    );
}

#[test]
fn s19_malformed_json() {
    for path in [GPT, "/llm/llama/v1/chat/completions"] {
        let (status, text) = World::new().post(path, r#"{"model":"#).refused();
        assert_eq!(status, 400);
        assert_eq!(
            text,
            "inference error: BadRequest - failed to parse request body: unexpected end of JSON input"
        );
    }
}

#[test]
fn s20_credential_life() {
    let world = World::new();
    let request = r#"{"model":"gpt-4o","messages":[1]}"#;
    world.stores.credentials.remove(&key("k2")); // what the watch does when the label goes
    let text = "inference error: Internal - provider 'openai' credentials not found";
    assert_eq!(world.post(GPT, request).refused(), (500, text.into()));
    world.stores.credentials.insert(key("k2"), credential("k2", "sk-new"));
    assert_eq!(world.post(GPT, request).forwarded().0["authorization"], "Bearer sk-new");
}

#[test]
fn s21_model_life() {
    let world = World::new();
    let request = r#"{"model":"gpt-4o","messages":[1]}"#;
    world.stores.models.insert(key("gpt"), model("openai", "gpt-5", "k2"));
    assert_eq!(world.post(GPT, request).refused().0, 404);
    world.stores.models.remove(&key("gpt"));
    let (headers, _) = world.post(GPT, request).forwarded();
    assert_eq!(headers[":path"], GPT);
    assert!(!headers.contains_key("authorization"));
}

#[test]
fn s22_sse_passes_chunk_by_chunk() {
    let mut talk = World::new().talk();
    talk.say(request_headers(&[(":path", GPT)], false));
    talk.say(request_body(br#"{"model":"gpt-4o","messages":[1],"stream":true}"#, true));
    assert_eq!(kinds(&talk.say(response_headers(EVENTS, false))), ["response_headers"]);
    for (event, last) in [("data: {\"a\": 1}\n\n", false), ("data: [DONE]\n\n", true)] {
        let answers = talk.say(response_body(event.as_bytes(), last));
        assert_eq!(answers.len(), 1);
        assert_eq!(chunk(&common(&answers[0])), (event.as_bytes().to_vec(), last));
    }
}

#[test]
fn s23_non_streaming_mode() {
    let body = br#"{"model":"llama","messages":[]}"#;
    let mut talk = World::with(&PluginSpec::maas(), BodyMode::Buffered).talk();
    let answers = talk.say(request_headers(&[(":path", "/llm/llama/v1/chat/completions")], false));
    assert_eq!((kinds(&answers), common(&answers[0])), (vec!["request_headers"], Default::default()));
    let answers = talk.say(request_body(body, true));
    assert_eq!(kinds(&answers), ["request_body"]);
    let common = common(&answers[0]);
    assert!(common.clear_route_cache && common.body_mutation.is_none());
    let mut headers = Default::default();
    apply(&mut headers, &common);
    assert_eq!(
        headers.into_iter().collect::<Vec<_>>(),
        [("x-gateway-model-name".to_owned(), "llama".to_owned())]
    );
}

/// Point 2 of the known pains: Anthropic's events become OpenAI's, one by one.
#[test]
fn anthropic_streams_are_translated_event_by_event() {
    let mut talk = World::new().talk();
    talk.say(request_headers(&[(":path", CLAUDE)], false));
    let extra = json!({"stream": true, "stream_options": {"include_usage": true}});
    talk.say(request_body(with_messages(extra).as_bytes(), true));
    let headers = [EVENTS, &[("content-length", "999")]].concat();
    let answers = talk.say(response_headers(&headers, false));
    assert_eq!(common(&answers[0]).header_mutation.unwrap().remove_headers, ["content-length"]);

    let mut text = |event: &str, last| {
        let answers = talk.say(response_body(event.as_bytes(), last));
        let bytes: Vec<u8> = answers.iter().flat_map(|a| chunk(&common(a)).0).collect();
        (String::from_utf8(bytes).unwrap(), answers.last().is_some_and(|a| chunk(&common(a)).1))
    };
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"i\",\"usage\":{\"input_tokens\":3}}}\n\n";
    assert!(text(start, false).0.contains(r#""role":"assistant""#));
    assert_eq!(text("event: ping\ndata: {\"type\":\"ping\"}\n\n", false), (String::new(), false));
    let delta = "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n";
    assert!(text(delta, false).0.contains(r#""delta":{"content":"Hi"}"#));
    let (end, last) = text(
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        true,
    );
    assert!(
        end.contains(r#""finish_reason":"stop""#) && end.contains(r#""total_tokens":5"#) && last,
        "{end}"
    );
    assert!(end.ends_with("data: [DONE]\n\n"));
}

/// Point 1 of the known pains: what nobody translates is not held back.
#[test]
fn internal_responses_pass_as_they_come() {
    let mut talk = World::new().talk();
    talk.say(request_headers(&[(":path", "/llm/llama/v1/chat/completions")], false));
    talk.say(request_body(br#"{"model":"llama"}"#, true));
    let answers = talk.say(response_headers(JSON, false));
    assert_eq!((kinds(&answers), common(&answers[0])), (vec!["response_headers"], Default::default()));
    assert_eq!(chunk(&common(&talk.say(response_body(b"{\"a\":", false))[0])), (b"{\"a\":".to_vec(), false));
    assert_eq!(chunk(&common(&talk.say(response_body(b"1}", true))[0])), (b"1}".to_vec(), true));
    let big = vec![b'x'; 130_000];
    let answers = talk.say(response_body(&big, true));
    let sizes: Vec<_> = answers.iter().map(|a| chunk(&common(a))).map(|(b, last)| (b.len(), last)).collect();
    assert_eq!(sizes, [(62_000, false), (62_000, false), (6_000, true)]);
}

#[test]
fn trailers_end_a_body() {
    let mut talk = World::new().talk();
    talk.say(request_headers(&[(":path", CLAUDE)], false));
    assert!(talk.say(request_body(with_messages(json!({})).as_bytes(), false)).is_empty());
    let answers = talk.say(request_trailers());
    assert_eq!(kinds(&answers), ["request_headers", "request_body", "request_trailers"]);
    assert!(!chunk(&common(&answers[1])).1, "the trailers are the end");

    talk.say(response_headers(JSON, false));
    assert!(talk.say(response_body(br#"{"type":"message"}"#, false)).is_empty());
    let answers = talk.say(response_trailers());
    assert_eq!(kinds(&answers), ["response_headers", "response_body", "response_trailers"]);

    let mut talk = World::new().talk();
    talk.say(request_headers(&[(":path", CLAUDE)], false));
    talk.say(request_body(with_messages(json!({"stream": true})).as_bytes(), true));
    talk.say(response_headers(EVENTS, false));
    let answers = talk.say(response_trailers());
    assert_eq!(
        kinds(&answers),
        ["response_body", "response_trailers"],
        "the stream ended early, and the client is told"
    );
}

#[test]
fn a_buffered_response_is_answered_in_one_piece() {
    let world = World::with(&PluginSpec::maas(), BodyMode::Buffered);
    let mut talk = world.talk();
    talk.say(request_headers(&[(":path", CLAUDE)], false));
    let answers = talk.say(request_body(with_messages(json!({})).as_bytes(), true));
    let (sent, _) = chunk(&common(&answers[0]));
    let mut headers = Default::default();
    apply(&mut headers, &common(&answers[0]));
    assert_eq!(
        (headers["content-length"].as_str(), headers[":path"].as_str()),
        (sent.len().to_string().as_str(), "/v1/messages")
    );

    assert_eq!(kinds(&talk.say(response_headers(JSON, false))), ["response_headers"]);
    let answers = talk.say(response_body(br#"{"type":"error","error":{"type":"t","message":"m"}}"#, true));
    assert_eq!(kinds(&answers), ["response_body"]);
    assert!(chunk(&common(&answers[0])).0.starts_with(br#"{"error":"#));

    let mut talk = world.talk();
    talk.say(request_headers(&[(":path", "/llm/llama/x")], false));
    talk.say(request_body(br#"{"model":"llama"}"#, true));
    talk.say(response_headers(JSON, false));
    assert_eq!(common(&talk.say(response_body(b"{}", true))[0]), Default::default());
}

/// The filter's configuration decides, not a flag that has to agree with it.
#[test]
fn the_body_mode_is_the_one_envoy_names() {
    let first = |mode| by_envoy(request_headers(&[(":path", "/llm/llama/x")], false), mode);
    let body = request_body(br#"{"model":"llama"}"#, true);
    let mut talk = World::with(&PluginSpec::maas(), BodyMode::Buffered).talk();
    assert!(talk.say(first(BodySendMode::FullDuplexStreamed)).is_empty());
    assert_eq!(kinds(&talk.say(body.clone())), ["request_headers", "request_body"]);
    let mut talk = World::new().talk();
    assert_eq!(kinds(&talk.say(first(BodySendMode::Buffered))), ["request_headers"]);
    assert_eq!(kinds(&talk.say(body)), ["request_body"]);
    let status = World::new().run(vec![first(BodySendMode::Streamed)]).remove(0).unwrap_err();
    assert!(status.message().contains("FULL_DUPLEX_STREAMED or BUFFERED"), "{status}");
}

/// To Envoy the end of a stream means that the rest stays as it is; others are answered until they have enough.
#[test]
fn responses_that_nobody_changes_need_not_be_shown() {
    for (path, model, left) in [
        ("/llm/llama/v1/chat/completions", "llama", true),
        (GPT, "gpt-4o", true),
        ("/llm/bedrock/v1/chat/completions", "nova-x", true),
        (CLAUDE, "claude-x", false),
        ("/llm/azure/v1/chat/completions", "gpt-az", false),
    ] {
        for mode in [BodySendMode::FullDuplexStreamed, BodySendMode::Buffered] {
            let body = json!({"model": model, "messages": [{"role": "user", "content": "Hi"}]}).to_string();
            let mut messages = vec![
                by_envoy(request_headers(&[(":path", path)], false), mode),
                request_body(body.as_bytes(), true),
                response_headers(JSON, false),
                response_body(br#"{"choices":[]}"#, true),
            ];
            let answers = World::new().run(messages.clone());
            let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
            assert_eq!(kinds(&answers[..2]), ["request_headers", "request_body"]);
            assert_eq!(answers.len() == 2, left, "{path} {mode:?}: {:?}", kinds(&answers));

            messages[0].protocol_config = None;
            assert!(World::new().run(messages).len() > 2, "somebody else has to be answered");
        }
    }
}

/// As long as something of the request is to come, the stream stays open.
#[test]
fn a_request_with_trailers_is_over_after_them() {
    let messages = vec![
        by_envoy(request_headers(&[(":path", "/llm/llama/x")], false), BodySendMode::FullDuplexStreamed),
        request_body(br#"{"model":"llama"}"#, false),
        request_trailers(),
        response_headers(JSON, false),
    ];
    let answers: Vec<_> = World::new().run(messages).into_iter().map(Result::unwrap).collect();
    assert_eq!(kinds(&answers), ["request_headers", "request_body", "request_trailers"]);
}
