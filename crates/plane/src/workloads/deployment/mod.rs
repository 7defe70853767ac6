//! Deployments: one ReplicaSet per template, moved from the old ones to the new one step by step.
//!
//! [`plan`] takes one step at a time, as the real controller does: each write makes it look again.

mod conditions;
mod replica_sets;
mod rollout;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::plan::Plan;

pub(super) const COMPONENT: &str = "deployment-controller";
const REVISION: &str = "deployment.kubernetes.io/revision";

/// What to do next for a Deployment with these ReplicaSets (those it controls) and their Pods.
pub(super) fn plan(deployment: &Deployment, owned: &[ReplicaSet], pods: &[Pod], now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let Some(spec) = deployment.spec.as_ref() else { return plan };
    let sets = replica_sets::Sets::new(deployment, spec, owned);
    if deployment.metadata.deletion_timestamp.is_some() {
        conditions::sync(&mut plan, deployment, spec, &sets, now);
        return plan;
    }
    if conditions::sync_paused(&mut plan, deployment, spec, now) {
        return plan;
    }
    if spec.paused == Some(true) || sets.need_scaling(spec) {
        if !rollout::scale(&mut plan, deployment, spec, &sets) {
            if spec.paused == Some(true) {
                replica_sets::clean_up(&mut plan, spec, &sets);
            }
            conditions::sync(&mut plan, deployment, spec, &sets, now);
        }
        return plan;
    }
    if is_recreate(spec) && rollout::stop_old(&mut plan, deployment, &sets, pods) {
        conditions::sync(&mut plan, deployment, spec, &sets, now);
        return plan;
    }
    if sets.new.is_none() {
        replica_sets::create_new(&mut plan, deployment, spec, &sets, now);
        return plan;
    }
    if sets.sync_revision(&mut plan, deployment, spec, now) {
        return plan;
    }
    if rollout::scale_new(&mut plan, deployment, spec, &sets)
        || !is_recreate(spec) && rollout::scale_old(&mut plan, deployment, spec, &sets)
    {
        conditions::sync(&mut plan, deployment, spec, &sets, now);
        return plan;
    }
    if conditions::is_complete(deployment, spec, &conditions::counts(deployment, spec, &sets)) {
        replica_sets::clean_up(&mut plan, spec, &sets);
    }
    conditions::sync(&mut plan, deployment, spec, &sets, now);
    plan
}

fn replicas(spec: &DeploymentSpec) -> i32 {
    spec.replicas.unwrap_or(1)
}

fn is_recreate(spec: &DeploymentSpec) -> bool {
    spec.strategy.as_ref().and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate")
}

/// How many Pods more, and how many fewer, than asked for there may be during a rollout.
fn limits(spec: &DeploymentSpec) -> (i32, i32) {
    if is_recreate(spec) {
        return (0, 0);
    }
    let rolling =
        spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.clone()).unwrap_or_default();
    let default = IntOrString::String("25%".into());
    let surge = resolve(rolling.max_surge.as_ref().unwrap_or(&default), replicas(spec), true);
    let unavailable = resolve(rolling.max_unavailable.as_ref().unwrap_or(&default), replicas(spec), false);
    // With neither, nothing could ever move.
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

fn resolve(value: &IntOrString, of: i32, up: bool) -> i32 {
    match value {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let parts = percent * i64::from(of);
            let whole = if up { (parts + 99) / 100 } else { parts / 100 };
            i32::try_from(whole).unwrap_or(i32::MAX)
        }
    }
}

/// At most this many may be missing for the Deployment to count as available.
fn max_unavailable(spec: &DeploymentSpec) -> i32 {
    if is_recreate(spec) || replicas(spec) == 0 { 0 } else { limits(spec).1.min(replicas(spec)) }
}

#[cfg(test)]
mod tests;
