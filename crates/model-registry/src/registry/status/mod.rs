//! The status of a registry: a pure function of what was there, what happened and what is seen.
//!
//! | file | decides |
//! |---|---|
//! | [`deployment`] | whether the server is available, and if not, what the Deployment says |
//! | [`pods`] | what the pods of a server that is not available say |
//! | [`proxy`] | whether the proxy lets callers through |

mod deployment;
mod pods;
mod proxy;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use quintet_api::model_registry::{ModelRegistry, ModelRegistrySpec, ModelRegistryStatus};
use quintet_kit::{
    Clock,
    status::{Conditions, difference},
};

pub(super) use deployment::{COOLING_DOWN, is_available};
pub(super) use pods::has_something_to_tell;

use super::{error::Error, names::Names, read::Observed};

const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
const PROXY_AVAILABLE: &str = "KubeRBACProxyAvailable";
const DEGRADED: &str = "Degraded";
/// Set by releases that had another proxy.
const OAUTH_PROXY_AVAILABLE: &str = "OAuthProxyAvailable";
/// The definition refuses longer messages.
const LONGEST: usize = 32768;

/// What came of applying the children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Something was made.
    Created,
    /// Something was changed.
    Updated,
    /// Nothing was done.
    None,
}

/// What a condition is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) ok: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Verdict {
    fn yes(reason: &'static str, message: impl Into<String>) -> Self {
        Verdict { ok: true, reason, message: message.into() }
    }

    fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Verdict { ok: false, reason, message: message.into() }
    }
}

/// A registry whose children were applied.
pub(super) struct Applied<'a> {
    pub(super) change: Change,
    /// The specification with all defaults.
    pub(super) spec: &'a ModelRegistrySpec,
    pub(super) observed: &'a Observed,
}

/// What the server is, once it is known: available or not.
pub(super) fn availability(
    registry: &ModelRegistry,
    applied: &Applied<'_>,
    clock: &Clock,
) -> Option<Verdict> {
    let names = Names::of(registry);
    let deployment = applied.observed.deployment.as_deref()?;
    Some(deployment::verdict(&names, deployment, applied.observed, clock.now()))
}

/// The status after the children were applied.
pub(super) fn applied(registry: &ModelRegistry, applied: &Applied<'_>, clock: &Clock) -> ModelRegistryStatus {
    let before = registry.status.clone().unwrap_or_default();
    let mut conditions = Conditions::of(&before.conditions, registry.metadata.generation, clock);
    let (progressing, reason, message) = match applied.change {
        Change::Created => (true, "CreatingDeployment", "Creating deployment"),
        Change::Updated => (true, "UpdatingDeployment", "Updating deployment"),
        Change::None => (false, "CreatedDeployment", "Deployment was successfully created"),
    };
    conditions.set(PROGRESSING, progressing, reason, message);
    conditions.remove(OAUTH_PROXY_AVAILABLE);
    // Before the cache shows a Deployment that was just made, nothing can be said of it.
    if let Some(mut available) = availability(registry, applied, clock) {
        match &applied.spec.kube_rbac_proxy {
            Some(asked) => {
                let proxy = if available.ok {
                    proxy::verdict(&Names::of(registry), asked, applied.observed)
                } else {
                    Verdict::no("ResourcesUnavailable", &available.message)
                };
                set(&mut conditions, PROXY_AVAILABLE, &proxy);
                if !proxy.ok && available.ok {
                    available = proxy;
                }
            }
            None => drop(conditions.remove(PROXY_AVAILABLE)),
        }
        set(&mut conditions, AVAILABLE, &available);
    }
    let hosts = hosts(registry, applied);
    ModelRegistryStatus {
        hosts_str: hosts.join(","),
        hosts,
        spec_defaults: spec_defaults(&registry.spec, applied.spec),
        conditions: ordered(conditions),
    }
}

/// The status after something went wrong.
pub(super) fn failed(registry: &ModelRegistry, error: &Error, clock: &Clock) -> ModelRegistryStatus {
    let before = registry.status.clone().unwrap_or_default();
    let mut conditions = Conditions::of(&before.conditions, registry.metadata.generation, clock);
    let verdict = match error {
        Error::Invalid(invalid) => Verdict::no("ConfigurationError", invalid.to_string()),
        error => Verdict::no("DeploymentUnavailable", format!("unexpected reconcile error: {error}")),
    };
    set(&mut conditions, AVAILABLE, &verdict);
    ModelRegistryStatus { conditions: ordered(conditions), ..before }
}

/// The status while a registry is being deleted.
pub(super) fn finalizing(registry: &ModelRegistry, is_done: bool, clock: &Clock) -> ModelRegistryStatus {
    let (before, name) = (registry.status.clone().unwrap_or_default(), Names::of(registry));
    let name = name.server();
    let mut conditions = Conditions::of(&before.conditions, registry.metadata.generation, clock);
    if is_done {
        let message =
            format!("Finalizer operations for custom resource {name} were successfully accomplished");
        conditions.set(DEGRADED, true, "Finalizing", message);
    } else {
        // The original's text ends in a space, too.
        let message = format!("Performing finalizer operations for the custom resource: {name} ");
        conditions.set_to(DEGRADED, "Unknown", "Finalizing", message);
    }
    ModelRegistryStatus { conditions: ordered(conditions), ..before }
}

/// In one order, whatever came first; conditions of others after ours.
fn ordered(conditions: Conditions) -> Vec<Condition> {
    let mut all = conditions.into_vec();
    let place = |condition: &Condition| {
        let ours = [PROGRESSING, AVAILABLE, PROXY_AVAILABLE, DEGRADED];
        ours.iter().position(|type_| *type_ == condition.type_).unwrap_or(ours.len())
    };
    all.sort_by_key(place);
    all
}

fn set(conditions: &mut Conditions, type_: &str, verdict: &Verdict) {
    let message: String = verdict.message.chars().take(LONGEST).collect();
    conditions.set(type_, verdict.ok, verdict.reason, message);
}

/// Names under which the server is reached; from outside the cluster only if there is a Route.
fn hosts(registry: &ModelRegistry, applied: &Applied<'_>) -> Vec<String> {
    let names = Names::of(registry);
    let (name, namespace) = (names.server(), names.namespace());
    let routed = applied.spec.kube_rbac_proxy.as_ref().filter(|proxy| proxy.service_route.is_enabled());
    let domain = routed.and_then(|proxy| proxy.domain.as_ref()).filter(|domain| !domain.is_empty());
    let external = domain.filter(|_| applied.observed.apis.route).map(|domain| names.external_host(domain));
    let inside =
        [format!("{name}.{namespace}.svc.cluster.local"), format!("{name}.{namespace}"), name.to_owned()];
    external.into_iter().chain(inside).collect()
}

/// What the defaults add, as a JSON merge patch in one line.
pub(super) fn spec_defaults(stored: &ModelRegistrySpec, effective: &ModelRegistrySpec) -> String {
    let value = |spec: &ModelRegistrySpec| serde_json::to_value(spec).unwrap_or_default();
    difference(&value(stored), &value(effective)).map_or_else(|| "{}".into(), |patch| patch.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_the_definition_would_refuse_is_cut() {
        let mut conditions = Conditions::of(&[], None, &Clock::system());
        set(&mut conditions, AVAILABLE, &Verdict::no("DeploymentUnavailable", "ü".repeat(LONGEST + 1)));
        assert_eq!(conditions.into_vec()[0].message.chars().count(), LONGEST);
    }
}
