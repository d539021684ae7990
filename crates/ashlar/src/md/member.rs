//! Devices that become legs, and legs that go.

use std::thread;
use std::time::{Duration, Instant};

use block::Range;
use dm::raid::md::{Array, Claim, KeptSuperblock, Role, Superblock1, Verdict, judge};
use dm::raid::{Action, LegState, Position};

use super::create::{Target, held, require_usable};
use crate::apply::random_bytes;
use crate::device::{AtWork, Members, open_changed};
use crate::host::{ArrayMember, ArrayPlace, Location};
use crate::scan::{DeviceIndex, FoundDevice, Scan};
use crate::{Error, Kind, Result};

/// How often an array is asked how far it is.
const PAUSE: Duration = Duration::from_millis(50);
/// After so long without any progress none is awaited.
const STILL: Duration = Duration::from_mins(1);

/// What a device would be to an array that it is added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coming {
    /// It is none of its devices.
    New,
    /// It is a spare, for which there is a place.
    Spare,
    /// It is a spare, and no leg is missing.
    Waiting,
    /// It was this leg, which is missing: it may lack little.
    Returns(usize),
    /// It is a leg, or holds the journal.
    There,
    /// It was of the array, and something about it does not fit any more: what it holds is not
    /// looked at.
    Unfit,
}

/// What a device would be to this array.
///
/// # Errors
///
/// There is no such array.
pub fn coming(place: &ArrayPlace, device: &Location) -> Result<Coming> {
    let mut members = place.members.iter();
    let Some(number) = members.position(|member| member.location == *device) else {
        return Ok(Coming::New);
    };
    let array = judged(place)?;
    let is_free = |leg: usize| array.legs.get(leg).is_some_and(Option::is_none);
    let own = place.members[number].claim.role();
    Ok(match (array.verdicts[number], own) {
        (Verdict::Leg(_) | Verdict::Replacement(_) | Verdict::Journal, _) => Coming::There,
        (Verdict::Stale | Verdict::Faulty | Verdict::Spare, Role::Leg(leg))
            if is_free(leg as usize) =>
        {
            Coming::Returns(leg as usize)
        }
        (Verdict::Spare, Role::Spare) if array.legs.iter().any(Option::is_none) => Coming::Spare,
        (Verdict::Spare, Role::Spare) => Coming::Waiting,
        _ => Coming::Unfit,
    })
}

/// Adds a device to an array: as a leg that is missing, filled when this returns, or as a spare;
/// which leg, if one. `look` is told how many bytes are in sync, and of how many, and may end it:
/// what was done is kept, and gone on with when the array is written next.
///
/// # Errors
///
/// The array is not written, or the device is too small, or it failed meanwhile.
pub fn add<E: From<Error>>(
    scan: &Scan,
    place: &ArrayPlace,
    device: DeviceIndex,
    look: &mut dyn FnMut(u64, u64) -> std::result::Result<(), E>,
) -> std::result::Result<Option<usize>, E> {
    require_usable(&scan.device(device).name, &held(scan, device)?)?;
    let (array, device) = (judged(place)?, scan.device(device));
    let mut place = place.clone();
    match coming(&place, &device.location)? {
        Coming::There => {
            let what = format!("{} is of {} already", device.name, place.name);
            return Err(Error::new(Kind::Refused, what).into());
        }
        Coming::Waiting => return Ok(None),
        Coming::Spare | Coming::Returns(_) => {}
        Coming::New | Coming::Unfit => {
            let claim = make_spare(&place, &array, device)?;
            let location = &device.location;
            place.members.retain(|member| member.location != *location);
            place.members.push(ArrayMember {
                location: location.clone(),
                name: device.name.clone(),
                claim,
            });
        }
    }
    let Some(free) = array.legs.iter().position(Option::is_none) else {
        return Ok(None);
    };
    let leg = match coming(&place, &device.location)? {
        Coming::Returns(leg) => leg,
        _ => free,
    };
    let work = open(&place, Members::With(&device.location))?;
    fill(&work, &place.name, Some(leg), look)?;
    Ok(Some(leg))
}

/// Brings an array in sync that is not; as [`add`].
///
/// # Errors
///
/// The same.
pub fn bring_in_sync<E: From<Error>>(
    place: &ArrayPlace,
    look: &mut dyn FnMut(u64, u64) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let work = open(place, Members::AsFound)?;
    fill(&work, &place.name, None, look)
}

