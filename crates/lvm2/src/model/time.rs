//! Points in time as the comments of a text give them, in UTC.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

const SECONDS_PER_DAY: u64 = 86_400;
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
/// A number of seconds beyond this is not a time: the year 9999 has passed.
const SECONDS_MAX: u64 = 253_402_300_799;

/// `Sat Nov 21 02:35:29 2026`
pub fn calendar(seconds: u64) -> String {
    let Some(date) = Date::of(seconds) else {
        return "unknown time".to_owned();
    };
    let weekday = DAYS[(seconds / SECONDS_PER_DAY % 7) as usize];
    let month = MONTHS[date.month as usize - 1];
    format!(
        "{weekday} {month} {:2} {} {}",
        date.day,
        clock(seconds),
        date.year
    )
}

/// `2026-11-21 02:34:44 +0000`
pub(crate) fn calendar_iso(seconds: u64) -> String {
    let Some(date) = Date::of(seconds) else {
        return "unknown time".to_owned();
    };
    format!(
        "{:04}-{:02}-{:02} {} +0000",
        date.year,
        date.month,
        date.day,
        clock(seconds)
    )
}

fn clock(seconds: u64) -> String {
    let second = seconds % SECONDS_PER_DAY;
    format!(
        "{:02}:{:02}:{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

struct Date {
    year: u64,
    month: u64,
    day: u64,
}

impl Date {
    /// The day that `seconds` since 1970 began falls on.
    fn of(seconds: u64) -> Option<Self> {
        if seconds > SECONDS_MAX {
            return None;
        }
        let mut day = seconds / SECONDS_PER_DAY;
        let mut year = 1970;
        // A few thousand steps at most.
        while day >= days_of(year) {
            day -= days_of(year);
            year += 1;
        }
        let mut month = 1;
        while day >= days_of_month(year, month) {
            day -= days_of_month(year, month);
            month += 1;
        }
        debug_assert!((1..=12).contains(&month), "a year has twelve months");
        debug_assert!(day < 31, "a month has 31 days at most");
        Some(Self {
            year,
            month,
            day: day + 1,
        })
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests;
