//! What an object costs: resident memory per stored ConfigMap of about one KiB, with history compacted.
//!
//! `cargo run --release -p plane --example footprint` (Linux).

#![allow(clippy::print_stdout, reason = "printing figures is all this program does")]

use std::error::Error;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use plane::Plane;
use serde_json::json;

const OBJECTS: usize = 20_000;

fn resident() -> Result<usize, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse::<usize>()? * 1024)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let plane = Plane::builder().history_bytes(1 << 20).build();
    let api: Api<ConfigMap> = Api::default_namespaced(plane.client());
    let object = |name: String| -> ConfigMap {
        serde_json::from_value(json!({"metadata": {"name": name, "labels": {"app": "footprint"}},
            "data": {"config.yaml": "x".repeat(700)}}))
        .unwrap_or_default()
    };
    for i in 0..100 {
        api.create(&PostParams::default(), &object(format!("warm-{i}"))).await?;
    }
    let before = resident()?;
    for i in 0..OBJECTS {
        api.create(&PostParams::default(), &object(format!("c{i}"))).await?;
    }
    let after = resident()?;
    let body = serde_json::to_vec(&api.get("c1").await?)?.len();
    println!("{} bytes per object of {body} bytes of JSON", (after - before) / OBJECTS);
    Ok(())
}
