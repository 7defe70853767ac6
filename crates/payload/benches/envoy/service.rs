//! The service as a process of its own, so that its memory is its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use quintet_payload::config::PluginSpec;
use quintet_payload::extproc::{BodyMode, Limits};
use quintet_payload::server::{Listeners, MetricsAccess, Options, Server};
use quintet_payload::stores::{Credential, Model};
use tokio_util::sync::CancellationToken;

pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    child: Child,
}

impl Service {
    /// Starts this program again, as the service (`serve`), or as one that changes nothing (`serve-nothing`).
    pub(crate) fn start(which: &str) -> Service {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program).arg(which).stdout(Stdio::piped()).spawn().expect("the service");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("an address");
        Service { address: line.trim().parse().expect("an address"), child }
    }

    pub(crate) fn resident_kib(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("a running service");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the other process does.
pub(crate) async fn serve() {
    let server = Server::new(Options {
        plugins: PluginSpec::maas(),
        mode: BodyMode::Duplex,
        limits: Limits::default(),
        identity: None,
        metrics_access: MetricsAccess::Open,
        pprof: false,
    })
    .expect("valid plugins");
    for (name, provider) in [("gpt", "openai"), ("claude", "anthropic")] {
        let key = ("llm".to_owned(), name.to_owned());
        let model = Model {
            provider: provider.into(),
            target_model: name.into(),
            credential: name.into(),
            ..Model::default()
        };
        server.stores().models.insert(key.clone(), model);
        let credential = Credential::new(&key, [("api-key".to_owned(), "sk".to_owned())]).expect("filled");
        server.stores().credentials.insert(key, credential);
    }
    let listeners = Listeners::loopback().await.expect("free ports");
    println!("{}", listeners.grpc.local_addr().expect("bound"));
    server.serve(listeners, None, CancellationToken::new()).await.expect("served");
}
