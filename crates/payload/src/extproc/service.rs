//! The gRPC service.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_server::ExternalProcessor;
use futures::{FutureExt, Stream, StreamExt, stream};
use tonic::{Code as GrpcCode, Request, Response, Status, Streaming};
use tracing::Instrument;

use crate::failure::{Code, Failure};
use crate::traces::{Span, Tracer};

use super::session::{Session, Settings};
use super::wire::{self, ProcessingRequest, ProcessingResponse};

/// Serves Envoy.
#[derive(Debug, Clone)]
pub struct Service {
    settings: Settings,
    tracer: Option<Tracer>,
}

impl Service {
    /// A service that processes every stream with these settings.
    pub fn new(settings: Settings) -> Service {
        Service { settings, tracer: None }
    }

    /// The same with a span for every stream.
    pub fn traced(self, tracer: Option<Tracer>) -> Service {
        Service { tracer, ..self }
    }

    /// The answers to `messages`. The next message is read only when all answers to the last one have been taken: a
    /// client that does not read slows its provider down, and costs us no memory.
    pub fn answers<M>(
        &self,
        messages: M,
    ) -> impl Stream<Item = Result<ProcessingResponse, Status>> + Send + use<M>
    where
        M: Stream<Item = Result<ProcessingRequest, Status>> + Send + Unpin,
    {
        let span = tracing::info_span!("request", x_request_id = tracing::field::Empty);
        let start = Conversation {
            messages,
            session: Some(Session::new(&self.settings)),
            answers: VecDeque::new(),
            trace: self.tracer.as_ref().map(Tracer::request),
        };
        stream::unfold(start, move |conversation| conversation.next().instrument(span.clone()))
    }
}

/// One stream under way; no session means that it is over.
struct Conversation<M> {
    messages: M,
    session: Option<Session>,
    answers: VecDeque<ProcessingResponse>,
    /// Ends with the stream.
    trace: Option<Span>,
}

impl<M: Stream<Item = Result<ProcessingRequest, Status>> + Send + Unpin> Conversation<M> {
    async fn next(mut self) -> Option<(Result<ProcessingResponse, Status>, Self)> {
        loop {
            if let Some(answer) = self.answers.pop_front() {
                return Some((Ok(answer), self));
            }
            let session = self.session.as_mut()?;
            let message = match self.messages.next().await? {
                Ok(message) => message,
                Err(status) if status.code() == GrpcCode::Cancelled => return None,
                Err(status) => {
                    self.session = None;
                    let text = format!("cannot receive stream request: {}", status.message());
                    return Some((Err(Status::unknown(text)), self));
                }
            };
            // A bug that one request uncovers must not end the others.
            let handled = AssertUnwindSafe(session.handle(message, &mut self.answers)).catch_unwind().await;
            let failure = match handled {
                Ok(Ok(())) => {
                    if session.is_over() {
                        self.session = None;
                    }
                    continue;
                }
                Ok(Err(failure)) => failure,
                Err(_) => {
                    tracing::error!("a panic while processing this request");
                    Failure::internal("internal error while processing the request")
                }
            };
            self.session = None;
            self.answers.clear();
            if let Some(trace) = &mut self.trace {
                trace.failed(failure.to_string());
            }
            match self.fail(failure) {
                Ok(answer) => return Some((Ok(answer), self)),
                Err(status) => return Some((Err(status), self)),
            }
        }
    }

    fn fail(&self, failure: Failure) -> Result<ProcessingResponse, Status> {
        match failure {
            Failure::Refused { code, .. } => {
                if matches!(code, Code::Internal | Code::ServiceUnavailable) {
                    tracing::warn!(error = %failure, "request refused");
                } else {
                    tracing::debug!(error = %failure, "request refused");
                }
                Ok(wire::refusal(code, failure.to_string()))
            }
            Failure::Plain(text) => {
                tracing::error!(error = text, "request failed");
                Err(Status::unknown(format!("failed to handle request: {text}")))
            }
        }
    }
}

#[tonic::async_trait]
impl ExternalProcessor for Service {
    type ProcessStream = Pin<Box<dyn Stream<Item = Result<ProcessingResponse, Status>> + Send>>;

    async fn process(
        &self,
        request: Request<Streaming<ProcessingRequest>>,
    ) -> Result<Response<Self::ProcessStream>, Status> {
        Ok(Response::new(Box::pin(self.answers(request.into_inner()))))
    }
}
