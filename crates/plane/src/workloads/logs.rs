//! What simulated containers wrote.

use std::collections::HashMap;

use jiff::Timestamp;
use parking_lot::Mutex;

/// More lines than this are not kept per Pod.
const KEPT: usize = 10_000;

/// One line, and when it was written.
pub(super) type Line = (Timestamp, String);

/// Lines by uid of the Pod.
#[derive(Default)]
pub(super) struct Logs(Mutex<HashMap<String, Vec<Line>>>);

impl Logs {
    pub(super) fn append(&self, uid: &str, lines: &[String], now: Timestamp) {
        if lines.is_empty() {
            return;
        }
        let mut all = self.0.lock();
        let kept = all.entry(uid.to_owned()).or_default();
        kept.extend(lines.iter().map(|line| (now, line.clone())));
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }

    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}
