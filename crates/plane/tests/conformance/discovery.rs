//! What is served, and how a client finds out.

use serde_json::{Value, json};

use crate::support::Case;

const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

#[tokio::test]
async fn the_core_group_is_listed_in_the_old_way() {
    let case = Case::new().await;
    let answer = case.get("/api").await;
    assert_eq!(
        (answer.code, answer.at("/kind"), answer.at("/versions")),
        (200, &json!("APIVersions"), &json!(["v1"]))
    );
    assert_eq!(case.get("/api/").await.code, 200, "the Python client ends its paths with a slash");
}

#[tokio::test]
async fn groups_and_their_preferred_versions() {
    let case = Case::new().await;
    let answer = case.get("/apis").await;
    let groups = answer.at("/groups").as_array().cloned().unwrap_or_default();
    let apps = groups.iter().find(|group| group["name"] == "apps").expect("apps is served");
    assert_eq!(apps["preferredVersion"], json!({"groupVersion": "apps/v1", "version": "v1"}));
    assert_eq!(case.get("/apis/apps").await.at("/kind"), "APIGroup");
}

#[tokio::test]
async fn resources_of_a_group_with_verbs_and_short_names() {
    let case = Case::new().await;
    let answer = case.get("/apis/apps/v1").await;
    let find = |name: &str| {
        answer
            .at("/resources")
            .as_array()
            .into_iter()
            .flatten()
            .find(|r| r["name"] == name)
            .cloned()
            .unwrap_or_default()
    };
    let deployments = find("deployments");
    assert_eq!((&deployments["kind"], &deployments["namespaced"]), (&json!("Deployment"), &json!(true)));
    assert_eq!(deployments["shortNames"], json!(["deploy"]));
    assert_eq!(
        deployments["verbs"],
        json!(["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"])
    );
    assert_eq!(find("deployments/scale")["kind"], "Scale");
}

#[tokio::test]
async fn the_core_list_has_no_version_of_its_own() {
    let case = Case::new().await;
    let answer = case.get("/api/v1").await;
    assert_eq!((answer.at("/kind"), answer.at("/groupVersion")), (&json!("APIResourceList"), &json!("v1")));
    assert_eq!(answer.at("/apiVersion"), &Value::Null);
}

#[tokio::test]
async fn aggregated_discovery_when_it_is_asked_for() {
    let case = Case::new().await;
    let answer = case.get_as("/apis", AGGREGATED).await;
    let content_type = answer.headers["content-type"].to_str().unwrap_or_default();
    assert_eq!(content_type, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    assert_eq!(answer.at("/kind"), "APIGroupDiscoveryList");
    let items = answer.at("/items").as_array().cloned().unwrap_or_default();
    let apps = items.iter().find(|item| item["metadata"]["name"] == "apps").expect("apps is served");
    let resources = apps["versions"][0]["resources"].as_array().cloned().unwrap_or_default();
    let deployments = resources.iter().find(|r| r["resource"] == "deployments").expect("deployments");
    assert_eq!(deployments["responseKind"], json!({"group": "", "version": "", "kind": "Deployment"}));
    assert_eq!(deployments["scope"], "Namespaced");
    assert!(answer.headers.contains_key("etag"));
}

#[tokio::test]
async fn an_unchanged_document_is_not_sent_again() {
    let case = Case::new().await;
    let etag = case.get_as("/apis", AGGREGATED).await.headers["etag"].clone();
    let mut request = crate::support::request("GET", "/apis", &Value::Null);
    request.headers_mut().insert("accept", AGGREGATED.parse().expect("a media type"));
    request.headers_mut().insert("if-none-match", etag);
    assert_eq!(crate::support::send(case.client(), request).await.code, 304);
}

#[tokio::test]
async fn a_custom_resource_shows_up_with_its_names() {
    let case = Case::new().await;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    case.crd("Gadget", version).await;
    let group = format!("{}.example.com", case.ns);
    let answer = case.until(&format!("/apis/{group}/v1"), |answer| answer.code == 200).await;
    assert_eq!(answer.at("/resources/0/name"), "gadgets");
    assert_eq!(answer.at("/resources/0/singularName"), "gadget");
    assert_eq!(
        answer.at("/resources/0/verbs"),
        &json!(["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"])
    );
}

#[tokio::test]
async fn version_and_health() {
    let case = Case::new().await;
    let version = case.get("/version").await;
    assert_eq!((version.text("/major"), version.text("/minor")), ("1", "36"));
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(case.get(path).await.body, json!("ok"), "{path}");
    }
}
