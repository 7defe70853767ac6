//! What both operators are given: the specification's cases, our examples, each option, and what goes wrong.

use serde_json::{Value, json};

use crate::support::{
    base, case,
    server::{OPENSHIFT, PLAIN, Serves},
    spec,
};

/// A resource in a cluster, and what may differ.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) spec: Value,
    pub(crate) serves: Serves,
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    pub(crate) config_maps: Vec<&'static str>,
    /// Stored before the definition had its rules.
    pub(crate) before_the_rules: bool,
    /// Ids of docs/differences.md, each with a part of the lines that it explains.
    pub(crate) meant: Vec<(&'static str, &'static str)>,
}

impl Input {
    fn new(name: &'static str, spec: Value) -> Self {
        Input {
            name,
            spec,
            serves: PLAIN,
            variables: vec![],
            config_maps: vec![],
            before_the_rules: false,
            meant: vec![],
        }
    }

    fn option(name: &'static str, more: Value) -> Self {
        Input::new(name, spec(more))
    }

    fn case(name: &'static str) -> Self {
        Input::new(name, case::resource(name)["spec"].clone())
    }

    fn example(name: &'static str, text: &str) -> Self {
        let documents: Vec<Value> = serde_saphyr::from_multiple(text).expect("YAML");
        let mlflow = documents.into_iter().find(|object| object["kind"] == "MLflow").expect("an MLflow");
        Input::new(name, mlflow["spec"].clone())
    }

    fn serving(self, serves: Serves) -> Self {
        Input { serves, ..self }
    }

    fn with(self, variables: &[(&'static str, &'static str)]) -> Self {
        Input { variables: variables.to_vec(), ..self }
    }

