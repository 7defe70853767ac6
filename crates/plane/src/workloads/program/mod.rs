//! What may stand behind a simulated container: Rust code, or a process of this machine.
//!
//! Without one a container only seems to run: it writes the lines of its script, and `exec` knows a few commands
//! ([`simulated`]). With one its main program really runs: its output is the log, its exit code the container's, and it
//! ends when the Pod does.

mod process;
mod runs;
mod simulated;

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpStream;
use tokio::sync::watch;

pub(crate) use runs::Runs;
pub(crate) use simulated::perform as simulate;

/// How much a reader may lag behind before the writer waits.
pub(crate) const BUFFER: usize = 64 * 1024;

/// One run of a program in a container: its main program, or one that `exec` asked for.
#[derive(Debug)]
pub struct Session {
    /// The Pod, as it was when the run began.
    pub pod: Pod,
    /// The container's name.
    pub container: String,
    /// What to run; empty for the container's main program.
    pub command: Vec<String>,
    /// What is typed; at its end when nothing is.
    pub stdin: DuplexStream,
    /// What it prints.
    pub stdout: DuplexStream,
    /// What it complains.
    pub stderr: DuplexStream,
    /// Whether a terminal is at the other end.
    pub tty: bool,
    /// Width and height of that terminal.
    pub size: watch::Receiver<(u16, u16)>,
}

/// A connection to a port of a container.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

type Run = dyn Fn(Session) -> BoxFuture<'static, i32> + Send + Sync;
type Connect = dyn Fn(u16) -> BoxFuture<'static, io::Result<Box<dyn Connection>>> + Send + Sync;

/// What stands behind a container. Cheap to clone.
#[derive(Clone)]
pub struct Program {
    run: Arc<Run>,
    connect: Option<Arc<Connect>>,
}

impl Program {
    /// Rust code that runs a session and gives its exit code. It is dropped where it stands when the Pod stops or the
    /// client leaves.
    pub fn new<F>(run: impl Fn(Session) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = i32> + Send + 'static,
    {
        Self { run: Arc::new(move |session| Box::pin(run(session))), connect: None }
    }

    /// A process of this machine as the main program; `exec` runs others beside it. They see the literal variables of
    /// the container's environment and the `PATH` of this process, and are killed when the Pod stops.
    pub fn process(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let main: Vec<String> = command.into_iter().map(Into::into).collect();
        let run = move |session| process::run(main.clone(), session);
        Self::new(run).serving(|port| async move {
            let stream = TcpStream::connect(("127.0.0.1", port)).await?;
            Ok(Box::new(stream) as Box<dyn Connection>)
        })
    }

    /// Connects those who forward a port of the container.
    #[must_use]
    pub fn serving<F>(mut self, connect: impl Fn(u16) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<Box<dyn Connection>>> + Send + 'static,
    {
        self.connect = Some(Arc::new(move |port| Box::pin(connect(port))));
        self
    }

    pub(crate) fn run(&self, session: Session) -> BoxFuture<'static, i32> {
        (self.run)(session)
    }

    pub(crate) async fn connect(&self, port: u16) -> io::Result<Box<dyn Connection>> {
        match &self.connect {
            Some(connect) => connect(port).await,
            None => Err(nothing_listens(port)),
        }
    }
}

/// The refusal of a port behind which there is nothing.
pub(crate) fn nothing_listens(port: u16) -> io::Error {
    let message = format!("nothing listens on port {port}: the container is simulated");
    io::Error::new(io::ErrorKind::ConnectionRefused, message)
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("serves", &self.connect.is_some()).finish_non_exhaustive()
    }
}
