//! How long a key lives: reading `expiresIn`, printing durations the way clients know them, and the limits.

use std::fmt;

use serde_json::Value;

const SECOND: i128 = 1_000_000_000;
const HOUR: i128 = 3600 * SECOND;
const DAY: i128 = 24 * HOUR;
/// The longest life of an ephemeral key, and its life when none is asked for.
const EPHEMERAL: i128 = HOUR;
/// What a Go duration can hold; beyond it the original's arithmetic is undefined.
const LONGEST: f64 = i64::MAX as f64;

/// A length of time in nanoseconds, printed as Go prints it (`1h30m0s`, `500ms`).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Lifetime(i64);

impl Lifetime {
    /// In nanoseconds.
    pub fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// In nanoseconds.
    pub fn as_nanos(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let second = SECOND as u64;
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{sign}{nanos}ns"),
            1_000..1_000_000 => write!(f, "{sign}{}µs", Decimal(nanos, 1_000)),
            1_000_000..1_000_000_000 => write!(f, "{sign}{}ms", Decimal(nanos, 1_000_000)),
            _ => {
                let (minutes, rest) = (nanos / (60 * second), Decimal(nanos % (60 * second), second));
                match (minutes / 60, minutes % 60) {
                    (0, 0) => write!(f, "{sign}{rest}s"),
                    (0, minutes) => write!(f, "{sign}{minutes}m{rest}s"),
                    (hours, minutes) => write!(f, "{sign}{hours}h{minutes}m{rest}s"),
                }
            }
        }
    }
}

/// `0 / 1`, as a decimal number without trailing zeros.
struct Decimal(u64, u64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / self.1, self.0 % self.1);
        if part == 0 {
            return write!(f, "{whole}");
        }
        let places = self.1.ilog10() as usize;
        write!(f, "{whole}.{}", format!("{part:0places$}").trim_end_matches('0'))
    }
}

/// The `expiresIn` of a request, read but not yet held against the limits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ExpiresIn {
    /// Not given.
    Default,
    /// So long.
    After(Lifetime),
}

/// Why a key cannot live that long. The texts are part of the API.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ExpiryError {
    /// Not a string, a number or nothing; or a number too large to be a time.
    #[error("invalid duration")]
    Invalid,
    /// A string that is not a duration.
    #[error("time: invalid duration {0}")]
    Syntax(Quoted),
    /// A number without its unit.
    #[error("time: missing unit in duration {0}")]
    MissingUnit(Quoted),
    /// A unit that does not exist.
    #[error("time: unknown unit {unit} in duration {text}")]
    UnknownUnit {
        /// The unit.
        unit: Quoted,
        /// The whole text.
        text: Quoted,
    },
    /// A number of days that is none.
    #[error("invalid days value: strconv.ParseFloat: parsing {0}: invalid syntax")]
    Days(Quoted),
    /// Zero or less.
    #[error("expiration must be positive")]
    NotPositive,
    /// Too long for an ephemeral key.
    #[error("ephemeral key expiration ({0}) cannot exceed 1 hour: expiration exceeds maximum allowed")]
    EphemeralTooLong(Lifetime),
    /// Too long for a regular key.
    #[error(
        "requested expiration ({asked}) exceeds maximum allowed ({days} days): expiration exceeds maximum allowed"
    )]
    TooLong {
        /// What was asked for.
        asked: Lifetime,
        /// What is allowed.
        days: i64,
    },
}

/// Client text in an error: quoted, escaped, and never longer than a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Quoted(String);

impl From<&str> for Quoted {
    fn from(text: &str) -> Self {
        const MOST: usize = 120;
        match text.char_indices().nth(MOST) {
            Some((cut, _)) => Self(format!("{}…", &text[..cut])),
            None => Self(text.into()),
        }
    }
}

