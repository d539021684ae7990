//! Whether a value is of its option's kind, as far as that can be said of it alone.
//!
//! It is asked where the value stands, so that of several mistakes in a line the first one is said,
//! in stock's words: a sentence that says why, and the one that names option and value.

use lvm2::Sectors;
use lvm2::model::name::validate_tag;
use lvm2::model::{AllocationPolicy, RaidLevel};
use lvm2::plan::size::{SizeArgument, parse_size};

use super::error::Error;
use super::table::{Flag, Takes};

/// The kernel and the metadata count the sectors of a region in 32 bits.
const REGION_MAX: Sectors = Sectors(u32::MAX as u64);
const SECTOR: u64 = 512;
/// Options whose value is a size.
const SIZES: &[&str] = &[
    "size",
    "stripesize",
    "chunksize",
    "regionsize",
    "minrecoveryrate",
    "maxrecoveryrate",
    "poolmetadatasize",
    "dataalignment",
    "dataalignmentoffset",
];
/// The same, without a sign.
const PLAIN_SIZES: &[&str] = &[
    "metadatasize",
    "bootloaderareasize",
    "setphysicalvolumesize",
    "physicalextentsize",
    "virtualsize",
    "cachesize",
];
/// Types of volumes that there are beside the levels of RAID.
const TYPES: &[&str] = &[
    "linear",
    "striped",
    "zero",
    "error",
    "snapshot",
    "mirror",
    "thin-pool",
    "thin",
    "cache-pool",
    "cache",
    "vdo",
    "vdo-pool",
    "writecache",
    "integrity",
];

/// Which sign a value has, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    None,
    Plus,
    Minus,
}

/// Refuses a value that cannot be one of this option of a command.
pub(super) fn check(command: &str, flag: &Flag, value: &str) -> Result<(), Error> {
    let Takes::Value(kind) = flag.takes else {
        return Ok(());
    };
    let refused = match flag.long {
        "regionsize" => region(value),
        "readahead" => read_ahead(value),
        "extents" => extents(command, value),
        "size" => size(value).and_then(|sign| signed(command, "Size", sign)),
        long if SIZES.contains(&long) => size(value).and_then(|sign| match sign {
            Sign::Minus => Err("Size may not be negative.".to_owned()),
            Sign::None | Sign::Plus => Ok(()),
        }),
        "cachemode" if words(kind).any(|word| word == value) => Ok(()),
        "cachemode" => Err(format!("Unknown cache mode: {value}.")),
        "discards" if words(kind).any(|word| word == value) => Ok(()),
        "discards" => Err(format!("Thin pool discards type \"{value}\" is unknown.")),
        "cachemetadataformat" if words(kind).any(|word| word == value) => Ok(()),
        "cachemetadataformat" if is_number(value) => Err(format!(
            "Selected cache metadata format {value} is not supported."
        )),
        "cachemetadataformat" => plain(false),
        long if PLAIN_SIZES.contains(&long) => size(value).and_then(|sign| match sign {
            Sign::None => Ok(()),
            Sign::Plus | Sign::Minus => Err("Size may not be relative/signed.".to_owned()),
        }),
        "mirrors" if kind == "Number" && number(value) == Some(Sign::Minus) => {
            Err("Number may not be negative.".to_owned())
        }
        "mirrors" if kind != "Number" => plain(number(value).is_some()),
        "type" if TYPES.contains(&value) || RaidLevel::from_name(value).is_some() => Ok(()),
        "type" => Err(format!("WARNING: Unrecognised segment type {value}")),
        "alloc" if value == "inherit" || AllocationPolicy::from_name(value).is_some() => Ok(()),
        "alloc" => Err(format!("Unrecognised allocation policy {value}")),
        "maxlogicalvolumes" | "logicalvolume" | "maxphysicalvolumes" if is_number(value) => {
            plain(value.parse::<u32>().is_ok())
        }
        "interval" | "splitmirrors" | "raidintegrityblocksize" => plain(is_number(value)),
        "permission" => plain(matches!(value, "r" | "rw" | "wr")),
        "vgmetadatacopies" => plain(matches!(value, "all" | "unmanaged") || is_number(value)),
        "mirrorlog" if matches!(value, "core" | "disk" | "mirrored") => Ok(()),
        "mirrorlog" => Err(format!("Mirror log type \"{value}\" is unknown.")),
        "addtag" | "deltag" => {
            let tag = value.strip_prefix('@').unwrap_or(value);
            plain(validate_tag(tag).is_ok())
        }
        _ => Ok(()),
    };
    refused.map_err(|why| {
        let stop = if why.is_empty() { "" } else { "\n" };
        Error::syntax(format!(
            "{why}{stop}Invalid argument for --{}: {value}",
            flag.long
        ))
    })
}

