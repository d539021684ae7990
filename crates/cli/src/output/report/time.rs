//! Points in time: `2026-11-21 02:35:25 +0000` and back.
//!
//! The time zone is `TZ`, else `/etc/localtime`, read here (`TZif`, version 1 or 2) because the C
//! library's functions would need `unsafe`. Beyond the last change that the file lists, the last
//! offset stays; Debian's files list them until 2037.

mod format;

use std::cell::OnceCell;
use std::path::Path;

pub(crate) use format::TimeFormat;

/// Seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(pub(crate) i64);

/// A date and time of day, without a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
}

impl Civil {
    /// Seconds since 1970 if the zone were UTC.
    pub(crate) fn seconds(self) -> i64 {
        // Howard Hinnant's days_from_civil: years begin in March, so leap days come last.
        let year = if self.month <= 2 {
            self.year - 1
        } else {
            self.year
        };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month = (i64::from(self.month) + 9) % 12;
        let day_of_year = (153 * month + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        days * 86_400
            + i64::from(self.hour) * 3600
            + i64::from(self.minute) * 60
            + i64::from(self.second)
    }

    /// The date and time of `seconds` since 1970 in UTC.
    pub(crate) fn from_seconds(seconds: i64) -> Self {
        let days = seconds.div_euclid(86_400) + 719_468;
        let of_day = seconds.rem_euclid(86_400) as u32;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * month + 2) / 5 + 1) as u32;
        let month = if month < 10 { month + 3 } else { month - 9 } as u32;
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
        }
    }
}

/// A time zone. The machine's own is read from its file when the first time is shown: most
/// reports show none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Zone {
    rules: OnceCell<Rules>,
}

/// Offsets from UTC and when they change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rules {
    /// The offset before the first change.
    first: Offset,
    /// When an offset begins, and the offset.
    changes: Vec<(i64, Offset)>,
}

/// A time that clocks of a zone show.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Offset {
    /// Seconds east of UTC.
    seconds: i64,
    /// What people call it: `CET`.
    name: String,
}

impl Default for Offset {
    /// UTC.
    fn default() -> Self {
        Self {
            seconds: 0,
            name: "UTC".to_owned(),
        }
    }
}

/// No zone has more changes; a file that claims to is not one.
const CHANGES_MAX: usize = 10_000;

impl Default for Zone {
    /// UTC.
    fn default() -> Self {
        Self::with(Rules::default())
    }
}

impl Rules {
    /// Those of this process.
    fn local() -> Self {
        match std::env::var("TZ") {
            Ok(name) if name.is_empty() => Self::default(),
            Ok(name) => Self::named(name.strip_prefix(':').unwrap_or(&name)),
            Err(_) => Self::from_file(Path::new("/etc/localtime")).unwrap_or_default(),
        }
    }

    fn named(name: &str) -> Self {
        if let Some(offset) = posix_offset(name) {
            return Self {
                first: offset,
                changes: Vec::new(),
            };
        }
        let path = match name.strip_prefix('/') {
            Some(_) => Path::new(name).to_path_buf(),
            None => Path::new("/usr/share/zoneinfo").join(name),
        };
        Self::from_file(&path).unwrap_or_default()
    }

    fn from_file(path: &Path) -> Option<Self> {
        Self::from_tzif(&std::fs::read(path).ok()?)
    }

    /// Reads a `TZif` file.
    fn from_tzif(bytes: &[u8]) -> Option<Self> {
        let header = Header::read(bytes)?;
        if header.version >= b'2' {
            let second = bytes.get(header.length(4)..)?;
            return Header::read(second)?.rules(second, 8);
        }
        header.rules(bytes, 4)
    }

    /// The offset at `instant`.
    fn offset(&self, instant: Instant) -> &Offset {
        let after = self
            .changes
            .partition_point(|(start, _)| *start <= instant.0);
        if after == 0 {
            &self.first
        } else {
            &self.changes[after - 1].1
        }
    }
}

impl Zone {
    fn with(rules: Rules) -> Self {
        Self {
            rules: OnceCell::from(rules),
        }
    }

    /// The zone of this process.
    pub(crate) fn local() -> Self {
        Self {
            rules: OnceCell::new(),
        }
    }

