//! What the controller is for, makes, watches and may write.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Endpoints, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{ClusterRoleBinding, Role, RoleBinding},
};
use kube::ResourceExt;
use quintet_api::{
    foreign::openshift::{Group, Ingress, Route},
    model_registry::ModelRegistry,
};
use quintet_kit::{Hubs, Kind, Mapping, Meta, ObjectKey, Read, Select, Watch, Wiring, Write, WritePolicy};

use super::{
    NAME,
    names::{COMPONENT, Names},
    references::{Reference, references},
};
use crate::{
    Config,
    parts::{
        access::{auth_delegator_rules, rule},
        labels::{NAMESPACE, ours},
    },
};

/// Finds the pods of a registry, by its namespace and name.
pub(super) const BY_REGISTRY: &str = "registry";
/// Finds the registries that name a Secret or ConfigMap, however many of either there are.
const BY_REFERENCE: &str = "reference";
const OPENSHIFT: &str = "the API is served";
/// Where a service mesh had its gateway, on Routes that lead there.
const GATEWAY_NAMESPACE: &str = "maistra.io/gateway-namespace";

/// The controller's wiring. Rights, watches and the dataflow page all follow from it.
pub fn wiring(config: &Config) -> Wiring<ObjectKey> {
    let wiring = writes(watches(Wiring::new(NAME), config), config);
    let granted = "ClusterRoleBinding <name>-auth-delegator gives it to a registry's proxy";
    let wiring = auth_delegator_rules().into_iter().fold(wiring, |w, rule| w.grants(rule, None, granted));
    let host = rule("route.openshift.io", &["routes/custom-host"], &["create", "update"]);
    let called = rule("", &["endpoints"], &["get"]);
    wiring
        .grants(called, config.namespace.clone(), "Role registry-user-<name> gives it to callers")
        .grants(host, config.namespace.clone(), "a Route with a host of our choice needs it")
        .reads(
            place_read(Read::by_name::<Pod>(), config).subresource("log").when("a server does not come up"),
        )
        .reads(place_read(Read::by_name::<Secret>(), config).when("it holds a PostgreSQL password"))
        .events()
}

fn watches(wiring: Wiring<ObjectKey>, config: &Config) -> Wiring<ObjectKey> {
    wiring
        .is_for::<ModelRegistry>(Watch::all().index(BY_REFERENCE, named))
        .owns_by::<Service>(ours(config), of_server())
        .owns::<ModelRegistry, ServiceAccount>(ours(config))
        .owns_by::<Deployment>(ours(config), of_server())
        .owns_by::<NetworkPolicy>(ours(config), of_server())
        .owns::<ModelRegistry, Role>(ours(config))
        .owns::<ModelRegistry, RoleBinding>(ours(config))
        .owns::<ModelRegistry, ConfigMap>(ours(config))
        .owns::<ModelRegistry, PersistentVolumeClaim>(ours(config))
        .owns_by::<Meta<Secret>>(Watch::within(place(config)).fetched(), uses_secret())
        .watches::<Meta<ConfigMap>>(Watch::within(place(config)).fetched(), uses_config_map())
        .watches::<Pod>(labelled(config).index(BY_REGISTRY, registry_of), by_app())
        .watches::<Endpoints>(labelled(config), by_name())
        .watches::<Route>(ours(config).when_served(), of_route())
        .watches::<ClusterRoleBinding>(ours(config), of_binding())
        .watches::<Group>(ours(config).when_served(), of_group())
        .watches::<Ingress>(Watch::all().when_served().keep_all(), Mapping::every::<ModelRegistry>())
}

