//! Many registries in one namespace beside many foreign Secrets and ConfigMaps, on a real control plane: how long until
//! all are reconciled, how many API calls that takes, and how much memory.
//!
//! `hack/bench/model-registry` runs it. The operator is a process of its own: `quintet`, built to be measured and under the
//! rights that follow from its wiring, or the original's `manager` with every right. Calls are counted by the API server.
//! No pod is scheduled: what is measured is the operator.

#![expect(clippy::print_stdout, reason = "its figures are what it is run for")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, Secret},
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::PostParams,
    runtime::{WatchStreamExt, watcher},
};
use quintet_api::model_registry::ModelRegistry;
use quintet_harness::{Scratch, kube::Cluster};
use quintet_kit::{Kind, rights::Holder};
use quintet_model_registry::{Config, ModelRegistryOperator};
use quintet_stage::server::{authorise, install};
use serde_json::{Value, json};

const NAMESPACE: &str = "mr";
const HOME: &str = "opendatahub";
const ACCOUNT: &str = "model-registry-operator-controller-manager";
/// Of what each foreign object holds.
const BYTES: usize = 4096;
const SETTINGS: [(&str, &str); 3] =
    [("REGISTRIES_NAMESPACE", NAMESPACE), ("ENABLE_MODEL_CATALOG", "false"), ("ENABLE_WEBHOOKS", "false")];
/// The original is held to 20 calls a second by its own client.
const LONG: Duration = Duration::from_secs(30 * 60);

const MINUTE: Duration = Duration::from_secs(60);

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or("usage: many-registries PROGRAM [REGISTRIES] [FOREIGN]")?;
    let program = fs::canonicalize(program)?;
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |text| text.parse());
    let (registries, foreign) = (number(500)?, number(10_000)?);

    let user = format!("system:serviceaccount:{HOME}:{ACCOUNT}");
    let cluster = Cluster::auditing(&user).await?;
    let admin = cluster.client().await?;
    cluster.schedule_pods(false).await?;
    prepare(&admin).await?;
    make::<Secret>(&admin, foreign, |n| held(n, "stringData")).await?;
    make::<ConfigMap>(&admin, foreign, |n| held(n, "data")).await?;
    println!("beside {foreign} Secrets and {foreign} ConfigMaps of {BYTES} bytes");

    // The first registry tells when the operator has begun its work.
    make::<ModelRegistry>(&admin, 1, |_| registry("first")).await?;
    let operator = Operator::start(&program, &cluster, &user)?;
    until_reconciled(&admin, 1).await?;
    println!(
        "first registry reconciled {:.1?} after the start; {}",
        operator.began.elapsed(),
        operator.memory()?
    );

    let (from, began) = (Timestamp::now(), Instant::now());
    let made = make::<ModelRegistry>(&admin, registries, |n| registry(&format!("reg-{n}")));
    let (made, reconciled) = tokio::join!(made, until_reconciled(&admin, registries + 1));
    made?;
    reconciled?;
    let taken = began.elapsed().as_secs_f64();
    println!("{registries} registries reconciled in {taken:.1} s; {}", operator.memory()?);
    tell(&cluster, from, registries)?;

    let from = Timestamp::now();
    tokio::time::sleep(MINUTE).await;
    println!("in the minute after that; {}", operator.memory()?);
    tell(&cluster, from, registries)?;

    drop(operator);
    let from = Timestamp::now();
    let operator = Operator::start(&program, &cluster, &user)?;
    tokio::time::sleep(MINUTE).await;
    println!("in the minute after another start; {}", operator.memory()?);
    tell(&cluster, from, registries)
}

fn held(number: usize, field: &str) -> Value {
    json!({ "metadata": { "name": format!("foreign-{number}") }, field: { "x": "x".repeat(BYTES) } })
}

fn registry(name: &str) -> Value {
    let mysql = json!({ "host": "db", "database": "d", "username": "u", "passwordSecret": { "name": "s", "key": "p" } });
    json!({ "metadata": { "name": name }, "spec": { "rest": {}, "mysql": mysql } })
}

/// Namespaces, definitions, the registries' password, and the operator's rights.
async fn prepare(admin: &Client) -> Result<(), Failure> {
    for name in [NAMESPACE, HOME] {
        let namespace: Namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
        Api::all(admin.clone()).create(&PostParams::default(), &namespace).await?;
    }
    for definition in quintet_api::model_registry::crds() {
        install(admin, definition).await;
    }
    make::<Secret>(admin, 1, |_| json!({ "metadata": { "name": "s" }, "stringData": { "p": "x" } })).await?;
    let variable =
        |name: &str| SETTINGS.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    let system = ModelRegistryOperator::new(Config::new(variable)?);
    authorise(admin, &system, Holder { namespace: HOME, account: ACCOUNT }).await;
    Ok(())
}

