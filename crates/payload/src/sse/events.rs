//! Puts lines together to events.

use bytes::Bytes;

use super::{Line, Lines, MAX_EVENT};

/// One event: its type, and its data with the lines joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The `event` field; empty if there was none.
    pub name: String,
    /// The `data` fields, joined with newlines.
    pub data: Vec<u8>,
}

/// Reads events from chunks, by the rules of the HTML standard; `id` and `retry` are of no interest here.
#[derive(Debug, Default)]
pub struct Events {
    lines: Lines,
    open: Event,
    has_data: bool,
    started: bool,
}

/// An event grew beyond [`MAX_EVENT`]; the stream cannot be followed any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream exceeds {MAX_EVENT} bytes")]
pub struct TooLarge;

impl Events {
    /// Adds a chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.lines.push(chunk);
    }

    /// The next event that is complete.
    pub fn next_event(&mut self) -> Result<Option<Event>, TooLarge> {
        while let Some(line) = self.lines.next_line() {
            if let Some(event) = self.line(&line) {
                return Ok(Some(event));
            }
            if self.open.data.len() > MAX_EVENT {
                return Err(TooLarge);
            }
        }
        if self.lines.held() > MAX_EVENT { Err(TooLarge) } else { Ok(None) }
    }

    /// The event that was open when the stream ended. The standard drops it; a provider that forgets the last empty
    /// line should not cost the client its last token.
    pub fn finish(&mut self) -> Option<Event> {
        let last = self.lines.finish().and_then(|line| self.line(&line));
        last.or_else(|| self.take())
    }

    fn line(&mut self, line: &Line) -> Option<Event> {
        let mut content = &line.content[..];
        if !std::mem::replace(&mut self.started, true) {
            content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        }
        if content.is_empty() {
            return self.take();
        }
        let (field, value) = match content.iter().position(|b| *b == b':') {
            Some(at) => (&content[..at], &content[at + 1..]),
            None => (content, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.open.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.open.data.push(b'\n');
                }
                self.open.data.extend_from_slice(value);
            }
            _ => {}
        }
        None
    }

    fn take(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.open);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

impl Event {
    /// The data as shared bytes.
    pub fn into_data(self) -> Bytes {
        self.data.into()
    }
}
