//! What the API server says was asked of it, and by whom: its audit log.
//!
//! The one witness that no process under test can mislead, with one clock for all of them.

use std::path::Path;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::{SignedDuration, Timestamp},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Error;

const LOG: &str = "audit.log";

/// One request, once it was answered (or, for a watch, once it began).
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; for paths the method.
    pub verb: String,
    /// The path with its query.
    #[serde(rename = "requestURI")]
    pub uri: String,
    user: User,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    /// What was sent; only of Leases.
    #[serde(default)]
    pub request_object: Value,
    request_received_timestamp: MicroTime,
    stage_timestamp: MicroTime,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Clone, Debug, Deserialize)]
struct User {
    #[serde(default)]
    extra: std::collections::BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Annotations {
    #[serde(rename = "authorization.k8s.io/decision", default)]
    decision: String,
}

impl Event {
    /// When the server got it.
    pub fn received(&self) -> Timestamp {
        self.request_received_timestamp.0
    }

    /// When the server had answered it.
    pub fn answered(&self) -> Timestamp {
        self.stage_timestamp.0
    }

    /// How long after that moment the server got it.
    pub fn after(&self, moment: Timestamp) -> SignedDuration {
        self.received().duration_since(moment)
    }

    /// Which token was shown: each process has its own.
    pub fn credential(&self) -> &str {
        let of = self.user.extra.get("authentication.kubernetes.io/credential-id");
        of.and_then(|ids| ids.first()).map_or("", String::as_str)
    }

    /// API group; empty for the core.
    pub fn group(&self) -> &str {
        &self.object_ref.api_group
    }

    /// The plural, with `/` and the subresource if there is one; empty for paths.
    pub fn resource(&self) -> String {
        let ObjectRef { resource, subresource, .. } = &self.object_ref;
        if subresource.is_empty() { resource.clone() } else { format!("{resource}/{subresource}") }
    }

    /// Namespace; empty for what is everywhere.
    pub fn namespace(&self) -> &str {
        &self.object_ref.namespace
    }

    /// The object's name; empty for many, and for what is created by its collection.
    pub fn name(&self) -> &str {
        &self.object_ref.name
    }

    /// The code answered.
    pub fn code(&self) -> u16 {
        self.response_status.code
    }

    /// Whether it was let through and done.
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.code())
    }

    /// Whether a right was missing.
    pub fn was_forbidden(&self) -> bool {
        self.annotations.decision == "forbid"
    }

    /// Whether it asks for a change.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {} {}", self.received(), self.verb, self.uri, self.code())?;
        write!(f, " by {}", self.credential())
    }
}

/// What the API server has to be told to write down all that a user asks.
pub(super) fn arguments(directory: &Path, user: &str) -> Result<[String; 2], Error> {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Request", "users": [user], "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
            {"level": "Metadata", "users": [user]},
            {"level": "None"},
        ],
    });
    let path = directory.join("audit-policy.json"); // JSON is YAML
    std::fs::write(&path, policy.to_string()).map_err(Error::io("write the audit policy"))?;
    Ok([
        format!("--audit-policy-file={}", path.display()),
        format!("--audit-log-path={}", directory.join(LOG).display()),
    ])
}

/// All that was written down so far, in the order in which the server got it.
pub(super) fn read(directory: &Path) -> Result<Vec<Event>, Error> {
    let text = match std::fs::read_to_string(directory.join(LOG)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        other => other.map_err(Error::io("read the audit log"))?,
    };
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n')); // the last may be half written
    let events: Result<Vec<Event>, _> = whole.map(serde_json::from_str).collect();
    let mut events = events.map_err(|error| Error::io("understand the audit log")(error.into()))?;
    events.sort_by_key(Event::received);
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_tells_who_asked_for_what_and_when() {
        let line = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": "1", "stage": "ResponseComplete",
            "requestURI": "/apis/apps/v1/namespaces/a/deployments/b/status", "verb": "patch",
            "user": {"username": "u", "extra": {"authentication.kubernetes.io/credential-id": ["JTI=x"]}},
            "objectRef": {"resource": "deployments", "namespace": "a", "name": "b", "apiGroup": "apps", "subresource": "status"},
            "responseStatus": {"metadata": {}, "code": 403},
            "requestReceivedTimestamp": "2026-01-01T00:00:00.000001Z", "stageTimestamp": "2026-01-01T00:00:01.000000Z",
            "annotations": {"authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": ""},
        });
        let event: Event = serde_json::from_value(line).expect("an event");
        assert!(event.is_write() && event.was_forbidden() && !event.succeeded());
        assert_eq!((event.credential(), event.resource().as_str()), ("JTI=x", "deployments/status"));
        assert_eq!(event.answered().duration_since(event.received()).as_micros(), 999_999);
    }
}
