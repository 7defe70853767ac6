//! `exec` and `attach`: several streams in one WebSocket, the first byte of a message says which.

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::{BufMut, Bytes, BytesMut};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream, copy, duplex};
use tokio::sync::{mpsc, watch};

use super::target::Target;
use crate::server::params::Params;
use crate::status::{Error, Result};
use crate::workloads::program::{BUFFER, Session};

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const RESIZE: u8 = 4;
/// Version 5 only: the next byte names the channel that ends.
const CLOSE: u8 = 255;

/// Which streams a client asks for, and to what.
pub(super) struct Wanted {
    command: Vec<String>,
    stdin: bool,
    stdout: bool,
    stderr: bool,
    tty: bool,
    attach: bool,
}

impl Wanted {
    pub(super) fn read(params: &Params, attach: bool) -> Result<Self> {
        let command: Vec<String> = params.all("command").map(str::to_owned).collect();
        let (stdin, stdout, stderr) = (params.flag("stdin"), params.flag("stdout"), params.flag("stderr"));
        if !attach && command.is_empty() {
            return Err(Error::bad_request("you must specify at least 1 command"));
        }
        if !(stdin || stdout || stderr) {
            return Err(Error::bad_request("you must specify at least 1 of stdin, stdout, stderr"));
        }
        Ok(Self { command, stdin, stdout, stderr, tty: params.flag("tty"), attach })
    }
}

/// Serves one client to the end of the program, or until it leaves.
pub(super) async fn serve(socket: WebSocket, target: Target, wanted: Wanted) {
    let (mut sink, mut messages) = socket.split();
    let (sender, mut outgoing) = mpsc::channel::<Message>(16);
    let write = tokio::spawn(async move {
        while let Some(message) = outgoing.recv().await {
            if sink.send(message).await.is_err() {
                return;
            }
        }
        let _ = sink.close().await;
    });
    let (typed, stdin) = duplex(BUFFER);
    let (resize, size) = watch::channel((0, 0));
    let mut typed = Some(typed).filter(|_| wanted.stdin);
    let read = async {
        while let Some(Ok(message)) = messages.next().await {
            let Message::Binary(bytes) = message else { continue };
            match (bytes.first(), bytes.get(1..).unwrap_or_default()) {
                (Some(&STDIN), data) => {
                    if let Some(input) = typed.as_mut()
                        && input.write_all(data).await.is_err()
                    {
                        typed = None; // the program reads no more
                    }
                }
                (Some(&CLOSE), [STDIN]) => typed = None,
                (Some(&RESIZE), data) => {
                    resize.send_replace(size_in(data));
                }
                _ => {}
            }
        }
    };
    let run = async {
        let status = if wanted.attach {
            attached(&target, &wanted, stdin, &sender).await
        } else {
            executed(&target, &wanted, stdin, size, &sender).await
        };
        let _ = sender.send(framed(STATUS, status.to_string().as_bytes())).await;
        let frame = CloseFrame { code: close_code::NORMAL, reason: "".into() };
        let _ = sender.send(Message::Close(Some(frame))).await;
    };
    // A client that only leaves ends the program; one that is still there hears how it ended.
    tokio::select! {
        () = read => {}
        () = run => {}
    }
    drop(sender);
    let _ = write.await;
}

/// Runs the command; the status it ends with.
async fn executed(
    target: &Target,
    wanted: &Wanted,
    stdin: DuplexStream,
    size: watch::Receiver<(u16, u16)>,
    sender: &mpsc::Sender<Message>,
) -> Value {
    let (output, stdout) = duplex(BUFFER);
    let (errors, stderr) = duplex(BUFFER);
    let session = Session {
        pod: target.pod.clone(),
        container: target.container.clone(),
        command: wanted.command.clone(),
        stdin,
        stdout,
        stderr,
        tty: wanted.tty,
        size,
    };
    // A terminal has one screen: what is complained is shown there too.
    let complaints = if wanted.tty { STDOUT } else { STDERR };
    let (code, (), ()) = tokio::join!(
        target.run(session),
        pump(output, STDOUT, wanted.stdout, sender),
        pump(errors, complaints, wanted.stderr || wanted.tty, sender),
    );
    ended_with(code)
}

/// Follows the main program, and feeds it if nobody else does.
async fn attached(
    target: &Target,
    wanted: &Wanted,
    mut stdin: DuplexStream,
    sender: &mpsc::Sender<Message>,
) -> Value {
    let feed = async {
        if let Some(mut input) = target.stdin().filter(|_| wanted.stdin) {
            let _ = copy(&mut stdin, &mut input).await;
        }
        std::future::pending::<()>().await
    };
    let follow = async {
        let Some(mut output) = target.output() else { return };
        while let Some((_, line)) = output.line().await {
            if wanted.stdout && sender.send(framed(STDOUT, format!("{line}\n").as_bytes())).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = feed => {}
        () = follow => {}
    }
    ended_with(0)
}

/// Sends what a program prints; what nobody asked for is read and dropped.
async fn pump(mut output: impl AsyncRead + Unpin, channel: u8, wanted: bool, sender: &mpsc::Sender<Message>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = output.read(&mut buffer).await {
        if wanted && sender.send(framed(channel, &buffer[..read])).await.is_err() {
            return;
        }
    }
}

/// A message on a channel.
pub(super) fn framed(channel: u8, data: &[u8]) -> Message {
    let mut bytes = BytesMut::with_capacity(data.len() + 1);
    bytes.put_u8(channel);
    bytes.put_slice(data);
    Message::Binary(Bytes::from(bytes))
}

fn size_in(data: &[u8]) -> (u16, u16) {
    let size: Value = serde_json::from_slice(data).unwrap_or_default();
    let side = |name: &str| size[name].as_u64().and_then(|side| u16::try_from(side).ok()).unwrap_or(0);
    (side("Width"), side("Height"))
}

/// The Status that tells how a program ended.
fn ended_with(code: i32) -> Value {
    if code == 0 {
        return json!({ "metadata": {}, "status": "Success" });
    }
    json!({
        "metadata": {},
        "status": "Failure",
        "message": format!("command terminated with non-zero exit code: exit status {code}"),
        "reason": "NonZeroExitCode",
        "details": { "causes": [{ "reason": "ExitCode", "message": code.to_string() }] },
    })
}
