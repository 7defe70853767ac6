//! May this process write now? A lease answers, and every write asks.

use std::time::Duration;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// Asked before each write. Without a lease it is always open; with one it is open until a moment that each renewal
/// moves on, and no write may outlast that moment.
#[derive(Clone, Debug)]
pub struct Fence(Option<watch::Receiver<Option<Instant>>>);

/// The other end of a [`Fence`], held by whoever renews the lease.
#[derive(Debug)]
pub struct Gate(watch::Sender<Option<Instant>>);

/// A write was not sent, or was cut off, because the right to write was lost.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("not allowed to write now: the lease is held by another process or was not renewed in time")]
pub struct Closed;

impl Fence {
    /// Always open: a process that is alone.
    #[must_use]
    pub fn open() -> Self {
        Fence(None)
    }

    /// A fence that starts closed, and the gate that opens it.
    #[must_use]
    pub fn gated() -> (Gate, Fence) {
        let (sender, receiver) = watch::channel(None);
        (Gate(sender), Fence(Some(receiver)))
    }

    /// True if a write may start now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.until().is_ok()
    }

    fn until(&self) -> Result<Option<Instant>, Closed> {
        let Some(receiver) = &self.0 else { return Ok(None) };
        match *receiver.borrow() {
            Some(until) if until > Instant::now() => Ok(Some(until)),
            _ => Err(Closed),
        }
    }

    /// Runs a write if the fence is open, and cuts it off when it closes by time.
    ///
    /// # Errors
    /// [`Closed`] if the write was not started or not finished in time.
    pub async fn guard<T>(&self, write: impl Future<Output = T>) -> Result<T, Closed> {
        match self.until()? {
            None => Ok(write.await),
            Some(until) => timeout_at(until, write).await.map_err(|_| Closed),
        }
    }

    /// Waits until a write may start.
    pub async fn opened(&self) {
        let Some(mut receiver) = self.0.clone() else { return };
        loop {
            if self.is_open() {
                return;
            }
            if receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Gate {
    /// Allows writes for this long from now.
    pub fn open_for(&self, time: Duration) {
        self.0.send_replace(Some(Instant::now() + time));
    }

    /// Forbids writes from now on.
    pub fn close(&self) {
        self.0.send_replace(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_write_starts_or_lasts_past_the_end() {
        let (gate, fence) = Fence::gated();
        assert_eq!(fence.guard(async { 1 }).await, Err(Closed), "starts closed");
        gate.open_for(Duration::from_secs(20));
        assert_eq!(fence.guard(async { 1 }).await, Ok(1));
        let slow = tokio::time::sleep(Duration::from_secs(30));
        assert_eq!(fence.guard(slow).await, Err(Closed), "cut off at the end");
        assert!(!fence.is_open(), "time has run out");
        gate.open_for(Duration::from_secs(20));
        assert!(fence.is_open());
        gate.close();
        assert!(!fence.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_when_the_gate_opens() {
        let (gate, fence) = Fence::gated();
        let waiting = tokio::spawn(async move { fence.opened().await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!waiting.is_finished());
        gate.open_for(Duration::from_secs(1));
        waiting.await.unwrap();
    }
}
