//! Cron schedules: five fields, or a word such as `@hourly`.

const FIELDS: [(u32, u32, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// Whether a schedule can be read; if not, why, in the words of the server's parser.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    if let Some(word) = schedule.strip_prefix('@') {
        return match word {
            "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly" => Ok(()),
            other => match other.strip_prefix("every ") {
                Some(every) if crate::schema::go_duration(every).is_some() => Ok(()),
                Some(every) => {
                    Err(format!("failed to parse duration {schedule}: time: invalid duration \"{every}\""))
                }
                None => Err(format!("unrecognized descriptor: {schedule}")),
            },
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    fields.iter().zip(FIELDS).try_for_each(|(text, (least, most, names))| {
        text.split(',').try_for_each(|part| range(part, least, most, names))
    })
}

fn range(part: &str, least: u32, most: u32, names: &[&str]) -> Result<(), String> {
    let (span, step) = match part.split_once('/') {
        Some((_, step)) if step.contains('/') => return Err(format!("too many slashes: {part}")),
        Some((span, step)) => (span, Some(step)),
        None => (part, None),
    };
    let value = |text: &str| number(text, least, names);
    let (low, high) = match span {
        "*" | "?" => (least, most),
        span => match span.split_once('-') {
            Some((_, high)) if high.contains('-') => return Err(format!("too many hyphens: {part}")),
            Some((low, high)) => (value(low)?, value(high)?),
            None => {
                let low = value(span)?;
                (low, if step.is_some() { most } else { low })
            }
        },
    };
    if let Some(step) = step {
        let step: u32 = step.parse().map_err(|_| {
            format!("failed to parse int from {step}: strconv.Atoi: parsing \"{step}\": invalid syntax")
        })?;
        if step == 0 {
            return Err(format!("step of range should be a positive number: {part}"));
        }
    }
    if low < least {
        return Err(format!("beginning of range ({low}) below minimum ({least}): {part}"));
    }
    if high > most {
        return Err(format!("end of range ({high}) above maximum ({most}): {part}"));
    }
    if low > high {
        return Err(format!("beginning of range ({low}) beyond end of range ({high}): {part}"));
    }
    Ok(())
}

fn number(text: &str, least: u32, names: &[&str]) -> Result<u32, String> {
    if let Some(place) = names.iter().position(|name| text.eq_ignore_ascii_case(name)) {
        return Ok(place as u32 + least);
    }
    if text.starts_with('-') {
        return Err(format!("negative number ({text}) not allowed: {text}"));
    }
    text.parse().map_err(|_| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing \"{text}\": invalid syntax")
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules() {
        for good in ["* * * * *", "*/5 0-6 1,15 jan-mar MON", "@hourly", "0 0 ? * 0", "@every 1h"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("x", "expected exactly 5 fields, found 1: [x]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("a * * * *", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"),
        ] {
            assert_eq!(check(bad).unwrap_err(), why);
        }
    }
}
