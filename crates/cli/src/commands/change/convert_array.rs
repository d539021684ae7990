//! `lvconvert` of arrays: copies, images that are replaced, types that become each other. Levels
//! are in `convert_level.rs`.

use std::collections::BTreeSet;

use lvm2::Sectors;
use lvm2::model::{LvId, PvId, RaidFamily, RaidLevel, SegmentType};
use lvm2::plan::display_size;
use lvm2::plan::logical::{
    ArraySplit, CopiesChange, Form, MirrorLog, Replacement, Takeover, change_copies,
    change_region_size, merge_copy, repair_array, replace_images, split_copies, take_over,
    track_copy,
};

use super::arguments::invalid;
use super::arrays::{level, level_of, state};
use super::chosen::missing;
use super::convert_level::{change_type, is_striped};
use super::finder::Finder;
use super::limits::{new_region_size, region_size};
use super::lvconvert::{Count, asked_copies, state as mirror_state};
use super::lvcreate::mirror_log;
use super::volumes::{TYPE, places, policy};
use super::work::{Work, failed, planned};
use crate::args::{Arguments, Error, Flag, LvName};
use ashlar::apply::{Question, Tolerated};
use ashlar::scan::{FoundVg, Scan};

/// `--replace`
pub(super) const REPLACE: Flag = Flag::value(
    "replace",
    "PV",
    "RAID: put other images, on the devices that are named behind the volume or on any, in the \
     place of those on this device. May be given several times.",
);

/// `-I`
pub(super) const CHUNK: Flag = Flag::value(
    "stripesize",
    "Size",
    "The chunks that raid1 gets where it becomes raid4 or raid5, 64 KiB where nothing is said, or \
     that raid4, raid5 and raid6 get by a reshape; KiB where there is no unit.",
)
.short('I');

/// What becomes of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Another type over the same extents.
    Type(Takeover),
    /// Another type, with parity or copies that come or go.
    Level(Form),
    /// Copies in an array.
    Copies(Count),
    /// Regions of this size.
    Regions(Sectors),
}

/// The volume that is meant, in what is found under the locks.
pub(super) fn find<'s>(scan: &'s Scan, volume: &LvName) -> ashlar::Result<(&'s FoundVg, LvId)> {
    let found = scan.find_group(&volume.vg)?;
    let id = found.model.lv_by_name(&volume.lv);
    let id = id.ok_or_else(|| missing(&volume.vg, &volume.lv))?;
    Ok((found, id))
}