fn writes(wiring: Wiring<ObjectKey>, config: &Config) -> Wiring<ObjectKey> {
    let renumbered = "a port of ours was renumbered";
    let mended = |list: &str| WritePolicy::Exclusive(vec![list.into()]);
    let containers = mended("spec.template.spec.containers");
    let spec = WritePolicy::PatchForeign(vec!["spec".into()]);
    let annotations = WritePolicy::PatchForeign(vec!["metadata.annotations".into()]);
    wiring
        .writes(Write::status::<ModelRegistry>())
        .writes(Write::finalizers::<ModelRegistry>())
        .writes(
            Write::of::<ModelRegistry>(spec).when("it has an oauthProxy, or an image that is the default"),
        )
        .writes(applied::<ServiceAccount>(config))
        .writes(applied::<Service>(config).deletes())
        .writes(place_write(Write::of::<Service>(mended("spec.ports")), config).when(renumbered))
        .writes(applied::<Deployment>(config).deletes())
        .writes(place_write(Write::of::<Deployment>(containers), config).when(renumbered))
        .writes(applied::<Role>(config))
        .writes(Write::of::<Group>(WritePolicy::Apply).deletes().when(OPENSHIFT))
        .writes(applied::<RoleBinding>(config).when("the Route API is served"))
        .writes(applied::<Route>(config).deletes().when(OPENSHIFT))
        .writes(applied::<ConfigMap>(config).deletes().when("kubeRBACProxy is set"))
        .writes(Write::of::<ClusterRoleBinding>(WritePolicy::Apply).deletes().when("kubeRBACProxy is set"))
        .writes(applied::<NetworkPolicy>(config).deletes())
        .writes(
            place_write(Write::of::<Secret>(WritePolicy::CreateOnly), config)
                .when("the database is generated"),
        )
        .writes(
            place_write(Write::of::<Secret>(annotations), config).when("the original left a password there"),
        )
        .writes(applied::<PersistentVolumeClaim>(config).when("the database is generated"))
}

fn place(config: &Config) -> Select {
    config.namespace.as_ref().map_or_else(Select::all, Select::namespace)
}

fn place_write(write: Write, config: &Config) -> Write {
    match &config.namespace {
        Some(namespace) => write.namespace(namespace),
        None => write,
    }
}

fn place_read(read: Read, config: &Config) -> Read {
    match &config.namespace {
        Some(namespace) => read.namespace(namespace),
        None => read,
    }
}

fn applied<K: Kind>(config: &Config) -> Write {
    place_write(Write::of::<K>(WritePolicy::Apply), config)
}

/// Pods and Endpoints carry a registry's labels, but not those of the operator.
fn labelled<K: Kind>(config: &Config) -> Watch<K> {
    Watch::within(place(config).labels(format!("component={COMPONENT}")))
}

/// The registry that an object's label `app` names, in the object's namespace.
fn registry_of<K: ResourceExt>(object: &K) -> Vec<String> {
    let app = object.labels().get("app");
    app.map(|app| format!("{}/{app}", object.namespace().unwrap_or_default())).into_iter().collect()
}

fn by_app() -> Mapping<Pod, ObjectKey> {
    Mapping::new("the ModelRegistry that label app names", |pod: &Pod, _| {
        let app = pod.labels().get("app");
        app.map(|app| ObjectKey { namespace: pod.namespace(), name: app.clone() }).into_iter().collect()
    })
}

fn by_name() -> Mapping<Endpoints, ObjectKey> {
    Mapping::new("the ModelRegistry of its name", |endpoints: &Endpoints, _| vec![ObjectKey::of(endpoints)])
}

/// A child, or what earlier releases left beside a registry without an owner.
fn of_server<K: Kind>() -> Mapping<K, ObjectKey> {
    let controller = Mapping::<K, ObjectKey>::controller_of::<ModelRegistry>();
    let name = "the ModelRegistry that controls it, or that its labels name";
    Mapping::new(name, move |object: &K, hubs: &Hubs| {
        let keys = controller.keys(object, hubs);
        let labels = object.labels();
        match labels.get("app") {
            Some(app)
                if keys.is_empty() && labels.get("component").map(String::as_str) == Some(COMPONENT) =>
            {
                vec![ObjectKey { namespace: object.namespace(), name: app.clone() }]
            }
            _ => keys,
        }
    })
}

