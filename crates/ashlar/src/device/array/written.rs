//! An array that is written: by the machine that writes LVM2's, with what md keeps on its legs.
//!
//! ```text
//!   legs opened, locked ─▸ looked at once more ─▸ judged ─▸ data ──────────────────────╮
//!                                                        ╲▸ superblock + bitmap, log ─▸ machine
//! ```
//!
//! Stripes and legs that follow one another keep nothing that writing changes: they are written as
//! they are read. What md does and this does not is refused, by name: reading goes on.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use block::{BlockingDevice, Device, Range};
use dm::home::{Home, NoticeHandler};
use dm::raid::bitmap::{Bitmap, len_for};
use dm::raid::md::{
    self, Claim, Guard, Kept, KeptBitmap, KeptLeg, KeptSuperblock, Layout, Verdict,
};
use dm::raid::{Array, ArrayConfig, Consistency, Described, Geometry, Keeping, Notice};

use super::beside::Beside;
use super::{Opened, START_MAX, config, partial};
use crate::host::ArrayPlace;
use crate::notices;

/// Regions of an array without a bitmap: what is brought in sync at a time.
const REGIONS: u64 = 4096;
/// The smallest of them, in bytes.
const REGION_MIN: u64 = 1 << 20;
/// Bytes of a bitmap that say all but its regions.
const HEADER: u64 = 512;

/// Why an array is not written, though it is read.
pub(super) fn refusal(place: &ArrayPlace, array: &md::Array) -> Option<String> {
    let all = |what: fn(&Claim) -> bool| place.members.iter().any(|member| what(&member.claim));
    let mut verdicts = array.verdicts.iter();
    let (what, remedy) = match () {
        () if array.reshaping.is_some() => ("is being reshaped", "let mdadm finish that first"),
        () if all(|claim| claim.guard == Guard::Journal) => (
            "has a journal, which is not written",
            "assemble it with mdadm",
        ),
        () if all(|claim| {
            matches!(claim.guard, Guard::PartialParity(_)) && claim.shape.level != 5
        }) =>
        {
            (
                "has a log of partial parity, which is for level 5 alone",
                "give it a bitmap: mdadm --grow --consistency-policy=bitmap",
            )
        }
        () if all(|claim| claim.bad_blocks.is_some())
            && !matches!(array.layout, Layout::Redundant(_)) =>
        {
            (
                "has legs with lists of bad blocks, which nothing makes up for",
                "assemble it with mdadm, or copy what can be read",
            )
        }
        () if verdicts.any(|verdict| matches!(verdict, Verdict::Replacement(_))) => (
            "has a leg that is being replaced",
            "let mdadm finish that first",
        ),
        () => return None,
    };
    Some(format!("{} {what}; to write it, {remedy}", place.name))
}

/// An array with copies or parity, written.
pub(super) fn redundant(
    place: &ArrayPlace,
    (opened, geometry): (Opened, Geometry),
) -> dm::Result<Home<Array>> {
    let whole = |leg: &super::OpenLeg| (leg.whole.clone(), leg.whole.info().size);
    let mut raw: Vec<Option<KeptSuperblock>> = Vec::new();
    for (leg, open) in opened.array.legs.iter().zip(&opened.legs) {
        let (Some(leg), Some(open)) = (leg, open) else {
            raw.push(None);
            continue;
        };
        let (device, size) = whole(open);
        raw.push(Some(superblock(
            &place.members[leg.claim].claim,
            &device,
            size,
        )?));
    }
    let log = partial::ready(place, (&opened, geometry), &mut raw)?;
    let freshest = opened.array.legs.iter().zip(&raw);
    let freshest = freshest
        .filter(|(leg, _)| leg.is_some_and(|leg| leg.claim == opened.array.freshest))
        .find_map(|(_, raw)| raw.clone())
        .ok_or_else(|| damaged("the freshest of its superblocks is no leg's"))?;
    let bitmap = bitmap(place, &opened)?;
    let region = match &bitmap {
        Some(bitmap) => bitmap.dirty.region(),
        None => region_for(geometry.sync_size()),
    };
    let described = Described::new(geometry, region);
    let regions = bitmap.as_ref().map(|bitmap| bitmap.dirty.regions());
    let (mut config, mut devices) = config(place, &opened, described);
    let mut kept = Vec::new();
    for (position, open) in opened.legs.iter().enumerate() {
        let (Some(open), Some(superblock)) = (open, raw[position].take()) else {
            kept.push(None);
            continue;
        };
        let (device, size) = whole(open);
        let name = &config.leg_names[position];
        let claim = superblock.claim(size);
        let beside = Beside::find(&claim, &superblock, (size, regions, log))
            .map_err(|why| damaged(&format!("{name}: {why}")))?;
        config.legs[position].meta = Some(devices.len());
        devices.push(beside.open(name, &device)?);
        kept.push(Some(KeptLeg {
            device: size,
            superblock,
        }));
    }
    config.access = block::Access::ReadWrite;
    if log.is_some() {
        config.consistency = Consistency::Journal;
    }
    config.keeping = Keeping::Md(Box::new(Kept {
        legs: kept,
        freshest,
        bitmap: bitmap.as_ref().map(KeptBitmap::from),
        opened: now(),
    }));
    start(place, config, devices)
}

