//! The SubjectAccessReview family: from the `spec` posted to the `status` answered.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::hooks::User;

use super::{Attributes, Decision, Policy, Rule, Target};

/// `spec` of a SubjectAccessReview, SelfSubjectAccessReview or LocalSubjectAccessReview.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccessReview {
    resource_attributes: Option<ResourceAttributes>,
    non_resource_attributes: Option<PathAttributes>,
    user: Option<String>,
    groups: Option<Vec<String>>,
    uid: Option<String>,
    extra: Option<BTreeMap<String, Vec<String>>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ResourceAttributes {
    namespace: String,
    verb: String,
    group: String,
    resource: String,
    subresource: String,
    name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct PathAttributes {
    path: String,
    verb: String,
}

/// A review that cannot be answered (422): field, text after it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {body}")]
pub struct ReviewError {
    /// Path of the field.
    pub field: &'static str,
    /// Text after the path.
    pub body: String,
}

impl AccessReview {
    /// Answers about the sender.
    pub fn about(self, user: &User, policy: &Policy) -> Result<Value, ReviewError> {
        self.status(user, policy)
    }

    /// Answers about the user named in the review.
    pub fn about_named(self, policy: &Policy) -> Result<Value, ReviewError> {
        let name = self.user.clone().unwrap_or_default();
        let groups = self.groups.clone().unwrap_or_default();
        if name.is_empty() && groups.is_empty() {
            return Err(ReviewError {
                field: "spec.user",
                body: "Invalid value: \"\": at least one of user or group must be specified".into(),
            });
        }
        let user = User {
            name,
            groups,
            uid: self.uid.clone().unwrap_or_default(),
            extra: self.extra.clone().unwrap_or_default(),
        };
        self.status(&user, policy)
    }

    /// A LocalSubjectAccessReview asks only about the namespace it is posted to.
    pub fn confined_to(&self, namespace: &str) -> Result<(), ReviewError> {
        match &self.resource_attributes {
            Some(attributes) if attributes.namespace == namespace => Ok(()),
            Some(attributes) => Err(ReviewError {
                field: "spec.resourceAttributes.namespace",
                body: format!("Invalid value: {:?}: must match metadata.namespace", attributes.namespace),
            }),
            None => Err(self.no_path("disallowed on this kind of request")),
        }
    }

    fn no_path(&self, why: &str) -> ReviewError {
        let shown = self.non_resource_attributes.as_ref().map_or_else(
            || "null".to_owned(),
            |asked| format!("{{\"Path\":{},\"Verb\":{}}}", json!(asked.path), json!(asked.verb)),
        );
        ReviewError { field: "spec.nonResourceAttributes", body: format!("Invalid value: {shown}: {why}") }
    }

    fn status(&self, user: &User, policy: &Policy) -> Result<Value, ReviewError> {
        let (verb, target) = match (&self.resource_attributes, &self.non_resource_attributes) {
            (Some(r), None) => (
                &r.verb,
                Target::Resource {
                    group: &r.group,
                    resource: &r.resource,
                    subresource: &r.subresource,
                    namespace: &r.namespace,
                    name: &r.name,
                },
            ),
            (None, Some(p)) => (&p.verb, Target::Path(&p.path)),
            (None, None) => {
                return Err(ReviewError {
                    field: "spec.resourceAttributes",
                    body: "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
                        .into(),
                });
            }
            (Some(_), Some(_)) => {
                return Err(self.no_path("cannot be specified in combination with resourceAttributes"));
            }
        };
        Ok(match policy.decide(&Attributes { user, verb, target }) {
            Decision::Allowed(reason) if reason.is_empty() => json!({ "allowed": true }),
            Decision::Allowed(reason) => json!({ "allowed": true, "reason": reason }),
            Decision::Denied(reason) if reason.is_empty() => json!({ "allowed": false }),
            Decision::Denied(reason) => json!({ "allowed": false, "reason": reason }),
        })
    }
}

/// The `status` of a SelfSubjectRulesReview.
pub fn rules_review_status(rules: &[Rule]) -> Value {
    let (mut resource_rules, mut path_rules) = (vec![], vec![]);
    for rule in rules {
        if !rule.resources.is_empty() {
            let mut shown =
                json!({ "verbs": rule.verbs, "apiGroups": rule.api_groups, "resources": rule.resources });
            if !rule.resource_names.is_empty() {
                shown["resourceNames"] = json!(rule.resource_names);
            }
            resource_rules.push(shown);
        }
        if !rule.non_resource_urls.is_empty() {
            path_rules.push(json!({ "verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls }));
        }
    }
    json!({ "resourceRules": resource_rules, "nonResourceRules": path_rules, "incomplete": false })
}
