use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::*;

/// Live objects by resource, namespace and name.
#[derive(Default, Clone)]
struct Objects(HashMap<(String, String, String), Arc<Value>>);

impl Objects {
    fn with(mut self, resource: &str, namespace: &str, name: &str, uid: &str, spec: Value) -> Self {
        let object =
            json!({ "metadata": { "name": name, "namespace": namespace, "uid": uid }, "spec": spec });
        self.0.insert((resource.into(), namespace.into(), name.into()), Arc::new(object));
        self
    }

    fn without(mut self, resource: &str, namespace: &str, name: &str) -> Self {
        self.0.remove(&(resource.into(), namespace.into(), name.into()));
        self
    }
}

impl CoreObjects for Objects {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.get(&(resource.into(), namespace.into(), name.into())).cloned()
    }
}

fn cluster() -> Objects {
    Objects::default()
        .with("serviceaccounts", "wl", "default", "sa-1", json!({}))
        .with("pods", "wl", "e1", "pod-1", json!({ "nodeName": "n1", "serviceAccountName": "default" }))
        .with("nodes", "", "n1", "node-1", json!({}))
        .with("secrets", "wl", "s1", "secret-1", json!({}))
}

fn authenticator() -> Authenticator {
    let mut tokens = StaticTokens::default();
    tokens.insert("admin-token", User::new("admin", ["system:masters"]));
    Authenticator { tokens, issuer: TokenIssuer::generate().unwrap(), anonymous: true }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_794_773_885 + second).unwrap()
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

fn bearer_of(token: &str) -> HeaderMap {
    headers(&[("authorization", &format!("Bearer {token}"))])
}

fn request(spec: Value) -> TokenRequest {
    serde_json::from_value(spec).unwrap()
}

/// A token for `wl/default` and the answer's spec.
fn token(authenticator: &Authenticator, spec: Value) -> (Value, String) {
    let (spec, status) = request(spec).answer(authenticator, "wl", "default", &cluster(), at(0)).unwrap();
    (spec, status["token"].as_str().unwrap().to_owned())
}

fn payload(token: &str, part: usize) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(part).unwrap()).unwrap()).unwrap()
}

#[test]
fn no_credential_is_anonymous_and_a_bad_one_is_refused() {
    let authenticator = authenticator();
    let who = |headers: &HeaderMap| authenticator.authenticate(headers, None, &cluster(), at(0));
    assert_eq!(who(&HeaderMap::new()), Ok(User::anonymous()));
    assert_eq!(User::anonymous().groups, ["system:unauthenticated"]);
    for header in ["Bearer nonsense", "Bearer a.b.c", "Bearer ", "Basic YTpi", "nonsense"] {
        assert_eq!(who(&headers(&[("authorization", header)])), Err(Unauthorized), "{header}");
    }
    let closed = Authenticator { anonymous: false, ..authenticator };
    assert_eq!(closed.authenticate(&HeaderMap::new(), None, &cluster(), at(0)), Err(Unauthorized));
}

#[test]
fn a_static_token_names_its_user() {
    let user = authenticator().authenticate(&bearer_of("admin-token"), None, &cluster(), at(0)).unwrap();
    assert_eq!(
        (user.name.as_str(), user.groups.as_slice()),
        ("admin", &["system:masters".to_owned(), "system:authenticated".to_owned()][..])
    );
}

#[test]
fn a_certificate_names_user_and_groups() {
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "alice");
    params.distinguished_name.push(rcgen::DnType::OrganizationName, "devs");
    let key = rcgen::KeyPair::generate().unwrap();
    let user = user_of_certificate(params.self_signed(&key).unwrap().der()).unwrap();
    assert_eq!(user, User::new("alice", ["devs"]));
    assert_eq!(user.groups, ["devs", "system:authenticated"]);
}

