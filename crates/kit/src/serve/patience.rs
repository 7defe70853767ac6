//! How long a connection may keep this side waiting: for the rest of a request's head, and for room to answer.
//!
//! hyper has one timer for a request's head and for the time between requests. These two are far apart (a client that
//! dribbles is an attack, one that is silent is a pool), so the first is kept here, where bytes arrive.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// How long a request's head may take, from its first byte.
const HEAD: Duration = Duration::from_secs(5);
/// How long the other side may take to make room for more of an answer.
const WRITE: Duration = Duration::from_secs(30);

/// What a connection is doing, as far as it matters here.
#[derive(Clone, Debug, Default)]
pub(super) struct Phase(Arc<AtomicU8>);

const IDLE: u8 = 0;
const HEAD_BEGUN: u8 = 1;
const SERVING: u8 = 2;
/// HTTP/2 has frames that belong to no request; its own keep-alive finds the dead.
const FRAMED: u8 = 3;

impl Phase {
    /// A request's head is complete.
    pub(super) fn serving(&self, version: http::Version) {
        let phase = if version == http::Version::HTTP_2 { FRAMED } else { SERVING };
        self.0.store(phase, Ordering::Relaxed);
    }

    /// Its answer is known: what comes now is another head.
    pub(super) fn answered(&self) {
        let _ = self.0.compare_exchange(SERVING, IDLE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Takes notice of bytes. True if a head begins with them.
    fn received(&self, bytes: &[u8]) -> bool {
        let begins = !bytes.is_empty() && self.0.load(Ordering::Relaxed) == IDLE;
        if begins {
            // HTTP/2 begins with `PRI * HTTP/2.0`; no method does.
            let phase = if bytes.starts_with(b"PRI ") { FRAMED } else { HEAD_BEGUN };
            self.0.store(phase, Ordering::Relaxed);
        }
        begins
    }

    fn in_head(&self) -> bool {
        self.0.load(Ordering::Relaxed) == HEAD_BEGUN
    }
}

/// A stream that fails when the other side takes too long.
pub(super) struct Impatient<S> {
    stream: S,
    phase: Phase,
    head: Option<Pin<Box<Sleep>>>,
    write: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    pub(super) fn new(stream: S, phase: Phase) -> Self {
        Self { stream, phase, head: None, write: None }
    }

    /// Lets a write wait, but not for ever.
    fn written<T>(
        write: &mut Option<Pin<Box<Sleep>>>,
        outcome: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            *write = None;
            return outcome;
        }
        let timer = write.get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(late("the client does not read its answer")))
    }
}

fn late(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        if let Poll::Ready(outcome) = Pin::new(&mut this.stream).poll_read(context, buffer) {
            if this.phase.received(&buffer.filled()[before..]) {
                this.head = None; // its time has not begun
            }
            return Poll::Ready(outcome);
        }
        if !this.phase.in_head() {
            this.head = None;
            return Poll::Pending;
        }
        let timer = this.head.get_or_insert_with(|| Box::pin(tokio::time::sleep(HEAD)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(late("the head of a request took too long")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let outcome = Pin::new(&mut this.stream).poll_write(context, bytes);
        Self::written(&mut this.write, outcome, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let outcome = Pin::new(&mut this.stream).poll_write_vectored(context, bytes);
        Self::written(&mut this.write, outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let outcome = Pin::new(&mut this.stream).poll_flush(context);
        Self::written(&mut this.write, outcome, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let outcome = Pin::new(&mut this.stream).poll_shutdown(context);
        Self::written(&mut this.write, outcome, context)
    }
}
