//! What `quintet install` prints, on a real control plane: two replicas under the account and the rights that it names, a
//! leader that is killed in the middle of its work, certificates that turn under a stream of requests, and an uninstall
//! that leaves nothing.
//!
//! There is no kubelet here. The Pods of the installed Deployment are played by processes of this machine: each has its
//! Pod's arguments and environment, and a token that the API server issued for that Pod.
//!
//! | file | what |
//! |---|---|
//! | `site.rs` | the control plane with Quintet installed on it, and kubectl |
//! | `replica.rs` | a process in the place of a Pod's container |
//! | `balancer.rs` | leads connections to replicas, as a Service does |
//! | `saboteur.rs` | ends a process while the API server handles one of its writes |
//! | `witness.rs` | what the audit log says about who wrote when |
//! | `held.rs` | rights beside those of the wiring, and which of them were used |
//! | `wanted.rs` | is everything as `quintet render` gives it? |
//! | `inventory.rs` | every object of the cluster, of whatever kind |
//! | `installed.rs`, `takeover.rs`, `rotation.rs` | the tests |
//!
//! `hack/tiers/install` runs them as CI does. The whole campaign: `QUINTET_KILLS=100 hack/tiers/install`.

#![allow(clippy::print_stdout, reason = "what the campaign saw, for whoever runs it")]

mod balancer;
mod held;
mod installed;
mod inventory;
mod replica;
mod rotation;
mod saboteur;
mod site;
mod takeover;
mod wanted;
mod witness;

use std::time::{Duration, Instant};

/// Far more than anything here takes, on a machine that does other things too.
const LONG: Duration = Duration::from_secs(180);

/// Looks again until there is an answer; panics with the last reason why there is none.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match look().await {
            Ok(found) => return found,
            Err(why) => assert!(began.elapsed() < LONG, "{what}: not in time: {why}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
