//! What the API answers when it refuses: `Status` bodies with the codes, reasons and wording clients know.
//!
//! [`Error`] is the one error type of the whole pipeline. Each constructor is one row of the real server's table of
//! answers, so a text lives in exactly one place.

mod field;
mod quote;

pub use field::{FieldError, FieldErrorKind, Path, PathSegment};
pub use quote::go_quote;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::resource::Names;

/// The result of a step in the request pipeline.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A refused request: what the `Status` body will say, and with which HTTP code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The HTTP code, also printed in the body.
    pub code: u16,
    /// The machine-readable reason (`NotFound`); empty for errors that have none.
    pub reason: Cow<'static, str>,
    /// The sentence people read.
    pub message: String,
    /// The object concerned and the causes, where the real server tells them. Boxed: errors travel in every `Result`.
    pub details: Option<Box<Details>>,
    /// The token to go on with after a list expired.
    pub continue_token: Option<String>,
    /// Answered as `text/plain` rather than as a `Status`: paths no API group serves.
    pub plain: bool,
}

/// The `details` of a `Status`; empty fields are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// Name of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// API group of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Kind or plural resource, as the reason wants it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Uid of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// One entry per thing that was wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// After how long it is worth trying again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One cause in [`Details`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Type of the failure (`FieldValueInvalid`).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Path of the field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

#[derive(Serialize)]
struct Body<'a> {
    kind: &'static str,
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    metadata: BodyMeta<'a>,
    status: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    code: u16,
}

#[derive(Serialize)]
struct BodyMeta<'a> {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    continue_token: Option<&'a str>,
}

impl Error {
    /// Any refusal, when no constructor below fits.
    pub fn new(code: u16, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            continue_token: None,
            plain: false,
        }
    }

    /// The same error with these details.
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The JSON of the `Status` object.
    pub fn to_json(&self) -> Vec<u8> {
        let body = Body {
            kind: "Status",
            api_version: "v1",
            metadata: BodyMeta { continue_token: self.continue_token.as_deref() },
            status: "Failure",
            message: &self.message,
            reason: &self.reason,
            details: self.details.as_deref(),
            code: self.code,
        };
        serde_json::to_vec(&body).unwrap_or_default()
    }

    /// 404 as `text/plain`: no API group has this path.
    pub fn unknown_path() -> Self {
        Self { plain: true, ..Self::new(404, "NotFound", "404 page not found\n") }
    }

    /// 404 for a resource that a served group does not have.
    pub fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
            .with_details(Details::default())
    }

    /// 404 for an object.
    pub fn not_found(names: &Names, name: &str) -> Self {
        let message = format!("{} {} not found", names.group_resource(), go_quote(name));
        Self::new(404, "NotFound", message).with_details(plural_details(names, name))
    }

    /// 409 on create.
    pub fn already_exists(names: &Names, name: &str) -> Self {
        let message = format!("{} {} already exists", names.group_resource(), go_quote(name));
        Self::new(409, "AlreadyExists", message).with_details(plural_details(names, name))
    }

    /// 409 after every generated name was taken.
    pub fn generate_name_exhausted(names: &Names, name: &str) -> Self {
        let message = format!(
            "{} {} already exists, the server was not able to generate a unique name for the object",
            names.group_resource(),
            go_quote(name)
        );
        let details = Details { retry_after_seconds: 1, ..plural_details(names, name) };
        Self::new(409, "AlreadyExists", message).with_details(details)
    }

    /// 409 with the given explanation.
    pub fn conflict(names: &Names, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {}: {why}", names.group_resource(), go_quote(name));
        Self::new(409, "Conflict", message).with_details(plural_details(names, name))
    }

    /// 409: somebody else wrote first.
    pub fn modified(names: &Names, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(names, name, why)
    }

    /// 409: a delete precondition does not hold. The real server names the Kind here.
    pub fn precondition(names: &Names, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {}: {why}", names.group_kind(), go_quote(name));
        let details = Details { kind: names.kind.to_string(), ..plural_details(names, name) };
        Self::new(409, "Conflict", message).with_details(details)
    }

    /// 422 for an object: one cause per field error.
    pub fn invalid(names: &Names, name: &str, errors: &[FieldError]) -> Self {
        Self::invalid_kind(&names.group, &names.kind, name, errors)
    }

    /// 422 for something that is not a stored object (`ListOptions.meta.k8s.io`, a patch).
    pub fn invalid_kind(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let qualified = if group.is_empty() { kind.to_string() } else { format!("{kind}.{group}") };
        let message = format!("{qualified} {} is invalid: {}", go_quote(name), aggregate(errors));
        let causes = errors
            .iter()
            .map(|e| Cause {
                reason: e.kind.reason().to_string(),
                message: e.body(),
                field: e.path_text().to_string(),
            })
            .collect();
        let details = Details {
            name: name.into(),
            group: group.into(),
            kind: kind.into(),
            causes,
            ..Details::default()
        };
        Self::new(422, "Invalid", message).with_details(details)
    }

    /// 400 with free text.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 403 from admission: `<resource> "x" is forbidden: <why>`.
    pub fn forbidden(names: &Names, name: &str, why: &str) -> Self {
        let subject = if name.is_empty() {
            names.group_resource()
        } else {
            format!("{} {}", names.group_resource(), go_quote(name))
        };
        Self::new(403, "Forbidden", format!("{subject} is forbidden: {why}"))
            .with_details(plural_details(names, name))
    }

    /// 405 on a built-in resource.
    pub fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with_details(Details::default())
    }

    /// 410: the history asked for is gone.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413 for a request body above the limit.
    pub fn too_large(limit: usize) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {limit}"))
    }

    /// 429: come back in a while.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(429, "TooManyRequests", message)
            .with_details(Details { retry_after_seconds, ..Details::default() })
    }

    /// 500 with the customary prefix.
    pub fn internal(text: impl Into<String>) -> Self {
        let text = text.into();
        let causes = vec![Cause { message: text.clone(), ..Cause::default() }];
        Self::new(500, "InternalError", format!("Internal error occurred: {text}"))
            .with_details(Details { causes, ..Details::default() })
    }

    /// 500 without a reason: what the real server answers for errors that are no `Status` of their own.
    pub fn bare(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 504: the client has seen a future this server has not reached.
    pub fn too_large_resource_version(asked: u64, current: u64) -> Self {
        let causes = vec![Cause {
            reason: "ResourceVersionTooLarge".into(),
            message: "Too large resource version".into(),
            ..Cause::default()
        }];
        Self::new(504, "Timeout", format!("Timeout: Too large resource version: {asked}, current: {current}"))
            .with_details(Details { causes, retry_after_seconds: 1, ..Details::default() })
    }
}

fn plural_details(names: &Names, name: &str) -> Details {
    Details {
        name: name.into(),
        group: names.group.to_string(),
        kind: names.plural.to_string(),
        ..Details::default()
    }
}

/// One error alone, several in brackets; the same text is printed once.
fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::with_capacity(errors.len());
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}
