//! An array that gets a leg, or loses one, on order: opened with it, or without it.
//!
//! ```text
//!   judged ─▸ a spare, or a leg that was away, takes a place that is free ─▸ filled by the machine
//!          ╲▸ a leg that is not wanted is not opened ─▸ one block is written ─▸ the others say so
//! ```
//!
//! The machine that writes arrays does what has to be done, in its order: nothing is on record
//! before what it says is durable. A leg that was away lacks what was marked since, where the
//! bitmap knows that; else everything.

use std::sync::Arc;
use std::time::Duration;

use block::file::{Access, FileOptions};
use block::{BlockingDevice, Device, Kind, Range};
use dm::home::Home;
use dm::raid::md::{self, Layout, Leg, Role, Verdict};
use dm::raid::{Array, LegContent, Position, Status};

use super::written::{self, refusal};
use super::{Opened, unusable};
use crate::host::{ArrayPlace, Location};

/// How long an array may take to say how it is: it answers between two requests.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Which devices an array is opened with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Members<'a> {
    /// Those that are its legs.
    AsFound,
    /// This one, too, which takes a place that is free.
    With(&'a Location),
    /// Those but for this one.
    Without(&'a Location),
}

/// An array that is written, and what it says of itself.
pub(crate) struct AtWork {
    home: Home<Array>,
    device: Arc<dyn Device>,
}

/// Opens an array for writing, with other members than it has.
pub(crate) fn open_changed(place: &ArrayPlace, members: Members<'_>) -> block::Result<AtWork> {
    let options = FileOptions::new(Access::ReadWrite);
    let (place, opened) = Opened::open_now(place, options, members)?;
    if let Some(why) = refusal(&place, &opened.array) {
        return Err(block::Error::new(Kind::Open, why));
    }
    let Layout::Redundant(geometry) = opened.array.layout else {
        let what = format!(
            "{} has neither copies nor parity: it has no leg to spare, and has no use for another \
             one",
            place.name
        );
        return Err(block::Error::new(Kind::Unsupported, what));
    };
    let home = written::redundant(&place, (opened, geometry));
    let home = home.map_err(|error| unusable(&place, &error))?;
    let device = written::device(&home);
    Ok(AtWork { home, device })
}

impl AtWork {
    /// How it is.
    pub(crate) fn status(&self) -> block::Result<Status> {
        let status = self.home.status(ANSWER_MAX);
        status.map_err(|error| block::Error::new(Kind::Io, error.to_string()))
    }

    /// Writes a block as it is: then all legs say which of them there are.
    pub(crate) fn touch(&self) -> block::Result<()> {
        let info = self.device.info();
        let len = u64::from(info.logical_block.max(4096)).min(info.size);
        let mut io = BlockingDevice::open(&*self.device)?;
        let bytes = io.read(Range::new(0, len))?;
        io.write_at(&bytes, 0)?;
        io.flush()
    }
}

impl Members<'_> {
    /// The array with these; the leg that a device becomes which was none, and what it holds.
    pub(super) fn change(
        self,
        place: &ArrayPlace,
        array: &mut md::Array,
    ) -> block::Result<Option<(usize, LegContent)>> {
        let find = |location: &Location| {
            let mut members = place.members.iter();
            let found = members.position(|member| member.location == *location);
            found.ok_or_else(|| {
                let what = format!("{location} is not of {}", place.name);
                block::Error::new(Kind::Invalid, what)
            })
        };
        match self {
            Self::AsFound => Ok(None),
            Self::With(location) => {
                let claim = find(location)?;
                let (leg, content) = free_place(place, array, claim)?;
                assert!(array.legs[leg].is_none(), "nobody is driven out");
                let valid = Position::Sector(0);
                array.legs[leg] = Some(Leg { claim, valid });
                Ok(Some((leg, content)))
            }
            Self::Without(location) => {
                let claim = find(location)?;
                let mut legs = array.legs.iter_mut();
                let leg = legs.find(|leg| leg.is_some_and(|leg| leg.claim == claim));
                let leg = leg.ok_or_else(|| {
                    let what = format!("{location} is no leg of {}", place.name);
                    block::Error::new(Kind::Invalid, what)
                })?;
                *leg = None;
                require_freshest(place, array)?;
                Ok(None)
            }
        }
    }
}

/// What the array is the freshest superblock says: it may be that of the leg that is left out, if
/// another one says the same.
fn require_freshest(place: &ArrayPlace, array: &mut md::Array) -> block::Result<()> {
    let legs = || array.legs.iter().flatten();
    let events = |leg: &&Leg| place.members[leg.claim].claim.events;
    let freshest = place.members[array.freshest].claim.events;
    let Some(newest) = legs().max_by_key(events) else {
        let what = format!("{} has no other leg", place.name);
        return Err(block::Error::new(Kind::Invalid, what));
    };
    if events(&newest) != freshest {
        let what = format!(
            "{} was cut off while superblocks were written: bring it in sync first, ashlar md add",
            place.name
        );
        return Err(block::Error::new(Kind::Invalid, what));
    }
    array.freshest = newest.claim;
    Ok(())
}

/// The place that a device takes which is none of the legs, and what is on it.
fn free_place(
    place: &ArrayPlace,
    array: &md::Array,
    claim: usize,
) -> block::Result<(usize, LegContent)> {
    let member = &place.members[claim];
    let refused = |why: &str| {
        let what = format!("{}: {} {why}", place.name, member.name);
        block::Error::new(Kind::Invalid, what)
    };
    let own = match member.claim.role() {
        Role::Leg(leg) => Some(leg as usize),
        Role::Spare | Role::Faulty | Role::Journal => None,
    };
    match array.verdicts[claim] {
        Verdict::Spare if own.is_none() => {
            let free = array.legs.iter().position(Option::is_none);
            let free = free.ok_or_else(|| refused("is a spare, and no leg is missing"))?;
            Ok((free, LegContent::Rebuild))
        }
        Verdict::Stale | Verdict::Faulty | Verdict::Spare => {
            let Some(leg) = own.filter(|leg| array.legs.get(*leg).is_some_and(Option::is_none))
            else {
                return Err(refused("was a leg whose place another one has"));
            };
            Ok((leg, LegContent::Kept))
        }
        _ => Err(refused("is no spare, and no leg that was away")),
    }
}