#[test]
fn a_service_account_token_has_the_real_servers_claims() {
    let authenticator = authenticator();
    let bound = json!({ "kind": "Pod", "apiVersion": "v1", "name": "e1" });
    let (spec, token) = token(&authenticator, json!({ "boundObjectRef": bound }));
    assert_eq!(spec["audiences"], json!(["https://kubernetes.default.svc"]));
    assert_eq!(spec["expirationSeconds"], 3600);
    let claims = payload(&token, 1);
    assert_eq!(claims["aud"], json!(["https://kubernetes.default.svc"]));
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 3600);
    assert_eq!(claims["nbf"], claims["iat"]);
    assert_eq!(claims["sub"], "system:serviceaccount:wl:default");
    assert_eq!(
        claims["kubernetes.io"],
        json!({
            "namespace": "wl",
            "serviceaccount": { "name": "default", "uid": "sa-1" },
            "pod": { "name": "e1", "uid": "pod-1" },
            "node": { "name": "n1", "uid": "node-1" },
        })
    );
    let user = authenticator.authenticate(&bearer_of(&token), None, &cluster(), at(5)).unwrap();
    assert_eq!(user.name, "system:serviceaccount:wl:default");
    assert_eq!(user.uid, "sa-1");
    assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:wl", "system:authenticated"]);
    assert_eq!(user.extra["authentication.kubernetes.io/pod-name"], ["e1"]);
    assert_eq!(user.extra["authentication.kubernetes.io/node-uid"], ["node-1"]);
    let jti = format!("JTI={}", claims["jti"].as_str().unwrap());
    assert_eq!(user.extra["authentication.kubernetes.io/credential-id"], [jti]);
}

#[test]
fn a_token_dies_with_time_and_with_what_it_is_bound_to() {
    let authenticator = authenticator();
    let who = |token: &str, objects: &Objects, second| {
        authenticator.authenticate(&bearer_of(token), None, objects, at(second)).is_ok()
    };
    let (_, plain) = token(&authenticator, json!({ "expirationSeconds": 600 }));
    assert!(who(&plain, &cluster(), 599));
    assert!(!who(&plain, &cluster(), 600), "expired");
    assert!(!who(&plain, &cluster(), -1), "not yet valid");
    assert!(
        !who(&plain, &cluster().without("serviceaccounts", "wl", "default"), 5),
        "ServiceAccount deleted"
    );
    let recreated = cluster().with("serviceaccounts", "wl", "default", "sa-2", json!({}));
    assert!(!who(&plain, &recreated, 5), "ServiceAccount recreated");
    for (kind, resource, name) in [("Pod", "pods", "e1"), ("Secret", "secrets", "s1")] {
        let bound = json!({ "kind": kind, "apiVersion": "v1", "name": name });
        let (_, token) = token(&authenticator, json!({ "boundObjectRef": bound }));
        assert!(who(&token, &cluster(), 5));
        assert!(!who(&token, &cluster().without(resource, "wl", name), 5), "{kind} deleted");
    }
}

#[test]
fn a_forged_token_is_refused() {
    let authenticator = authenticator();
    let (_, real) = token(&authenticator, json!({}));
    let parts: Vec<&str> = real.split('.').collect();
    let mut claims = payload(&real, 1);
    claims["sub"] = json!("system:serviceaccount:kube-system:admin");
    let claims = URL_SAFE_NO_PAD.encode(claims.to_string());
    let unsigned = URL_SAFE_NO_PAD.encode(json!({ "alg": "none" }).to_string());
    let (_, foreign) = token(&self::authenticator(), json!({}));
    for forged in [
        format!("{}.{claims}.{}", parts[0], parts[2]),
        format!("{unsigned}.{claims}."),
        format!("{}.{}.", parts[0], parts[1]),
        foreign,
    ] {
        let answer = authenticator.authenticate(&bearer_of(&forged), None, &cluster(), at(5));
        assert_eq!(answer, Err(Unauthorized), "{forged}");
    }
}

#[test]
fn the_tokens_of_projected_volumes_live_a_year() {
    let (_, token) = token(&authenticator(), json!({ "expirationSeconds": 3607 }));
    let claims = payload(&token, 1);
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 365 * 24 * 3600);
    assert_eq!(
        claims["kubernetes.io"]["warnafter"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(),
        3607
    );
}

#[test]
fn a_token_kept_in_a_secret_lives_as_long_as_the_secret() {
    let authenticator = authenticator();
    let account = Account { name: "default".into(), uid: "sa-1".into() };
    let token = authenticator.issuer.issue_legacy("wl", &account, "s1").unwrap();
    assert_eq!(payload(&token, 1)["iss"], "kubernetes/serviceaccount");
    let who = |objects: &Objects| authenticator.authenticate(&bearer_of(&token), None, objects, at(1 << 30));
    assert_eq!(who(&cluster()).unwrap().uid, "sa-1");
    assert_eq!(who(&cluster().without("secrets", "wl", "s1")), Err(Unauthorized));
}

