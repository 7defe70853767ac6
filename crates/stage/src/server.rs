//! The server that scenarios run on: a plane in this process, or a real control plane.

use std::time::Duration;

use k8s_openapi::{
    api::{
        apps::v1::ReplicaSet,
        core::v1::{Namespace, Pod},
        events::v1::Event,
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    discovery::ApiResource,
};
use plane::{
    Plane,
    security::Security,
    workloads::{Script, Workloads},
};
use quintet_harness::{faults::Edge, kube::Cluster};
use quintet_kit::{
    Kind, System,
    rights::{Holder, rights},
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use crate::Play;

/// A server with what a [`Play`] needs: namespaces, definitions, and the operator's rights.
pub enum Server {
    /// In this process. Time is Tokio's and paused: waiting costs nothing.
    Plane(Plane),
    /// A control plane of real programs, which all tests of the process share, one after the other.
    Real(Real),
}

/// A test's turn on the real control plane.
pub struct Real {
    /// The control plane.
    pub cluster: &'static Cluster,
    admin: Client,
    _turn: MutexGuard<'static, ()>,
}

impl Drop for Real {
    fn drop(&mut self) {
        tokio::time::pause(); // as the test began: it may take another turn
    }
}

impl Server {
    /// The plane; with `QUINTET_SCENARIOS=real` a real control plane. The test's time must be paused; on the real one it
    /// is made to run.
    ///
    /// # Panics
    /// If the real one does not come up.
    pub async fn new(play: &Play) -> Self {
        if !std::env::var("QUINTET_SCENARIOS").is_ok_and(|server| server == "real") {
            return Server::Plane(plane(play).await);
        }
        tokio::time::resume();
        static TURN: Mutex<()> = Mutex::const_new(());
        let turn = TURN.lock().await;
        let cluster = Cluster::shared().await.unwrap_or_else(|error| panic!("{error}"));
        let admin = cluster.client().await.expect("an administrator");
        let real = Real { cluster, admin: admin.clone(), _turn: turn };
        cluster.schedule_pods(false).await.expect("nodes");
        clear(&admin, play).await;
        prepare(&admin, play).await;
        Server::Real(real)
    }

    /// A client with every right.
    pub fn admin(&self) -> Client {
        match self {
            Server::Plane(plane) => plane.client(),
            Server::Real(real) => real.admin.clone(),
        }
    }

    /// The operator's client: just the rights that follow from its wiring, and everything it says goes over the edge.
    ///
    /// # Panics
    /// If no certificate can be made for it.
    pub async fn operator(&self, play: &Play, edge: &Edge) -> Client {
        let Play { home, account, .. } = play;
        match self {
            Server::Plane(plane) => edge.client(plane.service().with_user(play.identity())),
            Server::Real(real) => {
                let user = format!("system:serviceaccount:{home}:{account}");
                let groups = ["system:serviceaccounts", &format!("system:serviceaccounts:{home}")];
                edge.through(real.cluster.client_for(&user, &groups).await.expect("a client"))
            }
        }
    }
}

/// A plane with what [`Server`] says.
pub async fn plane(play: &Play) -> Plane {
    let plane = Plane::builder().security(Security::enforced()).build();
    prepare(&plane.client(), play).await;
    plane
}

/// One on which Deployments have pods, and every pod behaves like this: see [`Script`].
///
/// # Panics
/// If that is no script.
pub async fn plane_with_pods(play: &Play, script: Value) -> Server {
    let script: Script = serde_json::from_value(script).expect("a script");
    let workloads = Workloads::new().directed(move |_| Some(script.clone()));
    let plane = Plane::builder().security(Security::enforced()).workloads(workloads).build();
    prepare(&plane.client(), play).await;
    Server::Plane(plane)
}

/// The namespaces, our definitions, those of the optional APIs that are served, and the operator's rights.
pub async fn prepare(admin: &Client, play: &Play) {
    for name in namespaces(play) {
        put::<Namespace>(Api::all(admin.clone()), json!({ "metadata": { "name": name } })).await;
    }
    let optional = play.optional.iter().filter(|(is_served, _)| *is_served);
    for definition in play.system.crds().into_iter().chain(optional.map(|(_, it)| it.clone())) {
        install(admin, definition).await;
    }
    authorise(admin, &*play.system, play.holder()).await;
}

fn namespaces(play: &Play) -> Vec<&'static str> {
    let mut all = play.namespaces.clone();
    all.extend([play.home, play.place()]);
    all.sort_unstable();
    all.dedup();
    all
}

/// Installs a definition and waits until it is served.
///
/// # Panics
/// If the server refuses it.
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
pub async fn authorise(admin: &Client, system: &dyn System, holder: Holder<'_>) {
    let objects = rights(&system.rows()).objects("operator", "operator", holder);
    if let Some((role, binding)) = objects.cluster {
        put::<ClusterRole>(Api::all(admin.clone()), json!(role)).await;
        put::<ClusterRoleBinding>(Api::all(admin.clone()), json!(binding)).await;
    }
    for (role, binding) in objects.namespaced {
        let place = role.namespace().expect("a namespace");
        put::<Role>(Api::namespaced(admin.clone(), &place), json!(role)).await;
        put::<RoleBinding>(Api::namespaced(admin.clone(), &place), json!(binding)).await;
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
pub async fn clear(admin: &Client, play: &Play) {
    let namespaces = namespaces(play);
    let mut kinds = vec![play.subject.resource.clone()];
    kinds.extend(play.children.iter().chain(&play.others).cloned());
    kinds.extend([ReplicaSet::api_resource(), Pod::api_resource()]);
    // Twice, since the last request of an operator that has just ended may still be under way.
    let mut empty = 0;
    while empty < 2 {
        let mut left = 0;
        for kind in &kinds {
            left += delete_all(admin, kind, play, &namespaces).await;
        }
        empty = if left == 0 { empty + 1 } else { 0 };
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let definitions: Api<CustomResourceDefinition> = Api::all(admin.clone());
    for (_, definition) in play.optional.iter().filter(|(is_served, _)| !is_served) {
        let name = definition.name_any();
        while definitions.get_opt(&name).await.expect("an answer").is_some() {
            let _ = definitions.delete(&name, &DeleteParams::default()).await; // perhaps it is just going
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    for namespace in namespaces.into_iter().chain(["default"]) {
        let events: Api<Event> = Api::namespaced(admin.clone(), namespace);
        let _ = events.delete_collection(&DeleteParams::default(), &ListParams::default()).await; // perhaps no namespace
    }
}

/// Asks for the deletion of all that is not the server's own, and says how many there were. Nobody is there any more
/// whom a finalizer could wait for.
async fn delete_all(admin: &Client, kind: &ApiResource, play: &Play, namespaces: &[&str]) -> usize {
    let api: Api<DynamicObject> = Api::all_with(admin.clone(), kind);
    let Ok(list) = api.list(&ListParams::default()).await else { return 0 }; // not served
    let mut left = 0;
    for object in list {
        let name = object.name_any();
        let is_ours = match object.namespace() {
            Some(namespace) => {
                namespaces.contains(&namespace.as_str()) && name != "default" && name != "kube-root-ca.crt"
            }
            None => (play.is_ours)(&name),
        };
        if is_ours {
            left += 1;
            let api = match object.namespace() {
                Some(namespace) => Api::namespaced_with(admin.clone(), &namespace, kind),
                None => api.clone(),
            };
            // Perhaps it is gone already.
            let _ = api.delete(&name, &DeleteParams::default()).await;
            if !object.finalizers().is_empty() {
                let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
                let _ = api.patch(&name, &PatchParams::default(), &free).await;
            }
        }
    }
    left
}
