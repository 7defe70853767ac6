use std::{path::Path, process::Command, time::Duration};

use super::{Tools, audit, identity::Authority};
use crate::{Error, Process, Stop, free_port};

/// The five processes.
#[derive(Debug)]
pub(super) struct Components {
    port: u16,
    // Those that talk to the API server go first, so that none complains while it ends.
    clients: [Process; 3],
    _api_server: Process,
    _etcd: Process,
}

const LIMIT: Duration = Duration::from_secs(120);

impl Components {
    /// Starts all of them and returns when the API server is ready. What `audited` does is written down.
    pub(super) fn start(
        tools: &Tools,
        authority: &Authority,
        directory: &Path,
        audited: Option<&str>,
    ) -> Result<Components, Error> {
        let (etcd_port, peer_port, port) = (free_port(), free_port(), free_port());
        let url = format!("https://127.0.0.1:{port}");
        let program = |name: &str, arguments: Vec<String>| {
            let mut command = Command::new(tools.program(name));
            command.args(arguments).current_dir(directory);
            Process::start(&command, &directory.join(format!("{name}.log")), Stop::Kill)
        };

        let mut etcd = program("etcd", etcd(directory, etcd_port, peer_port))?;
        etcd.until(LIMIT, || std::net::TcpStream::connect(("127.0.0.1", etcd_port)).is_ok())?;

        let mut arguments = api_server(authority, etcd_port, port);
        if let Some(user) = audited {
            arguments.extend(audit::arguments(directory, user)?);
            // As OpenShift does: whoever makes an owner wait for a child must hold a right on that owner.
            arguments.push("--enable-admission-plugins=OwnerReferencesPermissionEnforcement".into());
        }
        let mut api_server = program("kube-apiserver", arguments)?;
        let probe = Probe::new(authority, &url)?;
        api_server.until(LIMIT, || probe.is_ready())?;

        let identity = |user: &str, groups: &[&str]| {
            let path = directory.join(format!("{user}.kubeconfig").replace(':', "-"));
            authority.write_kubeconfig(&path, &url, user, groups)?;
            Ok::<_, Error>(path)
        };
        let manager = identity("system:kube-controller-manager", &[])?;
        let scheduler = identity("system:kube-scheduler", &[])?;
        let kwok = identity("kwok", &["system:masters"])?;
        let stages = directory.join("stages.yaml");
        std::fs::write(&stages, include_str!("stages.yaml")).map_err(Error::io("write kwok's stages"))?;
        let clients = [
            program("kube-controller-manager", controller_manager(authority, &manager))?,
            program("kube-scheduler", scheduler_arguments(&scheduler))?,
            program("kwok", kwok_arguments(&kwok, &stages))?,
        ];
        Ok(Components { port, clients, _api_server: api_server, _etcd: etcd })
    }

    /// The end of kwok's log, for when nodes do not come up.
    pub(super) fn kwok_log(&self) -> String {
        self.clients[2].log_tail()
    }

    pub(super) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }
}

fn etcd(directory: &Path, port: u16, peer_port: u16) -> Vec<String> {
    let (clients, peers) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer_port}"));
    vec![
        format!("--data-dir={}", directory.join("etcd").display()),
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls={peers}"),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster=default={peers}"),
        // Nothing here outlives the test: no need to wait for the disk.
        "--unsafe-no-fsync".into(),
        "--log-level=warn".into(),
    ]
}

fn api_server(authority: &Authority, etcd_port: u16, port: u16) -> Vec<String> {
    let (certificate, key) = &authority.server;
    let (signing_key, public_key) = &authority.service_accounts;
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        // The `kubernetes` Service cannot have a loopback endpoint; nobody here resolves it.
        "--endpoint-reconciler-type=none".into(),
        format!("--secure-port={port}"),
        format!("--tls-cert-file={}", certificate.display()),
        format!("--tls-private-key-file={}", key.display()),
        format!("--client-ca-file={}", authority.certificate.display()),
        "--authorization-mode=Node,RBAC".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--service-account-key-file={}", public_key.display()),
        format!("--service-account-signing-key-file={}", signing_key.display()),
        "--service-cluster-ip-range=10.0.0.0/16".into(),
        "--allow-privileged=true".into(),
        // Tests come in bursts; being told to wait would only make them slow.
        "--enable-priority-and-fairness=false".into(),
        "--max-requests-inflight=0".into(),
        "--max-mutating-requests-inflight=0".into(),
    ]
}

fn controller_manager(authority: &Authority, kubeconfig: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--service-account-private-key-file={}", authority.service_accounts.0.display()),
        format!("--root-ca-file={}", authority.certificate.display()),
        "--use-service-account-credentials=true".into(),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        // The default, 20 a second, makes cascades crawl.
        "--kube-api-qps=500".into(),
        "--kube-api-burst=1000".into(),
    ]
}

fn scheduler_arguments(kubeconfig: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        "--kube-api-qps=500".into(),
        "--kube-api-burst=1000".into(),
    ]
}

fn kwok_arguments(kubeconfig: &Path, stages: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--config={}", stages.display()),
        "--manage-all-nodes=true".into(),
        "--node-lease-duration-seconds=40".into(),
        format!("--server-address=127.0.0.1:{}", free_port()),
    ]
}

/// Asks `/readyz`, blocking: the components are started outside of any async runtime.
struct Probe {
    client: kube::Client,
    runtime: tokio::runtime::Runtime,
}

impl Probe {
    fn new(authority: &Authority, url: &str) -> Result<Probe, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io("make a runtime for the readiness probe"))?;
        let kubeconfig = authority.kubeconfig(url, "probe", &["system:masters"])?;
        let client = runtime.block_on(super::client(kubeconfig))?;
        Ok(Probe { client, runtime })
    }

    fn is_ready(&self) -> bool {
        let request = http::Request::get("/readyz").body(Vec::new()).expect("a fixed request");
        let asked = tokio::time::timeout(Duration::from_secs(2), self.client.request_text(request));
        self.runtime.block_on(asked).is_ok_and(|answer| answer.is_ok_and(|text| text == "ok"))
    }
}
