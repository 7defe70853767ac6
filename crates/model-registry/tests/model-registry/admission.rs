//! What the definition itself fills in and refuses, through the API.

use kube::{
    Api,
    api::{DynamicObject, PostParams},
    discovery::ApiResource,
};
use quintet_api::model_registry::{ModelRegistry, v1alpha1};
use quintet_kit::Kind;
use serde_json::{Value, json};

use super::support::stage::{NAMESPACE, NO_CATALOG, PLAIN, Stage};

async fn made(stage: &Stage, resource: ApiResource, name: &str, spec: Value) -> Result<Value, String> {
    let api: Api<DynamicObject> = Api::namespaced_with(stage.admin.clone(), NAMESPACE, &resource);
    let object = json!({ "apiVersion": resource.api_version, "kind": "ModelRegistry", "metadata": { "name": name }, "spec": spec });
    let object = serde_json::from_value(object).unwrap();
    match api.create(&PostParams::default(), &object).await {
        Ok(stored) => Ok(serde_json::to_value(stored).unwrap()["spec"].clone()),
        Err(kube::Error::Api(status)) => Err(status.message.clone()),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn missing_fields_are_filled_in() {
    let stage = Stage::without_operator(PLAIN, NO_CATALOG).await;
    let spec = json!({ "rest": {}, "postgres": { "host": "h" }, "kubeRBACProxy": {}, "grpc": {},
        "mysql": { "host": "", "database": "d", "username": "u" } });
    let stored = made(&stage, ModelRegistry::api_resource(), "a", spec).await.unwrap();
    assert_eq!(
        stored,
        json!({
            "rest": { "port": 8080, "serviceRoute": "disabled" }, "grpc": { "port": 9090 },
            "postgres": { "host": "h", "port": 5432, "sslMode": "disable", "skipDBCreation": false },
            "mysql": { "host": "", "database": "d", "username": "u", "port": 3306, "skipDBCreation": false },
            "kubeRBACProxy": { "port": 8443, "routePort": 443, "serviceRoute": "enabled" },
        })
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_is_refused_with_its_message() {
    let stage = Stage::without_operator(PLAIN, NO_CATALOG).await;
    let key = json!({ "name": "n", "key": "k" });
    let cases = [
        (json!({ "oauthProxy": {}, "kubeRBACProxy": {} }), "Cannot use both oauthProxy and kubeRBACProxy"),
        (
            json!({ "kubeRBACProxy": { "tlsKeySecret": key } }),
            "tlsCertificateSecret and tlsKeySecret MUST be set together",
        ),
        (
            json!({ "oauthProxy": { "tlsCertificateSecret": key } }),
            "tlsCertificateSecret and tlsKeySecret MUST be set together",
        ),
        (
            json!({ "postgres": { "host": "", "hostAddress": "" } }),
            "GenerateDeployment must be set to true if host/hostAddress are not provided",
        ),
        (
            json!({ "postgres": { "host": "h", "hostAddress": "", "database": "d" } }),
            "Username must be set if database is specified",
        ),
        (
            json!({ "postgres": { "generateDeployment": true, "host": "h" } }),
            "host and hostAddress must not be set when generateDeployment is true",
        ),
        (json!({ "rest": { "port": 0 } }), "spec.rest.port"),
        (json!({ "rest": { "serviceRoute": "perhaps" } }), "Unsupported value"),
        (json!({ "kubeRBACProxy": { "domain": "a..b" } }), "spec.kubeRBACProxy.domain"),
        (json!({ "rest": null }), "spec.rest: Required value"),
    ];
    for (more, message) in cases {
        let mut spec = json!({ "rest": {} });
        more.as_object().unwrap().iter().for_each(|(name, value)| match value {
            Value::Null => drop(spec.as_object_mut().unwrap().remove(name)),
            value => spec[name] = value.clone(),
        });
        let refused = made(&stage, ModelRegistry::api_resource(), "x", spec.clone())
            .await
            .expect_err(&spec.to_string());
        assert!(refused.contains(message), "{spec}: {refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_old_version_is_served_with_its_own_rules() {
    let stage = Stage::without_operator(PLAIN, NO_CATALOG).await;
    let old = v1alpha1::ModelRegistry::api_resource();
    let both = json!({ "rest": {}, "grpc": {}, "istio": {}, "oauthProxy": {} });
    let refused = made(&stage, old.clone(), "x", both).await.unwrap_err();
    assert!(refused.contains("Cannot use both istio and oauthProxy"), "{refused}");
    let refused = made(&stage, old.clone(), "x", json!({ "rest": {} })).await.unwrap_err();
    assert!(refused.contains("spec.grpc: Required value"), "{refused}");
    let mysql = json!({ "host": "h", "database": "d", "username": "u" });
    made(&stage, old, "a", json!({ "rest": {}, "grpc": {}, "mysql": mysql })).await.unwrap();
    let stored = stage.get::<ModelRegistry>("a").await.unwrap();
    assert_eq!(stored["spec"]["mysql"]["port"], 3306);
}
