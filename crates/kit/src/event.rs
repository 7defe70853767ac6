//! Events: what a user sees in `kubectl describe`. Recorded beside the work, never instead of it: a reconcile neither
//! waits for an event nor fails with one.

use crate::clock::Clock;
use crate::fence::Fence;
use crate::metrics::Metrics;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde_json::json;
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The server refuses longer notes.
const NOTE: usize = 1024;
/// The server refuses longer reasons and actions.
const WORD: usize = 128;
/// Repeats within this time of one another are one event that is counted.
const FOLD: Duration = Duration::from_secs(6 * 60);
/// Events waiting to be sent; what exceeds it is lost, and counted as such.
const WAITING: usize = 256;

/// Something worth telling about an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    /// A `Warning`, or `Normal`.
    pub warning: bool,
    /// One word of a closed set.
    pub reason: String,
    /// What was being done.
    pub action: String,
    /// The text.
    pub text: String,
}

impl Note {
    /// Something went as it should.
    pub fn normal(reason: impl Into<String>, action: impl Into<String>, text: impl Into<String>) -> Self {
        Note { warning: false, reason: reason.into(), action: action.into(), text: text.into() }
    }

    /// Something needs attention.
    pub fn warning(reason: impl Into<String>, action: impl Into<String>, text: impl Into<String>) -> Self {
        Note { warning: true, ..Note::normal(reason, action, text) }
    }
}

/// Records events under one reporter's name; clones share what is folded.
#[derive(Clone, Debug)]
pub struct Events {
    queue: mpsc::Sender<(ObjectReference, Note)>,
    metrics: Metrics,
}

impl Events {
    /// Starts to record. `reporter` is the controller's name in the event, `instance` that of the process.
    #[must_use]
    pub fn new(
        client: Client,
        reporter: &str,
        instance: &str,
        fence: Fence,
        clock: Clock,
        metrics: Metrics,
    ) -> Self {
        let (queue, mut waiting) = mpsc::channel(WAITING);
        let mut recorder = Recorder {
            client,
            reporter: reporter.to_owned(),
            instance: cut(instance, WORD).to_owned(),
            fence,
            clock,
            recent: HashMap::new(),
            stamp: 0,
        };
        let counted = metrics.clone();
        tokio::spawn(async move {
            while let Some((about, note)) = waiting.recv().await {
                if let Err(error) = recorder.record(about, note).await {
                    counted.event_lost();
                    tracing::warn!(reporter = recorder.reporter, %error, "event not recorded");
                }
            }
        });
        Events { queue, metrics }
    }

    /// Records an event about an object, some time soon.
    pub fn publish(&self, about: &impl Resource<DynamicType = ()>, note: Note) {
        self.publish_about(about.object_ref(&()), note);
    }

    /// Records an event about whatever the reference names.
    pub fn publish_about(&self, about: ObjectReference, note: Note) {
        // With a version the same news of a changed object would not be the same event.
        let about = ObjectReference { resource_version: None, ..about };
        if self.queue.try_send((about, note)).is_err() {
            self.metrics.event_lost();
        }
    }
}

struct Recorder {
    client: Client,
    reporter: String,
    instance: String,
    fence: Fence,
    clock: Clock,
    recent: HashMap<Folding, Recent>,
    /// The stamp in the last event's name.
    stamp: i128,
}

/// What makes two events the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Folding {
    about: [Option<String>; 5],
    note: Note,
}

struct Recent {
    namespace: String,
    name: String,
    count: i32,
    last: Instant,
}

#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error(transparent)]
    Closed(#[from] crate::fence::Closed),
}

impl Recorder {
    async fn record(&mut self, about: ObjectReference, note: Note) -> Result<(), RecordError> {
        let note = Note {
            reason: cut(&note.reason, WORD).into(),
            action: cut(&note.action, WORD).into(),
            text: cut(&note.text, NOTE).into(),
            ..note
        };
        let parts = [&about.api_version, &about.kind, &about.namespace, &about.name, &about.uid];
        let folding = Folding { about: parts.map(Clone::clone), note };
        self.recent.retain(|_, recent| recent.last.elapsed() < FOLD);
        if let Some(recent) = self.recent.get_mut(&folding) {
            recent.count += 1;
            recent.last = Instant::now();
            let series = EventSeries { count: recent.count, last_observed_time: self.clock.micros() };
            let api: Api<Event> = Api::namespaced(self.client.clone(), &recent.namespace);
            let (name, patch) = (recent.name.clone(), Patch::Merge(json!({ "series": series })));
            match self.fence.guard(api.patch(&name, &PatchParams::default(), &patch)).await? {
                Err(error) if crate::error::is_not_found(&error) => {} // expired: a new one it is
                result => return Ok(result.map(drop)?),
            }
        }
        let event = self.event(about, &folding.note);
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        self.fence.guard(api.create(&PostParams::default(), &event)).await??;
        let name = event.metadata.name.unwrap_or_default();
        self.recent.insert(folding, Recent { namespace, name, count: 1, last: Instant::now() });
        Ok(())
    }

    fn event(&mut self, about: ObjectReference, note: &Note) -> Event {
        // Two events of one moment need two names.
        self.stamp = self.clock.now().as_nanosecond().max(self.stamp + 1);
        let stamp = self.stamp;
        let name = about.name.as_deref().unwrap_or("unknown");
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{}.{stamp:x}", cut(name, 200))),
                // An event about a cluster-scoped object has to live somewhere.
                namespace: Some(about.namespace.clone().unwrap_or_else(|| "default".into())),
                ..ObjectMeta::default()
            },
            type_: Some(if note.warning { "Warning" } else { "Normal" }.into()),
            reason: Some(note.reason.clone()),
            action: Some(note.action.clone()),
            note: Some(note.text.clone()),
            event_time: Some(self.clock.micros()),
            reporting_controller: Some(self.reporter.clone()),
            reporting_instance: Some(self.instance.clone()),
            regarding: Some(about),
            ..Event::default()
        }
    }
}

/// The longest beginning of a text that has at most so many bytes and ends with a whole character.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
