//! The server, in a process of its own.

use std::{net::SocketAddr, process::Stdio, sync::Arc};

use quintet_kit::Clock;
use quintet_maas_api::{
    App, Options,
    cluster::FixedCluster,
    models::Prober,
    server::{Listener, service},
    store::{SharedStore, postgres::PostgresStore, sqlite::SqliteStore},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};
use tokio_util::sync::CancellationToken;

/// Set in the server's process: a URL or a file.
pub(crate) const STORE: &str = "QUINTET_BENCH_STORE";

/// The server's side: prints its address, and serves until killed.
pub(crate) async fn run(store: &str) {
    // As in production, but for the line per request: a wrong answer must be able to say why.
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
    let store: SharedStore = match store.starts_with("postgresql://") {
        true => Arc::new(PostgresStore::open(store, Default::default()).await.expect("a store")),
        false => Arc::new(SqliteStore::open(store.as_ref(), Clock::system()).await.expect("a store")),
    };
    let cluster = Arc::new(FixedCluster::default());
    let app =
        App::start(store, cluster, Prober::new(None).expect("a client"), Options::default(), Clock::system());
    let listener = Listener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.address().expect("an address"));
    listener.serve(service(app), CancellationToken::new()).await.expect("served");
}

/// The benchmark's side.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    process: Child,
    _output: Lines<BufReader<ChildStdout>>,
}

/// What the server has used so far.
pub(crate) struct Figures {
    pub(crate) cpu_seconds: f64,
    pub(crate) resident_bytes: f64,
}

impl Server {
    pub(crate) async fn start(store: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .env(STORE, store)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("a process");
        let mut output = BufReader::new(process.stdout.take().expect("piped")).lines();
        let line = output.next_line().await.expect("readable").expect("an address");
        Self { address: line.parse().expect("an address"), process, _output: output }
    }

    /// As the operating system counts.
    pub(crate) async fn figures(&self) -> Figures {
        let id = self.process.id().expect("running");
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("a process");
        let fields: Vec<f64> = stat
            .rsplit_once(')')
            .expect("a name")
            .1
            .split_whitespace()
            .map(|f| f.parse().unwrap_or(0.0))
            .collect();
        Figures { cpu_seconds: (fields[11] + fields[12]) / 100.0, resident_bytes: fields[21] * 4096.0 }
    }
}
