//! The controller of `MLflow`: read, decide, apply, report.

pub mod desired;
mod error;
mod hints;
mod names;
mod original;
pub mod read;
mod status;
mod wiring;

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use quintet_api::mlflow::MLflow;
use quintet_kit::{
    Action, Applier, Context, Events, Failure, FieldManager, Note, ObjectKey, Reconcile, Retry, Said,
    run::Controller, status::StatusWriter,
};

pub use error::Error;
pub use wiring::wiring;

use self::{
    hints::hints,
    read::{Reader, Seen},
    status::{Readiness, status},
};
use crate::{Config, config::difference};

/// The original's field manager, so that what it set and we drop goes away.
const MANAGER: FieldManager = FieldManager::new("mlflow-operator");
const NAME: &str = "mlflow";
/// The Deployment was applied, but the cache does not show it yet.
const NOT_SEEN: Duration = Duration::from_secs(5);
/// The server is not ready; its Deployment's changes bring us back earlier.
const NOT_READY: Duration = Duration::from_secs(10);

/// Reconciles one MLflow at a time, as the original does.
pub fn controller(context: &Context, config: Config) -> Controller {
    let reconciler = Reconciler {
        applier: context.applier(NAME, MANAGER),
        status: context.status(NAME, MANAGER),
        events: context.events("mlflow-operator"),
        said: Said::default(),
        context: context.clone(),
        config: config.clone(),
    };
    Controller::new(wiring(&config), reconciler).concurrency(1)
}

struct Reconciler {
    context: Context,
    config: Config,
    applier: Applier,
    status: StatusWriter,
    events: Events,
    said: Said,
}

impl Reconcile for Reconciler {
    type Key = ObjectKey;
    type Error = Error;

    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let Some(mlflow) = self.context.hubs().get::<MLflow>(&key) else {
            self.said.forget(&key);
            return Ok(Action::Wait);
        };
        // No finalizer: what it owns goes with it.
        if mlflow.metadata.deletion_timestamp.is_some() {
            return Ok(Action::Wait);
        }
        let reader = Reader::new(self.context.hubs(), &mlflow, &self.config);
        let outcome = self.apply(&mlflow, &reader).await;
        if matches!(&outcome, Err(error) if error.retry() == Retry::Soon) {
            return outcome.map(|_| Action::Wait); // a conflict is nobody's news
        }
        self.report(&mlflow, &reader, outcome.as_ref()).await.inspect_err(|_| {
            if let Err(error) = &outcome {
                tracing::warn!(%error, "not shown in status");
            }
        })?;
        Ok(match outcome?.deployment.as_deref().map(|deployment| Readiness::of(deployment, &self.config)) {
            None => Action::After(NOT_SEEN),
            Some(readiness) if readiness.is_ready() => Action::Wait,
            Some(_) => Action::After(NOT_READY),
        })
    }

    fn regarding(&self, key: &ObjectKey) -> Option<ObjectReference> {
        self.context.hubs().get::<MLflow>(key).map(|mlflow| mlflow.object_ref(&()))
    }
}

impl Reconciler {
    async fn apply(&self, mlflow: &MLflow, reader: &Reader<'_>) -> Result<Seen, Error> {
        let inputs = reader.inputs().await?;
        let desired = desired::desired(mlflow, &self.config, &inputs)?;
        self.applier.apply(&desired).await.ok().map_err(Error::of_child)?;
        reader.seen().await
    }

    /// Status after failure as after success; events for what is news.
    async fn report(
        &self,
        mlflow: &MLflow,
        reader: &Reader<'_>,
        outcome: Result<&Seen, &Error>,
    ) -> Result<(), Error> {
        let notes = match outcome {
            Ok(observed) => hints(mlflow, &self.config, observed),
            Err(error) => vec![Note::warning(error.reason(), "Reconcile", error.to_string())],
        };
        if self.config.differences.has(difference::EVENTS) {
            self.said
                .fresh(&ObjectKey::of(mlflow), notes)
                .into_iter()
                .for_each(|note| self.events.publish(mlflow, note));
        }
        // The cache may not show yet what was written last.
        let known = MLflow { status: self.status.latest(mlflow, mlflow.status.clone()), ..mlflow.clone() };
        if let Some(new) = status(&known, &self.config, reader.apis(), outcome, self.context.clock()) {
            self.status.write(mlflow, mlflow.status.as_ref(), &new).await?;
        }
        Ok(())
    }
}
