//! Following applied objects until they are ready, or telling in words why they are not.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures::stream::{SelectAll, StreamExt};
use kube::Client;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{WatchStreamExt, watcher::Event};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::commands::apply::Applied;
use crate::commands::tree::{Health, State, causes, health};
use crate::output::{Paint, Progress};
use crate::systems::Systems;

/// Tells each change of an object's health, until all are ready or the time is over; then what is not, and why. True if
/// all are ready.
pub(super) async fn follow(
    client: &Client,
    systems: &Systems,
    applied: Vec<Applied>,
    limit: Duration,
    stop: &CancellationToken,
    progress: Progress,
) -> Result<bool> {
    let began = Instant::now();
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
                progress(&line(&title, &verdict))?;
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
        None => Ok(true), // stopped before it could be known
        Some(Ok(result)) => {
            result?;
            progress(&format!("\nAll of it is ready, after {:.1} s.\n", began.elapsed().as_secs_f64()))?;
            Ok(true)
        }
        Some(Err(_)) => {
            let late = |one: &&Applied| {
                let known = seen.get(&one.served.object(&one.name));
                !known.is_some_and(|health| matches!(health.state, State::Ready | State::Plain))
            };
            progress(&format!("\nNot ready after {} s:\n", limit.as_secs()))?;
            for one in applied.iter().filter(late) {
                progress(&account(client, one, seen.get(&one.served.object(&one.name))).await)?;
            }
            Ok(false)
        }
    }
}

/// Why an object is not ready, from the bottom of its family, and how to look closer.
async fn account(client: &Client, one: &Applied, health: Option<&Health>) -> String {
    let title = one.served.object(&one.name);
    let mut causes = causes(client, &one.served, &one.namespace, &one.name).await.unwrap_or_default();
    if causes.is_empty() {
        let known = health.map(|health| health.why.first().unwrap_or(&health.summary).clone());
        causes.push(known.unwrap_or_else(|| "nothing was heard of it".into()));
    }
    let lines: String = causes.iter().map(|cause| format!("  because {cause}\n")).collect();
    let place = if one.served.namespaced { format!(" -n {}", one.namespace) } else { String::new() };
    let kind = one.served.api.kind.to_lowercase();
    format!("{title}\n{lines}  to look closer: quintet tree {kind} {}{place}\n", one.name)
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
