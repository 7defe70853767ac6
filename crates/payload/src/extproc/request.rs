//! The way to the provider.

use bytes::Bytes;

use crate::exchange::{Cycle, Exchange};
use crate::failure::{Code, Failure};
use crate::headers::{Changes, Headers};

use super::limits::{Buffer, Overflow};
use super::session::{Answers, BodyMode, Settings};
use super::wire::{self, HttpBody, HttpHeaders, Side};

/// Where the request stands.
pub(super) struct RequestSide {
    pub(super) mode: BodyMode,
    state: State,
    /// The last of the request has been answered.
    answered: bool,
}

enum State {
    /// Collecting the body.
    Collecting { headers: Headers, buffer: Buffer },
    /// Nobody needs to read the body: it is passed on as it comes.
    Passing,
    /// Answered.
    Done,
}

impl RequestSide {
    pub(super) fn new(settings: &Settings) -> RequestSide {
        let state = State::Collecting { headers: Headers::default(), buffer: Buffer::new(&settings.limits) };
        RequestSide { mode: settings.mode, state, answered: false }
    }

    /// True if nothing more comes from the client.
    pub(super) fn is_answered(&self) -> bool {
        self.answered
    }

    pub(super) fn headers(
        &mut self,
        settings: &Settings,
        message: HttpHeaders,
        answers: &mut Answers,
    ) -> Result<(), Failure> {
        let mut headers = wire::read_headers(message.headers);
        if let Some(id) = headers.text("x-request-id") {
            tracing::Span::current().record("x_request_id", id);
        }
        if message.end_of_stream || settings.chain.may_pass_unread(&headers) {
            settings.chain.bodyless(&mut headers);
            answers.push_back(answer_to(&headers));
            self.state = if message.end_of_stream { State::Done } else { State::Passing };
            self.answered = message.end_of_stream;
            return Ok(());
        }
        let announced = headers.text("content-length").and_then(|length| length.trim().parse::<u64>().ok());
        if announced.is_some_and(|length| length > settings.limits.max_body as u64) {
            return Err(too_large(settings, Overflow::Body));
        }
        if self.mode == BodyMode::Buffered {
            answers.push_back(wire::headers_unchanged(Side::Request));
        }
        self.state = State::Collecting { headers, buffer: Buffer::new(&settings.limits) };
        Ok(())
    }

    pub(super) async fn body(
        &mut self,
        settings: &Settings,
        message: HttpBody,
        cycle: &mut Cycle,
        answers: &mut Answers,
    ) -> Result<(), Failure> {
        match &mut self.state {
            State::Collecting { buffer, .. } => {
                buffer.reserve(message.body.len()).map_err(|overflow| too_large(settings, overflow))?;
                buffer.push(message.body);
                if message.end_of_stream || self.mode == BodyMode::Buffered {
                    self.finish(settings, cycle, message.end_of_stream, answers).await?;
                }
            }
            State::Passing => match self.mode {
                BodyMode::Duplex => {
                    answers.extend(wire::streamed_body(
                        Side::Request,
                        message.body.into(),
                        message.end_of_stream,
                    ));
                }
                BodyMode::Buffered => answers.push_back(wire::body(Side::Request, None)),
            },
            State::Done => answers.push_back(wire::body(Side::Request, None)),
        }
        self.answered = message.end_of_stream;
        Ok(())
    }

    /// Trailers end a body whose last chunk did not say so.
    pub(super) async fn trailers(
        &mut self,
        settings: &Settings,
        cycle: &mut Cycle,
        answers: &mut Answers,
    ) -> Result<(), Failure> {
        if matches!(self.state, State::Collecting { .. }) && self.mode == BodyMode::Duplex {
            self.finish(settings, cycle, false, answers).await?;
        }
        answers.push_back(wire::trailers(Side::Request));
        self.answered = true;
        Ok(())
    }

    /// The body is complete: runs the chain. `end` says whether the body ends the request.
    async fn finish(
        &mut self,
        settings: &Settings,
        cycle: &mut Cycle,
        end: bool,
        answers: &mut Answers,
    ) -> Result<(), Failure> {
        let State::Collecting { headers, mut buffer } = std::mem::replace(&mut self.state, State::Done)
        else {
            return Ok(());
        };
        let mut exchange = Exchange::new(headers, buffer.take());
        settings.chain.request(&mut exchange).await?;
        *cycle = std::mem::take(&mut exchange.cycle);
        let changed = exchange.changed_body();
        match self.mode {
            BodyMode::Duplex => {
                let body = changed.unwrap_or_else(|| exchange.received().clone());
                let changes = with_length(exchange.headers.changes(), &body);
                answers.push_back(wire::headers_changed(Side::Request, &changes));
                answers.extend(wire::streamed_body(Side::Request, body, end));
            }
            BodyMode::Buffered => {
                let changes = match &changed {
                    Some(body) => with_length(exchange.headers.changes(), body),
                    None => exchange.headers.changes().clone(),
                };
                answers.push_back(wire::body(Side::Request, Some((&changes, changed))));
            }
        }
        Ok(())
    }
}

/// An answer to headers of a request whose body is not read.
fn answer_to(headers: &Headers) -> wire::ProcessingResponse {
    if *headers.changes() == Changes::default() {
        return wire::headers_unchanged(Side::Request);
    }
    wire::headers_changed(Side::Request, headers.changes())
}

/// The changes plus the length of the body that is sent.
pub(super) fn with_length(changes: &Changes, body: &Bytes) -> Changes {
    let mut changes = changes.clone();
    changes.set.retain(|(name, _)| name != "content-length");
    changes.set.push(("content-length".into(), body.len().to_string().into()));
    changes
}

fn too_large(settings: &Settings, overflow: Overflow) -> Failure {
    match overflow {
        Overflow::Body => {
            let message = format!("request body exceeds {} bytes", settings.limits.max_body);
            Failure::refused(Code::PayloadTooLarge, message)
        }
        Overflow::Total => {
            Failure::refused(Code::ServiceUnavailable, "too many request bodies in flight, try again later")
        }
    }
}
