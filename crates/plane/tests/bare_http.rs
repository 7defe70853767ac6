//! Over the bare HTTP face: what clients other than `kube` send, and what nobody should.

use axum::body::Body;
use http::{Request, Response};
use http_body_util::BodyExt;
use plane::Plane;
use serde_json::{Value, json};
use tower::ServiceExt;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

async fn raw(
    plane: &Plane,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> (Response<()>, Vec<u8>) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = plane.service().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    (Response::from_parts(parts, ()), body.collect().await.unwrap().to_bytes().to_vec())
}

async fn send(plane: &Plane, method: &str, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let (response, bytes) = raw(plane, method, path, &[], body).await;
    (response.status().as_u16(), serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn with_config_map(name: &str) -> Plane {
    let plane = Plane::new();
    let (code, _) =
        send(&plane, "POST", CONFIG_MAPS, json!({"metadata": {"name": name}, "data": {"a": "1"}})).await;
    assert_eq!(code, 201);
    plane
}

#[tokio::test]
async fn a_body_without_type_is_filled_in_and_a_wrong_one_refused() {
    let plane = with_config_map("x").await;
    let (code, object) = send(&plane, "GET", &format!("{CONFIG_MAPS}/x"), Value::Null).await;
    assert_eq!((code, &object["kind"], &object["apiVersion"]), (200, &json!("ConfigMap"), &json!("v1")));
    let (code, status) =
        send(&plane, "POST", CONFIG_MAPS, json!({"apiVersion": "v2", "kind": "ConfigMap"})).await;
    assert_eq!(code, 400);
    assert_eq!(
        status["message"],
        "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"v2\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""
    );
}

#[tokio::test]
async fn unknown_paths_are_plain_and_unknown_resources_a_status() {
    let plane = Plane::new();
    for path in
        ["/apis/nope/v1/things", "/apis/apps/v9/deployments", "/nope", "/api/v1/namespaces/a%2Fb/pods"]
    {
        let (response, body) = raw(&plane, "GET", path, &[], Vec::new()).await;
        assert_eq!(
            (response.status().as_u16(), body.as_slice()),
            (404, b"404 page not found\n".as_slice()),
            "{path}"
        );
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
    }
    let (code, status) = send(&plane, "GET", "/apis/apps/v1/nopes", Value::Null).await;
    assert_eq!((code, &status["details"]), (404, &json!({})));
    assert_eq!(status["message"], "the server could not find the requested resource");
}

#[tokio::test]
async fn wrong_verbs_are_refused() {
    let plane = with_config_map("x").await;
    for (method, path) in [
        ("POST", "/api/v1/namespaces/default/configmaps/x"),
        ("PUT", CONFIG_MAPS),
        ("DELETE", "/api/v1/namespaces"),
        ("TRACE", CONFIG_MAPS),
        ("POST", "/version"),
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
    ] {
        let (code, status) = send(&plane, method, path, Value::Null).await;
        assert_eq!((code, &status["reason"]), (405, &json!("MethodNotAllowed")), "{method} {path}");
    }
}

#[tokio::test]
async fn malformed_bodies_get_a_status() {
    let plane = Plane::new();
    let post = async |body: &[u8], content_type: &str| {
        let (response, body) =
            raw(&plane, "POST", CONFIG_MAPS, &[("content-type", content_type)], body.to_vec()).await;
        (response.status().as_u16(), serde_json::from_slice::<Value>(&body).unwrap()["message"].to_string())
    };
    let (code, message) = post(b"{\"a\":", "application/json").await;
    assert_eq!(code, 400);
    assert!(
        message.contains("couldn't get version/kind; json parse error: unexpected end of JSON input"),
        "{message}"
    );
    assert_eq!(post(b"", "application/json").await.0, 400);
    assert_eq!(post(b"[]", "application/json").await.0, 400);
    assert_eq!(post(b"\xff\xfe", "application/yaml").await.0, 400);
    assert_eq!(post(b"{}", "text/csv").await.0, 415);
    let deep = "{\"data\":".repeat(50_000);
    assert_eq!(post(deep.as_bytes(), "application/json").await.0, 400);
    let huge = vec![b' '; 4 << 20];
    let (code, message) = post(&huge, "application/json").await;
    assert_eq!((code, message.as_str()), (413, "\"Request entity too large: limit is 3145728\""));
}

#[tokio::test]
async fn odd_parameters_are_refused_with_their_reason() {
    let plane = Plane::new();
    for (query, code, words) in [
        ("limit=x", 400, "strconv.ParseInt: parsing \"x\": invalid syntax"),
        ("resourceVersion=abc", 400, "invalid resource version: resourceVersion: Invalid value: \"abc\""),
        ("continue=zzz", 400, "invalid continue token"),
        ("labelSelector=a+in", 400, "unable to parse requirement: found '' expected: '('"),
        (
            "fieldSelector=foo%3Dx",
            400,
            "\"foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        (
            "resourceVersionMatch=Exact",
            422,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        ("sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"),
    ] {
        let (got, status) = send(&plane, "GET", &format!("{CONFIG_MAPS}?{query}"), Value::Null).await;
        assert_eq!(got, code, "{query}");
        assert!(status["message"].as_str().unwrap().contains(words), "{query}: {}", status["message"]);
    }
}

#[tokio::test]
async fn a_list_of_built_in_kinds_has_items_without_type() {
    let plane = with_config_map("x").await;
    let (_, list) = send(&plane, "GET", CONFIG_MAPS, Value::Null).await;
    assert_eq!((&list["kind"], list["items"][0].get("kind")), (&json!("ConfigMapList"), None));
    assert!(list["metadata"].get("continue").is_none());
}

#[tokio::test]
async fn zero_means_any_version_and_ignores_the_limit() {
    let plane = with_config_map("x").await;
    send(&plane, "POST", CONFIG_MAPS, json!({"metadata": {"name": "y"}})).await;
    let (_, list) =
        send(&plane, "GET", &format!("{CONFIG_MAPS}?resourceVersion=0&limit=1"), Value::Null).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_version_from_the_future_is_waited_for_and_then_refused() {
    let plane = Plane::new();
    let (code, status) =
        send(&plane, "GET", &format!("{CONFIG_MAPS}?resourceVersion=99999999"), Value::Null).await;
    assert_eq!((code, &status["details"]["causes"][0]["reason"]), (504, &json!("ResourceVersionTooLarge")));
}

#[tokio::test]
async fn unknown_fields_warn_or_are_refused() {
    let plane = Plane::new();
    let body = json!({"metadata": {"name": "x"}, "bar": 1}).to_string().into_bytes();
    let (response, _) = raw(&plane, "POST", CONFIG_MAPS, &[], body.clone()).await;
    assert_eq!(response.headers()["warning"], "299 - \"unknown field \\\"bar\\\"\"");
    let (response, answer) =
        raw(&plane, "POST", &format!("{CONFIG_MAPS}?fieldValidation=Strict"), &[], body).await;
    assert_eq!(response.status(), 400);
    let status: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(
        status["message"],
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"bar\""
    );
}

#[tokio::test]
async fn tables_have_the_columns_of_the_kind() {
    let plane = with_config_map("x").await;
    let (_, body) = raw(&plane, "GET", CONFIG_MAPS, &[("accept", TABLE)], Vec::new()).await;
    let table: Value = serde_json::from_slice(&body).unwrap();
    let headings: Vec<&str> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(headings, ["Name", "Data", "Age"]);
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert_eq!(cells[..2], [json!("x"), json!(1)]);
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
}

#[tokio::test]
async fn discovery_is_revalidated_by_etag() {
    let plane = Plane::new();
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let (first, body) = raw(&plane, "GET", "/apis?timeout=32s", &[("accept", accept)], Vec::new()).await;
    assert_eq!(
        first.headers()["content-type"],
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    );
    let document: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(document["items"][0]["metadata"]["name"], "apps");
    let etag = first.headers()["etag"].to_str().unwrap().to_string();
    let headers = [("accept", accept), ("if-none-match", etag.as_str())];
    let (second, body) = raw(&plane, "GET", "/apis", &headers, Vec::new()).await;
    assert_eq!((second.status().as_u16(), body.len()), (304, 0));
    let (_, legacy) = raw(&plane, "GET", "/apis/", &[], Vec::new()).await;
    assert_eq!(serde_json::from_slice::<Value>(&legacy).unwrap()["kind"], "APIGroupList");
}

#[tokio::test]
async fn large_answers_are_compressed_for_those_who_take_it() {
    let plane = Plane::new();
    let big = "x".repeat(200_000);
    send(&plane, "POST", CONFIG_MAPS, json!({"metadata": {"name": "big"}, "data": {"a": big}})).await;
    let path = format!("{CONFIG_MAPS}/big");
    let (packed, body) = raw(&plane, "GET", &path, &[("accept-encoding", "gzip")], Vec::new()).await;
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert!(body.len() < 10_000);
    let (plain, body) = raw(&plane, "GET", &path, &[], Vec::new()).await;
    assert!(plain.headers().get("content-encoding").is_none() && body.len() > 200_000);
}

#[tokio::test]
async fn a_put_creates_leases_but_not_config_maps() {
    let plane = Plane::new();
    let (code, _) =
        send(&plane, "PUT", &format!("{CONFIG_MAPS}/x"), json!({"metadata": {"name": "x"}})).await;
    assert_eq!(code, 404);
    let lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let (code, _) = send(&plane, "PUT", lease, json!({"metadata": {"name": "l"}})).await;
    assert_eq!(code, 201);
}

#[tokio::test]
async fn deletion_answers_a_status_or_the_object_by_kind() {
    let plane = with_config_map("x").await;
    let (_, status) = send(&plane, "DELETE", &format!("{CONFIG_MAPS}/x"), Value::Null).await;
    assert_eq!((&status["status"], &status["details"]["kind"]), (&json!("Success"), &json!("configmaps")));
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    send(&plane, "POST", accounts, json!({"metadata": {"name": "sa"}})).await;
    let (_, object) = send(&plane, "DELETE", &format!("{accounts}/sa"), Value::Null).await;
    assert_eq!(object["kind"], "ServiceAccount");
}
