//! What stock refuses of a line that makes a pool, a cache, a thin volume or VDO: nothing of it is
//! made here, but a line that stock would not make either is refused in stock's words and order.
//!
//! ```text
//!   options of the type ─▸ names ─▸ zeros ─▸ the name of a pool ─▸ sizes ─▸ stripes ─▸ chunks
//! ```

use lvm2::Sectors;
use lvm2::plan::display_size;

use super::arguments::{ZERO, size};
use super::lvcreate::{NAME, operand};
use super::not_done::{CACHE_DEVICE, CACHE_POOL, CACHE_VOLUME, THIN_POOL, VDO_POOL};
use super::volumes::{
    CHUNK_SIZE, EXTENTS, SIZE, TYPE, default_group, path, require_name, require_valid_name,
};
use crate::args::{Arguments, Error};

/// Options, by the type that does not take them, and what stock calls it.
const UNSUPPORTED: &[(&str, &[&str], &str)] = &[
    (
        "cache-pool",
        &["nosync", "stripes", "stripesize", "major", "minor", "zero"],
        "cache pools",
    ),
    ("cache", &["nosync"], "cache"),
    (
        "thin-pool",
        &["errorwhenfull", "nosync", "thin", "major", "minor"],
        "thin pools",
    ),
    ("thin", &["nosync"], "thins"),
    ("vdo", &["nosync"], "VDOs"),
];
/// Options of caches that have a pool.
const OF_CACHES: &[&str] = &["cachemode", "cachemetadataformat", "cachepolicy"];
/// The largest chunk of a pool.
const CHUNK_MAX: Sectors = Sectors(1 << 21);

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

