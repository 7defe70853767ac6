//! The in-process client: what controllers lean on, through `kube` as they use it.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use plane::Plane;
use serde_json::json;

fn config_map(name: &str, labels: serde_json::Value) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}, "data": {"a": "1"}})).unwrap()
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

#[tokio::test]
async fn an_object_is_created_read_updated_and_deleted() {
    let plane = Plane::new();
    let api = config_maps(&plane.client());
    let created = api.create(&PostParams::default(), &config_map("x", json!({}))).await.unwrap();
    assert!(created.uid().is_some() && created.creation_timestamp().is_some());
    let again = api.create(&PostParams::default(), &config_map("x", json!({}))).await.unwrap_err();
    assert!(matches!(again, kube::Error::Api(s) if s.is_already_exists()
        && s.message == "configmaps \"x\" already exists"));
    let mut changed = created.clone();
    changed.data.as_mut().unwrap().insert("b".into(), "2".into());
    let updated = api.replace("x", &PostParams::default(), &changed).await.unwrap();
    assert_ne!(updated.resource_version(), created.resource_version());
    let stale = api.replace("x", &PostParams::default(), &changed).await.unwrap_err();
    assert!(matches!(stale, kube::Error::Api(s) if s.is_conflict()));
    let same = api.replace("x", &PostParams::default(), &updated).await.unwrap();
    assert_eq!(same.resource_version(), updated.resource_version(), "a write that changes nothing is none");
    assert!(api.delete("x", &DeleteParams::default()).await.unwrap().is_right());
    assert!(api.get_opt("x").await.unwrap().is_none());
}

#[tokio::test]
async fn a_watch_sees_every_change_in_order_and_selectors_turn_leaving_into_deletion() {
    let plane = Plane::new();
    let api = config_maps(&plane.client());
    let list = api.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    let params = WatchParams::default().labels("app=x");
    let mut events = api.watch(&params, &version).await.unwrap().boxed();
    api.create(&PostParams::default(), &config_map("a", json!({"app": "x"}))).await.unwrap();
    api.create(&PostParams::default(), &config_map("b", json!({"app": "y"}))).await.unwrap();
    let merge = |body| Patch::Merge(body);
    api.patch("a", &PatchParams::default(), &merge(json!({"data": {"a": "2"}}))).await.unwrap();
    let left = api
        .patch("a", &PatchParams::default(), &merge(json!({"metadata": {"labels": {"app": "z"}}})))
        .await
        .unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(match events.try_next().await.unwrap().unwrap() {
            WatchEvent::Added(o) => ("added", o),
            WatchEvent::Modified(o) => ("modified", o),
            WatchEvent::Deleted(o) => ("deleted", o),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(seen.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), ["added", "modified", "deleted"]);
    let (_, last) = &seen[2];
    assert_eq!(last.labels()["app"], "x", "the content that last matched");
    assert_eq!(
        last.resource_version(),
        left.resource_version(),
        "under the version of the write that ended it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_ends_after_its_timeout_and_bookmarks_tell_how_far_it_is() {
    let plane = Plane::new();
    let api = config_maps(&plane.client());
    let params = WatchParams::default().timeout(10);
    let start = tokio::time::Instant::now();
    let events: Vec<_> = api.watch(&params, "1").await.unwrap().try_collect().await.unwrap();
    assert!(
        matches!(events.as_slice(), [WatchEvent::Bookmark(b)] if b.metadata.resource_version != "1"),
        "{events:?}"
    );
    assert_eq!(start.elapsed(), Duration::from_secs(10));
}

#[tokio::test]
async fn an_expired_watch_gets_its_410() {
    let plane = Plane::new();
    let api = config_maps(&plane.client());
    api.create(&PostParams::default(), &config_map("a", json!({}))).await.unwrap();
    plane.compact();
    let mut events = api.watch(&WatchParams::default(), "2").await.unwrap().boxed();
    assert!(matches!(events.try_next().await.unwrap(), Some(WatchEvent::Error(e)) if e.code == 410));
}

#[tokio::test]
async fn lists_come_in_consistent_pages() {
    let plane = Plane::new();
    let api = config_maps(&plane.client());
    for i in 0..7 {
        api.create(&PostParams::default(), &config_map(&format!("c{i}"), json!({}))).await.unwrap();
    }
    let first = api.list(&ListParams::default().limit(3)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(4));
    api.delete("c5", &DeleteParams::default()).await.unwrap();
    let token = first.metadata.continue_.clone().unwrap();
    let second = api.list(&ListParams::default().limit(10).continue_token(&token)).await.unwrap();
    let names: Vec<_> = second.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["c3", "c4", "c5", "c6"], "as of the first page");
    assert_eq!(second.metadata.resource_version, first.metadata.resource_version);
}

#[tokio::test]
async fn finalizers_delay_deletion_and_removing_the_last_one_completes_it() {
    let plane = Plane::new();
    let api = config_maps(&plane.client());
    let mut object = config_map("x", json!({}));
    object.finalizers_mut().push("example.com/hold".into());
    api.create(&PostParams::default(), &object).await.unwrap();
    let pending = api.delete("x", &DeleteParams::default()).await.unwrap().left().expect("still there");
    assert!(pending.metadata.deletion_timestamp.is_some());
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("x", &PatchParams::default(), &patch).await.unwrap();
    assert!(api.get_opt("x").await.unwrap().is_none());
}

#[tokio::test]
async fn generation_counts_changes_of_the_spec_only() {
    let plane = Plane::new();
    let api: Api<Deployment> = Api::default_namespaced(plane.client());
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let created =
        api.create(&PostParams::default(), &serde_json::from_value(deployment).unwrap()).await.unwrap();
    assert_eq!(created.metadata.generation, Some(1));
    let params = PatchParams::default();
    let scaled = api.patch("d", &params, &Patch::Merge(json!({"spec": {"replicas": 3}}))).await.unwrap();
    assert_eq!(scaled.metadata.generation, Some(2));
    let status = Patch::Merge(json!({"status": {"replicas": 3}, "spec": {"replicas": 9}}));
    let reported = api.patch_status("d", &params, &status).await.unwrap();
    assert_eq!((reported.metadata.generation, reported.spec.unwrap().replicas), (Some(2), Some(3)));
    let ignored = api.patch("d", &params, &Patch::Merge(json!({"status": {"replicas": 7}}))).await.unwrap();
    assert_eq!(ignored.status.unwrap().replicas, Some(3), "the main resource does not touch status");
    assert_eq!(api.get_scale("d").await.unwrap().spec.unwrap().replicas, Some(3));
    api.patch_scale("d", &params, &Patch::Merge(json!({"spec": {"replicas": 5}}))).await.unwrap();
    assert_eq!(api.get("d").await.unwrap().spec.unwrap().replicas, Some(5));
}

fn widget_crd() -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}],
        },
    }))
    .unwrap()
}

