//! What must not exist. Only what was seen is deleted, and only what belongs to the registry: objects of others that
//! happen to have such a name are left alone.

use std::collections::BTreeMap;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Service},
    networking::v1::NetworkPolicy,
    rbac::v1::ClusterRoleBinding,
};
use kube::ResourceExt;
use quintet_api::{
    foreign::openshift::{Group, Route},
    model_registry::ModelRegistry,
};
use quintet_kit::{
    Desired, Kind, ObjectKey,
    desired::{Guard, Prune},
    parts::meta,
};

use super::Plan;
use crate::{
    Apis,
    parts::labels::NAMESPACE,
    registry::names::{COMPONENT, Names},
};

/// What the specification does not ask for (any more), and the catalog that earlier releases ran beside each registry.
pub(super) fn in_passing(mut desired: Desired, plan: &Plan<'_>) -> Desired {
    let names = &plan.names;
    let mut prune = |prune: Option<Prune>| {
        if let Some(prune) = prune {
            desired = std::mem::take(&mut desired).without(prune);
        }
    };
    let owned = || Guard::Owner(plan.registry.uid().unwrap_or_default());
    let old = names.old_catalog();
    let leftover = || Guard::Labels(own_labels(names));
    let proxy = plan.spec.kube_rbac_proxy.as_ref();
    let is_routed = proxy.is_some_and(|proxy| proxy.service_route.is_enabled());
    if !plan.spec.rest.service_route.is_enabled() {
        prune(seen::<Route>(plan, &names.http_route(), owned()));
    }
    if proxy.is_none() {
        prune(seen::<ConfigMap>(plan, &names.proxy_config(), owned()));
        if plan.inputs.existing.has::<ClusterRoleBinding>(&names.auth_delegator()) {
            prune(Some(delegator(names)));
        }
    }
    if !is_routed {
        prune(seen::<Route>(plan, &names.https_route(), owned()));
        prune(seen::<NetworkPolicy>(plan, &names.https_policy(), owned()));
    }
    prune(seen::<Deployment>(plan, &old, leftover()));
    prune(seen::<Service>(plan, &old, leftover()));
    prune(seen::<Route>(plan, &format!("{old}-https"), leftover()));
    prune(seen::<NetworkPolicy>(plan, &format!("{old}-https-route"), leftover()));
    desired
}

/// What nothing owns, and so must be deleted with the registry. The group says not where its registry is: it stays for
/// a namesake.
pub(crate) fn at_the_end(registry: &ModelRegistry, apis: Apis, has_namesake: bool) -> Desired {
    let names = Names::of(registry);
    let desired = Desired::new().without(delegator(&names));
    if !(apis.route && apis.group) || has_namesake {
        return desired;
    }
    let key = ObjectKey::cluster(names.users());
    desired.without(Prune::named::<Group>(key, Guard::Labels(own_labels(&names))))
}

fn delegator(names: &Names) -> Prune {
    let mut labels = own_labels(names);
    labels.insert(NAMESPACE.into(), names.namespace().into());
    Prune::named::<ClusterRoleBinding>(ObjectKey::cluster(names.auth_delegator()), Guard::Labels(labels))
}

fn own_labels(names: &Names) -> BTreeMap<String, String> {
    meta::labels([("app", names.server()), ("component", COMPONENT)])
}

fn seen<K: Kind>(plan: &Plan<'_>, name: &str, guard: Guard) -> Option<Prune> {
    let key = ObjectKey::namespaced(plan.names.namespace(), name);
    plan.inputs.existing.has::<K>(name).then(|| Prune::named::<K>(key, guard))
}
