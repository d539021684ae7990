//! Options of volumes that are not made here: thin pools, caches, VDO.
//!
//! They are known, so that a line that stock refuses is refused as stock does; what stock would do
//! is refused by the option's name.

use crate::args::{Arguments, Error, Flag};
use lvm2::model::name::{NameOf, validate};

const THIN: &str = "Not done yet: thin volumes.";
const POOLS: &str = "Not done yet: pools.";
const CACHES: &str = "Not done yet: caches.";
const VDO: &str = "Not done yet: VDO.";

pub(super) const THIN_POOL: Flag = Flag::value("thinpool", "LV", THIN);
pub(super) const MERGE_THIN: Flag = Flag::switch("mergethin", THIN);
pub(super) const CACHE_POOL: Flag = Flag::value("cachepool", "LV", CACHES);
pub(super) const VDO_POOL: Flag = Flag::value("vdopool", "LV", VDO);
pub(super) const CACHE_VOLUME: Flag = Flag::value("cachevol", "LV", CACHES);
pub(super) const POOL_METADATA: Flag = Flag::value("poolmetadata", "LV", POOLS);
pub(super) const CACHE_DEVICE: Flag = Flag::value("cachedevice", "PV", CACHES);
const CACHE_SETTINGS: Flag = Flag::value("cachesettings", "String", CACHES);
const VDO_SETTINGS: Flag = Flag::value("vdosettings", "String", VDO);

/// Of commands that make volumes or convert them.
pub(super) const NEW: &[Flag] = &[
    Flag::switch("thin", THIN).short('T'),
    THIN_POOL,
    Flag::value("virtualsize", "Size", THIN).short('V'),
    Flag::value("poolmetadatasize", "Size", POOLS),
    Flag::value("poolmetadataspare", "y|n", POOLS),
    Flag::switch("cache", CACHES).short('H'),
    CACHE_POOL,
    CACHE_VOLUME,
    CACHE_DEVICE,
    Flag::value("cachesize", "Size", CACHES),
    Flag::value("cachemetadataformat", "auto|1|2", CACHES),
    VDO_POOL,
];

/// Of `lvcreate` alone.
pub(super) const VOLUMES: &[Flag] = &[Flag::switch("vdo", VDO)];

/// Of commands that change what pools, caches and VDO are told.
pub(super) const SETTINGS: &[Flag] = &[
    Flag::value("discards", "passdown|nopassdown|ignore", THIN),
    Flag::value("errorwhenfull", "y|n", THIN),
    Flag::value("cachemode", "writethrough|writeback|passthrough", CACHES),
    Flag::value("cachepolicy", "String", CACHES),
    CACHE_SETTINGS,
    Flag::value("compression", "y|n", VDO),
    Flag::value("deduplication", "y|n", VDO),
    VDO_SETTINGS,
];

/// Of `lvconvert` alone.
pub(super) const CONVERSIONS: &[Flag] = &[
    MERGE_THIN,
    Flag::value("originname", "LV", THIN),
    Flag::switch("splitcache", CACHES),
    Flag::switch("uncache", CACHES),
    POOL_METADATA,
    Flag::switch("swapmetadata", POOLS),
    Flag::value("readahead", "auto|none|Number", POOLS).short('r'),
    Flag::value("metadataprofile", "String", POOLS),
    Flag::switch("startpoll", "Not done: nothing is polled."),
];

/// Refuses names of pools that are none.
pub(super) fn require_names(arguments: &Arguments) -> Result<(), Error> {
    for value in [THIN_POOL, CACHE_POOL, VDO_POOL]
        .iter()
        .filter_map(|flag| arguments.value(flag))
    {
        let name = value.rsplit('/').next().unwrap_or_default();
        if validate(name, NameOf::LogicalVolume).is_err() {
            return Err(Error::usage(format!(
                "Logical volume name \"{name}\" is invalid."
            )));
        }
    }
    Ok(())
}

/// Refuses settings that are not written as such.
pub(super) fn require_settings(arguments: &Arguments) -> Result<(), Error> {
    if arguments.has(&CACHE_VOLUME) || arguments.has(&CACHE_DEVICE) {
        return Ok(());
    }
    let settings = [CACHE_SETTINGS, VDO_SETTINGS];
    let mut settings = settings.iter().flat_map(|flag| arguments.values(flag));
    match settings.find(|setting| !setting.contains('=')) {
        None => Ok(()),
        Some(setting) => Err(Error::usage(format!(
            "Parse error at byte {} (line 1): unexpected token",
            setting.len() + 1
        ))),
    }
}
