//! The seams of the request pipeline: who asks, may they, and what admission and conversion make of the object.
//!
//! The serving half calls these in a fixed order (authenticate, authorize, decode, mutate, validate, store); what stands
//! behind them is another module's business. The defaults let everybody do everything.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::resource::{GroupVersionKind, Names};
use crate::status::{Error, Result};

/// Who makes a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// User name.
    #[serde(rename = "username", default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Uid, if the authenticator knows one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Groups, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Further attributes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user in these groups, and in `system:authenticated`.
    pub fn new<'a>(name: impl Into<String>, groups: impl IntoIterator<Item = &'a str>) -> Self {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if !groups.iter().any(|g| g == "system:authenticated") {
            groups.push("system:authenticated".into());
        }
        Self { name: name.into(), groups, ..Self::default() }
    }

    /// A ServiceAccount, with the groups its token would give it.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let own = format!("system:serviceaccounts:{namespace}");
        Self::new(
            format!("system:serviceaccount:{namespace}:{name}"),
            ["system:serviceaccounts", own.as_str(), "system:authenticated"],
        )
    }

    /// May do everything: the identity of the plane's own controllers and of [`crate::Plane::client`].
    pub fn admin() -> Self {
        Self::new("system:admin", ["system:masters", "system:authenticated"])
    }

    /// Whoever sends no credentials.
    pub fn anonymous() -> Self {
        Self {
            name: "system:anonymous".into(),
            groups: vec!["system:unauthenticated".into()],
            ..Self::default()
        }
    }
}

/// What a request wants to do, as the authorizer sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for other paths the method.
    pub verb: String,
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural resource; empty for a path that is no resource.
    pub resource: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// Namespace, or empty at cluster scope.
    pub namespace: String,
    /// Object name, or empty.
    pub name: String,
    /// The path, when `resource` is empty.
    pub path: String,
}

/// What an authorizer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Go on; the reason is shown in access reviews.
    Allow(String),
    /// Refuse; the reason is appended to the refusal.
    Deny(String),
}

/// What happens to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It goes.
    Delete,
    /// A stream to it is opened.
    Connect,
}

impl Operation {
    /// As written in an AdmissionReview.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// One write on its way through admission.
#[derive(Debug, Clone)]
pub struct AdmissionRequest {
    /// Who asks.
    pub user: User,
    /// What happens.
    pub operation: Operation,
    /// Kind in the request's version.
    pub kind: GroupVersionKind,
    /// Names of the resource.
    pub names: Names,
    /// Subresource, or empty.
    pub subresource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name; empty while it is still to be generated.
    pub name: String,
    /// The object as it will be; null on delete.
    pub object: Value,
    /// The object as it was; null on create.
    pub old_object: Value,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// The options object of the request (`CreateOptions`, …).
    pub options: Value,
    /// Warnings to send along with the answer, whatever it is.
    pub warnings: Vec<String>,
}

/// Finds out who sends a request.
pub trait Authenticate: Send + Sync {
    /// The user, or the refusal (401).
    fn authenticate<'a>(&'a self, request: &'a http::request::Parts) -> BoxFuture<'a, Result<User>>;
}

/// Decides whether a user may.
pub trait Authorize: Send + Sync {
    /// The decision.
    fn authorize<'a>(&'a self, user: &'a User, attributes: &'a Attributes) -> BoxFuture<'a, Decision>;
}

/// Admission: mutating first, validating just before the store.
pub trait Admit: Send + Sync {
    /// May change `object` and add warnings.
    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest) -> BoxFuture<'a, Result<()>>;
    /// May only refuse or warn.
    fn validate<'a>(&'a self, request: &'a mut AdmissionRequest) -> BoxFuture<'a, Result<()>>;
}

/// Converts custom resources between versions whose CRD names a webhook.
pub trait Convert: Send + Sync {
    /// The objects in the wanted version, in order. `conversion` is the CRD's `spec.conversion`.
    fn convert<'a>(
        &'a self,
        conversion: &'a Value,
        to: &'a GroupVersionKind,
        objects: Vec<Value>,
    ) -> BoxFuture<'a, Result<Vec<Value>>>;
}

/// A request to something the plane does not keep: a review, or a subresource that is neither status nor scale.
#[derive(Debug, Clone)]
pub struct ExtraRequest {
    /// Who asks.
    pub user: User,
    /// The verb.
    pub verb: String,
    /// Names of the resource.
    pub names: Names,
    /// Kind in the request's version.
    pub kind: GroupVersionKind,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name, or empty.
    pub name: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// The decoded body; null when there is none.
    pub body: Value,
    /// The field manager.
    pub manager: String,
    /// The query, decoded.
    pub query: Vec<(String, String)>,
}

/// What an [`Extra`] answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// An object, with this code.
    Object(u16, Value),
}

/// Answers requests that need more than the store.
pub trait Extra: Send + Sync {
    /// The answer, or `None` when this is not served (405).
    fn answer<'a>(
        &'a self,
        plane: &'a crate::Plane,
        request: ExtraRequest,
    ) -> BoxFuture<'a, Option<Result<Answer>>>;
}

/// The seams together; cheap to clone.
#[derive(Clone)]
pub struct Hooks {
    /// Who asks.
    pub authenticate: Arc<dyn Authenticate>,
    /// May they.
    pub authorize: Arc<dyn Authorize>,
    /// What admission makes of it.
    pub admit: Arc<dyn Admit>,
    /// How custom resources change version.
    pub convert: Arc<dyn Convert>,
    /// What answers reviews and special subresources.
    pub extra: Arc<dyn Extra>,
}

impl Default for Hooks {
    fn default() -> Self {
        let open = Arc::new(Open);
        Self {
            authenticate: open.clone(),
            authorize: open.clone(),
            admit: open.clone(),
            convert: open.clone(),
            extra: open,
        }
    }
}

/// Everybody is an administrator, everything is admitted.
struct Open;

impl Authenticate for Open {
    fn authenticate<'a>(&'a self, _: &'a http::request::Parts) -> BoxFuture<'a, Result<User>> {
        Box::pin(async { Ok(User::admin()) })
    }
}

impl Authorize for Open {
    fn authorize<'a>(&'a self, _: &'a User, _: &'a Attributes) -> BoxFuture<'a, Decision> {
        Box::pin(async { Decision::Allow(String::new()) })
    }
}

impl Admit for Open {
    fn mutate<'a>(&'a self, _: &'a mut AdmissionRequest) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn validate<'a>(&'a self, _: &'a mut AdmissionRequest) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

impl Convert for Open {
    fn convert<'a>(
        &'a self,
        _: &'a Value,
        to: &'a GroupVersionKind,
        _: Vec<Value>,
    ) -> BoxFuture<'a, Result<Vec<Value>>> {
        Box::pin(async move {
            Err(Error::bare(format!("conversion webhook for {to} failed: none is configured")))
        })
    }
}

impl Extra for Open {
    fn answer<'a>(&'a self, _: &'a crate::Plane, _: ExtraRequest) -> BoxFuture<'a, Option<Result<Answer>>> {
        Box::pin(async { None })
    }
}
