//! Leads connections to replicas, as a Service does: each to the next one. What goes through stays encrypted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) struct Balancer {
    port: u16,
    behind: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    _serving: DropGuard,
}

impl Balancer {
    /// On a port of its own; nobody is behind it yet.
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (behind, connections) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicUsize>::default());
        let stop = CancellationToken::new();
        let (replicas, count) = (behind.clone(), connections.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let next = count.fetch_add(1, Ordering::SeqCst);
                let replicas = replicas.lock().unwrap().clone();
                if replicas.is_empty() {
                    continue;
                }
                let replica = replicas[next % replicas.len()].clone();
                tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(replica).await {
                        // It ends when one of the two has had enough.
                        let _ = copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        }));
        Balancer { port, behind, connections, _serving: stop.drop_guard() }
    }

    /// How an API server calls it. By a loopback address it would speak HTTP/2, over one connection for all; with everybody
    /// else, and with this other name of the same machine, it speaks HTTP/1.1.
    pub(crate) fn url(&self) -> String {
        format!("https://0.0.0.0:{}", self.port)
    }

    /// From now on also to this address.
    pub(crate) fn leads_to(&self, address: String) {
        self.behind.lock().unwrap().push(address);
    }

    /// How many connections were made.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}