/// Whether a volume is an array now.
pub(super) fn is_array(work: &Work<'_>, volume: &LvName) -> Result<bool, Error> {
    let scan = work.scan()?;
    let (found, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    Ok(level_of(found, id).is_some())
}

/// Converts a volume that is an array, or becomes one; `false`: it is neither.
pub(super) fn convert(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<bool, Error> {
    let scan = work.scan()?;
    let (found, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    let now = level_of(found, id);
    let is_mirror = super::volumes::copies(&found.model, id) > 1 && now.is_none();
    let copies = match now {
        Some(RaidLevel::Raid1) => super::volumes::copies(&found.model, id),
        _ => 1,
    };
    let is_many = is_striped(found, id);
    let Some(aim) = aim(arguments, work, (now, is_mirror, copies), is_many)? else {
        return Ok(false);
    };
    if arguments.has(&CHUNK) && !matches!(aim, Aim::Level(_)) {
        return Err(Error::usage(
            "--stripesize is for raid1 that becomes raid4 or raid5; other chunks need a reshape, \
             which is not done here.",
        ));
    }
    match aim {
        Aim::Level(to) => change_type(arguments, work, (volume, to), words)?,
        Aim::Type(to) => become_type(work, volume, to)?,
        Aim::Regions(size) => set_regions(work, volume, size)?,
        Aim::Copies(count) => {
            let wanted = count.of(copies, &volume.lv)?;
            let name = format!("{}/{}", volume.vg, volume.lv);
            if wanted == copies && copies > 1 {
                work.warn(&format!("{name} already has image count of {wanted}."));
                work.note(&format!("Logical volume {name} successfully converted."));
                return Ok(true);
            }
            set_copies(arguments, work, (volume, wanted), words)?;
            if wanted > copies {
                work.note("Conversion starts after activation.");
            }
        }
    }
    Ok(true)
}

/// What the arguments ask of a volume: its level, whether it is a mirror, and its copies.
fn aim(
    arguments: &Arguments,
    work: &Work<'_>,
    (now, is_mirror, copies): (Option<RaidLevel>, bool, usize),
    is_striped: bool,
) -> Result<Option<Aim>, Error> {
    let count = asked_copies(arguments)?;
    let log = mirror_log(arguments)?;
    let is_raid1 = now == Some(RaidLevel::Raid1);
    let name = arguments.value(&TYPE);
    let to = name.and_then(level);
    let is_plain = now.is_none_or(|now| now.family() == RaidFamily::Raid0);
    let becomes_array = name.is_none() && count.is_some() && !is_mirror;
    if becomes_array && log.is_some() && (now.is_some() || makes_arrays(work)) {
        let below = |count: Count| count.of(copies, "").is_err();
        if !count.is_some_and(below) {
            return Err(Error::failed(
                "--corelog and --mirrorlog are only compatible with mirror devices",
            ));
        }
    }
    Ok(match (name, to) {
        (Some(_), Some(RaidLevel::Raid1)) if is_mirror => Some(Aim::Type(Takeover::Raid1(
            new_region_size(arguments, work)?,
        ))),
        (Some(_), Some(RaidLevel::Raid1)) if is_striped || now.is_some() && !is_raid1 => {
            Some(Aim::Level(Form::Raid(RaidLevel::Raid1)))
        }
        (Some(_), Some(RaidLevel::Raid1)) => {
            Some(Aim::Copies(count.unwrap_or(Count::Exactly(copies.max(2)))))
        }
        (Some(_), Some(to)) if is_plain && to.family() == RaidFamily::Raid0 => {
            Some(Aim::Type(Takeover::Raid0(to)))
        }
        (Some(_), Some(to)) if count.is_none() => Some(Aim::Level(Form::Raid(to))),
        (Some(name), Some(_)) => {
            return Err(Error::usage(format!("--mirrors is not for {name}.")));
        }
        (Some("striped"), _) if now.is_some() && is_plain => Some(Aim::Type(Takeover::Striped)),
        (Some("striped"), _) if now.is_some() && !is_raid1 => Some(Aim::Level(Form::Striped)),
        (Some("linear"), _) if now.is_some() && !is_raid1 => Some(Aim::Level(Form::Linear)),
        (Some("linear" | "striped"), _) if is_raid1 => Some(Aim::Copies(Count::Exactly(1))),
        (Some("mirror"), _) if now.is_some() => {
            let log = log.unwrap_or(MirrorLog::Disk);
            // What is known of the array is asked for under the locks.
            let unknown = lvm2::plan::logical::ArrayState::OutOfSync;
            Some(Aim::Type(Takeover::Mirror(log, unknown)))
        }
        (None, _) if now.is_some() && count.is_none() => region_size(arguments)?.map(Aim::Regions),
        (None, _) if now.is_some() => count.map(Aim::Copies),
        (None, _) if !is_mirror && makes_arrays(work) => count.map(Aim::Copies),
        _ => None,
    })
}

/// Whether copies are kept by arrays where nothing is said.
pub(super) fn makes_arrays(work: &Work<'_>) -> bool {
    work.host().config.string("global/mirror_segtype_default") != Some("mirror")
}

fn become_type(work: &mut Work<'_>, volume: &LvName, to: Takeover) -> Result<(), Error> {
    let (host, at_work) = (work.host().clone(), work.arrays()?);
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let to = match to {
            Takeover::Mirror(log, _) => Takeover::Mirror(log, state(scan, found, id, &at_work)?),
            // The others are made from the first one.
            Takeover::Raid1(_) => {
                mirror_state(scan, &host, found, id)?;
                to
            }
            to => to,
        };
        planned(take_over(&found.model, &volume.lv, to, author))
    })
    .map(drop)
}

/// `--regionsize` alone.
fn set_regions(work: &mut Work<'_>, volume: &LvName, size: Sectors) -> Result<(), Error> {
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let mut planned = planned(change_region_size(&found.model, &volume.lv, size, author))?;
        let (Some(SegmentType::Raid(raid)), Some(_)) =
            (found.model.lv(id).first(), planned.change.vg())
        else {
            return Ok(planned);
        };
        let name = format!("{}/{}", volume.vg, volume.lv);
        planned.questions.push(Question {
            text: format!(
                "Do you really want to change the region_size {} of LV {name} to {}? [y/n]: ",
                display_size(raid.region_size),
                display_size(size)
            ),
            refusal: format!("Logical volume {name} NOT converted."),
        });
        Ok(planned)
    })
    .map(drop)
}

fn set_copies(
    arguments: &Arguments,
    work: &mut Work<'_>,
    (volume, copies): (&LvName, usize),
    words: &[String],
) -> Result<(), Error> {
    let (asked, new) = (region_size(arguments)?, new_region_size(arguments, work)?);
    let policy = policy(arguments)?;
    let (finder, at_work) = (work.finder(), work.arrays()?);
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let places = places(scan, found, &finder, words)?;
        let change = CopiesChange {
            volume: &volume.lv,
            copies,
            region_size: if level_of(found, id).is_some() {
                asked
            } else {
                new
            },
            places: places.as_ref(),
            policy,
            state: state(scan, found, id, &at_work)?,
        };
        planned(change_copies(&found.model, &change, author))
    })
    .map(drop)
}

