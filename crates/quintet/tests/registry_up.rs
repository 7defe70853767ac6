//! `quintet up` with a model registry: the whole program, without a cluster.

mod support;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use support::quintet;

const EXAMPLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/model-registry/postgres-auto.yaml");

#[test]
fn a_registry_with_its_own_database_is_followed_until_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let mut up =
        quintet(folder.path()).args(["up", "--apply", EXAMPLE]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(up.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told: Vec<String> = lines
        .skip_while(|line| !line.ends_with("created"))
        .take_while(|line| !line.ends_with("  Available"))
        .collect();
    let is_running = up.try_wait().unwrap().is_none();
    let shown = |arguments: &[&str]| {
        let done = quintet(folder.path()).args(arguments).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    let tree = shown(&["tree", "modelregistry", "registry", "-n", "opendatahub"]);
    let catalog = shown(&["get", "deployments", "-n", "opendatahub"]);
    up.kill().unwrap();
    up.wait().unwrap();
    assert!(is_running, "it goes on after {told:?}");
    assert_eq!(told[0], "modelregistry.modelregistry.opendatahub.io/registry created");
    assert!(tree.starts_with("ModelRegistry opendatahub/registry  Available"), "{tree}");
    for child in
        ["Deployment opendatahub/registry  1/1 ready", "Deployment opendatahub/registry-postgres  1/1 ready"]
    {
        assert!(tree.contains(child), "{tree}");
    }
    assert!(catalog.contains("model-catalog-postgres"), "the catalog is beside it: {catalog}");
}
