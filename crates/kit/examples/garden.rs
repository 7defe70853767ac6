//! A small system from end to end; `docs/adding-a-system.md` walks through it. Gardens get a bed and a gate, name a Secret
//! with their seeds, and are watered if the cluster knows Sprinklers; one catalog lists them all.
#![allow(
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    reason = "an example talks, and is read as a whole"
)]

use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::api::{Api, DynamicObject, PostParams};
use kube::{CustomResource, CustomResourceExt, Resource, ResourceExt};
use quintet_kit::apply::{Applier, ApplyError, FieldManager};
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Controller, Fatal, Observed, RenderError, Settings, Started};
use quintet_kit::status::{Conditions, StatusError, StatusWriter};
use quintet_kit::wiring::SystemRows;
use quintet_kit::{
    Action, Child, Context, Desired, Failure, Fence, Hubs, Kind, Manager, Mapping, Meta, ObjectKey,
    Reconcile, Retry, Singleton, System, Watch, Wiring, Write, WritePolicy,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, sync::Arc, sync::Mutex};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "garden.example", version = "v1", kind = "Garden", namespaced, status = "GardenStatus")]
pub struct GardenSpec {
    pub seeds: String,
}
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct GardenStatus {
    #[serde(default)]
    pub conditions: Vec<Condition>,
}
/// Somebody else's API, which the cluster may or may not serve.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(group = "water.example", version = "v1", kind = "Sprinkler", namespaced)]
pub struct SprinklerSpec {}

const MANAGER: FieldManager = FieldManager::new("garden-operator");
/// Something outside the cluster that must forget a garden when it is gone.
pub type Register = Arc<Mutex<BTreeSet<String>>>;

// 1. Wiring: what the controllers are for, own, watch and write.
fn gardens() -> Wiring<ObjectKey> {
    let named = |secret: &Meta<Secret>, hubs: &Hubs| {
        let gardens = hubs.by::<Garden>("seeds", &secret.name_any());
        gardens.iter().filter(|g| g.namespace() == secret.namespace()).map(|g| ObjectKey::of(&**g)).collect()
    };
    Wiring::new("garden")
        .is_for(Watch::<Garden>::all().index("seeds", |garden| vec![garden.spec.seeds.clone()]))
        .owns::<Garden, _>(Watch::<ConfigMap>::all())
        .owns::<Garden, _>(Watch::<Service>::all())
        .watches(Watch::<Meta<Secret>>::all(), Mapping::new("the Gardens that name it", named))
        .watches(Watch::<Sprinkler>::all().when_served(), Mapping::every::<Garden>())
        .writes(Write::of::<ConfigMap>(WritePolicy::Apply))
        .writes(Write::of::<Service>(WritePolicy::Apply))
        .writes(Write::status::<Garden>())
}
fn catalog() -> Wiring<Singleton> {
    Wiring::new("catalog")
        .starts_with(|_| vec![Singleton])
        .watches(Watch::<Garden>::all(), Mapping::always(Singleton))
        .writes(Write::of::<ConfigMap>(WritePolicy::Apply).namespace("default").names(["catalog"]))
}

// 2. Desired state: a pure function of plain inputs.
struct Inputs<'a> {
    garden: &'a Garden,
    seeds: Option<String>,
    sprinklers: usize,
}
fn desired(inputs: &Inputs<'_>) -> Result<Desired, Error> {
    let (name, seeds) = (inputs.garden.name_any(), inputs.garden.spec.seeds.clone());
    let version = inputs.seeds.clone().ok_or(Error::NoSeeds(seeds))?;
    let meta = |suffix: &str| ObjectMeta {
        name: Some(format!("{name}-{suffix}")),
        namespace: inputs.garden.namespace(),
        owner_references: inputs.garden.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    };
    let water = format!("{} sprinklers", inputs.sprinklers);
    let bed = [("seeds".to_owned(), version), ("water".to_owned(), water)].into();
    let bed = ConfigMap { metadata: meta("bed"), data: Some(bed), ..ConfigMap::default() };
    let gate = serde_json::from_value(serde_json::json!({"spec": {"ports": [{"name": "gate", "port": 80}]}}));
    let gate = Service { metadata: meta("gate"), ..gate.unwrap_or_default() };
    Ok(Desired::new().with(bed).with(gate))
}
fn catalog_of(gardens: &[String]) -> Desired {
    let labels = [("made-by".to_owned(), "garden-operator".to_owned())].into();
    let metadata = ObjectMeta {
        name: Some("catalog".into()),
        namespace: Some("default".into()),
        labels: Some(labels),
        ..ObjectMeta::default()
    };
    let data = Some([("gardens".to_owned(), gardens.join(","))].into());
    Desired::new().with(Child::new(ConfigMap { metadata, data, ..ConfigMap::default() }))
}

