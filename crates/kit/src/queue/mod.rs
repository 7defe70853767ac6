//! The keyed work queue that every controller is driven by.
//!
//! A key waits at most once, however often it is added; the same key is never handed out twice at once; a key added
//! while it is being worked on comes again afterwards. A key may also wait for a time: a requeue, or the delay after a
//! failure, which doubles from one second to 256 with jitter and is forgotten on success. The queue holds keys, not
//! objects: a reconcile runs for keys whose object is gone, and for keys that never had one.

mod action;
mod backoff;
mod inner;

pub use action::Action;
pub use backoff::Backoff;

use crate::error::Retry;
use crate::key::Key;
use crate::metrics::QueueMetrics;
use inner::Inner;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// A queue of keys; clones share it.
pub struct Queue<Q: Key>(Arc<Shared<Q>>);

impl<Q: Key> Clone for Queue<Q> {
    fn clone(&self) -> Self {
        Queue(self.0.clone())
    }
}

impl<Q: Key> std::fmt::Debug for Queue<Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.len()).finish_non_exhaustive()
    }
}

struct Shared<Q: Key> {
    inner: Mutex<Inner<Q>>,
    changed: Notify,
    metrics: QueueMetrics,
}

impl<Q: Key> Queue<Q> {
    /// An empty queue that counts what it does.
    #[must_use]
    pub fn new(backoff: Backoff, metrics: QueueMetrics) -> Self {
        let inner = Mutex::new(Inner::new(backoff));
        Queue(Arc::new(Shared { inner, changed: Notify::new(), metrics }))
    }

    /// Adds a key, to be worked on as soon as a worker is free.
    pub fn add(&self, key: Q) {
        let mut inner = self.0.inner.lock();
        if inner.add(key, Instant::now()) {
            self.0.metrics.added();
            self.0.metrics.depth(inner.len());
            drop(inner);
            self.0.changed.notify_one();
        }
    }

    /// Adds a key after a delay, unless it is due sooner anyway.
    pub fn add_after(&self, key: Q, delay: Duration) {
        self.0.inner.lock().add_at(key, Instant::now() + delay);
        self.0.changed.notify_one();
    }

    /// The next key, when there is one. It is being worked on until the returned [`Job`] is finished or dropped.
    pub async fn next(&self) -> Job<Q> {
        loop {
            let changed = self.0.changed.notified();
            let due = {
                let mut inner = self.0.inner.lock();
                let now = Instant::now();
                let woken = inner.wake(now);
                (0..woken).for_each(|_| self.0.metrics.added());
                if let Some((key, since)) = inner.take() {
                    self.0.metrics.depth(inner.len());
                    self.0.metrics.begun(now - since, now);
                    if inner.len() > 0 {
                        self.0.changed.notify_one(); // several workers may be waiting, and one permit is kept
                    }
                    return Job { key: Some(key), queue: self.clone(), started: now };
                }
                self.0.metrics.depth(inner.len());
                inner.due()
            };
            match due {
                Some(due) => tokio::select! { () = changed => {}, () = sleep_until(due) => {} },
                None => changed.await,
            }
        }
    }

    /// How many keys are ready to be worked on.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.inner.lock().len()
    }

    /// True if no key is ready to be worked on.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if no key is ready, being worked on, or due within `soon`: nothing happens unless something changes.
    #[must_use]
    pub fn is_idle(&self, soon: Duration) -> bool {
        self.0.inner.lock().is_idle(Instant::now() + soon)
    }

    fn finish(&self, key: Q, started: Instant, end: End) {
        let mut inner = self.0.inner.lock();
        let now = Instant::now();
        self.0.metrics.ended(started, now);
        if matches!(end, End::Failed(_)) {
            self.0.metrics.retried();
        }
        inner.finish(key, end, now);
        self.0.metrics.depth(inner.len());
        drop(inner);
        self.0.changed.notify_one();
    }
}

/// How work on a key ended.
#[derive(Clone, Copy, Debug)]
enum End {
    Done(Action),
    Failed(Retry),
    Abandoned,
}

/// A key that is being worked on.
#[derive(Debug)]
pub struct Job<Q: Key> {
    key: Option<Q>,
    queue: Queue<Q>,
    started: Instant,
}

impl<Q: Key> Job<Q> {
    /// The key.
    ///
    /// # Panics
    /// Never: the key is there until the job is finished, which takes the job.
    #[must_use]
    pub fn key(&self) -> &Q {
        self.key.as_ref().expect("taken only by finishing")
    }

    /// The work succeeded.
    pub fn done(mut self, action: Action) {
        self.end(End::Done(action));
    }

    /// The work failed.
    pub fn failed(mut self, retry: Retry) {
        self.end(End::Failed(retry));
    }

    fn end(&mut self, end: End) {
        if let Some(key) = self.key.take() {
            self.queue.finish(key, self.started, end);
        }
    }
}

/// Work that was dropped half-way counts as not begun: the key comes again.
impl<Q: Key> Drop for Job<Q> {
    fn drop(&mut self) {
        self.end(End::Abandoned);
    }
}

#[cfg(test)]
mod tests;
