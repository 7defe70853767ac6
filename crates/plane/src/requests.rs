//! What has been asked of the plane: for tests that assert how much, or how little, was sent.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// How many requests are remembered.
const KEPT: usize = 65_536;

/// One request to a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: &'static str,
    /// API group.
    pub group: String,
    /// Plural resource.
    pub resource: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name, or empty.
    pub name: String,
    /// Who asked.
    pub user: String,
    /// The user agent.
    pub agent: String,
    /// The code answered; 0 while the answer is being made.
    pub code: u16,
}

impl Request {
    /// Whether it changes something.
    pub fn is_write(&self) -> bool {
        matches!(self.verb, "create" | "update" | "patch" | "delete" | "deletecollection")
    }
}

/// The latest requests, oldest first. Requests of the plane's own controllers are not among them.
#[derive(Debug, Clone, Default)]
pub struct RequestLog {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    first: u64,
    kept: VecDeque<Request>,
}

impl RequestLog {
    /// The number of requests so far: a mark to look back to.
    pub fn mark(&self) -> u64 {
        let state = self.state.lock();
        state.first + state.kept.len() as u64
    }

    /// The requests since a mark (0 for all that are remembered).
    pub fn since(&self, mark: u64) -> Vec<Request> {
        let state = self.state.lock();
        let skip = mark.saturating_sub(state.first) as usize;
        state.kept.iter().skip(skip).cloned().collect()
    }

    /// How many requests since a mark are like this.
    pub fn count(&self, mark: u64, like: impl Fn(&Request) -> bool) -> usize {
        self.since(mark).iter().filter(|r| like(r)).count()
    }

    /// The writes since a mark.
    pub fn writes(&self, mark: u64) -> Vec<Request> {
        self.since(mark).into_iter().filter(Request::is_write).collect()
    }

    /// Notes a request; the result finds it again.
    pub(crate) fn note(&self, request: Request) -> u64 {
        let mut state = self.state.lock();
        if state.kept.len() == KEPT {
            state.kept.pop_front();
            state.first += 1;
        }
        state.kept.push_back(request);
        state.first + state.kept.len() as u64 - 1
    }

    pub(crate) fn answered(&self, id: u64, code: u16) {
        let mut state = self.state.lock();
        let at = id.checked_sub(state.first);
        if let Some(request) = at.and_then(|at| state.kept.get_mut(at as usize)) {
            request.code = code;
        }
    }
}
