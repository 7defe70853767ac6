//! Who may do what, through the API: RBAC, tokens, reviews, impersonation.

use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::Api;
use kube::api::PostParams;
use plane::Plane;
use plane::hooks::User;
use plane::security::Security;
use serde_json::{Value, json};
use tower::ServiceExt;

const ADMIN: &str = "admin-token";
const ALICE: &str = "alice-token";

fn secured() -> Plane {
    let security = Security::enforced()
        .token(ADMIN, User::new("admin", ["system:masters"]))
        .token(ALICE, User::new("alice", ["devs"]));
    Plane::builder().security(security).build()
}

/// Code and body of a request with these headers.
async fn send(
    plane: &Plane,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Value,
) -> (u16, Value) {
    let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let response = plane.service().oneshot(request.body(body).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes))))
}

async fn as_token(plane: &Plane, token: &str, method: Method, path: &str, body: Value) -> (u16, Value) {
    send(plane, method, path, &[("authorization", &format!("Bearer {token}"))], body).await
}

async fn admin(plane: &Plane, method: Method, path: &str, body: Value) -> Value {
    let (code, answer) = as_token(plane, ADMIN, method, path, body).await;
    assert!(code < 300, "{path}: {code} {answer}");
    answer
}

async fn alice(plane: &Plane, method: Method, path: &str, body: Value) -> (u16, Value) {
    as_token(plane, ALICE, method, path, body).await
}

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

async fn grant(plane: &Plane, name: &str, rules: Value) {
    admin(
        plane,
        Method::POST,
        &format!("{RBAC}/clusterroles"),
        json!({ "metadata": { "name": name }, "rules": rules }),
    )
    .await;
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io" }],
    });
    admin(plane, Method::POST, &format!("{RBAC}/clusterrolebindings"), binding).await;
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": groups, "resources": resources, "verbs": verbs })
}

#[tokio::test]
async fn only_who_has_the_right_gets_in_and_a_grant_counts_at_once() {
    let plane = secured();
    let path = "/api/v1/namespaces/default/configmaps";
    let (code, refusal) = alice(&plane, Method::GET, path, Value::Null).await;
    assert_eq!(code, 403);
    assert_eq!(
        refusal["message"],
        r#"configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "default""#
    );
    assert_eq!(refusal["details"], json!({ "kind": "configmaps" }));
    grant(&plane, "reader", json!([rule(&[""], &["configmaps"], &["list"])])).await;
    assert_eq!(alice(&plane, Method::GET, path, Value::Null).await.0, 200);
    assert_eq!(alice(&plane, Method::POST, path, json!({ "metadata": { "name": "x" } })).await.0, 403);
    admin(&plane, Method::DELETE, &format!("{RBAC}/clusterrolebindings/reader"), Value::Null).await;
    assert_eq!(alice(&plane, Method::GET, path, Value::Null).await.0, 403, "nor does a withdrawn one linger");
}

