//! Cron schedules: five fields, the `@` words, names of months and days.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// A schedule that never comes true (30 February) is given up after so many minutes.
const HORIZON: i64 = 5 * 366 * 24 * 60;

/// When something is to happen, as bits of minute, hour, day, month and weekday.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// With both days given, either will do.
    any_day: bool,
}

impl Schedule {
    /// Reads a schedule; none if it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else { return None };
        let free = |field: &str| field.starts_with(['*', '?']);
        let week = bits(weekdays, 0, 7, &DAYS)?;
        Some(Self {
            minutes: bits(minutes, 0, 59, &[])?,
            hours: bits(hours, 0, 23, &[])?,
            days: bits(days, 1, 31, &[])?,
            months: bits(months, 1, 12, &MONTHS)?,
            // 7 is Sunday too.
            weekdays: week | week >> 7,
            any_day: !free(days) && !free(weekdays),
        })
    }

    /// The first time after `after`, in a time zone.
    pub(super) fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let start = zone.to_datetime(after).with().second(0).subsec_nanosecond(0).build().ok()?;
        let mut at = start.checked_add(Span::new().minutes(1)).ok()?;
        for _ in 0..HORIZON {
            if !self.is_day(at) {
                at = at.checked_add(Span::new().days(1)).ok()?.with().hour(0).minute(0).build().ok()?;
            } else if self.hours >> at.hour() & 1 == 0 {
                at = at.checked_add(Span::new().hours(1)).ok()?.with().minute(0).build().ok()?;
            } else if self.minutes >> at.minute() & 1 == 0 {
                at = at.checked_add(Span::new().minutes(1)).ok()?;
            } else {
                let found = zone.to_timestamp(at).ok()?;
                if found > after {
                    return Some(found);
                }
                at = at.checked_add(Span::new().minutes(1)).ok()?;
            }
            if at.duration_since(start).as_hours() > HORIZON / 60 {
                return None;
            }
        }
        None
    }

    fn is_day(&self, at: DateTime) -> bool {
        let day = self.days >> at.day() & 1 == 1;
        let weekday = self.weekdays >> at.weekday().to_sunday_zero_offset() & 1 == 1;
        self.months >> at.month() & 1 == 1 && if self.any_day { day || weekday } else { day && weekday }
    }
}

fn bits(field: &str, low: u32, high: u32, names: &[&str]) -> Option<u64> {
    let number = |text: &str| -> Option<u32> {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let number = match named {
            Some(place) => u32::try_from(place).ok()? + low,
            None => text.parse().ok()?,
        };
        (low..=high).contains(&number).then_some(number)
    };
    let mut all = 0;
    for part in field.split(',') {
        let (range, step) =
            part.split_once('/').map_or((part, Some(1)), |(range, step)| (range, step.parse().ok()));
        let step: usize = step.filter(|step| *step > 0)?;
        let (from, to) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => (low, high),
            Some((from, to)) => (number(from)?, number(to)?),
            None if part.contains('/') => (number(range)?, high),
            None => (number(range)?, number(range)?),
        };
        if from > to {
            return None;
        }
        (from..=to).step_by(step).for_each(|bit| all |= 1 << bit);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> Option<String> {
        Schedule::parse(schedule)?.next(after.parse().unwrap(), &TimeZone::UTC).map(|time| time.to_string())
    }

    #[test]
    fn the_next_time_is_found() {
        let at = "2026-11-15T20:16:30Z"; // a Sunday
        for (schedule, expected) in [
            ("* * * * *", "2026-11-15T20:17:00Z"),
            ("*/15 * * * *", "2026-11-15T20:30:00Z"),
            ("16 20 * * *", "2026-11-16T20:16:00Z"),
            ("0 2 * * mon-fri", "2026-11-16T02:00:00Z"),
            ("0 0 1 1 *", "2027-01-01T00:00:00Z"),
            ("@hourly", "2026-11-15T21:00:00Z"),
            ("5,10 3-4 29 feb *", "2028-02-29T03:05:00Z"),
            ("0 0 20 * tue", "2026-11-17T00:00:00Z"),
            ("0 0 * * 7", "2026-11-22T00:00:00Z"),
        ] {
            assert_eq!(next(schedule, at).as_deref(), Some(expected), "{schedule}");
        }
        assert_eq!(next("0 0 30 2 *", at), None, "never");
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for text in ["", "x", "* * * *", "60 * * * *", "* * 0 * *", "*/0 * * * *", "5-1 * * * *", "a * * * *"]
        {
            assert_eq!(Schedule::parse(text), None, "{text}");
        }
    }
}
