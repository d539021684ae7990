//! Times as people type them in criteria.
//!
//! `2026-11-21 02:35:20 +01:00`, cut short from the right; then the whole interval is meant.
//! `@1795228525` counts seconds. `today`, `yesterday`, `noon`, `midnight`, `now`, weekdays (the
//! last one before today), `3 days ago`.

use crate::output::report::time::{Civil, Instant, Zone};

/// From the first to the last second, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) first: i64,
    pub(super) last: i64,
}

const DAY: i64 = 86_400;

/// The interval that `text` names, or nothing if it names none.
pub(super) fn interval(text: &str, now: i64, zone: &Zone) -> Option<Interval> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(seconds) = text.strip_prefix('@') {
        let seconds = seconds.parse().ok()?;
        return Some(Interval {
            first: seconds,
            last: seconds,
        });
    }
    standard(&text, zone).or_else(|| freeform(&text, now, zone))
}

fn standard(text: &str, zone: &Zone) -> Option<Interval> {
    let mut words = text.split_whitespace();
    let mut date = words.next()?.split('-');
    let year = number(date.next()?, 1000, 9999)?;
    let month = date.next().map(|month| number(month, 1, 12));
    let day = date.next().map(|day| number(day, 1, 31));
    if date.next().is_some() || month == Some(None) || day == Some(None) {
        return None;
    }
    let (month, day) = (month.flatten(), day.flatten());
    let mut time = words.next();
    let mut offset = words.next();
    if time.is_some_and(|time| time.starts_with(['+', '-'])) && offset.is_none() {
        offset = time.take();
    }
    if words.next().is_some() || (time.is_some() && day.is_none()) {
        return None;
    }
    let parts = match time {
        Some(time) => time_of_day(time)?,
        None => [None; 3],
    };
    let lowest = Civil {
        year,
        month: month.unwrap_or(1) as u32,
        day: day.unwrap_or(1) as u32,
        hour: parts[0].unwrap_or(0) as u32,
        minute: parts[1].unwrap_or(0) as u32,
        second: parts[2].unwrap_or(0) as u32,
    };
    let following = match (month, day, parts) {
        (None, ..) => Civil {
            year: year + 1,
            ..lowest
        },
        (Some(12), None, _) => Civil {
            year: year + 1,
            month: 1,
            ..lowest
        },
        (Some(_), None, _) => Civil {
            month: lowest.month + 1,
            ..lowest
        },
        (_, Some(_), [None, ..]) => Civil::from_seconds(lowest.seconds() + DAY),
        (_, _, [_, None, _]) => Civil::from_seconds(lowest.seconds() + 3600),
        (_, _, [_, _, None]) => Civil::from_seconds(lowest.seconds() + 60),
        _ => Civil::from_seconds(lowest.seconds() + 1),
    };
    let instant = |civil: Civil| match offset {
        Some(offset) => Some(civil.seconds() - zone_offset(offset)?),
        None => Some(zone.instant(civil).0),
    };
    Some(Interval {
        first: instant(lowest)?,
        last: instant(following)? - 1,
    })
}

fn number(text: &str, low: i64, high: i64) -> Option<i64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits)?;
    (low..=high).contains(&number).then_some(number)
}

/// Hour, minute and second as far as they are given.
fn time_of_day(text: &str) -> Option<[Option<i64>; 3]> {
    let (clock, half) = match text.strip_suffix("am").or_else(|| text.strip_suffix("pm")) {
        Some(clock) => (clock, Some(text.ends_with("pm"))),
        None => (text, None),
    };
    let mut parts = [None; 3];
    let mut count = 0;
    for (index, part) in clock.split(':').enumerate() {
        let high = if index == 0 { 23 } else { 59 };
        *parts.get_mut(index)? = Some(number(part, 0, high)?);
        count += 1;
    }
    if let (Some(afternoon), Some(hour)) = (half, parts[0]) {
        parts[0] = Some(hour % 12 + if afternoon { 12 } else { 0 });
    }
    (count > 0).then_some(parts)
}

/// `+01:00`, `-5`, `+0130`, in seconds.
fn zone_offset(text: &str) -> Option<i64> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = if digits.len() > 2 {
        digits.split_at_checked(digits.len() - 2)?
    } else {
        (digits.as_str(), "0")
    };
    Some(sign * (number(hours, 0, 23)? * 3600 + number(minutes, 0, 59)? * 60))
}

fn freeform(text: &str, now: i64, zone: &Zone) -> Option<Interval> {
    let today = {
        let c = Civil::from_seconds(now + zone.offset(Instant(now)));
        zone.instant(Civil {
            hour: 0,
            minute: 0,
            second: 0,
            ..c
        })
        .0
    };
    let day = |first: i64| {
        Some(Interval {
            first,
            last: first + DAY - 1,
        })
    };
    let point = |first: i64| Some(Interval { first, last: first });
    match text {
        "now" => return point(now),
        "today" => return day(today),
        "yesterday" => return day(today - DAY),
        "midnight" => return point(today),
        "noon" => return point(today + DAY / 2),
        _ => {}
    }
    if let Some(weekday) = weekday(text) {
        // 1970-01-01 was a Thursday; the last such day before today is meant.
        let days = (today + zone.offset(Instant(today))).div_euclid(DAY);
        let back = (days + 4 - weekday).rem_euclid(7);
        return day(today - if back == 0 { 7 } else { back } * DAY);
    }
    if let Some(parts) = time_of_day(text) {
        let first = today
            + parts[0].unwrap_or(0) * 3600
            + parts[1].unwrap_or(0) * 60
            + parts[2].unwrap_or(0);
        return point(first);
    }
    let span = text.strip_suffix("ago")?.trim();
    let digits = span
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(span.len());
    let (count, unit) = span.split_at(digits);
    let count: i64 = count.parse().ok()?;
    let unit = match unit.trim() {
        "second" | "seconds" | "sec" | "secs" | "s" => 1,
        "minute" | "minutes" | "min" | "mins" | "m" => 60,
        "hour" | "hours" | "hr" | "hrs" | "h" => 3600,
        "day" | "days" | "d" => DAY,
        "week" | "weeks" | "w" => 7 * DAY,
        "year" | "years" | "yr" | "yrs" | "y" => 365 * DAY,
        _ => return None,
    };
    point(now.checked_sub(count.checked_mul(unit)?)?)
}

fn weekday(text: &str) -> Option<i64> {
    const NAMES: [&str; 7] = [
        "sunday",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
    ];
    if text.len() < 3 {
        return None;
    }
    let index = NAMES
        .iter()
        .position(|name| *name == text || name[..3] == *text)?;
    Some(index as i64)
}