    /// Seconds east of UTC at `instant`.
    pub(crate) fn offset(&self, instant: Instant) -> i64 {
        self.rules.get_or_init(Rules::local).offset(instant).seconds
    }

    /// What people call the time of this zone at `instant`.
    fn name(&self, instant: Instant) -> &str {
        &self.rules.get_or_init(Rules::local).offset(instant).name
    }

    /// `2026-11-21 02:35:25 +0000`
    pub(crate) fn show(&self, instant: Instant) -> String {
        TimeFormat::default().show(self, instant)
    }

    /// The instant at which clocks of this zone show `civil`.
    pub(crate) fn instant(&self, civil: Civil) -> Instant {
        let naive = civil.seconds();
        // The offset depends on the instant; a second look settles it outside of gaps.
        let guess = naive - self.offset(Instant(naive));
        Instant(naive - self.offset(Instant(guess)))
    }
}

/// `UTC`, `CET-1`, `EST+5:30`: the sign is the wrong way round, as POSIX has it.
fn posix_offset(name: &str) -> Option<Offset> {
    let letters = name
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(name.len());
    let (label, rest) = name.split_at(letters);
    let named = |label: &str, seconds| Offset {
        seconds,
        name: label.to_owned(),
    };
    if rest.is_empty() {
        return matches!(label, "UTC" | "UTC0" | "GMT").then(|| named(label, 0));
    }
    let (sign, rest) = match rest.strip_prefix('-') {
        Some(rest) => (1, rest),
        None => (-1, rest.strip_prefix('+').unwrap_or(rest)),
    };
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
    let hours: i64 = hours.parse().ok()?;
    let minutes: i64 = minutes.parse().ok()?;
    let seconds = sign
        * hours
            .checked_mul(3600)?
            .checked_add(minutes.checked_mul(60)?)?;
    (label.len() >= 3 && hours <= 24 && minutes < 60).then(|| named(label, seconds))
}

struct Header {
    version: u8,
    isut: usize,
    isstd: usize,
    leap: usize,
    time: usize,
    types: usize,
    chars: usize,
}

const HEADER_LENGTH: usize = 44;

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..HEADER_LENGTH)?;
        let count = |index: usize| {
            let at = 20 + index * 4;
            let word = header.get(at..at + 4)?;
            let count = u32::from_be_bytes(word.try_into().ok()?) as usize;
            (count <= CHANGES_MAX).then_some(count)
        };
        (&header[..4] == b"TZif").then_some(())?;
        Some(Self {
            version: header[4],
            isut: count(0)?,
            isstd: count(1)?,
            leap: count(2)?,
            time: count(3)?,
            types: count(4)?,
            chars: count(5)?,
        })
    }

    /// The length of the header and its data, with instants of `size` bytes.
    fn length(&self, size: usize) -> usize {
        HEADER_LENGTH
            + self.time * (size + 1)
            + self.types * 6
            + self.chars
            + self.leap * (size + 4)
            + self.isstd
            + self.isut
    }

    fn rules(&self, bytes: &[u8], size: usize) -> Option<Rules> {
        let instants = bytes.get(HEADER_LENGTH..)?;
        let indices = instants.get(self.time * size..)?;
        let types = indices.get(self.time..)?;
        let names = types.get(self.types * 6..)?.get(..self.chars)?;
        let offset = |index: usize| {
            let record = (index < self.types).then(|| types.get(index * 6..index * 6 + 6))??;
            let (seconds, rest) = record.split_first_chunk::<4>()?;
            let name = names.get(usize::from(rest[1])..)?.split(|byte| *byte == 0);
            Some(Offset {
                seconds: i32::from_be_bytes(*seconds).into(),
                name: String::from_utf8_lossy(name.into_iter().next()?).into_owned(),
            })
        };
        let mut changes = Vec::with_capacity(self.time);
        for index in 0..self.time {
            let word = instants.get(index * size..(index + 1) * size)?;
            let start = match size {
                8 => i64::from_be_bytes(word.try_into().ok()?),
                _ => i64::from(i32::from_be_bytes(word.try_into().ok()?)),
            };
            changes.push((start, offset(usize::from(*indices.get(index)?))?));
        }
        if !changes.is_sorted_by_key(|(start, _)| *start) {
            return None;
        }
        Some(Rules {
            first: offset(0)?,
            changes,
        })
    }
}

#[cfg(test)]
mod tests;