/// `--splitmirrors` of an array.
pub(super) fn split(
    work: &mut Work<'_>,
    volume: &LvName,
    (count, name): (usize, &str),
    words: &[String],
) -> Result<(), Error> {
    let (finder, at_work) = (work.finder(), work.arrays()?);
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let places = places(scan, found, &finder, words)?;
        let split = ArraySplit {
            volume: &volume.lv,
            count,
            name,
            places: places.as_ref(),
            state: state(scan, found, id, &at_work)?,
        };
        planned(split_copies(&found.model, &split, author))
    })
    .map(drop)
}

/// `--splitmirrors 1 --trackchanges`
pub(super) fn track(work: &mut Work<'_>, volume: &LvName, words: &[String]) -> Result<(), Error> {
    let (finder, at_work) = (work.finder(), work.arrays()?);
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let places = places(scan, found, &finder, words)?;
        let state = state(scan, found, id, &at_work)?;
        let how = (places.as_ref(), state);
        planned(track_copy(&found.model, &volume.lv, how, author))
    })
    .map(drop)
}

/// `--merge` of an image that was split off.
pub(super) fn merge(work: &mut Work<'_>, image: &LvName) -> Result<(), Error> {
    let served = work.served();
    let request = work.request_of(&[&image.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, image)?;
        if served.contains(&found.model.lv(id).uuid) {
            return Err(in_use(found, id));
        }
        planned(merge_copy(&found.model, &image.lv, author))
    })
    .map(drop)
}

fn in_use(group: &FoundVg, id: LvId) -> ashlar::Error {
    let name = group.model.lv(id).name();
    let what = format!(
        "Logical volume {}/{name} in use: stop that before it goes on as an image",
        group.name
    );
    ashlar::Error::new(ashlar::Kind::Refused, what)
}

/// The physical volumes that values name.
pub(super) fn named(
    scan: &Scan,
    group: &FoundVg,
    finder: &Finder,
    names: &[String],
) -> ashlar::Result<BTreeSet<PvId>> {
    let find = |name: &String| {
        let pv = finder.member(scan, group, name);
        pv.ok_or_else(|| {
            let what = format!(
                "Physical Volume \"{name}\" not found in Volume Group \"{}\".",
                group.name
            );
            ashlar::Error::new(ashlar::Kind::NotFound, what)
        })
    };
    names.iter().map(find).collect()
}

/// `--replace`
pub(super) fn replace(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<(), Error> {
    if asked_copies(arguments)?.is_some() || arguments.has(&TYPE) {
        return Err(Error::usage(
            "--replace takes devices, and neither --mirrors nor --type.",
        ));
    }
    let policy = policy(arguments)?;
    let names: Vec<String> = arguments.values(&REPLACE).map(str::to_owned).collect();
    let (finder, at_work) = (work.finder(), work.arrays()?);
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let (pvs, places) = (
            named(scan, found, &finder, &names)?,
            places(scan, found, &finder, words)?,
        );
        let replacement = Replacement {
            volume: &volume.lv,
            pvs: &pvs,
            places: places.as_ref(),
            policy,
            state: state(scan, found, id, &at_work)?,
        };
        planned(replace_images(&found.model, &replacement, author))
    })
    .map(drop)
}

/// `--repair` of an array: other images in the place of those that are lost.
pub(super) fn repair(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<(), Error> {
    let policy = policy(arguments)?;
    let (finder, at_work) = (work.finder(), work.arrays()?);
    let mut request = work.request_of(&[&volume.vg]);
    request.tolerated.push(Tolerated::Missing);
    let changed = work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let lost = found
            .members
            .iter()
            .filter(|member| member.presence.usable().is_none());
        let lost: BTreeSet<PvId> = lost.map(|member| member.id).collect();
        let places = places(scan, found, &finder, words)?;
        let replacement = Replacement {
            volume: &volume.lv,
            pvs: &BTreeSet::new(),
            places: places.as_ref(),
            policy,
            state: state(scan, found, id, &at_work)?,
        };
        planned(repair_array(&found.model, &replacement, &lost, author))
    });
    match changed {
        Err(error) if error.to_string().ends_with("Nothing to repair.") => {
            // As in stock: that is no failure.
            work.note(&error.to_string());
            Ok(())
        }
        changed => changed.map(drop),
    }
}

/// How many copies `--splitmirrors` names.
pub(super) fn split_count(flag: &Flag, text: Option<&str>) -> Result<usize, Error> {
    let text = text.unwrap_or_default();
    text.parse().map_err(|_| invalid(flag, text))
}
