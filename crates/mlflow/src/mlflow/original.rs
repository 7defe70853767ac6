//! What the original operator left in a cluster and may stay as it is.

use k8s_openapi::api::apps::v1::Deployment;
use quintet_kit::parts::ca_bundle::Scripts;
use sha2::{Digest, Sha256};

/// Digests (SHA-256) of the original's two shell programs, the combining and the watching one: its text is not ours to
/// ship, but can be told from any other.
const SCRIPTS: (&str, &str) = (
    "cdfd01dd228d34ae31b504ff666d7720e19b122e69ffdf5d75b90321cc199699",
    "0facf4980510d45290b9f6e745a9b568143995ed0fc2003f1d9ea6ce60baefca",
);

/// The shell programs of the server's pods, if they are the original's.
pub(super) fn scripts(deployment: &Deployment) -> Option<Scripts> {
    scripts_like(deployment, SCRIPTS)
}

fn scripts_like(deployment: &Deployment, (combine, watch): (&str, &str)) -> Option<Scripts> {
    let scripts = Scripts::of(deployment.spec.as_ref()?.template.spec.as_ref()?)?;
    (digest(&scripts.combine) == combine && digest(&scripts.watch) == watch).then_some(scripts)
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_known_programs_are_kept() {
        let deployment = |combine: &str, watch: &str| -> Deployment {
            let container =
                |name: &str, script: &str| json!({ "name": name, "command": ["/bin/sh", "-c", script] });
            let pod = json!({
                "initContainers": [container("combine-ca-bundles", combine)],
                "containers": [{ "name": "mlflow" }, container("ca-bundle-watcher", watch)],
            });
            serde_json::from_value(json!({ "spec": { "selector": {}, "template": { "spec": pod } } }))
                .unwrap()
        };
        let (combine, watch) = (digest("one"), digest("two"));
        let kept = |deployment| scripts_like(&deployment, (&combine, &watch)).map(|s| (s.combine, s.watch));
        assert_eq!(kept(deployment("one", "two")), Some(("one".into(), "two".into())));
        assert_eq!(kept(deployment("one", "changed")), None);
        assert_eq!(kept(Deployment::default()), None);
        assert_eq!(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
