//! The leader is ended in the middle of its work, again and again: never two writers, never a lost reconcile.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::replica::{Replica, Runtime};
use super::saboteur::{Act, Deed, How, Saboteur};
use super::site::{Site, USER};
use super::until;
use super::wanted::fulfilled;
use super::witness::{MLFLOW, REGISTRY, forbidden, written};

/// How long the leases last in this test, in seconds: every takeover after a kill waits for that.
const LASTS: i64 = 4;
/// How many times the leader is ended, unless `QUINTET_KILLS` says otherwise.
const KILLS: usize = 10;
/// Of how many kills one is a clean stop, and one is under the original's lease.
const STOP_EVERY: usize = 5;
const ORIGINAL_TERMS_EVERY: usize = 25;

/// Specifications that differ in many children: each step makes, changes or deletes several.
fn specification(round: usize) -> Value {
    let mut spec = json!({
        "backendStoreUri": "postgresql://db-host:5432/mlflow",
        "defaultArtifactRoot": "s3://bucket/artifacts",
        "replicas": 1 + round % 2,
        "env": [{"name": "ROUND", "value": round.to_string()}],
        "garbageCollection": null,
        "serviceAccountName": format!("mlflow-{}", round % 3),
        "networkPolicyAdditionalEgressRules": [{"ports": [{"protocol": "TCP", "port": 10_000 + round}]}],
    });
    if round % 2 == 1 {
        spec["garbageCollection"] = json!({"schedule": "0 2 * * 0", "olderThan": format!("{round}d")});
    }
    spec
}

/// Two processes for the two Pods, one of which is ended now and then.
struct Pair {
    site: Site,
    saboteur: Saboteur,
    pods: Vec<Pod>,
    replicas: Vec<Replica>,
    random: StdRng,
    round: usize,
}

impl Pair {
    async fn new(mut site: Site, runtime: &Runtime, seed: u64) -> Self {
        let pods = site.pods().await;
        let saboteur = Saboteur::new(&site.admin, USER).await;
        let mut replicas = vec![];
        for pod in &pods {
            let replica = site.start(runtime, pod).await;
            saboteur.knows(&replica);
            replicas.push(replica);
        }
        Pair { site, saboteur, pods, replicas, random: StdRng::seed_from_u64(seed), round: 0 }
    }

    /// Changes the MLflow until a process was ended while it wrote; gives what was done.
    async fn strike(&mut self, how: How) -> Deed {
        loop {
            self.round += 1;
            // A change makes four writes or more; not all need be reached, since another change comes then.
            let at = self.random.random_range(1..=6);
            // A process that is asked to stop lives on, and must finish.
            let admit = how == How::Terminate || self.random.random_bool(0.5);
            self.saboteur.plot(Act { at, how, admit });
            self.site.change_mlflow(&specification(self.round)).await;
            if let Some(deed) = self.saboteur.done(Duration::from_secs(5)).await {
                return deed;
            }
        }
    }

    /// Starts a process again whose container ended.
    async fn restart(&mut self, runtime: &Runtime, victim: &str) {
        let at = self.replicas.iter().position(|replica| replica.credential == victim).expect("one of them");
        self.replicas[at] = self.site.start(runtime, &self.pods[at]).await;
        self.saboteur.knows(&self.replicas[at]);
    }

    /// Waits until everything is as the MLflow wants it, under a leader that lives.
    async fn fulfilled(&self) {
        let config = self.site.config(&self.pods[0]);
        until("what was wanted comes about", async || {
            for replica in &self.replicas {
                let ended = replica.has_ended();
                assert!(ended.is_none(), "{} ended by itself: {ended:?}\n{}", replica.pod, self.site.logs());
            }
            self.site.leader().await?;
            fulfilled(&self.site.admin, &config).await
        })
        .await;
    }
}

fn kills() -> usize {
    std::env::var("QUINTET_KILLS")
        .ok()
        .map_or(KILLS, |kills| kills.parse().expect("QUINTET_KILLS is a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_killed_in_mid_reconcile_is_followed_and_never_joined() {
    let Some(site) = Site::installed("killing the leader").await else { return };
    let seed = rand::random();
    println!("seed {seed}");
    let quick = site.runtime(&["--lease-duration", &LASTS.to_string()]);
    let as_installed = site.runtime(&[]);
    let mut pair = Pair::new(site, &quick, seed).await;
    pair.site.create_mlflow(specification(0)).await;
    pair.fulfilled().await;

    let (mut deeds, mut takeovers) = (vec![], vec![]);
    for kill in 1..=kills() {
        let how = if kill % STOP_EVERY == 0 { How::Terminate } else { How::Kill };
        let deed = pair.strike(how).await;
        let victim =
            pair.replicas.iter().find(|replica| replica.credential == deed.victim).expect("ours").clone();
        let status = victim.ended().await;
        assert_eq!(status.success(), how == How::Terminate, "{status}\n{}", pair.site.logs());
        // Half of the time something else is wanted while nobody leads.
        if pair.random.random_bool(0.5) {
            pair.round += 1;
            pair.site.change_mlflow(&specification(pair.round)).await;
        }
        // The new process, and with it the next leader but one, may have the original's terms: they mix safely.
        let runtime = if kill % ORIGINAL_TERMS_EVERY == 0 { &as_installed } else { &quick };
        pair.restart(runtime, &deed.victim).await;
        pair.fulfilled().await;
        takeovers.push((how, deed.when));
        println!("{kill}: {how:?} at {}", deed.write);
        deeds.push(deed);
    }

    let events = pair.site.cluster.audit().unwrap();
    assert_eq!(forbidden(&events), BTreeSet::new(), "every right that was needed was held");
    let testimony = MLFLOW.judge(&events).unwrap_or_else(|why| panic!("{why}\nseed {seed}"));
    let beside = REGISTRY.judge(&events).unwrap_or_else(|why| panic!("{why}\nseed {seed}"));
    println!(
        "{} writes by {} processes; the latest {:#} after a renewal",
        testimony.writes,
        testimony.writers.len(),
        testimony.latest
    );
    for how in [How::Kill, How::Terminate] {
        let of = takeovers.iter().filter(|(done, _)| *done == how).map(|(_, when)| {
            let next = testimony.acquired.iter().find(|(at, _)| at > when).expect("somebody followed");
            next.0.duration_since(*when)
        });
        let mut took: Vec<SignedDuration> = of.collect();
        took.sort();
        if let (Some(least), Some(most)) = (took.first(), took.last()) {
            println!(
                "{how:?}: {} takeovers, {least:#} to {most:#}, median {:#}",
                took.len(),
                took[took.len() / 2]
            );
        }
    }
    println!("{:#?}", written(&events));
    let writers: BTreeSet<_> = testimony.writers.union(&beside.writers).collect();
    assert!(writers.len() > deeds.len(), "each that was ended had written: {writers:#?}");
    rests(&pair).await;
}

/// With everything as wanted, nothing is written any more but the lease.
async fn rests(pair: &Pair) {
    let from = Timestamp::now();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let events = pair.site.cluster.audit().unwrap();
    let since: Vec<String> = events
        .iter()
        .filter(|event| event.received() > from && event.is_write() && event.resource() != "leases")
        .map(ToString::to_string)
        .collect();
    assert!(since.is_empty(), "{since:#?}");
    let pods: Vec<String> = pair.pods.iter().map(ResourceExt::name_any).collect();
    assert!(pods.contains(&pair.site.leader().await.unwrap()));
}
