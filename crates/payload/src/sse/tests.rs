use proptest::prelude::*;

use super::*;

/// Feeds `text` cut at `cuts` and collects every event.
fn events(text: &[u8], cuts: &[usize]) -> Vec<(String, String)> {
    let mut reader = Events::default();
    let mut out = Vec::new();
    for chunk in cut(text, cuts) {
        reader.push(chunk);
        while let Some(event) = reader.next_event().expect("small") {
            out.push(event);
        }
    }
    out.extend(reader.finish());
    out.into_iter().map(|e| (e.name, String::from_utf8_lossy(&e.data).into_owned())).collect()
}

/// Cuts `text` at the given places, whatever their order.
pub(crate) fn cut<'a>(text: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|c| c % (text.len() + 1)).collect();
    at.extend([0, text.len()]);
    at.sort_unstable();
    at.windows(2).map(|w| &text[w[0]..w[1]]).collect()
}

#[test]
fn fields_comments_and_line_ends() {
    let pair = |n: &str, d: &str| (n.to_owned(), d.to_owned());
    for (text, expected) in [
        ("data: a\n\n", vec![pair("", "a")]),
        ("event: x\ndata: a\ndata:b\n\n", vec![pair("x", "a\nb")]),
        ("event: x\r\ndata:  a\r\n\r\ndata: b\r\n\r\n", vec![pair("x", " a"), pair("", "b")]),
        ("data: a\rdata: b\r\r", vec![pair("", "a\nb")]),
        (": ping\n\nevent: only\n\ndata: a\n\n", vec![pair("", "a")]),
        ("\u{feff}data: a\n\n", vec![pair("", "a")]),
        ("data\n\n", vec![pair("", "")]),
        ("data: unfinished", vec![pair("", "unfinished")]),
        ("id: 1\nretry: 5\ndata: [DONE]\n\n", vec![pair("", "[DONE]")]),
    ] {
        assert_eq!(events(text.as_bytes(), &[]), expected, "{text:?}");
    }
}

#[test]
fn an_endless_line_is_given_up() {
    let mut reader = Events::default();
    reader.push(&vec![b'x'; MAX_EVENT + 1]);
    assert!(reader.next_event().is_err());
}

#[test]
fn an_endless_event_is_given_up() {
    let mut reader = Events::default();
    let line = [b"data: ".as_slice(), &[b'x'; 1000], b"\n"].concat();
    let given_up = (0..MAX_EVENT / 900).any(|_| {
        reader.push(&line);
        reader.next_event().is_err()
    });
    assert!(given_up);
}

proptest! {
    #[test]
    fn no_cut_changes_the_events(
        text in prop::collection::vec(prop_oneof![
            Just("data: "), Just("\n"), Just("\r\n"), Just("\r"), Just("event: "), Just("é{}"), Just(":"), Just("x"),
        ], 0..40),
        cuts in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let text = text.concat();
        prop_assert_eq!(events(text.as_bytes(), &cuts), events(text.as_bytes(), &[]));
    }

    #[test]
    fn lines_lose_no_byte(bytes in prop::collection::vec(any::<u8>(), 0..200), cuts in prop::collection::vec(any::<usize>(), 0..20)) {
        let (mut lines, mut out) = (Lines::default(), Vec::new());
        for chunk in cut(&bytes, &cuts) {
            lines.push(chunk);
            while let Some(line) = lines.next_line() {
                out.extend_from_slice(&line.content);
                out.extend_from_slice(&line.end);
            }
        }
        if let Some(line) = lines.finish() {
            out.extend_from_slice(&line.content);
            out.extend_from_slice(&line.end);
        }
        prop_assert_eq!(out, bytes);
    }
}
