//! Quantities such as `500m` and `2Gi`: their value, and the one spelling of it that the API server stores.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// A value in billionths: the finest that Kubernetes keeps.
type Nanos = i128;
const ONE: Nanos = 1_000_000_000;

/// Suffixes by their power of 1000 (from `n`) and of 1024 (from none).
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

#[derive(Clone, Copy, PartialEq)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

/// The value of a quantity in billionths, rounded up; none if it is not a quantity.
#[must_use]
pub fn nanos(quantity: &Quantity) -> Option<i128> {
    parse(&quantity.0).map(|(value, _)| value)
}

/// The quantity as the API server spells it (`1024Mi` is `1Gi`, `0.5` is `500m`). What is not a quantity stays as it
/// is: the API server says better what is wrong with it.
#[must_use]
pub fn canonical(quantity: &Quantity) -> Quantity {
    match parse(&quantity.0) {
        Some((value, format)) => Quantity(spell(value, format)),
        None => quantity.clone(),
    }
}

fn parse(text: &str) -> Option<(Nanos, Format)> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(digits);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let (format, numerator, denominator): (Format, Nanos, Nanos) =
        if let Some(power) = BINARY.iter().position(|s| !s.is_empty() && *s == suffix) {
            (Format::Binary, 1024_i128.checked_pow(u32::try_from(power).ok()?)?, 1)
        } else if let Some(power) = DECIMAL.iter().position(|s| *s == suffix) {
            let power = u32::try_from(power).ok()?;
            (
                Format::Decimal,
                1000_i128.checked_pow(power.saturating_sub(3))?,
                1000_i128.pow(3_u32.saturating_sub(power)),
            )
        } else {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
            if exponent < 0 { (Format::Exponent, 1, power) } else { (Format::Exponent, power, 1) }
        };
    let digits: Nanos = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?.checked_mul(denominator)?;
    let value = digits.checked_mul(ONE)?.checked_mul(numerator)?;
    let rounded = value / scale + Nanos::from(value % scale != 0);
    Some((sign * rounded, format))
}

fn spell(value: Nanos, format: Format) -> String {
    match format {
        // Small and broken values have no exact binary spelling.
        Format::Binary if value.abs() >= 1024 * ONE => {
            let (mut whole, mut power) = (value / ONE + Nanos::from(value % ONE != 0), 0);
            while whole % 1024 == 0 && power + 1 < BINARY.len() {
                (whole, power) = (whole / 1024, power + 1);
            }
            format!("{whole}{}", BINARY[power])
        }
        Format::Exponent => {
            let (mantissa, power) = thousands(value);
            let exponent = 3 * (i64::try_from(power).unwrap_or_default() - 3);
            if exponent == 0 { mantissa.to_string() } else { format!("{mantissa}e{exponent}") }
        }
        Format::Binary | Format::Decimal => {
            let (mantissa, power) = thousands(value);
            format!("{mantissa}{}", DECIMAL[power])
        }
    }
}

/// The smallest whole mantissa, and the power of 1000 (counted from billionths) it is to be taken by.
fn thousands(mut value: Nanos) -> (Nanos, usize) {
    if value == 0 {
        return (0, 3);
    }
    let mut power = 0;
    while value % 1000 == 0 && power + 1 < DECIMAL.len() {
        (value, power) = (value / 1000, power + 1);
    }
    (value, power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> String {
        canonical(&Quantity(text.into())).0
    }

    #[test]
    fn the_servers_spelling() {
        for (given, stored) in [
            ("1024Mi", "1Gi"),
            ("0.5", "500m"),
            ("1", "1"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.1", "100m"),
            ("1.5Gi", "1536Mi"),
            ("100Ki", "100Ki"),
            ("512", "512"),
            ("0.5Ki", "512"),
            ("1000", "1k"),
            ("1e3", "1e3"),
            ("12e6", "12e6"),
            ("1E", "1E"),
            ("0", "0"),
            ("0Gi", "0"),
            ("-5m", "-5m"),
            ("+2", "2"),
            (".5", "500m"),
            ("5.", "5"),
            ("0.0000000001", "1n"),
        ] {
            assert_eq!(spelled(given), stored, "{given}");
        }
    }

    #[test]
    fn what_is_no_quantity_stays() {
        for text in ["", "x", "1x", "1.2.3", "1 Gi", "Gi", "1e", "-"] {
            assert_eq!(spelled(text), text);
            assert_eq!(nanos(&Quantity(text.into())), None);
        }
    }

    #[test]
    fn values_compare_across_suffixes() {
        let value = |text: &str| nanos(&Quantity(text.into()));
        assert!(value("8Gi") > value("3Gi") && value("1G") < value("1Gi") && value("1500m") > value("1"));
        assert_eq!(value("1k"), value("1000"));
    }
}
