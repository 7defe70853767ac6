//! The files under `deploy/` with the tools that people use them with: what Helm and kustomize make of them is what
//! `quintet install` prints, object by object.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use quintet_harness::kube::Tools;
use quintet_harness::{or_skip, tool, workspace_dir};
use serde_json::Value;

/// By kind, namespace and name.
type Objects = BTreeMap<String, Value>;

fn objects(all: Vec<Value>) -> Objects {
    let count = all.len();
    let name = |o: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{} {}/{}", text(&o["kind"]), text(&o["metadata"]["namespace"]), text(&o["metadata"]["name"]))
    };
    let named: Objects = all.into_iter().map(|object| (name(&object), whole(object))).collect();
    assert_eq!(named.len(), count, "an object is there twice");
    named
}

/// With `1` for `1.0`: Go prints them alike.
fn whole(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 1e15) {
            Some(n) => Value::from(n as i64),
            None => Value::Number(number),
        },
        Value::Array(all) => all.into_iter().map(whole).collect(),
        Value::Object(all) => all.into_iter().map(|(name, value)| (name, whole(value))).collect(),
        other => other,
    }
}

#[track_caller]
fn yaml(output: &Output) -> Objects {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let all: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    objects(all.into_iter().filter(|document| !document.is_null()).collect())
}

/// What `quintet install` prints with these flags and variables.
fn install(flags: &[&str], variables: &[(&str, &str)]) -> Objects {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    command.env_clear().arg("install").args(flags).args(["-o", "json"]).envs(variables.iter().copied());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    objects(serde_json::from_slice(&done.stdout).unwrap())
}

#[track_caller]
fn assert_same(made: &Objects, installed: &Objects, case: &str) {
    let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(made), names(installed), "{case}");
    for (name, object) in made {
        if let Some(at) = difference(object, &installed[name]) {
            panic!("{case}: {name}{at}");
        }
    }
}

/// Where two values differ first, and how.
fn difference(one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        _ if one == other => None,
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(key, value)| Some(format!(".{key}{}", difference(value, &b[key])?)))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(index, (a, b))| Some(format!("[{index}]{}", difference(a, b)?)))
        }
        _ => Some(format!(": {one}\nbut quintet install says\n{other}")),
    }
}

struct Helm {
    program: PathBuf,
    home: tempfile::TempDir,
}

impl Helm {
    fn find() -> Option<Self> {
        let program = or_skip("Helm on deploy/helm", tool("helm"))?;
        Some(Helm { program, home: tempfile::tempdir().unwrap() })
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.program);
        command.env_clear().env("HOME", self.home.path()).current_dir(workspace_dir().join("deploy/helm"));
        command.args(arguments).output().unwrap()
    }

    /// What the chart makes of these values, as JSON.
    fn template(&self, namespace: &str, values: &Value) -> Output {
        let file = self.home.path().join("values.json");
        std::fs::write(&file, values.to_string()).unwrap();
        let file = file.to_string_lossy();
        self.run(&["template", "release", "quintet", "--namespace", namespace, "--values", &file])
    }

    /// The same, as `quintet install` would have it: Helm's own mark on definitions is taken off.
    #[track_caller]
    fn objects(&self, namespace: &str, values: &Value) -> Objects {
        let mut objects = yaml(&self.template(namespace, values));
        for object in objects.values_mut().filter(|object| object["kind"] == "CustomResourceDefinition") {
            let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
            assert_eq!(annotations.remove("helm.sh/resource-policy"), Some("keep".into()));
            if annotations.is_empty() {
                object["metadata"].as_object_mut().unwrap().remove("annotations");
            }
        }
        objects
    }

    /// Compares the chart with these values to `quintet install` with these flags and variables.
    #[track_caller]
    fn agrees(&self, namespace: &str, values: Value, flags: &[&str], variables: &[(&str, &str)]) {
        let flags = [&["--namespace", namespace], flags].concat();
        let mut installed = install(&flags, variables);
        installed.remove(&format!("Namespace /{namespace}")); // Helm's business
        assert_same(&self.objects(namespace, &values), &installed, &format!("{flags:?} {variables:?}"));
    }
}

