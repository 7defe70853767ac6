//! The controller of the model catalog. It has no custom resource: there is one catalog, and one key.

mod desired;
mod names;
mod read;
mod user_sources;
mod wiring;

use std::collections::BTreeSet;

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ObjectReference};
use kube::Resource;
use parking_lot::Mutex;
use quintet_kit::{
    Action, Applier, Context, Events, Failure, Note, ObjectKey, Reconcile, Retry, Said, Singleton,
    apply::ApplyError,
    error::{chain, retry_of},
    run::Controller,
};

pub use desired::{Inputs, desired};
pub use wiring::wiring;

use self::{
    desired::removed,
    names::NAME,
    read::{Found, Reader},
};
use crate::{Config, MANAGER, config::difference::EVENTS, parts::ports};

const CONTROLLER: &str = "modelcatalog";
/// The ConfigMaps that are the users' own.
const USERS: [&str; 2] = ["model-catalog-sources", "mcp-catalog-sources"];

/// Why a reconcile did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something cannot be read.
    #[error("reading: {}", chain(.0))]
    Read(#[from] kube::Error),
    /// A child cannot be written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

impl Failure for Error {
    fn reason(&self) -> &'static str {
        match self {
            Error::Read(_) => "ReadFailed",
            Error::Apply(error) => error.reason(),
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Error::Read(error) => retry_of(error),
            Error::Apply(error) => error.retry(),
        }
    }
}

/// The controller of the catalog in this namespace, ready to run.
pub fn controller(context: &Context, config: Config, namespace: String) -> Controller {
    let wiring = wiring(&config, &namespace);
    let events = context.events("modelcatalog-controller");
    let reconciler = Reconciler {
        applier: context.applier(CONTROLLER, MANAGER),
        events: events.clone(),
        looked_through: Mutex::default(),
        said: Said::default(),
        context: context.clone(),
        config,
        namespace,
    };
    let tells = reconciler.tells();
    let controller = Controller::new(wiring, reconciler).concurrency(1);
    if tells { controller.events(events) } else { controller }
}

struct Reconciler {
    context: Context,
    config: Config,
    namespace: String,
    applier: Applier,
    events: Events,
    /// Users' ConfigMaps in which no entry of an earlier release is left: what they add later is theirs.
    looked_through: Mutex<BTreeSet<&'static str>>,
    said: Said<Topic>,
}

/// What something is said about: kind and name of an object, and the reason.
type Topic = (Option<String>, Option<String>, String);

impl Reconciler {
    /// Whether it says what the original keeps to itself.
    fn tells(&self) -> bool {
        self.config.differences.has(EVENTS)
    }

    /// Says what is news; `notes` is all that there is to say.
    fn tell(&self, notes: Vec<(ObjectReference, Note)>) {
        let topic = |about: &ObjectReference, note: &Note| -> Topic {
            (about.kind.clone(), about.name.clone(), note.reason.clone())
        };
        let topics: BTreeSet<Topic> = notes.iter().map(|(about, note)| topic(about, note)).collect();
        self.said.retain(|known| topics.contains(known));
        for (about, note) in notes {
            for note in self.said.fresh(&topic(&about, &note), vec![note]) {
                let (kind, name) = (about.kind.as_deref(), about.name.as_deref());
                tracing::warn!(kind, name, "{}", note.text);
                if self.tells() {
                    self.events.publish_about(about.clone(), note);
                }
            }
        }
    }
}

impl Reconcile for Reconciler {
    type Key = Singleton;
    type Error = Error;

    async fn reconcile(&self, _: Singleton) -> Result<Action, Error> {
        let hubs = self.context.hubs();
        let reader = Reader { hubs, config: &self.config, namespace: &self.namespace };
        if !self.config.catalog.enabled {
            let inputs = reader.read(&[]).await?.inputs;
            self.applier.apply(&removed(&self.config, &inputs)).await.ok()?;
            return Ok(Action::Wait);
        }
        let done = self.looked_through.lock().clone();
        let left: Vec<&'static str> = USERS.into_iter().filter(|name| !done.contains(name)).collect();
        let Found { mut inputs, unusable } = reader.read(&left).await?;
        let mut report = self.applier.apply(&desired(&self.config, &inputs)).await;
        if report.errors().iter().any(ports::is_renumbered) {
            inputs.mend = true;
            report = self.applier.apply(&desired(&self.config, &inputs)).await;
        }
        report.ok()?;
        let is_unreadable =
            |name: &str| unusable.iter().any(|(map, _)| map.meta().name.as_deref() == Some(name));
        self.looked_through.lock().extend(left.iter().filter(|name| !is_unreadable(name)));
        let mut notes: Vec<_> = unusable.into_iter().map(|(map, note)| (map.object_ref(&()), note)).collect();
        notes.extend(unreachable(&inputs));
        self.tell(notes);
        Ok(Action::Wait)
    }

    /// The catalog has no resource; its Deployment is what people look at.
    fn regarding(&self, _: &Singleton) -> Option<ObjectReference> {
        let key = ObjectKey::namespaced(&self.namespace, NAME);
        self.context.hubs().get::<Deployment>(&key).map(|deployment| deployment.object_ref(&()))
    }
}

/// Where there are Routes but no domain, the catalog has no name outside the cluster.
fn unreachable(inputs: &Inputs) -> Option<(ObjectReference, Note)> {
    let server = inputs.server.as_ref().filter(|_| inputs.apis.route && inputs.domain.is_none())?;
    let text =
        "no Route leads to the model catalog: the domain is not known, set DEFAULT_DOMAIN of the operator";
    Some((server.object_ref(&()), Note::warning("DomainUnknown", "Reconcile", text)))
}
