//! Who is let in, over a real TLS socket: client certificates, tokens good and bad, and nobody at all.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::Request;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use plane::Plane;
use plane::clock::Clock;
use plane::hooks::User;
use plane::listen::Authority;
use plane::security::Security;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A clock that moves when it is told to.
#[derive(Debug)]
struct Wall(Mutex<Timestamp>);

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// A secured plane behind TLS.
struct Served {
    plane: Plane,
    wall: Arc<Wall>,
    port: u16,
    authority: Authority,
    _stop: DropGuard,
}

async fn serve() -> Served {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let authority = Authority::new("test").unwrap();
    let tls = authority.tls(&authority.server(&["127.0.0.1"]).unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, stop) = (listener.local_addr().unwrap().port(), CancellationToken::new());
    let wall = Arc::new(Wall(Mutex::new("2026-01-01T00:00:00Z".parse().unwrap())));
    let plane = Plane::builder().security(Security::enforced()).clock(wall.clone()).build();
    let (serving, stopping) = (plane.clone(), stop.clone());
    tokio::spawn(async move { serving.serve(listener, Some(tls), stopping).await });
    Served { plane, wall, port, authority, _stop: stop.drop_guard() }
}

impl Served {
    /// A client with these credentials (the `user` of a kubeconfig).
    async fn client(&self, user: Value) -> Client {
        let kubeconfig: Kubeconfig = serde_json::from_value(json!({
            "clusters": [{ "name": "x", "cluster": { "server": format!("https://127.0.0.1:{}", self.port),
                "certificate-authority-data": STANDARD.encode(self.authority.pem()) } }],
            "users": [{ "name": "x", "user": user }],
            "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x", "namespace": "default" } }],
            "current-context": "x",
        }))
        .unwrap();
        let mut config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        config.default_retry = false;
        Client::try_from(config).unwrap()
    }

    async fn with_certificate(&self, authority: &Authority, user: &User) -> Client {
        let issued = authority.client(user).unwrap();
        let encoded = |text: &str| STANDARD.encode(text);
        self.client(json!({ "client-certificate-data": encoded(&issued.certificate), "client-key-data": encoded(&issued.key) }))
            .await
    }

    async fn with_token(&self, token: &str) -> Client {
        self.client(json!({ "token": token })).await
    }

    /// Lets a subject list ConfigMaps.
    async fn grant(&self, subject: Value) {
        let role = json!({ "metadata": { "name": "reader" },
            "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"] }] });
        let binding = json!({ "metadata": { "name": "reader" }, "subjects": [subject],
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader" } });
        let admin = self.plane.client();
        let roles: Api<ClusterRole> = Api::all(admin.clone());
        roles.create(&PostParams::default(), &serde_json::from_value(role).unwrap()).await.unwrap();
        let bindings: Api<ClusterRoleBinding> = Api::all(admin);
        bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
    }

    /// A token of the ServiceAccount `bot`, which may list ConfigMaps.
    async fn bot(&self, spec: Value) -> String {
        let admin = self.plane.client();
        let accounts: Api<ServiceAccount> = Api::default_namespaced(admin.clone());
        if accounts.get_opt("bot").await.unwrap().is_none() {
            let bot = serde_json::from_value(json!({ "metadata": { "name": "bot" } })).unwrap();
            accounts.create(&PostParams::default(), &bot).await.unwrap();
            self.grant(json!({ "kind": "ServiceAccount", "namespace": "default", "name": "bot" })).await;
        }
        let request = Request::post("/api/v1/namespaces/default/serviceaccounts/bot/token")
            .body(json!({ "spec": spec }).to_string().into_bytes())
            .unwrap();
        let answer: Value = admin.request(request).await.unwrap();
        answer["status"]["token"].as_str().unwrap().to_owned()
    }
}

/// The code of a list of ConfigMaps, 200 if it is answered.
async fn code(client: &Client) -> u16 {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    match maps.list(&ListParams::default()).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_certificate_names_its_user_and_rights_decide() {
    let served = serve().await;
    let alice = served.with_certificate(&served.authority, &User::new("alice", ["devs"])).await;
    let who: Value = {
        let request =
            Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews").body(b"{}".to_vec()).unwrap();
        alice.request(request).await.unwrap()
    };
    assert_eq!(
        who["status"]["userInfo"],
        json!({ "username": "alice", "groups": ["devs", "system:authenticated"] })
    );
    let maps: Api<ConfigMap> = Api::default_namespaced(alice.clone());
    let Err(kube::Error::Api(refused)) = maps.list(&ListParams::default()).await else { panic!("let in") };
    assert_eq!(
        refused.message,
        r#"configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "default""#
    );
    served.grant(json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "devs" })).await;
    assert_eq!(code(&alice).await, 200);
    let bob = served.with_certificate(&served.authority, &User::new("bob", ["ops"])).await;
    assert_eq!(code(&bob).await, 403);
    let admin = served.with_certificate(&served.authority, &User::new("root", ["system:masters"])).await;
    assert_eq!(code(&admin).await, 200);
}

#[tokio::test]
async fn a_certificate_of_somebody_else_opens_nothing() {
    let served = serve().await;
    let forger = Authority::new("forger").unwrap();
    let client = served.with_certificate(&forger, &User::new("root", ["system:masters"])).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let outcome = maps.list(&ListParams::default()).await;
    assert!(
        !matches!(&outcome, Ok(_) | Err(kube::Error::Api(_))),
        "the connection itself is refused: {outcome:?}"
    );
}

#[tokio::test]
async fn nobody_sees_the_version_and_little_else() {
    let served = serve().await;
    let nobody = served.client(json!({})).await;
    assert_eq!(code(&nobody).await, 403);
    assert_eq!(nobody.apiserver_version().await.unwrap().minor, "36");
}

