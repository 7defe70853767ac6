//! The operators of `quintet up` run in its own process. So that they are seen where operators are looked for, and can be
//! paused as one pauses operators, each is shown as a Deployment: while one of its Pods runs the operator runs, and
//! scaled to 0 it rests.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, ResourceExt};
use plane::workloads::{Connection, Program, Session};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::prerequisites::apply;

/// The annotation of a Pod that stands for a part of this process; its value names the part.
pub const ANNOTATION: &str = "local.quintet.dev/part";
/// The image of a Pod that runs nothing of its own.
pub const IN_PROCESS: &str = "quintet:in-process";
const METRICS: u16 = 8080;
const HEALTH: u16 = 8081;

/// Which parts should run now: those with a running Pod. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Parts {
    namespace: String,
    names: BTreeSet<String>,
    /// How many Pods run of each.
    pods: Arc<watch::Sender<BTreeMap<String, usize>>>,
    /// Where metrics and health are really served.
    ports: Arc<OnceLock<(SocketAddr, SocketAddr)>>,
}

impl Parts {
    /// These parts, in the operators' own namespace; none runs yet.
    pub fn new<'a>(namespace: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        Parts {
            namespace: namespace.into(),
            names: names.into_iter().map(Into::into).collect(),
            pods: Arc::new(watch::channel(BTreeMap::new()).0),
            ports: Arc::default(),
        }
    }

    /// What stands behind a container of a Pod: the part that the Pod names.
    pub fn program(&self, pod: &Pod) -> Option<Program> {
        let name = pod.annotations().get(ANNOTATION).filter(|name| self.names.contains(*name))?;
        if pod.namespace().as_ref() != Some(&self.namespace) {
            return None;
        }
        let (name, pods, ports) = (name.clone(), self.pods.clone(), self.ports.clone());
        let run = move |session: Session| run(name.clone(), pods.clone(), session);
        Some(Program::new(run).serving(move |port| {
            let ports = ports.clone();
            async move {
                let address = match (port, ports.get()) {
                    (METRICS, Some((metrics, _))) => *metrics,
                    (HEALTH, Some((_, health))) => *health,
                    _ => {
                        let told =
                            format!("metrics are on port {METRICS} and health on {HEALTH}, not on {port}");
                        return Err(std::io::Error::new(std::io::ErrorKind::ConnectionRefused, told));
                    }
                };
                Ok(Box::new(TcpStream::connect(address).await?) as Box<dyn Connection>)
            }
        }))
    }

    /// Where to connect those who forward a port of a part.
    pub fn serve(&self, metrics: SocketAddr, health: SocketAddr) {
        let _ = self.ports.set((metrics, health)); // they are bound once
    }

    /// The parts that should run, now and whenever that changes.
    pub fn active(&self) -> Active {
        Active { pods: self.pods.subscribe(), last: None }
    }

    /// Shows the parts as Deployments.
    pub async fn install(&self, client: &Client) -> Result<()> {
        let api: Api<Deployment> = Api::namespaced(client.clone(), &self.namespace);
        for name in &self.names {
            let deployment = deployment(name);
            apply(&api, &format!("quintet-{name}"), &deployment)
                .await
                .with_context(|| format!("showing {name} as a Deployment"))?;
        }
        Ok(())
    }
}

/// Follows which parts should run.
#[derive(Debug)]
pub struct Active {
    pods: watch::Receiver<BTreeMap<String, usize>>,
    last: Option<BTreeSet<String>>,
}

impl Active {
    /// The parts that should run, once that differs from what was last told.
    pub async fn next(&mut self) -> BTreeSet<String> {
        loop {
            let now: BTreeSet<String> = self
                .pods
                .borrow_and_update()
                .iter()
                .filter(|(_, pods)| **pods > 0)
                .map(|(name, _)| name.clone())
                .collect();
            if self.last.as_ref() != Some(&now) {
                self.last = Some(now.clone());
                return now;
            }
            if self.pods.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

/// The main program of a part's Pod: the part runs as long as this does.
async fn run(name: String, pods: Arc<watch::Sender<BTreeMap<String, usize>>>, mut session: Session) -> i32 {
    if !session.command.is_empty() {
        let told =
            format!("{name} runs in process {}: there is nothing else to run here\n", std::process::id());
        let _ = session.stderr.write_all(told.as_bytes()).await;
        return 127;
    }
    let _running = Running::new(name.clone(), pods);
    let told = format!("{name} runs in process {}; its log is that process's\n", std::process::id());
    let _ = session.stdout.write_all(told.as_bytes()).await;
    std::future::pending().await
}

/// A Pod of a part, running until dropped.
struct Running {
    name: String,
    pods: Arc<watch::Sender<BTreeMap<String, usize>>>,
}

impl Running {
    fn new(name: String, pods: Arc<watch::Sender<BTreeMap<String, usize>>>) -> Self {
        pods.send_modify(|pods| *pods.entry(name.clone()).or_default() += 1);
        Running { name, pods }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.pods.send_modify(|pods| {
            if let Some(count) = pods.get_mut(&self.name) {
                *count = count.saturating_sub(1);
            }
        });
    }
}

/// The labels of a part's Pods.
pub fn labels(part: &str) -> BTreeMap<String, String> {
    let labels = [("app.kubernetes.io/name", "quintet"), ("app.kubernetes.io/component", part)];
    labels.map(|(key, value)| (key.into(), value.into())).into()
}

fn deployment(part: &str) -> Value {
    let name = format!("quintet-{part}");
    let labels = labels(part);
    let port = |name: &str, port: u16| json!({"name": name, "containerPort": port, "protocol": "TCP"});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "Recreate"},
            "template": {
                "metadata": {"labels": labels, "annotations": {ANNOTATION: part}},
                "spec": {
                    "serviceAccountName": super::prerequisites::ACCOUNT,
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{
                        "name": "manager",
                        "image": IN_PROCESS,
                        "ports": [port("metrics", METRICS), port("health", HEALTH)],
                    }],
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(namespace: &str, part: &str) -> Pod {
        let pod =
            json!({"metadata": {"name": "p", "namespace": namespace, "annotations": {ANNOTATION: part}}});
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn only_pods_of_the_home_namespace_stand_for_a_part() {
        let parts = Parts::new("home", ["mlflow"]);
        assert!(parts.program(&pod("home", "mlflow")).is_some());
        assert!(parts.program(&pod("home", "other")).is_none());
        assert!(parts.program(&pod("elsewhere", "mlflow")).is_none());
    }

    #[tokio::test]
    async fn a_part_runs_while_one_of_its_pods_does() {
        let parts = Parts::new("home", ["mlflow"]);
        let mut active = parts.active();
        assert!(active.next().await.is_empty());
        let first = Running::new("mlflow".into(), parts.pods.clone());
        assert_eq!(active.next().await, BTreeSet::from(["mlflow".to_string()]));
        let second = Running::new("mlflow".into(), parts.pods.clone());
        drop(first);
        drop(second);
        assert!(active.next().await.is_empty(), "the second Pod alone was no news");
    }
}
