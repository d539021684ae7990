//! Loads in one word: names of common ones, and the short form of a job.
//!
//! ```text
//!   RW:SIZE[:KEY=VALUE ...]      randread:4k:depth=32
//!   NAME                         oltp, that is randrw:8k:reads=70:depth=16
//! ```
//!
//! A short form is written out as a job file and read as one, so that both mean the same, and
//! whoever wants to run it with fio on a real disk has the text.

use super::InputError;
use super::fio::{Job, parse_on};

/// A load that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// The short form.
    pub form: &'static str,
    /// What asks like this.
    pub about: &'static str,
}

/// The loads that have names.
pub const NAMED: &[Named] = &[
    Named {
        name: "oltp",
        form: "randrw:8k:reads=70:depth=16",
        about: "a database under transactions",
    },
    Named {
        name: "lookup",
        form: "randread:4k:depth=1",
        about: "one reader that waits for each answer",
    },
    Named {
        name: "vm",
        form: "randrw:4k:reads=60:depth=32:hot=80/20",
        about: "virtual machines: four fifths go to a fifth of the place",
    },
    Named {
        name: "stream",
        form: "read:1m:depth=4",
        about: "reading large files, backups",
    },
    Named {
        name: "ingest",
        form: "write:1m:depth=4",
        about: "writing large files",
    },
    Named {
        name: "log",
        form: "write:16k:depth=1",
        about: "one writer that waits for each record",
    },
];

/// What a short form may say beyond pattern and size, and the option that it is.
const KEYS: &[(&str, &str)] = &[
    ("depth", "iodepth"),
    ("jobs", "numjobs"),
    ("reads", "rwmixread"),
    ("size", "size"),
    ("offset", "offset"),
    ("rate", "rate_iops"),
    ("arrivals", "rate_process"),
    ("hot", "random_distribution"),
];

/// The job file that a name or a short form stands for.
pub fn job_file(word: &str) -> Result<String, InputError> {
    let named = NAMED.iter().find(|named| named.name == word);
    let form = named.map_or(word, |named| named.form);
    let wrong = |field: &str, problem: &str| InputError::new(1, field, problem);
    let mut parts = form.split(':');
    let (rw, size) = (parts.next().unwrap_or_default(), parts.next());
    let Some(size) = size else {
        let names: Vec<&str> = NAMED.iter().map(|named| named.name).collect();
        let problem = format!(
            "a load is RW:SIZE[:KEY=VALUE ...] as in randread:4k:depth=32, a job file, or one of \
             {}",
            names.join(", ")
        );
        return Err(wrong(word, &problem));
    };
    let mut text = format!("[load]\nrw={rw}\nbs={size}\n");
    if rw.starts_with("rand") {
        text.push_str("norandommap=1\n");
    }
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let Some((_, option)) = KEYS.iter().find(|(known, _)| *known == key) else {
            let keys: Vec<&str> = KEYS.iter().map(|(known, _)| *known).collect();
            let problem = format!("known are {}", keys.join(", "));
            return Err(wrong(key, &problem));
        };
        let value = match key {
            "arrivals" if value == "even" => "linear".to_owned(),
            "hot" => zones(value)
                .ok_or_else(|| wrong(key, "ACCESSES/SIZE in percent, as in hot=80/20"))?,
            _ => value.to_owned(),
        };
        text.extend([option, "=", &value, "\n"]);
    }
    Ok(text)
}

/// `80/20` as zones.
fn zones(value: &str) -> Option<String> {
    let (access, size) = value.split_once('/')?;
    let (access, size): (u32, u32) = (access.parse().ok()?, size.parse().ok()?);
    let rest = (100_u32.checked_sub(access)?, 100_u32.checked_sub(size)?);
    Some(format!("zoned:{access}/{size}:{}/{}", rest.0, rest.1))
}

/// The jobs of a name or a short form on a volume of so many bytes.
pub fn jobs(word: &str, volume: u64) -> Result<Vec<Job>, InputError> {
    parse_on(&job_file(word)?, volume)
}

#[cfg(test)]
mod tests;