impl fmt::Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl ExpiresIn {
    /// Reads the JSON member; `None` is its absence.
    pub fn parse(value: Option<&Value>) -> Result<Self, ExpiryError> {
        let nanos = match value {
            None | Some(Value::Null) => return Ok(Self::Default),
            Some(Value::Number(seconds)) => {
                from_f64(seconds.as_f64().ok_or(ExpiryError::Invalid)? * SECOND as f64)?
            }
            Some(Value::String(text)) => parse_text(text)?,
            Some(_) => return Err(ExpiryError::Invalid),
        };
        Ok(Self::After(Lifetime(nanos)))
    }

    /// The life a key gets: what was asked for or the default, if within the limits.
    pub fn resolve(self, ephemeral: bool, max_days: i64) -> Result<Lifetime, ExpiryError> {
        let max_days = if max_days > 0 { max_days } else { 90 };
        let longest = if ephemeral { EPHEMERAL } else { DAY.saturating_mul(i128::from(max_days)) };
        match self {
            Self::Default => Ok(Lifetime(i64::try_from(longest).unwrap_or(i64::MAX))),
            Self::After(asked) if asked.0 <= 0 => Err(ExpiryError::NotPositive),
            Self::After(asked) if i128::from(asked.0) <= longest => Ok(asked),
            Self::After(asked) if ephemeral => Err(ExpiryError::EphemeralTooLong(asked)),
            Self::After(asked) => Err(ExpiryError::TooLong { asked, days: max_days }),
        }
    }
}

fn from_f64(nanos: f64) -> Result<i64, ExpiryError> {
    (nanos.abs() < LONGEST).then_some(nanos as i64).ok_or(ExpiryError::Invalid)
}

fn parse_text(text: &str) -> Result<i64, ExpiryError> {
    if text.is_empty() {
        return Ok(0);
    }
    match text.strip_suffix('d') {
        Some(days) => {
            let number: f64 = days.parse().map_err(|_| ExpiryError::Days(days.into()))?;
            from_f64(number * DAY as f64)
        }
        None => parse_duration(text),
    }
}

