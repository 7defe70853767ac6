//! What follows from a wiring: rights, page, diagram and the stable JSON.

mod common;

use common::Garden;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service};
use k8s_openapi::api::rbac::v1::PolicyRule;
use quintet_kit::dataflow::{documents, markdown, mermaid};
use quintet_kit::rights::rights;
use quintet_kit::wiring::{
    ConfigRow, EndpointRow, FailurePolicy, HookType, LeaseRow, Origin, ServiceRow, SystemRows, WebhookRow,
};
use quintet_kit::{
    Kind, Mapping, Meta, ObjectKey, Predicate, Read, Select, Watch, Wiring, Write, WritePolicy,
};
use serde_json::{Value, json};
use std::time::Duration;

fn gardener() -> Wiring<ObjectKey> {
    let bundle = Watch::within(Select::namespace("home")).only(Predicate::named("bundle"));
    let secrets =
        Watch::<Meta<Secret>>::within(Select::namespace("home")).when_served().when("vault is on").fetched();
    Wiring::new("gardener")
        .is_for(Watch::<Garden>::all().only(Predicate::generation()))
        .owns::<Garden, _>(Watch::<Deployment>::within(Select::namespace("home").labels("app=garden")))
        .watches(bundle, Mapping::<ConfigMap, _>::every::<Garden>())
        .watches(secrets, Mapping::itself())
        .reads(Read::by_name::<Secret>().names(["db"]).namespace("home"))
        .reads(Read::by_name::<Pod>().subresource("log"))
        .writes(Write::of::<Deployment>(WritePolicy::Apply).namespace("home").deletes())
        .writes(Write::of::<ConfigMap>(WritePolicy::CreateOnly).namespace("home").when("there is a bundle"))
        .writes(Write::of::<Service>(WritePolicy::Exclusive(vec!["spec".into()])).names(["garden"]))
        .writes(Write::status::<Garden>())
        .writes(Write::of::<Secret>(WritePolicy::Apply).origin(Origin::Install))
        .grants(
            PolicyRule {
                api_groups: Some(vec![String::new()]),
                resources: Some(vec!["namespaces".into()]),
                verbs: vec!["list".into()],
                ..PolicyRule::default()
            },
            None,
            "the garden's ClusterRole",
        )
        .events()
}

fn system() -> SystemRows {
    let service: Service = serde_json::from_value(json!({
        "metadata": {"name": "garden"}, "spec": {"ports": [{"name": "https", "port": 8443}, {"port": 80}]}
    }))
    .unwrap();
    SystemRows {
        system: "garden".into(),
        controllers: vec![gardener().rows().clone()],
        services: ServiceRow::of(&service, Origin::Controller),
        crds: vec![Garden::gvk()],
        webhooks: vec![WebhookRow {
            name: "vgarden.kit.example".into(),
            type_: HookType::Validating,
            path: "/validate".into(),
            failure_policy: FailurePolicy::Fail,
        }],
        endpoints: vec![EndpointRow::new("GET", "/healthz")],
        config: vec![ConfigRow {
            kind: "ConfigMap".into(),
            name: "garden-config".into(),
            keys: vec!["image".into()],
        }],
        lease: Some(LeaseRow::new("garden-lease", Duration::from_secs(15), Duration::from_secs(2))),
    }
}

/// The rules of a role, one line each: group/resources [names]: verbs.
fn lines(rules: &[PolicyRule]) -> Vec<String> {
    let list = |values: &Option<Vec<String>>| values.clone().unwrap_or_default().join(",");
    let line = |rule: &PolicyRule| {
        let names =
            rule.resource_names.as_ref().map(|names| format!(" [{}]", names.join(","))).unwrap_or_default();
        format!("{}/{}{names}: {}", list(&rule.api_groups), list(&rule.resources), rule.verbs.join(","))
    };
    rules.iter().map(line).collect()
}

