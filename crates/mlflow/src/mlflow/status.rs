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
    read::{Apis, Seen},
};
use crate::{Config, config::difference};

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
    /// Pods count as ready once they run what was last asked for; to the original any pod does
    /// ([`difference::ROLLOUT_READY`]). A status without `observedGeneration` was not written by the Deployment
    /// controller; then only the number of ready pods is known.
    pub(super) fn of(deployment: &Deployment, config: &Config) -> Self {
        let desired = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let Some(status) = &deployment.status else { return Readiness { desired, ready: 0 } };
        let ready = status.ready_replicas.unwrap_or(0);
        if !config.differences.has(difference::ROLLOUT_READY) {
            return Readiness { desired, ready };
        }
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
    outcome: Result<&Seen, &Error>,
    clock: &Clock,
) -> Option<MLflowStatus> {
    let names = Names::of(mlflow, &config.namespace);
    let before = mlflow.status.clone().unwrap_or_default();
    let generation = mlflow.metadata.generation.filter(|_| config.differences.has(difference::GENERATION));
    let mut conditions = Conditions::of(&before.conditions, generation, clock);
    let mut url = before.url;
    match outcome {
        Err(error) => {
            failed(&mut conditions, error);
            if matches!(error, Error::HttpRoute(_)) {
                url = None;
            }
        }
        Ok(observed) => {
            let readiness = Readiness::of(observed.deployment.as_deref()?, config);
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
            let route =
                observed.route.as_deref().filter(|_| config.differences.has(difference::ROUTE_CONDITION));
            match route.and_then(accepted) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mlflow::desired::RenderError;
    use quintet_kit::{ObjectKey, apply::ApplyError};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn api_error(message: &str) -> Box<kube::Error> {
        let status = json!({ "status": "Failure", "message": message, "reason": "Invalid", "code": 422 });
        Box::new(kube::Error::Api(Box::new(serde_json::from_value(status).unwrap())))
    }

    fn apply_error(kind: &str, name: &str) -> Error {
        let key = ObjectKey::namespaced("opendatahub", name);
        Error::of_child(ApplyError::Api { kind: kind.into(), key, source: api_error("no") })
    }

    fn mlflow(status: Value) -> MLflow {
        let object =
            json!({ "metadata": { "name": "mlflow", "generation": 7 }, "spec": {}, "status": status });
        serde_json::from_value(object).unwrap()
    }

    fn deployment(replicas: i32, status: Value) -> Seen {
        let object = json!({
            "metadata": { "generation": 2 },
            "spec": { "replicas": replicas, "selector": {}, "template": {} },
            "status": status,
        });
        Seen { deployment: Some(Arc::new(serde_json::from_value(object).unwrap())), ..Seen::default() }
    }

    /// Settings with these differences switched.
    fn switched(switches: &str) -> Config {
        Config::new("opendatahub", |name| (name == "QUINTET_DIFFERENCES").then(|| switches.to_owned()))
            .unwrap()
    }

    /// `Type=Status Reason: message` for each condition.
    fn shown(before: Value, outcome: Result<&Seen, &Error>) -> Vec<String> {
        let config = switched("");
        let status = status(&mlflow(before), &config, Apis::default(), outcome, &Clock::system()).unwrap();
        assert_eq!(status.address.unwrap().url.unwrap(), "https://mlflow.opendatahub.svc:8443");
        let line = |c: Condition| format!("{}={} {}: {}", c.type_, c.status, c.reason, c.message);
        status.conditions.into_iter().map(line).collect()
    }

    #[test]
    fn every_failure_has_its_reason_and_message() {
        let bundle = Error::CaBundleMissing { name: "x".into(), namespace: "opendatahub".into() };
        let unreadable = Error::CaBundleUnreadable { name: "x".into(), source: api_error("no") };
        let cases: [(Error, &[&str]); 7] = [
            (
                bundle,
                &[
                    r#"Available=False CABundleConfigMapError: CA bundle ConfigMap "x" not found in namespace "opendatahub""#,
                ],
            ),
            (
                unreadable,
                &[r#"Available=False CABundleConfigMapError: Failed to get CA bundle ConfigMap "x": no"#],
            ),
            (
                Error::PlatformCaBundle(api_error("no")),
                &[
                    r#"Available=False PlatformCABundleError: Failed to check for platform CA bundle ConfigMap "odh-trusted-ca-bundle": no"#,
                ],
            ),
            (
                Error::Render(RenderError::NoBackend),
                &[
                    "Available=False RenderFailed: Failed to render Helm chart: failed to render templates: mlflow.backendStoreUri or mlflow.backendStoreUriFrom must be set",
                    "Progressing=False RenderFailed: Failed to render Helm chart: failed to render templates: mlflow.backendStoreUri or mlflow.backendStoreUriFrom must be set",
                ],
            ),
            (
                apply_error("Deployment", "mlflow"),
                &[
                    "Available=False ApplyFailed: Failed to apply Deployment/mlflow: no",
                    "Progressing=False ApplyFailed: Failed to apply resources: no",
                ],
            ),
            (
                apply_error("ConsoleLink", "mlflow"),
                &["Available=False ConsoleLinkFailed: Failed to reconcile ConsoleLink: no"],
            ),
            (
                apply_error("HTTPRoute", "mlflow"),
                &["Available=False HttpRouteFailed: Failed to reconcile HttpRoute: no"],
            ),
        ];
        for (error, expected) in cases {
            let shown = shown(Value::Null, Err(&error));
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn readiness_is_told_in_the_originals_words() {
        let up = deployment(1, json!({ "readyReplicas": 1 }));
        assert_eq!(
            shown(Value::Null, Ok(&up)),
            [
                "Available=True DeploymentReady: MLflow deployment is ready and available",
                "Progressing=False ReconcileComplete: MLflow reconciliation completed successfully",
            ]
        );
        let down = deployment(2, json!({ "readyReplicas": 1 }));
        assert_eq!(
            shown(Value::Null, Ok(&down)),
            ["Available=False DeploymentNotReady: MLflow deployment not ready: 1/2 replicas ready"]
        );
        let zero = deployment(0, json!({}));
        assert_eq!(
            shown(Value::Null, Ok(&zero)),
            ["Available=False DeploymentNotReady: MLflow deployment scaled to zero replicas"]
        );
    }

    #[test]
    fn old_pods_do_not_make_a_new_version_ready() {
        let config = switched("");
        let ready =
            |status| Readiness::of(deployment(1, status).deployment.as_deref().unwrap(), &config).is_ready();
        assert!(
            !ready(json!({ "observedGeneration": 1, "readyReplicas": 1, "updatedReplicas": 1 })),
            "not looked at yet"
        );
        assert!(
            !ready(json!({ "observedGeneration": 2, "readyReplicas": 1 })),
            "the ready pod is an old one"
        );
        assert!(ready(json!({ "observedGeneration": 2, "readyReplicas": 1, "updatedReplicas": 1 })));
        let old = deployment(1, json!({ "observedGeneration": 2, "readyReplicas": 1 }));
        let as_original = switched("mlflow-rollout-ready=off");
        assert!(Readiness::of(old.deployment.as_deref().unwrap(), &as_original).is_ready(), "switched off");
    }

    #[test]
    fn nothing_is_said_before_the_deployment_is_seen() {
        let config = switched("");
        let unseen = Seen::default();
        assert_eq!(
            status(&mlflow(Value::Null), &config, Apis::default(), Ok(&unseen), &Clock::system()),
            None
        );
    }

    #[test]
    fn conditions_observe_the_generation() {
        let up = deployment(1, json!({ "readyReplicas": 1 }));
        for (switches, expected) in [("", Some(7)), ("mlflow-generation=off", None)] {
            let (config, clock) = (switched(switches), Clock::system());
            let status = status(&mlflow(Value::Null), &config, Apis::default(), Ok(&up), &clock).unwrap();
            assert!(status.conditions.iter().all(|c| c.observed_generation == expected));
        }
    }

    #[test]
    fn only_a_failed_route_takes_the_url_away() {
        let config = switched("");
        let url = |error: &Error| {
            let before = mlflow(json!({ "url": "https://gw.test/mlflow" }));
            status(&before, &config, Apis::default(), Err(error), &Clock::system()).unwrap().url
        };
        assert_eq!(url(&apply_error("Deployment", "mlflow")).as_deref(), Some("https://gw.test/mlflow"));
        assert_eq!(url(&apply_error("ConsoleLink", "mlflow")).as_deref(), Some("https://gw.test/mlflow"));
        assert_eq!(url(&apply_error("HTTPRoute", "mlflow")), None);
    }
}
