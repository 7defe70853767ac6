//! Which container of a Pod is meant, and how it is.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

use crate::status::{Error, Result};

/// How a container is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It has not started, for this reason.
    Waiting(String),
    Running,
    Ended,
}

/// The container of this name, or the only one if none is named.
pub(crate) fn named(pod: &Pod, name: &str) -> Result<String> {
    let spec = pod.spec.as_ref();
    let main: Vec<&str> = spec.iter().flat_map(|spec| &spec.containers).map(|c| c.name.as_str()).collect();
    let mut first = spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    let of = pod.metadata.name.as_deref().unwrap_or_default();
    match (name, main.as_slice()) {
        ("", [only]) => Ok((*only).to_owned()),
        ("", many) => Err(Error::bad_request(format!(
            "a container name must be specified for pod {of}, choose one of: [{}]",
            many.join(" ")
        ))),
        (name, known) if known.contains(&name) || first.any(|c| c.name == name) => Ok(name.to_owned()),
        (name, _) => Err(Error::bad_request(format!("container {name} is not valid for pod {of}"))),
    }
}

/// How the container of this name is.
pub(crate) fn phase(pod: &Pod, name: &str) -> Phase {
    let statuses = |all: &Option<Vec<ContainerStatus>>| {
        all.iter().flatten().find(|status| status.name == name).and_then(|status| status.state.clone())
    };
    let state = pod.status.as_ref().and_then(|status| {
        statuses(&status.container_statuses).or_else(|| statuses(&status.init_container_statuses))
    });
    match state {
        Some(state) if state.running.is_some() => Phase::Running,
        Some(state) if state.terminated.is_some() => Phase::Ended,
        state => {
            let reason = state.and_then(|state| state.waiting).and_then(|waiting| waiting.reason);
            Phase::Waiting(reason.unwrap_or_else(|| "ContainerCreating".into()))
        }
    }
}
