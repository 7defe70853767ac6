//! Port forwarding in the channel protocol: port `i` of the query has channel `2i` for data and `2i + 1` for errors.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::channels::framed;
use super::relay::relay;
use super::target::Target;
use crate::server::params::Params;
use crate::status::{Error, Result};

/// Ports beyond this many have no channel.
const MOST: usize = 127;

/// The ports a client names, in order.
pub(super) fn ports(params: &Params) -> Result<Vec<u16>> {
    let given: Vec<&str> =
        params.all("ports").flat_map(|list| list.split(',')).filter(|text| !text.is_empty()).collect();
    if given.is_empty() || given.len() > MOST {
        return Err(Error::bad_request("query parameter \"port\" is required"));
    }
    let read = |text: &&str| match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(Error::bad_request(format!("unable to parse {text:?} as a port"))),
    };
    given.iter().map(read).collect()
}

/// Serves one client until it leaves.
pub(super) async fn serve(socket: WebSocket, target: Target, ports: Vec<u16>) {
    let (mut sink, mut messages) = socket.split();
    let (sender, mut outgoing) = mpsc::channel::<Message>(16);
    let target = Arc::new(target);
    let (mut inputs, mut connections) = (HashMap::new(), JoinSet::new());
    for (index, port) in ports.into_iter().enumerate() {
        let Ok(data) = u8::try_from(2 * index) else { break };
        let (input, received) = mpsc::channel::<Bytes>(16);
        inputs.insert(data, input);
        connections.spawn(forward(target.clone(), port, data, received, sender.clone()));
    }
    drop(sender);
    let read = async {
        while let Some(Ok(message)) = messages.next().await {
            let Message::Binary(bytes) = message else { continue };
            let input = bytes.first().and_then(|channel| inputs.get(channel));
            if let Some(input) = input {
                let _ = input.send(bytes.slice(1..)).await; // a closed port takes no more
            }
        }
    };
    let write = async {
        while let Some(message) = outgoing.recv().await {
            if sink.send(message).await.is_err() {
                return;
            }
        }
        let _ = sink.close().await;
    };
    tokio::select! {
        () = read => {}
        () = write => {}
    }
}

async fn forward(
    target: Arc<Target>,
    port: u16,
    data: u8,
    mut received: mpsc::Receiver<Bytes>,
    sender: mpsc::Sender<Message>,
) {
    for channel in [data, data + 1] {
        let _ = sender.send(framed(channel, &port.to_le_bytes())).await;
    }
    let stream = match target.connect(port).await {
        Ok(stream) => stream,
        Err(error) => {
            let _ = sender.send(framed(data + 1, error.to_string().as_bytes())).await;
            return;
        }
    };
    relay(stream, &mut received, &sender, |bytes| framed(data, bytes)).await;
}
