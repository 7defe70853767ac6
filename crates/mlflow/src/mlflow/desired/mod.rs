//! What should exist for an MLflow: a pure function of the resource, the operator's settings and what was read.
//!
//! | file | children |
//! |---|---|
//! | [`access`] | ServiceAccounts, ClusterRoles, ClusterRoleBindings |
//! | [`storage`] | PersistentVolumeClaim |
//! | [`network`] | Service, NetworkPolicy |
//! | [`server`] | Deployment |
//! | [`environment`] | the server's and the job's environment |
//! | [`garbage_collection`] | CronJob |
//! | [`platform`] | ServiceMonitor, ConsoleLink, HTTPRoute |

mod access;
mod environment;
mod garbage_collection;
mod network;
mod plan;
mod platform;
mod server;
mod storage;

use k8s_openapi::api::{
    batch::v1::CronJob,
    core::v1::ServiceAccount,
    rbac::v1::{ClusterRole, ClusterRoleBinding},
};
use kube::ResourceExt;
use quintet_api::mlflow::MLflow;
use quintet_kit::{
    Adopt, Child, Desired, Kind, ObjectKey, WritePolicy,
    desired::{Guard, Prune},
};

pub(crate) use access::{gc_rules, server_rules};
use plan::Plan;
pub use plan::RenderError;

use super::{names::GC_SERVICE_ACCOUNT, read::Inputs};
use crate::Config;

/// The children of `mlflow`, in the order in which they are applied: an account before what runs as it, the server
/// before what leads to it.
///
/// # Errors
/// If the resource asks for something that cannot be built. Only a change of the resource can help.
pub fn desired(mlflow: &MLflow, config: &Config, inputs: &Inputs) -> Result<Desired, RenderError> {
    let plan = Plan::new(mlflow, config, inputs)?;
    let desired = Desired::new()
        .with(ours(access::service_account(&plan)))
        .with(ours(access::shared_role(&plan)))
        .with(ours(access::binding(&plan)))
        // Made once and then left alone, whoever made it: a claim holds data.
        .with_some(
            storage::claim(&plan)
                .map(|claim| Child::new(claim).policy(WritePolicy::CreateOnly).adopt(Adopt::Always)),
        )
        .with(network::service(&plan))
        .with(ours(network::policy(&plan)))
        .with(server::deployment(&plan));
    let desired = match &mlflow.spec.garbage_collection {
        Some(gc) => desired
            .with(ours(access::gc_service_account(&plan)))
            .with(ours(access::gc_role(&plan)))
            .with(ours(access::gc_binding(&plan)))
            .with(ours(garbage_collection::cron_job(&plan, gc))),
        None => without_garbage_collection(desired, &plan),
    };
    Ok(desired
        .with_some(inputs.apis.service_monitor.then(|| ours(platform::service_monitor(&plan))))
        .with_some(inputs.apis.console_link.then(|| ours(platform::console_link(&plan))))
        .with_some(inputs.apis.http_route.then(|| ours(platform::http_route(&plan)))))
}

/// A child that is applied, and taken over if it exists and nobody controls it, as the original does.
fn ours<K: Kind>(object: K) -> Child {
    Child::new(object).adopt(Adopt::Uncontrolled)
}

/// What there is of the garbage collection goes when it is switched off, but only what this resource owns.
fn without_garbage_collection(mut desired: Desired, plan: &Plan<'_>) -> Desired {
    let guard = || Guard::Owner(plan.mlflow.uid().unwrap_or_default());
    let beside = |name: &str| ObjectKey::namespaced(&plan.config.namespace, name);
    let cluster = || ObjectKey::cluster(plan.names.gc());
    let there = plan.inputs.gc;
    if there.cron_job {
        desired = desired.without(Prune::named::<CronJob>(beside(&plan.names.gc()), guard()));
    }
    // The server itself may run as the account of that name.
    if there.service_account && plan.service_account() != GC_SERVICE_ACCOUNT {
        desired = desired.without(Prune::named::<ServiceAccount>(beside(GC_SERVICE_ACCOUNT), guard()));
    }
    if there.binding {
        desired = desired.without(Prune::named::<ClusterRoleBinding>(cluster(), guard()));
    }
    if there.role {
        desired = desired.without(Prune::named::<ClusterRole>(cluster(), guard()));
    }
    desired
}
