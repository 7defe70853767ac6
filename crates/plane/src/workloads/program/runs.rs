//! Main programs that run now.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, DuplexStream, duplex};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::logs::Writer;
use super::{BUFFER, Program, Session};

/// A Pod whose main program has ended: namespace and name.
pub(in super::super) type Ended = (String, String);

/// The main programs, by uid of their Pod.
#[derive(Default)]
pub(crate) struct Runs {
    running: Arc<Mutex<HashMap<String, Running>>>,
    /// Who hears of those that end by themselves.
    listener: Arc<Mutex<Option<mpsc::UnboundedSender<Ended>>>>,
}

struct Running {
    stdin: Option<DuplexStream>,
    code: Option<i32>,
    /// Ends the program when it goes.
    _stop: DropGuard,
}

impl Runs {
    /// Hears from now on of each program that ends by itself.
    pub(in super::super) fn listen(&self) -> mpsc::UnboundedReceiver<Ended> {
        let (sender, receiver) = mpsc::unbounded_channel();
        *self.listener.lock() = Some(sender);
        receiver
    }

    /// Starts the main program of a container; one that still ran for this Pod is stopped.
    pub(in super::super) fn start(&self, program: &Program, pod: &Pod, container: &str, log: Writer) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let stop = CancellationToken::new();
        let (stdin, input) = duplex(BUFFER);
        let (output, stdout) = duplex(BUFFER);
        let (errors, stderr) = duplex(BUFFER);
        let session = Session {
            pod: pod.clone(),
            container: container.into(),
            command: vec![],
            stdin: input,
            stdout,
            stderr,
            tty: false,
            size: watch::channel((0, 0)).1,
        };
        let running = Running { stdin: Some(stdin), code: None, _stop: stop.clone().drop_guard() };
        self.running.lock().insert(uid.clone(), running);
        let (program, all, listener) = (program.run(session), self.running.clone(), self.listener.clone());
        let meta = &pod.metadata;
        let place = (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default());
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            let (code, (), ()) = tokio::join!(program, keep(output, &log), keep(errors, &log));
            if let Some(running) = all.lock().get_mut(&uid) {
                running.code = Some(code);
            }
            if let Some(listener) = listener.lock().as_ref() {
                let _ = listener.send(place); // nobody listens any more when the plane ends
            }
        }));
    }

    /// The main program's exit code; none as long as it runs.
    pub(in super::super) fn code(&self, uid: &str) -> Option<i32> {
        self.running.lock().get(uid)?.code
    }

    /// The main program's input, for the first who attaches.
    pub(crate) fn stdin(&self, uid: &str) -> Option<DuplexStream> {
        self.running.lock().get_mut(uid)?.stdin.take()
    }

    /// Stops what runs for a Pod.
    pub(in super::super) fn stop(&self, uid: &str) {
        self.running.lock().remove(uid);
    }
}

/// Keeps what a program prints, until it prints no more.
async fn keep(mut output: impl AsyncRead + Unpin, log: &Writer) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(read @ 1..) = output.read(&mut buffer).await {
        log.write(&buffer[..read]);
    }
}
