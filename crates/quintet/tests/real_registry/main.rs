//! The model registry as a person with kubectl meets it, on a real control plane and on the plane: both versions are read and
//! written through the conversion webhook, objects are defaulted and refused, and registries that an older release stored
//! are served at once and migrated.
//!
//! | file | what |
//! |---|---|
//! | `kubectl.rs` | kubectl, for one cluster |
//! | `site.rs` | a cluster on which `quintet install` was applied, and the process that serves it |
//! | `session.rs` | what a person types, and what they see |
//! | `old_release.rs` | a cluster that an older release left behind |
//!
//! `hack/tiers/registry-kubectl` runs them as CI does.

#[allow(dead_code, reason = "the tests of `quintet run` use the rest")]
#[path = "../run/cluster.rs"]
mod cluster;
mod kubectl;
mod old_release;
#[allow(dead_code, reason = "the tests of `quintet run` use the rest")]
#[path = "../run/process.rs"]
mod process;
mod session;
mod site;
#[path = "../support/mod.rs"]
mod support;

use kubectl::Kubectl;
use quintet_harness::{kube::Tools, or_skip};
use site::Site;

#[test]
fn kubectl_with_both_versions_on_quintet_up() {
    let Some(tools) = or_skip("kubectl on `quintet up`", Tools::find()) else { return };
    let up = support::Up::start(&["--operators", "model-registry"]);
    session::play(&Kubectl::new(tools.program("kubectl"), up.folder.path().join(".quintet/kubeconfig")));
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_with_both_versions_on_a_real_server_after_an_older_release() {
    let Some(site) = or_skip("kubectl with both versions", Site::real().await) else { return };
    upgraded(site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_with_both_versions_on_the_plane_after_an_older_release() {
    let Some(site) = or_skip("kubectl with both versions on the plane", Site::plane().await) else { return };
    upgraded(site).await;
}

/// An older release was here; it is replaced, worked with, and removed.
async fn upgraded(site: Site) {
    let stored = old_release::leave_behind(&site);
    site.install();
    stored.cannot_be_read_yet(&site.kubectl).await;
    let mut process = site.start().await;
    stored.are_served(&site.kubectl);
    stored.are_migrated(&site.kubectl, &mut process).await;
    session::play(&site.kubectl);
    assert!(process.terminate().await.0.success());
    stored.need_no_conversion_any_more(&site.kubectl);

    let process = site.start().await;
    site.uninstall();
    drop(process);
}
