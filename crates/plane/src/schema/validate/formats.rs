//! The string formats a server checks; any other format is a note to the reader.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine;
use regex::Regex;

/// Whether `text` is of `format`; `None` when the format is not one that is checked.
pub fn check(format: &str, text: &str) -> Option<bool> {
    Some(match format.replace('-', "").as_str() {
        "bsonobjectid" => text.len() == 24 && hex(text),
        "uri" => uri(text),
        "email" => matches(&EMAIL, text),
        "hostname" => hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => cidr(text),
        "mac" => matches(&MAC, text),
        "uuid" => uuid(text, None),
        "uuid3" => uuid(text, Some('3')),
        "uuid4" => uuid(text, Some('4')),
        "uuid5" => uuid(text, Some('5')),
        "isbn" => isbn10(text) || isbn13(text),
        "isbn10" => isbn10(text),
        "isbn13" => isbn13(text),
        "creditcard" => matches(&CARD, &text.replace(['-', ' '], "")) && luhn(text),
        "ssn" => matches(&SSN, text),
        "hexcolor" => matches(&HEX_COLOR, text),
        "rgbcolor" => matches(&RGB_COLOR, text),
        "byte" => base64::engine::general_purpose::STANDARD.decode(text.replace(['\r', '\n'], "")).is_ok(),
        "password" => true,
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "datetime" => date_time(text),
        "duration" => duration(text),
        "k8sshortname" => text.len() <= 63 && matches(&LABEL, text),
        "k8slongname" => text.len() <= 253 && text.split('.').all(|part| matches(&LABEL, part)),
        _ => return None,
    })
}

type Lazy = LazyLock<Option<Regex>>;

