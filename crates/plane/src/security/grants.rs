//! The chain of admission: the server's own plug-ins, everybody's webhooks, and that nobody grants what they do not hold.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use super::Guard;
use crate::addresses;
use crate::admission::Webhooks;
use crate::auth::MASTERS;
use crate::hooks::{AdmissionRequest, Admit, Operation};
use crate::plugins::Plugins;
use crate::rbac::{Attributes, NotHeld, Policy, RoleRef, Rule, Target};
use crate::status::{Error, Result};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The whole chain of admission.
pub(super) struct Admission {
    pub(super) guard: Arc<Guard>,
    pub(super) webhooks: Arc<Webhooks>,
    pub(super) plugins: Plugins,
}

impl Admit for Admission {
    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.plugins.mutate(request).await?;
            self.webhooks.mutate(request).await?;
            addresses::complete(&self.guard.store, request)
        })
    }

    fn validate<'a>(&'a self, request: &'a mut AdmissionRequest) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if self.guard.is_enforced() && &*request.names.group == GROUP && request.subresource.is_empty() {
                self.guard.policy.ask(|policy| check(policy, request))?;
            }
            self.webhooks.validate(request).await
        })
    }
}

/// Refuses a role or binding that would give somebody more than its author has.
fn check(policy: &Policy, request: &AdmissionRequest) -> Result<()> {
    let user = &request.user;
    if !matches!(request.operation, Operation::Create | Operation::Update) || user.is_in(MASTERS) {
        return Ok(());
    }
    let may = |verb: &str, resource: &str, namespace: &str, name: &str| {
        let target = Target::Resource { group: GROUP, resource, subresource: "", namespace, name };
        policy.allows(&Attributes { user, verb, target })
    };
    let same =
        |keys: &[&str]| keys.iter().all(|key| request.object.get(*key) == request.old_object.get(*key));
    let names = &request.names;
    let forbidden = |why: NotHeld| Error::forbidden(names, &request.name, &why.to_string());
    let held = || policy.rules_of(user, &request.namespace);
    match &*names.plural {
        resource @ ("roles" | "clusterroles") => {
            // A request to create names no object, so that a right on names does not count there.
            let name = if request.operation == Operation::Create { "" } else { request.name.as_str() };
            if same(&["rules", "aggregationRule"]) || may("escalate", resource, &request.namespace, name) {
                return Ok(());
            }
            if request.object.get("aggregationRule").is_some_and(|rule| !rule.is_null())
                && !same(&["aggregationRule"])
            {
                NotHeld::check(user, &held(), &everything()).map_err(|_| {
                    let why = "must have cluster-admin privileges to use the aggregationRule";
                    Error::forbidden(names, &request.name, why)
                })?;
            }
            NotHeld::check(user, &held(), &Rule::of_role(&request.object)).map_err(forbidden)
        }
        "rolebindings" | "clusterrolebindings" => {
            if same(&["roleRef", "subjects"]) {
                return Ok(());
            }
            let text = |path: &str| request.object.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let (kind, name) = (text("/roleRef/kind"), text("/roleRef/name"));
            let (resource, namespace) = if kind == "ClusterRole" {
                ("clusterroles", "")
            } else {
                ("roles", request.namespace.as_str())
            };
            if may("bind", resource, &request.namespace, name) {
                return Ok(());
            }
            let role = RoleRef { namespace: namespace.into(), name: name.into() };
            let rules = policy.role(&role).ok_or_else(|| Error::not_found(names, name))?;
            NotHeld::check(user, &held(), rules).map_err(forbidden)
        }
        _ => Ok(()),
    }
}

/// What only an administrator of the whole cluster holds.
fn everything() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    [
        Rule { verbs: all(), api_groups: all(), resources: all(), ..Rule::default() },
        Rule { verbs: all(), non_resource_urls: all(), ..Rule::default() },
    ]
}
