//! The commands on arrays that are explored.
//!
//! Nobody has used these arrays: their metadata are zeros, and where they are said to be in sync
//! (`--nosync`) each image holds what its copy does.

use std::collections::BTreeSet;

use lvm2::model::{IntegrityMode, PvId, RaidLevel, SegmentType, VolumeGroup};
use lvm2::plan::logical::{
    ArrayChange, ArraySplit, ArrayState, ChecksumOptions, CopiesChange, Form, Initial, LevelChange,
    NewKind, RaidOptions, Replacement, ReshapeChange, Takeover, add_checksums, change_array,
    change_copies, change_level, change_region_size, image_rebuilt, merge_copy, rebuild_images,
    remove_checksums, repair_array, replace_images, reset_images, reshape_array, resync_array,
    split_copies, take_over, track_copy,
};
use lvm2::plan::{Author, Change};
use lvm2::{Bytes, Sectors};

use crate::apply::{array_head, reshape_head};

/// Chunks of 4 KiB.
const CHUNK: Sectors = Sectors(8);
/// Regions of an extent.
const REGION: Sectors = Sectors(128);

/// A journal, and a checksum for each sector.
const CHECKSUMS: ChecksumOptions = ChecksumOptions {
    mode: IntegrityMode::Journal,
    block_size: 512,
};

/// What is done to an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArrayStep {
    /// `lvchange`: how it is written.
    Tune,
    /// `lvconvert -m`: so many copies in all.
    Copies(usize),
    /// `lvconvert --type`, another level, or stripes.
    Level(Form),
    /// `lvconvert --type` of stripes without redundancy, and of mirrors.
    TakeOver(Takeover),
    /// `lvconvert -R`.
    Regions,
    /// `lvconvert --stripesize`, chunks twice as long.
    Reshape,
    /// `lvconvert --stripes`, with one less.
    Fewer(usize),
    /// `lvconvert --raidintegrity y`.
    Checksums,
    /// `lvconvert --raidintegrity n`.
    NoChecksums,
    /// `lvconvert --repair`, where disks are missing.
    Repair,
    /// `lvconvert --replace`, of what lies on the disk with this number.
    Replace(usize),
    /// `lvchange --rebuild`, the same.
    Rebuild(usize),
    /// What an owner says of the image with this number.
    Rebuilt(usize),
    /// `lvchange --resync`.
    Resync,
    /// `lvchange --resetfaileddevices`, of all images.
    ResetFailed,
    /// `lvconvert --splitmirrors`, under the name `split`.
    Split,
    /// The same with `--trackchanges`.
    Track,
    /// `lvconvert --merge` of what that set aside.
    Merge,
}

/// Chunks twice as long, which nobody moves here.
fn chunks(volume: &str) -> ReshapeChange<'_> {
    ReshapeChange {
        volume,
        stripes: None,
        stripe_size: Some(Sectors(2 * CHUNK.0)),
        level: None,
        places: None,
        policy: None,
        state: ArrayState::InSync,
        data_start: Some(Bytes::ZERO),
        may_shrink: true,
        head: reshape_head,
        rest_head: array_head,
    }
}

/// What the metadata of all images of an array may begin with.
fn heads(vg: &VolumeGroup, volume: &str) -> Vec<Option<Vec<u8>>> {
    let lv = vg.lv_by_name(volume).map(|id| vg.lv(id));
    let Some(SegmentType::Raid(raid)) = lv.and_then(|lv| lv.first()) else {
        return Vec::new();
    };
    raid.images.iter().map(|_| Some(vec![0x11; 4096])).collect()
}

/// Fewer stripes.
fn fewer(volume: &str, stripes: usize) -> ReshapeChange<'_> {
    ReshapeChange {
        stripes: Some(stripes),
        stripe_size: None,
        ..chunks(volume)
    }
}

/// An array of a level, of so many stripes or copies.
pub(super) fn kind(level: RaidLevel, width: usize, initial: Initial) -> NewKind {
    let is_copies = level == RaidLevel::Raid1;
    NewKind::Raid(RaidOptions {
        copies: is_copies.then_some(width),
        stripes: (!is_copies).then_some(width),
        stripe_size: (!is_copies).then_some(CHUNK),
        region_size: (level != RaidLevel::Raid0 && level != RaidLevel::Raid0Meta).then_some(REGION),
        initial,
        ..RaidOptions::of(level)
    })
}