fn widgets(client: &Client) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("example.com", "v1", "Widget");
    Api::default_namespaced_with(client.clone(), &ApiResource::from_gvk(&gvk))
}

#[tokio::test]
async fn a_custom_resource_is_served_as_soon_as_its_definition_is_made() {
    let plane = Plane::new();
    let client = plane.client();
    let missing = widgets(&client).list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(missing, kube::Error::Api(s) if s.code == 404));
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &widget_crd()).await.unwrap();
    let crd = crds.get("widgets.example.com").await.unwrap();
    let conditions = crd.status.unwrap().conditions.unwrap();
    assert!(conditions.iter().any(|c| c.type_ == "Established" && c.status == "True"));
    let widget = serde_json::from_value(json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w"}, "spec": {"size": 1}, "status": {"x": 1}}))
    .unwrap();
    let created = widgets(&client).create(&PostParams::default(), &widget).await.unwrap();
    assert_eq!(created.metadata.generation, Some(1));
    assert!(created.data.get("status").is_none(), "status is dropped on create");
    let discovery = kube::Discovery::new(client.clone()).run_aggregated().await.unwrap();
    let (found, _) = discovery.resolve_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget")).unwrap();
    assert_eq!(found.plural, "widgets");
}

#[tokio::test]
async fn objects_need_a_namespace_that_exists() {
    let plane = Plane::new();
    let api: Api<Secret> = Api::namespaced(plane.client(), "nowhere");
    let secret = serde_json::from_value(json!({"metadata": {"name": "s"}})).unwrap();
    let error = api.create(&PostParams::default(), &secret).await.unwrap_err();
    assert!(
        matches!(error, kube::Error::Api(s) if s.code == 404 && s.message == "namespaces \"nowhere\" not found")
    );
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_dry_run_stores_nothing() {
    let plane = Plane::new();
    let api = config_maps(&plane.client());
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    assert_eq!(api.create(&dry, &config_map("x", json!({}))).await.unwrap().name_any(), "x");
    assert!(api.get_opt("x").await.unwrap().is_none());
}

#[tokio::test]
async fn generated_names_are_unique() {
    let plane = Plane::new();
    let api = config_maps(&plane.client());
    let object: ConfigMap = serde_json::from_value(json!({"metadata": {"generateName": "gen-"}})).unwrap();
    let a = api.create(&PostParams::default(), &object).await.unwrap().name_any();
    let b = api.create(&PostParams::default(), &object).await.unwrap().name_any();
    assert!(a.starts_with("gen-") && a.len() == 9 && a != b, "{a} {b}");
}

#[tokio::test]
async fn the_request_log_tells_reads_from_writes() {
    let plane = Plane::new();
    let api: Api<Namespace> = Api::all(plane.client());
    let mark = plane.requests().mark();
    api.list(&ListParams::default()).await.unwrap();
    assert!(plane.requests().writes(mark).is_empty());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
    api.create(&PostParams::default(), &namespace).await.unwrap();
    let writes = plane.requests().writes(mark);
    assert_eq!((writes.len(), writes[0].verb, writes[0].code), (1, "create", 201));
}
