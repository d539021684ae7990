//! An array of md's, opened: its legs become devices, and what is believed of them one device.
//!
//! Its superblocks are looked at again, since it may have been written meanwhile; a leg that
//! changes while it is opened is looked at once more. Who reads changes nothing; `written.rs` is
//! how it is written, `partial.rs` what is made right before, `beside.rs` what superblock and
//! bitmap of a leg are then, `shared.rs` and `legs_held.rs` see to it that only one machine does,
//! `listed.rs` takes blocks off lists of bad ones, `legs.rs` opens legs by themselves, and
//! `changed.rs` with a leg more or less.

mod beside;
mod changed;
mod legs;
mod legs_held;
mod listed;
mod partial;
mod shared;
mod written;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use block::file::{Access, FileOptions};
use block::partition::PartitionDevice;
use block::{BlockingDevice, Device, Kind, Range};
use dm::home::Home;
use dm::raid::md::{self, Claim, Layout, Spans, Zones};
use dm::raid::{
    Array, ArrayConfig, ArrayLeg, Assembly, Consistency, Described, Doubt, FirstSync, Geometry,
    Keeping, LegContent, LegReads, LegState, Position, Reshape, Scheme,
};
use dm::table::{self, Area, Piece, Table};
use dm::volume::Volume;

use super::{Whole, narrow, open_whole};
use crate::host::{ArrayMember, ArrayPlace, Location, Place};
use crate::scan::Source;
use legs_held::HeldLeg;
use listed::ListedLeg;
use shared::open_once;
use written::refusal;

pub(crate) use changed::{AtWork, Members, open_changed};
pub(crate) use legs::{ArrayLegs, open_legs};
pub(crate) use legs_held::HeldLegs;

/// How long an array may take to start: superblocks and bitmaps are read for that, at most.
const START_MAX: Duration = Duration::from_secs(30);
/// How often an array is looked at that changes while it is opened.
const TRIES: usize = 4;

/// Opens an array.
pub(super) fn open_array(place: &ArrayPlace, options: FileOptions) -> block::Result<Whole> {
    let device = open_once(place, options.access, || open_new(place, options))?;
    let mut files = Vec::new();
    for member in &place.members {
        files.extend(files_of(&member.location, options.access)?);
    }
    Ok((device, files))
}

fn open_new(place: &ArrayPlace, options: FileOptions) -> block::Result<Arc<dyn Device>> {
    let (place, mut opened) = Opened::open_now(place, options, Members::AsFound)?;
    let (name, access) = (&place.name, options.access);
    let is_written = access == Access::ReadWrite;
    if is_written && let Some(why) = refusal(&place, &opened.array) {
        return Err(block::Error::new(Kind::Open, why));
    }
    let layout = std::mem::replace(&mut opened.array.layout, Layout::Unknown);
    let device = match &layout {
        Layout::Redundant(geometry) if is_written => {
            let home = written::redundant(&place, (opened, *geometry));
            home.map(|home| written::device(&home))
        }
        Layout::Redundant(geometry) => redundant(&place, &opened, *geometry),
        Layout::Striped(zones) => plain(name, pieces_of_zones(zones, &opened.legs), access),
        Layout::Linear(spans) => plain(name, pieces_of_spans(spans, &opened.legs), access),
        Layout::Unknown => {
            let what = "legs are missing, and without them nothing of it can be read".to_owned();
            Err(dm::Error::new(dm::Kind::Device, what))
        }
    };
    device.map_err(|error| unusable(&place, &error))
}

/// The files in which a device is, opened by themselves: whoever locks an array locks them, and
/// lets go of nothing else.
fn files_of(location: &Location, access: Access) -> block::Result<Vec<OwnedFd>> {
    match &location.place {
        Place::File(path) => {
            let (whole, files) = open_whole(&Location::whole(path), FileOptions::new(access))?;
            drop(whole);
            Ok(files)
        }
        Place::Nbd(_) => Ok(Vec::new()),
        Place::Array(array) => {
            let members = array.members.iter();
            let files: block::Result<Vec<Vec<OwnedFd>>> = members
                .map(|member| files_of(&member.location, access))
                .collect();
            Ok(files?.into_iter().flatten().collect())
        }
    }
}

/// An array whose legs are open.
struct Opened {
    array: md::Array,
    starts: Starts,
    legs: Vec<Option<OpenLeg>>,
    files: Vec<OwnedFd>,
    /// The leg that a device becomes which was none, and what is on it.
    joining: Option<(usize, LegContent)>,
}