#[tokio::test]
async fn without_credentials_one_sees_the_version_and_little_else() {
    let plane = secured();
    let get = async |path: &str, headers: &[(&str, &str)]| {
        send(&plane, Method::GET, path, headers, Value::Null).await
    };
    assert_eq!(get("/version", &[]).await.0, 200);
    assert_eq!(get("/apis", &[]).await.0, 403);
    let (code, refusal) = get("/api/v1/namespaces", &[("authorization", "Bearer nonsense")]).await;
    assert_eq!((code, refusal["message"].as_str()), (401, Some("Unauthorized")));
    assert_eq!(alice(&plane, Method::GET, "/apis", Value::Null).await.0, 200);
    let (code, refusal) = alice(&plane, Method::GET, "/logs", Value::Null).await;
    assert_eq!(
        (code, refusal["message"].as_str()),
        (403, Some(r#"forbidden: User "alice" cannot get path "/logs""#))
    );
}

#[tokio::test]
async fn a_resource_name_in_a_field_selector_is_a_name() {
    let plane = secured();
    let rules = json!([{ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"], "verbs": ["list"] }]);
    grant(&plane, "one", rules).await;
    let path = "/api/v1/namespaces/default/configmaps";
    assert_eq!(
        alice(&plane, Method::GET, &format!("{path}?fieldSelector=metadata.name%3Dmine"), Value::Null)
            .await
            .0,
        200
    );
    assert_eq!(
        alice(&plane, Method::GET, &format!("{path}?fieldSelector=metadata.name%3Dother"), Value::Null)
            .await
            .0,
        403
    );
    assert_eq!(alice(&plane, Method::GET, path, Value::Null).await.0, 403);
}

#[tokio::test]
async fn nobody_grants_what_they_do_not_hold() {
    let plane = secured();
    let writes = &["create", "update", "get"];
    grant(
        &plane,
        "rbac-writer",
        json!([
            rule(&["rbac.authorization.k8s.io"], &["roles", "rolebindings"], writes),
            rule(&[""], &["pods"], &["get"])
        ]),
    )
    .await;
    let roles = format!("{RBAC}/namespaces/default/roles");
    let role = |rules: Value| json!({ "metadata": { "name": "esc" }, "rules": rules });
    let (code, refusal) = alice(
        &plane,
        Method::POST,
        &roles,
        role(json!([rule(&[""], &["secrets", "pods"], &["get", "list"])])),
    )
    .await;
    assert_eq!(code, 403);
    assert_eq!(
        refusal["message"],
        "roles.rbac.authorization.k8s.io \"esc\" is forbidden: user \"alice\" (groups=[\"devs\" \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}\n\
         {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}"
    );
    assert_eq!(
        alice(&plane, Method::POST, &roles, role(json!([rule(&[""], &["pods"], &["get"])]))).await.0,
        201
    );
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    let bind = |kind: &str, role: &str| {
        json!({ "metadata": { "name": "b" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role },
            "subjects": [{ "kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io" }] })
    };
    let (code, refusal) = alice(&plane, Method::POST, &bindings, bind("ClusterRole", "cluster-admin")).await;
    assert_eq!(code, 403, "{refusal}");
    let (code, refusal) = alice(&plane, Method::POST, &bindings, bind("Role", "doesnotexist")).await;
    assert_eq!(
        (code, refusal["message"].as_str()),
        (404, Some(r#"rolebindings.rbac.authorization.k8s.io "doesnotexist" not found"#))
    );
    grant(
        &plane,
        "binder",
        json!([rule(&["rbac.authorization.k8s.io"], &["roles", "clusterroles"], &["bind"])]),
    )
    .await;
    assert_eq!(
        alice(&plane, Method::POST, &bindings, bind("ClusterRole", "cluster-admin")).await.0,
        201,
        "unless they may bind it"
    );
}

#[tokio::test]
async fn an_aggregated_role_follows_its_parts() {
    let plane = secured();
    let client = plane.client();
    let part = json!({
        "metadata": { "name": "widgets-view", "labels": { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
        "rules": [rule(&["example.com"], &["widgets"], &["get"])],
    });
    admin(&plane, Method::POST, &format!("{RBAC}/clusterroles"), part).await;
    let roles: Api<k8s_openapi::api::rbac::v1::ClusterRole> = Api::all(client);
    for name in ["view", "edit", "admin"] {
        let done = kube::runtime::wait::await_condition(
            roles.clone(),
            name,
            |role: Option<&k8s_openapi::api::rbac::v1::ClusterRole>| {
                let rules = role.and_then(|role| role.rules.as_ref());
                rules.is_some_and(|rules| {
                    rules.iter().any(|rule| rule.api_groups == Some(vec!["example.com".into()]))
                })
            },
        );
        tokio::time::timeout(std::time::Duration::from_secs(10), done).await.expect(name).unwrap();
    }
}

#[tokio::test]
async fn a_service_account_acts_under_its_own_rights() {
    let plane = secured();
    let accounts: Api<ServiceAccount> = Api::default_namespaced(plane.client());
    let account: ServiceAccount = serde_json::from_value(json!({ "metadata": { "name": "bot" } })).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let path = "/api/v1/namespaces/default/serviceaccounts/bot/token";
    let answer = admin(&plane, Method::POST, path, json!({ "spec": { "expirationSeconds": 600 } })).await;
    assert_eq!(answer["kind"], "TokenRequest");
    let token = answer["status"]["token"].as_str().unwrap();
    let (_, who) =
        as_token(&plane, token, Method::POST, "/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({}))
            .await;
    assert_eq!(who["status"]["userInfo"]["username"], "system:serviceaccount:default:bot");
    let (code, _) =
        as_token(&plane, token, Method::GET, "/api/v1/namespaces/default/configmaps", Value::Null).await;
    assert_eq!(code, 403);
    let review = json!({ "spec": { "token": token } });
    let seen =
        admin(&plane, Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", review.clone()).await;
    assert_eq!(seen["status"]["authenticated"], true);
    accounts.delete("bot", &Default::default()).await.unwrap();
    let seen = admin(&plane, Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", review).await;
    let gone = r#"[invalid bearer token, serviceaccounts "bot" not found]"#;
    assert_eq!(seen["status"], json!({ "user": {}, "error": gone }));
    let (code, _) = as_token(&plane, token, Method::GET, "/version", Value::Null).await;
    assert_eq!(code, 401, "its token dies with it");
    let (code, refusal) =
        as_token(&plane, ADMIN, Method::POST, path, json!({ "spec": { "expirationSeconds": 5 } })).await;
    assert_eq!(code, 422);
    assert_eq!(
        refusal["message"],
        r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes"#
    );
}

#[tokio::test]
async fn the_keys_of_tokens_are_published() {
    let plane = secured();
    let get = async |path: &str, accept: &str| {
        let headers =
            [("authorization", "Bearer admin-token"), ("host", "127.0.0.1:6443"), ("accept", accept)];
        send(&plane, Method::GET, path, &headers, Value::Null).await
    };
    let (code, document) = get("/.well-known/openid-configuration", "*/*").await;
    assert_eq!((code, &document["jwks_uri"]), (200, &json!("https://127.0.0.1:6443/openid/v1/jwks")));
    let (code, keys) = get("/openid/v1/jwks", "application/jwk-set+json").await;
    assert_eq!((code, &keys["keys"][0]["use"]), (200, &json!("sig")));
    assert_eq!(get("/openid/v1/jwks", "application/json").await.0, 406);
}

#[tokio::test]
async fn acting_as_another_needs_the_right_to() {
    let plane = secured();
    let path = "/api/v1/namespaces/a/pods";
    let send = async |path: &str, headers: &[(&str, &str)]| {
        let mut all = vec![("authorization", "Bearer alice-token")];
        all.extend(headers);
        send(&plane, Method::GET, path, &all, Value::Null).await
    };
    let (code, refusal) = send(path, &[("impersonate-user", "system:serviceaccount:a:b")]).await;
    assert_eq!(code, 403);
    assert_eq!(
        refusal["message"],
        r#"serviceaccounts "b" is forbidden: User "alice" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "a""#
    );
    let (_, refusal) = send("/api/v1/pods", &[("impersonate-user", "bob")]).await;
    assert_eq!(
        refusal["message"],
        r#"pods is forbidden: User "alice" cannot impersonate-on:user-info:list resource "pods" in API group "" at the cluster scope"#
    );
    grant(&plane, "actor", json!([rule(&[""], &["users", "groups"], &["impersonate"])])).await;
    let (code, refusal) =
        send("/api/v1/pods", &[("impersonate-user", "bob"), ("impersonate-group", "ops")]).await;
    assert_eq!(code, 403);
    assert!(refusal["message"].as_str().unwrap().contains(r#"User "bob" cannot list"#), "{refusal}");
    let (code, _) =
        send("/api/v1/pods", &[("impersonate-user", "bob"), ("impersonate-group", "system:masters")]).await;
    assert_eq!(code, 200);
    let (code, refusal) = send("/api/v1/pods", &[("impersonate-group", "g1")]).await;
    assert_eq!(code, 400);
    assert!(refusal["message"].as_str().unwrap().ends_with("without impersonating a user name"), "{refusal}");
}

#[tokio::test]
async fn access_reviews_answer_what_authorisation_would() {
    let plane = secured();
    grant(&plane, "alice1", json!([rule(&[""], &["pods"], &["get"])])).await;
    let authorization = "/apis/authorization.k8s.io/v1";
    let attributes = |verb: &str| json!({ "spec": { "resourceAttributes": { "verb": verb, "resource": "pods", "namespace": "x" } } });
    let (code, review) =
        alice(&plane, Method::POST, &format!("{authorization}/selfsubjectaccessreviews"), attributes("get"))
            .await;
    assert_eq!(code, 201);
    assert_eq!(review["kind"], "SelfSubjectAccessReview");
    assert_eq!(
        review["status"],
        json!({ "allowed": true, "reason": r#"RBAC: allowed by ClusterRoleBinding "alice1" of ClusterRole "alice1" to User "alice""# })
    );
    let (_, review) = alice(
        &plane,
        Method::POST,
        &format!("{authorization}/selfsubjectaccessreviews"),
        attributes("delete"),
    )
    .await;
    assert_eq!(review["status"], json!({ "allowed": false }));
    let (code, refusal) = as_token(
        &plane,
        ADMIN,
        Method::POST,
        &format!("{authorization}/subjectaccessreviews"),
        attributes("get"),
    )
    .await;
    assert_eq!(code, 422);
    assert_eq!(
        refusal["message"],
        r#".authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified"#
    );
    let (_, rules) = alice(
        &plane,
        Method::POST,
        &format!("{authorization}/selfsubjectrulesreviews"),
        json!({ "spec": { "namespace": "x" } }),
    )
    .await;
    let pods = rules["status"]["resourceRules"]
        .as_array()
        .unwrap()
        .iter()
        .any(|rule| rule["resources"] == json!(["pods"]));
    assert!(pods, "{rules}");
}

#[tokio::test]
async fn a_controller_runs_under_its_own_identity() {
    let plane = secured();
    let user = User::service_account("default", "operator");
    let api: Api<ConfigMap> = Api::default_namespaced(plane.client_as(user));
    let error = api.list(&Default::default()).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.is_forbidden()));
}

#[tokio::test]
async fn protobuf_bodies_are_read() {
    let plane = secured();
    let name = b"\x0a\x02pb";
    let meta = [&[0x0a, name.len() as u8][..], name].concat();
    let type_meta = b"\x0a\x02v1\x12\x0eServiceAccount";
    let unknown = [&[0x0a, type_meta.len() as u8][..], type_meta, &[0x12, meta.len() as u8], &meta].concat();
    let body = [b"k8s\0", &unknown[..]].concat();
    let request = Request::post("/api/v1/namespaces/default/serviceaccounts")
        .header("content-type", "application/vnd.kubernetes.protobuf")
        .header("authorization", "Bearer admin-token")
        .header("accept", "application/vnd.kubernetes.protobuf,application/json")
        .body(Body::from(body))
        .unwrap();
    let response = plane.service().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 201);
    let accounts: Api<ServiceAccount> = Api::default_namespaced(plane.client());
    assert!(accounts.get_opt("pb").await.unwrap().is_some());
}
