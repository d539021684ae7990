//! What each segment type demands of its own fields and of the volumes that it names.

use alloc::format;

use super::{Checker, Place, RESTORE, raid};
use crate::model::flags::{LvFlag, TypeFlag};
use crate::model::geometry::Part;
use crate::model::ids::LvId;
use crate::model::integrity::IntegritySettings;
use crate::model::segment::{
    Area, Cache, Mirror, Segment, SegmentType, Snapshot, Striped, Thin, ThinMessage, ThinPool,
};
use crate::{Extents, Sectors};

/// Device ids of thin volumes have 24 bits.
const THIN_DEVICE_ID_MAX: u32 = 0xff_ffff;
/// The smallest block of a thin pool, and the unit of its size.
const THIN_CHUNK_MIN: Sectors = Sectors(128);
/// The largest block of a thin pool.
const THIN_CHUNK_MAX: Sectors = Sectors(2 * 1024 * 1024);
/// The smallest chunk of a cache, and the unit of its size.
const CACHE_CHUNK_MIN: Sectors = Sectors(64);
/// The largest chunk of a cache.
const CACHE_CHUNK_MAX: Sectors = Sectors(2 * 1024 * 1024);
const CACHE_MODES: [&str; 3] = ["writethrough", "writeback", "passthrough"];
/// The smallest and largest chunk of a snapshot.
const SNAPSHOT_CHUNK_MIN: Sectors = Sectors(8);
const SNAPSHOT_CHUNK_MAX: Sectors = Sectors(1024);

pub(super) fn check(checker: &mut Checker<'_>, place: Place, segment: &Segment) {
    match &segment.kind {
        SegmentType::Striped(striped) => check_striped(checker, place, segment, striped),
        SegmentType::Mirror(mirror) => check_mirror(checker, place, segment, mirror),
        SegmentType::Raid(fields) => raid::check(checker, place, segment, fields),
        SegmentType::Snapshot(snapshot) => check_snapshot(checker, place, segment, snapshot),
        SegmentType::ThinPool(pool) => check_thin_pool(checker, place, segment, pool),
        SegmentType::Thin(thin) => check_thin(checker, place, thin),
        SegmentType::CachePool(pool) => {
            differ(
                checker,
                place,
                pool.data,
                pool.metadata,
                "data and metadata",
            );
            check_cache_settings(checker, place, segment);
        }
        SegmentType::Cache(cache) => check_cache(checker, place, segment, cache),
        SegmentType::Writecache(cache) => {
            differ(
                checker,
                place,
                cache.cache,
                cache.origin,
                "cache and origin",
            );
            same_length(checker, place, segment, cache.origin, "origin");
        }
        SegmentType::Integrity(fields) => {
            if let Some(metadata) = fields.metadata {
                differ(
                    checker,
                    place,
                    fields.origin,
                    metadata,
                    "data and checksums",
                );
            }
            same_length(checker, place, segment, fields.origin, "data");
            if let Err(error) = IntegritySettings::of(segment) {
                checker.segment_error(place, error.context);
            }
        }
        SegmentType::VdoPool(pool) => same_length(checker, place, segment, pool.data, "data"),
        SegmentType::Vdo(vdo) => {
            if !is_kind(checker, vdo.pool, |kind| {
                matches!(kind, SegmentType::VdoPool(_))
            }) {
                checker.segment_error(place, "its pool is not a VDO pool");
            }
        }
        SegmentType::Zero | SegmentType::Error | SegmentType::Unknown(_) => {}
    }
}

fn check_striped(checker: &mut Checker<'_>, place: Place, segment: &Segment, striped: &Striped) {
    let count = striped.areas.len();
    if count == 1 {
        return;
    }
    let Some(length) = segment.area_length() else {
        let problem = format!(
            "its {} do not divide by its {count} stripes",
            segment.length
        );
        checker.segment_error(place, problem);
        return;
    };
    if striped.stripe_size == Sectors::ZERO {
        checker.segment_error(place, "its stripe size is zero");
        return;
    }
    let area = length.to_sectors(checker.vg.extent_size);
    if area.is_none_or(|area| area % striped.stripe_size != Sectors::ZERO) {
        let problem = format!(
            "its areas do not divide by the stripe size {}",
            striped.stripe_size
        );
        checker.segment_error(place, problem);
    }
}

