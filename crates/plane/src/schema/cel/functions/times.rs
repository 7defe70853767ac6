//! Timestamps and durations.

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::super::value::Val;
use super::Out;
use crate::schema::go_duration;

pub(super) fn call<'a>(name: &str, values: &[Val<'a>]) -> Option<Out<'a>> {
    let shifted =
        |time: &jiff::Timestamp, nanos: i64| match time.checked_add(SignedDuration::from_nanos(nanos)) {
            Ok(time) => Ok(Val::Time(time)),
            Err(_) => Err("timestamp overflow".to_owned()),
        };
    let span = |nanos: Option<i64>| nanos.map(Val::Duration).ok_or_else(|| "duration overflow".to_owned());
    Some(match (name, values) {
        ("timestamp", [Val::Time(time)]) => Ok(Val::Time(*time)),
        ("timestamp", [Val::Text(text)]) => text
            .parse()
            .map(Val::Time)
            .map_err(|_| "type conversion error from 'string' to 'google.protobuf.Timestamp'".into()),
        ("timestamp", [Val::Int(seconds)]) => {
            jiff::Timestamp::from_second(*seconds).map(Val::Time).map_err(|_| "timestamp overflow".into())
        }
        ("duration", [Val::Duration(nanos)]) => Ok(Val::Duration(*nanos)),
        ("duration", [Val::Text(text)]) => go_duration(text)
            .map(Val::Duration)
            .ok_or_else(|| "type conversion error from 'string' to 'google.protobuf.Duration'".into()),
        ("duration", [Val::Int(nanos)]) => Ok(Val::Duration(*nanos)),
        ("_+_", [Val::Time(time), Val::Duration(nanos)])
        | ("_+_", [Val::Duration(nanos), Val::Time(time)]) => shifted(time, *nanos),
        ("_-_", [Val::Time(time), Val::Duration(nanos)]) => match nanos.checked_neg() {
            Some(back) => shifted(time, back),
            None => Err("timestamp overflow".into()),
        },
        ("_-_", [Val::Time(a), Val::Time(b)]) => {
            span(i64::try_from(a.as_nanosecond() - b.as_nanosecond()).ok())
        }
        ("_+_", [Val::Duration(a), Val::Duration(b)]) => span(a.checked_add(*b)),
        ("_-_", [Val::Duration(a), Val::Duration(b)]) => span(a.checked_sub(*b)),
        ("getHours", [Val::Duration(nanos)]) => Ok(Val::Int(nanos / 3_600_000_000_000)),
        ("getMinutes", [Val::Duration(nanos)]) => Ok(Val::Int(nanos / 60_000_000_000)),
        ("getSeconds", [Val::Duration(nanos)]) => Ok(Val::Int(nanos / 1_000_000_000)),
        ("getMilliseconds", [Val::Duration(nanos)]) => Ok(Val::Int(nanos / 1_000_000 % 1000)),
        (name, [Val::Time(time), zone @ ..]) if name.starts_with("get") => part(name, time, zone),
        _ => return None,
    })
}

fn part<'a>(name: &str, time: &jiff::Timestamp, zone: &[Val<'a>]) -> Out<'a> {
    let zone = match zone {
        [] => TimeZone::UTC,
        [Val::Text(name)] => self::zone(name).ok_or_else(|| format!("unknown time zone {name}"))?,
        _ => return Err("no such overload".into()),
    };
    let local = time.to_zoned(zone);
    Ok(Val::Int(match name {
        "getFullYear" => local.year().into(),
        "getMonth" => i64::from(local.month()) - 1,
        "getDate" => local.day().into(),
        "getDayOfMonth" => i64::from(local.day()) - 1,
        "getDayOfWeek" => local.weekday().to_sunday_zero_offset().into(),
        "getDayOfYear" => i64::from(local.day_of_year()) - 1,
        "getHours" => local.hour().into(),
        "getMinutes" => local.minute().into(),
        "getSeconds" => local.second().into(),
        "getMilliseconds" => local.millisecond().into(),
        _ => return Err("no such overload".into()),
    }))
}

/// A time zone by name, or an offset such as `-08:00`.
fn zone(name: &str) -> Option<TimeZone> {
    if name.starts_with(['+', '-']) || name.starts_with(|c: char| c.is_ascii_digit()) {
        let (sign, rest) = match name.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, name.trim_start_matches('+')),
        };
        let (hours, minutes) = rest.split_once(':')?;
        let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
        return jiff::tz::Offset::from_seconds(sign * seconds).ok().map(TimeZone::fixed);
    }
    TimeZone::get(name).ok()
}
