use super::*;
use axum::Router;
use axum::body::Body;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use serde_json::{Value, json};
use tower::ServiceExt;

fn router() -> Router {
    Webhooks::new()
        .validating("/validate", |asked: &Asked<ConfigMap>| {
            let data = asked.object.data.clone().unwrap_or_default();
            assert!(!data.contains_key("bug"), "a bug of ours");
            if data.contains_key("bad") {
                return Err(Denied::new(format!("{}: bad is not wanted", asked.object.name_any())));
            }
            match (asked.operation, &asked.before) {
                (Operation::Delete, _) => Ok(Allowed::silently().warn("gone is gone")),
                (_, Some(before)) => Ok(Allowed::saying(format!("was {:?}", before.name_any()))),
                _ => Ok(Allowed::silently()),
            }
        })
        .mutating("/mutate", |asked: &mut Asked<ConfigMap>| {
            asked.object.data.get_or_insert_default().entry("size".into()).or_insert("small".into());
            Ok(())
        })
        .converting("/convert", "kit.example", |mut object, wanted| {
            if object["spec"]["plants"] == 13 {
                return Err("thirteen is not served".into());
            }
            object["apiVersion"] = wanted.into();
            object["metadata"]["name"] = "forgotten".into();
            Ok(object)
        })
        .router(&crate::metrics::Metrics::new())
}

async fn send(path: &str, type_: &str, body: impl Into<Body>) -> (u16, Value) {
    let request = http::Request::post(path).header("content-type", type_).body(body.into()).unwrap();
    let answer = router().oneshot(request).await.unwrap();
    let code = answer.status().as_u16();
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn ask(path: &str, body: &Value) -> Value {
    let (code, answer) = send(path, "application/json", body.to_string()).await;
    assert_eq!(code, 200, "{answer}");
    answer
}

fn review(version: &str, operation: &str, object: Value, before: Value) -> Value {
    json!({"apiVersion": format!("admission.k8s.io/{version}"), "kind": "AdmissionReview", "request": {
        "uid": "u1", "operation": operation, "object": object, "oldObject": before,
        "userInfo": {"username": "ann"}, "resource": {"group": "", "version": "v1", "resource": "configmaps"}}})
}

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": data})
}

#[tokio::test]
async fn a_review_is_answered_in_the_version_it_came_in() {
    for version in ["v1", "v1beta1"] {
        let answer = ask("/validate", &review(version, "CREATE", map(json!({})), Value::Null)).await;
        assert_eq!(
            answer,
            json!({"apiVersion": format!("admission.k8s.io/{version}"), "kind": "AdmissionReview", "response":
                {"uid": "u1", "allowed": true, "status": {"metadata": {}, "code": 200}}})
        );
        let answer =
            ask("/validate", &review(version, "CREATE", map(json!({"bad": "x"})), Value::Null)).await;
        assert_eq!(
            answer["response"],
            json!({"uid": "u1", "allowed": false, "status":
                {"metadata": {}, "message": "m: bad is not wanted", "reason": "Forbidden", "code": 403}})
        );
    }
}

#[tokio::test]
async fn an_update_shows_both_states_and_a_deletion_the_last() {
    let answer = ask("/validate", &review("v1", "UPDATE", map(json!({})), map(json!({"bad": "x"})))).await;
    assert_eq!(answer["response"]["status"]["message"], "was \"m\"");
    let answer = ask("/validate", &review("v1", "DELETE", Value::Null, map(json!({})))).await;
    assert_eq!(answer["response"]["warnings"], json!(["gone is gone"]));
}

#[tokio::test]
async fn a_change_is_a_patch_of_just_that() {
    // A field that the type does not know is left alone.
    let mut object = map(json!({"a": "b"}));
    object["fromTheFuture"] = json!(1);
    let answer = ask("/mutate", &review("v1", "CREATE", object, Value::Null)).await;
    assert_eq!(answer["response"]["patchType"], "JSONPatch");
    let patch: ByteString = serde_json::from_value(answer["response"]["patch"].clone()).unwrap();
    let patch: Value = serde_json::from_slice(&patch.0).unwrap();
    assert_eq!(patch, json!([{"op": "add", "path": "/data/size", "value": "small"}]));

    let answer = ask("/mutate", &review("v1", "UPDATE", map(json!({"size": "l"})), map(json!({})))).await;
    assert_eq!(answer["response"].get("patch"), None, "nothing to change");
    let answer = ask("/mutate", &review("v1", "DELETE", Value::Null, map(json!({})))).await;
    assert_eq!((answer["response"].get("patch"), &answer["response"]["allowed"]), (None, &json!(true)));
}

