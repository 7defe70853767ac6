//! The fields that field selectors may name.

use serde_json::Value;

/// A selectable field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// As written in a selector.
    pub name: Box<str>,
    path: Vec<Box<str>>,
    absent: &'static str,
}

impl Field {
    /// A field selected by its own path.
    pub fn new(path: &str) -> Self {
        Self::at(path, path, "")
    }

    /// A field `name` found at `path`, reading as `absent` where there is none.
    pub fn at(name: &str, path: &str, absent: &'static str) -> Self {
        let path = path.trim_start_matches('.').split('.').map(Into::into).collect();
        Self { name: name.trim_start_matches('.').into(), path, absent }
    }

    /// The field's text in an object.
    pub fn read(&self, object: &Value) -> Box<str> {
        match self.path.iter().try_fold(object, |value, step| value.get(step.as_ref())) {
            None | Some(Value::Null) => self.absent.into(),
            Some(Value::String(text)) => text.as_str().into(),
            Some(other) => other.to_string().into(),
        }
    }
}

/// The selectable fields of a built-in kind.
pub(super) fn builtin(group: &str, kind: &str) -> Vec<Field> {
    match (group, kind) {
        ("", "Pod") => [
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ]
        .map(Field::new)
        .into_iter()
        .chain([
            Field::at("spec.hostNetwork", "spec.hostNetwork", "false"),
            Field::at("status.podIPs", "status.podIP", ""),
        ])
        .collect(),
        ("", "Event") => event("involvedObject", "reportingComponent"),
        ("events.k8s.io", "Event") => event("regarding", "reportingController"),
        ("", "Secret") => vec![Field::new("type")],
        ("", "Service") => vec![Field::new("spec.clusterIP"), Field::new("spec.type")],
        ("", "Namespace") => vec![Field::new("status.phase")],
        ("", "Node") => vec![Field::at("spec.unschedulable", "spec.unschedulable", "false")],
        ("", "ReplicationController") | ("apps", "ReplicaSet") => {
            vec![Field::at("status.replicas", "status.replicas", "0")]
        }
        ("batch", "Job") => vec![Field::at("status.successful", "status.succeeded", "0")],
        _ => Vec::new(),
    }
}

/// Events of both groups are stored in the core form, so both read their fields there.
fn event(about: &str, reporter: &str) -> Vec<Field> {
    ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"]
        .iter()
        .map(|part| Field::at(&format!("{about}.{part}"), &format!("involvedObject.{part}"), ""))
        .chain([
            Field::new("reason"),
            Field::new("type"),
            Field::at("source", "source.component", ""),
            Field::at(reporter, "reportingComponent", ""),
        ])
        .collect()
}
