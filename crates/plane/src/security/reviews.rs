//! Requests that are answered rather than stored: tokens and reviews.

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Guard;
use crate::Plane;
use crate::apply;
use crate::auth::{CoreObjects, TokenRefused, TokenRequest, TokenReview, self_subject_review};
use crate::builtin;
use crate::clock;
use crate::hooks::{Answer, Extra, ExtraRequest};
use crate::rbac::{AccessReview, ReviewError, rules_review_status};
use crate::resource::{GroupVersionKind, Names};
use crate::status::{Details, Error, FieldError, FieldErrorKind, Result};

impl Extra for Guard {
    fn answer<'a>(&'a self, _: &'a Plane, request: ExtraRequest) -> BoxFuture<'a, Option<Result<Answer>>> {
        let review = (request.verb == "create").then(|| self.review(&request)).flatten();
        let answer = review.map(|review| review.map(|object| Answer::Object(201, object)));
        Box::pin(std::future::ready(answer))
    }
}

impl Guard {
    /// None if the request is about something else.
    fn review(&self, request: &ExtraRequest) -> Option<Result<Value>> {
        let answer = match (&*request.names.group, &*request.names.plural, request.subresource.as_str()) {
            ("", "serviceaccounts", "token") => self.token(request),
            ("authentication.k8s.io", "tokenreviews", "") => self.token_review(request),
            ("authentication.k8s.io", "selfsubjectreviews", "") => {
                let mut object = self.answered(request, Value::Null, self_subject_review(&request.user));
                if let Some(fields) = object.as_object_mut() {
                    fields.remove("spec");
                }
                object["metadata"]["creationTimestamp"] = json!(clock::seconds(self.clock.now()));
                Ok(object)
            }
            ("authorization.k8s.io", "selfsubjectaccessreviews", "") => self
                .access(request, |review, guard| {
                    guard.policy.ask(|policy| review.about(&request.user, policy))
                }),
            ("authorization.k8s.io", "subjectaccessreviews", "") => {
                self.access(request, |review, guard| guard.policy.ask(|policy| review.about_named(policy)))
            }
            ("authorization.k8s.io", "localsubjectaccessreviews", "") => {
                self.access(request, |review, guard| {
                    review.confined_to(&request.namespace)?;
                    guard.policy.ask(|policy| review.about_named(policy))
                })
            }
            ("authorization.k8s.io", "selfsubjectrulesreviews", "") => self.rules(request),
            _ => return None,
        };
        Some(answer)
    }

    fn token(&self, request: &ExtraRequest) -> Result<Value> {
        let spec: TokenRequest = spec(request)?;
        let (spec, status) = spec
            .answer(self.authenticator()?, &request.namespace, &request.name, self, self.clock.now())
            .map_err(|refused| token_error(&refused))?;
        let kind = GroupVersionKind::new("authentication.k8s.io", "v1", "TokenRequest");
        let mut metadata = self.booked(request, &kind);
        let account = CoreObjects::get(self, "serviceaccounts", &request.namespace, &request.name);
        metadata["name"] = json!(request.name);
        metadata["namespace"] = json!(request.namespace);
        metadata["uid"] = account.map_or(Value::Null, |account| account["metadata"]["uid"].clone());
        metadata["creationTimestamp"] = json!(clock::seconds(self.clock.now()));
        Ok(json!({
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": metadata,
            "spec": spec,
            "status": status,
        }))
    }

    fn token_review(&self, request: &ExtraRequest) -> Result<Value> {
        let spec: TokenReview = spec(request)?;
        let status = spec
            .answer(self.authenticator()?, self, self.clock.now())
            .map_err(|refused| token_error(&refused))?;
        Ok(self.answered(request, request.body["spec"].clone(), status))
    }