impl ArrayStep {
    /// The command as people type it, without its arguments.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Tune => "lvchange --writebehind",
            Self::Copies(_) => "lvconvert -m",
            Self::Level(_) | Self::TakeOver(_) => "lvconvert --type",
            Self::Regions => "lvconvert --regionsize",
            Self::Reshape => "lvconvert --stripesize",
            Self::Fewer(_) => "lvconvert --stripes",
            Self::Checksums | Self::NoChecksums => "lvconvert --raidintegrity",
            Self::Repair => "lvconvert --repair",
            Self::Replace(_) => "lvconvert --replace",
            Self::Rebuild(_) => "lvchange --rebuild",
            Self::Rebuilt(_) => "serve",
            Self::Resync => "lvchange --resync",
            Self::ResetFailed => "lvchange --resetfaileddevices",
            Self::Split => "lvconvert --splitmirrors",
            Self::Track => "lvconvert --splitmirrors --trackchanges",
            Self::Merge => "lvconvert --merge",
        }
    }

    /// Disks are missing, and known by `missing`.
    pub(super) fn plan(
        self,
        vg: &VolumeGroup,
        volume: &str,
        missing: &BTreeSet<PvId>,
        author: &mut Author<'_>,
    ) -> lvm2::Result<Change> {
        let state = ArrayState::InSync;
        let on = |disk: usize| -> BTreeSet<PvId> {
            vg.pvs().nth(disk).map(|(id, _)| id).into_iter().collect()
        };
        let pvs = match self {
            Self::Replace(disk) | Self::Rebuild(disk) => on(disk),
            _ => BTreeSet::new(),
        };
        let replacement = Replacement {
            volume,
            pvs: &pvs,
            places: None,
            policy: None,
            state,
        };
        match self {
            Self::Tune => change_array(vg, volume, &[ArrayChange::WriteBehind(64)], author),
            Self::Copies(copies) => {
                let change = CopiesChange {
                    volume,
                    copies,
                    region_size: Some(REGION),
                    places: None,
                    policy: None,
                    state,
                };
                change_copies(vg, &change, author)
            }
            Self::Level(to) => change_level(vg, &level(volume, to), author),
            Self::TakeOver(to) => take_over(vg, volume, to, author),
            Self::Regions => change_region_size(vg, volume, Sectors(2 * REGION.0), author),
            Self::Reshape => reshape_array(vg, &chunks(volume), author),
            Self::Fewer(stripes) => reshape_array(vg, &fewer(volume, stripes), author),
            Self::Checksums => add_checksums(vg, volume, CHECKSUMS, author),
            Self::NoChecksums => remove_checksums(vg, volume, author),
            Self::Repair => repair_array(vg, &replacement, missing, author),
            Self::Replace(_) => replace_images(vg, &replacement, author),
            Self::Rebuild(_) => rebuild_images(vg, &replacement, author),
            Self::Rebuilt(image) => image_rebuilt(vg, &image_of(vg, volume, image), author),
            Self::Resync => resync_array(vg, volume, state, author),
            Self::ResetFailed => reset_images(vg, volume, &heads(vg, volume), author),
            Self::Split => {
                let split = ArraySplit {
                    volume,
                    count: 1,
                    name: "split",
                    places: None,
                    state,
                };
                split_copies(vg, &split, author)
            }
            Self::Track => track_copy(vg, volume, (None, state), author),
            Self::Merge => {
                let images = vg.lvs().filter(|(_, lv)| lv.is_set_aside());
                let image = images.map(|(_, lv)| lv.name().to_owned()).next();
                merge_copy(vg, &image.expect("the case has one"), author)
            }
        }
    }
}

fn level(volume: &str, to: Form) -> LevelChange<'_> {
    LevelChange {
        volume,
        to,
        region_size: Some(REGION),
        stripe_size: Some(CHUNK),
        places: None,
        policy: None,
        state: ArrayState::InSync,
        head: array_head,
    }
}

/// Which image of an array this one is.
fn image_of(vg: &VolumeGroup, volume: &str, image: usize) -> lvm2::Uuid {
    let id = vg.lv_by_name(volume).expect("the case has it");
    match vg.lv(id).first() {
        Some(SegmentType::Raid(raid)) => vg.lv(raid.images[image].data).uuid,
        other => panic!("{volume} is no array: {other:?}"),
    }
}
