//! The controller of `ModelRegistry`: read, decide, apply, report.

mod defaults;
pub mod desired;
mod error;
mod logs;
mod names;
mod passwords;
mod read;
mod references;
mod status;
mod wiring;

use std::time::Duration;

use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::{
    Api, Resource, ResourceExt,
    api::{Patch, PatchParams},
};
use quintet_api::model_registry::{Grpc, ModelRegistry, ModelRegistryStatus, Postgres};
use quintet_kit::{
    Action, Applier, Context, Events, Failure, Meta, Note, ObjectKey, Reconcile, Retry, Said,
    apply::{Outcome, Report},
    finalizer::{Finalizer, Stage},
    run::Controller,
    status::StatusWriter,
};
use serde_json::{Value, json};

pub use error::Error;
pub(crate) use names::Names;
pub(crate) use passwords::fits_in;
pub use wiring::wiring;

use self::{
    desired::{Wanted, at_the_end},
    logs::Logs,
    passwords::Passwords,
    read::{Observed, Reader},
    status::{Applied, Change},
};
use crate::{Config, MANAGER, config::difference, parts::ports, takeover, webhook};

const NAME: &str = "modelregistry";
/// Held until what nothing owns is deleted.
const FINALIZER: &str = "modelregistry.opendatahub.io/finalizer";
/// The Deployment was applied but the cache does not show it yet, or became available just now.
const SOON: Duration = Duration::from_secs(1);
/// The server is not available. Its pods are watched, so that this is only for what no watch shows: logs.
const UNAVAILABLE: Duration = Duration::from_secs(30);

/// The controller, ready to run.
pub fn controller(context: &Context, config: Config) -> Controller {
    let wiring = wiring(&config);
    let reconciler = Reconciler {
        applier: context.applier(NAME, MANAGER),
        status: context.status(NAME, MANAGER),
        finalizer: context.finalizer(MANAGER, FINALIZER),
        events: context.events("modelregistry-controller"),
        logs: Logs::new(context.client().clone()),
        passwords: Passwords::default(),
        said: Said::default(),
        context: context.clone(),
        config,
    };
    Controller::new(wiring, reconciler)
}

struct Reconciler {
    context: Context,
    config: Config,
    applier: Applier,
    status: StatusWriter,
    finalizer: Finalizer,
    events: Events,
    logs: Logs,
    passwords: Passwords,
    said: Said,
}

/// What a pass came to.
struct Done {
    change: Change,
    wanted: Wanted,
    observed: Observed,
}

impl Reconcile for Reconciler {
    type Key = ObjectKey;
    type Error = Error;

    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let Some(registry) = self.context.hubs().get::<ModelRegistry>(&key) else {
            self.said.forget(&key);
            return Ok(Action::Wait);
        };
        match self.finalizer.stage(&*registry) {
            Stage::Leaving => return Ok(Action::Wait),
            Stage::CleanUp => return self.clean_up(&registry).await,
            // The watch brings us back with the finalizer.
            Stage::Live { held: false } => {
                self.finalizer.add(&*registry).await?;
                return Ok(Action::Wait);
            }
            Stage::Live { held: true } => {}
        }
        if let Some(patch) = webhook::without_oauth_proxy(&registry.spec) {
            self.update(&registry, patch).await?;
            return Ok(Action::Wait);
        }
        let outcome = self.apply(&registry).await;
        if matches!(&outcome, Err(error) if error.retry() == Retry::Soon) {
            return outcome.map(|_| Action::Wait); // a conflict is nobody's news
        }
        self.report(&registry, outcome).await
    }

    fn regarding(&self, key: &ObjectKey) -> Option<ObjectReference> {
        self.context.hubs().get::<ModelRegistry>(key).map(|registry| registry.object_ref(&()))
    }
}

