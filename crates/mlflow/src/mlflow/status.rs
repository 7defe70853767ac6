//! The status of an MLflow: a pure function of what was there, what happened and what is seen.

use k8s_openapi::{api::apps::v1::Deployment, apimachinery::pkg::apis::meta::v1::Condition};
use quintet_api::{
    foreign::gateway::HTTPRoute,
    mlflow::{Address, MLflow, MLflowStatus},
};
use quintet_kit::{Clock, Failure, status::Conditions};

use super::{
    error::Error,
    names::Names,
    read::{Apis, Observed},
};
use crate::Config;

const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
/// Ours: what the gateway made of the route.
const ROUTE_ACCEPTED: &str = "RouteAccepted";

/// How far the server's Deployment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Readiness {
    desired: i32,
    ready: i32,
}

impl Readiness {
    /// Pods count as ready once they run what was last asked for. A status without `observedGeneration` was not
    /// written by the Deployment controller; then only the number of ready pods is known.
    pub(super) fn of(deployment: &Deployment) -> Self {
        let desired = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let Some(status) = &deployment.status else { return Readiness { desired, ready: 0 } };
        let ready = status.ready_replicas.unwrap_or(0);
        let ready = match (status.observed_generation, deployment.metadata.generation) {
            (Some(observed), Some(current)) if observed < current => 0,
            (Some(_), _) => ready.min(status.updated_replicas.unwrap_or(0)),
            (None, _) => ready,
        };
        Readiness { desired, ready }
    }

    pub(super) fn is_ready(self) -> bool {
        self.desired > 0 && self.ready >= self.desired
    }

    fn message(self) -> String {
        match self {
            Readiness { desired: 0, .. } => "MLflow deployment scaled to zero replicas".into(),
            Readiness { desired, ready } => {
                format!("MLflow deployment not ready: {ready}/{desired} replicas ready")
            }
        }
    }
}

/// The status to be shown, or none if nothing can be said yet because the Deployment has not been seen.
pub(super) fn status(
    mlflow: &MLflow,
    config: &Config,
    apis: Apis,
    outcome: Result<&Observed, &Error>,
    clock: &Clock,
) -> Option<MLflowStatus> {
    let names = Names::of(mlflow, &config.namespace);
    let before = mlflow.status.clone().unwrap_or_default();
    let mut conditions = Conditions::of(&before.conditions, mlflow.metadata.generation, clock);
    let mut url = before.url;
    match outcome {
        Err(error) => {
            failed(&mut conditions, error);
            if matches!(error, Error::HttpRoute(_)) {
                url = None;
            }
        }
        Ok(observed) => {
            let readiness = Readiness::of(observed.deployment.as_deref()?);
            if readiness.is_ready() {
                conditions.set(
                    AVAILABLE,
                    true,
                    "DeploymentReady",
                    "MLflow deployment is ready and available",
                );
                let message = "MLflow reconciliation completed successfully";
                conditions.set(PROGRESSING, false, "ReconcileComplete", message);
            } else {
                conditions.set(AVAILABLE, false, "DeploymentNotReady", readiness.message());
            }
            url = config.url.shown(&names.path()).filter(|_| apis.http_route);
            match observed.route.as_deref().and_then(accepted) {
                Some((ok, reason, message)) => drop(conditions.set(ROUTE_ACCEPTED, ok, &reason, message)),
                None => drop(conditions.remove(ROUTE_ACCEPTED)),
            }
        }
    }
    Some(MLflowStatus {
        conditions: conditions.into_vec(),
        url,
        address: Some(Address { url: Some(names.url()) }),
    })
}

fn failed(conditions: &mut Conditions, error: &Error) {
    let (reason, message) = (error.reason(), error.to_string());
    conditions.set(AVAILABLE, false, reason, &message);
    let stopped = match error {
        Error::Render(_) => message,
        Error::Apply { source, .. } => format!("Failed to apply resources: {}", source.detail()),
        _ => return,
    };
    conditions.set(PROGRESSING, false, reason, stopped);
}

/// What the route's gateways say of it: the first objection, or that all is well; none if none has said anything.
fn accepted(route: &HTTPRoute) -> Option<(bool, String, String)> {
    let parents = &route.status.as_ref()?.parents;
    let about = |type_: &'static str| {
        let said = parents.iter().flat_map(|parent| &parent.conditions);
        said.filter(move |condition: &&Condition| condition.type_ == type_)
    };
    let mut all = about("Accepted").chain(about("ResolvedRefs"));
    if let Some(objection) = all.find(|condition| condition.status == "False") {
        let message = format!("The gateway does not serve the HTTPRoute: {}", objection.message);
        return Some((false, objection.reason.clone(), message));
    }
    about("Accepted").next().map(|c| (true, c.reason.clone(), "The gateway serves the HTTPRoute".into()))
}
