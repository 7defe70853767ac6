//! How a registry begins and ends, and where it may be.

use k8s_openapi::api::{events::v1::Event, rbac::v1::ClusterRoleBinding};
use kube::Api;
use quintet_api::{foreign::openshift::Group, model_registry::ModelRegistry};
use serde_json::json;

use super::support::{
    at, base,
    stage::{NAMESPACE, NO_CATALOG, PLAIN, Stage, registry},
    with,
};

#[tokio::test(start_paused = true)]
async fn scenario_20_deletion() {
    let stage = Stage::openshift().await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    assert!(stage.get::<Group>("reg-users").await.is_some());
    stage.delete::<ModelRegistry>("reg").await;
    assert!(stage.subject().await.is_none());
    assert!(stage.get::<Group>("reg-users").await.is_none());
    assert!(
        stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.is_none(),
        "the original leaves it behind"
    );
    stage.until("nothing is left", async || stage.children().await.is_empty().then_some(())).await;
    let events: Api<Event> = Api::namespaced(stage.admin.clone(), NAMESPACE);
    let events = events.list(&Default::default()).await.unwrap();
    let told =
        events.into_iter().find(|event| event.reason.as_deref() == Some("Deleting")).expect("an event");
    assert_eq!((told.type_.as_deref(), told.action.as_deref()), (Some("Warning"), Some("Deleting")));
    assert_eq!(told.note.as_deref(), Some("Custom Resource reg is being deleted from the namespace mr"));
}

#[tokio::test(start_paused = true)]
async fn a_registry_outside_the_allowed_namespace_says_where_it_may_be() {
    let stage = Stage::plain().await;
    let mut object = registry("reg", base());
    object["metadata"]["namespace"] = json!("other");
    stage.put(object).await;
    let api: Api<ModelRegistry> = Api::namespaced(stage.admin.clone(), "other");
    let status = api.get("reg").await.unwrap().status.unwrap();
    let available = status.conditions.iter().find(|c| c.type_ == "Available").unwrap();
    assert_eq!((available.status.as_str(), available.reason.as_str()), ("False", "ConfigurationError"));
    assert!(available.message.contains("namespace must be mr"), "{}", available.message);
    assert!(stage.children().await.is_empty());
    stage.assert_at_rest().await;
    // It can be deleted all the same.
    api.delete("reg", &Default::default()).await.unwrap();
    stage.settle().await;
    assert!(api.get_opt("reg").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn two_registries_of_one_name_do_not_fight_over_the_cluster_role_binding() {
    let stage = Stage::new(PLAIN, &[("ENABLE_MODEL_CATALOG", "false")]).await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    let mut second = registry("reg", with(json!({ "kubeRBACProxy": {} })));
    second["metadata"]["namespace"] = json!("other");
    stage.put(second).await;
    let binding = stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.unwrap();
    assert_eq!(at(&binding, "subjects.0.namespace"), NAMESPACE, "it stays the first one's");
    let api: Api<ModelRegistry> = Api::namespaced(stage.admin.clone(), "other");
    let status = api.get("reg").await.unwrap().status.unwrap();
    let message = &status.conditions.iter().find(|c| c.type_ == "Available").unwrap().message;
    assert!(message.contains("ClusterRoleBinding reg-auth-delegator exists"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_is_deleted_before_the_operator_knows_it_is_let_go() {
    let mut stage = Stage::without_operator(PLAIN, NO_CATALOG).await;
    let mut object = registry("reg", base());
    object["metadata"]["finalizers"] = json!(["test.example.com/stay"]);
    stage.put(object).await;
    stage.delete_subject().await;
    stage.start().await;
    assert_eq!(stage.writes(0), Vec::<String>::new(), "no finalizer can be added any more, and nothing made");
    stage.edit::<ModelRegistry>("reg", json!({ "metadata": { "finalizers": null } })).await;
    assert!(stage.subject().await.is_none());
}