fn start(
    place: &ArrayPlace,
    config: ArrayConfig,
    devices: Vec<Arc<dyn Device>>,
) -> dm::Result<Home<Array>> {
    let infos: Vec<_> = devices.iter().map(|device| device.info()).collect();
    let handler = handler(place.name.clone(), config.leg_names.clone());
    let machine = Array::new(config, &infos)?;
    Home::start_with_notices(&*place.name, machine, devices, START_MAX, handler)
}

/// What an array that is written is to its users. It is written until the last of them has gone.
pub(super) fn device(home: &Home<Array>) -> Arc<dyn Device> {
    Arc::new(home.face(0).expect("an array has one face"))
}

/// Tells people what happens to an array.
fn handler(name: String, legs: Vec<String>) -> NoticeHandler<Array> {
    Box::new(move |notice, _| match notice {
        Notice::Lost(leg) => notices::tell(&format!(
            "WARNING: {name} lost its leg {} and goes on without it, with less redundancy: check \
             the disk; ashlar md add puts another one in its place.",
            legs[leg]
        )),
        Notice::Stuck(_) => notices::tell(&format!(
            "WARNING: A part of {name} cannot be brought in sync: a leg cannot be read or \
             written there. It is tried again."
        )),
        Notice::Filled(_) | Notice::Reshaped => {}
    })
}

/// What stands at the place of a leg's superblock.
fn superblock(claim: &Claim, device: &Arc<dyn Device>, size: u64) -> dm::Result<KeptSuperblock> {
    let at = claim.place.offset(size);
    let at = at.ok_or_else(|| damaged("a leg is too small by now"))?;
    let len = md::Superblock1::LEN as u64;
    let bytes = read(device, Range::new(at, len))?;
    let read = KeptSuperblock::decode(&bytes, claim.place, size)?;
    read.filter(|read| read.claim(size) == *claim)
        .ok_or_else(|| damaged("a leg has changed since it was looked at"))
}

/// The bitmap of the freshest leg, regions aside; `None`: there is none.
fn bitmap(place: &ArrayPlace, opened: &Opened) -> dm::Result<Option<Bitmap>> {
    let freshest = opened.array.freshest;
    let Some(start) = place.members[freshest].claim.bitmap else {
        return Ok(None);
    };
    let mut legs = opened.array.legs.iter().zip(&opened.legs);
    let open = legs.find(|(leg, _)| leg.is_some_and(|leg| leg.claim == freshest));
    let open = open.and_then(|(_, open)| open.as_ref());
    let open = open.ok_or_else(|| damaged("the freshest of its superblocks is no leg's"))?;
    let size = open.whole.info().size;
    let room = size.saturating_sub(start);
    let head = read(&open.whole, Range::new(start, HEADER.min(room)))?;
    let (sectors, region) = Bitmap::shape(&head)?;
    let regions = sectors.saturating_mul(512).div_ceil(region.max(1));
    let len = len_for(regions.min(dm::raid::bitmap::REGIONS_MAX)).min(room);
    let bitmap = Bitmap::decode(&read(&open.whole, Range::new(start, len))?)?;
    bitmap
        .map(Some)
        .ok_or_else(|| damaged("its superblock says that it has a bitmap, and there is none"))
}

fn read(device: &Arc<dyn Device>, range: Range) -> dm::Result<Vec<u8>> {
    let read = BlockingDevice::open(&**device).and_then(|mut io| io.read(range));
    read.map_err(|error| dm::Error::device("", error))
}

/// Bytes of a region, where nothing on the disks says so.
fn region_for(sync_size: u64) -> u64 {
    let region = (sync_size / REGIONS).next_power_of_two();
    let region = region.clamp(REGION_MIN, 1 << 31);
    assert!(region.is_power_of_two(), "regions are powers of two");
    region
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

pub(super) fn damaged(what: &str) -> dm::Error {
    dm::Error::new(dm::Kind::Damaged, what)
}
