//! A Pod's life after it was created: scheduled, created, running, ready, finished, stopped.
//!
//! [`step`] looks at what the Pod's status says now and tells what comes next and when. It takes one step at a time, so
//! that a watcher sees every state a real kubelet would show.

mod references;
mod script;
mod status;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};

pub(super) use references::{Kind, Needed, needed};
pub use script::{Exit, Reply, SCRIPT_ANNOTATION, Script, Step};
pub(super) use status::{HOST, restarts_in as restarts, scheduled, scripted, unschedulable};

use super::pods;

/// Why a Pod cannot start yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// A volume's ConfigMap or Secret is missing.
    Mount(String),
    /// A container's environment cannot be made.
    Config(String),
    /// The script in the annotation cannot be read.
    Script(String),
}

/// What comes next.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Next {
    /// The status to write; none if it stays.
    pub(super) status: Option<PodStatus>,
    /// An Event to tell: whether it is a warning, reason, message.
    pub(super) event: Option<(bool, &'static str, String)>,
    /// When to look again.
    pub(super) again: Option<Duration>,
    /// The Pod has stopped: delete it without grace.
    pub(super) gone: bool,
    /// The scripted container has just started: it writes its lines.
    pub(super) started: bool,
    /// The scripted container has just ended, and with a finished Pod all others.
    pub(super) ended: bool,
}

/// Where a Pod is in its life, as its status tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Accepted,
    Creating,
    Running,
    BackOff,
    Finished,
    Stopping,
}

/// The stage of a Pod that has a node.
pub(super) fn stage(pod: &Pod) -> Stage {
    if pods::is_terminating(pod) {
        return Stage::Stopping;
    }
    if pods::is_finished(pod) {
        return Stage::Finished;
    }
    let Some(statuses) = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()) else {
        return Stage::Accepted;
    };
    let states = || statuses.iter().filter_map(|status| status.state.as_ref());
    if states()
        .filter_map(|state| state.waiting.as_ref())
        .any(|w| w.reason.as_deref() == Some("CrashLoopBackOff"))
    {
        Stage::BackOff
    } else if states().any(|state| state.waiting.is_some()) {
        Stage::Creating
    } else {
        Stage::Running
    }
}

/// The next step of a Pod with a node, `since` long after it came to its present stage.
pub(super) fn step(
    pod: &Pod,
    script: &Script,
    obstacle: Option<&Obstacle>,
    since: Duration,
    now: Timestamp,
) -> Next {
    match stage(pod) {
        Stage::Finished => Next::default(),
        Stage::Stopping => stopping(pod, script, since, now),
        Stage::Accepted => {
            Next { status: Some(status::creating(pod, "ContainerCreating", None, now)), ..Next::default() }
        }
        Stage::Creating => creating(pod, script, obstacle, since, now),
        Stage::BackOff => {
            let wait = status::back_off(pod, script);
            match wait.checked_sub(since).filter(|left| !left.is_zero()) {
                Some(left) => Next { again: Some(left), ..Next::default() },
                None => {
                    Next { status: Some(status::running(pod, script, now)), started: true, ..Next::default() }
                }
            }
        }
        Stage::Running => running(pod, script, since, now),
    }
}

fn stopping(pod: &Pod, script: &Script, since: Duration, now: Timestamp) -> Next {
    let grace = Duration::from_secs(
        u64::try_from(pod.metadata.deletion_grace_period_seconds.unwrap_or(0)).unwrap_or(0),
    );
    let wait = match script.stop {
        Step::After(wait) => wait.min(grace),
        Step::Never => grace,
    };
    if let Some(left) = wait.checked_sub(since).filter(|left| !left.is_zero()) {
        return Next { again: Some(left), ..Next::default() };
    }
    let held = pod.metadata.finalizers.as_ref().is_some_and(|all| !all.is_empty());
    match (held, pods::is_finished(pod)) {
        // Somebody waits to see how it ended.
        (true, false) => Next { status: Some(status::stopped(pod, now)), ended: true, ..Next::default() },
        (true, true) if pod.metadata.deletion_grace_period_seconds == Some(0) => Next::default(),
        _ => Next { gone: true, ..Next::default() },
    }
}

fn creating(
    pod: &Pod,
    script: &Script,
    obstacle: Option<&Obstacle>,
    since: Duration,
    now: Timestamp,
) -> Next {
    let again = Some(Duration::from_secs(1));
    if let Some(obstacle) = obstacle {
        let (waiting, event, text) = match obstacle {
            Obstacle::Mount(text) => ("ContainerCreating", "FailedMount", text),
            Obstacle::Config(text) => ("CreateContainerConfigError", "Failed", text),
            Obstacle::Script(text) => ("CreateContainerError", "InvalidScript", text),
        };
        let message = (waiting != "ContainerCreating").then(|| text.clone());
        let status =
            Some(status::creating(pod, waiting, message, now)).filter(|new| pod.status.as_ref() != Some(new));
        let first = status.is_some() || since.is_zero();
        let shown = match obstacle {
            Obstacle::Config(_) => format!("Error: {text}"),
            Obstacle::Mount(_) | Obstacle::Script(_) => text.clone(),
        };
        return Next { event: first.then_some((true, event, shown)), status, again, ..Next::default() };
    }
    match script.pull {
        Step::Never => {
            let image = status::image(pod, script);
            let known = status::waiting_reason(pod)
                .is_some_and(|reason| reason == "ErrImagePull" || reason == "ImagePullBackOff");
            let (reason, message) = if known {
                ("ImagePullBackOff", format!("Back-off pulling image {image:?}"))
            } else {
                ("ErrImagePull", format!("failed to pull image {image:?}: not found"))
            };
            let status = status::creating(pod, reason, Some(message.clone()), now);
            if pod.status.as_ref() == Some(&status) {
                return Next::default();
            }
            let event = if known {
                (false, "BackOff", message)
            } else {
                (true, "Failed", format!("Failed to pull image {image:?}: not found"))
            };
            Next { status: Some(status), event: Some(event), ..Next::default() }
        }
        Step::After(wait) => match wait.checked_sub(since).filter(|left| !left.is_zero()) {
            Some(left) => Next { again: Some(left), ..Next::default() },
            None => {
                Next { status: Some(status::running(pod, script, now)), started: true, ..Next::default() }
            }
        },
    }
}

fn running(pod: &Pod, script: &Script, since: Duration, now: Timestamp) -> Next {
    let mut again: Option<Duration> = None;
    let mut wait_for = |at: Duration| {
        let left = at.checked_sub(since).filter(|left| !left.is_zero());
        if let Some(left) = left {
            again = Some(again.map_or(left, |known| known.min(left)));
        }
        left.is_none()
    };
    // Readiness first: a container that is ready and ends at once is seen to have been ready.
    if let Step::After(at) = script.ready
        && wait_for(at)
    {
        let status = status::ready(pod, now);
        if pod.status.as_ref() != Some(&status) {
            return Next { status: Some(status), again: Some(Duration::ZERO), ..Next::default() };
        }
    }
    if let Some((code, after)) = status::ending(pod, script)
        && wait_for(after)
    {
        let (status, back_off) = status::exited(pod, script, code, now);
        let event = back_off.then(|| {
            let name = status::scripted(pod, script);
            (
                true,
                "BackOff",
                format!(
                    "Back-off restarting failed container {name} in pod {}",
                    pod.metadata.name.as_deref().unwrap_or_default()
                ),
            )
        });
        return Next { status: Some(status), event, ended: true, ..Next::default() };
    }
    Next { again, ..Next::default() }
}

#[cfg(test)]
mod tests;