/// The words that a kind of values is one of.
fn words(kind: &str) -> impl Iterator<Item = &str> {
    kind.split('|')
}

/// A value that is refused without a reason.
fn plain(is_right: bool) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(String::new()) }
}

fn split_sign(value: &str) -> (Sign, &str) {
    match value.as_bytes().first() {
        Some(b'+') => (Sign::Plus, &value[1..]),
        Some(b'-') => (Sign::Minus, &value[1..]),
        _ => (Sign::None, value),
    }
}

/// The sign of a number of 63 bits.
fn number(value: &str) -> Option<Sign> {
    let (sign, digits) = split_sign(value);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && digits.parse::<i64>().is_ok()).then_some(sign)
}

/// Whether a number without a sign is one of 63 bits.
pub(super) fn is_number(value: &str) -> bool {
    number(value).is_some_and(|sign| sign != Sign::Minus)
}

/// Which signs a new size may have is the command's.
fn signed(command: &str, what: &str, sign: Sign) -> Result<(), String> {
    match (command, sign) {
        ("lvreduce", Sign::Plus) => Err(format!("{what} may not be positive.")),
        ("lvreduce" | "lvresize", _) | (_, Sign::None | Sign::Plus) => Ok(()),
        (_, Sign::Minus) => Err(format!("{what} may not be negative.")),
    }
}

/// A number with the letter of a unit, and its sign.
fn size(value: &str) -> Result<Sign, String> {
    let (sign, rest) = split_sign(value);
    let is_digit = |letter: char| letter.is_ascii_digit() || letter == '.';
    if sign != Sign::None && rest.starts_with(['+', '-']) {
        return Err("Multiple sign symbols detected.".to_owned());
    }
    if !rest.starts_with(is_digit) {
        return Err("Size requires number argument.".to_owned());
    }
    let end = rest.find(|letter| !is_digit(letter)).unwrap_or(rest.len());
    let (digits, unit) = rest.split_at(end);
    let unit = unit
        .chars()
        .next()
        .map(|letter| letter.to_ascii_lowercase());
    if digits == "." {
        return Err("Can't parse size argument at '.'.".to_owned());
    }
    if digits.matches('.').count() > 1 || unit.is_some_and(|unit| !"bskmgtpe".contains(unit)) {
        return Err("Can't parse size argument.".to_owned());
    }
    let letter = unit.map_or(String::new(), |unit| unit.to_string());
    // The smallest unit that a number without one can have.
    let least = unit.unwrap_or('s');
    if parse_size(&format!("{digits}{letter}"), least).is_err() {
        return Err("Size is too big (>=16EiB).".to_owned());
    }
    let bytes = digits.parse::<u64>().ok().filter(|_| unit == Some('b'));
    match bytes.filter(|bytes| !bytes.is_multiple_of(SECTOR)) {
        None => Ok(sign),
        Some(bytes) => {
            let lower = bytes - bytes % SECTOR;
            Err(format!(
                "Size is not a multiple of 512. Try using {lower} or {}.",
                lower + SECTOR
            ))
        }
    }
}

fn region(value: &str) -> Result<(), String> {
    if size(value)? == Sign::Minus {
        return Err("Region size may not be negative.".to_owned());
    }
    let bytes = parse_size(value.trim_start_matches('+'), 'm');
    let bytes = bytes.map_err(|_| "Can't parse size argument.".to_owned())?;
    let page = rustix::param::page_size() as u64;
    if bytes.whole_sectors() > REGION_MAX {
        return Err(format!("Region size is too big (max {}).", REGION_MAX.0));
    }
    if bytes.0 == 0 {
        return Err("Region size may not be zero.".to_owned());
    }
    if !bytes.0.is_multiple_of(page) {
        return Err(format!(
            "Region size must be a multiple of machine memory page size ({page} bytes)."
        ));
    }
    if !bytes.0.is_power_of_two() {
        return Err("Region size must be a power of 2.".to_owned());
    }
    Ok(())
}

fn read_ahead(value: &str) -> Result<(), String> {
    if matches!(value, "auto" | "none") {
        return Ok(());
    }
    plain(size(value)? != Sign::Minus)
}

fn extents(command: &str, value: &str) -> Result<(), String> {
    let (sign, rest) = split_sign(value);
    let end = rest.find(|letter: char| !letter.is_ascii_digit());
    let (digits, share) = rest.split_at(end.unwrap_or(rest.len()));
    if digits.is_empty() || !share.is_empty() && !share.starts_with('%') {
        return plain(false);
    }
    if !share.is_empty() && SizeArgument::from_extents(&format!("1{share}")).is_err() {
        return Err(format!("Specified {share} is unknown."));
    }
    signed(command, "Extents", sign)
}

#[cfg(test)]
mod tests;