#[test]
fn the_chart_agrees_with_install_for_every_shape_platform_and_choice_of_systems() {
    let Some(helm) = Helm::find() else { return };
    for shape in ["fused", "split"] {
        for platform in ["kubernetes", "openshift"] {
            for operators in [&["mlflow", "model-registry"][..], &["mlflow"], &["model-registry"]] {
                let values =
                    serde_json::json!({"shape": shape, "platform": platform, "operators": operators});
                let flags = ["--shape", shape, "--platform", platform, "--operators", &operators.join(",")];
                helm.agrees("opendatahub", values, &flags, &[]);
            }
        }
    }
}

#[test]
fn the_chart_agrees_with_install_about_namespace_image_and_rights() {
    let Some(helm) = Helm::find() else { return };
    for shape in ["fused", "split"] {
        let image = "registry.test:5000/a/quintet@sha256:0123";
        let values = serde_json::json!({"shape": shape, "image": image, "platform": "openshift"});
        let flags = ["--shape", shape, "--image", image, "--platform", "openshift"];
        helm.agrees("elsewhere", values, &flags, &[]);
        let values = serde_json::json!({"shape": shape, "rbacOnly": true});
        helm.agrees("elsewhere", values, &["--shape", shape, "--rbac"], &[]);
    }
    let without = helm.objects("opendatahub", &serde_json::json!({"definitions": false}));
    assert!(!without.is_empty() && without.keys().all(|name| !name.starts_with("CustomResourceDefinition")));
    let three = helm.objects("opendatahub", &serde_json::json!({"replicas": 3}));
    assert_eq!(three["Deployment opendatahub/quintet"]["spec"]["replicas"], 3);
}

#[test]
fn the_chart_agrees_with_install_about_every_setting() {
    let Some(helm) = Helm::find() else { return };
    let values = std::fs::read_to_string(workspace_dir().join("deploy/helm/quintet/values.yaml")).unwrap();
    let values: Value = serde_saphyr::from_str(&values).unwrap();
    for (system, settings) in values["settings"].as_object().unwrap() {
        for (name, usual) in settings.as_object().unwrap() {
            let other = match usual.as_str().unwrap() {
                "true" => "false",
                "false" => "true",
                _ if name.ends_with("_NAMESPACE") => "registries",
                // What YAML, Helm and kustomize's hash each might stumble over.
                _ => "https://gw.test/?a='1'&b=\"<2>\" #c: {{ d }} ",
            };
            for shape in ["fused", "split"] {
                let values = serde_json::json!({"shape": shape, "settings": {system: {name: other}}});
                helm.agrees("opendatahub", values, &["--shape", shape], &[(name, other)]);
            }
        }
    }
}

#[test]
fn the_chart_refuses_values_that_mean_nothing() {
    let Some(helm) = Helm::find() else { return };
    let lint = helm.run(&["lint", "--strict", "quintet"]);
    assert!(lint.status.success(), "{}", String::from_utf8_lossy(&lint.stdout));
    for (values, named) in [
        (serde_json::json!({"shape": "both"}), "shape"),
        (serde_json::json!({"platform": "nomad"}), "platform"),
        (serde_json::json!({"operators": ["mlfow"]}), "operators"),
        (serde_json::json!({"operators": []}), "operators"),
        (serde_json::json!({"replica": 1}), "replica"),
        (serde_json::json!({"settings": {"mlflow": {"MLFLOW_IMGE": "x"}}}), "MLFLOW_IMGE"),
    ] {
        let refused = helm.template("opendatahub", &values);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(named), "{values}: {said}");
    }
}

struct Kustomize(PathBuf);

impl Kustomize {
    fn find() -> Option<Self> {
        let tools = or_skip("kustomize on deploy/kustomize", Tools::find())?;
        Some(Kustomize(tools.program("kubectl")))
    }

    #[track_caller]
    fn build(&self, folder: &Path) -> Objects {
        yaml(&Command::new(&self.0).env_clear().arg("kustomize").arg(folder).output().unwrap())
    }
}

#[test]
fn each_kustomize_base_agrees_with_install() {
    let Some(kustomize) = Kustomize::find() else { return };
    for shape in ["fused", "split"] {
        for platform in ["kubernetes", "openshift"] {
            let folder = workspace_dir().join(format!("deploy/kustomize/{shape}-{platform}"));
            let flags = ["--shape", shape, "--platform", platform];
            assert_same(&kustomize.build(&folder), &install(&flags, &[]), &format!("{flags:?}"));
        }
    }
}