    fn beside(self, config_maps: &[&'static str]) -> Self {
        Input { config_maps: config_maps.to_vec(), ..self }
    }

    fn before_the_rules(self) -> Self {
        Input { before_the_rules: true, ..self }
    }

    fn meant(mut self, id: &'static str, part: &'static str) -> Self {
        self.meant.push((id, part));
        self
    }
}

/// The two shell programs are not the original's.
fn scripts(input: Input) -> Input {
    input.meant("mlflow-ca-scripts", "_SCRIPT>")
}

pub(crate) fn inputs() -> Vec<Input> {
    let openshift = [("MLFLOW_URL", "https://gateway.example.com:9443/base/")];
    let gateway = Serves { http_route: true, ..PLAIN };
    let metrics = Serves { service_monitor: true, ..PLAIN };
    let gc = json!({ "schedule": "0 2 * * 0" });
    vec![
        Input::case("minimal"),
        Input::case("local-sqlite").serving(metrics),
        Input::case("remote-openshift")
            .serving(OPENSHIFT)
            .with(&[("MLFLOW_URL", "https://gateway.example.com")]),
        scripts(
            Input::case("every-option-openshift")
                .serving(OPENSHIFT)
                .with(&openshift)
                .beside(&["odh-trusted-ca-bundle", "my-ca-bundle"]),
        ),
        Input::example("examples/minimal", include_str!("../../../../examples/mlflow/minimal.yaml")),
        Input::example("examples/remote", include_str!("../../../../examples/mlflow/remote-storage.yaml")),
        // Settings.
        Input::new("settings", base()).serving(OPENSHIFT).with(&[
            ("MLFLOW_URL", "HTTPS://user:word@GW.test:443/base//?q"),
            ("GATEWAY_NAME", "my-gw"),
            ("SECTION_TITLE", "AI"),
            ("MLFLOW_IMAGE", "reg.test/mlflow:1"),
        ]),
        Input::new("empty settings", base()).serving(OPENSHIFT).with(&[
            ("MLFLOW_URL", ""),
            ("GATEWAY_NAME", ""),
            ("SECTION_TITLE", ""),
            ("MLFLOW_IMAGE", ""),
        ]),
        Input::new("no url", base()).serving(gateway),
        Input::new("url without scheme", base()).serving(gateway).with(&[("MLFLOW_URL", "gw.test/x/")]),
        // Options of the server.
        Input::option("image", json!({ "image": { "image": "reg.test/o:2", "imagePullPolicy": "Never" } })),
        Input::option("policy alone", json!({ "image": { "imagePullPolicy": "Always" } })),
        Input::option("replicas and workers", json!({ "replicas": 3, "workers": 4 })),
        Input::option("one limit", json!({ "resources": { "limits": { "memory": "6Gi" } } })),
        Input::option(
            "odd quantities",
            json!({ "resources": { "requests": { "cpu": "0.5", "memory": "1024Mi", "example.com/gpu": "1" }, "limits": { "cpu": 2, "example.com/gpu": "1" } } }),
        ),
        Input::option("no resources", json!({ "resources": {} })),
        Input::option("account", json!({ "serviceAccountName": "team" })),
        Input::option("storage defaults", json!({ "storage": {} })),
        Input::option(
            "storage",
            json!({ "storage": { "storageClassName": "", "accessModes": ["ReadWriteMany", "ReadWriteOnce"], "resources": { "requests": { "storage": "1024Mi" } } } }),
        ),
        Input::option(
            "sqlite",
            json!({ "backendStoreUri": "sqlite:////mlflow/x.db", "storage": {}, "serveArtifacts": true, "defaultArtifactRoot": null }),
        ),
        Input::option(
            "secret",
            json!({ "backendStoreUri": null, "backendStoreUriFrom": { "name": "db", "key": "uri", "optional": true } }),
        ),
        Input::option("registry", json!({ "registryStoreUri": "postgresql://other/registry" })),
        Input::option("empty registry", json!({ "registryStoreUri": "" })),
        Input::option("registry secret", json!({ "registryStoreUriFrom": { "name": "db", "key": "uri" } })),
        Input::option(
            "artifacts",
            json!({ "serveArtifacts": true, "artifactsDestination": "s3://a", "defaultArtifactRoot": "s3://b" }),
        ),
        Input::option("artifacts not served", json!({ "artifactsDestination": "s3://a" })),
        Input::option("empty destination", json!({ "serveArtifacts": true, "artifactsDestination": "" })),
        Input::option("empty root", json!({ "defaultArtifactRoot": "" })),
        Input::option(
            "origins",
            json!({ "extraAllowedOrigins": [" https://a.test ", "", "https://b.test,https://c.test", "https://d.test", "https://d.test"] }),
        ),
        Input::option(
            "selector",
            json!({ "workspaceLabelSelector": { "matchLabels": { "b": "1", "a": "" }, "matchExpressions": [
            { "key": "e", "operator": "In", "values": ["z", "y"] }, { "key": "d", "operator": "NotIn", "values": ["x"] },
            { "key": "c", "operator": "Exists" }, { "key": "f.test/g", "operator": "DoesNotExist" }] }, "garbageCollection": gc }),
        ),
        Input::option("empty selector", json!({ "workspaceLabelSelector": {} })),
        Input::option(
            "env",
            json!({ "env": [
            { "name": "A", "value": "1" }, { "name": "B", "value": "no" }, { "name": "C", "value": "1.0" }, { "name": "EMPTY" }, { "name": "BLANK", "value": "" },
            { "name": "MULTI", "value": "a: b #c\n{{ .x }}\n'\"" },
            { "name": "POD", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
            { "name": "S", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k", "optional": true } } }] }),
        ),
        // To YAML 1.1 these names are true and false.
        Input::option(
            "odd names",
            json!({ "env": [{ "name": "ON", "value": "1" }, { "name": "n", "value": "2" }] }),
        )
        .meant("mlflow-typed", "status.conditions")
        .meant("mlflow-typed", "+ Deployment/mlflow "),
        Input::option(
            "env from",
            json!({ "envFrom": [{ "secretRef": { "name": "a" } }, { "prefix": "P_", "configMapRef": { "name": "b", "optional": true } }], "garbageCollection": gc }),
        ),
        Input::option(
            "labels",
            json!({ "podLabels": { "team": "x", "component": "y" }, "podAnnotations": { "n": "true", "m": "1" } }),
        ),
        Input::option(
            "where",
            json!({ "nodeSelector": { "disk": "ssd" }, "tolerations": [{ "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5 }], "affinity": {}, "garbageCollection": gc }),
        ),
        Input::option(
            "contexts",
            json!({ "podSecurityContext": {}, "securityContext": { "runAsUser": 7, "capabilities": { "drop": ["ALL"] } }, "garbageCollection": gc }),
        ),
        Input::option("empty contexts", json!({ "podSecurityContext": {}, "securityContext": {} })),
        Input::option(
            "egress",
            json!({ "networkPolicyAdditionalEgressRules": [{ "ports": [{ "port": 1 }, { "protocol": "UDP", "port": 5, "endPort": 9 }] }, { "to": [{ "ipBlock": { "cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"] } }] }] }),
        ),
        // Garbage collection.
        Input::option(
            "job",
            json!({ "garbageCollection": { "schedule": "@daily", "olderThan": "1.5d2h3m4.25s", "resources": { "limits": { "memory": "1Gi" } } } }),
        ),
        Input::option("job with storage", json!({ "storage": {}, "garbageCollection": gc })),
        Input::option(
            "job with a secret",
            json!({ "backendStoreUri": null, "backendStoreUriFrom": { "name": "db", "key": "uri" }, "garbageCollection": gc }),
        ),
        // Bundles.
        scripts(
            Input::option("platform bundle", json!({ "garbageCollection": gc }))
                .beside(&["odh-trusted-ca-bundle"]),
        ),
        scripts(
            Input::option("own bundle", json!({ "caBundleConfigMap": { "name": "ca-x" } })).beside(&["ca-x"]),
        ),
        scripts(
            Input::option(
                "one bundle twice",
                json!({ "caBundleConfigMap": { "name": "odh-trusted-ca-bundle" } }),
            )
            .beside(&["odh-trusted-ca-bundle"]),
        ),
        // What goes wrong, in the same words.
        Input::option("missing bundle", json!({ "caBundleConfigMap": { "name": "nowhere" } })),
        Input::option(
            "no operator",
            json!({ "workspaceLabelSelector": { "matchExpressions": [{ "key": "a", "operator": "InvalidOp" }] } }),
        ),
        Input::option(
            "no values",
            json!({ "workspaceLabelSelector": { "matchExpressions": [{ "key": "a", "operator": "In" }] } }),
        ),
        Input::option(
            "values too many",
            json!({ "workspaceLabelSelector": { "matchExpressions": [{ "key": "a", "operator": "Exists", "values": ["b"] }] } }),
        ),
        Input::option("no label", json!({ "workspaceLabelSelector": { "matchLabels": { "a b": "c" } } })),
        Input::option(
            "no label value",
            json!({ "workspaceLabelSelector": { "matchLabels": { "a": "c d" } } }),
        ),
        // Stored before the rules.
        Input::option("no backend", json!({ "backendStoreUri": null })).before_the_rules(),
        Input::option("both backends", json!({ "backendStoreUriFrom": { "name": "db", "key": "uri" } }))
            .before_the_rules(),
        Input::option("empty backend", json!({ "backendStoreUri": "" }))
            .before_the_rules()
            .meant("mlflow-render-text", "execution error at (mlflow/templates/"),
        Input::option("empty secret", json!({ "backendStoreUriFrom": { "name": "", "key": "uri" } }))
            .before_the_rules()
            .meant("mlflow-render-text", "execution error at (mlflow/templates/"),
    ]
}
