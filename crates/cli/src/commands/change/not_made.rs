//! What stock refuses of a line that makes a pool, a cache, a thin volume or VDO: nothing of it is
//! made here, but a line that stock would not make either is refused in stock's words and order.
//!
//! ```text
//!   options of the type ─▸ names ─▸ options of caches ─▸ zeros ─▸ the name of a pool ─▸ (sizes)
//! ```

use super::lvcreate::{NAME, operand};
use super::not_done::{CACHE_DEVICE, CACHE_POOL, CACHE_VOLUME, THIN_POOL, VDO_POOL};
use super::volumes::{EXTENTS, SIZE, TYPE, default_group, path, require_valid_name};
use crate::args::{Arguments, Error};

/// Options, by the type that does not take them, and what stock calls it.
const UNSUPPORTED: &[(&str, &[&str], &str)] = &[
    (
        "cache-pool",
        &["nosync", "stripes", "stripesize"],
        "cache pools",
    ),
    ("cache", &["nosync"], "cache"),
    ("thin-pool", &["nosync", "thin"], "thin pools"),
    ("thin", &["nosync"], "thins"),
    ("vdo", &["nosync"], "VDOs"),
];
/// Options of caches that have a pool.
const OF_CACHES: &[&str] = &["cachemetadataformat", "cachemode", "cachepolicy"];

/// The type of what would be made.
fn kind(arguments: &Arguments) -> &str {
    let has = |long: &str| arguments.has_long(long);
    match arguments.value(&TYPE) {
        Some(name) => name,
        None if has("cache") || has("cachepool") => "cache",
        None if has("vdo") || has("vdopool") => "vdo",
        None => "thin",
    }
}

/// Whether it would be VDO, which takes no size of stripes.
pub(super) fn is_vdo(arguments: &Arguments) -> bool {
    kind(arguments) == "vdo"
}

/// Whether an operand is the origin of a thin snapshot, or what becomes a cached volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    Group,
    Origin,
    Cached,
    /// A pool, or the group of one.
    Pool,
}

fn operand_kind(arguments: &Arguments) -> Operand {
    let is_sized = arguments.has(&SIZE) || arguments.has(&EXTENTS);
    let is_virtual = arguments.has_long("virtualsize");
    match kind(arguments) {
        "thin" if !is_sized && !is_virtual => Operand::Origin,
        "thin" if is_virtual => Operand::Pool,
        "cache"
            if ![&CACHE_POOL, &CACHE_VOLUME, &CACHE_DEVICE]
                .into_iter()
                .any(|flag| arguments.has(flag)) =>
        {
            Operand::Cached
        }
        _ => Operand::Group,
    }
}

/// Refuses what its type does not take.
pub(super) fn require_options(arguments: &Arguments) -> Result<(), Error> {
    let kind = kind(arguments);
    let unsupported = UNSUPPORTED.iter().find(|(of, ..)| *of == kind);
    let Some((_, options, name)) = unsupported else {
        return Ok(());
    };
    match options.iter().find(|long| arguments.has_long(long)) {
        None => Ok(()),
        Some(long) => Err(Error::usage(format!(
            "Option --{long} is unsupported with {name}."
        ))),
    }
}

/// Refuses what only caches with a pool take.
pub(super) fn require_pool_options(arguments: &Arguments) -> Result<(), Error> {
    let is_pooled = !arguments.has(&CACHE_VOLUME) && !arguments.has(&CACHE_DEVICE);
    if is_pooled || kind(arguments) != "cache" {
        return Ok(());
    }
    if arguments.has_long("chunksize") {
        return Err(Error::usage(
            "--chunksize is supported only with pools and snapshots.",
        ));
    }
    match OF_CACHES.iter().find(|long| arguments.has_long(long)) {
        None => Ok(()),
        Some(long) => Err(Error::usage(format!(
            "--{long} is supported only with cache."
        ))),
    }
}

/// Refuses a thin volume whose pool has no name.
pub(super) fn require_pool(arguments: &Arguments) -> Result<(), Error> {
    let is_sized = arguments.has(&SIZE) || arguments.has(&EXTENTS);
    let word = arguments.operands().first().map_or("", String::as_str);
    let is_named = arguments.has(&THIN_POOL) || path(word).is_ok_and(|(group, _)| group.is_some());
    if operand_kind(arguments) == Operand::Pool && !is_sized && !is_named {
        return Err(Error::usage("Please specify name of existing pool."));
    }
    Ok(())
}

/// The group that the names of a line are in, if they are in one.
pub(super) fn group(arguments: &Arguments) -> Result<Option<String>, Error> {
    let pool = [THIN_POOL, CACHE_POOL, VDO_POOL];
    let pool = pool.iter().find_map(|flag| arguments.value(flag));
    let of_pool = pool.and_then(group_of);
    let of_name = arguments.value(&NAME).and_then(group_of);
    let of_operand = match arguments.operands().first() {
        None => None,
        Some(word) => of_operand(arguments, word, (pool, of_pool.clone()))?,
    };
    let group = of_operand.or(of_pool);
    match (&group, &of_name) {
        (Some(one), Some(other)) if one != other => Err(other_group(one, other)),
        _ => Ok(group.or(of_name).or_else(default_group)),
    }
}

/// The group of the first operand, which the pool has to be in.
fn of_operand(
    arguments: &Arguments,
    word: &str,
    (pool, of_pool): (Option<&str>, Option<String>),
) -> Result<Option<String>, Error> {
    let kind = operand_kind(arguments);
    if kind == Operand::Group || kind == Operand::Pool && !word.contains('/') {
        let group = operand(word)?;
        return match of_pool {
            Some(other) if other != group => Err(Error::usage(format!(
                "Inconsistent volume group names given: \"{other}\" and \"{group}\""
            ))),
            _ => Ok(Some(group)),
        };
    }
    let (group, name) = path(word).map_err(Error::usage)?;
    if group.is_none() && kind == Operand::Cached {
        return Err(Error::usage(
            "Creation of cached volume and cache pool in one command is not yet supported.",
        ));
    }
    if name.is_empty() {
        return Err(Error::usage("Logical volume name \"\" is invalid."));
    }
    require_valid_name("Logical volume name", &name)?;
    match (&group, &of_pool) {
        (Some(one), Some(other)) if one != other => Err(other_group(one, other)),
        (None, None) if kind == Operand::Origin => Err(Error::usage(
            "The origin name should include the volume group.",
        )),
        _ => match pool.map(|pool| pool.rsplit('/').next().unwrap_or_default()) {
            Some(pool) if kind == Operand::Pool && pool != name => Err(Error::usage(format!(
                "Ambiguous thin name specified, {name} and {pool}."
            ))),
            _ => Ok(group),
        },
    }
}

fn other_group(one: &str, other: &str) -> Error {
    Error::usage(format!(
        "Please use a single volume group name (\"{one}\" or \"{other}\")."
    ))
}

/// The group that a name of a volume begins with.
fn group_of(name: &str) -> Option<String> {
    path(name).ok().and_then(|(group, _)| group)
}
