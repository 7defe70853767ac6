//! What the catalog's controller makes and watches: every event is about the one catalog.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{ClusterRoleBinding, Role, RoleBinding},
};
use quintet_api::foreign::{
    openshift::{Ingress, Route},
    platform::{Auth, ModelRegistryComponent},
};
use quintet_kit::{Kind, Mapping, Read, Select, Singleton, Watch, Wiring, Write, WritePolicy};

use super::{
    CONTROLLER,
    desired::{OLD_COOKIE, access::admin_rules},
    names::{AUTH_DELEGATOR, DATABASE, NAME},
};
use crate::{
    Config,
    parts::{
        access::{auth_delegator_rules, rule},
        labels::ours,
    },
};

/// The label of ConfigMaps that somebody offers as sources.
const SOURCE: &str = "opendatahub.io/catalog-source=true";

/// The controller's wiring. There is no object that it is for: its one key is there from the start.
pub fn wiring(config: &Config, namespace: &str) -> Wiring<Singleton> {
    let wiring = writes(watches(config, namespace), namespace);
    let given = "ClusterRoleBinding model-catalog-auth-delegator gives it to the proxy";
    let wiring = auth_delegator_rules().into_iter().fold(wiring, |w, rule| w.grants(rule, None, given));
    let given = "Role model-catalog-admin gives it to administrators";
    let wiring =
        admin_rules().into_iter().fold(wiring, |w, rule| w.grants(rule, Some(namespace.into()), given));
    let called = rule("", &["endpoints"], &["get"]);
    let host = rule("route.openshift.io", &["routes/custom-host"], &["create", "update"]);
    wiring
        .grants(called, Some(namespace.into()), "Role model-catalog gives it to callers")
        .grants(host, Some(namespace.into()), "a Route with a host of our choice needs it")
        .reads(Read::by_name::<Secret>().names([OLD_COOKIE]).namespace(namespace))
        .events()
}

/// ConfigMaps that somebody offers as sources.
pub(super) fn sources(namespace: &str) -> Select {
    Select::namespace(namespace).labels(SOURCE)
}

fn watches(config: &Config, namespace: &str) -> Wiring<Singleton> {
    Wiring::new(CONTROLLER)
        .starts_with(|_| vec![Singleton])
        .watches::<Deployment>(ours(config), of_catalog(namespace))
        .watches::<ConfigMap>(ours(config), of_catalog(namespace))
        .watches::<ConfigMap>(Watch::within(sources(namespace)).keep_all(), Mapping::always(Singleton))
        .watches::<Secret>(ours(config), of_catalog(namespace))
        .watches::<ServiceAccount>(ours(config), of_catalog(namespace))
        .watches::<Service>(ours(config), of_catalog(namespace))
        .watches::<PersistentVolumeClaim>(ours(config), of_catalog(namespace))
        .watches::<ClusterRoleBinding>(ours(config), of_catalog(namespace))
        .watches::<Role>(ours(config), of_catalog(namespace))
        .watches::<RoleBinding>(ours(config), of_catalog(namespace))
        .watches::<NetworkPolicy>(ours(config), of_catalog(namespace))
        .watches::<Route>(ours(config).when_served(), of_catalog(namespace))
        .watches::<Auth>(Watch::all().when_served(), Mapping::always(Singleton))
        .watches::<ModelRegistryComponent>(Watch::all().when_served(), Mapping::always(Singleton))
        .watches::<Ingress>(Watch::all().when_served(), Mapping::always(Singleton))
}

fn writes(wiring: Wiring<Singleton>, namespace: &str) -> Wiring<Singleton> {
    let renumbered = "a port of ours was renumbered";
    let mended = |list: &str| WritePolicy::Exclusive(vec![list.into()]);
    let binding = Write::of::<ClusterRoleBinding>(WritePolicy::Apply).names([AUTH_DELEGATOR]);
    let data = WritePolicy::PatchForeign(vec!["data[sources.yaml]".into()]);
    wiring
        .writes(applied::<ServiceAccount>(namespace).deletes())
        .writes(applied::<ConfigMap>(namespace).deletes())
        .writes(Write::of::<ConfigMap>(WritePolicy::CreateOnly).namespace(namespace))
        .writes(
            Write::of::<ConfigMap>(data).namespace(namespace).when("an earlier release's entry is in there"),
        )
        .writes(applied::<Deployment>(namespace).deletes())
        .writes(
            Write::of::<Deployment>(mended("spec.template.spec.containers"))
                .namespace(namespace)
                .when(renumbered),
        )
        .writes(applied::<Service>(namespace).deletes())
        .writes(Write::of::<Service>(mended("spec.ports")).namespace(namespace).when(renumbered))
        .writes(applied::<Role>(namespace))
        .writes(applied::<RoleBinding>(namespace).deletes())
        .writes(applied::<Secret>(namespace).deletes())
        .writes(applied::<PersistentVolumeClaim>(namespace).deletes())
        .writes(applied::<NetworkPolicy>(namespace).deletes())
        .writes(applied::<Route>(namespace).deletes().when("the API is served"))
        .writes(binding.deletes())
}

fn applied<K: Kind>(namespace: &str) -> Write {
    Write::of::<K>(WritePolicy::Apply).namespace(namespace)
}

/// What the operator made for the catalog, by its label `component`.
fn of_catalog<K: Kind>(namespace: &str) -> Mapping<K, Singleton> {
    let namespace = namespace.to_owned();
    Mapping::new("the catalog, if label component says so", move |object: &K, _| {
        let component = object.meta().labels.as_ref().and_then(|labels| labels.get("component"));
        let is_ours = component.is_some_and(|component| component == NAME || component == DATABASE);
        let is_here = !K::is_namespaced() || object.meta().namespace.as_ref() == Some(&namespace);
        (is_ours && is_here).then_some(Singleton).into_iter().collect()
    })
}
