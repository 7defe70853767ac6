//! A conversation with the service, without sockets.

#![allow(dead_code, unreachable_pub)] // each test target uses its part

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use envoy_types::pb::envoy::config::core::v3::{HeaderMap, HeaderValue};
pub use envoy_types::pb::envoy::extensions::filters::http::ext_proc::v3::processing_mode::BodySendMode;
use envoy_types::pb::envoy::service::ext_proc::v3::{
    CommonResponse, ProtocolConfiguration, body_mutation::Mutation,
};
use futures::executor::block_on;
use futures::{StreamExt, stream};
use quintet_payload::chain::Chain;
use quintet_payload::config::PluginSpec;
use quintet_payload::extproc::wire::{
    HttpBody, HttpHeaders, HttpTrailers, ProcessingRequest, ProcessingResponse, Request, Response,
};
use quintet_payload::extproc::{BodyMode, Limits, Service, Session, Settings};
use quintet_payload::metrics::Metrics;
use quintet_payload::plugins::Parts;
use quintet_payload::stores::{Credential, Key, Model, Stores};

pub const NOW: i64 = 1_700_000_000;

/// The models and keys of the spec's scenarios, and a service over them.
pub struct World {
    pub stores: Arc<Stores>,
    pub metrics: Metrics,
    pub settings: Settings,
}

pub fn key(name: &str) -> Key {
    ("llm".into(), name.into())
}

pub fn model(provider: &str, target: &str, credential: &str) -> Model {
    Model {
        provider: provider.into(),
        target_model: target.into(),
        endpoint: format!("{provider}.example"),
        credential: credential.into(),
        created: 1,
    }
}

pub fn credential(name: &str, value: &str) -> Credential {
    Credential::new(&key(name), [("api-key".to_owned(), value.to_owned())]).unwrap()
}

/// The stores of the scenarios, plus one model for every other provider.
pub fn stores() -> Arc<Stores> {
    let stores = Stores::default();
    for (name, provider, target, secret, value) in [
        ("claude", "anthropic", "claude-x", "k", "sk-1"),
        ("gpt", "openai", "gpt-4o", "k2", "sk-2"),
        ("azure", "azure-openai", "gpt-az", "k3", "sk-3"),
        ("vertex", "vertex-openai", "gemini-x", "k4", "sk-4"),
        ("bedrock", "bedrock-openai", "nova-x", "k5", "sk-5"),
    ] {
        stores.models.insert(key(name), model(provider, target, secret));
        stores.credentials.insert(key(secret), credential(secret, value));
    }
    Arc::new(stores)
}

impl World {
    pub fn new() -> World {
        World::with(&PluginSpec::maas(), BodyMode::Duplex)
    }

    pub fn with(specs: &[PluginSpec], mode: BodyMode) -> World {
        let parts = Parts { stores: stores(), metrics: Metrics::default() };
        let chain = Arc::new(Chain::build(specs, &parts).unwrap());
        let settings = Settings { now: || NOW, ..Settings::new(chain, mode) };
        World { stores: parts.stores, metrics: parts.metrics, settings }
    }

    pub fn limited(mut self, max_body: usize, total: usize) -> World {
        self.settings.limits = Limits::new(max_body, total);
        self
    }

    pub fn talk(&self) -> Talk {
        Talk { session: Session::new(&self.settings) }
    }

    /// Sends all messages and collects all answers, through the gRPC service's own loop.
    pub fn run(&self, messages: Vec<ProcessingRequest>) -> Vec<Result<ProcessingResponse, tonic::Status>> {
        block_on(
            Service::new(self.settings.clone()).answers(stream::iter(messages.into_iter().map(Ok))).collect(),
        )
    }

    /// A POST of `body` to `path`: what becomes of it.
    pub fn post(&self, path: &str, body: &str) -> Outcome {
        self.send(
            &[(":method", "POST"), (":path", path), ("content-type", "application/json")],
            body.as_bytes(),
        )
    }

    pub fn send(&self, headers: &[(&str, &str)], body: &[u8]) -> Outcome {
        let answers = self.run(vec![request_headers(headers, false), request_body(body, true)]);
        outcome(headers, answers)
    }
}

/// A session, one message at a time.
pub struct Talk {
    session: Session,
}

impl Talk {
    pub fn say(&mut self, message: ProcessingRequest) -> Vec<ProcessingResponse> {
        let mut answers = VecDeque::new();
        block_on(self.session.handle(message, &mut answers)).unwrap();
        answers.into()
    }
}

/// What Envoy would make of the answers to a request.
#[derive(Debug)]
pub enum Outcome {
    /// It goes on with these headers and this body.
    Forwarded { headers: BTreeMap<String, String>, body: Vec<u8>, cleared: bool },
    /// The client gets this.
    Refused { status: i32, text: String },
    /// The gRPC stream fails.
    Failed(tonic::Status),
}

impl Outcome {
    pub fn forwarded(self) -> (BTreeMap<String, String>, Vec<u8>) {
        match self {
            Outcome::Forwarded { headers, body, .. } => (headers, body),
            other => panic!("not forwarded: {other:?}"),
        }
    }

    pub fn refused(self) -> (i32, String) {
        match self {
            Outcome::Refused { status, text } => (status, text),
            other => panic!("not refused: {other:?}"),
        }
    }
}