/// Takes a device out of an array: the others go on without a leg, durably, and a spare is
/// forgotten. What a leg holds stays, and it may be added again. An array that is not in sync is
/// brought in sync first, of which `look` is told: what is made up for the leg later would be
/// wrong.
///
/// # Errors
///
/// The array cannot do without it, or is not written.
pub fn remove<E: From<Error>>(
    place: &ArrayPlace,
    device: &FoundDevice,
    look: &mut dyn FnMut(u64, u64) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let refused = |why: &str| {
        let what = format!("{} {why} {}", device.name, place.name);
        E::from(Error::new(Kind::Refused, what))
    };
    let mut members = place.members.iter();
    let number = members.position(|member| member.location == device.location);
    let number = number.ok_or_else(|| refused("is not of"))?;
    let array = judged(place)?;
    match array.verdicts[number] {
        Verdict::Leg(_) => {
            if array.resync != Position::End {
                bring_in_sync(place, look)?;
            }
            let work = open(place, Members::Without(&device.location))?;
            work.touch().map_err(|error| {
                let what = format!("{} cannot go on without {}", place.name, device.name);
                E::from(Error::new(Kind::Refused, what).because(error))
            })
        }
        Verdict::Replacement(_) => Err(refused("is being filled for another leg of")),
        Verdict::Journal => Err(refused("holds the journal of")),
        // Nobody misses what it says.
        _ => {
            let member = &place.members[number];
            let target = Target::open(&device.location, &device.name)?;
            let at = member.claim.place.offset(target.size());
            let at = at.ok_or_else(|| refused("is too small by now for"))?;
            Ok(target.write(&device.name, &[(at, vec![0; Superblock1::LEN])])?)
        }
    }
}

/// Makes a device a spare, durably, whatever it holds.
fn make_spare(place: &ArrayPlace, array: &Array, device: &FoundDevice) -> Result<Claim> {
    let best = &place.members[array.freshest];
    let (bytes, size) = {
        let target = Target::open(&best.location, &best.name)?;
        let at = best.claim.place.offset(target.size());
        let at = at.ok_or_else(|| changed(&best.name))?;
        let range = Range::new(at, Superblock1::LEN as u64);
        (target.read(&best.name, range)?, target.size())
    };
    let freshest = KeptSuperblock::decode(&bytes, best.claim.place, size);
    let freshest = freshest.ok().flatten();
    let freshest = freshest.filter(|read| read.claim(size) == best.claim);
    let freshest = freshest.ok_or_else(|| changed(&best.name))?;
    let others = place.members.iter();
    let others = others.filter(|member| member.location != device.location);
    let claims: Vec<Claim> = others.map(|member| member.claim.clone()).collect();
    let target = Target::open(&device.location, &device.name)?;
    let size = target.size();
    let spare = freshest.spare(&claims, size, random_bytes());
    let spare = spare.map_err(|error| {
        let what = format!("{} cannot be added to {}", device.name, place.name);
        Error::new(Kind::Refused, what).because(error)
    })?;
    target.wipe(&device.name)?;
    target.write(&device.name, &[(spare.at, spare.bytes)])?;
    assert_eq!(spare.claim.uuid, best.claim.uuid, "it joins this array");
    assert_eq!(spare.claim.role(), Role::Spare, "it holds nothing so far");
    Ok(spare.claim)
}

fn changed(name: &str) -> Error {
    let what = format!("{name} has changed since it was looked at; try again");
    Error::new(Kind::Refused, what)
}

fn judged(place: &ArrayPlace) -> Result<Array> {
    let claims: Vec<Claim> = place
        .members
        .iter()
        .map(|member| member.claim.clone())
        .collect();
    judge(&claims).map_err(|error| {
        let what = format!("{} cannot be used", place.name);
        Error::new(Kind::Refused, what).because(error)
    })
}

fn open(place: &ArrayPlace, members: Members<'_>) -> Result<AtWork> {
    open_changed(place, members).map_err(|error| {
        let what = format!("{} cannot be written", place.name);
        Error::new(Kind::Refused, what).because(error)
    })
}

/// Waits until nothing is left to be brought in sync.
fn fill<E: From<Error>>(
    work: &AtWork,
    name: &str,
    leg: Option<usize>,
    look: &mut dyn FnMut(u64, u64) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let failed = |why: String| E::from(Error::new(Kind::Device, why));
    let mut last = (0, Instant::now());
    loop {
        let status = work.status();
        let status = status.map_err(|error| failed(format!("{name}: {error}")))?;
        assert!(
            status.synced <= status.sync_size,
            "no more is in sync than there is"
        );
        assert!(
            leg.is_none_or(|leg| leg < status.legs.len()),
            "it is one of its legs"
        );
        look(status.synced, status.sync_size)?;
        let own = leg.map(|leg| &status.legs[leg].0);
        if let Some(LegState::Untrusted(why)) = own
            && status.action == Action::Idle
        {
            return Err(failed(format!("{name}: the new leg is not used: {why}")));
        }
        let is_there = own.is_none_or(|state| matches!(state, LegState::Valid { .. }));
        if status.action == Action::Idle && is_there {
            return Ok(());
        }
        if status.synced != last.0 {
            last = (status.synced, Instant::now());
        } else if last.1.elapsed() > STILL {
            let remarks = status.remarks.join("; ");
            return Err(failed(format!(
                "{name} gets no further: {} of {} bytes are in sync{}{remarks}",
                status.synced,
                status.sync_size,
                if remarks.is_empty() { "" } else { "; " },
            )));
        }
        thread::sleep(PAUSE);
    }
}
