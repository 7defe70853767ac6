//! The way between a client and its server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use kube::client::Body;
use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use tower::{BoxError, Service, ServiceExt};

use super::{body, request::Asked};

pub(super) type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

/// How often things go wrong, from 0 to 1, and how late a watch may be.
#[derive(Clone, Debug, Default)]
pub struct Chaos {
    /// A write is refused with 500 and not made.
    pub refused: f64,
    /// A write is made, and its answer lost.
    pub unanswered: f64,
    /// A write is refused with 409, as if somebody else had written first.
    pub conflict: f64,
    /// A watch breaks off after an event.
    pub broken_watch: f64,
    /// A watch that begins anew has lost its place: 410.
    pub expired_watch: f64,
    /// A watch's events come this late at most.
    pub lag: Duration,
}

/// What can go wrong with one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is refused with 500 and not made.
    Refused,
    /// It is refused with 409, as if somebody else had written first.
    Conflict,
    /// It is made, and its answer lost.
    Unanswered,
}

impl Fault {
    /// Each of them.
    pub const ALL: [Fault; 3] = [Fault::Refused, Fault::Conflict, Fault::Unanswered];

    fn chance(self, chaos: &Chaos) -> f64 {
        match self {
            Fault::Refused => chaos.refused,
            Fault::Conflict => chaos.conflict,
            Fault::Unanswered => chaos.unanswered,
        }
    }
}

/// The way between a client and its server. Clones are the same way.
#[derive(Clone, Debug)]
pub struct Edge(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    random: Mutex<StdRng>,
    chaos: Mutex<Chaos>,
    writes: AtomicUsize,
    tried: AtomicUsize,
    fault: Mutex<Option<(usize, Fault)>>,
    crash_after: Mutex<Option<usize>>,
    crashed: watch::Sender<bool>,
    refusals: Mutex<Vec<Refusal>>,
    refused: AtomicUsize,
    traffic: Mutex<Traffic>,
}

/// Requests that are answered with an error on purpose.
struct Refusal {
    like: Box<dyn Fn(&Asked) -> bool + Send + Sync>,
    code: StatusCode,
    message: String,
}

impl std::fmt::Debug for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Refusal({} {})", self.code, self.message)
    }
}

/// What has been asked, watches aside.
#[derive(Debug)]
struct Traffic {
    under_way: usize,
    last: Instant,
    written: Vec<Asked>,
}

impl Edge {
    /// A way on which all goes well, until told otherwise. The same seed does the same damage to the same requests.
    pub fn new(seed: u64) -> Self {
        Edge(Arc::new(Inner {
            random: Mutex::new(StdRng::seed_from_u64(seed)),
            chaos: Mutex::default(),
            writes: AtomicUsize::new(0),
            tried: AtomicUsize::new(0),
            fault: Mutex::new(None),
            crash_after: Mutex::new(None),
            crashed: watch::channel(false).0,
            refusals: Mutex::default(),
            refused: AtomicUsize::new(0),
            traffic: Mutex::new(Traffic { under_way: 0, last: Instant::now(), written: vec![] }),
        }))
    }

