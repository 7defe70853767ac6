//! Golden pairs: what a client says and what a provider gets, what a provider answers and what the client gets. The
//! cases follow the providers' public API documentation; `golden/README.md` tells how to add one.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::executor::block_on;
use proptest::prelude::*;
use quintet_payload::chain::{Chain, ResponsePlan};
use quintet_payload::config::PluginSpec;
use quintet_payload::exchange::{Cycle, Exchange, External};
use quintet_payload::headers::Headers;
use quintet_payload::plugins::Parts;
use quintet_payload::providers::StreamTranslator;
use serde_json::Value;

const NOW: i64 = 1_700_000_000;

/// Provider, and how many cases of each sort it has at least: a case that is lost must not pass unseen.
const PROVIDERS: [(&str, [usize; 4]); 5] = [
    ("anthropic", [36, 9, 5, 10]),
    ("azure-openai", [2, 3, 2, 3]),
    ("bedrock-openai", [3, 2, 1, 2]),
    ("openai", [3, 2, 1, 2]),
    ("vertex-openai", [3, 3, 1, 3]),
];

fn chain() -> Chain {
    let vertex = r#"{"vertexOpenAI":{"project":"p","location":"us-central1","endpoint":"openapi"}}"#;
    let spec: PluginSpec = format!("api-translation:api-translation:{vertex}").parse().unwrap();
    Chain::build(&[spec], &Parts::default()).unwrap()
}

fn cycle(provider: &str) -> Cycle {
    let external = External { provider: provider.into(), model: "m".into(), ..External::default() };
    Cycle { external: Some(external), include_usage: false }
}

fn cases(provider: &str, sort: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(provider).join(sort);
    let mut all: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn each(sort: usize, mut check: impl FnMut(&str, &Path)) {
    for (provider, least) in PROVIDERS {
        let cases = cases(provider, ["request", "response", "error", "stream"][sort]);
        assert!(cases.len() >= least[sort], "{provider} has lost cases: {} of {}", cases.len(), least[sort]);
        cases.iter().for_each(|case| check(provider, case));
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn requests() {
    let chain = chain();
    each(0, |provider, path| {
        let case = read(path);
        let sent = Bytes::from(case["client"].to_string());
        let headers = Headers::received([(":path", "/llm/m/v1/chat/completions")]);
        let mut exchange = Exchange::new(headers, sent.clone());
        exchange.cycle = cycle(provider);
        let outcome = block_on(chain.request(&mut exchange));
        let shown = path.display();
        if let Some(expected) = case.get("error") {
            assert_eq!(outcome.expect_err("refused").to_string(), expected.as_str().unwrap(), "{shown}");
            return;
        }
        outcome.unwrap_or_else(|e| panic!("{shown}: {e}"));
        match case.get("provider") {
            Some(expected) => {
                let got: Value =
                    serde_json::from_slice(&exchange.changed_body().expect("translated")).unwrap();
                assert_eq!(&got, expected, "{shown}");
            }
            None => {
                assert_eq!(
                    case["unchanged"], true,
                    "{shown}: says neither what is sent nor that nothing changes"
                );
                assert_eq!(exchange.changed_body(), None, "{shown}");
                assert_eq!(exchange.received(), &sent, "{shown}");
            }
        }
    });
}

fn check_answer(chain: &Chain, provider: &str, path: &Path) {
    let case = read(path);
    let received = Bytes::from(case["provider"].to_string());
    let got = chain.response(&cycle(provider), &received, NOW);
    let got: Option<Value> = got.map(|body| serde_json::from_slice(&body).unwrap());
    match case.get("client") {
        // Arguments are JSON inside a string, whose spacing is the provider's: compare what they mean.
        Some(expected) => assert_eq!(
            got.map(parse_arguments),
            Some(parse_arguments(expected.clone())),
            "{}",
            path.display()
        ),
        None => assert_eq!((got, &case["unchanged"]), (None, &Value::Bool(true)), "{}", path.display()),
    }
}

fn parse_arguments(mut answer: Value) -> Value {
    let calls = answer.pointer_mut("/choices/0/message/tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        let arguments = &mut call["function"]["arguments"];
        *arguments = serde_json::from_str(arguments.as_str().unwrap()).unwrap();
    }
    answer
}

#[test]
fn responses() {
    let chain = chain();
    each(1, |provider, path| check_answer(&chain, provider, path));
}

#[test]
fn errors() {
    let chain = chain();
    each(2, |provider, path| check_answer(&chain, provider, path));
}

/// The translator a response with an event stream gets; `None` if it is passed on untouched.
fn translator(chain: &Chain, provider: &str, case: &Path) -> Option<Box<dyn StreamTranslator>> {
    let cycle = Cycle { include_usage: case.join("include_usage").exists(), ..cycle(provider) };
    let headers = Headers::received([("content-type", "text/event-stream; charset=utf-8")]);
    match chain.plan_response(&cycle, &headers, NOW) {
        ResponsePlan::Stream(translator) => Some(translator),
        ResponsePlan::Pass => None,
        ResponsePlan::Whole => panic!("an event stream is never held back"),
    }
}

fn translate(chain: &Chain, provider: &str, case: &Path, chunks: &[&[u8]]) -> String {
    let out = match translator(chain, provider, case) {
        Some(mut translator) => {
            let mut out: Vec<u8> = chunks.iter().flat_map(|chunk| translator.push(chunk)).collect();
            out.extend(translator.finish());
            out
        }
        None => chunks.concat(),
    };
    String::from_utf8(out).unwrap()
}

#[test]
fn streams() {
    let chain = chain();
    each(3, |provider, case| {
        let sent = fs::read(case.join("provider.sse")).unwrap();
        let expected = fs::read_to_string(case.join("client.sse")).unwrap();
        assert_eq!(translate(&chain, provider, case, &[&sent]), expected, "{}", case.display());
        let bytes: Vec<&[u8]> = sent.chunks(1).collect();
        assert_eq!(translate(&chain, provider, case, &bytes), expected, "{} byte by byte", case.display());
    });
}

#[test]
fn a_token_is_sent_on_as_soon_as_its_event_is_complete() {
    let chain = chain();
    for (provider, event) in [
        (
            "anthropic",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n",
        ),
        ("azure-openai", "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n"),
    ] {
        let mut translator = translator(&chain, provider, Path::new("none")).unwrap();
        let out = String::from_utf8(translator.push(event.as_bytes()).to_vec()).unwrap();
        assert!(out.contains("Hi") && out.ends_with("\n\n"), "{provider}: {out}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_cut_of_a_stream_changes_the_result(cuts in prop::collection::vec(any::<usize>(), 0..40)) {
        let chain = chain();
        each(3, |provider, case| {
            let sent = fs::read(case.join("provider.sse")).unwrap();
            let expected = fs::read_to_string(case.join("client.sse")).unwrap();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut % (sent.len() + 1)).chain([0, sent.len()]).collect();
            at.sort_unstable();
            let chunks: Vec<&[u8]> = at.windows(2).map(|w| &sent[w[0]..w[1]]).collect();
            assert_eq!(translate(&chain, provider, case, &chunks), expected, "{}", case.display());
        });
    }
}
