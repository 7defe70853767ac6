//! The way back to the client.

use bytes::Bytes;

use crate::chain::ResponsePlan;
use crate::exchange::Cycle;
use crate::headers::{Changes, Headers};
use crate::providers::StreamTranslator;

use super::limits::Buffer;
use super::request::with_length;
use super::session::{Answers, BodyMode, Settings};
use super::wire::{self, HttpBody, HttpHeaders, Side};

/// Where the response stands.
pub(super) struct ResponseSide {
    pub(super) mode: BodyMode,
    state: State,
}

enum State {
    /// Every chunk goes on as it came.
    Passing,
    /// Every chunk is translated as it comes.
    Translating(Box<dyn StreamTranslator>),
    /// The answer has to be complete before it can be translated.
    Collecting(Buffer),
}

impl ResponseSide {
    pub(super) fn new(settings: &Settings) -> ResponseSide {
        ResponseSide { mode: settings.mode, state: State::Passing }
    }

    pub(super) fn headers(
        &mut self,
        settings: &Settings,
        message: HttpHeaders,
        cycle: &Cycle,
        answers: &mut Answers,
    ) {
        if message.end_of_stream {
            answers.push_back(wire::headers_unchanged(Side::Response));
            return;
        }
        let mut headers = wire::read_headers(message.headers);
        self.state = match settings.chain.plan_response(cycle, &headers, (settings.now)()) {
            ResponsePlan::Pass => State::Passing,
            ResponsePlan::Stream(translator) => State::Translating(translator),
            ResponsePlan::Whole => State::Collecting(Buffer::new(&settings.limits)),
        };
        match (self.mode, &self.state) {
            (BodyMode::Duplex, State::Collecting(_)) => {} // its length is not known yet
            (BodyMode::Duplex, State::Translating(_)) => answers.push_back(without_length(&mut headers)),
            _ => answers.push_back(wire::headers_unchanged(Side::Response)),
        }
    }

    pub(super) fn body(
        &mut self,
        settings: &Settings,
        message: HttpBody,
        cycle: &Cycle,
        answers: &mut Answers,
    ) {
        match self.mode {
            BodyMode::Duplex => self.chunk(settings, message, cycle, answers),
            BodyMode::Buffered => self.whole(settings, message.body.into(), cycle, answers),
        }
    }

    /// Trailers end a body whose last chunk did not say so.
    pub(super) fn trailers(&mut self, settings: &Settings, cycle: &Cycle, answers: &mut Answers) {
        if self.mode == BodyMode::Duplex {
            match std::mem::replace(&mut self.state, State::Passing) {
                State::Passing => {}
                State::Translating(mut translator) => {
                    answers.extend(wire::streamed_body(Side::Response, translator.finish(), false));
                }
                State::Collecting(buffer) => finish(settings, buffer, cycle, false, answers),
            }
        }
        answers.push_back(wire::trailers(Side::Response));
    }

    fn chunk(&mut self, settings: &Settings, message: HttpBody, cycle: &Cycle, answers: &mut Answers) {
        let HttpBody { body, end_of_stream: end, .. } = message;
        match std::mem::replace(&mut self.state, State::Passing) {
            State::Passing => answers.extend(wire::streamed_body(Side::Response, body.into(), end)),
            State::Translating(mut translator) => {
                let mut out = translator.push(&body);
                if end {
                    out = [out, translator.finish()].concat().into();
                } else {
                    self.state = State::Translating(translator);
                }
                answers.extend(wire::streamed_body(Side::Response, out, end));
            }
            State::Collecting(mut buffer) => match buffer.reserve(body.len()) {
                Ok(()) => {
                    buffer.push(body);
                    if end {
                        finish(settings, buffer, cycle, true, answers);
                    } else {
                        self.state = State::Collecting(buffer);
                    }
                }
                Err(_) => {
                    tracing::warn!("the provider's answer is too large to be translated: passed on as it is");
                    answers.push_back(wire::headers_unchanged(Side::Response));
                    answers.extend(wire::streamed_body(Side::Response, buffer.take(), false));
                    answers.extend(wire::streamed_body(Side::Response, body.into(), end));
                }
            },
        }
    }

    fn whole(&mut self, settings: &Settings, body: Bytes, cycle: &Cycle, answers: &mut Answers) {
        let changed = match &mut self.state {
            State::Passing => None,
            State::Translating(translator) => {
                Some([translator.push(&body), translator.finish()].concat().into())
            }
            State::Collecting(_) if body.len() > settings.limits.max_body => None,
            State::Collecting(_) => settings.chain.response(cycle, &body, (settings.now)()),
        };
        let changes = changed.as_ref().map(|body| with_length(&Changes::default(), body));
        answers.push_back(wire::body(Side::Response, changes.as_ref().map(|changes| (changes, changed))));
    }
}

/// The answer is complete: translates it. `end` says whether the body ends the response.
fn finish(settings: &Settings, mut buffer: Buffer, cycle: &Cycle, end: bool, answers: &mut Answers) {
    let received = buffer.take();
    match settings.chain.response(cycle, &received, (settings.now)()) {
        Some(body) => {
            answers
                .push_back(wire::headers_changed(Side::Response, &with_length(&Changes::default(), &body)));
            answers.extend(wire::streamed_body(Side::Response, body, end));
        }
        None => {
            answers.push_back(wire::headers_unchanged(Side::Response));
            answers.extend(wire::streamed_body(Side::Response, received, end));
        }
    }
}

/// An answer to headers that drops a length which will not be true any more.
fn without_length(headers: &mut Headers) -> wire::ProcessingResponse {
    headers.remove("content-length");
    if *headers.changes() == Changes::default() {
        return wire::headers_unchanged(Side::Response);
    }
    wire::headers_changed(Side::Response, headers.changes())
}
