//! Is everything as `quintet render` gives it?

use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Api, Client, ResourceExt};
use quintet_api::mlflow::MLflow;
use quintet_kit::run::Observed;
use quintet_kit::{Kind, System};
use quintet_mlflow::{Config, Mlflow};
use serde_json::{Value, json};

/// Kinds of all children on plain Kubernetes.
const CHILDREN: [(&str, &str, &str); 9] = [
    ("apps", "v1", "Deployment"),
    ("batch", "v1", "CronJob"),
    ("", "v1", "Service"),
    ("", "v1", "ServiceAccount"),
    ("", "v1", "PersistentVolumeClaim"),
    ("networking.k8s.io", "v1", "NetworkPolicy"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
    ("", "v1", "ConfigMap"),
];

/// Says what is not as the stored MLflow wants it:
/// - applying what is rendered would change something (asked of the API server itself, by a dry run);
/// - the MLflow owns something that is not rendered;
/// - it does not say that its server is available.
pub(crate) async fn fulfilled(admin: &Client, config: &Config) -> Result<(), String> {
    let mlflows: Api<DynamicObject> = Api::all_with(admin.clone(), &MLflow::api_resource());
    let mlflow = mlflows.get("mlflow").await.map_err(|error| error.to_string())?;
    let stored = children(admin).await;
    let rendered = Mlflow::new(config.clone()).render(&mlflow, &Observed::new(stored.clone()));
    let rendered = rendered.map_err(|error| error.to_string())?.to_values();
    for wanted in &rendered {
        let live = stored.iter().map(plain).find(|live| id(live) == id(wanted));
        let live = live.ok_or_else(|| format!("{} is missing", id(wanted)))?;
        let applied = dry_run(admin, wanted).await.map_err(|error| format!("{}: {error}", id(wanted)))?;
        if plain(&applied) != live {
            return Err(format!("{} is not as wanted: {live} would become {}", id(wanted), plain(&applied)));
        }
    }
    let uid = mlflow.uid().unwrap_or_default();
    let owned = stored.iter().filter(|o| o.owner_references().iter().any(|owner| owner.uid == uid));
    // The account of an earlier name stays, as with the original.
    let left =
        owned.map(plain).find(|o| o["kind"] != "ServiceAccount" && !rendered.iter().any(|w| id(w) == id(o)));
    if let Some(left) = left {
        return Err(format!("{} is still there", id(&left)));
    }
    let conditions = mlflow.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    match conditions.iter().find(|condition| condition["type"] == "Available") {
        Some(available) if available["status"] == "True" => Ok(()),
        other => Err(format!("it says {}", json!(other))),
    }
}

async fn children(admin: &Client) -> Vec<DynamicObject> {
    let mut all = vec![];
    for (group, version, kind) in CHILDREN {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::all_with(admin.clone(), &resource);
        let mut list = api.list(&ListParams::default()).await.expect("a list").items;
        list.iter_mut().for_each(|object| {
            object.types = Some(kube::core::TypeMeta {
                api_version: resource.api_version.clone(),
                kind: resource.kind.clone(),
            });
        });
        all.extend(list);
    }
    all
}

async fn dry_run(admin: &Client, wanted: &Value) -> kube::Result<DynamicObject> {
    let object: DynamicObject = serde_json::from_value(wanted.clone()).map_err(kube::Error::SerdeError)?;
    let types = object.types.clone().unwrap_or_default();
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types).expect("a kind"));
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) => Api::namespaced_with(admin.clone(), &namespace, &resource),
        None => Api::all_with(admin.clone(), &resource),
    };
    let params = PatchParams { dry_run: true, ..PatchParams::apply("judge").force() };
    api.patch(&object.name_any(), &params, &Patch::Apply(&object)).await
}

/// Without what only says who wrote it.
fn plain(object: &DynamicObject) -> Value {
    let mut object = serde_json::to_value(object).expect("an object");
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
        metadata.remove("generation");
    }
    object
}

fn id(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    format!("{} {}/{}", text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
}