/// A leg that is open.
struct OpenLeg {
    /// All of its device.
    whole: Arc<dyn Device>,
    /// Its data.
    data: Arc<dyn Device>,
}

impl Opened {
    /// Opens the legs of an array as it is now, whatever it was when it was looked at.
    fn open_now(
        place: &ArrayPlace,
        options: FileOptions,
        members: Members<'_>,
    ) -> block::Result<(ArrayPlace, Self)> {
        let mut tries = TRIES;
        loop {
            assert!(tries > 0, "the last one is final");
            tries -= 1;
            let place = look_again(place)?;
            match Self::open(&place, options, members) {
                Err(error) if error.kind() == Kind::Gone && tries > 0 => {}
                opened => return Ok((place, opened?)),
            }
        }
    }

    fn open(place: &ArrayPlace, options: FileOptions, members: Members<'_>) -> block::Result<Self> {
        let claims: Vec<Claim> = place
            .members
            .iter()
            .map(|member| member.claim.clone())
            .collect();
        let mut array = md::judge(&claims).map_err(|error| unusable(place, &error))?;
        let joining = members.change(place, &mut array)?;
        let starts = starts(place, &array).map_err(|error| unusable(place, &error))?;
        let mut wholes = Vec::new();
        for leg in array.legs.iter().flatten() {
            let member = &place.members[leg.claim];
            let (whole, files) = open_whole(&member.location, options)?;
            wholes.push((
                member,
                narrow(whole, &member.location, &member.name)?,
                files,
            ));
        }
        let mut files = Vec::new();
        if options.access == Access::ReadWrite {
            let legs = wholes.iter_mut();
            let legs = legs.map(|(member, _, files)| {
                let files = std::mem::take(files);
                (&member.location, member.name.as_str(), files)
            });
            let held = Arc::new(HeldLegs::lock(legs.collect())?);
            for (_, whole, _) in &mut wholes {
                *whole = HeldLeg::over(Arc::clone(whole), &held);
            }
        }
        let mut wholes = wholes.into_iter();
        let mut legs = Vec::new();
        for leg in &array.legs {
            if leg.is_none() {
                legs.push(None);
                continue;
            }
            let (member, whole, own) = wholes.next().expect("each leg is open");
            let data = data_of(member, &whole, (starts.old, options.access))?;
            legs.push(Some(OpenLeg { whole, data }));
            files.extend(own);
        }
        Ok(Self {
            array,
            starts,
            legs,
            files,
            joining,
        })
    }
}

/// The same array, with what its devices say now; without those that are of another one by now.
fn look_again(place: &ArrayPlace) -> block::Result<ArrayPlace> {
    let uuid = place.members.first().map(|member| member.claim.uuid);
    let mut members = Vec::new();
    for member in &place.members {
        let failed = |error: &dyn std::fmt::Display| {
            let what = format!("cannot look at {}: {error}", member.name);
            block::Error::new(Kind::Io, what)
        };
        let source = Source::open(&member.location, &member.name);
        let source = source.map_err(|error| failed(&error))?;
        let mut read = |range: Range| {
            let read = source.read(range.start(), range.len() as usize);
            read.map_err(|error| dm::Error::new(dm::Kind::Device, error.to_string()))
        };
        let claim = md::find(source.size(), &mut read).map_err(|error| failed(&error))?;
        if let Some(claim) = claim.filter(|claim| Some(claim.uuid) == uuid) {
            members.push(ArrayMember {
                claim,
                ..member.clone()
            });
        }
    }
    if members.is_empty() {
        let what = format!(
            "{} is gone: none of its devices is of it any more",
            place.name
        );
        return Err(block::Error::new(Kind::Gone, what));
    }
    Ok(ArrayPlace {
        name: place.name.clone(),
        members,
    })
}

fn unusable(place: &ArrayPlace, error: &dm::Error) -> block::Error {
    let what = format!("{} cannot be used: {error}", place.name);
    block::Error::new(Kind::Invalid, what)
}

/// Where data begin on each leg, from where its window begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Starts {
    /// Not 0 where they move to the front.
    old: u64,
    new: u64,
}

