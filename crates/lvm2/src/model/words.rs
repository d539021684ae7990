//! The words in which `lvs` says what a volume is made of and what it is there for.
//!
//! ```text
//!     volume        layout               roles
//!     home          linear               public
//!     r5            raid,raid5,raid5_ls  public
//!     r5_rimage_0   linear               private,raid,image
//!     old           linear               public,origin,thickorigin
//! ```
//!
//! The words, and which volumes are private (not the same as hidden), are those of stock.

use alloc::vec;
use alloc::vec::Vec;

use super::geometry::Part;
use super::ids::LvId;
use super::lv::LogicalVolume;
use super::raid_level::{RaidFamily, RaidLevel};
use super::relations::{Relations, Role, is_cachevol, is_snapshot_holder};
use super::segment::SegmentType;
use super::vg::VolumeGroup;

/// What a volume is made of.
pub fn lv_layout(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> Vec<&'static str> {
    if is_cachevol(vg, relations, lv) {
        return vec!["cache", "cachevol"];
    }
    match vg.lv(lv).first() {
        Some(SegmentType::Raid(raid)) => raid_layout(raid.level),
        Some(SegmentType::Mirror(_)) => vec!["mirror"],
        Some(SegmentType::Thin(_)) => vec!["thin", "sparse"],
        Some(SegmentType::ThinPool(_)) => vec!["thin", "pool"],
        Some(SegmentType::CachePool(_)) => vec!["cache", "pool"],
        Some(SegmentType::Cache(_)) => vec!["cache"],
        Some(SegmentType::Writecache(_)) => vec!["writecache"],
        Some(SegmentType::Integrity(_)) => vec!["integrity"],
        Some(SegmentType::VdoPool(_)) => vec!["vdo", "pool"],
        Some(SegmentType::Vdo(_)) => vec!["vdo", "sparse"],
        _ => plain_layout(vg.lv(lv)),
    }
}

/// What a volume is there for.
pub fn lv_roles(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> Vec<&'static str> {
    let own = own_roles(vg, relations, lv);
    let is_pool = matches!(
        vg.lv(lv).first(),
        Some(SegmentType::ThinPool(_) | SegmentType::CachePool(_) | SegmentType::VdoPool(_))
    );
    let is_private =
        !own.is_empty() || is_pool || is_snapshot_holder(vg, lv) || is_cachevol(vg, relations, lv);
    let mut words = vec![if is_private { "private" } else { "public" }];
    words.extend_from_slice(own);
    words.extend(snapshot_roles(vg, relations, lv));
    words
}

fn raid_layout(level: RaidLevel) -> Vec<&'static str> {
    let detail = match level {
        // Stock has no word for this one.
        RaidLevel::Raid0Meta => return vec!["raid"],
        RaidLevel::Raid5 => RaidLevel::Raid5Ls,
        RaidLevel::Raid6 => RaidLevel::Raid6Zr,
        level => level,
    };
    let mut words = match level.family() {
        RaidFamily::Raid0 => vec!["raid", "raid0"],
        RaidFamily::Raid1 => vec!["raid", "raid1"],
        RaidFamily::Raid4 => vec!["raid", "raid4"],
        RaidFamily::Raid5 => vec!["raid", "raid5"],
        RaidFamily::Raid6 => vec!["raid", "raid6"],
        RaidFamily::Raid10 => vec!["raid", "raid10"],
    };
    // Nor has it one for layouts that only a takeover makes.
    let has_word = matches!(
        detail,
        RaidLevel::Raid5La
            | RaidLevel::Raid5Ra
            | RaidLevel::Raid5Ls
            | RaidLevel::Raid5Rs
            | RaidLevel::Raid6Zr
            | RaidLevel::Raid6Nr
            | RaidLevel::Raid6Nc
    );
    if has_word {
        words.push(detail.name());
    }
    words
}

fn plain_layout(volume: &LogicalVolume) -> Vec<&'static str> {
    let names = || volume.segments.iter().map(super::Segment::type_name);
    let mut words: Vec<_> = ["linear", "striped"]
        .into_iter()
        .filter(|word| names().any(|name| name == *word))
        .collect();
    // Stock has no word for zero and error.
    if words.is_empty() {
        words.push("unknown");
    }
    words
}

fn own_roles(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> &'static [&'static str] {
    match relations.role(vg, lv) {
        Role::Pvmove => &["pvmove"],
        Role::Spare => &["pool", "spare"],
        Role::Whole | Role::SnapshotHolder => &[],
        Role::Part(part) => match part {
            Part::MirrorImage => &["mirror", "image"],
            Part::MirrorLog => &["mirror", "log"],
            Part::RaidImage(_) => &["raid", "image"],
            Part::RaidMeta(_) => &["raid", "metadata"],
            Part::ThinPoolData => &["thin", "pool", "data"],
            Part::ThinPoolMetadata => &["thin", "pool", "metadata"],
            Part::CachePoolData => &["cache", "pool", "data"],
            Part::CachePoolMetadata => &["cache", "pool", "metadata"],
            Part::CacheOrigin => &["cache", "origin", "cacheorigin"],
            Part::WritecacheOrigin => &["writecache", "origin", "writecacheorigin"],
            Part::IntegrityOrigin => &["integrity", "origin", "integrityorigin"],
            Part::IntegrityMetadata => &["integrity", "metadata"],
            Part::VdoPoolData => &["vdo", "pool", "data"],
            _ => &[],
        },
    }
}

fn snapshot_roles(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> Vec<&'static str> {
    let mut words = Vec::new();
    let used_as = |part| {
        relations
            .used_by(lv)
            .iter()
            .filter(|used| used.part == part)
            .count()
    };
    for (part, one, many) in [
        (Part::SnapshotOrigin, "thickorigin", "multithickorigin"),
        (
            Part::ThinExternalOrigin,
            "extthinorigin",
            "multiextthinorigin",
        ),
        (Part::ThinOrigin, "thinorigin", "multithinorigin"),
    ] {
        match used_as(part) {
            0 => {}
            1 => words.extend(["origin", one]),
            _ => words.extend(["origin", one, many]),
        }
    }
    let is_thin_snapshot = matches!(
        vg.lv(lv).first(),
        Some(SegmentType::Thin(thin)) if thin.origin.is_some() || thin.external_origin.is_some()
    );
    if relations.is_cow(lv) {
        words.extend(["snapshot", "thicksnapshot"]);
    } else if is_thin_snapshot {
        words.extend(["snapshot", "thinsnapshot"]);
    }
    words
}
