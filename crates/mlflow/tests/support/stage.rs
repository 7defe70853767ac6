//! A server with the operator running on it, and what people and the cluster's own controllers do there.

use std::ops::Deref;

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{
    Client, ResourceExt,
    api::{DeleteParams, ListParams},
};
use quintet_api::mlflow::MLflow;
use quintet_stage::{Server, stage};
use serde_json::{Value, json};

use super::{
    Objects,
    server::{NAMESPACE, PLAIN, Serves, install, play},
    shorten, without_rules,
};

/// A stage on which everything is about the resource `mlflow`.
pub struct Stage(quintet_stage::Stage);

impl Deref for Stage {
    type Target = quintet_stage::Stage;

    fn deref(&self) -> &quintet_stage::Stage {
        &self.0
    }
}

impl Stage {
    /// Plain Kubernetes and the default settings.
    pub async fn plain() -> Self {
        Stage::new(PLAIN, &[]).await
    }

    pub async fn new(serves: Serves, variables: &[(&str, &str)]) -> Self {
        Stage(quintet_stage::Stage::new(play(serves, variables)).await)
    }

    /// On a server that was made to lack something.
    pub async fn on(server: Server, variables: &[(&str, &str)]) -> Self {
        Stage(quintet_stage::Stage::on(server, play(PLAIN, variables)).await)
    }

    /// Gives the server what it was made to lack.
    pub async fn prepare(&self) {
        quintet_stage::server::prepare(&self.admin, &self.play).await;
    }

    /// Makes the MLflow with this specification.
    pub async fn create(&self, spec: Value) -> MLflow {
        self.0.create(spec).await.try_parse().expect("an MLflow")
    }

    /// Stores an MLflow that today's rules would refuse, as an older definition let it in.
    pub async fn create_before_the_rules(&self, spec: Value) {
        for definition in without_rules() {
            install(&self.admin, definition).await;
        }
        // The new rules need a moment on a real server.
        let mlflow =
            self.until("the rules are lifted", async || self.try_create(spec.clone()).await.ok()).await;
        for definition in quintet_api::mlflow::crds() {
            install(&self.admin, definition).await;
        }
        assert_eq!(mlflow.name_any(), "mlflow");
        self.settle().await;
    }

    pub async fn mlflow(&self) -> MLflow {
        self.subject().await.expect("the MLflow").try_parse().expect("an MLflow")
    }

    /// Makes all (or with 0, none) of the server's pods ready.
    pub async fn ready(&self, ready: i32) {
        let deployments = self.beside_api::<Deployment>();
        let deployment = deployments.get("mlflow").await.expect("the Deployment");
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        assert!(ready == 0 || ready == replicas, "a real cluster cannot be told to do that");
        match &self.server {
            Server::Plane(_) => {
                // As the Deployment controller would say it.
                let status = json!({
                    "observedGeneration": deployment.metadata.generation,
                    "replicas": replicas, "updatedReplicas": replicas,
                    "readyReplicas": ready, "availableReplicas": ready,
                });
                self.report::<Deployment>("mlflow", status).await;
            }
            Server::Real(real) => {
                real.cluster.schedule_pods(ready > 0).await.expect("nodes");
                if ready == 0 {
                    let pods = ListParams::default().labels("app=mlflow");
                    let api = self.beside_api::<Pod>();
                    api.delete_collection(&DeleteParams::default(), &pods).await.expect("they go");
                }
                self.until("as many pods are ready", async || {
                    let status = deployments.get("mlflow").await.ok()?.status?;
                    let updated = status.updated_replicas.unwrap_or(0) == replicas;
                    (updated && status.ready_replicas.unwrap_or(0) == ready).then_some(())
                })
                .await;
                self.settle().await;
            }
        }
    }

    /// Something, once no pod uses the claim.
    pub async fn pods_without(&self, claim: &str) -> Option<()> {
        let pods = self.beside_api::<Pod>().list(&ListParams::default()).await.expect("pods");
        let volumes =
            pods.iter().flat_map(|pod| pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()));
        let mut claims = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
        (!claims.any(|used| used.claim_name == claim)).then_some(())
    }

    /// Every object that an MLflow owns, with placeholders for long texts.
    pub async fn owned(&self) -> Objects {
        owned(&self.admin).await
    }

    /// How many reconciles ended like this: `success`, `requeue_after`, `error`.
    pub fn reconciles(&self, result: &str) -> u64 {
        let series =
            format!("controller_runtime_reconcile_total{{controller=\"mlflow\",result=\"{result}\"}} ");
        let text = self.metrics.encode();
        let line = text.lines().find_map(|line| line.strip_prefix(&series));
        line.unwrap_or_else(|| panic!("{text}")).parse().expect("a number")
    }

    /// Reason and text of every event about the MLflow.
    pub async fn events(&self) -> Vec<(String, String)> {
        self.events_about(&["MLflow"]).await
    }
}

/// Every object that an MLflow owns, with placeholders for long texts.
pub async fn owned(admin: &Client) -> Objects {
    let mut found = stage::owned(admin, &play(PLAIN, &[])).await;
    found.values_mut().for_each(shorten);
    found
}

/// Makes an object, in the operator's namespace if it has one.
pub async fn create(admin: &Client, object: Value) {
    stage::create(admin, NAMESPACE, object).await.expect("it is accepted");
}
