//! A processor that reads every message and changes nothing: what Envoy's filter and gRPC cost whatever we do.

use std::pin::Pin;

use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_server::{
    ExternalProcessor, ExternalProcessorServer,
};
use futures::{Stream, StreamExt, stream};
use quintet_payload::extproc::wire::{self, ProcessingRequest, ProcessingResponse, Request, Side};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request as Call, Response, Status, Streaming};

struct Nothing;

#[tonic::async_trait]
impl ExternalProcessor for Nothing {
    type ProcessStream = Pin<Box<dyn Stream<Item = Result<ProcessingResponse, Status>> + Send>>;

    async fn process(
        &self,
        call: Call<Streaming<ProcessingRequest>>,
    ) -> Result<Response<Self::ProcessStream>, Status> {
        let answers = call.into_inner().flat_map(|message| match message {
            Ok(message) => stream::iter(answers(message)).map(Ok).boxed(),
            Err(_) => stream::empty().boxed(),
        });
        Ok(Response::new(Box::pin(answers)))
    }
}

/// Bodies go back as they came: that is what full-duplex mode asks for.
fn answers(message: ProcessingRequest) -> Vec<ProcessingResponse> {
    match message.request.expect("a message") {
        Request::RequestHeaders(_) => vec![wire::headers_unchanged(Side::Request)],
        Request::ResponseHeaders(_) => vec![wire::headers_unchanged(Side::Response)],
        Request::RequestBody(body) => {
            wire::streamed_body(Side::Request, body.body.into(), body.end_of_stream).collect()
        }
        Request::ResponseBody(body) => {
            wire::streamed_body(Side::Response, body.body.into(), body.end_of_stream).collect()
        }
        Request::RequestTrailers(_) => vec![wire::trailers(Side::Request)],
        Request::ResponseTrailers(_) => vec![wire::trailers(Side::Response)],
    }
}

/// Prints its address, and serves until killed.
pub(crate) async fn serve() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    println!("{}", listener.local_addr().expect("bound"));
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    Server::builder()
        .add_service(ExternalProcessorServer::new(Nothing))
        .serve_with_incoming(incoming)
        .await
        .expect("served");
}
