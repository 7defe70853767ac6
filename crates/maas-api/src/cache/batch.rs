//! Lookups in batches.
//!
//! A few workers ask the store. Whoever comes while all of them are busy waits in a queue, and the next free worker
//! takes the whole queue in one query. So one alone never waits for others, and many cost the database little more
//! than one.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::task::TaskTracker;

use crate::{
    keys::KeyHash,
    store::{FoundKey, SharedStore, StoreError},
};

/// How many lookups one query takes.
const BATCH: usize = 256;
/// How many may wait. More than every client of a gateway together has in flight; beyond it waiting would not help.
const QUEUE: usize = 16_384;
/// How many queries run at once.
const WORKERS: usize = 4;

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LookupError {
    /// The store failed.
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// Too many are waiting, or the service is stopping.
    #[error("too many lookups are waiting for the database")]
    Overloaded,
}

type Answer = Result<Option<FoundKey>, LookupError>;

/// The front of the queue.
#[derive(Clone, Debug)]
pub struct Lookups {
    queue: mpsc::Sender<(KeyHash, oneshot::Sender<Answer>)>,
}

impl Lookups {
    /// Starts the workers. They end when the last front is dropped.
    pub fn start(store: SharedStore, tasks: &TaskTracker) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..WORKERS {
            let (store, waiting) = (store.clone(), waiting.clone());
            tasks.spawn(async move {
                let mut batch = Vec::with_capacity(BATCH);
                // The lock is held while waiting for work, not while doing it.
                while waiting.lock().await.recv_many(&mut batch, BATCH).await > 0 {
                    answer(&store, &mut batch).await;
                }
            });
        }
        Self { queue }
    }

    /// The key of that hash.
    pub async fn find(&self, hash: KeyHash) -> Answer {
        let (sender, receiver) = oneshot::channel();
        self.queue.try_send((hash, sender)).map_err(|_| LookupError::Overloaded)?;
        receiver.await.unwrap_or(Err(LookupError::Overloaded))
    }
}

async fn answer(store: &SharedStore, batch: &mut Vec<(KeyHash, oneshot::Sender<Answer>)>) {
    batch.retain(|(_, sender)| !sender.is_closed()); // they have gone away
    if batch.is_empty() {
        return;
    }
    let hashes: Vec<KeyHash> = batch.iter().map(|(hash, _)| *hash).collect();
    let found = match store.find(&hashes).await {
        Ok(found) => Ok(found.into_iter().map(|key| (key.hash, key)).collect::<HashMap<_, _>>()),
        Err(error) => Err(LookupError::Store(Arc::new(error))),
    };
    for (hash, sender) in batch.drain(..) {
        let answer = match &found {
            // The database compared by an index; what it returned is compared once more, in constant time.
            Ok(found) => Ok(found.get(&hash).filter(|key| key.hash.matches(&hash)).cloned()),
            Err(error) => Err(error.clone()),
        };
        let _ = sender.send(answer);
    }
}