impl Reconciler {
    async fn apply(&self, registry: &ModelRegistry) -> Result<Done, Error> {
        webhook::sound(registry, &self.config)?;
        let reader = Reader::new(self.context.hubs(), registry, &self.config);
        let mut inputs = reader.inputs(&self.passwords).await?;
        let mut wanted = desired::desired(registry, &self.config, &inputs);
        self.forget_password(registry).await?;
        let database = self.applier.apply(&wanted.database).await;
        let mut server = self.applier.apply(&wanted.server).await;
        if server.errors().iter().any(ports::is_renumbered) {
            inputs.mend = true;
            wanted = desired::desired(registry, &self.config, &inputs);
            server = self.applier.apply(&wanted.server).await;
        }
        let change = change(&server);
        database.ok()?;
        server.ok()?;
        let observed = reader.observed(&wanted.spec, &self.logs).await?;
        Ok(Done { change, wanted, observed })
    }

    /// The original keeps what it applied, passwords included, in an annotation.
    async fn forget_password(&self, registry: &ModelRegistry) -> Result<(), Error> {
        if !registry.spec.postgres.as_ref().is_some_and(Postgres::is_generated) {
            return Ok(());
        }
        let names = Names::of(registry);
        let key = ObjectKey::namespaced(names.namespace(), names.database_credentials());
        let secret = self.context.hubs().get::<Meta<Secret>>(&key);
        match secret.filter(|secret| takeover::has_last_applied(secret.annotations())) {
            Some(_) => takeover::drop_last_applied::<Secret>(&self.context, &key).await.map_err(Error::from),
            None => Ok(()),
        }
    }

    /// Status after failure as after success; events for what is news.
    async fn report(&self, registry: &ModelRegistry, outcome: Result<Done, Error>) -> Result<Action, Error> {
        // The cache may not show yet what was written last.
        let known = self.known(registry, self.status.latest(registry, registry.status.clone()));
        let clock = self.context.clock();
        let done = match outcome {
            Ok(done) => done,
            Err(error) => {
                let note = Note::warning(error.reason(), "Reconcile", error.to_string());
                self.tell(registry, vec![note]);
                let is_told = self.config.differences.has(difference::INVALID_STATUS);
                if is_told || !matches!(error, Error::Invalid(_)) {
                    self.write(registry, &status::failed(&known, &error, clock)).await?;
                }
                return Err(error);
            }
        };
        let applied = Applied { change: done.change, spec: &done.wanted.spec, observed: &done.observed };
        let new = status::applied(&known, &applied, clock);
        self.tell(registry, hints(registry, &done.observed));
        self.announce(registry, done.change);
        self.write(registry, &new).await?;
        if new.spec_defaults == "{}"
            && let Some(patch) = webhook::without_default_image(&registry.spec, &self.config)
        {
            self.update(registry, patch).await?;
        }
        let available = new.conditions.iter().find(|condition| condition.type_ == "Available");
        Ok(match available {
            None => Action::Due(SOON),
            _ if done.change != Change::None => Action::Due(SOON),
            Some(condition) if condition.reason == status::COOLING_DOWN => Action::Due(SOON),
            Some(condition) if condition.status == "True" => Action::Wait,
            Some(_) => Action::After(UNAVAILABLE),
        })
    }

    /// Deletes what nothing owns; all else goes by its owner.
    async fn clean_up(&self, registry: &ModelRegistry) -> Result<Action, Error> {
        let clock = self.context.clock();
        let key = ObjectKey::of(registry);
        let begun = status::finalizing(&self.known(registry, registry.status.clone()), false, clock);
        let is_done = |status: &ModelRegistryStatus| {
            status.conditions.iter().any(|c| c.reason == "Finalizing" && c.status == "True")
        };
        if !registry.status.as_ref().is_some_and(is_done) {
            self.write(registry, &begun).await?;
        }
        let reader = Reader::new(self.context.hubs(), registry, &self.config);
        self.applier.apply(&at_the_end(registry, reader.apis(), reader.has_namesake())).await.ok()?;
        let (name, namespace) = (registry.name_any(), registry.namespace().unwrap_or_default());
        let text = format!("Custom Resource {name} is being deleted from the namespace {namespace}");
        self.say(registry, vec![Note::warning("Deleting", "Deleting", text)]);
        let latest = self.status.latest(registry, registry.status.clone());
        self.write(registry, &status::finalizing(&self.known(registry, latest), true, clock)).await?;
        // What was just written has moved the version.
        let api: Api<ModelRegistry> = Api::namespaced(self.context.client().clone(), key.namespace());
        match api.get_opt(&name).await.map_err(Error::read("ModelRegistry"))? {
            Some(fresh) if fresh.uid() == registry.uid() => self.finalizer.remove(&fresh).await?,
            _ => {}
        }
        Ok(Action::Wait)
    }

