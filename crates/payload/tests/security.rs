//! What must hold whatever a client, a tenant or a provider sends.

mod support;

use quintet_payload::config::PluginSpec;
use quintet_payload::extproc::BodyMode;
use support::*;

const GPT: &str = "/llm/gpt/v1/chat/completions";
const CHAT: &str = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#;

#[test]
fn a_body_that_names_another_tenants_model_gets_neither_route_nor_key() {
    let world = World::new();
    // On an external model's path: refused.
    assert_eq!(world.post("/llm/claude/v1/chat/completions", CHAT).refused().0, 404);
    // On any other path: goes on without the header that would route, and without a key.
    for path in ["/team/own-model/v1/chat/completions", "/v1/chat/completions", "/"] {
        let (headers, body) = world.post(path, CHAT).forwarded();
        assert!(!headers.contains_key("x-gateway-model-name"), "{path}");
        assert!(!headers.contains_key("authorization"), "{path}");
        assert_eq!((headers[":path"].as_str(), body.as_slice()), (path, CHAT.as_bytes()));
    }
}

#[test]
fn a_header_that_claims_a_route_does_not_survive() {
    let world = World::new();
    let claim = ("x-gateway-model-name", "gpt-4o");
    // With a body that names no model, with one that is no JSON, and with none at all.
    for (body, kind) in [("{}", "application/json"), ("a=b", "application/x-www-form-urlencoded")] {
        let outcome =
            world.send(&[(":path", "/llm/llama/x"), ("content-type", kind), claim], body.as_bytes());
        let Outcome::Forwarded { headers, cleared, body: sent } = outcome else { panic!("{outcome:?}") };
        assert!(!headers.contains_key("x-gateway-model-name") && cleared, "{kind}");
        assert_eq!(sent, body.as_bytes());
    }
    let answers = world.run(vec![request_headers(&[(":path", "/x"), claim], true)]);
    let common = common(answers[0].as_ref().unwrap());
    assert!(common.clear_route_cache);
    assert_eq!(common.header_mutation.unwrap().remove_headers, ["x-gateway-model-name"]);
    // With a body that names one, the body counts.
    let (headers, _) = world.send(&[(":path", "/llm/llama/x"), claim], br#"{"model":"llama"}"#).forwarded();
    assert_eq!(headers["x-gateway-model-name"], "llama");
}

#[test]
fn the_callers_credentials_never_reach_a_provider() {
    let caller = [
        ("authorization", "Bearer sk-oai-mine"),
        ("x-api-key", "mine"),
        ("api-key", "mine"),
        ("x-goog-api-key", "mine"),
    ];
    for (path, model, own) in [
        (GPT, "gpt-4o", "authorization"),
        ("/llm/claude/v1/chat/completions", "claude-x", "x-api-key"),
        ("/llm/azure/v1/chat/completions", "gpt-az", "api-key"),
        ("/llm/bedrock/v1/chat/completions", "nova-x", "authorization"),
    ] {
        let body = CHAT.replace("gpt-4o", model);
        let headers = [&[(":path", path)], &caller[..]].concat();
        let (headers, _) = World::new().send(&headers, body.as_bytes()).forwarded();
        for (name, _) in caller {
            assert_eq!(headers.contains_key(name), name == own, "{path}: {name}");
        }
        assert!(headers.values().all(|value| !value.contains("mine")), "{path}");
    }
}

#[test]
fn a_key_goes_to_its_own_provider_only() {
    let keys = ["sk-1", "sk-2", "sk-3", "sk-5"];
    for (path, model, key) in [
        (GPT, "gpt-4o", "sk-2"),
        ("/llm/claude/v1/chat/completions", "claude-x", "sk-1"),
        ("/llm/azure/v1/chat/completions", "gpt-az", "sk-3"),
        ("/llm/bedrock/v1/chat/completions", "nova-x", "sk-5"),
    ] {
        let (headers, body) = World::new().post(path, &CHAT.replace("gpt-4o", model)).forwarded();
        let all = format!("{headers:?} {}", String::from_utf8_lossy(&body));
        for other in keys {
            assert_eq!(all.matches(other).count(), usize::from(other == key), "{path}: {other}");
        }
    }
}

#[test]
fn an_older_endpoint_with_the_same_target_does_not_get_the_key() {
    let world = World::new();
    let mut older = model("openai", "gpt-4o", "k");
    (older.endpoint, older.created) = ("elsewhere.example".into(), 0);
    world.stores.models.insert(("other".into(), "gpt".into()), older);
    let (status, text) = world.post(GPT, CHAT).refused();
    assert_eq!(status, 503);
    assert!(
        text.contains("'llm/gpt'") && !text.contains("other/gpt") && !text.contains("elsewhere"),
        "{text}"
    );
}

#[test]
fn refusals_say_nothing_of_secrets() {
    let world = World::new();
    world.stores.credentials.remove(&key("k2"));
    for (path, body) in [(GPT, CHAT), (GPT, "{"), (GPT, "{}"), ("/llm/gpt/v1/embeddings", CHAT)] {
        let (_, text) = world.post(path, body).refused();
        assert!(!text.contains("sk-") && !text.contains("k2"), "{text}");
    }
}

#[test]
fn oversized_bodies_are_refused_early_and_release_their_memory() {
    let world = World::new().limited(1000, 100_000);
    let text = (413, "inference error: PayloadTooLarge - request body exceeds 1000 bytes".to_owned());
    // Announced: before any of it is read.
    let answers = world.run(vec![request_headers(&[(":path", GPT), ("content-length", "1001")], false)]);
    assert_eq!(kinds(&[answers[0].clone().unwrap()]), ["immediate_response"]);
    // Not announced: as soon as it is too much.
    let chunk = vec![b' '; 400];
    let messages = vec![
        request_headers(&[(":path", GPT)], false),
        request_body(&chunk, false),
        request_body(&chunk, false),
        request_body(&chunk, false),
    ];
    let answers = world.run(messages);
    assert_eq!(kinds(&[answers[0].clone().unwrap()]), ["immediate_response"]);
    assert_eq!(world.send(&[(":path", GPT)], &vec![b' '; 1001]).refused(), text);
    assert_eq!(world.settings.limits.used(), 0);
}

#[test]
fn bodies_in_flight_share_a_budget() {
    let world = World::new().limited(1000, 1500);
    let mut first = world.talk();
    first.say(request_headers(&[(":path", GPT)], false));
    first.say(request_body(&[b' '; 1000], false));
    assert_eq!(world.settings.limits.used(), 1000);
    assert_eq!(world.send(&[(":path", GPT)], &[b' '; 600]).refused().0, 503);
    drop(first); // its client went away
    assert_eq!(world.settings.limits.used(), 0);
    assert_eq!(world.post(GPT, CHAT).forwarded().0["authorization"], "Bearer sk-2");
}

#[test]
fn an_oversized_answer_is_passed_on_untranslated() {
    let world = World::new().limited(300, 10_000);
    let mut talk = world.talk();
    talk.say(request_headers(&[(":path", "/llm/claude/v1/chat/completions")], false));
    talk.say(request_body(CHAT.replace("gpt-4o", "claude-x").as_bytes(), true));
    assert!(talk.say(response_headers(JSON, false)).is_empty());
    assert!(talk.say(response_body(&[b'a'; 200], false)).is_empty());
    let answers = talk.say(response_body(&[b'b'; 200], false));
    assert_eq!(kinds(&answers), ["response_headers", "response_body", "response_body"]);
    let answers = talk.say(response_body(&[b'c'; 200], true));
    assert_eq!(chunk(&common(&answers[0])), (vec![b'c'; 200], true));
    assert_eq!(world.settings.limits.used(), 0);
}

#[test]
fn a_truncated_body_is_never_sent_on() {
    let world = World::new();
    let answers = world
        .run(vec![request_headers(&[(":path", GPT)], false), request_body(&CHAT.as_bytes()[..20], false)]);
    assert!(answers.is_empty());
    assert_eq!(world.settings.limits.used(), 0);
}

#[test]
fn a_slow_body_is_put_together_byte_by_byte() {
    let mut talk = World::new().talk();
    talk.say(request_headers(&[(":path", GPT)], false));
    let (last, rest) = CHAT.as_bytes().split_last().unwrap();
    for byte in rest {
        assert!(talk.say(request_body(&[*byte], false)).is_empty());
    }
    let answers = talk.say(request_body(&[*last], true));
    assert_eq!(chunk(&common(&answers[1])), (CHAT.as_bytes().to_vec(), true));
}

#[test]
fn compressed_bodies_are_refused_where_they_must_be_read_and_pass_elsewhere() {
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3];
    let headers =
        |path| [(":path", path), ("content-type", "application/json"), ("content-encoding", "gzip")];
    let (status, text) = World::new().send(&headers(GPT), &gzip).refused();
    assert_eq!(status, 400);
    assert!(text.ends_with("the body is compressed; send it without content-encoding"), "{text}");
    assert_eq!(World::new().send(&headers("/llm/llama/x"), &gzip).forwarded().1, gzip);
}

