//! AdmissionReviews: what the API server asks before it stores an object.

use super::handler::{Allowed, Asked, Denied, Operation, Verdict};
use crate::kind::{Gvk, Kind};
use crate::status::difference;
use axum::body::Bytes;
use http::HeaderMap;
use k8s_openapi::api::authentication::v1::UserInfo;
use kube::core::{GroupVersionKind, TypeMeta};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A handler whose type is forgotten: from a request to an allowance, with a patch if it changes something.
pub(super) type Handler = Box<dyn Fn(&Request) -> Result<(Allowed, Option<Value>), Denied> + Send + Sync>;

/// The handlers at one path, by the kind that each is for: an object is handled in the version it was sent in.
pub(super) type Handlers = Vec<(Gvk, Handler)>;

/// What the API server asks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    #[serde(default)]
    uid: String,
    operation: String,
    kind: Option<GroupVersionKind>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    user_info: UserInfo,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
    #[serde(default)]
    dry_run: bool,
}

impl Request {
    /// The question about objects of this type.
    pub(super) fn asked<K: Kind>(&self) -> Result<Asked<K>, Denied> {
        let operation: Operation = serde_json::from_value(json!(self.operation))
            .map_err(|_| Denied::bad_request(format!("unknown operation {:?}", self.operation)))?;
        let object = if operation == Operation::Delete { &self.old_object } else { &self.object };
        let before =
            (operation == Operation::Update && !self.old_object.is_null()).then_some(&self.old_object);
        let mut object: K = decode(object)?;
        if !self.namespace.is_empty() {
            object.meta_mut().namespace.get_or_insert_with(|| self.namespace.clone());
        }
        Ok(Asked {
            operation,
            object,
            // An old object that does not fit its type must not keep anybody from mending it.
            before: before.and_then(|before| decode(before).ok()),
            user: self.user_info.username.clone().unwrap_or_default(),
            dry_run: self.dry_run,
        })
    }

    /// The kind that the object was sent as; none if nobody says.
    fn kind(&self) -> Option<GroupVersionKind> {
        let object = if self.object.is_null() { &self.old_object } else { &self.object };
        let types = || TypeMeta::deserialize(object).ok()?.try_into().ok();
        self.kind.clone().or_else(types)
    }

    /// The handler for the object's kind. Without a kind it is the first one's business to say what is wrong.
    fn handler<'a>(&self, handlers: &'a Handlers) -> Result<&'a Handler, Denied> {
        let kind = self.kind();
        let is_for = |gvk: &Gvk| {
            kind.as_ref().is_none_or(|kind| {
                (&kind.group, &kind.version, &kind.kind) == (&gvk.group, &gvk.version, &gvk.kind)
            })
        };
        let found = handlers.iter().find(|(gvk, _)| is_for(gvk)).map(|(_, handler)| handler);
        found.ok_or_else(|| {
            let GroupVersionKind { group, version, kind } =
                kind.unwrap_or_else(|| GroupVersionKind::gvk("", "", ""));
            let (name, namespace) = (&self.name, &self.namespace);
            Denied::bad_request(format!(
                "unsupported resource {name} in namespace {namespace} of type {group}/{version}, Kind={kind}"
            ))
        })
    }
}

fn decode<K: Kind>(object: &Value) -> Result<K, Denied> {
    if object.is_null() {
        return Err(Denied::bad_request("there is no content to decode"));
    }
    K::deserialize(object).map_err(|error| Denied::bad_request(error.to_string()))
}

/// A handler that lets in or not.
pub(super) fn validating<K: Kind>(judge: impl Fn(&Asked<K>) -> Verdict + Send + Sync + 'static) -> Handler {
    Box::new(move |request| judge(&request.asked()?).map(|allowed| (allowed, None)))
}