/// Legs whose data move have to move alike.
fn starts(place: &ArrayPlace, array: &md::Array) -> dm::Result<Starts> {
    if array.reshaping.is_none() {
        return Ok(Starts::default());
    }
    let mut all = array.legs.iter().flatten().map(|leg| {
        let claim = &place.members[leg.claim].claim;
        let (old, new) = (claim.data.start(), claim.new_data_start);
        let window = old.min(new);
        Starts {
            old: old - window,
            new: new - window,
        }
    });
    let first = all.next().unwrap_or_default();
    if all.any(|other| other != first) {
        let what = "it is reshaped, and the data of its legs move by different distances";
        return Err(dm::Error::new(dm::Kind::InvalidLayout, what));
    }
    Ok(first)
}

/// The data of a leg, with what is `before` them. What is listed as bad cannot be read.
fn data_of(
    member: &ArrayMember,
    device: &Arc<dyn Device>,
    (before, access): (u64, Access),
) -> block::Result<Arc<dyn Device>> {
    let mut io = BlockingDevice::open(&**device)?;
    let mut read = |range: Range| io.read(range).map_err(|error| dm::Error::device("", error));
    let found = md::find(device.info().size, &mut read);
    if !found.is_ok_and(|found| found.as_ref() == Some(&member.claim)) {
        let what = format!(
            "{} has changed since it was looked at; try again",
            member.name
        );
        return Err(block::Error::new(Kind::Gone, what));
    }
    let data = member.claim.data;
    assert!(
        before <= data.start(),
        "data do not begin before their device"
    );
    let unusable = |error: dm::Error| block::Error::new(Kind::Invalid, error.to_string());
    let bad = match member.claim.bad_blocks {
        Some(list) => {
            let bytes = io.read(list.place)?;
            list.entries(&bytes).map_err(unusable)?
        }
        None => Vec::new(),
    };
    let window = Range::new(data.start() - before, data.len() + before);
    let part = PartitionDevice::window(Arc::clone(device), window, member.name.clone())?;
    let part: Arc<dyn Device> = Arc::new(part);
    if bad.is_empty() {
        return Ok(part);
    }
    if let (Access::ReadWrite, Some(list)) = (access, member.claim.bad_blocks) {
        return written_with_bad(member, device, (part, list.place), bad);
    }
    let bad = bad.into_iter().map(|(_, range)| range).collect();
    without_bad(&member.name, &part, (before, bad)).map_err(unusable)
}

/// The data of a leg that is written, with its list.
fn written_with_bad(
    member: &ArrayMember,
    device: &Arc<dyn Device>,
    (data, list): (Arc<dyn Device>, Range),
    bad: Vec<(u64, Range)>,
) -> block::Result<Arc<dyn Device>> {
    let superblock = member.claim.place.offset(device.info().size);
    let superblock = superblock.map(|at| Range::new(at, md::Superblock1::LEN as u64));
    let mut others = [Some(member.claim.data), superblock].into_iter().flatten();
    if others.any(|other| other.intersection(list).is_some()) {
        let what = format!(
            "{}: its list of bad blocks is among other things",
            member.name
        );
        return Err(block::Error::new(Kind::Invalid, what));
    }
    let list = PartitionDevice::window(Arc::clone(device), list, member.name.clone())?;
    Ok(ListedLeg::over(data, Arc::new(list), bad))
}

/// A leg whose `bad` bytes, counted from its data on, fail when they are read: md knows that
/// another leg was written instead.
fn without_bad(
    name: &str,
    leg: &Arc<dyn Device>,
    (before, mut bad): (u64, Vec<Range>),
) -> dm::Result<Arc<dyn Device>> {
    bad.sort_unstable_by_key(|range| range.start());
    let (size, mut at, mut pieces) = (leg.info().size, 0, Vec::new());
    let whole = |start: u64, end: u64| Piece::of(end - start, Area::device(Arc::clone(leg), start));
    for range in bad {
        let start = range.start().saturating_add(before).clamp(at, size);
        let end = range.end().saturating_add(before).clamp(at, size);
        if start > at {
            pieces.push(whole(at, start));
        }
        if end > start {
            pieces.push(Piece::error(end - start, "md's list of bad blocks"));
        }
        at = end.max(at);
    }
    if at < size {
        pieces.push(whole(at, size));
    }
    plain(name, pieces, Access::ReadOnly)
}

/// An array with copies or parity.
fn redundant(
    place: &ArrayPlace,
    opened: &Opened,
    geometry: Geometry,
) -> dm::Result<Arc<dyn Device>> {
    let others = opened.array.legs.len().saturating_sub(geometry.legs());
    let described = Described::new(geometry, geometry.sync_size().max(1)).with_leaving(others);
    let (config, devices) = config(place, opened, described);
    let infos: Vec<_> = devices.iter().map(|device| device.info()).collect();
    let assembly = assembly(place, &opened.array, geometry, opened.starts);
    let machine = Array::believing(config, assembly, &infos)?;
    let home = Home::start(place.name.clone(), machine, devices, START_MAX)?;
    Ok(Arc::new(home.face(0).expect("an array has one face")))
}

