//! The control plane with Quintet installed on it, and kubectl.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use quintet_api::mlflow::MLflow;
use quintet_harness::kube::Cluster;
use quintet_harness::or_skip;
use quintet_kit::Kind;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::inventory::inventory;
use super::replica::{Leash, Replica, Runtime};
use super::until;

pub(crate) const NAMESPACE: &str = "opendatahub";
/// Who all replicas are.
pub(crate) const USER: &str = "system:serviceaccount:opendatahub:quintet";
/// Of the MLflow operator.
pub(crate) const LEASE: &str = "a5eb1b3b.opendatahub.io";
pub(crate) const REGISTRY_LEASE: &str = "85f368d1.opendatahub.io";

pub(crate) struct Site {
    pub(crate) admin: Client,
    pub(crate) cluster: Cluster,
    /// All there was before the install.
    pub(crate) before: BTreeSet<String>,
    pub(crate) replicas: Leash,
    folder: TempDir,
}

impl Site {
    /// A control plane of its own, with what `quintet install` prints applied by kubectl; none where there is no control
    /// plane to start.
    pub(crate) async fn installed(test: &str) -> Option<Self> {
        Site::installed_with(test, &[]).await
    }

    /// The same with these flags.
    pub(crate) async fn installed_with(test: &str, flags: &[&str]) -> Option<Self> {
        let cluster = or_skip(test, Cluster::auditing(USER).await)?;
        let admin = cluster.client().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let before = at_rest(&admin).await;
        let site = Site { admin, cluster, before, replicas: Leash(vec![]), folder };
        let manifests = site.quintet(&[&["install"], flags].concat());
        site.kubectl(&["apply", "--server-side", "-f", "-"], &manifests);
        site.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"], "");
        Some(site)
    }

    /// What the program prints.
    pub(crate) fn quintet(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
        command.env_clear().current_dir(self.folder.path()).args(arguments);
        printed(&mut command, "")
    }

    /// What an administrator's kubectl prints; it must succeed.
    pub(crate) fn kubectl(&self, arguments: &[&str], input: &str) -> String {
        let config = self.cluster.kubeconfig().unwrap();
        printed(self.kubectl_with(&config).args(arguments), input)
    }

    /// kubectl with a kubeconfig.
    pub(crate) fn kubectl_with(&self, kubeconfig: &std::path::Path) -> Command {
        let mut command = Command::new(self.cluster.tools().program("kubectl"));
        command.arg("--kubeconfig").arg(kubeconfig);
        command.arg("--cache-dir").arg(self.folder.path().join("cache"));
        command
    }

    /// The Pods of the installed Deployment, once all that it asks for are there.
    pub(crate) async fn pods(&self) -> Vec<Pod> {
        let pods: Api<Pod> = Api::namespaced(self.admin.clone(), NAMESPACE);
        let ours = ListParams::default().labels("app.kubernetes.io/name=quintet");
        until("the Deployment makes its Pods", async || {
            let found = pods.list(&ours).await.map_err(|error| error.to_string())?.items;
            if found.len() == 2 { Ok(found) } else { Err(format!("{} of 2", found.len())) }
        })
        .await
    }

    /// How processes are started here, with these flags beside those of their Pod.
    pub(crate) fn runtime(&self, flags: &[&str]) -> Runtime {
        let mut all: Vec<String> = ["--log-format", "json"].map(str::to_owned).to_vec();
        if !flags.contains(&"--webhook-listen") {
            all.extend(["--webhook-listen", "0"].map(str::to_owned));
        }
        for port in ["--health-listen", "--metrics-listen", "--plain-metrics-listen"] {
            all.extend([port.into(), "127.0.0.1:0".into()]);
        }
        all.extend(flags.iter().map(|&flag| flag.to_owned()));
        Runtime {
            admin: self.admin.clone(),
            url: self.cluster.url(),
            authority: self.cluster.certificate_authority().unwrap(),
            folder: self.folder.path().to_owned(),
            flags: all,
        }
    }

    /// Starts a process for a Pod; it ends with the test.
    pub(crate) async fn start(&mut self, runtime: &Runtime, pod: &Pod) -> Replica {
        let replica = runtime.start(pod).await;
        self.replicas.0.push(replica.clone());
        replica
    }

    /// The settings of the MLflow operator, as the Deployment has them.
    pub(crate) fn config(&self, pod: &Pod) -> quintet_mlflow::Config {
        let env = pod.spec.as_ref().unwrap().containers[0].env.clone().unwrap_or_default();
        let find = |name: &str| {
            let name = quintet::systems::variable("mlflow", name);
            env.iter().find(|variable| variable.name == name).and_then(|variable| variable.value.clone())
        };
        quintet_mlflow::Config::new(NAMESPACE, find).unwrap()
    }

    /// Makes the MLflow; a `null` says nothing.
    pub(crate) async fn create_mlflow(&self, mut spec: Value) {
        spec.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let object = json!({"apiVersion": "mlflow.opendatahub.io/v1", "kind": "MLflow",
            "metadata": {"name": "mlflow"}, "spec": spec});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        self.mlflows().create(&PostParams::default(), &object).await.unwrap();
    }

    /// Changes the specification; `null` takes a field away.
    pub(crate) async fn change_mlflow(&self, spec: &Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.mlflows().patch("mlflow", &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) fn mlflows(&self) -> Api<DynamicObject> {
        Api::all_with(self.admin.clone(), &MLflow::api_resource())
    }

    pub(crate) async fn lease(&self) -> Option<LeaseSpec> {
        let api: Api<Lease> = Api::namespaced(self.admin.clone(), NAMESPACE);
        api.get_opt(LEASE).await.unwrap()?.spec
    }

    /// The Pod that holds the lease.
    pub(crate) async fn leader(&self) -> Result<String, String> {
        let holder = self.lease().await.and_then(|lease| lease.holder_identity).unwrap_or_default();
        let pod = holder.split('_').next().filter(|pod| !pod.is_empty());
        pod.map(str::to_owned).ok_or_else(|| "nobody leads".into())
    }

    /// What the processes said, for when a test fails.
    pub(crate) fn logs(&self) -> String {
        let tails = self.replicas.0.iter().rev().take(3).map(|replica| {
            let log = replica.log();
            let tail: Vec<&str> = log.lines().rev().take(30).collect();
            let lines: Vec<&str> = tail.into_iter().rev().collect();
            format!("--- {} {}\n{}", replica.pod, replica.log_path().display(), lines.join("\n"))
        });
        tails.collect::<Vec<_>>().join("\n")
    }
}

/// All there is, once the control plane has made everything that it makes by itself.
async fn at_rest(admin: &Client) -> BTreeSet<String> {
    let mut before = BTreeSet::new();
    until("the control plane comes to rest", async || {
        let now = inventory(admin).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        if now == before {
            return Ok(now);
        }
        before = now;
        Err("it still makes things".into())
    })
    .await
}

/// Runs a program that must succeed; what it printed.
#[track_caller]
pub(crate) fn printed(command: &mut Command, input: &str) -> String {
    let done = ran(command, input);
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?}\n{out}{err}");
    out.into_owned()
}

pub(crate) fn ran(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}
