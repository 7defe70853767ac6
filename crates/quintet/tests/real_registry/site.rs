//! A cluster on which `quintet install` is applied, and the process that serves it: under the account and the rights of
//! what was applied, with webhooks on a port of this machine.

use std::path::PathBuf;
use std::process::Command;

use quintet_harness::kube::{Cluster as Real, Tools};
use quintet_harness::{Error, free_port};

use super::cluster::Cluster as Planed;
use super::kubectl::Kubectl;
use super::process::{Process, get};

pub(crate) struct Site {
    pub(crate) kubectl: Kubectl,
    /// Of the account that is installed.
    operator: PathBuf,
    webhooks: String,
    _server: Server,
}

#[expect(dead_code, reason = "held so that they run")]
enum Server {
    Real(Box<Real>),
    Plane(Box<Planed>),
}

impl Site {
    /// On a control plane of its own.
    pub(crate) async fn real() -> Result<Self, Error> {
        let cluster = Real::start().await?;
        let account = "system:serviceaccount:opendatahub:quintet";
        let groups = ["system:serviceaccounts", "system:serviceaccounts:opendatahub", "system:authenticated"];
        let operator = cluster.kubeconfig_for(account, &groups)?;
        let kubectl = Kubectl::new(cluster.tools().program("kubectl"), cluster.kubeconfig()?);
        Ok(Site::new(kubectl, operator, Server::Real(Box::new(cluster))))
    }

    /// On a plane in this process.
    pub(crate) async fn plane() -> Result<Self, Error> {
        let program = Tools::find()?.program("kubectl");
        let cluster = Planed::bare().await;
        let kubectl = Kubectl::new(program, cluster.kubeconfig());
        Ok(Site::new(kubectl, cluster.kubeconfig_with("fused"), Server::Plane(Box::new(cluster))))
    }

    fn new(kubectl: Kubectl, operator: PathBuf, server: Server) -> Self {
        Site { kubectl, operator, webhooks: format!("127.0.0.1:{}", free_port()), _server: server }
    }

    /// What `quintet install` prints with these flags.
    pub(crate) fn printed(&self, flags: &[&str]) -> String {
        let url = format!("https://{}", self.webhooks);
        let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
        command.env_clear().args(["install", "--operators", "model-registry", "--webhook-url", &url]);
        let done = command.args(flags).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// As the documentation says for a cluster where somebody else applied the definition before.
    pub(crate) fn install(&self) {
        self.kubectl.ok("apply --server-side --force-conflicts -f -", &self.printed(&[]));
    }

    /// Starts the process, with the settings that the install gives it, and waits until it is ready.
    pub(crate) async fn start(&self) -> Process {
        let flags =
            ["--log-format", "json", "--webhook-host", "127.0.0.1", "--webhook-listen", &self.webhooks];
        let (source, target) = ("STORAGE_MIGRATION_SOURCE_VERSION", "STORAGE_MIGRATION_TARGET_VERSION");
        let settings = [(source, "v1alpha1"), (target, "v1beta1"), ("ENABLE_MODEL_CATALOG", "false")];
        let mut process = Process::run_as(&self.operator, "model-registry", &flags, &settings);
        let health = process.address("serving health", None).await;
        let ready = process.until("it is ready", async |_| {
            (get(&format!("http://{health}/readyz")).await.0 == 200).then_some(())
        });
        ready.await;
        process
    }

    /// Removes all of it as the documentation says, the custom resources too: nothing may be left.
    pub(crate) fn uninstall(&self) {
        let delete = "delete --ignore-not-found --timeout=120s -f -";
        let definitions =
            Command::new(env!("CARGO_BIN_EXE_quintet")).args(["crds", "model-registry"]).output();
        self.kubectl.ok(delete, &String::from_utf8(definitions.unwrap().stdout).unwrap());
        self.kubectl.ok(delete, &self.printed(&["--delete"]));
        let kinds =
            ["mutatingwebhookconfigurations", "validatingwebhookconfigurations", "customresourcedefinitions"];
        for kind in kinds {
            let (left, _) = self.kubectl.ok(&format!("get {kind} -o name"), "");
            assert!(!left.contains("model-registry") && !left.contains("modelregistr"), "{left}");
        }
    }
}