fn matches(regex: &Lazy, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

static EMAIL: Lazy =
    LazyLock::new(|| Regex::new(r"^[^@\s<>]+@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$").ok());
static MAC: Lazy = LazyLock::new(|| {
    Regex::new(r"^(?:[0-9A-Fa-f]{2}[:-]){5}(?:(?:[0-9A-Fa-f]{2}[:-]){2})?[0-9A-Fa-f]{2}$|^(?:[0-9A-Fa-f]{4}\.){2,3}[0-9A-Fa-f]{4}$").ok()
});
static CARD: Lazy = LazyLock::new(|| {
    Regex::new(r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$").ok()
});
static SSN: Lazy = LazyLock::new(|| Regex::new(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$").ok());
static HEX_COLOR: Lazy = LazyLock::new(|| Regex::new(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").ok());
static RGB_COLOR: Lazy = LazyLock::new(|| {
    let part = r"\s*([01]?[0-9]{1,2}|2[0-4][0-9]|25[0-5])\s*";
    Regex::new(&format!(r"^rgb\({part},{part},{part}\)$")).ok()
});
static UUID: Lazy = LazyLock::new(|| {
    Regex::new(r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$").ok()
});
static LABEL: Lazy = LazyLock::new(|| Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$").ok());
static WORDY: Lazy = LazyLock::new(|| {
    let units = "ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week";
    Regex::new(&format!(r"^(\d+)\s*({units}|nanos?|micros?|millis?|secs?|mins?|hours?|hrs?|days?|wks?|weeks?|seconds?|minutes?|nanoseconds?|microseconds?|milliseconds?)$")).ok()
});
static DATE_TIME: Lazy = LazyLock::new(|| {
    Regex::new(r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$").ok()
});

fn hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn uri(text: &str) -> bool {
    // Go's ParseRequestURI: an absolute path or a scheme.
    if text.starts_with('/') {
        return !text.contains(' ');
    }
    match text.split_once(':') {
        Some((scheme, rest)) => {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
                && !rest.contains(' ')
                && !text.contains(char::is_control)
        }
        None => false,
    }
}

fn hostname(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    !name.is_empty()
        && text.len() <= 255
        && name.split('.').all(|part| {
            !part.is_empty()
                && part.len() <= 63
                && part.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
                && !part.starts_with('-')
                && !part.ends_with('-')
        })
}

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Ok(bits) = bits.parse::<u8>() else { return false };
    match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => bits <= 32,
        Ok(std::net::IpAddr::V6(_)) => bits <= 128,
        Err(_) => false,
    }
}

fn uuid(text: &str, version: Option<char>) -> bool {
    if !matches(&UUID, text) {
        return false;
    }
    let digits: Vec<char> = text.chars().filter(|c| *c != '-').collect();
    match version {
        None => true,
        Some('3') => digits[12] == '3',
        Some(version) => digits[12] == version && "89abAB".contains(digits[16]),
    }
}

fn isbn10(text: &str) -> bool {
    let digits: Vec<char> = text.chars().filter(|c| !"- ".contains(*c)).collect();
    if digits.len() != 10 {
        return false;
    }
    let mut sum = 0;
    for (place, c) in digits.iter().enumerate() {
        let value = match c {
            'X' | 'x' if place == 9 => 10,
            c => match c.to_digit(10) {
                Some(value) => value,
                None => return false,
            },
        };
        sum += value * (place as u32 + 1);
    }
    sum % 11 == 0
}

fn isbn13(text: &str) -> bool {
    let digits: Option<Vec<u32>> =
        text.chars().filter(|c| !"- ".contains(*c)).map(|c| c.to_digit(10)).collect();
    match digits {
        Some(digits) if digits.len() == 13 => {
            digits.iter().enumerate().map(|(i, d)| d * if i % 2 == 0 { 1 } else { 3 }).sum::<u32>() % 10 == 0
        }
        _ => false,
    }
}

fn luhn(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, d)| {
            if i % 2 == 1 {
                let d = d * 2;
                if d > 9 { d - 9 } else { d }
            } else {
                *d
            }
        })
        .sum();
    !digits.is_empty() && sum.is_multiple_of(10)
}

fn date_time(text: &str) -> bool {
    matches(&DATE_TIME, text) && text.parse::<jiff::Timestamp>().is_ok()
}

/// Go's duration (`1h30m`, `-1.5s`), or a number and a word (`1 day`).
fn duration(text: &str) -> bool {
    go_duration(text).is_some() || matches(&WORDY, &text.to_lowercase())
}

/// Go's duration in nanoseconds.
pub fn go_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0f64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let unit = match &rest[..end] {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 6e10,
            "h" => 3.6e12,
            _ => return None,
        };
        total += number * unit;
        rest = &rest[end..];
    }
    (total <= i64::MAX as f64).then_some(if negative { -total as i64 } else { total as i64 })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn formats_take_what_they_should() {
        for (format, good, bad) in [
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "xx"),
            ("uuid4", "9b2fa5a2-3e1f-4c8a-9d9e-0123456789ab", "123e4567-e89b-12d3-a456-426614174000"),
            ("date-time", "2026-11-15T20:10:09Z", "2026-11-15"),
            ("date-time", "2026-11-15T20:10:09.123+02:00", "2026-13-15T20:10:09Z"),
            ("date", "2026-11-15", "2026-02-30"),
            ("duration", "1h30m", "1x"),
            ("duration", "1 day", "day"),
            ("ipv4", "1.2.3.4", "1.2.3"),
            ("ipv6", "::1", "1.2.3.4"),
            ("cidr", "10.0.0.0/8", "10.0.0.0"),
            ("mac", "01:23:45:67:89:ab", "01:23"),
            ("uri", "https://x.io/a", "x"),
            ("email", "a@b.io", "a"),
            ("hostname", "a.b", "-a"),
            ("byte", "aGk=", "a"),
            ("isbn10", "0306406152", "0306406153"),
            ("isbn13", "978-0-306-40615-7", "9780306406158"),
            ("creditcard", "4111111111111111", "4111111111111112"),
            ("hexcolor", "#fff", "#ff"),
            ("rgbcolor", "rgb(1,2,3)", "rgb(1,2,300)"),
            ("ssn", "123-45-6789", "123"),
            ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
            ("k8s-short-name", "a-b", "a.b"),
            ("k8s-long-name", "a.b", "A.b"),
        ] {
            assert_eq!(check(format, good), Some(true), "{format} {good}");
            assert_eq!(check(format, bad), Some(false), "{format} {bad}");
        }
        assert_eq!(check("whatever", "x"), None);
    }
}