fn check_mirror(checker: &mut Checker<'_>, place: Place, segment: &Segment, mirror: &Mirror) {
    let volume = checker.vg.lv(place.0);
    let is_move = volume.flags.has(LvFlag::Pvmove);
    // Pieces of a move share a region size, which may be more than the shortest of them has.
    let extents = if is_move {
        volume.extents()
    } else {
        segment.length
    };
    let size = extents.to_sectors(checker.vg.extent_size);
    let region = mirror.region_size;
    if region == Sectors::ZERO {
        checker.segment_error(place, "its region size is zero");
    } else if !region.0.is_power_of_two() {
        checker.segment_error(
            place,
            format!("its region size {region} is no power of two"),
        );
    } else if size.is_none_or(|size| region > size) {
        checker.segment_error(
            place,
            format!("its region size {region} is more than it has"),
        );
    }
    if mirror
        .extents_moved
        .is_some_and(|moved| moved > segment.length)
    {
        checker.segment_error(place, "more extents were moved than it has");
    }
    for image in &mirror.images {
        if let Area::Lv { lv, .. } = *image {
            same_length(checker, place, segment, lv, "image");
            if mirror.log == Some(lv) {
                checker.segment_error(place, "its log is one of its images");
            }
        }
    }
    let is_on_pvs = mirror
        .images
        .iter()
        .any(|image| matches!(image, Area::Pv { .. }));
    if is_on_pvs && !is_move && mirror.images.len() > 1 && mirror.extents_moved.is_some() {
        checker.segment_error(place, "it moves extents, and the volume has no flag PVMOVE");
    }
}

fn check_snapshot(checker: &mut Checker<'_>, place: Place, segment: &Segment, snapshot: &Snapshot) {
    differ(
        checker,
        place,
        snapshot.origin,
        snapshot.cow,
        "origin and store",
    );
    let chunk = snapshot.chunk_size;
    if !chunk.0.is_power_of_two() || chunk < SNAPSHOT_CHUNK_MIN || chunk > SNAPSHOT_CHUNK_MAX {
        let problem = format!("its chunk size {chunk} is no power of two from 4 KiB to 512 KiB");
        checker.segment_error(place, problem);
    }
    // An origin may have grown since; its snapshots keep the size that it had.
    let origin = checker.vg.lv(snapshot.origin).extents();
    if origin < segment.length {
        let problem = format!("it has {}, and its origin has {}", segment.length, origin);
        checker.segment_warning(place, problem, RESTORE);
    }
    let is_holder = |kind: &SegmentType| matches!(kind, SegmentType::Snapshot(_));
    if is_kind(checker, snapshot.cow, is_holder) || is_kind(checker, snapshot.origin, is_holder) {
        checker.segment_error(place, "its origin or store only holds a snapshot's segment");
    }
}

fn check_cache(checker: &mut Checker<'_>, place: Place, segment: &Segment, cache: &Cache) {
    differ(checker, place, cache.pool, cache.origin, "cache and origin");
    same_length(checker, place, segment, cache.origin, "origin");
    let is_pool = is_kind(checker, cache.pool, |kind| {
        matches!(kind, SegmentType::CachePool(_))
    });
    let is_cachevol = segment.type_flags.contains(&TypeFlag::CacheUsesCachevol)
        || checker.vg.lv(cache.pool).flags.has(LvFlag::CacheVol);
    if !is_pool && !is_cachevol {
        let problem = format!("its cache {} is no cache pool", checker.name(cache.pool));
        checker.segment_error(place, problem);
    }
    check_cache_settings(checker, place, segment);
}

/// The settings stand with the pool, or with the cache where that has no pool.
fn check_cache_settings(checker: &mut Checker<'_>, place: Place, segment: &Segment) {
    if let Some(chunk) = segment.extra.number("chunk_size").map(Sectors) {
        let is_fitting = (CACHE_CHUNK_MIN..=CACHE_CHUNK_MAX).contains(&chunk)
            && chunk % CACHE_CHUNK_MIN == Sectors::ZERO;
        if !is_fitting {
            let problem = format!("its chunk size {chunk} is no multiple of 32 KiB up to 1 GiB");
            checker.segment_error(place, problem);
        }
    }
    let mode = segment.extra.string("cache_mode");
    if mode.is_some_and(|mode| !CACHE_MODES.contains(&mode)) {
        checker.segment_error(place, "its cache mode is not known");
    }
}

