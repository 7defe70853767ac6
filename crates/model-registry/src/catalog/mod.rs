//! The controller of the model catalog. It has no custom resource: there is one catalog, and one key.

mod desired;
mod wiring;

use quintet_kit::{
    Action, Applier, Context, FieldManager, Reconcile, Singleton, apply::ApplyError, run::Controller,
};

pub use desired::desired;
pub use wiring::wiring;

use crate::Config;

const NAME: &str = "modelcatalog";
const MANAGER: FieldManager = FieldManager::new("model-registry-operator");

/// The controller, ready to run.
pub fn controller(context: &Context, config: Config) -> Controller {
    let wiring = wiring(&config);
    Controller::new(wiring, Reconciler { applier: context.applier(NAME, MANAGER), config }).concurrency(1)
}

struct Reconciler {
    applier: Applier,
    config: Config,
}

impl Reconcile for Reconciler {
    type Key = Singleton;
    type Error = ApplyError;

    async fn reconcile(&self, _: Singleton) -> Result<Action, ApplyError> {
        self.applier.apply(&desired(&self.config)).await.ok()?;
        Ok(Action::Wait)
    }
}
