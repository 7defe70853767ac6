//! Envoy with and without payload processing, in one run: rate, latency, time to first byte, memory.
//!
//! ```text
//! cargo bench -p quintet-payload --features real --bench envoy
//! cargo bench -p quintet-payload --features real --bench envoy -- memory 1000000
//! ```
//! Envoy, the service (a process of its own), the load and the model server share the machine; rounds with and without
//! the filter take turns, so that what else the machine does hits both.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod load;
mod model;
mod nothing;
mod service;

use std::time::Duration;

use load::{Load, Measured};
use quintet_harness::envoy::{BodyMode, Config, Envoy, ExtProc, Route};
use service::Service;

/// The model server's time for an answer. A real one takes far longer.
const THINKING: [Duration; 2] = [Duration::ZERO, Duration::from_millis(20)];

fn envoy(upstream: std::net::SocketAddr, ext_proc: Option<ExtProc>) -> Envoy {
    let models = ["gpt", "claude"].map(|model| Route::Header("x-gateway-model-name", model));
    let routes = [Route::Prefix("/llm/")].into_iter().chain(models).collect();
    Envoy::start(&Config { routes, ext_proc, ..Config::to(upstream) }).expect("Envoy")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    match words.as_slice() {
        ["serve"] => runtime.block_on(service::serve()),
        ["serve-nothing"] => runtime.block_on(nothing::serve()),
        ["memory", count] => runtime.block_on(memory(count.parse().expect("a number of requests"))),
        [] => runtime.block_on(compare()),
        _ => {
            eprintln!("usage: [memory REQUESTS]");
            std::process::exit(2);
        }
    }
}

async fn compare() {
    let seconds = std::env::var("BENCH_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(3);
    let round = Duration::from_secs(seconds);
    let upstream = model::start().await;
    let service = Service::start("serve");
    let nothing = Service::start("serve-nothing");
    let ext_proc = |mode| Some(ExtProc { address: service.address, tls: false, mode });
    let without = envoy(upstream, None);
    let unchanged =
        envoy(upstream, Some(ExtProc { address: nothing.address, tls: false, mode: BodyMode::Duplex }));
    let duplex = envoy(upstream, ext_proc(BodyMode::Duplex));
    let buffered = envoy(upstream, ext_proc(BodyMode::Buffered));

    println!(
        "| case | mode | connections | without, req/s | with, req/s | ratio | p50 without | p50 with | p99 without | p99 with |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for thinking in THINKING {
        for (case, path, model) in [
            ("internal", "/llm/llama/v1/chat/completions", "llama"),
            ("openai", "/llm/gpt/v1/chat/completions", "gpt"),
            ("anthropic", "/llm/claude/v1/chat/completions", "claude"),
        ] {
            let mut kinds = vec![("duplex", &duplex), ("buffered", &buffered)];
            if case == "internal" {
                kinds.push(("a processor that does nothing, duplex", &unchanged));
            }
            for (mode, with) in kinds {
                let load = Load { connections: 16, path, body: load::chat(model, thinking) };
                let (mut plain, mut processed) = (Measured::default(), Measured::default());
                for _ in 0..3 {
                    plain.add(load.run(without.listener, round).await);
                    processed.add(load.run(with.listener, round).await);
                }
                println!(
                    "| {case}, model takes {thinking:?} | {mode} | {} | {:.0} | {:.0} | {:.0} % | {:.2?} | {:.2?} | {:.2?} | {:.2?} |",
                    load.connections,
                    plain.rate(),
                    processed.rate(),
                    100.0 * processed.rate() / plain.rate(),
                    plain.percentile(50),
                    processed.percentile(50),
                    plain.percentile(99),
                    processed.percentile(99),
                );
            }
        }
    }

    println!(
        "\n| stream | first byte without | first byte with | whole without | whole with |\n|---|---|---|---|---|"
    );
    for (case, path, model) in [
        ("internal", "/llm/llama/v1/chat/completions", "llama"),
        ("anthropic", "/llm/claude/v1/chat/completions", "claude"),
    ] {
        let (mut plain, mut processed) = (Vec::new(), Vec::new());
        for _ in 0..15 {
            plain.push(load::first_byte(without.listener, path, model).await);
            processed.push(load::first_byte(duplex.listener, path, model).await);
        }
        let median = |all: &[(Duration, Duration)], pick: fn(&(Duration, Duration)) -> Duration| {
            let mut all: Vec<Duration> = all.iter().map(pick).collect();
            all.sort();
            all[all.len() / 2]
        };
        let (first, whole) = (|m: &(Duration, Duration)| m.0, |m: &(Duration, Duration)| m.1);
        println!(
            "| {case}, 20 events 10 ms apart | {:.2?} | {:.2?} | {:.2?} | {:.2?} |",
            median(&plain, first),
            median(&processed, first),
            median(&plain, whole),
            median(&processed, whole)
        );
    }
    println!("\nmemory of the service afterwards: {} KiB resident", service.resident_kib());
}

/// Runs `count` requests and tells the service's memory on the way.
async fn memory(count: u64) {
    let upstream = model::start().await;
    let service = Service::start("serve");
    let with =
        envoy(upstream, Some(ExtProc { address: service.address, tls: false, mode: BodyMode::Duplex }));
    println!("| requests | resident, KiB |\n|---|---|\n| 0 | {} |", service.resident_kib());
    let cases = [
        ("/llm/llama/v1/chat/completions", "llama"),
        ("/llm/gpt/v1/chat/completions", "gpt"),
        ("/llm/claude/v1/chat/completions", "claude"),
    ];
    let mut done = 0;
    let mut tell = count / 10;
    while done < count {
        for (path, model) in cases {
            let load = Load { connections: 16, path, body: load::chat(model, Duration::ZERO) };
            done += load.run(with.listener, Duration::from_secs(2)).await.count();
        }
        if done >= tell || done >= count {
            println!("| {done} | {} |", service.resident_kib());
            tell = done + count / 10;
        }
    }
}
