//! An array of md's, opened: its legs become devices, and what is believed of them one device.
//!
//! It is only read. Whoever opens it sees what people were told when its superblocks were looked
//! at: they are looked at again, and a leg that says something else by now is refused.

mod legs;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use block::file::{Access, FileOptions};
use block::partition::PartitionDevice;
use block::{BlockingDevice, Device, Kind, Range};
use dm::home::Home;
use dm::raid::md::{self, Claim, Layout, Spans, Zones};
use dm::raid::{
    Array, ArrayConfig, ArrayLeg, Assembly, Consistency, Described, Doubt, FirstSync, Geometry, Keeping, LegReads,
    LegState, Position, Reshape, Scheme,
};
use dm::table::{self, Area, Piece, Table};
use dm::volume::Volume;

use super::{Whole, narrow, open_whole};
use crate::host::{ArrayMember, ArrayPlace};

pub(crate) use legs::{ArrayLegs, open_legs};

/// How long an array may take to start: nothing is read for that.
const START_MAX: Duration = Duration::from_secs(30);

/// Opens an array.
pub(super) fn open_array(place: &ArrayPlace, options: FileOptions) -> block::Result<Whole> {
    let name = &place.name;
    if options.access == Access::ReadWrite {
        let what = format!(
            "{name} is an array of md's, which is only read here so far; to write it, assemble it \
             with mdadm"
        );
        return Err(block::Error::new(Kind::Open, what));
    }
    let Opened {
        array,
        starts,
        legs,
        files,
    } = Opened::open(place, options)?;
    let device = match &array.layout {
        Layout::Redundant(geometry) => redundant(place, &array, *geometry, (legs, starts)),
        Layout::Striped(zones) => plain(name, pieces_of_zones(zones, &legs)),
        Layout::Linear(spans) => plain(name, pieces_of_spans(spans, &legs)),
        Layout::Unknown => {
            let what = "legs are missing, and without them nothing of it can be read".to_owned();
            Err(dm::Error::new(dm::Kind::Device, what))
        }
    };
    Ok((device.map_err(|error| unusable(place, &error))?, files))
}

/// An array whose legs are open.
struct Opened {
    array: md::Array,
    starts: Starts,
    legs: Vec<Option<Arc<dyn Device>>>,
    files: Vec<OwnedFd>,
}

impl Opened {
    fn open(place: &ArrayPlace, options: FileOptions) -> block::Result<Self> {
        let claims: Vec<Claim> = place
            .members
            .iter()
            .map(|member| member.claim.clone())
            .collect();
        let array = md::judge(&claims).map_err(|error| unusable(place, &error))?;
        let starts = starts(place, &array).map_err(|error| unusable(place, &error))?;
        let (mut legs, mut files) = (Vec::new(), Vec::new());
        for leg in &array.legs {
            let Some(leg) = leg else {
                legs.push(None);
                continue;
            };
            let (device, own) = open_leg(&place.members[leg.claim], starts.old, options)?;
            legs.push(Some(device));
            files.extend(own);
        }
        Ok(Self {
            array,
            starts,
            legs,
            files,
        })
    }
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

/// The data of a leg, with what is `before` them, and the files that it is in.
fn open_leg(member: &ArrayMember, before: u64, options: FileOptions) -> block::Result<Whole> {
    let (whole, files) = open_whole(&member.location, options)?;
    let device = narrow(whole, &member.location, &member.name)?;
    let mut io = BlockingDevice::open(&*device)?;
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
            list.decode(&bytes).map_err(unusable)?
        }
        None => Vec::new(),
    };
    let window = Range::new(data.start() - before, data.len() + before);
    let part = PartitionDevice::window(device, window, member.name.clone())?;
    let part: Arc<dyn Device> = Arc::new(part);
    if bad.is_empty() {
        return Ok((part, files));
    }
    let leg = without_bad(&member.name, &part, (before, bad)).map_err(unusable)?;
    Ok((leg, files))
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
    plain(name, pieces)
}

/// An array with copies or parity.
fn redundant(
    place: &ArrayPlace,
    array: &md::Array,
    geometry: Geometry,
    (legs, starts): (Vec<Option<Arc<dyn Device>>>, Starts),
) -> dm::Result<Arc<dyn Device>> {
    let (config, devices) = config(place, array, geometry, legs);
    let infos: Vec<_> = devices.iter().map(|device| device.info()).collect();
    let assembly = assembly(place, array, geometry, starts);
    let machine = Array::believing(config, assembly, &infos)?;
    let home = Home::start(place.name.clone(), machine, devices, START_MAX)?;
    Ok(Arc::new(home.face(0).expect("an array has one face")))
}

/// What an array with copies or parity is made of.
fn config(
    place: &ArrayPlace,
    array: &md::Array,
    geometry: Geometry,
    legs: Vec<Option<Arc<dyn Device>>>,
) -> (ArrayConfig, Vec<Arc<dyn Device>>) {
    let mut devices: Vec<Arc<dyn Device>> = Vec::new();
    let mut config = ArrayConfig {
        name: place.name.clone(),
        id: 0,
        size: geometry.size(),
        described: Described::new(geometry, geometry.sync_size().max(1)),
        legs: Vec::new(),
        leg_names: Vec::new(),
        access: Access::ReadOnly,
        first: FirstSync::Due,
        consistency: Consistency::None,
        keeping: Keeping::Mapper,
    };
    for (number, (leg, device)) in array.legs.iter().zip(legs).enumerate() {
        let member = leg.map(|leg| &place.members[leg.claim]);
        let name = member.map_or_else(|| format!("leg {number}"), |member| member.name.clone());
        config.leg_names.push(name);
        let reads = match member {
            Some(member) if member.claim.is_write_mostly => LegReads::Last,
            _ => LegReads::Equally,
        };
        config.legs.push(ArrayLeg {
            data: device.as_ref().map(|_| devices.len()),
            reads,
            ..ArrayLeg::default()
        });
        devices.extend(device);
    }
    assert_eq!(config.legs.len(), array.legs.len(), "each leg is one");
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
fn plain(name: &str, pieces: Vec<Piece>) -> dm::Result<Arc<dyn Device>> {
    let table = Table::compile(&table::Layout::new(name, pieces)?)?;
    let access = block::Access::ReadOnly;
    Ok(Arc::new(Volume::new(name, access, table)))
}

fn area(legs: &[Option<Arc<dyn Device>>], leg: usize, start: u64) -> Area {
    let device = legs[leg]
        .as_ref()
        .expect("without a leg there is no layout");
    Area::device(Arc::clone(device), start)
}

fn pieces_of_zones(zones: &Zones, legs: &[Option<Arc<dyn Device>>]) -> Vec<Piece> {
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

fn pieces_of_spans(spans: &Spans, legs: &[Option<Arc<dyn Device>>]) -> Vec<Piece> {
    let piece = |(leg, len): (usize, u64)| Piece::of(len, area(legs, leg, 0));
    let used = spans.lengths().enumerate().filter(|(_, len)| *len > 0);
    used.map(piece).collect()
}
