//! Resource quantities: `100m`, `1Gi`, `1e3`, and their canonical form.

use std::fmt;

/// Nano-units: the finest a quantity can tell apart.
const NANO: i128 = 1_000_000_000;
const MILLI: i128 = 1_000_000;

/// How a quantity was written, which its canonical form keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

/// An amount.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl Quantity {
    /// Reads a quantity; amounts beyond any use are capped, finer ones rounded up.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if number.is_empty() || number == "." || fraction.contains('.') {
            return None;
        }
        let (format, base, power) = suffix_scale(suffix)?;
        let digits: String = whole.chars().chain(fraction.chars()).collect();
        let digits = digits.trim_start_matches('0');
        if digits.len() > 36 {
            return Some(Quantity { nano: cap(negative), format });
        }
        let mantissa: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        // value = mantissa * 10^-fraction * base^power, in nano-units, rounded away from zero.
        let mut numerator = Some(mantissa);
        let mut denominator: i128 = 1;
        let mut tens = 9 - fraction.len() as i64;
        if base == 10 {
            tens += power;
        } else {
            for _ in 0..power {
                numerator = numerator.and_then(|n| n.checked_mul(1024));
            }
        }
        for _ in 0..tens.clamp(0, 60) {
            numerator = numerator.and_then(|n| n.checked_mul(10));
        }
        for _ in 0..(-tens).max(0) {
            denominator = denominator.saturating_mul(10);
        }
        let nano = match numerator {
            Some(n) => n / denominator + i128::from(n % denominator != 0),
            None => return Some(Quantity { nano: cap(negative), format }),
        };
        Some(Quantity { nano: if negative { -nano } else { nano }, format })
    }

    /// The amount in nano-units.
    pub fn nano(self) -> i128 {
        self.nano
    }

    /// A whole number of units.
    pub fn from_units(units: i64) -> Self {
        Quantity { nano: i128::from(units) * NANO, format: Format::Decimal }
    }

    /// The same amount kept in the format of this one.
    pub fn with_nano(self, nano: i128) -> Self {
        Quantity { nano, ..self }
    }

    /// The amount as a whole number of units, if it is one that fits.
    pub fn as_units(self) -> Option<i64> {
        if self.nano % NANO != 0 { None } else { i64::try_from(self.nano / NANO).ok() }
    }

    /// Rounded up to whole thousandths, as resource lists are.
    pub fn round_to_milli(self) -> Self {
        let rest = self.nano.rem_euclid(MILLI);
        Quantity { nano: if rest == 0 { self.nano } else { self.nano - rest + MILLI }, ..self }
    }
}

fn cap(negative: bool) -> i128 {
    let most = i128::from(i64::MAX) * NANO;
    if negative { -most } else { most }
}

/// Format, base and power of a suffix.
fn suffix_scale(suffix: &str) -> Option<(Format, u8, i64)> {
    let decimal = |power| Some((Format::Decimal, 10, power));
    let binary = |power| Some((Format::Binary, 2, power));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        other => {
            let exponent = other.strip_prefix(['e', 'E'])?;
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            Some((Format::Exponent, 10, exponent.parse().ok()?))
        }
    }
}

/// The canonical form: the largest suffix that leaves a whole number.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nano == 0 {
            return f.write_str("0");
        }
        let whole = self.nano / NANO;
        if self.format == Format::Binary && self.nano % NANO == 0 && whole.abs() >= 1024 {
            let (mut amount, mut power) = (whole, 0);
            while amount % 1024 == 0 && power < 6 {
                amount /= 1024;
                power += 1;
            }
            return write!(f, "{amount}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power]);
        }
        let (mut amount, mut power) = (self.nano, 0);
        while amount % 1000 == 0 && power < 9 {
            amount /= 1000;
            power += 1;
        }
        if self.format == Format::Exponent {
            return match power as i32 * 3 - 9 {
                0 => write!(f, "{amount}"),
                exponent => write!(f, "{amount}e{exponent}"),
            };
        }
        write!(f, "{amount}{}", ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"][power])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_forms() {
        for (given, wanted) in [
            ("0.1", "100m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("1000k", "1M"),
            ("512", "512"),
            ("0", "0"),
            ("-1", "-1"),
            ("1e3", "1e3"),
            ("12E", "12E"),
            ("100Ki", "100Ki"),
            ("0.5Ki", "512"),
            ("5u", "5u"),
            ("0.0000000001", "1n"),
        ] {
            assert_eq!(Quantity::parse(given).map(|q| q.to_string()).as_deref(), Some(wanted), "{given}");
        }
        for bad in ["", "x", "1x", ".", "1.2.3", "1 Gi", "e3", "1e"] {
            assert_eq!(Quantity::parse(bad), None, "{bad}");
        }
        assert_eq!(Quantity::parse("0.1m").map(|q| q.round_to_milli().to_string()).as_deref(), Some("1m"));
        assert!(Quantity::parse("2") > Quantity::parse("1999m"));
        assert!(Quantity::parse("9999999999999999999999999999999999999999999").is_some());
    }
}
