//! TokenRequest, TokenReview and SelfSubjectReview: from the object posted to the object answered.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Account, Authenticator, BoundObject, CoreObjects, InvalidToken, KeyError};
use crate::hooks::User;
use crate::resource::GroupVersionKind;

const MINIMUM_SECONDS: i64 = 10 * 60;
const MAXIMUM_SECONDS: i64 = 1 << 32;
const DEFAULT_SECONDS: i64 = 60 * 60;

/// `spec` of a TokenRequest.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRequest {
    #[serde(default)]
    audiences: Option<Vec<String>>,
    #[serde(default)]
    expiration_seconds: Option<i64>,
    #[serde(default)]
    bound_object_ref: Option<BoundReference>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BoundReference {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
}

/// Why no token was given.
#[derive(Debug, thiserror::Error)]
pub enum TokenRefused {
    /// 422: the request is wrong; field and text of the error.
    #[error("{field}: {body}")]
    Invalid {
        /// Path of the field.
        field: &'static str,
        /// Text after the path.
        body: String,
    },
    /// 400.
    #[error("{0}")]
    BadRequest(String),
    /// 404: plural resource and name.
    #[error("{resource} {name:?} not found")]
    NotFound {
        /// Plural resource.
        resource: &'static str,
        /// Name asked for.
        name: String,
    },
    /// 409: the object bound to is another by the same name.
    #[error("{message}")]
    Conflict {
        /// Kind of the object.
        kind: String,
        /// Name asked for.
        name: String,
        /// What differs.
        message: String,
    },
    /// 500.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl TokenRequest {
    /// Answers `POST …/serviceaccounts/<name>/token`: the `spec` as completed and the `status`.
    pub fn answer(
        self,
        authenticator: &Authenticator,
        namespace: &str,
        name: &str,
        objects: &dyn CoreObjects,
        now: Timestamp,
    ) -> Result<(Value, Value), TokenRefused> {
        let issuer = &authenticator.issuer;
        let seconds = self.expiration_seconds.unwrap_or(DEFAULT_SECONDS);
        let invalid = |detail: &str| TokenRefused::Invalid {
            field: "spec.expirationSeconds",
            body: format!("Invalid value: {seconds}: {detail}"),
        };
        if seconds < MINIMUM_SECONDS {
            return Err(invalid("may not specify a duration less than 10 minutes"));
        }
        if seconds > MAXIMUM_SECONDS {
            return Err(invalid("may not specify a duration larger than 2^32 seconds"));
        }
        let uid = uid_of(objects, "serviceaccounts", namespace, name)?;
        let bound =
            self.bound_object_ref.as_ref().map(|r| r.resolve(objects, namespace, name)).transpose()?;
        let audiences = match self.audiences {
            Some(audiences) if !audiences.is_empty() => audiences,
            _ => issuer.audiences().to_vec(),
        };
        let account = Account { name: name.into(), uid };
        let (token, expires) = issuer.issue(namespace, &account, &audiences, seconds, bound.as_ref(), now)?;
        let reference = self.bound_object_ref.map(|r| {
            let mut reference = json!({ "kind": r.kind, "apiVersion": r.api_version, "name": r.name });
            if !r.uid.is_empty() {
                reference["uid"] = json!(r.uid);
            }
            reference
        });
        Ok((
            json!({ "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference }),
            json!({ "token": token, "expirationTimestamp": seconds_only(expires) }),
        ))
    }
}

impl BoundReference {
    fn resolve(
        &self,
        objects: &dyn CoreObjects,
        namespace: &str,
        account: &str,
    ) -> Result<BoundObject, TokenRefused> {
        let (resource, scope) = match (self.api_version.as_str(), self.kind.as_str()) {
            ("v1", "Pod") => ("pods", namespace),
            ("v1", "Secret") => ("secrets", namespace),
            ("v1", "Node") => ("nodes", ""),
            (version, kind) => {
                let of = GroupVersionKind::from_api_version(version, kind);
                return Err(TokenRefused::BadRequest(format!("cannot bind token to object of type {of}")));
            }
        };
        let uid = uid_of(objects, resource, scope, &self.name)?;
        if !self.uid.is_empty() && self.uid != uid {
            return Err(TokenRefused::Conflict {
                kind: self.kind.clone(),
                name: self.name.clone(),
                message: format!(
                    "the UID in the bound object reference ({}) does not match the UID in record. \
                     The object might have been deleted and then recreated",
                    self.uid
                ),
            });
        }
        let bound = Account { name: self.name.clone(), uid };
        if resource != "pods" {
            return Ok(if resource == "secrets" {
                BoundObject::Secret(bound)
            } else {
                BoundObject::Node(bound)
            });
        }
        let pod = objects.get("pods", namespace, &self.name);
        let text = |path: &str| pod.as_ref().and_then(|p| p.pointer(path)).and_then(Value::as_str);
        if text("/spec/serviceAccountName") != Some(account) {
            return Err(TokenRefused::BadRequest(format!(
                "cannot bind token for serviceaccount \"{account}\" to pod running with different serviceaccount name."
            )));
        }
        let node = text("/spec/nodeName").filter(|node| !node.is_empty()).map(|node| Account {
            name: node.into(),
            uid: uid_of(objects, "nodes", "", node).unwrap_or_default(),
        });
        Ok(BoundObject::Pod(bound, node))
    }
}

fn uid_of(
    objects: &dyn CoreObjects,
    resource: &'static str,
    namespace: &str,
    name: &str,
) -> Result<String, TokenRefused> {
    let object = objects.get(resource, namespace, name);
    let uid = object.as_ref().and_then(|o| o.pointer("/metadata/uid")).and_then(Value::as_str);
    uid.map(str::to_owned).ok_or_else(|| TokenRefused::NotFound { resource, name: name.into() })
}

/// Times on the wire have whole seconds.
fn seconds_only(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

/// `spec` of a TokenReview.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct TokenReview {
    #[serde(default)]
    token: String,
    #[serde(default)]
    audiences: Vec<String>,
}

impl TokenReview {
    /// Answers `POST …/tokenreviews`: the `status`. A bad token is no error of the request.
    pub fn answer(
        &self,
        authenticator: &Authenticator,
        objects: &dyn CoreObjects,
        now: Timestamp,
    ) -> Result<Value, TokenRefused> {
        if self.token.is_empty() {
            return Err(TokenRefused::BadRequest(
                "token is required for TokenReview in authentication".into(),
            ));
        }
        let issuer = &authenticator.issuer;
        let target = if self.audiences.is_empty() { issuer.audiences() } else { &self.audiences };
        let checked = match authenticator.tokens.user(&self.token) {
            // A static token is good for the API only.
            Some(user) => {
                let common: Vec<String> =
                    target.iter().filter(|a| issuer.audiences().contains(a)).cloned().collect();
                if common.is_empty() { Err(InvalidToken::Foreign) } else { Ok((user, common)) }
            }
            None => issuer.user(&self.token, target, objects, now),
        };
        Ok(match checked {
            Ok((user, audiences)) => json!({ "authenticated": true, "user": user, "audiences": audiences }),
            Err(error) => json!({ "user": {}, "error": error.to_string() }),
        })
    }
}

/// The `status` of a SelfSubjectReview.
pub fn self_subject_review(user: &User) -> Value {
    json!({ "userInfo": user })
}
