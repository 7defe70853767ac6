//! What the controller is for, makes, watches and may write.

use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::CronJob,
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{ClusterRole, ClusterRoleBinding},
};
use kube::ResourceExt;
use quintet_api::{
    foreign::{console::ConsoleLink, gateway::HTTPRoute, monitoring::ServiceMonitor},
    mlflow::MLflow,
};
use quintet_kit::{Hubs, Kind, Mapping, Meta, ObjectKey, Select, Watch, Wiring, Write, WritePolicy};

use super::{
    desired::{gc_rules, server_rules},
    read::required_secrets,
};
use crate::{
    Config,
    config::{PLATFORM_CA_BUNDLE, difference},
};

const COLLECTED: &str = "garbageCollection is set";
/// Labels of everything that the controller makes.
const OURS: &str = "app in (mlflow,mlflow-gc)";

/// The controller's wiring. Rights, watches and the dataflow page all follow from it.
pub fn wiring(config: &Config) -> Wiring<ObjectKey> {
    let namespace = config.namespace.as_str();
    let wiring = watches(Wiring::new("mlflow"), namespace);
    grants(wiring, config)
        .writes(Write::status::<MLflow>())
        .writes(applied::<ServiceAccount>(namespace).deletes())
        .writes(applied::<Service>(namespace))
        .writes(mended::<Service>("spec.ports", namespace))
        .writes(applied::<NetworkPolicy>(namespace))
        .writes(applied::<Deployment>(namespace))
        .writes(mended::<Deployment>("spec.template.spec.containers", namespace))
        .writes(applied::<CronJob>(namespace).deletes().when(COLLECTED))
        .writes(applied::<ServiceMonitor>(namespace).when("the API is served"))
        .writes(applied::<HTTPRoute>(namespace).when("the API is served"))
        .writes(
            Write::of::<PersistentVolumeClaim>(WritePolicy::CreateOnly)
                .namespace(namespace)
                .when("storage is set"),
        )
        .writes(shared::<ClusterRole>("mlflow"))
        .writes(shared::<ClusterRole>("mlflow-gc").deletes().when(COLLECTED))
        .writes(shared::<ClusterRoleBinding>("mlflow"))
        .writes(shared::<ClusterRoleBinding>("mlflow-gc").deletes().when(COLLECTED))
        .writes(shared::<ConsoleLink>("mlflow").when("the API is served"))
        .events()
}

fn watches(wiring: Wiring<ObjectKey>, namespace: &str) -> Wiring<ObjectKey> {
    wiring
        .is_for::<MLflow>(Watch::all())
        .owns::<MLflow, Deployment>(ours(namespace))
        .owns::<MLflow, CronJob>(ours(namespace))
        .owns_by::<Meta<Secret>>(Watch::within(Select::namespace(namespace)).fetched(), uses_secret())
        .owns::<MLflow, Service>(ours(namespace))
        .owns::<MLflow, ServiceAccount>(ours(namespace))
        .owns::<MLflow, PersistentVolumeClaim>(ours(namespace))
        .owns::<MLflow, NetworkPolicy>(ours(namespace))
        .owns::<MLflow, ClusterRoleBinding>(Watch::within(Select::all().labels(OURS)))
        .watches::<ClusterRole>(Watch::within(Select::all().labels(OURS)), owners())
        .watches::<Meta<ConfigMap>>(Watch::within(Select::namespace(namespace)).fetched(), uses_ca_bundle())
        .owns::<MLflow, ConsoleLink>(Watch::within(Select::all().labels(OURS)).when_served())
        .owns::<MLflow, HTTPRoute>(ours(namespace).when_served())
        .owns::<MLflow, ServiceMonitor>(ours(namespace).when_served())
}

/// Rights that the operator holds only to give them away: the API server lets nobody give what they have not.
fn grants(wiring: Wiring<ObjectKey>, config: &Config) -> Wiring<ObjectKey> {
    let server = server_rules().into_iter().map(|rule| (rule, "ClusterRole mlflow gives it to the server"));
    let is_job_given = config.differences.has(difference::GC_RIGHTS);
    let job = gc_rules().into_iter().filter(|_| is_job_given);
    let job = job.map(|rule| (rule, "ClusterRole mlflow-gc gives it to the job"));
    server.chain(job).fold(wiring, |wiring, (rule, because)| wiring.grants(rule, None, because))
}

/// Children in the operator's namespace.
fn ours<K: Kind>(namespace: &str) -> Watch<K> {
    Watch::within(Select::namespace(namespace).labels(OURS))
}

fn applied<K: Kind>(namespace: &str) -> Write {
    Write::of::<K>(WritePolicy::Apply).namespace(namespace)
}

/// The one child of a kind that is in no namespace.
fn shared<K: Kind>(name: &str) -> Write {
    Write::of::<K>(WritePolicy::Apply).names([name])
}

/// A list that is written whole when somebody renumbered a port of ours in it.
fn mended<K: Kind>(list: &str, namespace: &str) -> Write {
    let whole = WritePolicy::Exclusive(vec![list.into()]);
    Write::of::<K>(whole).namespace(namespace).when("a port of ours was renumbered")
}

/// The shared role has several owners, none of which controls it.
fn owners() -> Mapping<ClusterRole, ObjectKey> {
    let kind = MLflow::gvk();
    Mapping::new("the MLflows that own it", move |role: &ClusterRole, _| {
        let owners = role.owner_references().iter().filter(|owner| kind.is_referred_by(owner));
        owners.map(|owner| ObjectKey::cluster(&owner.name)).collect()
    })
}

/// A Secret that the server's pods wait for, or one that somebody made on behalf of an MLflow.
fn uses_secret() -> Mapping<Meta<Secret>, ObjectKey> {
    let controller = Mapping::<Meta<Secret>, ObjectKey>::controller_of::<MLflow>();
    Mapping::new("the MLflow that controls or names it", move |secret: &Meta<Secret>, hubs: &Hubs| {
        let mut keys = controller.keys(secret, hubs);
        keys.extend(of_those(hubs, |mlflow| required_secrets(mlflow).contains(&secret.name_any())));
        keys
    })
}

/// The platform's bundle concerns everybody, any other those that name it.
fn uses_ca_bundle() -> Mapping<Meta<ConfigMap>, ObjectKey> {
    let name = format!("every MLflow for {PLATFORM_CA_BUNDLE}, else those that name it");
    Mapping::new(name, |map: &Meta<ConfigMap>, hubs: &Hubs| {
        let name = map.name_any();
        let names =
            |mlflow: &MLflow| mlflow.spec.ca_bundle_config_map.as_ref().is_some_and(|b| b.name == name);
        of_those(hubs, |mlflow| name == PLATFORM_CA_BUNDLE || names(mlflow))
    })
}

fn of_those(hubs: &Hubs, test: impl Fn(&MLflow) -> bool) -> Vec<ObjectKey> {
    hubs.all::<MLflow>().iter().filter(|mlflow| test(mlflow)).map(|mlflow| ObjectKey::of(&**mlflow)).collect()
}
