use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

use crate::Error;

const NAMES: [&str; 2] = ["node-0", "node-1"];

/// Registers two nodes and waits until kwok has made them ready and the controllers have given `default` its account.
pub(super) async fn ready(client: &Client, limit: Duration, log: impl Fn() -> String) -> Result<(), Error> {
    let nodes = Api::<Node>::all(client.clone());
    for name in NAMES {
        nodes.create(&PostParams::default(), &node(name)).await?;
    }
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "default");
    let start = Instant::now();
    loop {
        let mut ready = accounts.get_opt("default").await?.is_some();
        for name in NAMES {
            ready &= nodes.get_opt(name).await?.is_some_and(|node| is_ready(&node));
        }
        if ready {
            return Ok(());
        }
        if start.elapsed() > limit {
            return Err(Error::Start {
                program: "kwok".into(),
                reason: format!("the nodes are not ready after {} s", limit.as_secs()),
                log: log(),
            });
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Lets pods onto the nodes, or keeps them out: what is not scheduled does not become ready.
pub(super) async fn open(client: &Client, open: bool) -> Result<(), Error> {
    let nodes = Api::<Node>::all(client.clone());
    let patch = Patch::Merge(json!({ "spec": { "unschedulable": !open } }));
    for name in NAMES {
        nodes.patch(name, &PatchParams::default(), &patch).await?;
    }
    Ok(())
}

fn node(name: &str) -> Node {
    let room = json!({"cpu": "64", "memory": "256Gi", "pods": "1000"});
    serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {"allocatable": room, "capacity": room},
    }))
    .expect("a node we wrote ourselves")
}

/// Ready, and free of the taint a new node carries until the controllers have seen that.
fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let untainted = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()).next().is_none();
    untainted
        && conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
