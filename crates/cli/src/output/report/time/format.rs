//! `report/time_format`: how times are written, in the letters of strftime that LVM2 takes.
//!
//! Names and orders are those of the C locale, whatever the user's is: reports are read by
//! programs. In criteria times are written in the one way that they always are.

use std::fmt::{self, Write};

use super::{Civil, Instant, Zone};

/// A format that can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimeFormat(String);

/// Why a text is no such format.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoFormat {
    text: String,
    is_printable: bool,
}

const DEFAULT: &str = "%Y-%m-%d %T %z";
/// The letters behind `%`, and those of them that stand behind `%E` and `%O`.
const LETTERS: &str = "aAbBcCdDeFGghHIjklmMpPrRsStTuUVwWxXyYzZ";
const LETTERS_E: &str = "cCxXyY";
const LETTERS_O: &str = "deHImMSuUVwWy";

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Letters of a name that is cut short.
const SHORT: usize = 3;
const DAY: i64 = 86_400;

impl Default for TimeFormat {
    fn default() -> Self {
        Self(DEFAULT.to_owned())
    }
}

impl fmt::Display for NoFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_printable {
            writeln!(
                f,
                "Configured time format contains non-printable characters."
            )?;
        }
        write!(f, "Invalid time format \"{}\" supplied.", self.text)
    }
}

impl TimeFormat {
    /// Reads a format. As in LVM2 `%%` is none, and neither is a letter that it does not list.
    pub(crate) fn parse(text: &str) -> Result<Self, NoFormat> {
        let wrong = |is_printable| NoFormat {
            text: text.to_owned(),
            is_printable,
        };
        if text.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
            return Err(wrong(false));
        }
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                continue;
            }
            let (letter, known) = match letters.next() {
                Some('E') => (letters.next(), LETTERS_E),
                Some('O') => (letters.next(), LETTERS_O),
                letter => (letter, LETTERS),
            };
            if !letter.is_some_and(|letter| known.contains(letter)) {
                return Err(wrong(true));
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// An instant, as clocks of a zone show it.
    pub(crate) fn show(&self, zone: &Zone, instant: Instant) -> String {
        let moment = Moment::new(zone, instant);
        let mut shown = String::new();
        moment.write(&self.0, &mut shown);
        shown
    }
}

/// An instant in a zone.
struct Moment<'a> {
    zone: &'a Zone,
    instant: Instant,
    civil: Civil,
    /// Since Sunday.
    weekday: i64,
    /// Since the first of January.
    day: i64,
}

impl<'a> Moment<'a> {
    fn new(zone: &'a Zone, instant: Instant) -> Self {
        let local = instant.0.saturating_add(zone.offset(instant));
        let civil = Civil::from_seconds(local);
        // 1970 began on a Thursday.
        let weekday = (local.div_euclid(DAY) + 4).rem_euclid(7);
        let first = Civil {
            month: 1,
            day: 1,
            hour: 0,
            minute: 0,
            second: 0,
            ..civil
        };
        let day = (local - first.seconds()).div_euclid(DAY);
        assert!((0..366).contains(&day), "a day of its year");
        Self {
            zone,
            instant,
            civil,
            weekday,
            day,
        }
    }

    fn write(&self, format: &str, out: &mut String) {
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                out.push(letter);
                continue;
            }
            // The other digits and orders that these ask for are those of the C locale.
            let letter = letters.find(|letter| !['E', 'O'].contains(letter));
            self.item(letter.unwrap_or('%'), out);
        }
    }

    /// What stands for a letter.
    fn item(&self, letter: char, out: &mut String) {
        let c = self.civil;
        let (weekday, month) = (DAYS[self.weekday as usize], MONTHS[c.month as usize - 1]);
        let half = if c.hour < 12 { "AM" } else { "PM" };
        let of_half = (c.hour + 11) % 12 + 1;
        let short = match letter {
            'c' => "%a %b %e %H:%M:%S %Y",
            'D' | 'x' => "%m/%d/%y",
            'F' => "%Y-%m-%d",
            'R' => "%H:%M",
            'r' => "%I:%M:%S %p",
            'T' | 'X' => "%H:%M:%S",
            _ => "",
        };
        self.write(short, out);
        let (year, week) = self.iso_week();
        let written = match letter {
            'a' => write!(out, "{}", &weekday[..SHORT]),
            'A' => write!(out, "{weekday}"),
            'b' | 'h' => write!(out, "{}", &month[..SHORT]),
            'B' => write!(out, "{month}"),
            'C' => write!(out, "{:02}", c.year.div_euclid(100)),
            'd' => write!(out, "{:02}", c.day),
            'e' => write!(out, "{:2}", c.day),
            'G' => write!(out, "{year:04}"),
            'g' => write!(out, "{:02}", year.rem_euclid(100)),
            'H' => write!(out, "{:02}", c.hour),
            'I' => write!(out, "{of_half:02}"),
            'j' => write!(out, "{:03}", self.day + 1),
            'k' => write!(out, "{:2}", c.hour),
            'l' => write!(out, "{of_half:2}"),
            'm' => write!(out, "{:02}", c.month),
            'M' => write!(out, "{:02}", c.minute),
            'p' => write!(out, "{half}"),
            'P' => write!(out, "{}", half.to_ascii_lowercase()),
            's' => write!(out, "{}", self.instant.0),
            'S' => write!(out, "{:02}", c.second),
            't' => write!(out, "\t"),
            'u' => write!(out, "{}", (self.weekday + 6) % 7 + 1),
            'U' => write!(out, "{:02}", (self.day + 7 - self.weekday) / 7),
            'V' => write!(out, "{week:02}"),
            'w' => write!(out, "{}", self.weekday),
            'W' => write!(out, "{:02}", (self.day + 7 - (self.weekday + 6) % 7) / 7),
            'y' => write!(out, "{:02}", c.year.rem_euclid(100)),
            'Y' => write!(out, "{:04}", c.year),
            'z' => self.write_offset(out),
            'Z' => write!(out, "{}", self.zone.name(self.instant)),
            _ => Ok(()),
        };
        written.expect("a string takes all");
    }

    /// `+0130`
    fn write_offset(&self, out: &mut String) -> fmt::Result {
        let offset = self.zone.offset(self.instant);
        let sign = if offset < 0 { '-' } else { '+' };
        let minutes = offset.abs() / 60;
        write!(out, "{sign}{:02}{:02}", minutes / 60, minutes % 60)
    }

    /// The year and the week of ISO 8601: weeks begin on Mondays, and belong to the year that their
    /// Thursday is in.
    fn iso_week(&self) -> (i64, i64) {
        let thursday = self.day - (self.weekday + 6) % 7 + 3;
        let days = |year: i64| {
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            if is_leap { 366 } else { 365 }
        };
        let year = self.civil.year;
        match thursday {
            ..0 => (year - 1, (thursday + days(year - 1)) / 7 + 1),
            day if day >= days(year) => (year + 1, (day - days(year)) / 7 + 1),
            day => (year, day / 7 + 1),
        }
    }
}

#[cfg(test)]
mod tests;