#[test]
fn a_compressed_answer_is_passed_on_and_not_mistaken() {
    let mut talk = World::new().talk();
    talk.say(request_headers(&[(":path", "/llm/claude/v1/chat/completions")], false));
    talk.say(request_body(CHAT.replace("gpt-4o", "claude-x").as_bytes(), true));
    let answers = talk.say(response_headers(&[JSON, &[("content-encoding", "gzip")]].concat(), false));
    assert_eq!((kinds(&answers), common(&answers[0])), (vec!["response_headers"], Default::default()));
    assert_eq!(chunk(&common(&talk.say(response_body(&[0x1f, 0x8b], true))[0])).0, [0x1f, 0x8b]);
}

#[test]
fn binary_bodies_pass_unread_unless_they_are_for_an_external_model() {
    let binary: Vec<u8> = (0..=255).collect();
    let world = World::new();
    let headers = |path| [(":path", path), ("content-type", "application/octet-stream")];
    assert_eq!(world.send(&headers("/maas-api/v1/upload"), &binary).forwarded().1, binary);
    assert_eq!(world.send(&headers(GPT), &binary).refused().0, 400);
    // Passed on as they come, so that an upload is not held.
    let mut talk = world.talk();
    assert_eq!(
        kinds(&talk.say(request_headers(&headers("/maas-api/v1/upload"), false))),
        ["request_headers"]
    );
    assert_eq!(chunk(&common(&talk.say(request_body(&binary, false))[0])), (binary.clone(), false));
    assert_eq!(world.settings.limits.used(), 0);
}