    /// A client whose requests go this way.
    pub fn client<S, B>(&self, server: S) -> kube::Client
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
        S::Future: Send,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        kube::Client::new(Way { edge: self.clone(), server }, "default")
    }

    /// A client whose requests go this way, and then that client's.
    pub fn through(&self, client: kube::Client) -> kube::Client {
        self.client(tower::service_fn(move |request| {
            let client = client.clone();
            async move { client.send(request).await }
        }))
    }

    /// Requests like this get an error, and do nothing, until [`Edge::relent`].
    pub fn refuse(
        &self,
        like: impl Fn(&Asked) -> bool + Send + Sync + 'static,
        code: StatusCode,
        message: impl Into<String>,
    ) {
        self.0.refusals.lock().push(Refusal { like: Box::new(like), code, message: message.into() });
    }

    /// Nothing is refused any more.
    pub fn relent(&self) {
        self.0.refusals.lock().clear();
    }

    /// How many requests were refused on purpose.
    pub fn refusals(&self) -> usize {
        self.0.refused.load(Ordering::SeqCst)
    }

    /// What was written from the `from`th write on, in order, events aside.
    pub fn written(&self, from: usize) -> Vec<Asked> {
        self.0.traffic.lock().written.get(from..).unwrap_or_default().to_vec()
    }

    /// For how long nothing has been asked or answered, watches aside.
    pub fn idle(&self) -> Duration {
        let traffic = self.0.traffic.lock();
        if traffic.under_way > 0 { Duration::ZERO } else { traffic.last.elapsed() }
    }

    /// From now on things go wrong this often.
    pub fn set_chaos(&self, chaos: Chaos) {
        *self.0.chaos.lock() = chaos;
    }

    /// This goes wrong with the `nth` write that is tried, counted from one, and with no other.
    pub fn fail(&self, nth: usize, fault: Fault) {
        *self.0.fault.lock() = Some((nth, fault));
    }

    /// Once this many writes were made, counted from the beginning, the process is dead: the last one gets no answer, and
    /// nothing else ever does.
    pub fn crash_after(&self, writes: usize) {
        *self.0.crash_after.lock() = Some(writes);
    }

    /// Waits for the crash.
    pub async fn crashed(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.crashed.subscribe().wait_for(|crashed| *crashed).await;
    }

    /// Whether the process is dead.
    pub fn is_crashed(&self) -> bool {
        *self.0.crashed.borrow()
    }

    /// A new process may use the way.
    pub fn revive(&self) {
        *self.0.crash_after.lock() = None;
        self.0.crashed.send_replace(false);
    }

    /// How many writes were made, events aside.
    pub fn writes(&self) -> usize {
        self.0.writes.load(Ordering::SeqCst)
    }

    /// Counts a request as under way until the result is dropped.
    fn under_way(&self) -> impl Drop + use<> {
        struct UnderWay(Edge);
        impl Drop for UnderWay {
            fn drop(&mut self) {
                let mut traffic = self.0.0.traffic.lock();
                traffic.under_way -= 1;
                traffic.last = Instant::now();
            }
        }
        self.0.traffic.lock().under_way += 1;
        UnderWay(self.clone())
    }

    fn happens(&self, how_often: impl Fn(&Chaos) -> f64) -> bool {
        let chance = how_often(&self.0.chaos.lock());
        chance > 0.0 && self.0.random.lock().random_bool(chance.min(1.0))
    }

    /// What goes wrong with the write that is tried now.
    fn fault(&self) -> Option<Fault> {
        let nth = self.0.tried.fetch_add(1, Ordering::SeqCst) + 1;
        let planned = self.0.fault.lock().filter(|(planned, _)| *planned == nth).map(|(_, fault)| fault);
        let by_chance = || Fault::ALL.into_iter().find(|fault| self.happens(|chaos| fault.chance(chaos)));
        planned.or_else(by_chance)
    }

    /// What to do to a watch's next event.
    pub(super) fn next_event(&self) -> (Duration, bool) {
        let lag = self.0.chaos.lock().lag;
        let late = if lag.is_zero() { lag } else { lag.mul_f64(self.0.random.lock().random()) };
        (late, self.happens(|chaos| chaos.broken_watch))
    }

    async fn pass<S, B>(&self, server: S, request: Request<Body>) -> Result<Response<AnyBody>, BoxError>
    where
        S: Service<Request<Body>, Response = Response<B>>,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        if self.is_crashed() {
            return std::future::pending().await;
        }
        let asked = Asked::of(&request);
        let refusal = self
            .0
            .refusals
            .lock()
            .iter()
            .find(|refusal| (refusal.like)(&asked))
            .map(|refusal| failure(refusal.code, reason(refusal.code), &refusal.message));
        if let Some(refusal) = refusal {
            self.0.refused.fetch_add(1, Ordering::SeqCst);
            return Ok(refusal);
        }
        let query = request.uri().query().unwrap_or_default();
        let is_watch = query.contains("watch=true");
        if is_watch && query.contains("resourceVersion=") && self.happens(|chaos| chaos.expired_watch) {
            return Ok(failure(StatusCode::GONE, "Expired", "too old resource version"));
        }
        let is_write = is_write(&request);
        let fault = if is_write { self.fault() } else { None };
        match fault {
            Some(Fault::Refused) => {
                return Ok(failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "injected: refused"));
            }
            Some(Fault::Conflict) if request.method() != Method::DELETE => {
                let message = "injected: the object has been modified";
                return Ok(failure(StatusCode::CONFLICT, "Conflict", message));
            }
            _ => {}
        }
        let _traffic = (!is_watch).then(|| self.under_way());
        let answer = server.oneshot(request).await.map_err(Into::into)?;
        if is_write && answer.status().is_success() {
            self.0.traffic.lock().written.push(asked);
            let made = self.0.writes.fetch_add(1, Ordering::SeqCst) + 1;
            if self.0.crash_after.lock().is_some_and(|limit| made >= limit) {
                self.0.crashed.send_replace(true);
                return std::future::pending().await;
            }
            if fault == Some(Fault::Unanswered) {
                return Err("injected: the answer was lost".into());
            }
        }
        let (parts, answer) = answer.into_parts();
        let answer = answer.map_err(Into::into).boxed_unsync();
        Ok(Response::from_parts(parts, if is_watch { body::watched(answer, self.clone()) } else { answer }))
    }
}

/// Reviews ask, and events tell: neither is a step of the work.
fn is_write(request: &Request<Body>) -> bool {
    let path = request.uri().path();
    !matches!(*request.method(), Method::GET | Method::HEAD)
        && !path.contains("/events")
        && !path.contains("accessreviews")
        && !path.contains("tokenreviews")
}

/// The reason that a server gives with a code.
fn reason(code: StatusCode) -> &'static str {
    match code {
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::CONFLICT => "Conflict",
        StatusCode::UNPROCESSABLE_ENTITY => "Invalid",
        _ => "InternalError",
    }
}

fn failure(code: StatusCode, reason: &str, message: &str) -> Response<AnyBody> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    });
    let body = Full::from(status.to_string()).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response
}

/// A server at the end of an edge.
#[derive(Clone)]
struct Way<S> {
    edge: Edge,
    server: S,
}

impl<S, B> Service<Request<Body>> for Way<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<AnyBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (edge, server) = (self.edge.clone(), self.server.clone());
        Box::pin(async move { edge.pass(server, request).await })
    }
}