/// What an array with copies or parity is made of.
fn config(
    place: &ArrayPlace,
    opened: &Opened,
    described: Described,
) -> (ArrayConfig, Vec<Arc<dyn Device>>) {
    let mut devices: Vec<Arc<dyn Device>> = Vec::new();
    let mut config = ArrayConfig {
        name: place.name.clone(),
        id: 0,
        size: described.geometry.size(),
        described,
        legs: Vec::new(),
        leg_names: Vec::new(),
        access: Access::ReadOnly,
        first: FirstSync::Due,
        consistency: Consistency::None,
        keeping: Keeping::Mapper,
    };
    let legs = opened.array.legs.iter().zip(&opened.legs);
    for (number, (leg, open)) in legs.enumerate() {
        let member = leg.map(|leg| &place.members[leg.claim]);
        let name = member.map_or_else(|| format!("leg {number}"), |member| member.name.clone());
        config.leg_names.push(name);
        let reads = match member {
            Some(member) if member.claim.is_write_mostly => LegReads::Last,
            _ => LegReads::Equally,
        };
        let joining = opened.joining.filter(|(leg, _)| *leg == number);
        config.legs.push(ArrayLeg {
            data: open.as_ref().map(|_| devices.len()),
            reads,
            content: joining.map_or(LegContent::Kept, |(_, content)| content),
            ..ArrayLeg::default()
        });
        devices.extend(open.as_ref().map(|open| Arc::clone(&open.data)));
    }
    assert_eq!(
        config.legs.len(),
        opened.array.legs.len(),
        "each leg is one"
    );
    (config, devices)
}

/// What is believed of its legs.
fn assembly(place: &ArrayPlace, array: &md::Array, geometry: Geometry, starts: Starts) -> Assembly {
    let reshape = array.reshaping.map(|reshaping| Reshape {
        from: geometry,
        to: reshaping.after,
        position: reshaping.position.bytes(),
        backwards: reshaping.backwards,
        new_start: starts.new,
        says: None,
    });
    let state = |leg: &Option<md::Leg>| match leg {
        None => LegState::Missing,
        Some(leg) => LegState::Valid {
            until: leg.valid.bytes(),
        },
    };
    // Where it was not stopped cleanly parity may be of another moment, and copies may differ.
    let is_clean = array.resync == Position::End;
    let has_parity = matches!(geometry.scheme(), Scheme::Parity(..));
    Assembly {
        synced: if has_parity {
            u64::MAX
        } else {
            array.resync.bytes()
        },
        dirty: if is_clean {
            Doubt::Nowhere
        } else {
            Doubt::Everywhere
        },
        data_start: starts.old,
        reshape,
        events: place.members[array.freshest].claim.events,
        ..Assembly::of(array.legs.iter().map(state).collect())
    }
}

/// A device of pieces, without state.
fn plain(name: &str, pieces: Vec<Piece>, access: Access) -> dm::Result<Arc<dyn Device>> {
    let table = Table::compile(&table::Layout::new(name, pieces)?)?;
    Ok(Arc::new(Volume::new(name, access, table)))
}

fn area(legs: &[Option<OpenLeg>], leg: usize, start: u64) -> Area {
    let open = legs[leg]
        .as_ref()
        .expect("without a leg there is no layout");
    Area::device(Arc::clone(&open.data), start)
}

fn pieces_of_zones(zones: &Zones, legs: &[Option<OpenLeg>]) -> Vec<Piece> {
    let piece = |zone: md::Stripes| {
        let areas: Vec<Area> = zone
            .legs
            .iter()
            .map(|leg| area(legs, *leg, zone.leg_start))
            .collect();
        Piece::in_turns(zone.len, zones.chunk(), areas)
    };
    zones.stripes().map(piece).collect()
}

fn pieces_of_spans(spans: &Spans, legs: &[Option<OpenLeg>]) -> Vec<Piece> {
    let piece = |(leg, len): (usize, u64)| Piece::of(len, area(legs, leg, 0));
    let used = spans.lengths().enumerate().filter(|(_, len)| *len > 0);
    used.map(piece).collect()
}