/// Makes so many objects, a few dozen at once.
async fn make<K>(admin: &Client, count: usize, object: impl Fn(usize) -> Value) -> Result<(), Failure>
where
    K: Kind + kube::Resource<Scope = kube::core::NamespaceResourceScope>,
{
    let api: Api<K> = Api::namespaced(admin.clone(), NAMESPACE);
    let objects =
        (0..count).map(|n| serde_json::from_value::<K>(object(n))).collect::<Result<Vec<_>, _>>()?;
    let made =
        stream::iter(&objects).map(|object| async { api.create(&PostParams::default(), object).await });
    made.buffer_unordered(32).try_for_each(|_| async { Ok(()) }).await?;
    Ok(())
}

/// Waits until the operator has said of so many registries that all their children are there.
async fn until_reconciled(admin: &Client, count: usize) -> Result<(), Failure> {
    let api: Api<ModelRegistry> = Api::namespaced(admin.clone(), NAMESPACE);
    let mut seen =
        std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff().applied_objects());
    let mut done = BTreeSet::new();
    let all = async {
        while done.len() < count {
            let Some(registry) = seen.next().await else { break };
            let Ok(registry) = registry else { continue }; // it is watched anew
            let conditions = registry.status.iter().flat_map(|status| &status.conditions);
            if conditions.into_iter().any(|c| c.type_ == "Progressing" && c.reason == "CreatedDeployment") {
                done.insert(registry.name_any());
            }
        }
    };
    let late = tokio::time::timeout(LONG, all).await.is_err();
    if late { Err(format!("{} of {count} registries are reconciled", done.len()).into()) } else { Ok(()) }
}

/// What the API server was asked since then.
fn tell(cluster: &Cluster, from: Timestamp, registries: usize) -> Result<(), Failure> {
    let mut calls = BTreeMap::<(String, String), usize>::new();
    for event in cluster.audit()?.iter().filter(|event| event.received() >= from && event.verb != "watch") {
        *calls.entry((event.verb.clone(), event.resource())).or_default() += 1;
    }
    let all: usize = calls.values().sum();
    println!("{all} calls, {:.1} a registry", all as f64 / registries as f64);
    for ((verb, resource), count) in calls {
        println!("  {count:6} {verb} {resource}");
    }
    Ok(())
}

/// The program, as a process that ends with this value.
struct Operator {
    process: Child,
    began: Instant,
    _scratch: Scratch,
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Operator {
    fn start(program: &PathBuf, cluster: &Cluster, user: &str) -> Result<Self, Failure> {
        let scratch = Scratch::new("quintet-measured-")?;
        let mut command = Command::new(program);
        if program.file_name() == Some(Path::new("manager").as_os_str()) {
            // It gives away rights that its own role lacks.
            command.env("KUBECONFIG", cluster.kubeconfig_for(user, &["system:masters"])?);
            command.args([
                "--metrics-bind-address=0",
                "--health-probe-bind-address=0",
                "--zap-log-level=error",
            ]);
        } else {
            let groups = ["system:serviceaccounts", &format!("system:serviceaccounts:{HOME}")];
            command.args(["run", "--operators", "model-registry", "--no-leases", "--namespace", HOME]);
            command.arg("--kubeconfig").arg(cluster.kubeconfig_for(user, &groups)?);
            for port in ["--metrics-listen", "--webhook-listen", "--health-listen", "--plain-metrics-listen"]
            {
                command.args([port, "0"]);
            }
        }
        command.envs(SETTINGS).stdout(Stdio::null()).stderr(File::create(scratch.path().join("log"))?);
        Ok(Operator { process: command.spawn()?, began: Instant::now(), _scratch: scratch })
    }

    /// What the kernel says of its memory.
    fn memory(&self) -> Result<String, Failure> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let field = |name: &str| -> Option<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().trim_end_matches(" kB").parse::<f64>().ok()? / 1024.0)
        };
        let (now, peak) = (field("VmRSS:").unwrap_or_default(), field("VmHWM:").unwrap_or_default());
        Ok(format!("{now:.1} MiB resident, {peak:.1} MiB at most"))
    }
}
