//! Requests that are wrong, and how that is said.

use serde_json::{Value, json};

use crate::support::{Case, request, send};

#[tokio::test]
async fn a_missing_object() {
    let case = Case::new().await;
    let answer = case.get(&case.path("deployments.apps/v1/none")).await;
    assert_eq!(answer.text("/message"), "deployments.apps \"none\" not found");
    assert_eq!(answer.at("/details"), &json!({"name": "none", "group": "apps", "kind": "deployments"}));
}

#[tokio::test]
async fn unknown_paths_are_plain_text_and_unknown_resources_are_not() {
    let case = Case::new().await;
    let answer = case.get("/apis/none.example.com/v1/things").await;
    assert_eq!((answer.code, &answer.body), (404, &json!("404 page not found\n")));
    let answer = case.get("/api/v1/things").await;
    assert_eq!(answer.text("/message"), "the server could not find the requested resource");
}

#[tokio::test]
async fn it_exists_already() {
    let case = Case::new().await;
    case.config_map("c", json!({})).await;
    let answer = case.post(&case.path("configmaps"), json!({"metadata": {"name": "c"}})).await;
    assert_eq!((answer.code, answer.text("/reason")), (409, "AlreadyExists"));
    assert_eq!(answer.text("/message"), "configmaps \"c\" already exists");
}

#[tokio::test]
async fn an_invalid_object_names_every_field() {
    let case = Case::new().await;
    let answer = case.post(&case.path("services"), json!({"metadata": {"name": "s"}, "spec": {}})).await;
    assert_eq!(
        (answer.code, answer.text("/message")),
        (422, "Service \"s\" is invalid: spec.ports: Required value")
    );
    let cause = json!({"reason": "FieldValueRequired", "message": "Required value", "field": "spec.ports"});
    assert_eq!(answer.at("/details/causes/0"), &cause);
}

#[tokio::test]
async fn unknown_fields_warn_or_are_refused() {
    let case = Case::new().await;
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "nope": 1});
    let warned = case.post(&case.path("configmaps?dryRun=All"), body.clone()).await;
    assert_eq!(warned.warnings(), ["299 - \"unknown field \\\"nope\\\"\""]);
    assert_eq!(warned.at("/nope"), &Value::Null);
    let refused = case.post(&case.path("configmaps?fieldValidation=Strict"), body).await;
    assert!(
        refused.text("/message").ends_with("strict decoding error: unknown field \"nope\""),
        "{}",
        refused.body
    );
}

#[tokio::test]
async fn a_body_without_a_content_type_is_json() {
    let case = Case::new().await;
    let mut request = request("POST", &case.path("configmaps"), &json!({"metadata": {"name": "c"}}));
    request.headers_mut().remove("content-type");
    assert_eq!(send(case.client(), request).await.code, 201);
}

#[tokio::test]
async fn a_media_type_nobody_speaks() {
    let case = Case::new().await;
    assert_eq!(case.get_as(&case.path("configmaps"), "text/html").await.code, 406);
    let mut request = request("POST", &case.path("configmaps"), &json!({}));
    request.headers_mut().insert("content-type", "text/plain".parse().expect("a media type"));
    assert_eq!(send(case.client(), request).await.code, 415);
}

#[tokio::test]
async fn the_namespace_must_exist() {
    let case = Case::new().await;
    let answer = case.post("/api/v1/namespaces/nowhere/configmaps", json!({"metadata": {"name": "c"}})).await;
    assert_eq!((answer.code, answer.text("/message")), (404, "namespaces \"nowhere\" not found"));
}

#[tokio::test]
async fn selectors_and_role_references_never_change() {
    let case = Case::new().await;
    let path = super::objects::deployment(&case, 0).await;
    let labels = json!({"metadata": {"labels": {"c": "d"}}});
    let body = json!({"spec": {"selector": {"matchLabels": {"a": null, "c": "d"}}, "template": labels}});
    let refused = case.patch("merge", &path, body).await;
    assert!(refused.text("/message").contains("field is immutable"), "{}", refused.body);

    let role = |name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
    let body =
        json!({"metadata": {"name": "b"}, "roleRef": role("x"), "subjects": [{"kind": "User", "name": "u"}]});
    case.post(&case.path("rolebindings.rbac.authorization.k8s.io/v1"), body).await;
    let path = case.path("rolebindings.rbac.authorization.k8s.io/v1/b");
    let refused = case.patch("merge", &path, json!({"roleRef": role("y")})).await;
    assert!(refused.text("/message").ends_with("cannot change roleRef"), "{}", refused.body);
}

#[tokio::test]
async fn path_tricks_lead_nowhere() {
    let case = Case::new().await;
    case.config_map("c", json!({"a": "1"})).await;
    let maps = case.path("configmaps");
    for path in [
        format!("{maps}/../secrets"),
        format!("{maps}/%2e%2e/secrets"),
        format!("{maps}/c/../../../../../../version"),
        format!("{maps}/c%2F..%2Fd"),
        format!("{maps}/c%00"),
        format!("{maps}/%ff%fe"),
        format!("{maps}/c/nope"),
        format!("{maps}/c/status/more/and/more"),
        format!("{maps}/{}", "c".repeat(4000)),
        "/api/v1/namespaces/..%2f..%2fversion/configmaps/c".to_owned(),
        "/apis/../api/v1/nodes".to_owned(),
    ] {
        let answer = case.get(&path).await;
        assert!((400..500).contains(&answer.code), "{path}: {} {}", answer.code, answer.body);
        assert!(answer.body["data"].is_null() && answer.body["items"].is_null(), "{path}: {}", answer.body);
    }
    assert_eq!(case.get(&format!("{maps}/c")).await.code, 200, "and it serves on");
}

#[tokio::test]
async fn what_cannot_be_read_gets_a_status() {
    let case = Case::new().await;
    let maps = case.path("configmaps");
    let ask = async |body: Vec<u8>, media_type: &str| {
        let mut asked = request("POST", &maps, &serde_json::Value::Null);
        asked.headers_mut().insert("content-type", media_type.parse().expect("a media type"));
        *asked.body_mut() = body;
        let answer = send(case.client(), asked).await;
        assert_eq!(answer.at("/kind"), "Status", "{media_type}: {}", answer.body);
        (answer.code, answer.text("/reason").to_owned())
    };
    let bad = |code: u16, reason: &str| (code, reason.to_owned());
    assert_eq!(ask(b"{\"metadata\":".to_vec(), "application/json").await, bad(400, "BadRequest"));
    assert_eq!(ask(b"[1]".to_vec(), "application/json").await, bad(400, "BadRequest"));
    assert_eq!(ask(b"\xff\xfe\x00".to_vec(), "application/json").await, bad(400, "BadRequest"));
    assert_eq!(ask(b"{}".to_vec(), "text/csv").await, bad(415, "UnsupportedMediaType"));
    let deep = format!("{{\"metadata\":{{\"name\":\"d\"}},\"data\":{}1", "{\"a\":".repeat(20_000));
    assert_eq!(ask(deep.into_bytes(), "application/json").await, bad(400, "BadRequest"));
    let huge = format!("{{\"data\":{{\"a\":\"{}\"}}}}", "x".repeat(4 << 20));
    assert_eq!(ask(huge.into_bytes(), "application/json").await, bad(413, "RequestEntityTooLarge"));
}
