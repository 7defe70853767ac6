//! Who sends a request, and whom they act as.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::request::Parts;
use serde_json::Value;

use super::Guard;
use crate::auth::{CoreObjects, Impersonation, PeerCertificate, user_of_certificate};
use crate::hooks::{Authenticate, User};
use crate::rbac::{Attributes, Target, forbidden_message};
use crate::server::requested;
use crate::status::{Details, Error, Result};
use crate::store::{TableId, key};

impl CoreObjects for Guard {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let object = self.store.get(&TableId::new("", resource), &key(namespace, name))?;
        Some(Arc::new(object.to_value()))
    }
}

impl Authenticate for Guard {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<User>> {
        Box::pin(std::future::ready(self.identify(request)))
    }
}

impl Guard {
    fn identify(&self, request: &Parts) -> Result<User> {
        let certificate =
            request.extensions.get::<PeerCertificate>().and_then(|peer| user_of_certificate(&peer.0));
        let user = self
            .authenticator()?
            .authenticate(&request.headers, certificate.as_ref(), self, self.clock.now())
            .map_err(|refused| Error::new(401, "Unauthorized", refused.to_string()))?;
        match Impersonation::requested(&request.headers)
            .map_err(|error| Error::bad_request(error.to_string()))?
        {
            Some(asked) => self.impersonate(&user, asked, request),
            None => Ok(user),
        }
    }

    fn impersonate(&self, user: &User, asked: Impersonation, request: &Parts) -> Result<User> {
        for needed in asked.needs() {
            let target = Target::Resource {
                group: needed.group,
                resource: needed.resource,
                subresource: needed.subresource,
                namespace: needed.namespace,
                name: needed.name,
            };
            let attributes = Attributes { user, verb: "impersonate", target };
            if self.policy.ask(|policy| policy.allows(&attributes)) {
                continue;
            }
            if needed.resource == "serviceaccounts" {
                return Err(forbidden(&attributes));
            }
            // Since 1.36 the refusal speaks of what would have been done in the other's name.
            let (verb, path) = requested(request);
            let verb = format!("impersonate-on:user-info:{verb}");
            let target = match &path {
                Some(path) => Target::Resource {
                    group: &path.group,
                    resource: &path.resource,
                    subresource: &path.subresource,
                    namespace: &path.namespace,
                    name: &path.name,
                },
                None => Target::Path(request.uri.path()),
            };
            return Err(forbidden(&Attributes { user, verb: &verb, target }));
        }
        Ok(asked.into_user())
    }
}

fn forbidden(attributes: &Attributes<'_>) -> Error {
    let details = match attributes.target {
        Target::Resource { group, resource, name, .. } => {
            Details { name: name.into(), group: group.into(), kind: resource.into(), ..Details::default() }
        }
        Target::Path(_) => Details::default(),
    };
    Error::new(403, "Forbidden", forbidden_message(attributes, "")).with_details(details)
}
