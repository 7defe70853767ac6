//! A process in the place of a Pod's container.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Container, Pod, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use super::until;

/// The program with a Pod's arguments, environment and token. It is killed when this is dropped.
#[derive(Clone)]
pub(crate) struct Replica {
    pub(crate) pod: String,
    /// What the audit log calls the token of this very process.
    pub(crate) credential: String,
    log: PathBuf,
    child: Arc<Mutex<Child>>,
}

/// How a process of a Pod is started.
pub(crate) struct Runtime {
    pub(crate) admin: Client,
    pub(crate) url: String,
    pub(crate) authority: String,
    pub(crate) folder: PathBuf,
    /// Flags beside the Pod's own: free ports, and what a test sets.
    pub(crate) flags: Vec<String>,
}

impl Runtime {
    /// Starts a container of this Pod, as a kubelet would after the last one ended.
    pub(crate) async fn start(&self, pod: &Pod) -> Replica {
        let token = self.token(pod).await;
        let credential = credential(&token);
        let mark = credential.rsplit('=').next().unwrap_or_default();
        let kubeconfig = self.folder.join(format!("{mark}.kubeconfig"));
        quintet::local::kubeconfig::write(&kubeconfig, &self.url, &self.authority, &token).unwrap();
        let log = self.folder.join(format!("{mark}.log"));
        let container = &pod.spec.as_ref().unwrap().containers[0];
        let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
        command.args(container.args.iter().flatten()).args(&self.flags).arg("--kubeconfig").arg(kubeconfig);
        command.env_clear().envs(environment(pod, container)).current_dir(&self.folder);
        command.stdout(Stdio::null()).stderr(File::create(&log).unwrap());
        let child = Arc::new(Mutex::new(command.spawn().unwrap()));
        Replica { pod: pod.name_any(), credential, log, child }
    }

    /// A token for the Pod's account that is bound to the Pod, as a kubelet asks for.
    async fn token(&self, pod: &Pod) -> String {
        let bound = BoundObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Pod".into()),
            name: Some(pod.name_any()),
            uid: pod.uid(),
        };
        let spec = TokenRequestSpec {
            audiences: None,
            bound_object_ref: Some(bound),
            expiration_seconds: Some(3 * 3600),
        };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let account = pod.spec.as_ref().and_then(|spec| spec.service_account_name.clone()).unwrap();
        let accounts: Api<ServiceAccount> = Api::namespaced(self.admin.clone(), &pod.namespace().unwrap());
        let made = accounts.create_token_request(&account, &PostParams::default(), &request).await.unwrap();
        made.status.unwrap().token.unwrap()
    }
}

/// The environment of a container: plain values, and what it asks of its own Pod.
fn environment(pod: &Pod, container: &Container) -> Vec<(String, String)> {
    let variables = container.env.iter().flatten().map(|variable| {
        let field = variable.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
        let value = match field.map(|field| field.field_path.as_str()) {
            None => variable.value.clone().unwrap_or_default(),
            Some("metadata.name") => pod.name_any(),
            Some("metadata.namespace") => pod.namespace().unwrap_or_default(),
            Some(other) => panic!("{other} is not known here"),
        };
        (variable.name.clone(), value)
    });
    variables.collect()
}

/// `JTI=…`: the audit log's name for a token.
fn credential(token: &str) -> String {
    let claims = token.split('.').nth(1).expect("a JWT");
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    format!("JTI={}", claims["jti"].as_str().expect("an id"))
}

impl Replica {
    /// At once, as the kernel does when memory runs out.
    pub(crate) fn kill(&self) {
        let _ = self.child.lock().unwrap().kill();
    }

    /// Asks it to stop, as a kubelet does.
    pub(crate) fn terminate(&self) {
        let pid = self.child.lock().unwrap().id().to_string();
        assert!(Command::new("/bin/kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    pub(crate) async fn ended(&self) -> ExitStatus {
        until("the process ends", async || {
            self.child.lock().unwrap().try_wait().unwrap().ok_or_else(|| "it runs".into())
        })
        .await
    }

    /// The exit code, if it has ended.
    pub(crate) fn has_ended(&self) -> Option<ExitStatus> {
        self.child.lock().unwrap().try_wait().unwrap()
    }

    /// The address that its log tells: the first line with this message, and `secure` as given.
    pub(crate) async fn address(&self, message: &str, secure: bool) -> String {
        until(message, async || {
            let log = self.log();
            let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut said = lines.filter(|line| line["fields"]["message"] == message);
            let line = said.find(|line| line["fields"]["secure"].as_bool().unwrap_or(secure) == secure);
            let fields = line.map(|line| line["fields"].clone()).ok_or("no such line")?;
            let address = fields["address"].as_str().or(fields["bindAddress"].as_str());
            address.map(str::to_owned).ok_or_else(|| "no address".into())
        })
        .await
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn log_path(&self) -> &Path {
        &self.log
    }
}

/// Ends processes when a test ends, however that is.
pub(crate) struct Leash(pub(crate) Vec<Replica>);

impl Drop for Leash {
    fn drop(&mut self) {
        for replica in &self.0 {
            replica.kill();
            let _ = replica.child.lock().unwrap().wait();
        }
    }
}
