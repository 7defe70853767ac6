//! The task behind a hub: lists, watches, and waits while the kind is not served.

use super::carrier::Carrier;
use super::presence::News;
use super::{Hub, Keep, State};
use crate::error::says_not_found;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::queue::Backoff;
use futures::StreamExt;
use kube::Error::Api;
use kube::runtime::watcher::{self, Error, Event, watcher};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// After an error of the watch.
const ERRORS: Backoff = Backoff {
    first: Duration::from_millis(800),
    last: Duration::from_secs(30),
    conflict: Duration::ZERO,
    conflicts: 0,
    jitter: 0.2,
};

/// While the kind is not served: quickly after its definition was heard of, as a server takes a moment to serve it, and
/// seldom otherwise, for kinds that come without a definition.
pub(super) const ABSENCE: Backoff = Backoff {
    first: Duration::from_millis(250),
    last: Duration::from_secs(60),
    conflict: Duration::ZERO,
    conflicts: 0,
    jitter: 0.2,
};

/// The same where definitions are not heard of.
pub(super) const UNANNOUNCED: Backoff = Backoff { last: Duration::from_secs(5), ..ABSENCE };

/// Why a watch is begun anew.
enum Again {
    /// Somebody wants everything listed, or the definition was removed.
    Relist,
    /// The kind is not served.
    NotServed,
}

impl<K: Kind> Hub<K> {
    /// Runs for ever.
    pub(super) async fn drive(self, mut news: watch::Receiver<News>, absence: Backoff) {
        let mut looks = u32::MAX; // without news there is no hurry
        loop {
            news.borrow_and_update();
            match self.watch(&mut news).await {
                Again::Relist => looks = 0,
                Again::NotServed => {
                    self.not_served();
                    let pause = absence.jittered(absence.delay(looks.max(1)));
                    tokio::select! {
                        heard = news.changed() => {
                            looks = 0;
                            if heard.is_err() { return } // the hubs are gone, and so shall we be
                        }
                        () = sleep(pause) => looks = looks.saturating_add(1),
                    }
                }
            }
        }
    }

    /// Lists and watches until that must be begun anew.
    async fn watch(&self, news: &mut watch::Receiver<News>) -> Again {
        let mut events =
            pin!(watcher(Self::api(&self.0.client, self.0.select.namespace.as_deref()), self.settings()));
        let mut failures = 0;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = self.0.relist.notified() => return Again::Relist,
                Ok(()) = news.changed() => {
                    if news.borrow_and_update().removed { return Again::Relist }
                    continue;
                }
            };
            match event {
                Some(Ok(event)) => {
                    failures = 0;
                    self.take(event);
                }
                Some(Err(error)) if is_not_served(&error) => return Again::NotServed,
                Some(Err(error)) => {
                    failures += 1;
                    let text = crate::error::chain(&error);
                    tracing::warn!(kind = %K::gvk(), select = %self.0.select, error = %text, "watch");
                    self.stuck(text);
                    sleep(ERRORS.jittered(ERRORS.delay(failures))).await;
                }
                None => return Again::Relist,
            }
        }
    }

    fn settings(&self) -> watcher::Config {
        // Small pages where most is dropped: a page is in memory as a whole.
        let page_size = if self.0.subscribers.read().keep == Keep::All { 500 } else { 50 };
        watcher::Config {
            label_selector: self.0.select.labels.clone(),
            field_selector: self.0.select.fields.clone(),
            page_size: Some(page_size),
            ..watcher::Config::default()
        }
    }

    pub(super) fn take(&self, event: Event<Carrier<K>>) {
        match event {
            Event::Init => self.0.store.write().begin_relist(),
            Event::InitApply(object) | Event::Apply(object) => self.carried(object),
            Event::Delete(Carrier::Good(object)) => self.gone(Arc::new(object)),
            Event::Delete(Carrier::Bad { metadata, .. }) => {
                let key =
                    ObjectKey { namespace: metadata.namespace, name: metadata.name.unwrap_or_default() };
                if let Some(last) = self.get(&key) {
                    self.gone(last);
                }
            }
            Event::InitDone => {
                self.relisted();
                *self.0.problem.lock() = None;
                self.enter(State::Ready);
            }
        }
    }

    /// An object that the type cannot hold is left as it was: nobody may take it for deleted.
    fn carried(&self, object: Carrier<K>) {
        match object {
            Carrier::Good(object) => self.applied(object),
            Carrier::Bad { metadata, error } => {
                let key =
                    ObjectKey { namespace: metadata.namespace, name: metadata.name.unwrap_or_default() };
                self.0.store.write().look(&key);
                self.0.metrics.invalid();
                tracing::warn!(kind = %K::gvk(), object = %key, %error, "object ignored, as it does not fit its type");
            }
        }
    }

    /// Remembers why nothing comes; whoever waits for the first list is told.
    fn stuck(&self, problem: String) {
        let news = self.0.problem.lock().replace(problem.clone()).as_ref() != Some(&problem);
        if news && self.state() == State::Syncing {
            self.0.state.send_modify(|_| ());
        }
    }

    fn not_served(&self) {
        match self.state() {
            State::Ready | State::Gone => {
                self.0.store.write().begin_relist();
                self.relisted();
                self.enter(State::Gone);
            }
            State::Absent | State::Syncing => self.enter(State::Absent),
        }
    }

    fn enter(&self, state: State) {
        let moved = self.0.state.send_if_modified(|old| std::mem::replace(old, state) != state);
        if moved {
            tracing::debug!(kind = %K::gvk(), select = %self.0.select, ?state, "cache");
        }
    }
}

fn is_not_served(error: &Error) -> bool {
    match error {
        Error::InitialListFailed(Api(status)) | Error::WatchStartFailed(Api(status)) => {
            says_not_found(status)
        }
        Error::WatchError(status) => says_not_found(status),
        _ => false,
    }
}
