//! `authorizer` in expressions: the rights of whoever sends the request.

use std::fmt;

use super::Surroundings;
use crate::hooks::{AdmissionRequest, Attributes, Decision, User};
use crate::schema::cel::{Authorizer, Question};

/// The sender's rights, or those of a ServiceAccount asked about.
pub(super) struct Rights<'a> {
    pub(super) surroundings: &'a dyn Surroundings,
    pub(super) user: &'a User,
}

impl fmt::Debug for Rights<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rights").field("user", &self.user.name).finish_non_exhaustive()
    }
}

impl Authorizer for Rights<'_> {
    fn decide(&self, account: Option<(&str, &str)>, question: &Question) -> (bool, String) {
        let Question { verb, group, resource, subresource, namespace, name, path } = question.clone();
        let version = String::new();
        let attributes = Attributes { verb, group, version, resource, subresource, namespace, name, path };
        // An account asked about was not authenticated, so that it is not in the group of those who were.
        let account = account.map(|(namespace, name)| {
            let mut user = User::service_account(namespace, name);
            user.groups.retain(|group| group != "system:authenticated");
            user
        });
        match self.surroundings.authorize(account.as_ref().unwrap_or(self.user), &attributes) {
            Decision::Allow(reason) => (true, reason),
            Decision::Deny(reason) => (false, reason),
        }
    }
}

/// `authorizer.requestResource`: what the request itself is about.
pub(super) fn own(request: &AdmissionRequest) -> Question {
    Question {
        group: request.names.group.to_string(),
        resource: request.names.plural.to_string(),
        subresource: request.subresource.clone(),
        namespace: request.namespace.clone(),
        name: request.name.clone(),
        ..Question::default()
    }
}