    async fn write(&self, registry: &ModelRegistry, new: &ModelRegistryStatus) -> Result<(), Error> {
        self.status.write(registry, registry.status.as_ref(), new).await?;
        Ok(())
    }

    /// Changes the resource itself, unless somebody else did so meanwhile.
    async fn update(&self, registry: &ModelRegistry, spec: Value) -> Result<(), Error> {
        let namespace = registry.namespace().unwrap_or_default();
        let api: Api<ModelRegistry> = Api::namespaced(self.context.client().clone(), &namespace);
        let version = registry.resource_version();
        let patch =
            json!({ "metadata": { "uid": registry.uid(), "resourceVersion": version }, "spec": spec });
        let params = PatchParams { field_manager: Some(MANAGER.name.into()), ..PatchParams::default() };
        let patch = Patch::Merge(patch);
        let name = registry.name_any();
        let request = api.patch(&name, &params, &patch);
        let answer = self.context.fence().guard(request).await?;
        answer.map(drop).map_err(|error| Error::Update(Box::new(error)))
    }

    fn announce(&self, registry: &ModelRegistry, change: Change) {
        let (word, reason) = match change {
            Change::Created => ("Created", "ServiceCreated"),
            Change::Updated => ("Updated", "ServiceUpdated"),
            Change::None => return,
        };
        let (name, namespace) = (registry.name_any(), registry.namespace().unwrap_or_default());
        let text = format!("{word} service for custom resource {name} in namespace {namespace}");
        self.events.publish(registry, Note::normal(reason, reason, text));
    }

    /// The registry with what was last written of its status.
    fn known(&self, registry: &ModelRegistry, status: Option<ModelRegistryStatus>) -> ModelRegistry {
        let mut known = ModelRegistry { status, ..registry.clone() };
        if !self.config.differences.has(difference::GENERATION) {
            known.metadata.generation = None;
        }
        known
    }

    /// Says what the original keeps to itself.
    fn tell(&self, registry: &ModelRegistry, notes: Vec<Note>) {
        if self.config.differences.has(difference::EVENTS) {
            self.say(registry, notes);
        }
    }

    fn say(&self, registry: &ModelRegistry, notes: Vec<Note>) {
        for note in self.said.fresh(&ObjectKey::of(registry), notes) {
            self.events.publish(registry, note);
        }
    }
}

/// What became of the server's children: the last that was made or changed decides. Deletions do not count.
fn change(report: &Report) -> Change {
    let mut changes = report.outcomes().iter().filter_map(|(_, _, outcome)| match outcome {
        Outcome::Created => Some(Change::Created),
        Outcome::Changed | Outcome::Recreated => Some(Change::Updated),
        Outcome::Unchanged | Outcome::Confirmed | Outcome::Pruned | Outcome::Left => None,
    });
    changes.next_back().unwrap_or(Change::None)
}

/// What a user should know and no condition says.
fn hints(registry: &ModelRegistry, observed: &Observed) -> Vec<Note> {
    let is_vain =
        |grpc: &&Grpc| grpc.port != Grpc::default().port || grpc.image.is_some() || grpc.resources.is_some();
    let grpc = registry.spec.grpc.as_ref().filter(is_vain).map(|_| {
        let text = "spec.grpc is deprecated and not used: there is no gRPC server any more";
        Note::warning("GrpcIgnored", "Reconcile", text)
    });
    let stray = observed.stray_database.as_ref().map(|name| {
        let text = format!(
            "Deployment {name}, with its Service, Secret and volume, still runs, but nothing uses it: \
             delete it when its data is no longer needed"
        );
        Note::warning("DatabaseLeft", "Reconcile", text)
    });
    stray.into_iter().chain(grpc).collect()
}