    fn access(
        &self,
        request: &ExtraRequest,
        ask: impl FnOnce(AccessReview, &Self) -> Result<Value, ReviewError>,
    ) -> Result<Value> {
        let status = ask(spec(request)?, self).map_err(|error| {
            let field =
                FieldError::new(error.field, FieldErrorKind::Verbatim("FieldValueInvalid", error.body));
            // The real server forgets the kind here.
            Error::invalid_kind(&request.kind.group, "", "", &[field])
        })?;
        Ok(self.answered(request, request.body["spec"].clone(), status))
    }

    fn rules(&self, request: &ExtraRequest) -> Result<Value> {
        let namespace = request.body.pointer("/spec/namespace").and_then(Value::as_str).unwrap_or_default();
        if namespace.is_empty() {
            return Err(Error::bad_request("no namespace on request"));
        }
        let rules = self.policy.ask(|policy| policy.rules_of(&request.user, namespace));
        // Unlike the others, this one comes back without what was sent.
        Ok(json!({
            "kind": &*request.kind.kind,
            "apiVersion": request.kind.api_version(),
            "metadata": {},
            "spec": {},
            "status": rules_review_status(&rules),
        }))
    }
}

/// The answers carry a book of fields like every object, although nobody keeps them.
impl Guard {
    fn answered(&self, request: &ExtraRequest, spec: Value, status: Value) -> Value {
        let mut metadata = self.booked(request, &request.kind);
        if !request.namespace.is_empty() {
            metadata["namespace"] = json!(request.namespace);
        }
        json!({
            "kind": &*request.kind.kind,
            "apiVersion": request.kind.api_version(),
            "metadata": metadata,
            "spec": spec,
            "status": status,
        })
    }

    /// Metadata with the fields that the sender set.
    fn booked(&self, request: &ExtraRequest, kind: &GroupVersionKind) -> Value {
        let mut object = json!({ "kind": &*kind.kind, "apiVersion": kind.api_version(), "metadata": {} });
        if let Some(spec) = request.body.get("spec").filter(|spec| !spec.is_null()) {
            object["spec"] = spec.clone();
        }
        if let Some(schema) = builtin::schema(kind) {
            let context = apply::Context {
                schema,
                api_version: &kind.api_version(),
                kind: &kind.kind,
                custom: false,
                manager: &request.manager,
                subresource: &request.subresource,
                reset: apply::Reset::Nothing,
                others: &[],
                now: &clock::seconds(self.clock.now()),
            };
            apply::record_update(&context, None, &mut object);
        }
        object["metadata"].take()
    }
}

fn spec<T: for<'de> Deserialize<'de> + Default>(request: &ExtraRequest) -> Result<T> {
    let Some(spec) = request.body.get("spec").filter(|spec| !spec.is_null()) else { return Ok(T::default()) };
    let (kind, version) = (&request.kind.kind, &request.kind.version);
    T::deserialize(spec).map_err(|error| {
        Error::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {error}"))
    })
}

fn token_error(refused: &TokenRefused) -> Error {
    let core = |plural: &str| Names {
        group: "".into(),
        plural: plural.into(),
        singular: "".into(),
        kind: "".into(),
        list_kind: "".into(),
    };
    match refused {
        TokenRefused::Invalid { field, body } => {
            let error = FieldError::new(*field, FieldErrorKind::Verbatim("FieldValueInvalid", body.clone()));
            Error::invalid_kind("authentication.k8s.io", "TokenRequest", "", &[error])
        }
        TokenRefused::BadRequest(message) => Error::bad_request(message),
        TokenRefused::NotFound { resource, name } => Error::not_found(&core(resource), name),
        TokenRefused::Conflict { kind, name, message } => {
            let details = Details { name: name.clone(), kind: kind.clone(), ..Details::default() };
            let text = format!("Operation cannot be fulfilled on {kind} {name:?}: {message}");
            Error::new(409, "Conflict", text).with_details(details)
        }
        TokenRefused::Key(error) => Error::internal(error.to_string()),
    }
}
