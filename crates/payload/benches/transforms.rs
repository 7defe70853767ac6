//! What the transforms cost, without sockets.

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures::executor::block_on;
use quintet_payload::chain::Chain;
use quintet_payload::config::PluginSpec;
use quintet_payload::exchange::{Cycle, Exchange, External};
use quintet_payload::headers::Headers;
use quintet_payload::json::Object;
use quintet_payload::plugins::Parts;
use quintet_payload::providers::{Provider, StreamTranslator as _, anthropic};
use quintet_payload::stores::{Credential, Model};

fn chain() -> Chain {
    let parts = Parts::default();
    for (name, provider) in [("claude", "anthropic"), ("gpt", "openai")] {
        let key = ("llm".to_owned(), name.to_owned());
        let model = Model {
            provider: provider.into(),
            target_model: name.into(),
            credential: name.into(),
            ..Model::default()
        };
        parts.stores.models.insert(key.clone(), model);
        let credential = Credential::new(&key, [("api-key".to_owned(), "sk".to_owned())]).expect("filled");
        parts.stores.credentials.insert(key, credential);
    }
    Chain::build(&PluginSpec::maas(), &parts).expect("valid")
}

/// A chat request of about 2 KB.
fn chat(model: &str) -> Bytes {
    let turn = r#"{"role":"user","content":"Tell me, in a few words, what the weather will be like tomorrow."},{"role":"assistant","content":"Sunny, with a light breeze."}"#;
    Bytes::from(format!(
        r#"{{"model":"{model}","max_tokens":100,"messages":[{},{{"role":"user","content":"And then?"}}]}}"#,
        [turn; 12].join(",")
    ))
}

fn requests(criterion: &mut Criterion) {
    let chain = Arc::new(chain());
    let mut group = criterion.benchmark_group("request of 2 KB");
    for (case, path, model) in [
        ("internal", "/llm/llama/v1/chat/completions", "llama"),
        ("openai", "/llm/gpt/v1/chat/completions", "gpt"),
        ("anthropic", "/llm/claude/v1/chat/completions", "claude"),
    ] {
        let body = chat(model);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(case, |bencher| {
            bencher.iter(|| {
                let headers = Headers::received([
                    (":path", path),
                    (":method", "POST"),
                    ("content-type", "application/json"),
                ]);
                let mut exchange = Exchange::new(headers, body.clone());
                block_on(chain.request(&mut exchange)).expect("accepted");
                black_box(exchange.changed_body())
            });
        });
    }
}

fn answers(criterion: &mut Criterion) {
    let external = External { provider: "anthropic".into(), model: "m".into(), ..External::default() };
    let cycle = Cycle { external: Some(external), include_usage: true };
    let whole = Bytes::from(format!(
        r#"{{"id":"msg_1","type":"message","content":[{{"type":"text","text":"{}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":10,"output_tokens":5}}}}"#,
        "word ".repeat(400)
    ));
    criterion.bench_function("anthropic answer of 2 KB", |bencher| {
        bencher.iter(|| {
            Provider::Anthropic
                .response(&cycle, &Object::parse(&whole).expect("valid"), 0)
                .map(Object::into_text)
        });
    });
    let event = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n";
    criterion.bench_function("anthropic event", |bencher| {
        let mut stream = anthropic::Stream::new(&cycle, 0);
        bencher.iter(|| black_box(stream.push(event.as_bytes())));
    });
}

criterion_group!(benches, requests, answers);
criterion_main!(benches);
