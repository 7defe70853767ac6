//! What a registry becomes on any cluster.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service, events::v1::Event};
use quintet_api::model_registry::ModelRegistry;
use serde_json::json;

use super::support::{
    args, assert_hold, at, base, case, container, covers, examples, sample,
    stage::{PLAIN, Stage, registry},
};

#[tokio::test(start_paused = true)]
async fn scenario_01_plain_kubernetes_postgres() {
    let stage = Stage::new(PLAIN, &[("ENABLE_MODEL_CATALOG", "false")]).await;
    let mut object = registry("modelregistry-sample", json!({ "rest": {}, "postgres": sample() }));
    object["metadata"]["namespace"] = json!("other");
    stage.put(object).await;
    let children = stage.children().await;
    let mut wanted = case("postgres");
    for object in wanted.values_mut() {
        object["metadata"]["namespace"] = json!("other");
    }
    assert_hold(&children, &wanted);
    let api: kube::Api<ModelRegistry> = kube::Api::namespaced(stage.admin.clone(), "other");
    let stored = api.get("modelregistry-sample").await.unwrap();
    assert_eq!(stored.metadata.finalizers.unwrap(), ["modelregistry.opendatahub.io/finalizer"]);
    let text = "Created service for custom resource modelregistry-sample in namespace other";
    let events: kube::Api<Event> = kube::Api::namespaced(stage.admin.clone(), "other");
    let event = stage.until("an event", async || {
        let events = events.list(&Default::default()).await.unwrap();
        events.into_iter().find(|event| event.reason.as_deref() == Some("ServiceCreated"))
    });
    let event = event.await;
    assert_eq!(event.note.as_deref(), Some(text));
    assert_eq!(event.reporting_controller.as_deref(), Some("modelregistry-controller"));
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_03_mysql() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    let args = args(&deployment, "rest-container");
    assert!(args.contains(&"--embedmd-database-type=mysql".into()), "{args:?}");
    let dsn = "--embedmd-database-dsn=u:$(MYSQL_PASSWORD)@tcp(db:3306)/d?charset=utf8mb4";
    assert!(args.contains(&dsn.into()), "{args:?}");
    let env =
        json!([{ "name": "MYSQL_PASSWORD", "valueFrom": { "secretKeyRef": { "name": "s", "key": "p" } } }]);
    assert!(covers(&container(&deployment, "rest-container")["env"], &env));
}

#[tokio::test(start_paused = true)]
async fn scenario_16_annotations_copied() {
    let stage = Stage::plain().await;
    let mut object = registry("reg", base());
    object["metadata"]["annotations"] =
        json!({ "openshift.io/display-name": "A", "openshift.io/description": "B", "other": "C" });
    stage.put(object).await;
    let annotations = at(&stage.get::<Service>("reg").await.unwrap(), "metadata.annotations").clone();
    assert_eq!(annotations, json!({ "openshift.io/display-name": "A", "openshift.io/description": "B" }));
    let none = json!({ "openshift.io/display-name": null, "openshift.io/description": null });
    stage.edit::<ModelRegistry>("reg", json!({ "metadata": { "annotations": none } })).await;
    assert!(at(&stage.get::<Service>("reg").await.unwrap(), "metadata.annotations").is_null());
}

#[tokio::test(start_paused = true)]
async fn every_example_becomes_a_server() {
    let stage = Stage::new(PLAIN, &[("ENABLE_MODEL_CATALOG", "false")]).await;
    let mut names = vec![];
    for object in examples() {
        if object["kind"] == "ModelRegistry" {
            names.push(object["metadata"]["name"].as_str().unwrap().to_owned());
        }
        stage.put(object).await;
    }
    assert!(names.len() >= 4, "{names:?}");
    let deployments: kube::Api<Deployment> = kube::Api::namespaced(stage.admin.clone(), "opendatahub");
    for name in names {
        assert!(deployments.get_opt(&name).await.unwrap().is_some(), "{name}");
    }
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn text_reaches_the_objects_as_it_is() {
    let stage = Stage::plain().await;
    let odd = "a: b #c\n- d\n{{ .e }}";
    let mysql = json!({ "host": "db", "database": odd, "username": "true", "passwordSecret": { "name": "s", "key": "0.5" } });
    stage.create(json!({ "rest": { "image": "reg.test/x: y" }, "mysql": mysql })).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    let rest = container(&deployment, "rest-container");
    assert_eq!(rest["image"], "reg.test/x: y");
    assert_eq!(at(rest, "env.0.valueFrom.secretKeyRef.key"), "0.5");
    let dsn = format!("--embedmd-database-dsn=true:$(MYSQL_PASSWORD)@tcp(db:3306)/{odd}?charset=utf8mb4");
    assert!(args(&deployment, "rest-container").contains(&dsn));
}
