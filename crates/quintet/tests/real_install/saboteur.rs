//! Ends a process while the API server handles one of its writes: an admission webhook that is asked about each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::PostParams;
use kube::{Api, Client};
use quintet_kit::serve::{Certificate, Listener, Tls, TlsSource, TlsVersion};
use quintet_kit::webhook::authority::{Lives, Material};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::replica::Replica;

const NAME: &str = "saboteur";

/// Knows the processes by their tokens.
pub(crate) struct Saboteur {
    state: Arc<Mutex<Plot>>,
    _serving: DropGuard,
}

/// What is to be done at which write.
#[derive(Default)]
struct Plot {
    replicas: BTreeMap<String, Replica>,
    act: Option<Act>,
    done: Option<Deed>,
}

/// What to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Act {
    /// At which write from now on, counted from 1.
    pub(crate) at: usize,
    /// How.
    pub(crate) how: How,
    /// Whether that write is made all the same.
    pub(crate) admit: bool,
}

/// How a process is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// SIGKILL.
    Kill,
    /// SIGTERM.
    Terminate,
}

/// What was done.
#[derive(Clone, Debug)]
pub(crate) struct Deed {
    pub(crate) victim: String,
    pub(crate) when: Timestamp,
    /// What it was just writing.
    pub(crate) write: String,
}

impl Saboteur {
    /// Has the API server ask about every write of this user, leases and events aside.
    pub(crate) async fn new(admin: &Client, user: &str) -> Self {
        let names = ["127.0.0.1".to_owned()];
        let material = Material::first(&names, &Lives::default(), Timestamp::now()).unwrap();
        let (chain, key) = material.shown();
        let source = TlsSource::Held(Certificate::from_pem(chain, key).unwrap());
        let stop = CancellationToken::new();
        let tls = Tls { source, oldest: TlsVersion::V1_2, http2: true };
        let listener = Listener::bind_tls("127.0.0.1:0", tls, &stop).await.unwrap();
        let url = format!("https://{}/", listener.address().unwrap());
        let state = Arc::new(Mutex::new(Plot::default()));
        let router = Router::new().route("/", post(asked)).with_state(state.clone());
        tokio::spawn(listener.serve(router, stop.clone()));
        let configuration = json!({"metadata": {"name": NAME}, "webhooks": [{
            "name": "saboteur.quintet.test", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 10,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": url, "caBundle": STANDARD.encode(material.bundle())},
            "matchConditions": [
                {"name": "user", "expression": format!("request.userInfo.username == '{user}'")},
                {"name": "resource", "expression": "!(request.resource.resource in ['leases', 'events'])"},
            ],
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"],
                "operations": ["CREATE", "UPDATE", "DELETE"]}]}]});
        let configuration: ValidatingWebhookConfiguration = serde_json::from_value(configuration).unwrap();
        Api::all(admin.clone()).create(&PostParams::default(), &configuration).await.unwrap();
        Saboteur { state, _serving: stop.drop_guard() }
    }

    /// A process that may be ended.
    pub(crate) fn knows(&self, replica: &Replica) {
        self.state.lock().unwrap().replicas.insert(replica.credential.clone(), replica.clone());
    }

    /// Ends whoever makes that write.
    pub(crate) fn plot(&self, act: Act) {
        let mut plot = self.state.lock().unwrap();
        (plot.act, plot.done) = (Some(act), None);
    }

    /// Waits for the deed; none if that write was not made in time.
    pub(crate) async fn done(&self, limit: Duration) -> Option<Deed> {
        let began = std::time::Instant::now();
        while began.elapsed() < limit {
            if let Some(done) = self.state.lock().unwrap().done.take() {
                return Some(done);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }
}

async fn asked(State(state): State<Arc<Mutex<Plot>>>, Json(review): Json<Value>) -> Json<Value> {
    let request = &review["request"];
    let admit = state.lock().unwrap().meets(request);
    Json(json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": request["uid"], "allowed": admit, "status": {"message": "the writer is dead"}},
    }))
}

impl Plot {
    /// Counts a write, and ends its writer if it is the one; says whether the write is let through.
    fn meets(&mut self, request: &Value) -> bool {
        let Some(act) = &mut self.act else { return true };
        act.at = act.at.saturating_sub(1);
        if act.at > 0 {
            return true;
        }
        let credential = &request["userInfo"]["extra"]["authentication.kubernetes.io/credential-id"][0];
        let Some(victim) = credential.as_str().and_then(|id| self.replicas.get(id)) else { return true };
        match act.how {
            How::Kill => victim.kill(),
            How::Terminate => victim.terminate(),
        }
        let admit = act.admit;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let write = format!(
            "{} {}/{}",
            text(&request["operation"]),
            text(&request["kind"]["kind"]),
            text(&request["name"])
        );
        self.done = Some(Deed { victim: victim.credential.clone(), when: Timestamp::now(), write });
        self.act = None;
        admit
    }
}
