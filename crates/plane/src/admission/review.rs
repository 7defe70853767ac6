//! AdmissionReview: the question put to a webhook, and what may be believed of its answer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::hooks::AdmissionRequest;
use crate::server::json;
use crate::status::{Cause, Details, Error};
use crate::webhook::unreadable;
use crate::write::base64_stops;

use super::configuration::{Hook, Phase};
use super::matching::is_namespace;

/// The `request` part; `version` and the objects are those after conversion to what the webhook's rule names.
pub(super) fn request(
    request: &AdmissionRequest,
    uid: &str,
    version: &str,
    object: &Value,
    old: &Value,
) -> Value {
    let (group, own) = (&*request.names.group, &*request.kind.version);
    let kind = |version: &str| json!({ "group": group, "version": version, "kind": &*request.kind.kind });
    let resource =
        |version: &str| json!({ "group": group, "version": version, "resource": &*request.names.plural });
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| fields.insert(key.into(), value);
    put("uid", json!(uid));
    put("kind", kind(version));
    put("resource", resource(version));
    put("requestKind", kind(own));
    put("requestResource", resource(own));
    if !request.subresource.is_empty() {
        put("subResource", json!(request.subresource));
        put("requestSubResource", json!(request.subresource));
    }
    if !request.name.is_empty() {
        put("name", json!(request.name));
    }
    let namespace = if is_namespace(request) { &request.name } else { &request.namespace };
    if !namespace.is_empty() {
        put("namespace", json!(namespace));
    }
    put("operation", json!(request.operation.as_str()));
    put("userInfo", json!(request.user));
    put("object", object.clone());
    put("oldObject", old.clone());
    put("dryRun", json!(request.dry_run));
    put("options", request.options.clone());
    Value::Object(fields)
}

/// The request as expressions see it: without its id and its objects, which have names of their own.
pub(super) fn described(asked: &AdmissionRequest) -> Value {
    let mut shown = request(asked, "", &asked.kind.version, &Value::Null, &Value::Null);
    if let Some(fields) = shown.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "uid" | "object" | "oldObject"));
    }
    shown
}

/// The whole question.
pub(super) fn review(version: &str, request: Value) -> Value {
    json!({ "kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request })
}

/// What a webhook said, checked.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Verdict {
    pub(super) allowed: bool,
    /// A JSON patch; none if there is nothing to change.
    pub(super) patch: Option<Value>,
    pub(super) warnings: Vec<String>,
    status: Option<DeniedStatus>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct DeniedStatus {
    message: String,
    reason: String,
    code: u16,
    details: Option<Details>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kind: Option<String>,
    api_version: Option<String>,
    response: Option<Response>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Response {
    uid: String,
    allowed: bool,
    patch: Option<String>,
    patch_type: Option<String>,
    warnings: Option<Vec<String>>,
    status: Option<DeniedStatus>,
}

/// Reads an answer. The error is what follows `failed calling webhook "…": `.
pub(super) fn verdict(phase: Phase, version: &str, uid: &str, body: &[u8]) -> Result<Verdict, String> {
    let invalid = |why: String| format!("received invalid webhook response: {why}");
    let failed = |why: String| format!("failed to call webhook: {why}");
    let answer: Answer = serde_json::from_slice(body).map_err(|_| failed(unreadable(body)))?;
    let expected = format!("admission.k8s.io/{version}");
    let spoken = answer.api_version.as_deref().unwrap_or_default();
    if spoken != expected && spoken.starts_with("admission.k8s.io/") {
        let got = spoken.rsplit('/').next().unwrap_or_default();
        return Err(failed(format!(
            "converting ({got}.AdmissionReview) to ({version}.AdmissionReview): unknown conversion"
        )));
    }
    let Some(response) = answer.response else { return Err(invalid("webhook response was absent".into())) };
    if version == "v1" {
        if response.uid != uid {
            return Err(invalid(format!("expected response.uid={uid:?}, got {:?}", response.uid)));
        }
        let kind = answer.kind.as_deref().unwrap_or_default();
        if kind != "AdmissionReview" || spoken != expected {
            let got = if spoken.contains('/') { spoken.to_owned() } else { format!("/{spoken}") };
            return Err(invalid(format!(
                "expected webhook response of {expected}, Kind=AdmissionReview, got {got}, Kind={kind}"
            )));
        }
        check_patch(phase, &response).map_err(|why| invalid(why.into()))?;
    }
    let patch = match response.patch.filter(|patch| !patch.is_empty() && phase == Phase::Mutating) {
        None => None,
        Some(patch) => {
            let undecodable = |why: String| format!("received undecodable patch in webhook response: {why}");
            if let Some(stop) = base64_stops(patch.as_bytes()) {
                return Err(failed(format!("illegal base64 data at input byte {stop}")));
            }
            let bytes = STANDARD.decode(&patch).map_err(|error| undecodable(error.to_string()))?;
            let parsed = json::parse(&bytes).map_err(undecodable)?.value;
            if !parsed.is_array() {
                let found = if parsed.is_object() { "object" } else { "value" };
                return Err(undecodable(format!(
                    "json: cannot unmarshal {found} into Go value of type jsonpatch.Patch"
                )));
            }
            Some(parsed)
        }
    };
    Ok(Verdict {
        allowed: response.allowed,
        patch,
        warnings: response.warnings.unwrap_or_default(),
        status: response.status,
    })
}

fn check_patch(phase: Phase, response: &Response) -> Result<(), &'static str> {
    let has_patch = response.patch.as_ref().is_some_and(|patch| !patch.is_empty());
    match (phase, has_patch, response.patch_type.as_deref()) {
        (Phase::Validating, true, _) => Err("validating webhook may not return response.patch"),
        (Phase::Validating, false, Some(_)) => Err("validating webhook may not return response.patchType"),
        (Phase::Mutating, true, None) => Err("webhook returned response.patch but not response.patchType"),
        (Phase::Mutating, false, Some(_)) => {
            Err("webhook returned response.patchType but not response.patch")
        }
        (Phase::Mutating, true, Some(kind)) if kind != "JSONPatch" => {
            Err("webhook returned invalid response.patchType: only JSONPatch is known")
        }
        _ => Ok(()),
    }
}

impl Verdict {
    /// The refusal of a webhook that did not allow.
    pub(super) fn denial(self, hook: &str) -> Error {
        let status = self.status.unwrap_or_default();
        let by = format!("admission webhook {hook:?} denied the request");
        let message = match (status.message.as_str(), status.reason.as_str()) {
            ("", "") => format!("{by} without explanation"),
            ("", reason) => format!("{by}: {reason}"),
            (message, _) => format!("{by}: {message}"),
        };
        let error = Error::new(status.code.max(400), status.reason, message);
        match status.details {
            Some(details) => error.with_details(details),
            None => error,
        }
    }
}

/// The refusal when a webhook could not be asked or gave no usable answer.
pub(super) fn failed_call(hook: &Hook, why: &str) -> Error {
    let text = format!("failed calling webhook {:?}: {why}", hook.name);
    let causes = vec![Cause { message: text.clone(), ..Cause::default() }];
    Error::new(500, "InternalError", format!("Internal error occurred: {text}"))
        .with_details(Details { causes, ..Details::default() })
}