/// Go's duration syntax: a sign, then numbers with units.
fn parse_duration(text: &str) -> Result<i64, ExpiryError> {
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let syntax = || ExpiryError::Syntax(text.into());
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(syntax());
    }
    let mut total = 0_f64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        if !number.bytes().any(|b| b.is_ascii_digit()) || number.bytes().filter(|b| *b == b'.').count() > 1 {
            return Err(syntax());
        }
        let number: f64 = number.parse().map_err(|_| syntax())?;
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let nanos = match unit {
            "" => return Err(ExpiryError::MissingUnit(text.into())),
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return Err(ExpiryError::UnknownUnit { unit: unit.into(), text: text.into() }),
        };
        total += number * nanos;
        rest = after;
    }
    if total.abs() >= LONGEST {
        return Err(syntax());
    }
    Ok(if negative { -(total as i64) } else { total as i64 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn nanos(value: Value) -> Result<i64, String> {
        match ExpiresIn::parse(Some(&value)) {
            Ok(ExpiresIn::After(life)) => Ok(life.as_nanos()),
            Ok(ExpiresIn::Default) => Err("default".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn every_json_form_is_read() {
        let s = 1_000_000_000;
        for (value, expected) in [
            (json!(90), 90 * s),
            (json!(1.5), 1_500_000_000),
            (json!(0), 0),
            (json!(-3), -3 * s),
            (json!(""), 0),
            (json!("0"), 0),
            (json!("30d"), 30 * 86_400 * s),
            (json!("0.5d"), 43_200 * s),
            (json!("-1d"), -86_400 * s),
            (json!("1h30m"), 5_400 * s),
            (json!("1.5h"), 5_400 * s),
            (json!("+.5s"), s / 2),
            (json!("-2m"), -120 * s),
            (json!("1h1m1s1ms1us1ns"), 3_661_001_001_001),
            (json!("1µs"), 1_000),
            (json!("1μs"), 1_000),
        ] {
            assert_eq!(nanos(value.clone()), Ok(expected), "{value}");
        }
        assert_eq!(ExpiresIn::parse(None), Ok(ExpiresIn::Default));
        assert_eq!(ExpiresIn::parse(Some(&Value::Null)), Ok(ExpiresIn::Default));
    }

    #[test]
    fn what_is_no_duration_says_why() {
        for (value, expected) in [
            (json!("abc"), r#"time: invalid duration "abc""#),
            (json!("30"), r#"time: missing unit in duration "30""#),
            (json!("1d12h"), r#"time: unknown unit "d" in duration "1d12h""#),
            (json!("xd"), r#"invalid days value: strconv.ParseFloat: parsing "x": invalid syntax"#),
            (json!("d"), r#"invalid days value: strconv.ParseFloat: parsing "": invalid syntax"#),
            (json!("-"), r#"time: invalid duration "-""#),
            (json!("."), r#"time: invalid duration ".""#),
            (json!("1..5s"), r#"time: invalid duration "1..5s""#),
            (json!("1w"), r#"time: unknown unit "w" in duration "1w""#),
            (json!("infd"), "invalid duration"),
            (json!("nand"), "invalid duration"),
            (json!(1e300), "invalid duration"),
            (json!("99999999999h"), r#"time: invalid duration "99999999999h""#),
            (json!(true), "invalid duration"),
            (json!([1]), "invalid duration"),
            (json!({}), "invalid duration"),
        ] {
            assert_eq!(nanos(value.clone()), Err(expected.into()), "{value}");
        }
    }

    #[test]
    fn durations_print_as_go_prints_them() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (500_000_000, "500ms"),
            (1_000_000_000, "1s"),
            (90_000_000_000, "1m30s"),
            (5_400_000_000_000, "1h30m0s"),
            (2400 * 3_600_000_000_000, "2400h0m0s"),
            (1_500_000_000, "1.5s"),
            (-7_200_000_000_000, "-2h0m0s"),
        ] {
            assert_eq!(Lifetime(nanos).to_string(), text);
        }
    }

    #[test]
    fn limits_hold_from_the_first_nanosecond_beyond_them() {
        let hour = Lifetime(3_600_000_000_000);
        let month = Lifetime(30 * 24 * hour.0);
        let after = |life: Lifetime| ExpiresIn::After(life);
        assert_eq!(ExpiresIn::Default.resolve(true, 30), Ok(hour));
        assert_eq!(ExpiresIn::Default.resolve(false, 30), Ok(month));
        assert_eq!(ExpiresIn::Default.resolve(false, 0), Ok(Lifetime(90 * 24 * hour.0)));
        assert_eq!(after(hour).resolve(true, 30), Ok(hour));
        assert_eq!(after(month).resolve(false, 30), Ok(month));
        assert_eq!(after(Lifetime(1)).resolve(false, 30), Ok(Lifetime(1)));
        assert!(after(Lifetime(hour.0 + 1)).resolve(true, 30).is_err());
        assert!(after(Lifetime(month.0 + 1)).resolve(false, 30).is_err());
        assert_eq!(after(Lifetime(0)).resolve(false, 30), Err(ExpiryError::NotPositive));
        assert_eq!(
            after(Lifetime(60 * 24 * hour.0)).resolve(false, 30).unwrap_err().to_string(),
            "requested expiration (1440h0m0s) exceeds maximum allowed (30 days): expiration exceeds maximum allowed"
        );
        assert_eq!(
            after(Lifetime(2 * hour.0)).resolve(true, 30).unwrap_err().to_string(),
            "ephemeral key expiration (2h0m0s) cannot exceed 1 hour: expiration exceeds maximum allowed"
        );
    }

    #[test]
    fn an_endless_maximum_does_not_overflow() {
        assert_eq!(ExpiresIn::Default.resolve(false, i64::MAX), Ok(Lifetime(i64::MAX)));
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(nanos in 0..i64::MAX / 1024) {
            // f64 has 53 bits: whole microseconds of up to 285 years survive.
            let life = Lifetime(nanos / 1000 * 1000);
            let back = nanos_of(&life.to_string());
            prop_assert!((back - life.0).abs() <= 1000, "{} became {}", life.0, back);
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = ExpiresIn::parse(Some(&Value::String(text)));
        }
    }

    fn nanos_of(text: &str) -> i64 {
        parse_text(text).expect("a printed duration")
    }
}
