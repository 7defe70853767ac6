//! What each option of the resource changes, against the smallest resource. No cluster is needed for any of it.

mod support;

use quintet_kit::{System, parts::ca_bundle::Scripts};
use quintet_mlflow::{Apis, GcObjects, Inputs, Mlflow, RenderError};
use serde_json::{Value, json};
use support::{at, children, config, container, difference, env, openshift, plain, pod, with};

fn changes(more: Value) -> String {
    difference(&plain(&with(json!({}))), &plain(&with(more)))
}

#[test]
fn scenario_11_the_gateway_is_the_configured_one() {
    let built = children(&with(json!({})), &config(&[("GATEWAY_NAME", "my-gw")]), &openshift()).unwrap();
    let parents = at(&built["HTTPRoute/mlflow"], "spec.parentRefs");
    assert_eq!(*parents, json!([{ "name": "my-gw", "namespace": "openshift-ingress" }]));
}

#[test]
fn scenario_08_the_route_has_three_rules_in_order() {
    let built =
        children(&with(json!({})), &config(&[("MLFLOW_URL", "https://gw.test")]), &openshift()).unwrap();
    insta::assert_yaml_snapshot!(built["HTTPRoute/mlflow"]["spec"]);
}

#[test]
fn scenario_12_the_console_link_carries_url_section_and_one_label() {
    let config = config(&[("MLFLOW_URL", "https://gw.test"), ("SECTION_TITLE", "AI")]);
    let built = children(&with(json!({})), &config, &openshift()).unwrap();
    let link = &built["ConsoleLink/mlflow"];
    assert_eq!(at(link, "metadata.labels"), &json!({ "app": "mlflow" }));
    assert_eq!(at(link, "spec.text"), "MLflow");
    assert_eq!(at(link, "spec.href"), "https://gw.test/mlflow");
    assert_eq!(at(link, "spec.applicationMenu.section"), "AI");
}

#[test]
fn the_links_url_keeps_a_slash_at_the_end_of_the_configured_one() {
    let built =
        children(&with(json!({})), &config(&[("MLFLOW_URL", "https://gw.test/")]), &openshift()).unwrap();
    assert_eq!(at(&built["ConsoleLink/mlflow"], "spec.href"), "https://gw.test//mlflow");
}

#[test]
fn scenario_13_every_container_has_the_image_and_its_policy() {
    let config = config(&[("MLFLOW_IMAGE", "reg.test/mlflow:1")]);
    let inputs = Inputs { platform_ca: true, ..Inputs::default() };
    let gc = json!({ "schedule": "0 2 * * 0" });
    let containers = |more: Value| -> Vec<Value> {
        let built = children(&with(more), &config, &inputs).unwrap();
        ["Deployment/mlflow", "CronJob/mlflow-gc"]
            .into_iter()
            .flat_map(|id| {
                let pod = &pod(&built[id])["spec"];
                let lists =
                    [pod["initContainers"].as_array().unwrap(), pod["containers"].as_array().unwrap()];
                lists.into_iter().flatten().cloned().collect::<Vec<_>>()
            })
            .collect()
    };
    let default = containers(json!({ "garbageCollection": gc }));
    assert_eq!(default.len(), 5);
    assert!(default.iter().all(|c| c["image"] == "reg.test/mlflow:1" && c.get("imagePullPolicy").is_none()));
    let image = json!({ "image": "reg.test/other:2", "imagePullPolicy": "Never" });
    let chosen = containers(json!({ "garbageCollection": gc, "image": image }));
    assert!(chosen.iter().all(|c| c["image"] == "reg.test/other:2" && c["imagePullPolicy"] == "Never"));
}

#[test]
fn an_empty_image_or_account_counts_as_not_set() {
    assert_eq!(changes(json!({ "image": { "image": "" }, "serviceAccountName": "" })), "");
}

#[test]
fn scenario_14_replicas() {
    insta::assert_snapshot!(changes(json!({ "replicas": 3 })));
}

#[test]
fn scenario_16_one_limit_leaves_the_other_defaults() {
    insta::assert_snapshot!(changes(json!({ "resources": { "limits": { "memory": "6Gi" } } })));
}

