//! Certificates of our own authority turn under a stream of requests that go through the model registry's webhooks, and
//! none fails.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::{Api, Client};
use quintet_api::model_registry::{ModelRegistry, v1alpha1};
use quintet_kit::Kind;
use serde_json::{Value, json};

use super::balancer::Balancer;
use super::held::idle;
use super::site::{NAMESPACE, Site};
use super::until;
use super::witness::forbidden;

/// How long an authority lives at least: a year in a minute. Every 40 s there is a new one, every 16 s a new certificate, and
/// what is due has 8 s to be renewed. A longer stream has more patience with a busy machine.
const LIFE: u64 = 60;
/// How long the stream lasts, unless `QUINTET_ROTATION_SECONDS` says otherwise.
const SECONDS: u64 = 95;
/// How many requests are under way at once. The API server keeps 25 idle connections to a webhook: with more than that some
/// are made anew each time, and look at the certificate.
const AT_ONCE: usize = 40;
const SECRET: &str = "quintet-webhook-certificates";
const PATHS: [&str; 3] = [
    "/mutate-modelregistry-opendatahub-io-modelregistry",
    "/validate-modelregistry-opendatahub-io-modelregistry",
    "/convert",
];

/// Clients of both versions.
struct Stream {
    old: Api<DynamicObject>,
    new: Api<DynamicObject>,
    /// How often the API server asked for a moment's patience.
    asked_to_wait: AtomicUsize,
}

impl Stream {
    fn new(admin: &Client) -> Self {
        let of = |resource| Api::namespaced_with(admin.clone(), "default", &resource);
        Stream {
            old: of(v1alpha1::ModelRegistry::api_resource()),
            new: of(ModelRegistry::api_resource()),
            asked_to_wait: AtomicUsize::new(0),
        }
    }

    /// Makes one in this version, or only asks whether it could be made.
    async fn create(&self, version: &str, name: &str, host: &str, dry_run: bool) -> Result<Value, String> {
        let object = json!({"apiVersion": format!("modelregistry.opendatahub.io/{version}"), "kind": "ModelRegistry",
            "metadata": {"name": name},
            "spec": {"rest": {"serviceRoute": ""}, "grpc": {}, "mysql": {"host": host, "database": "d", "username": "u"}}});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let api = if version == "v1beta1" { &self.new } else { &self.old };
        let params = PostParams { dry_run, ..PostParams::default() };
        self.patiently(async || api.create(&params, &object).await).await.map(|made| json!(made))
    }

    /// One of four requests: both versions are written, and what is stored in the new one is read in the old.
    async fn ask(&self, number: usize) -> Result<(), String> {
        let name = format!("fresh-{number}");
        let answer = match number % 4 {
            0 => self.create("v1beta1", &name, "db", true).await?,
            1 => self.create("v1alpha1", &name, "db", true).await?,
            2 => json!(self.patiently(async || self.old.get("stored").await).await?),
            _ => {
                let list = self.patiently(async || self.old.list(&ListParams::default()).await).await?;
                json!(list.items.first())
            }
        };
        let is_defaulted = answer["spec"]["rest"]["serviceRoute"] == "disabled";
        if is_defaulted { Ok(()) } else { Err(format!("not defaulted: {answer}")) }
    }

    /// Asks again where the API server says so: it reads a definition anew whenever that changes, be it only in whom to
    /// trust, and until it has, tells clients to come again. All of them do.
    async fn patiently<T>(&self, ask: impl AsyncFn() -> kube::Result<T>) -> Result<T, String> {
        loop {
            match ask().await {
                Err(kube::Error::Api(status))
                    if status.code == 429 && status.message == "storage is (re)initializing" =>
                {
                    self.asked_to_wait.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                answer => return answer.map_err(|error| error.to_string()),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_turn_under_a_stream_of_admission_requests_and_none_fails() {
    let balancer = Balancer::new().await;
    let flags = ["--webhook-url", &balancer.url()];
    let Some(mut site) = Site::installed_with("turning certificates", &flags).await else { return };
    let seconds =
        std::env::var("QUINTET_ROTATION_SECONDS").ok().map_or(SECONDS, |text| text.parse().unwrap());
    let life = LIFE.max(seconds / 4).to_string();
    let runtime = site.runtime(&["--webhook-listen", "127.0.0.1:0", "--webhook-authority-life", &life]);
    for pod in site.pods().await {
        let replica = site.start(&runtime, &pod).await;
        balancer.leads_to(replica.address("serving webhooks", true).await);
    }
    let stream = Stream::new(&site.admin);
    until("the replicas have told whom to trust", async || {
        stream.create("v1beta1", "stored", "db", false).await.map(|_| ())
    })
    .await;
    until("conversion is trusted, too", async || stream.ask(2).await).await;
    let denied = stream.create("v1alpha1", "denied", "", true).await.unwrap_err();
    assert!(denied.contains("required one of `postgres` or `mysql` database"), "{denied}");

    let secrets: Api<Secret> = Api::namespaced(site.admin.clone(), NAMESPACE);
    let (mut admitted, mut authorities, mut shown) = (0, BTreeSet::new(), BTreeSet::new());
    // How many connections there had been when each certificate was first seen.
    let mut connections = vec![];
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(seconds) {
        for answer in join_all((0..AT_ONCE).map(|number| stream.ask(number))).await {
            answer.unwrap_or_else(|why| panic!("after {admitted} requests: {why}\n{}", site.logs()));
            admitted += 1;
        }
        let data = secrets.get(SECRET).await.unwrap().data.unwrap();
        authorities.insert(data["authority.crt"].0.clone());
        if shown.insert(data["tls.crt"].0.clone()) {
            connections.push(balancer.connections());
        }
    }
    connections.push(balancer.connections());
    println!(
        "{admitted} requests, {} of them asked to come again; {} connections, {} authorities, {} certificates",
        stream.asked_to_wait.load(Ordering::SeqCst),
        balancer.connections(),
        authorities.len(),
        shown.len()
    );
    assert!(authorities.len() >= 3, "the authority turned twice");
    assert!(shown.len() > authorities.len(), "and certificates between");
    assert!(connections.is_sorted_by(|a, b| a < b), "connections were made under each: {connections:?}");
    every_replica_was_asked_for_everything(&site).await;
    assert_eq!(
        forbidden(&site.cluster.audit().unwrap()),
        BTreeSet::new(),
        "every right that was needed was held"
    );
    assert_eq!(idle(&site, &[SECRET]), BTreeSet::new(), "rights that were not used");
}

/// By the replicas' own counts.
async fn every_replica_was_asked_for_everything(site: &Site) {
    for replica in &site.replicas.0 {
        let address = replica.address("Serving metrics server", false).await;
        let metrics = reqwest::get(format!("http://{address}/metrics")).await.unwrap().text().await.unwrap();
        for path in PATHS {
            let like = |line: &&str| {
                line.starts_with("controller_runtime_webhook_requests_total{")
                    && line.contains(&format!("webhook=\"{path}\""))
                    && line.contains("code=\"200\"")
                    && !line.ends_with(" 0")
            };
            let told =
                || metrics.lines().filter(|line| line.contains("webhook")).collect::<Vec<_>>().join("\n");
            assert!(metrics.lines().any(|line| like(&line)), "{path} of {}:\n{}", replica.pod, told());
        }
    }
}