#[test]
fn token_requests_are_refused_in_the_real_servers_words() {
    let authenticator = authenticator();
    let refused = |spec: Value, name: &str| {
        request(spec).answer(&authenticator, "wl", name, &cluster(), at(0)).unwrap_err().to_string()
    };
    assert_eq!(
        refused(json!({ "expirationSeconds": 5 }), "default"),
        "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes"
    );
    assert_eq!(refused(json!({}), "nope"), r#"serviceaccounts "nope" not found"#);
    let pod = |name: &str, uid: &str| json!({ "boundObjectRef": { "kind": "Pod", "apiVersion": "v1", "name": name, "uid": uid } });
    assert_eq!(refused(pod("zz", ""), "default"), r#"pods "zz" not found"#);
    let conflict = request(pod("e1", "other")).answer(&authenticator, "wl", "default", &cluster(), at(0));
    assert!(matches!(conflict, Err(TokenRefused::Conflict { kind, .. }) if kind == "Pod"));
}

#[test]
fn token_reviews_tell_user_audiences_or_error() {
    let authenticator = authenticator();
    let review = |spec: Value| {
        serde_json::from_value::<TokenReview>(spec).unwrap().answer(&authenticator, &cluster(), at(5))
    };
    let (_, ours) = token(&authenticator, json!({}));
    let good = review(json!({ "token": ours })).unwrap();
    assert_eq!(good["authenticated"], true);
    assert_eq!(good["user"]["username"], "system:serviceaccount:wl:default");
    assert_eq!(good["audiences"], json!(["https://kubernetes.default.svc"]));
    let (_, theirs) = token(&authenticator, json!({ "audiences": ["a1", "a2"] }));
    assert_eq!(
        review(json!({ "token": theirs, "audiences": ["a2", "a3"] })).unwrap()["audiences"],
        json!(["a2"])
    );
    let (_, single) = token(&authenticator, json!({ "audiences": ["a1"] }));
    assert_eq!(
        review(json!({ "token": single })).unwrap(),
        json!({ "user": {}, "error": "[invalid bearer token, token audiences [\"a1\"] is invalid for the target audiences [\"https://kubernetes.default.svc\"]]" })
    );
    assert_eq!(
        review(json!({ "token": "x" })).unwrap(),
        json!({ "user": {}, "error": "invalid bearer token" })
    );
    assert_eq!(
        review(json!({})).unwrap_err().to_string(),
        "token is required for TokenReview in authentication"
    );
}

#[test]
fn the_published_key_checks_the_tokens() {
    let authenticator = authenticator();
    let (_, token) = token(&authenticator, json!({}));
    let discovery = authenticator.issuer.discovery("https://127.0.0.1:6443");
    assert_eq!(discovery.configuration["issuer"], "https://kubernetes.default.svc");
    assert_eq!(discovery.configuration["jwks_uri"], "https://127.0.0.1:6443/openid/v1/jwks");
    let keys: jsonwebtoken::jwk::JwkSet = serde_json::from_value(discovery.keys).unwrap();
    let header = jsonwebtoken::decode_header(&token).unwrap();
    let key = jsonwebtoken::DecodingKey::from_jwk(keys.find(&header.kid.unwrap()).unwrap()).unwrap();
    let mut validation = jsonwebtoken::Validation::new(header.alg);
    validation.set_audience(&["https://kubernetes.default.svc"]);
    validation.validate_exp = false;
    assert!(jsonwebtoken::decode::<Value>(&token, &key, &validation).is_ok());
}

#[test]
fn impersonation_needs_rights_on_each_part() {
    let asked = Impersonation::requested(&headers(&[
        ("impersonate-user", "system:serviceaccount:a:b"),
        ("impersonate-uid", "u1"),
        ("impersonate-extra-acme.com%2fproject", "p"),
    ]))
    .unwrap()
    .unwrap();
    let needs: Vec<_> =
        asked.needs().into_iter().map(|n| (n.resource, n.subresource, n.namespace, n.name)).collect();
    assert_eq!(
        needs,
        [
            ("serviceaccounts", "", "a", "b"),
            ("uids", "", "", "u1"),
            ("userextras", "acme.com/project", "", "p")
        ]
    );
    let user = asked.into_user();
    assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"]);
    assert_eq!(user.extra["acme.com/project"], ["p"]);
}

#[test]
fn impersonating_groups_without_a_user_is_refused() {
    let error = Impersonation::requested(&headers(&[("impersonate-group", "g1")])).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g1"}, Extra:map[string][]string(nil)} without impersonating a user name"#
    );
    assert_eq!(Impersonation::requested(&HeaderMap::new()), Ok(None));
    let groups =
        headers(&[("impersonate-user", "bob"), ("impersonate-group", "g1"), ("impersonate-group", "g2")]);
    let user = Impersonation::requested(&groups).unwrap().unwrap().into_user();
    assert_eq!(user.groups, ["g1", "g2", "system:authenticated"]);
}