#[test]
fn a_request_above_a_default_limit_lifts_that_limit() {
    insta::assert_snapshot!(changes(json!({ "resources": { "requests": { "memory": "8192Mi" } } })));
}

#[test]
fn scenario_17_a_backend_from_a_secret_serves_the_registry_too() {
    let spec = json!({ "backendStoreUri": null, "backendStoreUriFrom": { "name": "db", "key": "uri" } });
    insta::assert_snapshot!(changes(spec));
}

#[test]
fn scenario_18_a_stored_resource_without_backend_uses_sqlite() {
    insta::assert_snapshot!(changes(json!({ "backendStoreUri": null })));
}

#[test]
fn a_registry_of_its_own() {
    insta::assert_snapshot!(changes(json!({ "registryStoreUri": "postgresql://other/registry" })));
    insta::assert_snapshot!(changes(json!({ "registryStoreUri": "" })));
}

#[test]
fn a_secret_wins_over_a_value_in_a_stored_resource() {
    let both = with(json!({ "backendStoreUriFrom": { "name": "db", "key": "uri", "optional": true } }));
    let built = plain(&both);
    let server = container(&built["Deployment/mlflow"], "mlflow");
    let secret = json!({ "secretKeyRef": { "name": "db", "key": "uri", "optional": true } });
    assert_eq!(env(server, "MLFLOW_BACKEND_STORE_URI")[0]["valueFrom"], secret);
}

#[test]
fn scenario_19_a_custom_bundle_alone_is_the_first() {
    insta::assert_snapshot!(changes(json!({ "caBundleConfigMap": { "name": "ca-x" } })));
}

#[test]
fn scenario_20_the_platforms_bundle_adds_containers_volumes_and_environment() {
    let mlflow = with(json!({}));
    let inputs = Inputs { platform_ca: true, ..Inputs::default() };
    let with_bundle = children(&mlflow, &config(&[]), &inputs).unwrap();
    insta::assert_snapshot!(difference(&plain(&mlflow), &with_bundle));
}

#[test]
fn one_bundle_named_twice_is_two_volumes() {
    let mlflow = with(json!({ "caBundleConfigMap": { "name": "odh-trusted-ca-bundle" } }));
    let inputs = Inputs { platform_ca: true, ..Inputs::default() };
    let built = children(&mlflow, &config(&[]), &inputs).unwrap();
    let volumes = pod(&built["Deployment/mlflow"])["spec"]["volumes"].as_array().unwrap();
    let bundles: Vec<&Value> =
        volumes.iter().filter(|v| v["configMap"]["name"] == "odh-trusted-ca-bundle").collect();
    assert_eq!(bundles.len(), 2);
}

#[test]
fn scenario_21_garbage_collection_adds_four_objects_and_changes_none() {
    insta::assert_snapshot!(changes(json!({ "garbageCollection": { "schedule": "0 2 * * 0" } })));
}

#[test]
fn scenario_22_the_job_mounts_the_claim() {
    let built = plain(&with(json!({ "storage": {}, "garbageCollection": { "schedule": "0 2 * * 0" } })));
    let job = &built["CronJob/mlflow-gc"];
    let claim = json!({ "name": "mlflow-storage", "persistentVolumeClaim": { "claimName": "mlflow-pvc" } });
    assert!(pod(job)["spec"]["volumes"].as_array().unwrap().contains(&claim));
    let mount = json!({ "name": "mlflow-storage", "mountPath": "/mlflow" });
    assert!(container(job, "mlflow-gc")["volumeMounts"].as_array().unwrap().contains(&mount));
}

fn refused(more: Value) -> RenderError {
    children(&with(more), &config(&[]), &Inputs::default()).unwrap_err()
}

#[test]
fn scenario_24_an_unknown_selector_operator_is_refused() {
    let selector = json!({ "matchExpressions": [{ "key": "a", "operator": "InvalidOp" }] });
    let error = refused(json!({ "workspaceLabelSelector": selector })).to_string();
    assert_eq!(
        error,
        "failed to convert MLflow spec to Helm values: invalid workspaceLabelSelector: \
         \"InvalidOp\" is not a valid label selector operator"
    );
}

