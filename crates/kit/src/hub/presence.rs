//! Which kinds come and go: one watch on the definitions of custom resources, their metadata only.

use crate::kind::Gvk;
use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::pin::pin;
use tokio::sync::watch;

/// What was last heard of a definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Counts what was heard.
    pub(super) heard: u64,
    /// The definition was removed.
    pub(super) removed: bool,
}

/// Tells hubs when the definition of their kind comes, changes or goes.
#[derive(Debug, Default)]
pub(super) struct Presence {
    kinds: Mutex<HashMap<String, watch::Sender<News>>>,
}

impl Presence {
    /// News of the definition of this kind.
    pub(super) fn of(&self, kind: &Gvk) -> watch::Receiver<News> {
        self.kinds
            .lock()
            .entry(kind.crd_name())
            .or_insert_with(|| watch::channel(News::default()).0)
            .subscribe()
    }

    fn tell(&self, definition: &str, removed: bool) {
        if let Some(sender) = self.kinds.lock().get(definition) {
            sender.send_modify(|news| *news = News { heard: news.heard + 1, removed });
        }
    }

    /// Watches the definitions for ever. If that is forbidden, hubs still look now and then by themselves.
    pub(super) async fn drive(&self, client: Client) {
        let api = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client);
        let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Apply(definition) | Event::InitApply(definition)) => {
                    self.tell(&definition.name_any(), false);
                }
                Ok(Event::Delete(definition)) => self.tell(&definition.name_any(), true),
                Ok(Event::Init | Event::InitDone) => {}
                Err(error) => tracing::warn!(%error, "watching the definitions of custom resources"),
            }
        }
    }
}
