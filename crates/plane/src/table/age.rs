//! How long ago, in as few characters as people can read.

use jiff::Timestamp;
use serde_json::Value;

/// The age of a time stamp as text; `<unknown>` for none.
pub(super) fn since(time: &Value, now: Timestamp) -> String {
    match time.as_str().and_then(|text| text.parse::<Timestamp>().ok()) {
        Some(then) => between(now.as_second() - then.as_second()),
        None => "<unknown>".into(),
    }
}

/// A number of seconds as text.
pub(super) fn between(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".into();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |big: i64, unit: char, small: i64, small_unit: char| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{small_unit}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, 'd', hours % 24, 'h'),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn ages_change_their_unit_where_the_real_server_does() {
        let day = 86_400;
        for (seconds, text) in [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (2 * day, "2d"),
            (2 * day + 3600, "2d1h"),
            (8 * day, "8d"),
            (730 * day, "2y"),
            (731 * day, "2y1d"),
            (8 * 365 * day, "8y"),
        ] {
            assert_eq!(between(seconds), text);
        }
    }
}
