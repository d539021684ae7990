//! A disk in one word, as command lines have it.
//!
//! ```text
//!   wd800bd-like                       a drive of the catalogue, as large as it is
//!   wd800bd-like:size=2T               the same, stretched until it has that size
//!   cap:iops=600:mbps=100:size=1T      limits, as clouds sell them; latency_us too
//!   flash:size=500G                    flash; units, read_us, program_us, cache_pages too
//!   FILE.toml                          a profile, as a calibration writes it
//!   FILE.toml:NAME                     [disk.NAME] of a file that describes layouts
//! ```

use std::path::Path;

use super::disk::{Disk, DiskKind};
use super::parse::disks;
use crate::disk::catalog;
use crate::error::{Error, Kind, Result};
use crate::settings::{Table, size};

const BLOCK: u64 = 512;

impl Disk {
    /// The disk that a word means. One without a size of its own has `bytes`, and one of the
    /// catalogue that is smaller is stretched to them.
    pub fn from_word(word: &str, bytes: Option<u64>) -> Result<Self> {
        let wrong = |what: String| Error::new(Kind::Syntax, format!("disk '{word}': {what}"));
        if let Some((file, name)) = word.rsplit_once(':')
            && !name.contains('=')
            && Path::new(file)
                .extension()
                .is_some_and(|ext| ext.eq_ignore_ascii_case("toml"))
        {
            return described(file, name);
        }
        let mut parts = word.split(':');
        let name = parts.next().unwrap_or_default();
        let mut wanted = bytes;
        let mut options = Vec::new();
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                return Err(wrong(format!("'{part}' is not KEY=VALUE")));
            };
            if key == "size" {
                let size = size(value).filter(|size| *size >= BLOCK);
                let what = || wrong(format!("size={value}: a size is expected, like 500G or 2T"));
                wanted = Some(size.ok_or_else(what)?);
            } else {
                options.push((key, value));
            }
        }
        let Some(fields) = fields(name) else {
            if let Some((key, _)) = options.first() {
                return Err(wrong(format!(
                    "a drive of the catalogue has a size, no {key}"
                )));
            }
            return drive(name, wanted);
        };
        let Some(bytes) = wanted else {
            return Err(wrong(format!(
                "say how large it is, as in {name}:size=500G"
            )));
        };
        let mut inner = format!("size = {}", bytes / BLOCK * BLOCK);
        for (key, value) in options {
            let Some((_, field)) = fields.iter().find(|(known, _)| *known == key) else {
                let known: Vec<&str> = fields.iter().map(|(known, _)| *known).collect();
                return Err(wrong(format!(
                    "no {key}; there are size, {}",
                    known.join(", ")
                )));
            };
            if value.parse::<f64>().is_err() {
                return Err(wrong(format!("{key}={value}: a number is expected")));
            }
            inner.extend([", ", field, " = ", value]);
        }
        let text = format!("[disk.{name}]\n{name} = {{ {inner} }}\n");
        let mut table = Table::parse(word, &text)?;
        let found = disks(&mut table)?.remove(name);
        found.ok_or_else(|| wrong("no such disk".to_owned()))
    }
}

/// What a word for limits or flash may set, and the field of a description that it is.
fn fields(kind: &str) -> Option<&'static [(&'static str, &'static str)]> {
    match kind {
        "cap" => Some(&[
            ("iops", "iops"),
            ("mbps", "megabytes"),
            ("latency_us", "latency_us"),
        ]),
        "flash" => Some(&[
            ("units", "units"),
            ("read_us", "read_us"),
            ("program_us", "program_us"),
            ("cache_pages", "cache_pages"),
        ]),
        _ => None,
    }
}

fn drive(name: &str, bytes: Option<u64>) -> Result<Disk> {
    let mut profile = catalog::find(name)?;
    if let Some(bytes) = bytes {
        profile = profile.stretched(bytes.div_ceil(BLOCK))?;
    }
    Ok(Disk {
        name: profile.name.clone(),
        kind: DiskKind::Drive(Box::new(profile)),
        link: None,
    })
}

fn described(file: &str, name: &str) -> Result<Disk> {
    let text = std::fs::read_to_string(file).map_err(|error| Error::io(file, error))?;
    let mut table = Table::parse(file, &text)?;
    let mut all = disks(&mut table)?;
    if let Some(disk) = all.remove(name) {
        return Ok(disk);
    }
    let names: Vec<String> = all.into_keys().collect();
    let what = format!("{file} has no [disk.{name}]; it has {}", names.join(", "));
    Err(Error::new(Kind::Unsupported, what))
}

#[cfg(test)]
mod tests;