#[tokio::test]
async fn a_token_is_good_until_it_expires() {
    let served = serve().await;
    let token = served.bot(json!({ "expirationSeconds": 600 })).await;
    let bot = served.with_token(&token).await;
    assert_eq!(code(&bot).await, 200);
    *served.wall.0.lock().unwrap() += Duration::from_secs(599);
    assert_eq!(code(&bot).await, 200);
    *served.wall.0.lock().unwrap() += Duration::from_secs(1);
    assert_eq!(code(&bot).await, 401, "expired, although its signature was found good before");
    *served.wall.0.lock().unwrap() -= Duration::from_secs(3600);
    assert_eq!(code(&bot).await, 401, "and not yet valid before it was made");
}

#[tokio::test]
async fn a_token_for_others_is_none_for_the_server() {
    let served = serve().await;
    let foreign = served.bot(json!({ "audiences": ["vault"] })).await;
    assert_eq!(code(&served.with_token(&foreign).await).await, 401);
    let both = served.bot(json!({ "audiences": ["vault", "https://kubernetes.default.svc"] })).await;
    assert_eq!(code(&served.with_token(&both).await).await, 200);
}

#[tokio::test]
async fn a_token_dies_with_its_account() {
    let served = serve().await;
    let token = served.bot(json!({})).await;
    let accounts: Api<ServiceAccount> = Api::default_namespaced(served.plane.client());
    accounts.delete("bot", &DeleteParams::default()).await.unwrap();
    let bot = serde_json::from_value(json!({ "metadata": { "name": "bot" } })).unwrap();
    accounts.create(&PostParams::default(), &bot).await.unwrap();
    assert_eq!(code(&served.with_token(&token).await).await, 401, "a namesake is somebody else");
}

#[tokio::test]
async fn forged_tokens_open_nothing() {
    let served = serve().await;
    let token = served.bot(json!({})).await;
    let parts: Vec<&str> = token.split('.').collect();
    let [header, payload, signature] = parts.as_slice() else { panic!("{token}") };
    let decoded =
        |part: &str| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let mut promoted = decoded(payload);
    promoted["sub"] = json!("system:serviceaccount:kube-system:admin");
    promoted["kubernetes.io"]["namespace"] = json!("kube-system");
    promoted["kubernetes.io"]["serviceaccount"]["name"] = json!("admin");
    let mut longer = decoded(payload);
    longer["exp"] = json!(9_999_999_999_i64);
    let mut unsigned = decoded(header);
    unsigned["alg"] = json!("none");
    // The classic: the public key, which everybody has, taken for a shared secret.
    let mut symmetric = decoded(header);
    symmetric["alg"] = json!("HS256");
    let other = serve().await.bot(json!({})).await;
    for (what, forged) in [
        ("another account", format!("{header}.{}.{signature}", encoded(&promoted))),
        ("a longer life", format!("{header}.{}.{signature}", encoded(&longer))),
        ("no algorithm", format!("{}.{payload}.", encoded(&unsigned))),
        ("another algorithm", format!("{}.{payload}.{signature}", encoded(&symmetric))),
        ("no signature", format!("{header}.{payload}.")),
        ("half a token", format!("{header}.{payload}")),
        ("a token of another server", other),
    ] {
        assert_eq!(code(&served.with_token(&forged).await).await, 401, "{what}");
    }
    assert_eq!(code(&served.with_token(&token).await).await, 200, "the real one is good");
}

#[tokio::test]
async fn others_can_check_a_token_by_the_published_keys() {
    let served = serve().await;
    let token = served.bot(json!({ "audiences": ["vault"] })).await;
    let admin = served.with_certificate(&served.authority, &User::new("root", ["system:masters"])).await;
    let get = async |path: &str| {
        let request = Request::get(path).header("accept", "*/*").body(vec![]).unwrap();
        serde_json::from_str::<Value>(&admin.request_text(request).await.unwrap()).unwrap()
    };
    let document = get("/.well-known/openid-configuration").await;
    assert_eq!(document["issuer"], "https://kubernetes.default.svc");
    let keys = document["jwks_uri"].as_str().unwrap();
    assert_eq!(keys, format!("https://127.0.0.1:{}/openid/v1/jwks", served.port));
    let keys = get(keys.strip_prefix(&format!("https://127.0.0.1:{}", served.port)).unwrap()).await;
    let jwk: jsonwebtoken::jwk::Jwk = serde_json::from_value(keys["keys"][0].clone()).unwrap();
    let header = jsonwebtoken::decode_header(&token).unwrap();
    assert_eq!(header.kid, jwk.common.key_id);
    let mut validation = jsonwebtoken::Validation::new(header.alg);
    validation.validate_exp = false; // the plane's clock is not this machine's
    validation.set_audience(&["vault"]);
    validation.set_issuer(&["https://kubernetes.default.svc"]);
    let key = jsonwebtoken::DecodingKey::from_jwk(&jwk).unwrap();
    let claims = jsonwebtoken::decode::<Value>(&token, &key, &validation).unwrap().claims;
    assert_eq!(claims["sub"], "system:serviceaccount:default:bot");
}

#[tokio::test]
async fn whoever_may_acts_as_another_over_the_wire() {
    let served = serve().await;
    served.grant(json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "carol" })).await;
    let user = User::new("root", ["system:masters"]);
    let issued = served.authority.client(&user).unwrap();
    let acting = |who: &str| {
        json!({ "client-certificate-data": STANDARD.encode(&issued.certificate),
            "client-key-data": STANDARD.encode(&issued.key), "as": who })
    };
    assert_eq!(code(&served.client(acting("carol")).await).await, 200);
    assert_eq!(
        code(&served.client(acting("dave")).await).await,
        403,
        "an administrator acting as dave is dave"
    );
}