fn check_thin_pool(checker: &mut Checker<'_>, place: Place, segment: &Segment, pool: &ThinPool) {
    differ(
        checker,
        place,
        pool.data,
        pool.metadata,
        "data and metadata",
    );
    same_length(checker, place, segment, pool.data, "data");
    let chunk = pool.chunk_size;
    let is_fitting = (THIN_CHUNK_MIN..=THIN_CHUNK_MAX).contains(&chunk)
        && chunk % THIN_CHUNK_MIN == Sectors::ZERO;
    if !is_fitting {
        let problem = format!("its chunk size {chunk} is no multiple of 64 KiB up to 1 GiB");
        checker.segment_error(place, problem);
    }
    if !checker.name(pool.metadata).contains("_tmeta") {
        checker.segment_error(place, "its metadata is not called _tmeta");
    }
    for message in &pool.messages {
        let ThinMessage::Create(lv) = message else {
            continue;
        };
        let is_own =
            |kind: &SegmentType| matches!(kind, SegmentType::Thin(thin) if thin.pool == place.0);
        if !is_kind(checker, *lv, is_own) {
            let problem = format!(
                "it is to create {}, which is not its own",
                checker.name(*lv)
            );
            checker.segment_error(place, problem);
        }
    }
}

fn check_thin(checker: &mut Checker<'_>, place: Place, thin: &Thin) {
    if !is_kind(checker, thin.pool, |kind| {
        matches!(kind, SegmentType::ThinPool(_))
    }) {
        checker.segment_error(place, "its pool is not a thin pool");
    }
    if thin.device_id > THIN_DEVICE_ID_MAX {
        let problem = format!("its device id {} needs more than 24 bits", thin.device_id);
        checker.segment_error(place, problem);
    }
    let of_pool =
        |kind: &SegmentType| matches!(kind, SegmentType::Thin(other) if other.pool == thin.pool);
    if thin
        .origin
        .is_some_and(|origin| !is_kind(checker, origin, of_pool))
    {
        checker.segment_error(place, "its origin is not a thin volume of its pool");
    }
    if thin
        .merge
        .is_some_and(|merge| !is_kind(checker, merge, of_pool))
    {
        checker.segment_error(
            place,
            "it is to be merged into what is no thin volume of its pool",
        );
    }
    if let Some(origin) = thin.external_origin {
        if checker.vg.lv(origin).is_writable() {
            let problem = format!("its external origin {} is writable", checker.name(origin));
            checker.segment_error(place, problem);
        }
        if is_kind(checker, origin, of_pool) {
            checker.segment_error(place, "its external origin is in its own pool");
        }
    }
}

/// Complains where two parts that must differ are the same volume.
fn differ(checker: &mut Checker<'_>, place: Place, one: LvId, other: LvId, what: &str) {
    if one == other {
        let problem = format!("its {what} are the same volume {}", checker.name(one));
        checker.segment_error(place, problem);
    }
}

/// Complains where a part does not have as many extents as an area of the segment.
pub(super) fn same_length(
    checker: &mut Checker<'_>,
    place: Place,
    segment: &Segment,
    part: LvId,
    what: &str,
) {
    let (expected, found) = (segment.area_length(), checker.vg.lv(part).extents());
    if expected.is_some_and(|expected: Extents| expected != found) {
        let expected = expected.unwrap_or_default();
        let problem = format!(
            "its {what} {} has {found} instead of {expected}",
            checker.name(part)
        );
        checker.segment_error(place, problem);
    }
}

fn is_kind(checker: &Checker<'_>, lv: LvId, fits: impl Fn(&SegmentType) -> bool) -> bool {
    checker.vg.lv(lv).first().is_some_and(fits)
}

/// What a message calls a part.
pub(super) fn describe_part(part: Part) -> &'static str {
    match part {
        Part::Area => "area",
        Part::MirrorImage | Part::RaidImage(_) => "image",
        Part::MirrorLog => "log",
        Part::RaidMeta(_)
        | Part::ThinPoolMetadata
        | Part::CachePoolMetadata
        | Part::IntegrityMetadata => "metadata",
        Part::SnapshotCow => "store",
        Part::ThinPoolData | Part::CachePoolData | Part::VdoPoolData => "data",
        Part::ThinPool | Part::VdoPool => "pool",
        Part::CachePool | Part::Writecache => "cache",
        Part::SnapshotOrigin
        | Part::ThinOrigin
        | Part::ThinExternalOrigin
        | Part::CacheOrigin
        | Part::WritecacheOrigin
        | Part::IntegrityOrigin => "origin",
        Part::ThinMerge => "target of a merge",
        Part::ThinMessage => "volume to create",
    }
}
