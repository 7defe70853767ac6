//! RBAC, reviews and tokens.

use http::Request;
use serde_json::{Value, json};

use crate::support::{Answer, Case, request, send};

/// Asks as somebody else.
async fn ask_as(case: &Case, user: &str, mut request: Request<Vec<u8>>) -> Answer {
    request.headers_mut().insert("impersonate-user", user.parse().expect("a user"));
    send(case.client(), request).await
}

async fn grant(case: &Case, user: &str, rules: Value) {
    let body = json!({"metadata": {"name": "r"}, "rules": rules});
    assert_eq!(case.post(&case.path("roles.rbac.authorization.k8s.io/v1"), body).await.code, 201);
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"});
    let body =
        json!({"metadata": {"name": "b"}, "roleRef": role, "subjects": [{"kind": "User", "name": user}]});
    assert_eq!(case.post(&case.path("rolebindings.rbac.authorization.k8s.io/v1"), body).await.code, 201);
}

#[tokio::test]
async fn nothing_is_allowed_that_is_not_granted() {
    let case = Case::new().await;
    let answer = ask_as(&case, "alice", request("GET", &case.path("configmaps"), &Value::Null)).await;
    let message = format!(
        "configmaps is forbidden: User \"alice\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"{}\"",
        case.ns
    );
    assert_eq!((answer.code, answer.text("/message")), (403, message.as_str()));
}

#[tokio::test]
async fn a_role_and_its_binding_grant() {
    let case = Case::new().await;
    grant(&case, "alice", json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}])).await;
    let start = std::time::Instant::now();
    while ask_as(&case, "alice", request("GET", &case.path("configmaps"), &Value::Null)).await.code != 200 {
        assert!(start.elapsed().as_secs() < 30, "the grant never took effect");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let answer = ask_as(&case, "alice", request("GET", &case.path("configmaps/c"), &Value::Null)).await;
    assert_eq!(answer.code, 403, "get is not list");
}

#[tokio::test]
async fn a_review_says_what_a_request_would_meet() {
    let case = Case::new().await;
    let attributes = json!({"verb": "get", "resource": "pods", "namespace": case.ns});
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "alice", "resourceAttributes": attributes}});
    let answer = case.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review).await;
    assert_eq!((answer.code, answer.at("/status/allowed")), (201, &json!(false)));
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}});
    let answer = case.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review).await;
    assert_eq!(answer.at("/status/allowed"), true);
}

#[tokio::test]
async fn a_token_is_issued_and_recognised() {
    let case = Case::new().await;
    case.until(&case.path("serviceaccounts/default"), |answer| answer.code == 200).await;
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let issued = case.post(&case.path("serviceaccounts/default/token"), body).await;
    assert_eq!(issued.code, 201, "{}", issued.body);
    let spec = json!({"token": issued.text("/status/token")});
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
    let answer = case.post("/apis/authentication.k8s.io/v1/tokenreviews", review).await;
    assert_eq!(answer.at("/status/authenticated"), true, "{}", answer.body);
    assert_eq!(
        answer.at("/status/user/username"),
        &json!(format!("system:serviceaccount:{}:default", case.ns))
    );
}

#[tokio::test]
async fn nobody_grants_what_he_does_not_hold() {
    let case = Case::new().await;
    let rules =
        json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"]}]);
    grant(&case, "alice", rules).await;
    let body = json!({"metadata": {"name": "more"}, "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
    let path = case.path("roles.rbac.authorization.k8s.io/v1");
    let start = std::time::Instant::now();
    let answer = loop {
        let answer = ask_as(&case, "alice", request("POST", &path, &body)).await;
        // Until the grant is seen, the refusal is another one.
        if answer.text("/message").contains("attempting to grant") || start.elapsed().as_secs() > 30 {
            break answer;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!(answer.code, 403, "{}", answer.body);
    assert!(
        answer.text("/message").ends_with("{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}"),
        "{}",
        answer.body
    );
}
