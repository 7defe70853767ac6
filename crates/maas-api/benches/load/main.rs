//! Validation under load: how many a second, how late the slowest, what it costs. `cargo bench -p quintet-maas-api`
//!
//! The server runs in a process of its own, so that its processor time and memory are its own; one generator sends
//! everything over 64 connections. Figures are ratios within one run, because machines differ: warm validation against
//! the same server's `/health`, cold validation against what `pgbench` gets from the same PostgreSQL.

#![allow(clippy::print_stdout)] // what a benchmark is for

mod generator;
mod keys;
mod server;

use std::{process::Command, time::Duration};

use generator::{Outcome, Requests};
use quintet_harness::{Scratch, or_skip, postgres::Postgres};
use server::Server;

/// How long each rate is measured: short enough that what the first phase warmed is warm to the end of the last, as
/// answers are kept for half a minute.
const SPAN: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() {
    if let Some(store) = std::env::var_os(server::STORE) {
        return server::run(&store.into_string().expect("a URL or a path")).await;
    }
    if std::env::args().any(|argument| argument == "--test") {
        return; // `cargo test --benches` only wants to know that it builds
    }
    println!("{:<34} {:>9} {:>9} {:>9} {:>7} {:>9}", "", "calls/s", "p50 ms", "p99 ms", "CPU %", "RSS MiB");
    let scratch = Scratch::new("quintet-bench-").expect("a directory");
    let file = scratch.path().join("keys.db");
    keys::fill_sqlite(&file).await;
    run("SQLite", file.to_str().expect("a path")).await;
    let Some(postgres) = or_skip("maas-api on PostgreSQL", Postgres::start_with(&["shared_buffers=256MB"]))
    else {
        return;
    };
    let url = postgres.database().expect("a database");
    keys::fill_postgres(&url).await;
    postgres.psql(&url, "VACUUM ANALYZE api_keys").expect("analysed");
    let cold = run("PostgreSQL", &url).await;
    let direct = pgbench(&postgres, &url);
    println!("{:<34} {direct:>9.0}", "pgbench, the same lookup");
    println!("cold validation / pgbench: {:.0} % (target 70 %)", cold / direct * 100.0);
}

/// Measures one store, and returns the cold rate. Warm and `/health` take turns, so that whatever else the machine does
/// hits both.
async fn run(name: &str, store: &str) -> f64 {
    let server = Server::start(store).await;
    let cold = show(&server, &format!("{name}, every key new"), Requests::each_key_once()).await;
    let (mut warm, mut health) = (0.0, 0.0);
    for _ in 0..2 {
        let requests = Requests::random_keys().during(SPAN);
        warm += show(&server, &format!("{name}, {} keys, warm", keys::COUNT), requests).await;
        health += show(&server, &format!("{name}, /health"), Requests::health().during(SPAN)).await;
    }
    println!("{name}: warm validation / health: {:.0} % (target 60 %)", warm / health * 100.0);
    cold
}

async fn show(server: &Server, name: &str, requests: Requests) -> f64 {
    let before = server.figures().await;
    let Outcome { rate, p50, p99, seconds, wrong, example } = generator::run(server.address, requests).await;
    let after = server.figures().await;
    assert_eq!(wrong, 0, "{name}: wrong answers, such as one {}", example.unwrap_or_default());
    let cpu = (after.cpu_seconds - before.cpu_seconds) / seconds * 100.0;
    let memory = after.resident_bytes / f64::from(1 << 20);
    println!("{name:<34} {rate:>9.0} {:>9.2} {:>9.2} {cpu:>7.0} {memory:>9.0}", p50 * 1e3, p99 * 1e3);
    rate
}

/// Lookups a second of one row by a unique text index, prepared: the better of few and of many connections.
fn pgbench(postgres: &Postgres, url: &str) -> f64 {
    let scratch = Scratch::new("quintet-bench-").expect("a directory");
    let script = scratch.path().join("lookup.sql");
    let sql = format!(
        "\\set n random(0, {})\nSELECT key_hash, id, username, user_groups, subscription, status, expires_at, last_used_at \
         FROM api_keys WHERE id = '00000000-0000-4000-8000-' || lpad(:n::text, 12, '0');\n",
        keys::COUNT - 1
    );
    std::fs::write(&script, sql).expect("written");
    let rate = |clients: &str| {
        let mut command = Command::new(postgres.program("pgbench"));
        command
            .args(["-n", "-M", "prepared", "-c", clients, "-j", "2", "-T", "6", "-f"])
            .arg(&script)
            .arg(url);
        let output = command.output().expect("pgbench runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let tps =
            text.lines().find_map(|line| line.strip_prefix("tps = ")).and_then(|rest| rest.split(' ').next());
        tps.and_then(|tps| tps.parse::<f64>().ok())
            .unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
    };
    rate("4").max(rate("64"))
}
