//! Objects beyond single requests: garbage collection, namespaces, definitions.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use plane::Plane;
use serde_json::{Value, json};

fn api(client: &Client, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), namespace)
}

async fn make(api: &Api<ConfigMap>, name: &str, metadata: Value) -> ConfigMap {
    let mut object = json!({"metadata": {"name": name}});
    for (key, value) in metadata.as_object().unwrap() {
        object["metadata"][key] = value.clone();
    }
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
}

fn owned_by(owners: &[(&ConfigMap, bool)]) -> Value {
    let references: Vec<Value> = owners
        .iter()
        .map(|(owner, block)| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner.name_any(), "uid": owner.uid(),
                "blockOwnerDeletion": block})
        })
        .collect();
    json!({"ownerReferences": references})
}

/// Asks until the condition holds; the controllers run in between.
async fn eventually<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), found).await.expect("did not happen in time")
}

async fn gone(api: &Api<ConfigMap>, name: &str) {
    eventually(async || api.get_opt(name).await.unwrap().is_none().then_some(())).await;
}

/// Whatever the collector is going to do, it has done once a later victim of it is gone.
async fn settle(api: &Api<ConfigMap>) {
    let nobody = json!({"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "no"}]});
    make(api, "canary", nobody).await;
    gone(api, "canary").await;
}

#[tokio::test]
async fn background_deletion_takes_dependents_whose_owners_are_all_gone() {
    let plane = Plane::new();
    let api = api(&plane.client(), "default");
    let (a, b) = (make(&api, "a", json!({})).await, make(&api, "b", json!({})).await);
    make(&api, "only-a", owned_by(&[(&a, false)])).await;
    make(&api, "both", owned_by(&[(&a, false), (&b, false)])).await;
    api.delete("a", &DeleteParams::background()).await.unwrap();
    gone(&api, "only-a").await;
    let both = eventually(async || {
        let both = api.get("both").await.unwrap();
        (both.owner_references().len() == 1).then_some(both)
    })
    .await;
    assert_eq!(both.owner_references()[0].name, "b");
}

#[tokio::test]
async fn dependents_of_owners_that_never_were_are_collected_but_not_those_of_unknown_kinds() {
    let plane = Plane::new();
    let api = api(&plane.client(), "default");
    let unknown =
        json!({"ownerReferences": [{"apiVersion": "x.io/v1", "kind": "What", "name": "n", "uid": "u"}]});
    make(&api, "unknown", unknown).await;
    settle(&api).await;
    assert!(api.get_opt("unknown").await.unwrap().is_some());
}

#[tokio::test]
async fn an_owner_of_the_same_name_with_another_uid_is_not_the_owner() {
    let plane = Plane::new();
    let api = api(&plane.client(), "default");
    make(&api, "a", json!({})).await;
    let other =
        json!({"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "other"}]});
    make(&api, "d", other).await;
    gone(&api, "d").await;
    assert!(api.get_opt("a").await.unwrap().is_some());
}

#[tokio::test]
async fn orphaned_dependents_lose_their_reference_and_stay() {
    let plane = Plane::new();
    let api = api(&plane.client(), "default");
    let a = make(&api, "a", json!({})).await;
    make(&api, "d", owned_by(&[(&a, true)])).await;
    api.delete("a", &DeleteParams::orphan()).await.unwrap();
    gone(&api, "a").await;
    settle(&api).await;
    assert!(api.get("d").await.unwrap().owner_references().is_empty());
}

#[tokio::test]
async fn a_foreground_deletion_waits_for_blocking_dependents_only() {
    let plane = Plane::new();
    let api = api(&plane.client(), "default");
    let a = make(&api, "a", json!({})).await;
    let mut blocking = owned_by(&[(&a, true)]);
    blocking["finalizers"] = json!(["example.com/hold"]);
    make(&api, "blocking", blocking).await;
    let mut lingering = owned_by(&[(&a, false)]);
    lingering["finalizers"] = json!(["example.com/hold"]);
    make(&api, "lingering", lingering).await;
    let params =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Foreground), ..DeleteParams::default() };
    let pending = api.delete("a", &params).await.unwrap().left().expect("waits");
    assert_eq!(pending.finalizers(), ["foregroundDeletion"]);
    eventually(async || api.get("blocking").await.unwrap().metadata.deletion_timestamp.map(drop)).await;
    eventually(async || api.get("lingering").await.unwrap().metadata.deletion_timestamp.map(drop)).await;
    settle(&api).await;
    assert!(api.get_opt("a").await.unwrap().is_some(), "one blocks it");
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("blocking", &PatchParams::default(), &release).await.unwrap();
    gone(&api, "a").await;
    assert!(api.get_opt("lingering").await.unwrap().is_some(), "the other may linger");
}

#[tokio::test]
async fn a_namespace_empties_itself_and_waits_for_finalizers() {
    let plane = Plane::new();
    let client = plane.client();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "ns"}})).unwrap();
    let created = namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    assert_eq!(created.labels()["kubernetes.io/metadata.name"], "ns");
    let api = api(&client, "ns");
    make(&api, "plain", json!({})).await;
    make(&api, "held", json!({"finalizers": ["x.io/h"]})).await;
    let going = namespaces.delete("ns", &DeleteParams::default()).await.unwrap().left().expect("returned");
    assert_eq!(going.status.unwrap().phase.as_deref(), Some("Terminating"));
    let refused = api.create(&PostParams::default(), &ConfigMap::default()).await;
    assert!(refused.is_err());
    gone(&api, "plain").await;
    let messages = eventually(async || {
        let status = namespaces.get("ns").await.unwrap().status.unwrap();
        let conditions = status.conditions.filter(|c| c.len() == 5)?;
        Some(conditions.into_iter().map(|c| c.message.unwrap()).collect::<Vec<_>>())
    })
    .await;
    assert!(
        messages.contains(&"Some resources are remaining: configmaps. has 1 resource instances".to_string())
    );
    assert!(messages.contains(
        &"Some content in the namespace has finalizers remaining: x.io/h in 1 resource instances".to_string()
    ));
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("held", &PatchParams::default(), &release).await.unwrap();
    eventually(async || namespaces.get_opt("ns").await.unwrap().is_none().then_some(())).await;
}

