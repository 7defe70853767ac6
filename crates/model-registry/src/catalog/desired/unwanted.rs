//! What must not exist. Only what was seen is deleted, and only what carries the catalog's labels.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{ClusterRoleBinding, RoleBinding},
};
use quintet_api::foreign::openshift::Route;
use quintet_kit::{
    Desired, Kind, ObjectKey,
    desired::{Guard, Prune},
    parts::meta,
};

use super::{Inputs, Plan};
use crate::{
    Config,
    catalog::names::{ADMIN_BINDING, AUTH_DELEGATOR, DATABASE, NAME, PROXY_CONFIG, ROUTE, ROUTE_POLICY},
    parts::labels::CREATED_BY,
};

/// Where releases before this one had their own sources.
pub(crate) const OLD_SOURCES: &str = "model-catalog-default-sources";
/// What the proxy of releases before this one needed.
pub(crate) const OLD_COOKIE: &str = "model-catalog-oauth-cookie-secret";

/// What goes while the catalog is there.
pub(super) fn in_passing(mut desired: Desired, plan: &Plan<'_>) -> Desired {
    let mut prunes = vec![
        named::<ConfigMap>(plan.inputs, OLD_SOURCES, created()),
        named::<Secret>(plan.inputs, OLD_COOKIE, Guard::Any),
    ];
    if plan.inputs.admin_groups.is_empty() {
        prunes.push(named::<RoleBinding>(plan.inputs, ADMIN_BINDING, of(NAME)));
    }
    for prune in prunes.into_iter().flatten() {
        desired = desired.without(prune);
    }
    desired
}

/// What goes when the catalog is switched off; all else follows its owner. Users' sources stay.
pub(crate) fn removed(config: &Config, inputs: &Inputs) -> Desired {
    let mut prunes = vec![
        named::<Deployment>(inputs, NAME, of(NAME)),
        named::<ServiceAccount>(inputs, NAME, of(NAME)),
        named::<Secret>(inputs, OLD_COOKIE, Guard::Any),
        named::<ConfigMap>(inputs, PROXY_CONFIG, of(NAME)),
    ];
    if inputs.existing.has::<ClusterRoleBinding>(AUTH_DELEGATOR) {
        let key = ObjectKey::cluster(AUTH_DELEGATOR);
        prunes.push(Some(Prune::named::<ClusterRoleBinding>(key, of(NAME))));
    }
    if !config.catalog.skip_database {
        prunes.extend([
            named::<Deployment>(inputs, DATABASE, of(DATABASE)),
            named::<Service>(inputs, DATABASE, of(DATABASE)),
            named::<PersistentVolumeClaim>(inputs, DATABASE, of(DATABASE)),
            named::<Secret>(inputs, DATABASE, of(DATABASE)),
        ]);
    }
    prunes.extend([
        named::<Route>(inputs, ROUTE, of(NAME)),
        named::<NetworkPolicy>(inputs, ROUTE_POLICY, of(NAME)),
    ]);
    prunes.into_iter().flatten().fold(Desired::new(), Desired::without)
}

fn named<K: Kind>(inputs: &Inputs, name: &str, guard: Guard) -> Option<Prune> {
    let key = ObjectKey::namespaced(&inputs.namespace, name);
    inputs.existing.has::<K>(name).then(|| Prune::named::<K>(key, guard))
}

fn created() -> Guard {
    Guard::Labels(meta::labels([CREATED_BY]))
}

fn of(component: &str) -> Guard {
    Guard::Labels(meta::labels([("component", component), CREATED_BY]))
}
