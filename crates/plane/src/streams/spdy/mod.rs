//! Port forwarding as kubectl does it: SPDY/3.1 frames inside a WebSocket.
//!
//! The client opens two streams per connection, `error` and `data`, which share a `requestID`. What is written to the
//! error stream is why the connection failed; both are ended when it is over.

mod dictionary;
mod frames;
mod headers;

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket};
use bytes::{Bytes, BytesMut};
use futures::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::relay::relay;
use super::target::Target;
use frames::Frame;
use headers::{Packer, Unpacker};

/// Streams beyond this many at once are refused.
const MOST: usize = 512;

/// Serves one client until it leaves.
pub(super) async fn serve(socket: WebSocket, target: Target) {
    let (mut sink, mut messages) = socket.split();
    let (sender, mut outgoing) = mpsc::channel::<Bytes>(16);
    let write = async {
        while let Some(bytes) = outgoing.recv().await {
            if sink.send(Message::Binary(bytes)).await.is_err() {
                return;
            }
        }
    };
    let mut tunnel = Tunnel {
        target: Arc::new(target),
        sender,
        packer: Packer::new(),
        unpacker: Unpacker::new(),
        requests: HashMap::new(),
        inputs: HashMap::new(),
        connections: JoinSet::new(),
    };
    let read = async {
        let mut received = BytesMut::new();
        while let Some(Ok(message)) = messages.next().await {
            let Message::Binary(bytes) = message else { continue };
            received.extend_from_slice(&bytes);
            loop {
                match Frame::take(&mut received) {
                    Ok(Some(frame)) => {
                        if tunnel.take(frame).await.is_err() {
                            return;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => return tracing::debug!(%error, "port forwarding ended"),
                }
            }
        }
    };
    tokio::select! {
        () = read => {}
        () = write => {}
    }
}

/// The client is gone, or talks nonsense.
struct Ended;

/// The streams of one connection, as far as they have been opened.
#[derive(Default)]
struct Pair {
    errors: Option<u32>,
    /// With the port that is meant.
    data: Option<(u32, u16)>,
}

/// One client's streams.
struct Tunnel {
    target: Arc<Target>,
    sender: mpsc::Sender<Bytes>,
    packer: Packer,
    unpacker: Unpacker,
    /// Streams that wait for their other half, by request.
    requests: HashMap<String, Pair>,
    /// Where data of a stream goes; closed when the client has no more.
    inputs: HashMap<u32, mpsc::Sender<Bytes>>,
    connections: JoinSet<()>,
}

impl Tunnel {
    async fn take(&mut self, frame: Frame) -> Result<(), Ended> {
        while self.connections.try_join_next().is_some() {}
        match frame {
            Frame::SynStream { stream, headers } => self.begin(stream, &headers).await,
            Frame::Data { stream, fin, data } => {
                if let Some(input) = self.inputs.get(&stream)
                    && !data.is_empty()
                {
                    let _ = input.send(data).await; // a closed connection takes no more
                }
                if fin {
                    self.inputs.remove(&stream);
                }
                Ok(())
            }
            Frame::RstStream { stream } => {
                self.inputs.remove(&stream);
                Ok(())
            }
            Frame::Ping { id } => self.send(frames::ping(id)).await,
            Frame::GoAway => Err(Ended),
            Frame::Other => Ok(()),
        }
    }

    async fn begin(&mut self, stream: u32, packed: &[u8]) -> Result<(), Ended> {
        let headers = self.unpacker.unpack(packed).map_err(|_| Ended)?;
        let header =
            |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let port = header("port").and_then(|port| port.parse::<u16>().ok()).filter(|port| *port > 0);
        let request = header("requestid").unwrap_or_default().to_owned();
        let full = self.inputs.len() + self.requests.len() >= MOST;
        let (Some(kind @ ("error" | "data")), Some(port), false) = (header("streamtype"), port, full) else {
            return self.send(frames::refuse(stream)).await;
        };
        let reply = self.packer.pack_none();
        self.send(frames::reply(stream, &reply)).await?;
        let entry = self.requests.entry(request.clone()).or_default();
        match kind {
            "error" => entry.errors = Some(stream),
            _ => entry.data = Some((stream, port)),
        }
        if let Pair { errors: Some(errors), data: Some((data, port)) } = *entry {
            self.requests.remove(&request);
            let (input, received) = mpsc::channel(16);
            self.inputs.insert(data, input);
            let wires = Wires { errors, data, received, sender: self.sender.clone() };
            self.connections.spawn(wires.connect(self.target.clone(), port));
        }
        Ok(())
    }

    async fn send(&self, bytes: Bytes) -> Result<(), Ended> {
        self.sender.send(bytes).await.map_err(|_| Ended)
    }
}

/// The two streams of one connection.
struct Wires {
    errors: u32,
    data: u32,
    received: mpsc::Receiver<Bytes>,
    sender: mpsc::Sender<Bytes>,
}

impl Wires {
    async fn connect(mut self, target: Arc<Target>, port: u16) {
        match target.connect(port).await {
            Ok(stream) => {
                let data = self.data;
                relay(stream, &mut self.received, &self.sender, |bytes| frames::data(data, false, bytes))
                    .await;
            }
            Err(error) => {
                let told = format!("an error occurred forwarding {port}: {error}");
                let _ = self.sender.send(frames::data(self.errors, false, told.as_bytes())).await;
            }
        }
        for stream in [self.data, self.errors] {
            let _ = self.sender.send(frames::data(stream, true, &[])).await;
        }
    }
}
