//! Takes fields out of answers.

use bytes::{Bytes, BytesMut};

use crate::json::{Object, Raw};
use crate::sse::{Line, Lines, MAX_EVENT};

use super::StreamTranslator;

/// Removes what `path` names; true if something was there.
///
/// A path is dot-separated; `name[]` stands for each element of the array `name`; the last segment is removed. What is
/// missing or of another type is skipped.
pub fn strip(object: &mut Object, path: &str) -> bool {
    let Some((first, rest)) = path.split_once('.') else { return object.remove(path) };
    match first.strip_suffix("[]") {
        None => {
            let Some(mut inner) = object.get(first).and_then(Raw::as_object) else { return false };
            let changed = strip(&mut inner, rest);
            if changed {
                object.set(first, inner);
            }
            changed
        }
        Some(name) => {
            let Some(mut items) = object.get(name).and_then(Raw::as_array) else { return false };
            let mut changed = false;
            for item in &mut items {
                if let Some(mut inner) = item.as_object()
                    && strip(&mut inner, rest)
                {
                    *item = inner.into();
                    changed = true;
                }
            }
            if changed {
                object.set(name, items);
            }
            changed
        }
    }
}

/// Strips the `data:` objects of an event stream; every other byte goes through as it came.
#[derive(Debug)]
pub struct StripStream {
    paths: &'static [&'static str],
    lines: Lines,
}

impl StripStream {
    /// A stream from which `paths` are taken out.
    pub fn new(paths: &'static [&'static str]) -> StripStream {
        StripStream { paths, lines: Lines::default() }
    }

    fn line(&self, line: &Line, out: &mut BytesMut) {
        match self.stripped(&line.content) {
            Some(object) => {
                out.extend_from_slice(b"data: ");
                out.extend_from_slice(&object.into_text());
            }
            None => out.extend_from_slice(&line.content),
        }
        out.extend_from_slice(&line.end);
    }

    fn stripped(&self, content: &Bytes) -> Option<Object> {
        let data = content.strip_prefix(b"data:")?;
        let mut object = Object::parse(&content.slice_ref(data)).ok()?;
        let mut changed = false;
        for path in self.paths {
            changed |= strip(&mut object, path);
        }
        changed.then_some(object)
    }
}

impl StreamTranslator for StripStream {
    fn push(&mut self, chunk: &[u8]) -> Bytes {
        self.lines.push(chunk);
        let mut out = BytesMut::new();
        while let Some(line) = self.lines.next_line() {
            self.line(&line, &mut out);
        }
        if self.lines.held() > MAX_EVENT
            && let Some(line) = self.lines.finish()
        {
            // No event is that long: give up on this line rather than hold it.
            out.extend_from_slice(&line.content);
            out.extend_from_slice(&line.end);
        }
        out.freeze()
    }

    fn finish(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        if let Some(line) = self.lines.finish() {
            self.line(&line, &mut out);
        }
        out.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_reach_into_objects_and_arrays_and_skip_what_does_not_fit() {
        for (path, before, after) in [
            ("a", r#"{"a":1,"b":2}"#, Some(r#"{"b":2}"#)),
            ("a", r#"{"b":2}"#, None),
            ("u.x", r#"{"u":{"x":{"deep":1},"y":2}}"#, Some(r#"{"u":{"y":2}}"#)),
            ("u.x", r#"{"u":[{"x":1}]}"#, None),
            ("u.x", r#"{"u":null}"#, None),
            (
                "c[].f",
                r#"{"c":[{"f":1,"k":2},3,{"k":4},{"f":null}]}"#,
                Some(r#"{"c":[{"k":2},3,{"k":4},{}]}"#),
            ),
            ("c[].f", r#"{"c":{"f":1}}"#, None),
            ("c[].d.f", r#"{"c":[{"d":{"f":1}}]}"#, Some(r#"{"c":[{"d":{}}]}"#)),
        ] {
            let mut object = Object::parse(&Bytes::from_static(before.as_bytes())).unwrap();
            let changed = strip(&mut object, path);
            assert_eq!(
                changed.then(|| object.to_text()).as_deref(),
                after.map(str::as_bytes),
                "{path} {before}"
            );
        }
    }
}
