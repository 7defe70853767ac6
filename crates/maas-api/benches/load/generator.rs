//! The load: 64 connections, each asking as soon as it is answered. Speaks just enough HTTP to cost little itself.

use std::{
    net::SocketAddr,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::keys;

const CONNECTIONS: usize = 64;

const HEALTH: &[u8] = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n";

/// A request for each key, made beforehand: making them must not count.
static VALIDATE: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let request = |n| {
        let body = format!("{{\"key\":\"{}\"}}", keys::plain(n));
        format!(
            "POST /internal/v1/api-keys/validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    (0..keys::COUNT).map(|n| request(n).into_bytes()).collect()
});

#[derive(Clone, Copy)]
enum What {
    Health,
    EachOnce,
    Random,
}

/// What to ask, and until when.
#[derive(Clone, Copy)]
pub(crate) struct Requests {
    what: What,
    span: Option<Duration>,
}

impl Requests {
    pub(crate) fn health() -> Self {
        Self { what: What::Health, span: None }
    }

    pub(crate) fn each_key_once() -> Self {
        Self { what: What::EachOnce, span: None }
    }

    pub(crate) fn random_keys() -> Self {
        Self { what: What::Random, span: None }
    }

    pub(crate) fn during(self, span: Duration) -> Self {
        Self { span: Some(span), ..self }
    }
}

/// What came of it. Times in seconds.
pub(crate) struct Outcome {
    pub(crate) rate: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) seconds: f64,
    pub(crate) wrong: usize,
    /// One of the wrong answers, to tell why.
    pub(crate) example: Option<String>,
}

pub(crate) async fn run(address: SocketAddr, requests: Requests) -> Outcome {
    LazyLock::force(&VALIDATE);
    let (start, next) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
    let connections: Vec<_> =
        (0..CONNECTIONS).map(|n| tokio::spawn(one(address, requests, start, next.clone(), n))).collect();
    let (mut times, mut wrong, mut example) = (Vec::new(), 0, None);
    for connection in connections {
        let (taken, failed) = connection.await.expect("no panic");
        times.extend(taken);
        wrong += failed.len();
        example = example.or_else(|| failed.into_iter().next());
    }
    let seconds = start.elapsed().as_secs_f64();
    times.sort_unstable_by(f32::total_cmp);
    let at = |share: f64| f64::from(times[((times.len() - 1) as f64 * share) as usize]);
    Outcome { rate: times.len() as f64 / seconds, p50: at(0.5), p99: at(0.99), seconds, wrong, example }
}

async fn one(
    address: SocketAddr,
    requests: Requests,
    start: Instant,
    next: Arc<AtomicUsize>,
    seed: usize,
) -> (Vec<f32>, Vec<String>) {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    stream.set_nodelay(true).expect("set");
    let (mut times, mut wrong, mut buffer) = (Vec::new(), Vec::new(), Vec::with_capacity(4096));
    let mut random = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15); // never zero, where xorshift stays
    loop {
        if requests.span.is_some_and(|span| start.elapsed() >= span) {
            break;
        }
        let n = match requests.what {
            What::Health => 0,
            What::EachOnce => next.fetch_add(1, Ordering::Relaxed),
            What::Random => {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random as usize % keys::COUNT
            }
        };
        if n >= keys::COUNT {
            break;
        }
        let request: &[u8] = match requests.what {
            What::Health => HEALTH,
            _ => &VALIDATE[n],
        };
        let sent = Instant::now();
        stream.write_all(request).await.expect("sent");
        let good = answer(&mut stream, &mut buffer, requests.what).await;
        times.push(sent.elapsed().as_secs_f32());
        if !good {
            wrong.push(format!("after {:?}: {}", sent.elapsed(), String::from_utf8_lossy(&buffer)));
        }
    }
    (times, wrong)
}

/// Reads one answer to its end, and says whether it is the right one.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>, what: What) -> bool {
    buffer.clear();
    loop {
        assert!(stream.read_buf(buffer).await.expect("received") > 0, "the server hung up");
        let Some(head) = buffer.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let text = std::str::from_utf8(&buffer[..head]).expect("ASCII");
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        if buffer.len() < head + 4 + length.parse::<usize>().expect("a number") {
            continue;
        }
        let body = &buffer[head + 4..];
        return text.starts_with("HTTP/1.1 200")
            && (matches!(what, What::Health) || body.starts_with(b"{\"valid\":true"));
    }
}