#[test]
fn invalid_utf8_is_refused_without_being_echoed() {
    let (status, text) = World::new().send(&[(":path", GPT)], b"{\"model\":\"gpt-4o\xff\"}").refused();
    assert_eq!(status, 400);
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn json_bombs_are_refused_without_harm() {
    let nested = "[".repeat(1_000_000);
    let deep = format!(r#"{{"model":"gpt-4o","messages":{nested}"#);
    let wide = format!(r#"{{"model":"gpt-4o",{}"messages":[1]}}"#, r#""a":0,"#.repeat(100_000));
    for body in [deep, wide] {
        let (status, text) = World::new().post(GPT, &body).refused();
        assert_eq!(status, 400);
        assert!(text.len() < 200, "{text}");
    }
    // Deep but allowed: goes through as it came, and through the translator.
    let inside = format!("{}{}", "[".repeat(9_000), "]".repeat(9_000));
    let schema = format!(
        r#"{{"model":"claude-x","messages":[{{"role":"user","content":"Hi"}}],"tools":[{{"function":{{"name":"f","parameters":{inside}}}}}]}}"#
    );
    let (_, sent) = World::new().post("/llm/claude/v1/chat/completions", &schema).forwarded();
    assert!(String::from_utf8(sent).unwrap().contains(&inside));
}

#[test]
fn a_repeated_field_cannot_smuggle_a_second_model() {
    let twice = r#"{"model":"expensive","messages":[1],"model":"gpt-4o"}"#;
    let (status, text) = World::new().post(GPT, twice).refused();
    assert_eq!((status, text.as_str()), (400, "inference error: BadRequest - field 'model' occurs twice"));
    let escaped = r#"{"mod\u0065l":"expensive","messages":[1],"model":"gpt-4o"}"#;
    assert_eq!(World::new().post(GPT, escaped).refused().0, 400);
}

#[test]
fn a_guard_is_not_passed_by_what_it_cannot_read() {
    let mut chain = PluginSpec::maas();
    chain.insert(0, r#"nemo-request-guard:n:{"nemoURL":"http://127.0.0.1:9/"}"#.parse().unwrap());
    let world = World::with(&chain, BodyMode::Duplex);
    let utf16: Vec<u8> = CHAT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let headers = [(":path", "/llm/llama/x"), ("content-type", "text/plain")];
    assert_eq!(world.send(&headers, &utf16).refused().0, 400);
    let twice = r#"{"messages":[{"role":"user","content":"bad"}],"messages":[]}"#;
    assert_eq!(world.send(&headers, twice.as_bytes()).refused().0, 400);
}

#[test]
fn metrics_hold_nothing_of_requests() {
    let world = World::new();
    world.post(GPT, CHAT).forwarded();
    world.post(GPT, &CHAT.replace("gpt-4o", "unknown-model")).refused();
    let text = world.metrics.encode();
    assert!(text.contains("bbr_success_total 1"), "{text}");
    for word in ["sk-2", "gpt-4o", "unknown-model", "llm"] {
        assert!(!text.contains(word), "{word}");
    }
}

/// Everything that is logged while requests and answers are processed, at the finest level.
#[derive(Clone, Default)]
struct Log(std::sync::Arc<parking_lot::Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn logs_hold_neither_keys_nor_words() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let world = World::new();
        let mut older = model("openai", "shared", "k");
        (older.endpoint, older.created) = ("elsewhere.example".into(), 0);
        world.stores.models.insert(("other".into(), "gpt".into()), older);
        world.stores.models.insert(key("shared"), model("openai", "shared", "k2"));
        let secret_words = CHAT.replace("Hi", "my secret words");
        let caller = [(":path", GPT), ("authorization", "Bearer sk-oai-mine"), ("x-request-id", "the-id")];
        world.send(&caller, secret_words.as_bytes()).forwarded();
        world.post("/llm/shared/v1/chat/completions", &secret_words.replace("gpt-4o", "shared")).refused();
        world.post(GPT, &secret_words[..60]).refused();
        world.stores.credentials.remove(&key("k2"));
        world.post(GPT, &secret_words).refused();
        let unsupported =
            world.post("/llm/vertex/v1/chat/completions", &secret_words.replace("gpt-4o", "gemini-x"));
        assert!(matches!(unsupported, Outcome::Failed(_)));
    });
    let text = String::from_utf8(log.0.lock().clone()).unwrap();
    assert!(text.contains("the-id") || text.contains("credentials not found"), "something is logged: {text}");
    for word in ["sk-", "secret words", "mine"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}