#[tokio::test]
async fn system_namespaces_may_not_be_deleted() {
    let plane = Plane::new();
    let namespaces: Api<Namespace> = Api::all(plane.client());
    let error = namespaces.delete("default", &DeleteParams::default()).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(s) if s.code == 403
        && s.message == "namespaces \"default\" is forbidden: this namespace may not be deleted"));
}

#[tokio::test]
async fn deleting_a_definition_deletes_its_objects_and_ends_serving() {
    let plane = Plane::new();
    let client = plane.client();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let crd = json!({"metadata": {"name": "things.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
            {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    crds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Thing"));
    let things: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    let mut thing = DynamicObject::new("t", &resource);
    thing.finalizers_mut().push("example.com/hold".into());
    things.create(&PostParams::default(), &thing).await.unwrap();
    crds.delete("things.example.com", &DeleteParams::default()).await.unwrap();
    eventually(async || things.get("t").await.unwrap().metadata.deletion_timestamp.map(drop)).await;
    assert!(crds.get_opt("things.example.com").await.unwrap().is_some());
    let late =
        things.create(&PostParams::default(), &DynamicObject::new("late", &resource)).await.unwrap_err();
    assert!(matches!(late, kube::Error::Api(s) if s.code == 405
        && s.message == "create not allowed while custom resource definition is terminating"));
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    things.patch("t", &PatchParams::default(), &release).await.unwrap();
    eventually(async || crds.get_opt("things.example.com").await.unwrap().is_none().then_some(())).await;
    let error = things.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(s) if s.code == 404));
}

#[tokio::test]
async fn applying_twice_is_one_write_and_conflicts_name_the_field() {
    let plane = Plane::new();
    let api = api(&plane.client(), "default");
    let body =
        |value: &str| Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": value}}));
    let one = api.patch("x", &PatchParams::apply("m1"), &body("1")).await.unwrap();
    let two = api.patch("x", &PatchParams::apply("m1"), &body("1")).await.unwrap();
    assert_eq!(one.resource_version(), two.resource_version());
    let error = api.patch("x", &PatchParams::apply("m2"), &body("2")).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(s) if s.code == 409
        && s.message == "Apply failed with 1 conflict: conflict with \"m1\": .data.a"));
    let forced = api.patch("x", &PatchParams::apply("m2").force(), &body("2")).await.unwrap();
    let managers: Vec<_> = forced.managed_fields().iter().filter_map(|m| m.manager.clone()).collect();
    assert_eq!((forced.data.unwrap()["a"].as_str(), managers), ("2", vec!["m2".to_string()]));
}

