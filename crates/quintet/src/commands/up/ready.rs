//! Following applied objects until they are ready, or telling in words why they are not.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use futures::stream::{SelectAll, StreamExt};
use kube::Client;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{WatchStreamExt, watcher::Event};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::commands::apply::Applied;
use crate::commands::tree::{Health, State, health};
use crate::errors::{Exit, Refusal};
use crate::output::{self, Paint};
use crate::systems::Systems;

/// Prints each change of an object's health; returns when all are ready.
pub(super) async fn follow(
    client: &Client,
    systems: &Systems,
    applied: Vec<Applied>,
    limit: Duration,
    stop: &CancellationToken,
) -> Result<()> {
    let mut seen: BTreeMap<String, Health> = BTreeMap::new();
    let watching = async {
        let mut changes = SelectAll::new();
        for one in &applied {
            let api = one.served.api(client, &one.namespace);
            let config = watcher::Config::default().fields(&format!("metadata.name={}", one.name));
            let (title, kind) = (one.served.object(&one.name), one.served.api.kind.clone());
            let ours = systems.reconcile(&one.served.api.group, &kind);
            let events = watcher(api, config).default_backoff();
            changes.push(events.map(move |event| (title.clone(), kind.clone(), ours, event)).boxed());
        }
        while let Some((title, kind, ours, event)) = changes.next().await {
            let Ok(Event::Apply(object) | Event::InitApply(object)) = event else { continue };
            let verdict = judged(&object, &kind, ours);
            if seen.get(&title) != Some(&verdict) {
                output::print(&line(&title, &verdict))?;
                seen.insert(title, verdict);
            }
            let done = |h: &Health| matches!(h.state, State::Ready | State::Plain);
            if seen.len() == applied.len() && seen.values().all(done) {
                break;
            }
        }
        anyhow::Ok(())
    };
    match stop.run_until_cancelled(timeout(limit, watching)).await {
        None => Ok(()),
        Some(Ok(result)) => result,
        Some(Err(_)) => {
            let late: Vec<String> = seen
                .iter()
                .filter(|(_, h)| !matches!(h.state, State::Ready | State::Plain))
                .map(|(title, h)| format!("{title}: {}", h.why.first().unwrap_or(&h.summary)))
                .collect();
            Err(Refusal::new(
                Exit::NotReady,
                format!("not ready after {} s: {}", limit.as_secs(), late.join("; ")),
            )
            .next("`quintet tree` on the object shows its children and why they are not ready")
            .into())
        }
    }
}

/// An object of ours without a condition is not plain: nobody has looked at it yet.
fn judged(object: &DynamicObject, kind: &str, ours: bool) -> Health {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["kind"] = kind.into();
    let mut verdict = health(&value);
    if ours && verdict.state == State::Plain {
        verdict.state = State::Waiting;
        verdict.summary = "not looked at yet".into();
    }
    verdict
}

fn line(title: &str, health: &Health) -> String {
    let paint = Paint::detect();
    let why = health.why.first().map(|w| format!("  {w}")).unwrap_or_default();
    let summary = if health.summary.is_empty() { "applied" } else { &health.summary };
    format!("{title}  {}{why}\n", paint.tone(health.state.tone(), summary))
}