/// A Route may lie where the mesh's gateway is.
fn of_route() -> Mapping<Route, ObjectKey> {
    Mapping::new("the ModelRegistry that its labels name", |route: &Route, _| {
        let labels = route.labels();
        if labels.get("component").map(String::as_str) != Some(COMPONENT) {
            return vec![];
        }
        let namespace = labels.get(GATEWAY_NAMESPACE).cloned().or_else(|| route.namespace());
        let app = labels.get("app");
        if app.is_none() {
            tracing::error!(route = route.name_any(), "missing 'app' label in model registry route");
        }
        app.map(|name| ObjectKey { namespace, name: name.clone() }).into_iter().collect()
    })
}

fn of_binding() -> Mapping<ClusterRoleBinding, ObjectKey> {
    Mapping::new("the ModelRegistry that its labels name", |binding: &ClusterRoleBinding, _| {
        let label = |name: &str| binding.labels().get(name).cloned();
        if label("component").as_deref() != Some(COMPONENT) {
            return vec![];
        }
        let Some(name) = label("app") else {
            let binding = binding.name_any();
            tracing::error!(binding, "missing 'app' label in model registry cluster role binding");
            return vec![];
        };
        label(NAMESPACE).map(|namespace| ObjectKey::namespaced(namespace, name)).into_iter().collect()
    })
}

/// A group says of which registry it is, but not where that is.
fn of_group() -> Mapping<Group, ObjectKey> {
    Mapping::new("the ModelRegistries that label app names", |group: &Group, hubs: &Hubs| {
        let app = group.labels().get("app").cloned().unwrap_or_default();
        of_those(hubs, |registry| registry.name_any() == app)
    })
}

/// A Secret that the pods wait for, or that the operator made for a registry's database.
fn uses_secret() -> Mapping<Meta<Secret>, ObjectKey> {
    let controller = Mapping::<Meta<Secret>, ObjectKey>::controller_of::<ModelRegistry>();
    let name = "the ModelRegistry that controls it, or those that name it";
    Mapping::new(name, move |secret: &Meta<Secret>, hubs: &Hubs| {
        let mut keys = controller.keys(secret, hubs);
        keys.extend(naming(hubs, secret.namespace(), &Reference::Secret(secret.name_any())));
        keys
    })
}

fn uses_config_map() -> Mapping<Meta<ConfigMap>, ObjectKey> {
    Mapping::new("the ModelRegistries that name it", |map: &Meta<ConfigMap>, hubs: &Hubs| {
        naming(hubs, map.namespace(), &Reference::ConfigMap(map.name_any()))
    })
}

/// What a registry's pods need: what it names, and the certificate that nobody named.
fn named(registry: &ModelRegistry) -> Vec<String> {
    let certificate = registry.spec.kube_rbac_proxy.as_ref().map(|_| Names::of(registry).proxy_certificate());
    let namespace = registry.namespace();
    let all = references(&registry.spec).into_iter().chain(certificate.map(Reference::Secret));
    all.map(|reference| entry(namespace.as_deref(), &reference)).collect()
}

fn entry(namespace: Option<&str>, reference: &Reference) -> String {
    format!("{} {reference}", namespace.unwrap_or_default())
}

fn naming(hubs: &Hubs, namespace: Option<String>, reference: &Reference) -> Vec<ObjectKey> {
    let found = hubs.by::<ModelRegistry>(BY_REFERENCE, &entry(namespace.as_deref(), reference));
    found.iter().map(|registry| ObjectKey::of(&**registry)).collect()
}

fn of_those(hubs: &Hubs, test: impl Fn(&ModelRegistry) -> bool) -> Vec<ObjectKey> {
    let registries = hubs.all::<ModelRegistry>();
    registries.iter().filter(|registry| test(registry)).map(|registry| ObjectKey::of(&**registry)).collect()
}
