//! The server that scenarios run on: a plane in this process, or a real control plane.

use std::time::Duration;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, ReplicaSet},
        batch::v1::{CronJob, Job},
        core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount},
        events::v1::Event,
        networking::v1::NetworkPolicy,
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    discovery::ApiResource,
};
use plane::{Plane, hooks::User, security::Security};
use quintet_api::{
    crd,
    foreign::{console::ConsoleLink, gateway::HTTPRoute, monitoring::ServiceMonitor},
    mlflow::{MLflow, MLflowConfig},
};
use quintet_harness::{faults::Edge, kube::Cluster};
use quintet_kit::{Kind, System, rights::rights};
use quintet_mlflow::Mlflow;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use super::config;

pub const NAMESPACE: &str = "opendatahub";
const ACCOUNT: &str = "mlflow-operator-controller-manager";

/// The optional APIs that a cluster serves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serves {
    pub console_link: bool,
    pub http_route: bool,
    pub service_monitor: bool,
}

pub const PLAIN: Serves = Serves { console_link: false, http_route: false, service_monitor: false };
pub const OPENSHIFT: Serves = Serves { console_link: true, http_route: true, service_monitor: true };

/// A server with the namespace, our definitions, those of the optional APIs, and the operator's rights.
pub enum Server {
    /// In this process. Time is Tokio's and paused: waiting costs nothing.
    Plane(Plane),
    /// A control plane of real programs, which all tests of the process share, one after the other.
    Real { cluster: &'static Cluster, admin: Client, _turn: MutexGuard<'static, ()> },
}

impl Server {
    /// The plane; with `QUINTET_SCENARIOS=real` a real control plane (see `hack/tiers/mlflow`). The test's time must be
    /// paused; on the real one it is made to run.
    pub async fn new(serves: Serves) -> Self {
        if !std::env::var("QUINTET_SCENARIOS").is_ok_and(|server| server == "real") {
            return Server::Plane(plane(serves).await);
        }
        tokio::time::resume();
        static TURN: Mutex<()> = Mutex::const_new(());
        let turn = TURN.lock().await;
        let cluster = Cluster::shared().await.unwrap_or_else(|error| panic!("{error}"));
        let admin = cluster.client().await.expect("an administrator");
        cluster.schedule_pods(false).await.expect("nodes");
        clear(&admin, serves).await;
        prepare(&admin, serves).await;
        Server::Real { cluster, admin, _turn: turn }
    }

    pub fn admin(&self) -> Client {
        match self {
            Server::Plane(plane) => plane.client(),
            Server::Real { admin, .. } => admin.clone(),
        }
    }

    /// The operator's client: just the rights that follow from its wiring, and everything it says goes over the edge.
    pub async fn operator(&self, edge: &Edge) -> Client {
        match self {
            Server::Plane(plane) => edge.client(plane.service().with_user(identity())),
            Server::Real { cluster, .. } => {
                let user = format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}");
                let groups = ["system:serviceaccounts", &format!("system:serviceaccounts:{NAMESPACE}")];
                edge.through(cluster.client_for(&user, &groups).await.expect("a client"))
            }
        }
    }
}

/// A plane with what [`Server`] says.
pub async fn plane(serves: Serves) -> Plane {
    let plane = Plane::builder().security(Security::enforced()).build();
    prepare(&plane.client(), serves).await;
    plane
}

/// Who the operator is.
pub fn identity() -> User {
    User::service_account(NAMESPACE, ACCOUNT)
}

/// The namespace, our definitions, those of the optional APIs, and the operator's rights.
pub async fn prepare(admin: &Client, serves: Serves) {
    put::<Namespace>(Api::all(admin.clone()), json!({ "metadata": { "name": NAMESPACE } })).await;
    for definition in quintet_api::mlflow::crds().into_iter().chain(optional(serves).1) {
        install(admin, definition).await;
    }
    authorise(admin).await;
}

/// Definitions of the optional APIs: those that are not served, and those that are.
fn optional(serves: Serves) -> (Vec<CustomResourceDefinition>, Vec<CustomResourceDefinition>) {
    let all = [
        (serves.console_link, crd::of::<ConsoleLink>()),
        (serves.http_route, crd::of::<HTTPRoute>()),
        (serves.service_monitor, crd::of::<ServiceMonitor>()),
    ];
    let (served, not): (Vec<_>, Vec<_>) = all.into_iter().partition(|(is_served, _)| *is_served);
    let definitions = |list: Vec<(bool, _)>| list.into_iter().map(|(_, definition)| definition).collect();
    (definitions(not), definitions(served))
}

