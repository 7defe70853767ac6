//! Lists, pages and selectors.

use serde_json::json;

use crate::support::{Answer, Case};

fn names(answer: &Answer) -> Vec<&str> {
    let items = answer.at("/items").as_array();
    items.into_iter().flatten().map(|item| item["metadata"]["name"].as_str().unwrap_or_default()).collect()
}

async fn labelled(case: &Case) {
    for (name, app) in [("b", "x"), ("a", "y"), ("c", "x")] {
        let metadata = json!({"name": name, "labels": {"app": app}});
        let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata});
        assert_eq!(case.post(&case.path("secrets"), body).await.code, 201);
    }
}

#[tokio::test]
async fn items_come_in_the_order_of_their_names_and_without_kind() {
    let case = Case::new().await;
    labelled(&case).await;
    let list = case.get(&case.path("secrets")).await;
    assert_eq!((list.at("/kind"), list.at("/apiVersion")), (&json!("SecretList"), &json!("v1")));
    assert_eq!(names(&list), ["a", "b", "c"]);
    assert!(list.at("/items/0/kind").is_null());
}

#[tokio::test]
async fn pages_hold_together_while_objects_come_and_go() {
    let case = Case::new().await;
    labelled(&case).await;
    let first = case.get(&case.path("secrets?limit=1")).await;
    assert_eq!((names(&first), first.at("/metadata/remainingItemCount")), (vec!["a"], &json!(2)));
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bb"}});
    assert_eq!(case.post(&case.path("secrets"), body).await.code, 201);
    let token = first.text("/metadata/continue");
    let rest = case.get(&case.path(&format!("secrets?limit=10&continue={token}"))).await;
    assert_eq!(names(&rest), ["b", "c"], "what came after the first page is not in the second");
    assert_eq!(rest.at("/metadata/resourceVersion"), first.at("/metadata/resourceVersion"));
}

#[tokio::test]
async fn label_selectors() {
    let case = Case::new().await;
    labelled(&case).await;
    for (selector, wanted) in [
        ("app%3Dx", vec!["b", "c"]),
        ("app!%3Dx", vec!["a"]),
        ("app+in+(x,y)", vec!["a", "b", "c"]),
        ("app+notin+(x)", vec!["a"]),
        ("!app", vec![]),
    ] {
        let list = case.get(&case.path(&format!("secrets?labelSelector={selector}"))).await;
        assert_eq!(names(&list), wanted, "{selector}");
    }
}

#[tokio::test]
async fn field_selectors() {
    let case = Case::new().await;
    labelled(&case).await;
    let list = case.get(&case.path("secrets?fieldSelector=metadata.name%3Db")).await;
    assert_eq!(names(&list), ["b"]);
    let list = case.get(&case.path("secrets?fieldSelector=type%3DOpaque,metadata.name!%3Db")).await;
    assert_eq!(names(&list), ["a", "c"]);
    let refused = case.get(&case.path("secrets?fieldSelector=data.x%3Db")).await;
    assert_eq!((refused.code, refused.text("/message")), (400, "field label not supported: data.x"));
}

#[tokio::test]
async fn all_namespaces_at_once() {
    let case = Case::new().await;
    labelled(&case).await;
    let path = format!("/api/v1/secrets?labelSelector=app&fieldSelector=metadata.namespace%3D{}", case.ns);
    assert_eq!(names(&case.get(&path).await), ["a", "b", "c"]);
}

#[tokio::test]
async fn metadata_only() {
    let case = Case::new().await;
    labelled(&case).await;
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let list = case.get_as(&case.path("secrets"), accept).await;
    assert_eq!(list.at("/kind"), "PartialObjectMetadataList");
    assert_eq!(list.at("/items/0/kind"), "PartialObjectMetadata");
    assert!(list.at("/items/0/type").is_null());
}

#[tokio::test]
async fn a_version_of_the_past_shows_the_past() {
    let case = Case::new().await;
    labelled(&case).await;
    let then = case.get(&case.path("secrets")).await.text("/metadata/resourceVersion").to_owned();
    assert_eq!(case.delete(&case.path("secrets/b")).await.code, 200);
    let path = case.path(&format!("secrets?resourceVersion={then}&resourceVersionMatch=Exact"));
    assert_eq!(names(&case.get(&path).await), ["a", "b", "c"]);
}
