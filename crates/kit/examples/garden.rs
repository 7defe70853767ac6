//! A small system from end to end; `docs/adding-a-system.md` walks through it. Gardens get a bed and a gate, name a Secret
//! with their seeds, and are watered if the cluster knows Sprinklers; one catalog lists them all.
#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::{CustomResource, CustomResourceExt, Resource, ResourceExt, api::Api, api::DynamicObject};
use quintet_kit::apply::{Applier, ApplyError, FieldManager};
use quintet_kit::run::{Controller, Fatal, Observed, RenderError, Settings, Started};
use quintet_kit::status::{Conditions, StatusWriter};
use quintet_kit::{
    Action, Context, Desired, Failure, Hubs, Kind, ObjectKey, Reconcile, Retry, Singleton, System,
};
use quintet_kit::{Fence, Manager, Mapping, Meta, Watch, Wiring, Write, WritePolicy, wiring::SystemRows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{from_value, json};
use std::{collections::BTreeSet, sync::Arc, sync::Mutex, time::Duration};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "garden.example", version = "v1", kind = "Garden", namespaced, status = "GardenStatus")]
pub struct GardenSpec {
    pub seeds: String,
}
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct GardenStatus {
    pub conditions: Vec<Condition>,
}
/// Somebody else's API, which the cluster may or may not serve.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(group = "water.example", version = "v1", kind = "Sprinkler", namespaced)]
pub struct SprinklerSpec {}

const MANAGER: FieldManager = FieldManager::new("garden-operator");
pub type Register = Arc<Mutex<BTreeSet<String>>>; // stands for something outside the cluster

// 1. Wiring: what the controllers are for, own, watch and write.
fn gardens() -> Wiring<ObjectKey> {
    let named = |secret: &Meta<Secret>, hubs: &Hubs| {
        let gardens = hubs.by::<Garden>("seeds", &ObjectKey::of(secret).to_string());
        gardens.iter().map(|garden| ObjectKey::of(&**garden)).collect()
    };
    Wiring::new("garden")
        .is_for(Watch::<Garden>::all().index("seeds", |garden| vec![seeds_of(garden).to_string()]))
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

fn seeds_of(garden: &Garden) -> ObjectKey {
    ObjectKey { namespace: garden.namespace(), name: garden.spec.seeds.clone() }
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
    let data = json!({"seeds": version, "water": format!("{} sprinklers", inputs.sprinklers)});
    let bed = ConfigMap { metadata: meta("bed"), data: from_value(data).ok(), ..ConfigMap::default() };
    let spec = from_value(json!({"ports": [{"name": "gate", "port": 80}]})).ok();
    let gate = Service { metadata: meta("gate"), spec, ..Service::default() };
    Ok(Desired::new().with(bed).with(gate))
}
fn catalog_of(gardens: &[String]) -> Desired {
    let metadata = json!({"name": "catalog", "namespace": "default", "labels": {"made-by": MANAGER.name}});
    let catalog = json!({"metadata": metadata, "data": {"gardens": gardens.join(",")}});
    from_value::<ConfigMap>(catalog).into_iter().collect() // no owner: it is known by its label
}

// 3. Errors: a closed set of reasons, and when to try again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the Secret {0} with the seeds does not exist: create it")]
    NoSeeds(String),
    #[error("{0}")]
    Kit(Box<dyn Failure>),
}
impl Failure for Error {
    fn reason(&self) -> &'static str {
        if let Error::Kit(error) = self { error.reason() } else { "NoSeeds" }
    }
    fn retry(&self) -> Retry {
        if let Error::Kit(error) = self { error.retry() } else { Retry::Never } // the watch on Secrets tells
    }
}
fn kit(error: impl Failure) -> Error {
    Error::Kit(Box::new(error))
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
        let (old, now) = (garden.status.clone().unwrap_or_default(), self.context.clock());
        let mut conditions = Conditions::of(&old.conditions, garden.metadata.generation, now);
        match &outcome {
            Ok(()) => conditions.set("Ready", true, "Planted", "the garden is planted"),
            Err(error) => conditions.set("Ready", false, error.reason(), error.to_string()),
        };
        let new = GardenStatus { conditions: conditions.into_vec() };
        self.status.write(&*garden, Some(&old), &new).await.map_err(kit)?;
        outcome.map(|()| Action::Wait)
    }
}
impl Gardener {
    async fn ensure(&self, garden: &Garden) -> Result<(), Error> {
        let hubs = self.context.hubs();
        let secret = hubs.fetch::<Meta<Secret>>(&seeds_of(garden)).await.map_err(kit)?;
        let seeds = secret.and_then(|secret| secret.resource_version());
        let inputs = Inputs { garden, seeds, sprinklers: hubs.all::<Sprinkler>().len() };
        self.applier.apply(&desired(&inputs)?).await.ok().map_err(kit)?;
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
        SystemRows { system: "garden".into(), controllers, crds: vec![Garden::gvk()], ..Default::default() }
    }
    fn crds(&self) -> Vec<Crd> {
        vec![Garden::crd()]
    }
    fn render(&self, object: &DynamicObject, observed: &Observed) -> Result<Desired, RenderError> {
        let garden: Garden = RenderError::parse(object)?;
        let seeds = observed.get::<Secret>(&seeds_of(&garden)).and_then(|secret| secret.resource_version());
        let inputs = Inputs { garden: &garden, seeds, sprinklers: observed.all::<Sprinkler>().len() };
        desired(&inputs).map_err(|error| RenderError::refused(&garden, &error))
    }
    fn start(&self, context: Context) -> BoxFuture<'_, Result<Started, Fatal>> {
        let (applier, status) = (context.applier("garden", MANAGER), context.status("garden", MANAGER));
        let gardener = Gardener { context: context.clone(), applier, status, register: self.0.clone() };
        let cataloguer = Cataloguer(context.clone(), context.applier("catalog", MANAGER));
        let each = [Controller::new(gardens(), gardener), Controller::new(catalog(), cataloguer)];
        async move { Ok(each.into_iter().collect()) }.boxed()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> kube::Result<()> {
    let plane = plane::Plane::new(); // an API server in this process; with a cluster: `Client::try_default()`
    Api::<Crd>::all(plane.client()).create(&kube::api::PostParams::default(), &Garden::crd()).await?;
    let system = Arc::new(GardenSystem(Register::default()));
    println!("{}", quintet_kit::dataflow::markdown(&system.rows()));
    let manager =
        Manager::new(plane.client(), Default::default(), Settings::default()).with(system, Fence::open());
    let _ = tokio::time::timeout(Duration::from_secs(1), manager.run(Default::default())).await;
    Ok(())
}
