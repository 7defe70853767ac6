//! What containers wrote: the lines of this run and of the one before, for those who ask and those who follow.

mod answer;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;

pub(crate) use answer::{Reader, answer};

use crate::clock::Clock;

/// More lines than this are not kept of one run.
const KEPT: usize = 10_000;
/// A line that grows beyond this is cut in two.
const LONGEST: usize = 64 * 1024;

/// One line, and when it was written.
pub(crate) type Line = (Timestamp, String);

/// The logs of all containers, by uid of the Pod and name of the container.
#[derive(Default)]
pub(crate) struct Logs(Mutex<HashMap<String, HashMap<String, Book>>>);

/// The log of one container.
struct Book {
    lines: VecDeque<Line>,
    /// How many lines of this run are no longer kept.
    dropped: usize,
    /// What was written after the last line's end.
    rest: Vec<u8>,
    /// The lines of the run before.
    previous: Option<Vec<Line>>,
    /// How often it was started.
    run: u32,
    open: bool,
    changed: watch::Sender<()>,
}

/// A part of a log.
pub(crate) struct Page {
    pub(crate) lines: Vec<Line>,
    /// Where to go on reading.
    pub(crate) next: usize,
    /// Whether more may come in the run that was asked for.
    pub(crate) open: bool,
}

impl Logs {
    /// A container starts: what it wrote so far is what the previous run wrote.
    pub(super) fn begin(&self, uid: &str, container: &str) {
        let mut all = self.0.lock();
        let book =
            all.entry(uid.to_owned()).or_default().entry(container.to_owned()).or_insert_with(Book::new);
        if book.run > 0 {
            book.previous = Some(std::mem::take(&mut book.lines).into());
            book.dropped = 0;
        }
        book.run += 1;
        book.open = true;
    }

    /// Adds what a container wrote.
    pub(super) fn write(&self, uid: &str, container: &str, bytes: &[u8], now: Timestamp) {
        let mut all = self.0.lock();
        let Some(book) = all.get_mut(uid).and_then(|books| books.get_mut(container)) else { return };
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            book.rest.extend_from_slice(part);
            if part.ends_with(b"\n") || book.rest.len() > LONGEST {
                book.end_line(now);
            }
        }
        book.changed.send_replace(());
    }

    /// A container has ended: its followers have read it all.
    pub(super) fn end(&self, uid: &str, container: &str, now: Timestamp) {
        let mut all = self.0.lock();
        let Some(book) = all.get_mut(uid).and_then(|books| books.get_mut(container)) else { return };
        if !book.rest.is_empty() {
            book.end_line(now);
        }
        book.open = false;
        book.changed.send_replace(());
    }

    /// The Pod is gone, and its logs with it.
    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }

    /// The run now shown, with a bell for changes; none if the container never started.
    pub(crate) fn follow(&self, uid: &str, container: &str) -> Option<(u32, watch::Receiver<()>)> {
        let all = self.0.lock();
        let book = all.get(uid)?.get(container)?;
        Some((book.run, book.changed.subscribe()))
    }

    /// The lines of a run from `from` on; none if another run has begun or the Pod is gone.
    pub(crate) fn page(&self, uid: &str, container: &str, run: u32, from: usize) -> Option<Page> {
        let all = self.0.lock();
        let book = all.get(uid)?.get(container).filter(|book| book.run == run)?;
        let skip = from.saturating_sub(book.dropped);
        let lines = book.lines.iter().skip(skip).cloned().collect();
        Some(Page { lines, next: book.dropped + book.lines.len(), open: book.open })
    }

    /// The lines of the latest run; none if the container never started.
    pub(crate) fn latest(&self, uid: &str, container: &str) -> Option<Vec<Line>> {
        self.0.lock().get(uid)?.get(container).map(|book| book.lines.iter().cloned().collect())
    }

    /// The lines of the run before; none if there was none.
    pub(crate) fn previous(&self, uid: &str, container: &str) -> Option<Vec<Line>> {
        self.0.lock().get(uid)?.get(container)?.previous.clone()
    }
}

impl Book {
    fn new() -> Self {
        Self {
            lines: VecDeque::new(),
            dropped: 0,
            rest: vec![],
            previous: None,
            run: 0,
            open: false,
            changed: watch::channel(()).0,
        }
    }

    fn end_line(&mut self, now: Timestamp) {
        let line = std::mem::take(&mut self.rest);
        let line = String::from_utf8_lossy(&line);
        self.lines.push_back((now, line.strip_suffix('\n').unwrap_or(&line).to_owned()));
        if self.lines.len() > KEPT {
            self.lines.pop_front();
            self.dropped += 1;
        }
    }
}

/// Where a running program's output goes.
pub(super) struct Writer {
    pub(super) logs: Arc<Logs>,
    pub(super) uid: String,
    pub(super) container: String,
    pub(super) clock: Arc<dyn Clock>,
}

impl Writer {
    pub(super) fn write(&self, bytes: &[u8]) {
        self.logs.write(&self.uid, &self.container, bytes, self.clock.now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn lines(page: &Page) -> Vec<&str> {
        page.lines.iter().map(|(_, line)| line.as_str()).collect()
    }

    #[test]
    fn a_line_is_one_however_it_comes() {
        let logs = Logs::default();
        logs.begin("u", "c");
        for part in ["on", "e\ntw", "o\nthree"] {
            logs.write("u", "c", part.as_bytes(), NOW);
        }
        assert_eq!(lines(&logs.page("u", "c", 1, 0).unwrap()), ["one", "two"]);
        logs.end("u", "c", NOW);
        let page = logs.page("u", "c", 1, 2).unwrap();
        assert_eq!((lines(&page), page.open), (vec!["three"], false));
    }

    #[test]
    fn a_restart_keeps_the_run_before_and_ends_its_followers() {
        let logs = Logs::default();
        logs.begin("u", "c");
        logs.write("u", "c", b"first\n", NOW);
        assert!(logs.previous("u", "c").is_none());
        logs.begin("u", "c");
        assert!(logs.page("u", "c", 1, 0).is_none(), "that run is over");
        assert_eq!(logs.previous("u", "c").unwrap()[0].1, "first");
        assert!(logs.page("u", "c", 2, 0).unwrap().lines.is_empty());
    }

    #[test]
    fn only_the_latest_lines_are_kept_and_a_reader_goes_on_where_it_was() {
        let logs = Logs::default();
        logs.begin("u", "c");
        logs.write("u", "c", "x\n".repeat(KEPT).as_bytes(), NOW);
        let page = logs.page("u", "c", 1, 0).unwrap();
        logs.write("u", "c", b"y\nz\n", NOW);
        assert_eq!(lines(&logs.page("u", "c", 1, page.next).unwrap()), ["y", "z"]);
        assert_eq!(logs.page("u", "c", 1, 0).unwrap().lines.len(), KEPT);
    }
}