#[test]
fn an_overlay_changes_the_image_of_a_base() {
    let Some(kustomize) = Kustomize::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    for shape in ["fused", "split"] {
        let base = folder.path().join(shape);
        let overlay = folder.path().join(format!("{shape}-overlay"));
        std::fs::create_dir_all(&base).unwrap();
        std::fs::create_dir_all(&overlay).unwrap();
        let committed = workspace_dir().join(format!("deploy/kustomize/{shape}-kubernetes"));
        for file in ["kustomization.yaml", "manifests.yaml"] {
            std::fs::copy(committed.join(file), base.join(file)).unwrap();
        }
        let image = "{name: ghcr.io/quintet-dev/quintet, newName: registry.test/quintet, newTag: \"7\"}";
        let text = format!("resources: [../{shape}]\nimages: [{image}]\n");
        std::fs::write(overlay.join("kustomization.yaml"), text).unwrap();
        let running = |objects: Objects| -> Objects {
            objects.into_iter().filter(|(name, _)| name.starts_with("Deployment")).collect()
        };
        let installed = install(&["--shape", shape, "--image", "registry.test/quintet:7"], &[]);
        assert_same(&running(kustomize.build(&overlay)), &running(installed), shape);
    }
}

#[track_caller]
fn promtool(program: &Path, arguments: &[&str]) {
    let mut command = Command::new(program);
    command.env_clear().current_dir(workspace_dir().join("deploy/monitoring")).args(arguments);
    let done = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "promtool {arguments:?}\n{out}{err}");
}

#[test]
fn each_alert_fires_when_it_should_and_is_quiet_when_not() {
    let Some(program) = or_skip("promtool on deploy/monitoring", tool("promtool")) else { return };
    promtool(&program, &["check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml"]);
    promtool(&program, &["test", "rules", "alerts-test.yaml"]);
}

#[test]
fn each_graph_of_the_dashboard_asks_for_something_that_prometheus_understands() {
    let Some(program) = or_skip("promtool on deploy/monitoring", tool("promtool")) else { return };
    let text = std::fs::read_to_string(workspace_dir().join("deploy/monitoring/dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let targets =
        dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array());
    let queries =
        targets.flatten().map(|target| target["expr"].as_str().unwrap().replace("$__rate_interval", "5m"));
    let rule = |(index, query)| serde_json::json!({"record": format!("graph:number:{index}"), "expr": query});
    let rules: Vec<Value> = queries.enumerate().map(rule).collect();
    assert!(rules.len() > 30, "{}", rules.len());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yaml");
    std::fs::write(&file, serde_json::json!({"groups": [{"name": "graphs", "rules": rules}]}).to_string())
        .unwrap();
    promtool(&program, &["check", "rules", &file.to_string_lossy()]);
}

#[test]
fn the_list_of_parts_is_complete_and_leaves_out_what_only_tests_use() {
    let done = Command::new(workspace_dir().join("hack/sbom")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let list: Value = serde_json::from_slice(&done.stdout).unwrap();
    let parts = list["components"].as_array().unwrap();
    let has = |name: &str| parts.iter().any(|part| part["name"] == name);
    assert!(has("kube") && has("rustls") && has("quintet-kit"), "parts are missing");
    assert!(!has("insta") && !has("criterion") && !has("quintet-harness"), "parts of tests are listed");
    for part in parts {
        let is_ours = part["name"].as_str().unwrap().starts_with("quintet-") || part["name"] == "plane";
        assert!(part["licenses"][0]["expression"].is_string(), "no licence: {part}");
        assert!(
            is_ours || part["hashes"][0]["content"].as_str().is_some_and(|hash| hash.len() == 64),
            "{part}"
        );
    }
    let known = |reference: &Value| {
        parts.iter().any(|part| &part["bom-ref"] == reference)
            || &list["metadata"]["component"]["bom-ref"] == reference
    };
    let mut needs =
        list["dependencies"].as_array().unwrap().iter().flat_map(|one| one["dependsOn"].as_array().unwrap());
    assert!(needs.all(known), "somebody needs what is not listed");
}
