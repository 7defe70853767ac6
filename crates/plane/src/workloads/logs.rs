//! What simulated containers wrote.

use std::collections::HashMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;

use super::Workloads;
use super::view::View;
use crate::hooks::{Answer, ExtraRequest};
use crate::status::{Error, FieldError, Result};

/// More lines than this are not kept per Pod.
const KEPT: usize = 10_000;

/// One line, and when it was written.
type Line = (Timestamp, String);

/// Lines by uid of the Pod.
#[derive(Default)]
pub(super) struct Logs(Mutex<HashMap<String, Vec<Line>>>);

impl Logs {
    pub(super) fn append(&self, uid: &str, lines: &[String], now: Timestamp) {
        if lines.is_empty() {
            return;
        }
        let mut all = self.0.lock();
        let kept = all.entry(uid.to_owned()).or_default();
        kept.extend(lines.iter().map(|line| (now, line.clone())));
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }

    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }

    fn of(&self, uid: &str) -> Vec<Line> {
        self.0.lock().get(uid).cloned().unwrap_or_default()
    }
}

/// Answers `GET …/pods/<name>/log`.
pub(super) fn answer(workloads: &Workloads, view: &View, request: &ExtraRequest) -> Result<Answer> {
    let pod = view.get::<Pod>(&request.namespace, &request.name);
    let pod = pod.ok_or_else(|| Error::not_found(&request.names, &request.name))?;
    let given =
        |name: &str| request.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let names: Vec<&str> =
        pod.spec.iter().flat_map(|spec| &spec.containers).map(|c| c.name.as_str()).collect();
    let container = match (given("container").filter(|name| !name.is_empty()), names.as_slice()) {
        (Some(name), known) if known.contains(&name) => name,
        (Some(name), _) => {
            return Err(Error::bad_request(format!(
                "container {name} is not valid for pod {}",
                request.name
            )));
        }
        (None, [only]) => only,
        (None, many) => {
            return Err(Error::bad_request(format!(
                "a container name must be specified for pod {}, choose one of: [{}]",
                request.name,
                many.join(" ")
            )));
        }
    };
    let tail = given("tailLines").and_then(|text| text.parse::<i64>().ok());
    if let Some(tail) = tail.filter(|tail| *tail < 0) {
        let error = FieldError::invalid("tailLines", tail, "must be greater than or equal to 0");
        return Err(Error::invalid_kind("", "PodLogOptions", &request.name, &[error]));
    }
    if pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none()) {
        return Ok(Answer::Empty);
    }
    let script = workloads.script(&pod).unwrap_or_default();
    let scripted = script.container.as_deref().or(names.first().copied());
    let lines = if scripted == Some(container) {
        workloads.logs().of(pod.metadata.uid.as_deref().unwrap_or_default())
    } else {
        vec![]
    };
    let skip = tail.map_or(0, |tail| lines.len().saturating_sub(usize::try_from(tail).unwrap_or(usize::MAX)));
    let stamped = given("timestamps") == Some("true");
    let show = |(time, line): &Line| if stamped { format!("{time} {line}\n") } else { format!("{line}\n") };
    Ok(Answer::Text(lines.iter().skip(skip).map(show).collect()))
}