/// Installs a definition and waits until it is served.
pub async fn install(admin: &Client, mut definition: CustomResourceDefinition) {
    if definition.spec.group.ends_with(".k8s.io") {
        let annotations = definition.metadata.annotations.get_or_insert_default();
        annotations
            .insert("api-approved.kubernetes.io".into(), "unapproved, what this test needs of it".into());
    }
    let api: Api<CustomResourceDefinition> = Api::all(admin.clone());
    let name = definition.name_any();
    put(api.clone(), serde_json::to_value(definition).expect("a definition")).await;
    let is_established = |definition: &CustomResourceDefinition| {
        let conditions = definition.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.into_iter().any(|c| c.type_ == "Established" && c.status == "True")
    };
    while !is_established(&api.get(&name).await.expect("the definition")) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Gives the operator the rights that follow from its wiring, and no others.
async fn authorise(admin: &Client) {
    let rights = rights(&Mlflow::new(config(&[])).rows());
    let named = |mut object: Value| {
        object["metadata"] = json!({ "name": "operator" });
        object
    };
    let bound = |kind: &str| {
        named(json!({
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "operator" },
            "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE }],
        }))
    };
    put::<ClusterRole>(Api::all(admin.clone()), named(json!({ "rules": rights.cluster }))).await;
    put::<ClusterRoleBinding>(Api::all(admin.clone()), bound("ClusterRole")).await;
    for (namespace, rules) in rights.namespaces {
        put::<Role>(Api::namespaced(admin.clone(), &namespace), named(json!({ "rules": rules }))).await;
        put::<RoleBinding>(Api::namespaced(admin.clone(), &namespace), bound("Role")).await;
    }
}

/// Applies an object, whether it is there or not.
async fn put<K: Kind>(api: Api<K>, mut object: Value) {
    object["apiVersion"] = K::api_version(&()).into();
    object["kind"] = K::kind(&()).into();
    let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
    let params = PatchParams::apply("tests").force();
    api.patch(&name, &params, &Patch::Apply(&object)).await.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Takes away what an earlier test left on a server that tests share.
async fn clear(admin: &Client, serves: Serves) {
    let mut kinds = child_kinds();
    kinds.extend([
        ApiResource::erase::<MLflow>(&()),
        ApiResource::erase::<MLflowConfig>(&()),
        ApiResource::erase::<ConfigMap>(&()),
        ApiResource::erase::<ReplicaSet>(&()),
        ApiResource::erase::<Job>(&()),
        ApiResource::erase::<Pod>(&()),
    ]);
    // Twice, since the last request of an operator that has just ended may still be under way.
    let mut empty = 0;
    while empty < 2 {
        let mut left = 0;
        for kind in &kinds {
            left += delete_all(admin, kind).await;
        }
        empty = if left == 0 { empty + 1 } else { 0 };
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let definitions: Api<CustomResourceDefinition> = Api::all(admin.clone());
    for definition in optional(serves).0 {
        let name = definition.name_any();
        while definitions.get_opt(&name).await.expect("an answer").is_some() {
            let _ = definitions.delete(&name, &DeleteParams::default()).await; // perhaps it is just going
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    let events: Api<Event> = Api::namespaced(admin.clone(), "default");
    events.delete_collection(&DeleteParams::default(), &ListParams::default()).await.expect("they go");
}

/// Asks for the deletion of all that is not the server's own, and says how many there were.
async fn delete_all(admin: &Client, kind: &ApiResource) -> usize {
    let api: Api<DynamicObject> = Api::all_with(admin.clone(), kind);
    let Ok(list) = api.list(&ListParams::default()).await else { return 0 }; // not served
    let mut left = 0;
    for object in list {
        let name = object.name_any();
        let is_ours = match object.namespace() {
            Some(namespace) => namespace == NAMESPACE && name != "default" && name != "kube-root-ca.crt",
            None => name.starts_with("mlflow"),
        };
        if is_ours {
            left += 1;
            let api = match object.namespace() {
                Some(namespace) => Api::namespaced_with(admin.clone(), &namespace, kind),
                None => api.clone(),
            };
            let _ = api.delete(&name, &DeleteParams::default()).await; // perhaps it is gone already
        }
    }
    left
}

/// The kinds of all children.
pub fn child_kinds() -> Vec<ApiResource> {
    vec![
        ApiResource::erase::<Deployment>(&()),
        ApiResource::erase::<Service>(&()),
        ApiResource::erase::<ServiceAccount>(&()),
        ApiResource::erase::<ClusterRole>(&()),
        ApiResource::erase::<ClusterRoleBinding>(&()),
        ApiResource::erase::<NetworkPolicy>(&()),
        ApiResource::erase::<PersistentVolumeClaim>(&()),
        ApiResource::erase::<CronJob>(&()),
        ApiResource::erase::<Secret>(&()),
        ApiResource::erase::<ServiceMonitor>(&()),
        ApiResource::erase::<ConsoleLink>(&()),
        ApiResource::erase::<HTTPRoute>(&()),
    ]
}
