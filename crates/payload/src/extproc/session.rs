//! One HTTP request, from its first header to the end of its response.

use std::collections::VecDeque;
use std::sync::Arc;

use envoy_types::pb::envoy::extensions::filters::http::ext_proc::v3::processing_mode::BodySendMode;

use crate::chain::Chain;
use crate::exchange::Cycle;
use crate::failure::Failure;

use super::limits::Limits;
use super::request::RequestSide;
use super::response::ResponseSide;
use super::wire::{ProcessingRequest, ProcessingResponse, Request};

/// How Envoy hands bodies over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyMode {
    /// `FULL_DUPLEX_STREAMED`: in chunks, answered in chunks of our own.
    Duplex,
    /// `BUFFERED`: in one message.
    Buffered,
}

/// What all sessions share.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The plugins.
    pub chain: Arc<Chain>,
    /// The body mode to assume when Envoy does not say.
    pub mode: BodyMode,
    /// Bounds on what is held.
    pub limits: Limits,
    /// Unix seconds.
    pub now: fn() -> i64,
}

impl Settings {
    /// Settings with the usual limits and the system's clock.
    pub fn new(chain: Arc<Chain>, mode: BodyMode) -> Settings {
        Settings { chain, mode, limits: Limits::default(), now: || jiff::Timestamp::now().as_second() }
    }
}

/// The answers to be sent, in order.
pub(super) type Answers = VecDeque<ProcessingResponse>;

/// The state of one stream.
pub struct Session {
    settings: Settings,
    cycle: Cycle,
    request: RequestSide,
    response: ResponseSide,
    /// Whether it is Envoy that asks: it says in its first message how it was set up.
    asked_by_envoy: bool,
}

impl Session {
    /// A stream on which nothing has arrived yet.
    pub fn new(settings: &Settings) -> Session {
        Session {
            request: RequestSide::new(settings),
            response: ResponseSide::new(settings),
            cycle: Cycle::default(),
            asked_by_envoy: false,
            settings: settings.clone(),
        }
    }

    /// Takes one message and adds what is to be answered now.
    pub async fn handle(&mut self, message: ProcessingRequest, answers: &mut Answers) -> Result<(), Failure> {
        if let Some(config) = &message.protocol_config {
            self.asked_by_envoy = true;
            self.request.mode = mode(config.request_body_mode, self.settings.mode)?;
            self.response.mode = mode(config.response_body_mode, self.settings.mode)?;
        }
        let settings = &self.settings;
        match message.request.ok_or_else(|| Failure::Plain("unknown request type".into()))? {
            Request::RequestHeaders(headers) => self.request.headers(settings, headers, answers)?,
            Request::RequestBody(body) => self.request.body(settings, body, &mut self.cycle, answers).await?,
            Request::RequestTrailers(_) => self.request.trailers(settings, &mut self.cycle, answers).await?,
            Request::ResponseHeaders(headers) => {
                self.response.headers(settings, headers, &self.cycle, answers)
            }
            Request::ResponseBody(body) => self.response.body(settings, body, &self.cycle, answers),
            Request::ResponseTrailers(_) => self.response.trailers(settings, &self.cycle, answers),
        }
        Ok(())
    }

    /// True if the stream may end: the request is answered, and nobody changes its response.
    ///
    /// To Envoy the end of a stream means that all the rest stays as it is. So a response that nobody translates is not
    /// sent to us and back, and a model that thinks for minutes keeps no stream open. Others than Envoy may not know
    /// that: they are answered until they have enough.
    pub fn is_over(&self) -> bool {
        self.asked_by_envoy && self.request.is_answered() && self.settings.chain.leaves_response(&self.cycle)
    }
}

/// The mode Envoy says it uses: more to be trusted than a flag that must agree with a filter elsewhere.
fn mode(said: i32, assumed: BodyMode) -> Result<BodyMode, Failure> {
    match BodySendMode::try_from(said) {
        Ok(BodySendMode::FullDuplexStreamed) => Ok(BodyMode::Duplex),
        Ok(BodySendMode::Buffered | BodySendMode::BufferedPartial) => Ok(BodyMode::Buffered),
        Ok(BodySendMode::None) => Ok(assumed), // no body will come
        _ => Err(Failure::Plain(format!(
            "body mode {said} is not supported: configure the filter with FULL_DUPLEX_STREAMED or BUFFERED"
        ))),
    }
}