#[tokio::test]
async fn what_cannot_be_understood_is_told_in_a_review() {
    let said = |answer: &Value| {
        let status = &answer["response"]["status"];
        assert_eq!(answer["response"]["allowed"], false);
        (status["code"].as_u64().unwrap(), status["message"].as_str().unwrap().to_owned())
    };
    let (_, answer) = send("/validate", "application/json", "").await;
    assert_eq!(said(&answer), (400, "request body is empty".into()));
    let (_, answer) = send("/validate", "text/plain", "{}").await;
    assert_eq!(said(&answer), (400, "contentType=text/plain, expected application/json".into()));
    let (_, answer) = send("/validate", "application/json; charset=utf-8", "{").await;
    assert_eq!(said(&answer).0, 400);
    let (_, answer) = send("/validate", "application/json", vec![b' '; (7 << 20) + 1]).await;
    assert_eq!(said(&answer).0, 413);
    let answer = ask("/validate", &review("v1", "CREATE", Value::Null, Value::Null)).await;
    assert_eq!(said(&answer), (400, "there is no content to decode".into()));
    let answer = ask("/validate", &review("v1", "CREATE", json!({"data": 1}), Value::Null)).await;
    assert_eq!(said(&answer).0, 400);
    let answer = ask("/validate", &review("v1", "EXPLODE", map(json!({})), Value::Null)).await;
    assert_eq!(said(&answer), (400, "unknown operation \"EXPLODE\"".into()));
    let answer = ask("/validate", &review("v2", "CREATE", map(json!({})), Value::Null)).await;
    assert!(said(&answer).1.contains("is not an AdmissionReview"), "{answer}");
}

#[tokio::test]
async fn one_path_serves_several_kinds_and_no_others() {
    let both = || {
        Webhooks::new()
            .validating("/both", |_: &Asked<ConfigMap>| Ok(Allowed::saying("a map")))
            .and(Webhooks::new().validating("/both", |_: &Asked<Secret>| Ok(Allowed::saying("a secret"))))
    };
    let metrics = crate::metrics::Metrics::new();
    let ask = async |kind: &str, version: &str| {
        let mut body = review("v1", "CREATE", map(json!({})), Value::Null);
        body["request"]["kind"] = json!({"group": "", "version": version, "kind": kind});
        body["request"]["object"]["kind"] = json!(kind);
        (body["request"]["name"], body["request"]["namespace"]) = (json!("m"), json!("n"));
        let request = http::Request::post("/both").header("content-type", "application/json");
        let request = request.body(Body::from(body.to_string())).unwrap();
        let answer = both().router(&metrics).oneshot(request).await.unwrap();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        serde_json::from_slice::<Value>(&body).unwrap()["response"]["status"].clone()
    };
    assert_eq!(ask("ConfigMap", "v1").await["message"], "a map");
    assert_eq!(ask("Secret", "v1").await["message"], "a secret");
    let said = "unsupported resource m in namespace n of type /v2, Kind=ConfigMap";
    assert_eq!(ask("ConfigMap", "v2").await, json!({"metadata": {}, "code": 400, "message": said}));
    let counted = metrics.encode();
    for line in [
        "controller_runtime_webhook_requests_total{webhook=\"/both\",code=\"200\"} 3",
        "controller_runtime_webhook_requests_in_flight{webhook=\"/both\"} 0",
        "controller_runtime_webhook_latency_seconds_count{webhook=\"/both\"} 3",
    ] {
        assert!(counted.lines().any(|counted| counted == line), "no {line} in\n{counted}");
    }
}

#[tokio::test]
async fn a_panic_is_an_answer_too() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let answer = ask("/validate", &review("v1", "CREATE", map(json!({"bug": "x"})), Value::Null)).await;
    std::panic::set_hook(hook);
    assert_eq!(answer["response"]["status"]["code"], 500);
    assert_eq!(answer["response"]["uid"], "u1");
}

fn conversion(version: &str, objects: Value) -> Value {
    json!({"apiVersion": format!("apiextensions.k8s.io/{version}"), "kind": "ConversionReview",
        "request": {"uid": "u3", "desiredAPIVersion": "kit.example/v2", "objects": objects}})
}

fn garden(version: &str, plants: i32) -> Value {
    json!({"apiVersion": format!("kit.example/{version}"), "kind": "Garden", "metadata": {"name": "g", "uid": "1"},
        "spec": {"plants": plants}})
}

#[tokio::test]
async fn objects_are_converted_and_keep_who_they_are() {
    for version in ["v1", "v1beta1"] {
        let answer = ask("/convert", &conversion(version, json!([garden("v1", 1), garden("v1", 2)]))).await;
        assert_eq!(answer["apiVersion"], format!("apiextensions.k8s.io/{version}"));
        assert_eq!(
            answer["response"],
            json!({"uid": "u3", "convertedObjects": [garden("v2", 1), garden("v2", 2)],
                "result": {"metadata": {}, "status": "Success"}})
        );
    }
}

#[tokio::test]
async fn one_object_that_cannot_be_converted_fails_the_review() {
    let answer = ask("/convert", &conversion("v1", json!([garden("v1", 1), garden("v1", 13)]))).await;
    assert_eq!(answer["response"]["result"]["status"], "Failure");
    assert_eq!(answer["response"]["result"]["message"], "thirteen is not served");
    let answer = ask("/convert", &conversion("v1", json!([garden("v2", 1)]))).await;
    let said = answer["response"]["result"]["message"].as_str().unwrap();
    assert!(said.starts_with("conversion is not allowed between same type"), "{said}");
    let mut foreign = garden("v1", 1);
    foreign["apiVersion"] = json!("other.example/v1");
    let answer = ask("/convert", &conversion("v1", json!([foreign]))).await;
    let said = answer["response"]["result"]["message"].as_str().unwrap();
    assert_eq!(said, "no kind of group \"other.example\" is converted here");
    for wrong in ["", "{", "{}", r#"{"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"}"#] {
        assert_eq!(send("/convert", "application/json", wrong).await.0, 400, "{wrong}");
    }
}