/// The same, where a pool alone is no thin volume.
fn made(arguments: &Arguments) -> &str {
    match kind(arguments) {
        "thin" if !arguments.has_long("virtualsize") => "thin-pool",
        kind => kind,
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

/// Whether a size is said, which a pool gets.
fn is_sized(arguments: &Arguments) -> bool {
    arguments.has(&SIZE) || arguments.has(&EXTENTS)
}

fn operand_kind(arguments: &Arguments) -> Operand {
    let is_virtual = arguments.has_long("virtualsize");
    match kind(arguments) {
        "thin" if !is_sized(arguments) && !is_virtual => Operand::Origin,
        "thin" | "thin-pool" | "vdo" => Operand::Pool,
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
        // Stock takes a cache without a pool for what it is made of.
        Some(_) if kind == "cache" && !is_pooled(arguments) => Err(Error::usage(
            "--nosync is supported only with mirrors or raids.",
        )),
        Some(long) => Err(Error::usage(format!(
            "Option --{long} is unsupported with {name}."
        ))),
    }
}

/// Refuses what only caches with a pool take.
pub(super) fn require_pool_options(arguments: &Arguments) -> Result<(), Error> {
    let kind = kind(arguments);
    if kind == "thin" && !is_sized(arguments) && arguments.has(&ZERO) {
        let what = "--zero is supported only with thin pool creation.";
        return Err(Error::usage(what));
    }
    if is_pooled(arguments) || kind != "cache" {
        return Ok(());
    }
    if let Some(long) = OF_CACHES.iter().find(|long| arguments.has_long(long)) {
        return Err(Error::usage(format!(
            "--{long} is supported only with cache."
        )));
    }
    if arguments.has(&CHUNK_SIZE) {
        let what = "--chunksize is supported only with pools and snapshots.";
        return Err(Error::usage(what));
    }
    Ok(())
}

/// Whether a cache would have a pool, and not a volume or a device.
fn is_pooled(arguments: &Arguments) -> bool {
    !arguments.has(&CACHE_VOLUME) && !arguments.has(&CACHE_DEVICE)
}

/// Refuses chunks that a pool cannot have, of which all that is wrong is said.
pub(super) fn require_chunks(arguments: &Arguments) -> Result<(), Error> {
    let (what, unit) = match kind(arguments) {
        "thin" | "thin-pool" => ("Thin pool", Sectors(128)),
        "cache" | "cache-pool" if is_pooled(arguments) => ("Cache", Sectors(64)),
        _ => return Ok(()),
    };
    let Some(chunk) = size(arguments, &CHUNK_SIZE, 'k')? else {
        return Ok(());
    };
    let [shown, least, most] = [chunk, unit, CHUNK_MAX].map(display_size);
    let mut wrong = Vec::new();
    if !(unit..=CHUNK_MAX).contains(&chunk) {
        wrong.push(format!(
            "{what} chunk size {shown} is not in the range {least} to {most}."
        ));
    }
    if chunk.0 % unit.0 != 0 {
        wrong.push(format!(
            "{what} chunk size {shown} must be a multiple of {least}."
        ));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Error::usage(wrong.join("\n")))
}

/// Refuses a thin volume whose pool has no name.
pub(super) fn require_pool(arguments: &Arguments) -> Result<(), Error> {
    let word = arguments.operands().first().map_or("", String::as_str);
    let is_named = arguments.has(&THIN_POOL) || path(word).is_ok_and(|(group, _)| group.is_some());
    let is_thin = operand_kind(arguments) == Operand::Pool && !is_sized(arguments);
    if is_thin && !is_named {
        return Err(Error::usage("Please specify name of existing pool."));
    }
    Ok(())
}

/// The group that the names of a line are in, if they are in one.
pub(super) fn group(arguments: &Arguments) -> Result<Option<String>, Error> {
    let pool = [THIN_POOL, CACHE_POOL, VDO_POOL];
    let pool = pool.iter().find_map(|flag| arguments.value(flag));
    let of_pool = match pool.map(path) {
        None => None,
        Some(named) => named.map_err(Error::usage)?.0,
    };
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
    let plain = word.strip_prefix("/dev/").unwrap_or(word);
    let is_alone = !plain.contains('/');
    if kind == Operand::Cached && is_alone {
        return Err(Error::usage(
            "Creation of cached volume and cache pool in one command is not yet supported.",
        ));
    }
    if let (Ok((Some(group), origin)), Some(pool)) = (path(word), arguments.value(&CACHE_POOL)) {
        if let Some(other) = of_pool.filter(|other| *other != group) {
            return Err(other_group(&group, &other));
        }
        let pool = pool.rsplit('/').next().unwrap_or_default();
        return if pool == origin {
            Ok(Some(group))
        } else {
            Err(Error::usage(format!(
                "Unsupported syntax, cannot use cache origin {origin} and --cachepool {pool}."
            )))
        };
    }
    path(word).map_err(Error::usage)?;
    if kind == Operand::Group || kind == Operand::Pool && is_alone {
        return match of_pool {
            Some(other) if other != plain && !plain.contains('/') => Err(Error::usage(format!(
                "Inconsistent volume group names given: \"{other}\" and \"{plain}\""
            ))),
            _ => operand(word).map(Some),
        };
    }
    let (group, name) = path(word).map_err(Error::usage)?;
    if let (Some(one), Some(other)) = (&group, &of_pool)
        && one != other
    {
        return Err(other_group(one, other));
    }
    if name.is_empty() {
        return Err(Error::usage("Logical volume name \"\" is invalid."));
    }
    if kind == Operand::Pool && is_sized(arguments) {
        require_name("Logical volume name", &name)?;
    } else {
        require_valid_name("Logical volume name", &name)?;
    }
    match (&group, &of_pool) {
        (None, None) if kind == Operand::Origin => Err(Error::usage(
            "The origin name should include the volume group.",
        )),
        _ => match pool.map(|pool| pool.rsplit('/').next().unwrap_or_default()) {
            Some(pool) if kind == Operand::Pool && pool != name => Err(Error::usage(format!(
                "Ambiguous {} name specified, {name} and {pool}.",
                made(arguments)
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

#[cfg(test)]
mod tests;