// 3. Errors: a closed set of reasons, and when to try again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the Secret {0} with the seeds does not exist: create it")]
    NoSeeds(String),
    #[error(transparent)]
    Apply(#[from] ApplyError),
    #[error(transparent)]
    Status(#[from] StatusError),
    #[error("reading: {0}")]
    Read(#[from] kube::Error),
}
impl Failure for Error {
    fn reason(&self) -> &'static str {
        match self {
            Error::NoSeeds(_) => "NoSeeds",
            Error::Apply(error) => error.reason(),
            Error::Status(error) => error.reason(),
            Error::Read(_) => "ReadFailed",
        }
    }
    fn retry(&self) -> Retry {
        match self {
            Error::NoSeeds(_) => Retry::Never, // the watch on Secrets brings us back
            Error::Apply(error) => error.retry(),
            Error::Status(error) => error.retry(),
            Error::Read(_) => Retry::Backoff,
        }
    }
}

// 4. Reconcile: read, decide, apply, status. It runs for a garden that is gone, too.
struct Gardener {
    context: Context,
    applier: Applier,
    status: StatusWriter,
    register: Register,
}
impl Reconcile for Gardener {
    type Key = ObjectKey;
    type Error = Error;
    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let Some(garden) = self.context.hubs().get::<Garden>(&key) else {
            self.register.lock().expect("no panic inside").remove(&key.to_string());
            return Ok(Action::Wait); // children go with their owner
        };
        let outcome = self.ensure(&garden).await;
        let old = garden.status.clone().unwrap_or_default();
        let mut conditions =
            Conditions::of(&old.conditions, garden.metadata.generation, self.context.clock());
        match &outcome {
            Ok(()) => conditions.set("Ready", true, "Planted", "the garden is planted"),
            Err(error) => conditions.set("Ready", false, error.reason(), error.to_string()),
        };
        let new = GardenStatus { conditions: conditions.into_vec() };
        self.status.write(&*garden, garden.status.as_ref(), &new).await?;
        outcome.map(|()| Action::Wait)
    }
}
impl Gardener {
    async fn ensure(&self, garden: &Garden) -> Result<(), Error> {
        let hubs = self.context.hubs();
        let key = ObjectKey { namespace: garden.namespace(), name: garden.spec.seeds.clone() };
        let seeds = hubs.fetch::<Meta<Secret>>(&key).await?.and_then(|secret| secret.resource_version());
        let inputs = Inputs { garden, seeds, sprinklers: hubs.all::<Sprinkler>().len() };
        self.applier.apply(&desired(&inputs)?).await.ok()?;
        self.register.lock().expect("no panic inside").insert(ObjectKey::of(garden).to_string());
        Ok(())
    }
}
struct Cataloguer(Context, Applier);
impl Reconcile for Cataloguer {
    type Key = Singleton;
    type Error = ApplyError;
    async fn reconcile(&self, _: Singleton) -> Result<Action, ApplyError> {
        let names: Vec<_> = self.0.hubs().all::<Garden>().iter().map(|garden| garden.name_any()).collect();
        self.1.apply(&catalog_of(&names)).await.ok().map(|_| Action::Wait)
    }
}

// 5. The system: what a program needs to run it, print it, and render it offline.
pub struct GardenSystem(pub Register);
impl System for GardenSystem {
    fn name(&self) -> &'static str {
        "garden"
    }
    fn rows(&self) -> SystemRows {
        let controllers = vec![gardens().rows().clone(), catalog().rows().clone()];
        SystemRows {
            system: "garden".into(),
            controllers,
            crds: vec![Garden::gvk()],
            ..SystemRows::default()
        }
    }
    fn crds(&self) -> Vec<Crd> {
        vec![Garden::crd()]
    }
    fn render(&self, object: &DynamicObject, observed: &Observed) -> Result<Desired, RenderError> {
        let garden: Garden = RenderError::parse(object)?;
        let key = ObjectKey { namespace: garden.namespace(), name: garden.spec.seeds.clone() };
        let seeds = observed.get::<Secret>(&key).map(|secret| secret.resource_version().unwrap_or_default());
        let inputs = Inputs { garden: &garden, seeds, sprinklers: observed.all::<Sprinkler>().len() };
        let refused = |error: Error| RenderError::Refused {
            kind: "Garden".into(),
            key: ObjectKey::of(&garden),
            message: error.to_string(),
        };
        desired(&inputs).map_err(refused)
    }
    fn start(&self, context: Context) -> BoxFuture<'_, Result<Started, Fatal>> {
        let (applier, status) = (context.applier("garden", MANAGER), context.status("garden", MANAGER));
        let gardener = Gardener { context: context.clone(), applier, status, register: self.0.clone() };
        let cataloguer = Cataloguer(context.clone(), context.applier("catalog", MANAGER));
        let started = Started::new().controller(Controller::new(gardens(), gardener));
        async move { Ok(started.controller(Controller::new(catalog(), cataloguer))) }.boxed()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plane = plane::Plane::new(); // an API server in this process; with a cluster: `Client::try_default()`
    Api::<Crd>::all(plane.client()).create(&PostParams::default(), &Garden::crd()).await?;
    let system = Arc::new(GardenSystem(Register::default()));
    println!("{}", quintet_kit::dataflow::markdown(&system.rows()));
    let manager =
        Manager::new(plane.client(), Metrics::new(), Settings::default()).with(system, Fence::open());
    let (readiness, stop) = (manager.readiness(), tokio_util::sync::CancellationToken::new());
    let running = tokio::spawn(manager.run(stop.clone()));
    while !readiness.is_ready() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    println!("ready: {:?}", readiness.all());
    stop.cancel();
    Ok(running.await?)
}