/// A handler that changes the object first. What is being deleted is past changing.
pub(super) fn mutating<K: Kind>(
    change: impl Fn(&mut Asked<K>) -> Result<(), Denied> + Send + Sync + 'static,
) -> Handler {
    Box::new(move |request| {
        let mut asked: Asked<K> = request.asked()?;
        if asked.operation == Operation::Delete {
            return Ok((Allowed::silently(), None));
        }
        let typed =
            |object: &K| serde_json::to_value(object).map_err(|error| Denied::bad_request(error.to_string()));
        let before = typed(&asked.object)?;
        change(&mut asked)?;
        let changed = changed(&request.object, &before, &typed(&asked.object)?);
        let patch = json_patch::diff(&request.object, &changed);
        let patch = (!patch.0.is_empty()).then(|| json!(patch));
        Ok((Allowed::silently(), patch))
    })
}

/// The object as it was sent, with what changed in its type; in its specification also with what the type fills in.
/// Fields that the type does not know are left alone.
fn changed(sent: &Value, before: &Value, after: &Value) -> Value {
    let mut object = sent.clone();
    if after["spec"].is_object() {
        json_patch::merge(&mut object["spec"], &after["spec"]);
    }
    if let Some(difference) = difference(before, after) {
        json_patch::merge(&mut object, &difference);
    }
    object
}

/// Answers a request. Whatever is wrong with it is told in a review: the API server shows nothing else to a user.
pub(super) fn answer(handlers: &Handlers, headers: &HeaderMap, body: &Bytes) -> Value {
    let (types, request) = match read(headers, body) {
        Ok(read) => read,
        Err(denied) => return review(&v1(), "", &Err(denied)),
    };
    // A panic is a bug of ours, and no reason to let the server's connection die without a word.
    let handle = || request.handler(handlers)?(&request);
    let answer = catch_unwind(AssertUnwindSafe(handle)).unwrap_or_else(|_| {
        Err(Denied { code: 500, message: "internal error: the webhook's handler panicked".into() })
    });
    review(&types, &request.uid, &answer)
}

/// The answer to a body that was not read.
pub(super) fn too_large(limit: usize) -> Value {
    let message = format!("the request is larger than {} MiB", limit >> 20);
    review(&v1(), "", &Err(Denied { code: 413, message }))
}

fn v1() -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})
}

/// The review's own version and kind, and the request in it.
fn read(headers: &HeaderMap, body: &Bytes) -> Result<(Value, Request), Denied> {
    if body.is_empty() {
        return Err(Denied::bad_request("request body is empty"));
    }
    super::server::is_json(headers)?;
    let review: Value =
        serde_json::from_slice(body).map_err(|error| Denied::bad_request(error.to_string()))?;
    let known = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];
    if review["kind"] != "AdmissionReview" || !known.iter().any(|version| review["apiVersion"] == *version) {
        let message =
            format!("{} {} is not an AdmissionReview of v1 or v1beta1", review["apiVersion"], review["kind"]);
        return Err(Denied::bad_request(message));
    }
    let request = Request::deserialize(&review["request"])
        .map_err(|error| Denied::bad_request(format!("the review holds no usable request: {error}")))?;
    Ok((json!({"apiVersion": review["apiVersion"], "kind": review["kind"]}), request))
}

fn review(types: &Value, uid: &str, answer: &Result<(Allowed, Option<Value>), Denied>) -> Value {
    let mut status = json!({"metadata": {}});
    let mut response = Map::new();
    response.insert("uid".into(), uid.into());
    response.insert("allowed".into(), answer.is_ok().into());
    match answer {
        Ok((allowed, patch)) => {
            status["code"] = 200.into();
            if !allowed.message.is_empty() {
                status["message"] = allowed.message.clone().into();
            }
            if !allowed.warnings.is_empty() {
                response.insert("warnings".into(), allowed.warnings.clone().into());
            }
            if let Some(patch) = patch {
                let bytes = k8s_openapi::ByteString(patch.to_string().into_bytes()); // written as base64
                response.insert("patch".into(), json!(bytes));
                response.insert("patchType".into(), "JSONPatch".into());
            }
        }
        Err(denied) => {
            status["code"] = denied.code.into();
            status["message"] = denied.message.clone().into();
            if !denied.reason().is_empty() {
                status["reason"] = denied.reason().into();
            }
        }
    }
    response.insert("status".into(), status);
    json!({"apiVersion": types["apiVersion"], "kind": types["kind"], "response": response})
}