#[test]
fn what_cannot_be_built_says_why() {
    let text = |more| refused(more).to_string();
    let prefix = "failed to render templates: mlflow.";
    assert_eq!(
        text(json!({ "backendStoreUri": "" })),
        format!("{prefix}backendStoreUri or mlflow.backendStoreUriFrom must be set")
    );
    assert_eq!(
        text(json!({ "backendStoreUriFrom": { "name": "", "key": "uri" } })),
        format!("{prefix}backendStoreUriFrom.secretKeyRef must include non-empty 'name' and 'key'")
    );
    assert_eq!(
        text(json!({ "registryStoreUriFrom": { "name": "db", "key": "" } })),
        format!("{prefix}registryStoreUriFrom.secretKeyRef must include non-empty 'name' and 'key'")
    );
    let claims = json!({ "claims": [{ "name": "gpu" }] });
    assert!(text(json!({ "resources": claims })).starts_with("resources.claims is not supported"));
    let gc = json!({ "schedule": "@daily", "resources": claims });
    assert!(
        text(json!({ "garbageCollection": gc })).starts_with("garbageCollection.resources.claims is not")
    );
}

#[test]
fn one_account_cannot_be_the_servers_and_the_jobs() {
    let taken =
        json!({ "serviceAccountName": "mlflow-gc-sa", "garbageCollection": { "schedule": "@daily" } });
    assert!(refused(taken).to_string().contains("choose another name"));
}

#[test]
fn the_servers_own_account_is_not_deleted_with_the_garbage_collection() {
    let pruned = |more: Value| -> Vec<String> {
        let gc = GcObjects { cron_job: true, service_account: true, role: true, binding: true };
        let inputs = Inputs { gc, ..Inputs::default() };
        let desired = quintet_mlflow::desired(&with(more), &config(&[]), &inputs).unwrap();
        desired.prunes().iter().map(|p| format!("{}/{}", p.kind().kind, p.key().unwrap().name)).collect()
    };
    let all = [
        "CronJob/mlflow-gc",
        "ServiceAccount/mlflow-gc-sa",
        "ClusterRoleBinding/mlflow-gc",
        "ClusterRole/mlflow-gc",
    ];
    assert_eq!(pruned(json!({})), all);
    let without: Vec<&str> = all.into_iter().filter(|id| !id.starts_with("ServiceAccount")).collect();
    assert_eq!(pruned(json!({ "serviceAccountName": "mlflow-gc-sa" })), without);
    assert!(pruned(json!({ "garbageCollection": { "schedule": "@daily" } })).is_empty());
}

#[test]
fn scenario_25_the_workspace_selector_reaches_server_and_job() {
    let selector = json!({
        "matchLabels": { "team": "a", "mlflow-enabled": "true" },
        "matchExpressions": [{ "key": "environment", "operator": "In", "values": ["prod", "staging"] }],
    });
    let built = plain(&with(
        json!({ "workspaceLabelSelector": selector, "garbageCollection": { "schedule": "@daily" } }),
    ));
    let text = "environment in (prod,staging),mlflow-enabled=true,team=a";
    for (id, name) in [("Deployment/mlflow", "mlflow"), ("CronJob/mlflow-gc", "mlflow-gc")] {
        let entries = env(container(&built[id], name), "MLFLOW_K8S_WORKSPACE_LABEL_SELECTOR");
        assert_eq!(entries, [&json!({ "name": "MLFLOW_K8S_WORKSPACE_LABEL_SELECTOR", "value": text })]);
    }
    assert_eq!(changes(json!({ "workspaceLabelSelector": {} })), "");
}

#[test]
fn scenario_26_metrics_on_plain_kubernetes_and_on_openshift() {
    let mlflow = with(json!({}));
    let apis = Apis { service_monitor: true, ..Apis::default() };
    let monitored = children(&mlflow, &config(&[]), &Inputs { apis, ..Inputs::default() }).unwrap();
    insta::assert_snapshot!("metrics_plain", difference(&plain(&mlflow), &monitored));
    let on_openshift = children(&mlflow, &config(&[]), &openshift()).unwrap();
    let tls = at(&on_openshift["ServiceMonitor/mlflow-metrics-monitor"], "spec.endpoints.0.tlsConfig");
    let authority = json!({ "configMap": { "name": "openshift-service-ca.crt", "key": "service-ca.crt" } });
    assert_eq!(*tls, json!({ "ca": authority, "serverName": "mlflow.opendatahub.svc" }));
    let mode = |built: &support::Objects| {
        pod(&built["Deployment/mlflow"])["spec"]["volumes"][1]["secret"]["defaultMode"].clone()
    };
    assert_eq!((mode(&monitored), mode(&on_openshift)), (json!(420), json!(416)));
}

