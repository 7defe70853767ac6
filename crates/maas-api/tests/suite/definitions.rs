//! What the API server accepts and refuses of MaaS' kinds: every rule of the five definitions, with its message.

use kube::{
    Api, ResourceExt,
    api::{DynamicObject, PostParams},
    core::ApiResource,
};
use plane::Plane;
use serde_json::{Value, json};

/// A plane that knows the kinds, and tries objects on it.
struct Server(Plane);

impl Server {
    async fn start() -> Self {
        let plane = Plane::new();
        let client = plane.client();
        for crd in quintet_api::maas::crds() {
            Api::all(client.clone()).create(&PostParams::default(), &crd).await.expect("a definition");
        }
        Self(plane)
    }

    /// The object as it would be stored, or why it would not be.
    async fn try_create(&self, kind: &str, object: &Value) -> Result<Value, String> {
        let crd = quintet_api::maas::crds().into_iter().find(|crd| crd.spec.names.kind == kind);
        let names = crd.expect("a kind of ours").spec.names;
        let resource = ApiResource {
            group: quintet_api::maas::GROUP.into(),
            version: "v1alpha1".into(),
            api_version: "maas.opendatahub.io/v1alpha1".into(),
            kind: kind.into(),
            plural: names.plural,
        };
        let mut object = object.clone();
        object["apiVersion"] = resource.api_version.clone().into();
        object["kind"] = kind.into();
        if object["metadata"].is_null() {
            object["metadata"] = json!({"name": "x"});
        }
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let api: Api<DynamicObject> = Api::namespaced_with(self.0.client(), "default", &resource);
        let params = PostParams { dry_run: true, ..Default::default() };
        match api.create(&params, &object).await {
            Ok(stored) => Ok(stored.data),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn accepts(&self, kind: &str, object: Value) -> Value {
        let stored = self.try_create(kind, &object).await;
        stored.unwrap_or_else(|error| panic!("{kind} {object} is refused: {error}"))
    }

    async fn refuses(&self, kind: &str, object: Value, messages: &[&str]) {
        let Err(error) = self.try_create(kind, &object).await else { panic!("{kind} {object} is accepted") };
        for message in messages {
            assert!(error.contains(message), "{kind} {object}: {message:?} is not in {error:?}");
        }
    }
}

/// The object with one member of its spec (by JSON pointer) replaced, or removed if null.
fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let parent = object.pointer_mut(&format!("/spec{parent}")).expect("a place");
    match (value, parent) {
        (Value::Null, Value::Object(map)) => drop(map.remove(name)),
        (value, parent) => parent[name] = value,
    }
    object
}

fn long(length: usize) -> Value {
    "a".repeat(length).into()
}

fn external_model() -> Value {
    json!({"spec": {
        "provider": "openai", "targetModel": "gpt-4o", "endpoint": "api.openai.com", "credentialRef": {"name": "k"},
    }})
}

#[tokio::test]
async fn an_external_model_names_provider_model_host_and_secret() {
    let server = Server::start().await;
    for good in [
        external_model(),
        with(external_model(), "/provider", "anything at all".into()),
        with(external_model(), "/provider", long(63)),
        with(external_model(), "/targetModel", long(253)),
        with(external_model(), "/endpoint", "localhost".into()),
        with(external_model(), "/endpoint", "10.0.0.1".into()),
        json!({}), // stored by the original, and served by nobody
    ] {
        server.accepts("ExternalModel", good).await;
    }
    for (pointer, value, messages) in [
        ("/provider", Value::Null, ["spec.provider", "Required value"]),
        ("/provider", "".into(), ["spec.provider", "should be at least 1 chars long"]),
        ("/provider", long(64), ["spec.provider", "Too long: may not be more than 63"]),
        ("/targetModel", Value::Null, ["spec.targetModel", "Required value"]),
        ("/targetModel", long(254), ["spec.targetModel", "Too long: may not be more than 253"]),
        ("/endpoint", "https://api.openai.com".into(), ["spec.endpoint", "should match"]),
        ("/endpoint", "api.openai.com/v1".into(), ["spec.endpoint", "should match"]),
        ("/endpoint", "-a.example".into(), ["spec.endpoint", "should match"]),
        ("/credentialRef", Value::Null, ["spec.credentialRef", "Required value"]),
        ("/credentialRef", json!({}), ["spec.credentialRef.name", "Required value"]),
        ("/credentialRef/name", "".into(), ["spec.credentialRef.name", "should be at least 1 chars long"]),
        ("/provider", json!(1), ["spec.provider", "must be of type string"]),
    ] {
        server.refuses("ExternalModel", with(external_model(), pointer, value), &messages).await;
    }
    let phase = json!({"spec": external_model()["spec"], "status": {"phase": "Odd"}});
    server.accepts("ExternalModel", phase).await; // a status is not looked at here: it has its own door
}

fn model_ref() -> Value {
    json!({"spec": {"modelRef": {"kind": "LLMInferenceService", "name": "llama"}}})
}

#[tokio::test]
async fn a_model_is_run_by_one_of_two_kinds() {
    let server = Server::start().await;
    for good in [
        model_ref(),
        with(model_ref(), "/modelRef/kind", "ExternalModel".into()),
        with(model_ref(), "/modelRef/name", long(253)),
        with(model_ref(), "/endpointOverride", "not even a URL".into()),
    ] {
        server.accepts("MaaSModelRef", good).await;
    }
    for (pointer, value, messages) in [
        (
            "/modelRef/kind",
            "llmisvc".into(),
            ["spec.modelRef.kind", "supported values: \"LLMInferenceService\", \"ExternalModel\""],
        ),
        ("/modelRef/kind", Value::Null, ["spec.modelRef.kind", "Required value"]),
        ("/modelRef/name", "".into(), ["spec.modelRef.name", "should be at least 1 chars long"]),
        ("/modelRef/name", long(254), ["spec.modelRef.name", "Too long: may not be more than 253"]),
        ("/modelRef", Value::Null, ["spec.modelRef", "Required value"]),
    ] {
        server.refuses("MaaSModelRef", with(model_ref(), pointer, value), &messages).await;
    }
}

fn auth_policy() -> Value {
    json!({"spec": {
        "modelRefs": [{"name": "llama", "namespace": "llm"}], "subjects": {"groups": [{"name": "g1"}], "users": []},
    }})
}

#[tokio::test]
async fn a_policy_names_models_and_somebody() {
    let server = Server::start().await;
    for subjects in [
        json!({"groups": [{"name": "g1"}]}),
        json!({"users": ["alice"]}),
        json!({"groups": [{"name": "g1"}], "users": ["alice"]}),
        json!({"groups": [], "users": ["alice"]}),
        json!({"groups": [{"name": ""}]}),
    ] {
        server.accepts("MaaSAuthPolicy", with(auth_policy(), "/subjects", subjects)).await;
    }
    let twice = json!([{"name": "llama", "namespace": "llm"}, {"name": "llama", "namespace": "llm"}]);
    server.accepts("MaaSAuthPolicy", with(auth_policy(), "/modelRefs", twice)).await;
    let nobody = "at least one group or user must be specified in subjects";
    for (pointer, value, messages) in [
        ("/subjects", json!({"groups": [], "users": []}), ["spec.subjects", nobody]),
        // With one list absent and the other empty the rule itself fails.
        ("/subjects", json!({"groups": []}), ["spec.subjects", "no such key: users"]),
        ("/subjects", json!({}), ["spec.subjects", "no such key"]),
        ("/subjects", Value::Null, ["spec.subjects", "Required value"]),
        (
            "/subjects",
            json!({"groups": [{}], "users": []}),
            ["spec.subjects.groups[0].name", "Required value"],
        ),
        ("/modelRefs", Value::Null, ["spec.modelRefs", "Required value"]),
        ("/modelRefs", json!([]), ["spec.modelRefs", "should have at least 1 items"]),
        ("/modelRefs/0/namespace", Value::Null, ["spec.modelRefs[0].namespace", "Required value"]),
        ("/modelRefs/0/name", long(64), ["spec.modelRefs[0].name", "Too long: may not be more than 63"]),
    ] {
        server.refuses("MaaSAuthPolicy", with(auth_policy(), pointer, value), &messages).await;
    }
}

fn subscription() -> Value {
    json!({"spec": {
        "owner": {"groups": [{"name": "g1"}]},
        "modelRefs": [{"name": "llama", "namespace": "llm", "tokenRateLimits": [{"limit": 100, "window": "1m"}]}],
    }})
}

#[tokio::test]
async fn a_subscription_names_models_and_limits() {
    let server = Server::start().await;
    let limit = "/modelRefs/0/tokenRateLimits/0/limit";
    let window = "/modelRefs/0/tokenRateLimits/0/window";
    let stored = server.accepts("MaaSSubscription", subscription()).await;
    assert_eq!(stored["spec"]["priority"], 0, "a default");
    for good in [
        with(subscription(), "/owner", json!({})), // accessible to nobody, but stored
        with(subscription(), "/priority", json!(-5)),
        with(subscription(), limit, json!(1_000_000_000)),
        with(subscription(), window, "9999h".into()),
        with(subscription(), "/modelRefs/0/billingRate", json!({"perToken": "0.01"})),
        with(subscription(), "/tokenMetadata", json!({"organizationId": "o", "labels": {"a": "b"}})),
    ] {
        server.accepts("MaaSSubscription", good).await;
    }
    for (pointer, value, messages) in [
        (
            limit,
            json!(0),
            ["spec.modelRefs[0].tokenRateLimits[0].limit", "should be greater than or equal to 1"],
        ),
        (
            limit,
            json!(1_000_000_001),
            ["spec.modelRefs[0].tokenRateLimits[0].limit", "should be less than or equal to"],
        ),
        (limit, json!("100"), ["spec.modelRefs[0].tokenRateLimits[0].limit", "must be of type integer"]),
        (window, "1d".into(), ["spec.modelRefs[0].tokenRateLimits[0].window", "should match"]),
        (window, "0m".into(), ["spec.modelRefs[0].tokenRateLimits[0].window", "should match"]),
        (
            window,
            "m".into(),
            ["spec.modelRefs[0].tokenRateLimits[0].window", "should be at least 2 chars long"],
        ),
        (
            window,
            "10000s".into(),
            ["spec.modelRefs[0].tokenRateLimits[0].window", "Too long: may not be more than 5"],
        ),
        (
            "/modelRefs/0/tokenRateLimits",
            json!([]),
            ["spec.modelRefs[0].tokenRateLimits", "should have at least 1 items"],
        ),
        (
            "/modelRefs/0/tokenRateLimits",
            Value::Null,
            ["spec.modelRefs[0].tokenRateLimits", "Required value"],
        ),
        ("/modelRefs/0/billingRate", json!({}), ["spec.modelRefs[0].billingRate.perToken", "Required value"]),
        ("/modelRefs", json!([]), ["spec.modelRefs", "should have at least 1 items"]),
        ("/owner", Value::Null, ["spec.owner", "Required value"]),
        ("/priority", json!("high"), ["spec.priority", "must be of type integer"]),
        (
            "/tokenMetadata",
            json!({"labels": {"a": 1}}),
            ["spec.tokenMetadata.labels.a", "must be of type string"],
        ),
    ] {
        server.refuses("MaaSSubscription", with(subscription(), pointer, value), &messages).await;
    }
}

fn tenant() -> Value {
    json!({"metadata": {"name": "default-tenant"}, "spec": {}})
}

#[tokio::test]
async fn there_is_one_tenant() {
    let server = Server::start().await;
    let stored = server.accepts("Tenant", tenant()).await;
    assert_eq!(stored["spec"], json!({}), "what is not asked for is not made up");
    for (pointer, value, expected) in [
        ("/gatewayRef", json!({}), json!({"namespace": "openshift-ingress", "name": "maas-default-gateway"})),
        ("/gatewayRef", json!({"name": ""}), json!({"namespace": "openshift-ingress", "name": ""})),
        ("/telemetry", json!({}), json!({"enabled": true})),
        (
            "/telemetry",
            json!({"enabled": false, "metrics": {}}),
            json!({"enabled": false, "metrics": {
                "captureOrganization": true, "captureUser": false, "captureGroup": false, "captureModelUsage": true,
            }}),
        ),
        (
            "/externalOIDC",
            json!({"issuerUrl": "https://h/r", "clientId": "c"}),
            json!({"issuerUrl": "https://h/r", "clientId": "c", "ttl": 300}),
        ),
        ("/apiKeys", json!({"maxExpirationDays": 1}), json!({"maxExpirationDays": 1})),
    ] {
        let stored = server.accepts("Tenant", with(tenant(), pointer, value)).await;
        assert_eq!(stored.pointer(&format!("/spec{pointer}")), Some(&expected));
    }
    let other = json!({"metadata": {"name": "other"}, "spec": {}});
    server.refuses("Tenant", other, &["Tenant name must be default-tenant"]).await;
    let oidc = |member: &str, value: Value| {
        let mut oidc = json!({"issuerUrl": "https://h/r", "clientId": "c"});
        oidc[member] = value;
        oidc
    };
    for (pointer, value, messages) in [
        (
            "/apiKeys",
            json!({"maxExpirationDays": 0}),
            ["spec.apiKeys.maxExpirationDays", "greater than or equal to 1"],
        ),
        ("/gatewayRef", json!({"name": "Upper"}), ["spec.gatewayRef.name", "should match"]),
        (
            "/gatewayRef",
            json!({"namespace": long(64)}),
            ["spec.gatewayRef.namespace", "Too long: may not be more than 63"],
        ),
        ("/externalOIDC", json!({"clientId": "c"}), ["spec.externalOIDC.issuerUrl", "Required value"]),
        (
            "/externalOIDC",
            json!({"issuerUrl": "https://h/r"}),
            ["spec.externalOIDC.clientId", "Required value"],
        ),
        (
            "/externalOIDC",
            oidc("issuerUrl", "http://h/realm".into()),
            ["spec.externalOIDC.issuerUrl", "should match"],
        ),
        (
            "/externalOIDC",
            oidc("issuerUrl", "https://".into()),
            ["spec.externalOIDC.issuerUrl", "at least 9 chars long"],
        ),
        ("/externalOIDC", oidc("clientId", "a b".into()), ["spec.externalOIDC.clientId", "should match"]),
        ("/externalOIDC", oidc("ttl", json!(29)), ["spec.externalOIDC.ttl", "greater than or equal to 30"]),
        ("/telemetry", json!({"enabled": "yes"}), ["spec.telemetry.enabled", "must be of type boolean"]),
    ] {
        server.refuses("Tenant", with(tenant(), pointer, value), &messages).await;
    }
}

#[test]
fn all_five_kinds_are_defined() {
    let names: Vec<String> = quintet_api::maas::crds().iter().map(ResourceExt::name_any).collect();
    let plurals = ["externalmodels", "maasauthpolicies", "maasmodelrefs", "maassubscriptions", "tenants"];
    assert_eq!(names, plurals.map(|plural| format!("{plural}.maas.opendatahub.io")));
}