#[tokio::test]
async fn each_version_of_a_definition_shows_what_its_own_schema_knows() {
    let plane = Plane::new();
    let client = plane.client();
    let version = |name: &str, storage: bool, fields: Value| {
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object",
            "properties": {"spec": {"type": "object", "properties": fields}}}}})
    };
    let crd = json!({"metadata": {"name": "parts.example.com"}, "spec": {
    "group": "example.com", "scope": "Namespaced", "names": {"plural": "parts", "kind": "Part"},
    "versions": [
        version("v1", true, json!({"size": {"type": "integer"}, "old": {"type": "string"}})),
        version("v2", false, json!({"size": {"type": "integer"}, "new": {"type": "string", "default": "n"}})),
    ]}});
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
    let parts = |version: &str| -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", version, "Part"));
        Api::default_namespaced_with(client.clone(), &resource)
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Part"));
    let part = DynamicObject::new("p", &resource).data(json!({"spec": {"size": 1, "old": "o"}}));
    parts("v1").create(&PostParams::default(), &part).await.unwrap();
    let shown = parts("v2").get("p").await.unwrap();
    assert_eq!(shown.types.unwrap().api_version, "example.com/v2");
    assert_eq!(
        shown.data["spec"],
        json!({"size": 1}),
        "defaults come with a write in that version, not with a read"
    );
    let listed = parts("v2").list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items[0].data["spec"], json!({"size": 1}));
    assert_eq!(parts("v1").get("p").await.unwrap().data["spec"], json!({"size": 1, "old": "o"}));
    let newer = Patch::Merge(json!({"spec": {"new": "mine"}}));
    parts("v2").patch("p", &PatchParams::default(), &newer).await.unwrap();
    let lost = "what the stored version does not know is not stored";
    assert_eq!(parts("v2").get("p").await.unwrap().data["spec"], json!({"size": 1}), "{lost}");
    assert_eq!(parts("v1").get("p").await.unwrap().data["spec"], json!({"size": 1}));
}

#[tokio::test(start_paused = true)]
async fn an_event_is_forgotten_an_hour_after_it_was_last_written() {
    use k8s_openapi::api::core::v1::Event;
    let plane = Plane::new();
    let events: Api<Event> = Api::default_namespaced(plane.client());
    for name in ["once", "again"] {
        let event = json!({ "metadata": { "name": name }, "involvedObject": { "kind": "Pod", "name": "p", "namespace": "default" },
            "reason": "R", "message": "m", "type": "Normal" });
        events.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(59 * 60)).await;
    let more = Patch::Merge(json!({ "count": 2 }));
    events.patch("again", &PatchParams::default(), &more).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2 * 60)).await;
    assert!(events.get_opt("once").await.unwrap().is_none(), "its hour is over");
    assert!(events.get_opt("again").await.unwrap().is_some(), "a change gives it another");
    tokio::time::sleep(Duration::from_secs(60 * 60)).await;
    assert!(events.get_opt("again").await.unwrap().is_none());
}
