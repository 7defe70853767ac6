//! Admission around a few objects, with webhooks that answer by path.

mod policies;
mod webhooks;

use std::sync::Arc;

use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use crate::hooks::{AdmissionRequest, Admit, Attributes, Decision, Operation, User};
use crate::resource::{GroupVersionKind, Names};
use crate::status::Result;
use crate::webhook::{Backend, Backends, Caller};

/// A plane with these configurations and webhooks that answer by path; what they were asked is kept.
#[derive(Default)]
struct Around {
    mutating: Vec<Value>,
    validating: Vec<Value>,
    policies: Vec<Value>,
    bindings: Vec<Value>,
    parameters: Vec<Value>,
}

impl Surroundings for Around {
    fn configurations(&self, phase: Phase) -> Vec<Arc<Value>> {
        let hooks = if phase == Phase::Mutating { &self.mutating } else { &self.validating };
        if hooks.is_empty() {
            return vec![];
        }
        vec![Arc::new(json!({ "metadata": { "name": "c", "resourceVersion": "1" }, "webhooks": hooks }))]
    }

    fn policies(&self) -> (Vec<Arc<Value>>, Vec<Arc<Value>>) {
        let shared = |all: &[Value]| all.iter().cloned().map(Arc::new).collect();
        (shared(&self.policies), shared(&self.bindings))
    }

    fn namespace(&self, name: &str) -> Option<Arc<Value>> {
        (name == "wl").then(|| Arc::new(json!({ "metadata": { "name": "wl", "labels": { "team": "a" } } })))
    }

    fn served_versions(&self, _: &str, _: &str) -> Vec<String> {
        vec!["v1".into(), "v2".into()]
    }

    fn convert<'a>(&'a self, object: &'a Value, to: &'a GroupVersionKind) -> BoxFuture<'a, Result<Value>> {
        let mut object = object.clone();
        object["apiVersion"] = json!(to.api_version());
        Box::pin(async move { Ok(object) })
    }

    fn complete(&self, _: &GroupVersionKind, object: Value) -> Result<Value, String> {
        Ok(object)
    }

    fn authorize(&self, user: &User, attributes: &Attributes) -> Decision {
        match (user.name.as_str(), attributes.verb.as_str()) {
            ("alice", "get") => Decision::Allow("alice reads".into()),
            ("system:serviceaccount:wl:bot", "update") => Decision::Allow(String::new()),
            _ => Decision::Deny(String::new()),
        }
    }

    fn objects(&self, kind: &GroupVersionKind) -> Option<(bool, Vec<Arc<Value>>)> {
        (&*kind.kind == "ConfigMap").then(|| (true, self.parameters.iter().cloned().map(Arc::new).collect()))
    }
}

type Seen = Arc<Mutex<Vec<(String, Value)>>>;
type Answer = fn(&str, &Value) -> Value;

/// `answer` gets the webhook's path and the request, and gives the response (its uid is added unless it has one).
fn webhooks(around: Around, answer: Answer) -> (Webhooks, Seen) {
    let seen = Seen::default();
    let log = seen.clone();
    let route = post(async move |uri: axum::http::Uri, Json(review): Json<Value>| {
        let path = uri.path().to_owned();
        log.lock().push((path.clone(), review.clone()));
        let mut response = answer(&path, &review["request"]);
        if response.is_object() && response.get("uid").is_none() {
            response["uid"] = review["request"]["uid"].clone();
        }
        let version =
            if path == "/old" { json!("admission.k8s.io/v1beta1") } else { review["apiVersion"].clone() };
        Json(json!({ "apiVersion": version, "kind": "AdmissionReview", "response": response }))
    });
    let backends = Backends::default();
    backends.insert("wl", "hook", Backend::InProcess(Router::new().fallback_service(route.with_state(()))));
    let caller = Caller::new(Arc::new(backends), |_, _| false);
    (Webhooks::new(Arc::new(around), caller), seen)
}

fn hook(path: &str) -> Value {
    json!({
        "name": "wh.example.com",
        "clientConfig": { "service": { "namespace": "wl", "name": "hook", "path": path } },
        "rules": [{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    })
}

fn with(mut hook: Value, key: &str, value: Value) -> Value {
    hook[key] = value;
    hook
}

fn names() -> Names {
    Names {
        group: "".into(),
        plural: "configmaps".into(),
        singular: "configmap".into(),
        kind: "ConfigMap".into(),
        list_kind: "ConfigMapList".into(),
    }
}

fn create(name: &str) -> AdmissionRequest {
    AdmissionRequest {
        user: User::new("alice", []),
        operation: Operation::Create,
        kind: GroupVersionKind::new("", "v1", "ConfigMap"),
        names: names(),
        subresource: String::new(),
        namespace: "wl".into(),
        name: name.into(),
        object: json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": { "app": "web" } } }),
        old_object: Value::Null,
        dry_run: false,
        options: json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" }),
        warnings: vec![],
    }
}

fn patch(operations: &Value) -> Value {
    json!({ "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(operations.to_string()) })
}

fn allow(_: &str, _: &Value) -> Value {
    json!({ "allowed": true, "warnings": ["careful"] })
}

async fn validated(hook: Value, answer: Answer) -> (Result<()>, AdmissionRequest, Seen) {
    let (webhooks, seen) = webhooks(Around { validating: vec![hook], ..Around::default() }, answer);
    let mut request = create("x");
    let outcome = webhooks.validate(&mut request).await;
    (outcome, request, seen)
}

async fn mutated(hook: Value, answer: Answer) -> (Result<()>, AdmissionRequest, Seen) {
    let (webhooks, seen) = webhooks(Around { mutating: vec![hook], ..Around::default() }, answer);
    let mut request = create("x");
    let outcome = webhooks.mutate(&mut request).await;
    (outcome, request, seen)
}