fn outcome(received: &[(&str, &str)], answers: Vec<Result<ProcessingResponse, tonic::Status>>) -> Outcome {
    let mut headers: BTreeMap<String, String> =
        received.iter().map(|(k, v)| (k.to_lowercase(), (*v).to_owned())).collect();
    let (mut body, mut cleared) = (Vec::new(), false);
    for answer in answers {
        match answer {
            Err(status) => return Outcome::Failed(status),
            Ok(ProcessingResponse { response: Some(Response::ImmediateResponse(refusal)), .. }) => {
                let text = String::from_utf8(refusal.body).unwrap();
                return Outcome::Refused { status: refusal.status.unwrap().code, text };
            }
            Ok(answer) => {
                let common = common(&answer);
                cleared |= common.clear_route_cache;
                apply(&mut headers, &common);
                body.extend(chunk(&common).0);
            }
        }
    }
    Outcome::Forwarded { headers, body, cleared }
}

/// Applies a mutation as Envoy does: removals, then sets, names in lower case.
pub fn apply(headers: &mut BTreeMap<String, String>, common: &CommonResponse) {
    let Some(mutation) = &common.header_mutation else { return };
    for name in &mutation.remove_headers {
        headers.remove(&name.to_lowercase());
    }
    for option in &mutation.set_headers {
        let header = option.header.as_ref().unwrap();
        assert!(header.value.is_empty(), "values go into raw_value");
        headers.insert(header.key.to_lowercase(), String::from_utf8(header.raw_value.clone()).unwrap());
    }
}

/// The CommonResponse of any answer, empty if there is none.
pub fn common(answer: &ProcessingResponse) -> CommonResponse {
    match answer.response.as_ref().unwrap() {
        Response::RequestHeaders(h) | Response::ResponseHeaders(h) => h.response.clone(),
        Response::RequestBody(b) | Response::ResponseBody(b) => b.response.clone(),
        _ => None,
    }
    .unwrap_or_default()
}

/// The streamed chunk of a CommonResponse and whether it is the last.
pub fn chunk(common: &CommonResponse) -> (Vec<u8>, bool) {
    match common.body_mutation.as_ref().and_then(|m| m.mutation.clone()) {
        Some(Mutation::StreamedResponse(chunk)) => (chunk.body, chunk.end_of_stream),
        Some(Mutation::Body(body)) => (body, false),
        _ => (vec![], false),
    }
}

/// What kind of answer each is, for comparing sequences.
pub fn kinds(answers: &[ProcessingResponse]) -> Vec<&'static str> {
    answers
        .iter()
        .map(|answer| match answer.response.as_ref().unwrap() {
            Response::RequestHeaders(_) => "request_headers",
            Response::ResponseHeaders(_) => "response_headers",
            Response::RequestBody(_) => "request_body",
            Response::ResponseBody(_) => "response_body",
            Response::RequestTrailers(_) => "request_trailers",
            Response::ResponseTrailers(_) => "response_trailers",
            Response::ImmediateResponse(_) => "immediate_response",
            Response::StreamedImmediateResponse(_) => "streamed_immediate_response",
        })
        .collect()
}

fn message(request: Request) -> ProcessingRequest {
    ProcessingRequest { request: Some(request), ..Default::default() }
}

fn headers(pairs: &[(&str, &str)], end_of_stream: bool) -> HttpHeaders {
    let headers = pairs.iter().map(|(key, value)| HeaderValue {
        key: (*key).to_owned(),
        raw_value: value.as_bytes().to_vec(),
        ..Default::default()
    });
    let headers = Some(HeaderMap { headers: headers.collect() });
    HttpHeaders { headers, end_of_stream, ..Default::default() }
}

pub fn request_headers(pairs: &[(&str, &str)], end: bool) -> ProcessingRequest {
    message(Request::RequestHeaders(headers(pairs, end)))
}

/// The same message as Envoy's first one: it names the mode of the bodies.
pub fn by_envoy(mut message: ProcessingRequest, mode: BodySendMode) -> ProcessingRequest {
    let (request_body_mode, response_body_mode) = (mode.into(), mode.into());
    message.protocol_config =
        Some(ProtocolConfiguration { request_body_mode, response_body_mode, ..Default::default() });
    message
}

pub fn request_body(body: &[u8], end_of_stream: bool) -> ProcessingRequest {
    message(Request::RequestBody(HttpBody { body: body.to_vec(), end_of_stream, ..Default::default() }))
}

pub fn request_trailers() -> ProcessingRequest {
    message(Request::RequestTrailers(HttpTrailers::default()))
}

pub fn response_headers(pairs: &[(&str, &str)], end: bool) -> ProcessingRequest {
    message(Request::ResponseHeaders(headers(pairs, end)))
}

pub fn response_body(body: &[u8], end_of_stream: bool) -> ProcessingRequest {
    message(Request::ResponseBody(HttpBody { body: body.to_vec(), end_of_stream, ..Default::default() }))
}

pub fn response_trailers() -> ProcessingRequest {
    message(Request::ResponseTrailers(HttpTrailers::default()))
}

pub const JSON: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/json")];
pub const EVENTS: &[(&str, &str)] =
    &[(":status", "200"), ("content-type", "text/event-stream; charset=utf-8")];
