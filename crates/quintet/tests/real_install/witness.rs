//! What the audit log says about who wrote when.
//!
//! Every process has a token of its own, and the API server notes with each request which token was shown, when the request
//! came and when it was answered. So this does not rest on anything that the processes say of themselves.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use quintet_harness::kube::audit::Event;

use super::site::{LEASE, REGISTRY_LEASE};

/// A process counts its time from before it sends a renewal; the server from when it got it. And a write may be a moment
/// under way.
const ON_THE_WAY: SignedDuration = SignedDuration::from_millis(500);

/// One system's writes and the lease that must cover them.
pub(crate) struct Witness {
    /// The lease's name.
    lease: &'static str,
    /// Whether a write is this system's.
    concerns: fn(&Event) -> bool,
}

pub(crate) const MLFLOW: Witness = Witness { lease: LEASE, concerns: is_mlflows };
pub(crate) const REGISTRY: Witness = Witness { lease: REGISTRY_LEASE, concerns: |event| !is_mlflows(event) };

/// Whether a write is of the MLflow operator, by whose name it bears or what it makes.
fn is_mlflows(event: &Event) -> bool {
    event.group().starts_with("mlflow.")
        || event.uri.contains("fieldManager=mlflow-operator")
        || event.name().starts_with("mlflow")
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Testimony {
    /// Writes of objects.
    pub(crate) writes: usize,
    /// Processes that wrote any.
    pub(crate) writers: BTreeSet<String>,
    /// When each process got the lease from another, in order.
    pub(crate) acquired: Vec<(Timestamp, String)>,
    /// The longest time from a renewal to a write under it.
    pub(crate) latest: SignedDuration,
}

/// One record of the lease that the server accepted.
struct Record<'a> {
    event: &'a Event,
    /// Empty if it was given back.
    holder: &'a str,
    lasts: SignedDuration,
}

impl Witness {
    /// Looks at every write: it must have come, and have been answered, while the lease named its writer, within two thirds
    /// of the lease's time since that writer renewed it.
    pub(crate) fn judge(&self, events: &[Event]) -> Result<Testimony, String> {
        let records = self.records(events);
        let mut testimony = Testimony { acquired: acquired(&records), ..Testimony::default() };
        let writes = events
            .iter()
            .filter(|event| event.is_write() && is_of_an_object(event) && (self.concerns)(event));
        for write in writes {
            let covering = records.iter().rev().find(|record| record.event.answered() <= write.received());
            let Some(covering) = covering else {
                return Err(format!("written before anybody had the lease: {write}"));
            };
            if covering.event.credential() != write.credential() || covering.holder.is_empty() {
                return Err(format!(
                    "written while the lease was not the writer's: {write}\n{}",
                    covering.event
                ));
            }
            let next = records.iter().find(|record| record.event.received() > covering.event.received());
            let taken =
                next.filter(|next| next.event.credential() != write.credential() || next.holder.is_empty());
            if taken.is_some_and(|taken| taken.event.answered() <= write.answered()) {
                return Err(format!("under way when the lease went to another: {write}"));
            }
            let since = write.after(covering.event.received());
            if since > covering.lasts * 2 / 3 + ON_THE_WAY {
                return Err(format!("{since:#} after the last renewal: {write}\n{}", covering.event));
            }
            testimony.latest = testimony.latest.max(since);
            testimony.writes += 1;
            testimony.writers.insert(write.credential().to_owned());
        }
        Ok(testimony)
    }

    fn records<'e>(&self, events: &'e [Event]) -> Vec<Record<'e>> {
        let leases = events
            .iter()
            .filter(|event| event.resource() == "leases" && event.is_write() && event.succeeded());
        let ours = leases.filter(|event| event.request_object["metadata"]["name"] == self.lease);
        let record = |event: &'e Event| Record {
            event,
            holder: event.request_object["spec"]["holderIdentity"].as_str().unwrap_or_default(),
            lasts: SignedDuration::from_secs(
                event.request_object["spec"]["leaseDurationSeconds"].as_i64().unwrap_or(0),
            ),
        };
        ours.map(record).collect()
    }
}

fn acquired(records: &[Record<'_>]) -> Vec<(Timestamp, String)> {
    let mut holder = String::new();
    let mut all = vec![];
    for record in records {
        let now = if record.holder.is_empty() { "" } else { record.event.credential() };
        if now != holder {
            holder = now.to_owned();
            if !now.is_empty() {
                all.push((record.event.received(), holder.clone()));
            }
        }
    }
    all
}

/// Not of what every replica may write: leases, which this is about; reviews, which ask; Events, which tell.
fn is_of_an_object(event: &Event) -> bool {
    !matches!(
        event.resource().as_str(),
        "leases" | "events" | "tokenreviews" | "subjectaccessreviews" | "selfsubjectaccessreviews"
    )
}

/// Requests that were refused for want of a right, each once.
pub(crate) fn forbidden(events: &[Event]) -> BTreeSet<String> {
    let refused = events.iter().filter(|event| event.was_forbidden() || event.code() == 403);
    refused.map(|event| format!("{} {}", event.verb, event.uri)).collect()
}

/// How often each resource was written, for the record.
pub(crate) fn written(events: &[Event]) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for event in events.iter().filter(|event| event.is_write()) {
        *all.entry(format!("{} {}", event.verb, event.resource())).or_default() += 1;
    }
    all
}