#[test]
fn scenario_27_added_egress_comes_last() {
    let rule = json!({ "ports": [{ "protocol": "TCP", "port": 15432 }] });
    let built = plain(&with(json!({ "networkPolicyAdditionalEgressRules": [rule] })));
    let egress = at(&built["NetworkPolicy/mlflow"], "spec.egress").as_array().unwrap();
    assert_eq!((egress.len(), &egress[5]), (6, &rule));
}

#[test]
fn scenario_28_the_job_runs_where_and_as_whom_the_server_does_without_its_labels() {
    insta::assert_snapshot!(changes(json!({
        "nodeSelector": { "disk": "ssd" },
        "tolerations": [{ "key": "dedicated", "operator": "Exists" }],
        "affinity": {},
        "podSecurityContext": {},
        "securityContext": { "runAsUser": 7 },
        "podLabels": { "team": "x" },
        "podAnnotations": { "note": "y" },
        "garbageCollection": { "schedule": "@daily" },
    })));
}

#[test]
fn empty_maps_and_lists_are_left_out() {
    let empty = json!({ "nodeSelector": {}, "tolerations": [], "podAnnotations": {}, "podLabels": {}, "envFrom": [], "env": [] });
    assert_eq!(changes(empty), "");
}

#[test]
fn scenario_29_empty_storage_asks_for_the_defaults() {
    insta::assert_snapshot!(changes(json!({ "storage": {} })));
    insta::assert_snapshot!(changes(json!({
        "storage": { "storageClassName": "", "accessModes": [], "resources": { "requests": { "storage": "1024Mi" } } }
    })));
}

#[test]
fn artifacts_served_from_files_by_default() {
    insta::assert_snapshot!(changes(json!({ "serveArtifacts": true, "defaultArtifactRoot": null })));
    insta::assert_snapshot!(changes(
        json!({ "serveArtifacts": true, "artifactsDestination": "", "workers": 4 })
    ));
}

#[test]
fn origins_are_trimmed_and_those_with_a_comma_left_out() {
    insta::assert_snapshot!(changes(
        json!({ "extraAllowedOrigins": [" https://a.test ", "", "https://b.test,https://c.test", "https://d.test"] })
    ));
}

#[test]
fn scenario_33_a_users_variable_replaces_the_operators_in_its_place() {
    insta::assert_snapshot!(changes(
        json!({ "env": [{ "name": "MLFLOW_DISABLE_TELEMETRY", "value": "false" }] })
    ));
}

