//! Regular expressions as RE2 reads them, compiled by the `regex` crate.
//!
//! Both are finite automata with nearly one syntax. What differs is translated: Perl classes and `\b` are ASCII in RE2,
//! and RE2 knows no nested or subtracted character classes.

use regex::{Regex, RegexBuilder};

use crate::schema::memo::Memo;

/// RE2 refuses to repeat more often than this.
const MAX_REPEAT: u32 = 1000;
/// The size of a compiled expression. Repeated Unicode classes (`[\p{L}]{0,62}`) go beyond it and are then read as
/// "any letter of ASCII, anything beyond ASCII"; what is still larger is refused.
const MAX_COMPILED: usize = 2 << 20;

/// Compiles a pattern; the error is worded as Go words it.
///
/// The same few patterns stand in a CRD's schema hundreds of times, so compiled ones are kept.
pub fn compile_pattern(source: &str) -> Result<Regex, String> {
    static KNOWN: Memo<Result<Regex, String>> = Memo::new(1024);
    KNOWN.get(source, compile)
}

fn compile(source: &str) -> Result<Regex, String> {
    check_repeats(source)?;
    let build = |coarse| RegexBuilder::new(&translate(source, coarse)).size_limit(MAX_COMPILED).build();
    match build(false) {
        Err(regex::Error::CompiledTooBig(_)) => build(true),
        other => other,
    }
    .map_err(|error| go_error(source, &error))
}

/// Whether `text` contains a match.
pub fn is_match(source: &str, text: &str) -> Result<bool, String> {
    compile_pattern(source).map(|regex| regex.is_match(text))
}

fn check_repeats(source: &str) -> Result<(), String> {
    let mut rest = source;
    while let Some(open) = rest.find('{') {
        rest = &rest[open + 1..];
        let Some(close) = rest.find('}') else { break };
        let numbers = &rest[..close];
        let too_many = |n: &str| {
            !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) && {
                n.parse::<u32>().map_or(true, |n| n > MAX_REPEAT)
            }
        };
        if numbers.split(',').any(too_many) {
            return Err(format!("error parsing regexp: invalid repeat count: `{{{numbers}}}`"));
        }
    }
    Ok(())
}

fn translate(source: &str, coarse: bool) -> String {
    let mut out = String::with_capacity(source.len() + 8);
    let mut chars = source.chars().peekable();
    let mut in_class = false;
    let mut class_start = false;
    while let Some(c) = chars.next() {
        let at_start = std::mem::take(&mut class_start);
        match c {
            '\\' => match chars.next() {
                Some('d') => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
                Some('w') => out.push_str(if in_class { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }),
                Some('s') => out.push_str(if in_class { "\\t\\n\\f\\r " } else { "[\\t\\n\\f\\r ]" }),
                Some('D') if !in_class => out.push_str("[^0-9]"),
                Some('W') if !in_class => out.push_str("[^0-9A-Za-z_]"),
                Some('S') if !in_class => out.push_str("[^\\t\\n\\f\\r ]"),
                Some('b') if !in_class => out.push_str("(?-u:\\b)"),
                Some('/') => out.push('/'),
                Some('p') if coarse => {
                    if chars.next() == Some('{') {
                        chars.by_ref().find(|c| *c == '}');
                    }
                    let any = "A-Za-z\\x{80}-\\x{10FFFF}";
                    out.push_str(&if in_class { any.to_owned() } else { format!("[{any}]") });
                }
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                class_start = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    chars.next();
                    out.push('^');
                }
            }
            ']' if in_class && at_start => out.push_str("\\]"),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '[' if chars.peek() == Some(&':') => {
                out.push('[');
                for inner in chars.by_ref() {
                    out.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            '[' => out.push_str("\\["),
            '&' | '~' if in_class => out.extend(['\\', c]),
            '-' if in_class && chars.peek() == Some(&'-') => out.push_str("\\-"),
            _ => out.push(c),
        }
    }
    out
}

fn go_error(source: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let what = if text.contains("unclosed group") {
        format!("missing closing ): `{source}`")
    } else if text.contains("unopened group") {
        format!("unexpected ): `{source}`")
    } else if text.contains("unclosed character class") {
        format!("missing closing ]: `{}`", &source[source.rfind('[').unwrap_or(0)..])
    } else if text.contains("repetition operator missing") {
        let operator = source.chars().find(|c| "*+?".contains(*c)).unwrap_or('*');
        format!("missing argument to repetition operator: `{operator}`")
    } else if text.contains("look-around") {
        let from = source.find("(?").unwrap_or(0);
        let until =
            source.char_indices().skip_while(|(i, _)| *i < from).nth(3).map_or(source.len(), |(i, _)| i);
        format!("invalid or unsupported Perl syntax: `{}`", &source[from..until])
    } else if text.contains("exceeds size limit") {
        "expression nests too deeply or is too large".to_owned()
    } else {
        format!("invalid expression: `{source}`")
    };
    format!("error parsing regexp: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn re2_reading_of_classes() {
        for (pattern, text, wanted) in [
            (r"^\d+$", "12", true),
            (r"^\d+$", "१२", false),
            (r"^[\w.]+$", "a_b.c", true),
            (r"^[]a]+$", "]a", true),
            (r"^[[a]+$", "[a", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[[:alpha:]-]+$", "a-b", true),
            (r"b+", "abc", true),
            (r"^\S+/\S*$", "a/b", true),
            (r"^([a-z\p{S}\p{L}]([a-z-\p{S}\p{L}]{0,61}[a-z\p{L}]){0,2}\.)+$", "exämple.", true),
        ] {
            assert_eq!(is_match(pattern, text), Ok(wanted), "{pattern} on {text}");
        }
    }

    #[test]
    fn errors_are_worded_as_in_go() {
        for (pattern, text) in [
            ("(", "error parsing regexp: missing closing ): `(`"),
            ("[a", "error parsing regexp: missing closing ]: `[a`"),
            ("*a", "error parsing regexp: missing argument to repetition operator: `*`"),
            ("a{1,5000}", "error parsing regexp: invalid repeat count: `{1,5000}`"),
            ("(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ] {
            assert_eq!(compile_pattern(pattern).unwrap_err(), text);
        }
    }
}
