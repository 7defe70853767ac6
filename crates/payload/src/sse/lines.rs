//! Cuts a byte stream into lines, keeping every byte.

use bytes::{Buf, Bytes, BytesMut};

/// One line with its end, exactly as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line without its end.
    pub content: Bytes,
    /// `\n`, `\r\n`, `\r`, or nothing for what was left when the stream ended.
    pub end: Bytes,
}

/// Collects chunks and gives out whole lines.
#[derive(Debug, Default)]
pub struct Lines {
    held: BytesMut,
    /// How much of `held` is known to hold no line end, so that a long line is searched once.
    searched: usize,
}

impl Lines {
    /// Adds a chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.held.extend_from_slice(chunk);
    }

    /// How many bytes wait for the end of their line.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The next line that is complete. A `\r` at the very end waits, since a `\n` may follow.
    pub fn next_line(&mut self) -> Option<Line> {
        let found = self.held[self.searched..].iter().position(|b| matches!(b, b'\n' | b'\r'));
        let Some(at) = found.map(|at| at + self.searched) else {
            self.searched = self.held.len();
            return None;
        };
        let end = match (self.held[at], self.held.get(at + 1)) {
            (b'\r', Some(b'\n')) => 2,
            (b'\r', None) => {
                self.searched = at;
                return None;
            }
            _ => 1,
        };
        self.searched = 0;
        let content = self.held.split_to(at).freeze();
        let end = self.held.split_to(end).freeze();
        Some(Line { content, end })
    }

    /// What is left when the stream has ended: a last line without an end, or a lone `\r`.
    pub fn finish(&mut self) -> Option<Line> {
        self.searched = 0;
        let mut rest = std::mem::take(&mut self.held).freeze();
        if rest.is_empty() {
            return None;
        }
        let content = rest.split_to(rest.len() - usize::from(rest.last() == Some(&b'\r')));
        Some(Line { content, end: rest.copy_to_bytes(rest.remaining()) })
    }
}