#[test]
fn a_variable_after_the_users_can_be_replaced_too() {
    let mlflow = with(
        json!({ "env": [{ "name": "PGSSLMODE", "value": "disable" }, { "name": "UVICORN_SSL_CIPHERS", "value": "X" }] }),
    );
    let inputs = Inputs { platform_ca: true, ..openshift() };
    let built = children(&mlflow, &config(&[]), &inputs).unwrap();
    let server = container(&built["Deployment/mlflow"], "mlflow");
    let names: Vec<&str> =
        server["env"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
    let place = |name| names.iter().position(|n| *n == name).unwrap();
    assert_eq!(env(server, "PGSSLMODE"), [&json!({ "name": "PGSSLMODE", "value": "disable" })]);
    assert!(place("PGSSLMODE") == place("PGSSLROOTCERT") + 1, "{names:?}");
    assert_eq!(env(server, "UVICORN_SSL_CIPHERS"), [&json!({ "name": "UVICORN_SSL_CIPHERS", "value": "X" })]);
}

#[test]
fn the_security_middleware_stays_on_whatever_a_stored_resource_says() {
    let name = "MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE";
    let built = plain(&with(json!({ "env": [{ "name": name, "value": "true" }] })));
    let entries = env(container(&built["Deployment/mlflow"], "mlflow"), name);
    assert_eq!(entries, [&json!({ "name": name, "value": "false" })]);
}

#[test]
fn scenario_34_the_selectors_label_is_not_the_users_to_change() {
    insta::assert_snapshot!(changes(json!({ "podLabels": { "app": "x", "team": "y" } })));
}

#[test]
fn names_carry_a_suffix_where_the_name_rule_was_lifted() {
    let mut mlflow = with(json!({ "garbageCollection": { "schedule": "@daily" }, "storage": {} }));
    mlflow.metadata.name = Some("team".into());
    let built = children(&mlflow, &config(&[]), &openshift()).unwrap();
    insta::assert_yaml_snapshot!(built.keys().collect::<Vec<_>>());
    assert_eq!(at(&built["ConsoleLink/mlflow-team"], "metadata.labels"), &json!({ "app": "mlflow" }));
    let rules = at(&built["HTTPRoute/mlflow-team"], "spec.rules").as_array().unwrap().clone();
    assert_eq!(at(&rules[0], "matches.0.path.value"), "/mlflow-team/api");
}

#[test]
fn other_owners_of_the_shared_role_are_kept() {
    let other =
        json!({ "apiVersion": "mlflow.opendatahub.io/v1", "kind": "MLflow", "name": "old", "uid": "other" });
    let inputs = Inputs {
        shared_role_owners: vec![serde_json::from_value(other.clone()).unwrap()],
        ..Inputs::default()
    };
    let built = children(&with(json!({})), &config(&[]), &inputs).unwrap();
    let owners = at(&built["ClusterRole/mlflow"], "metadata.ownerReferences").as_array().unwrap();
    assert_eq!(owners.len(), 2);
    assert_eq!(owners[0], other);
    assert!(owners[1].get("controller").is_none());
}

#[test]
fn text_reaches_the_objects_as_it_is() {
    let odd = "sqlite:////mlflow/a: b #c'\"\n{{ .x }}";
    let built = plain(&with(
        json!({ "backendStoreUri": odd, "storage": {}, "env": [{ "name": "ON", "value": "no" }] }),
    ));
    let server = container(&built["Deployment/mlflow"], "mlflow");
    assert_eq!(env(server, "MLFLOW_BACKEND_STORE_URI")[0]["value"], odd);
    assert_eq!(env(server, "ON")[0]["value"], "no");
}

#[test]
fn a_server_of_the_original_keeps_its_programs_until_told_otherwise() {
    let theirs = Scripts { combine: "their combine".into(), watch: "their watch".into() };
    let inputs = Inputs { platform_ca: true, original_scripts: Some(theirs), ..Inputs::default() };
    let gc = with(json!({ "garbageCollection": { "schedule": "@daily" } }));
    let programs = |switches: &str| -> [Value; 3] {
        let built = children(&gc, &config(&[("QUINTET_DIFFERENCES", switches)]), &inputs).unwrap();
        let (server, job) = (&built["Deployment/mlflow"], &built["CronJob/mlflow-gc"]);
        [
            container(server, "combine-ca-bundles"),
            container(server, "ca-bundle-watcher"),
            container(job, "combine-ca-bundles"),
        ]
        .map(|container| container["command"][2].clone())
    };
    assert_eq!(programs(""), ["their combine", "their watch", "their combine"]);
    let ours = ["<CA_COMBINE_SCRIPT>", "<CA_WATCH_SCRIPT>", "<CA_COMBINE_SCRIPT>"];
    assert_eq!(programs("mlflow-ca-scripts=on"), ours);
}

#[test]
fn the_rights_that_the_job_gets_can_be_done_without() {
    let experiments = |switches: &str| {
        let config = config(&[("QUINTET_DIFFERENCES", switches)]);
        let rights = quintet_kit::rights::rights(&Mlflow::new(config).rows());
        serde_json::to_string(&rights.cluster).unwrap().contains("experiments")
    };
    assert!(experiments("") && !experiments("mlflow-gc-rights=off"));
}