#[test]
fn rights_follow_from_the_rows_and_are_no_wider() {
    let rights = rights(&system());
    assert_eq!(
        lines(&rights.cluster),
        [
            "/pods/log: get",
            "/services: create",
            "/services [garden]: get,update",
            "apiextensions.k8s.io/customresourcedefinitions: list,watch",
            "events.k8s.io/events: create,patch",
            "kit.example/gardens: list,watch",
            "kit.example/gardens/finalizers: update",
            "kit.example/gardens/status: patch",
            "/namespaces: list",
        ]
    );
    assert_eq!(rights.namespaces.keys().collect::<Vec<_>>(), ["home"]);
    assert_eq!(
        lines(&rights.namespaces["home"]),
        [
            "/configmaps: create,get,list,watch",
            "/secrets: get,list,watch",
            "apps/deployments: create,delete,get,list,patch,watch",
        ]
    );
    for rule in rights.cluster.iter().chain(rights.namespaces.values().flatten()) {
        for verb in ["*", "bind", "escalate", "impersonate"] {
            assert!(!rule.verbs.contains(&verb.to_owned()));
        }
    }
}

#[test]
fn a_right_held_everywhere_is_not_asked_for_again_in_a_namespace() {
    let wiring = Wiring::<ObjectKey>::new("c")
        .watches(Watch::<ConfigMap>::all().fetched(), Mapping::itself())
        .reads(Read::by_name::<ConfigMap>().namespace("home").names(["one"]));
    let system = SystemRows { controllers: vec![wiring.rows().clone()], ..SystemRows::default() };
    let rights = rights(&system);
    assert_eq!(lines(&rights.cluster), ["/configmaps: get,list,watch"]);
    assert!(rights.namespaces.is_empty());
}

#[test]
fn the_json_has_the_promised_fields() {
    let value = serde_json::to_value(documents(&[system()])).unwrap();
    let document = &value[0];
    let keys: Vec<_> = document.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["config", "crds", "endpoints", "services", "system", "watches", "webhooks", "writes"]);
    let has = |got: &Value, wanted: Value| {
        for (name, wanted) in wanted.as_object().unwrap() {
            assert_eq!(&got[name], wanted, "{name} of {got}");
        }
    };
    has(
        &document["watches"][0],
        json!({"type": "For", "group": "kit.example", "version": "v1", "kind": "Garden",
        "controller": "gardener", "when": ""}),
    );
    has(
        &document["watches"][1],
        json!({"type": "Owns", "group": "apps", "version": "v1", "kind": "Deployment",
        "controller": "gardener"}),
    );
    has(
        &document["watches"][3],
        json!({"type": "Watches", "group": "", "kind": "Secret", "when": "vault is on"}),
    );
    has(
        &document["writes"][0],
        json!({"group": "apps", "version": "v1", "kind": "Deployment", "policy": "Apply",
        "origin": "controller"}),
    );
    has(&document["writes"][2], json!({"kind": "Service", "policy": "Exclusive"}));
    has(&document["writes"][4], json!({"kind": "Secret", "origin": "install"}));
    assert_eq!(
        document["services"],
        json!([
            {"name": "garden", "port": 8443, "portName": "https", "origin": "controller"},
            {"name": "garden", "port": 80, "portName": "", "origin": "controller"},
        ])
    );
    assert_eq!(document["crds"], json!([{"group": "kit.example", "version": "v1", "kind": "Garden"}]));
    assert_eq!(
        document["webhooks"],
        json!([
            {"name": "vgarden.kit.example", "type": "validating", "path": "/validate", "failurePolicy": "Fail"},
        ])
    );
    assert_eq!(document["endpoints"], json!([{"method": "GET", "path": "/healthz"}]));
    assert_eq!(
        document["config"],
        json!([{"kind": "ConfigMap", "name": "garden-config", "keys": ["image"]}])
    );
}

#[test]
fn the_page_and_the_diagram_show_every_row() {
    insta::assert_snapshot!("page", markdown(&system()));
    insta::assert_snapshot!("diagram", mermaid(&system()));
}
