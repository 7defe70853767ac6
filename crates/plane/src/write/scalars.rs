//! Strings with a form of their own, read as Go reads them: amounts, times, base64.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::builtin::quantity::Quantity;

/// What is wrong with an amount, if anything: numbers are as good as strings.
pub(super) fn quantity(value: &Value) -> Option<&'static str> {
    const FORM: &str =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    static WELL_FORMED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new("^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$").ok());
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null => return None,
        _ => return Some(FORM),
    };
    if Quantity::parse(&text).is_some() {
        return None;
    }
    let formed = WELL_FORMED.as_ref().is_some_and(|form| form.is_match(&text));
    Some(if formed { "unable to parse quantity's suffix" } else { FORM })
}

/// Reads a time as Go reads RFC 3339, part by part, and says where it stops being one.
pub(super) fn time(text: &str) -> Result<(), String> {
    const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
    const PARTS: [&str; 11] = ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"];
    if text.parse::<jiff::Timestamp>().is_ok() {
        return Ok(());
    }
    let mut rest = text;
    for part in PARTS {
        let number = part.starts_with(|c: char| c.is_ascii_digit());
        let fits = match rest.get(..part.len()) {
            Some(head) if number => head.bytes().all(|byte| byte.is_ascii_digit()),
            Some(head) => head == part,
            None => false,
        };
        if !fits {
            return Err(format!("parsing time {text:?} as {LAYOUT:?}: cannot parse {rest:?} as {part:?}"));
        }
        rest = &rest[part.len()..];
    }
    let fraction =
        rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let zoned = fraction == "Z" || fraction.len() == 6 && fraction.starts_with(['+', '-']);
    if !zoned {
        return Err(format!("parsing time {text:?} as {LAYOUT:?}: cannot parse {fraction:?} as \"Z07:00\""));
    }
    let number =
        |at: std::ops::Range<usize>| text.get(at).and_then(|digits| digits.parse::<u32>().ok()).unwrap_or(0);
    let out = [
        ("month", 5..7, 1, 12),
        ("hour", 11..13, 0, 23),
        ("minute", 14..16, 0, 59),
        ("second", 17..19, 0, 59),
    ]
    .into_iter()
    .find(|(_, at, least, most)| !(*least..=*most).contains(&number(at.clone())))
    .map_or("day", |(name, ..)| name);
    Err(format!("parsing time {text:?}: {out} out of range"))
}

/// Where Go's decoder gives up on what should be base64 (standard alphabet, padded, line breaks ignored).
pub(crate) fn base64_stops(text: &[u8]) -> Option<usize> {
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let skip_breaks = |mut at: usize| {
        while text.get(at).is_some_and(is_break) {
            at += 1;
        }
        at
    };
    let (mut at, mut digits) = (0, 0);
    loop {
        at = skip_breaks(at);
        let Some(byte) = text.get(at) else {
            return (digits > 0).then(|| text.len() - digits);
        };
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => {
                digits = (digits + 1) % 4;
                at += 1;
            }
            b'=' if digits >= 2 => {
                at = skip_breaks(at + 1);
                if digits == 2 {
                    match text.get(at) {
                        None => return Some(text.len()),
                        Some(b'=') => at = skip_breaks(at + 1),
                        Some(_) => return Some(at - 1),
                    }
                }
                return (at < text.len()).then_some(at);
            }
            _ => return Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn base64_is_judged_as_go_judges_it() {
        for (text, stops) in [
            ("", None),
            ("aGk=", None),
            ("aGk=\n", None),
            ("aGVsbG8h", None),
            ("aA==", None),
            ("!!", Some(0)),
            ("aGk", Some(0)),
            ("aGVsbG8haG", Some(8)),
            ("aA=", Some(3)),
            ("aA=b", Some(2)),
            ("aGk=x", Some(4)),
            ("a=", Some(1)),
        ] {
            assert_eq!(base64_stops(text.as_bytes()), stops, "{text:?}");
        }
    }

    #[test]
    fn times_are_read_as_go_reads_them() {
        assert_eq!(time("2026-01-01T00:00:00Z"), Ok(()));
        assert_eq!(time("2026-01-01T00:00:00.000001+02:00"), Ok(()));
        for (text, end) in [
            ("yesterday", "cannot parse \"yesterday\" as \"2006\""),
            ("2026-1-1", "cannot parse \"1-1\" as \"01\""),
            ("2026-01-01", "cannot parse \"\" as \"T\""),
            ("2026-13-01T00:00:00Z", ": month out of range"),
            ("2026-02-30T00:00:00Z", ": day out of range"),
        ] {
            assert!(time(text).unwrap_err().ends_with(end), "{text}: {:?}", time(text));
        }
    }

    #[test]
    fn amounts_are_read_with_the_body() {
        assert_eq!(quantity(&json!("100m")), None);
        assert_eq!(quantity(&json!(1.5)), None);
        assert!(quantity(&json!("lots")).unwrap().starts_with("quantities must match"));
        assert!(quantity(&json!("")).unwrap().starts_with("quantities must match"));
        assert!(quantity(&json!(true)).unwrap().starts_with("quantities must match"));
        assert_eq!(quantity(&json!("1mm")), Some("unable to parse quantity's suffix"));
    }
}
