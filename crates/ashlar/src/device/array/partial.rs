//! The logs of partial parity of an array that is about to be written: what they say is done, and
//! they are empty when the machine starts.
//!
//! ```text
//!   clean ───────────────────────────────────────────────────────────▸ logs emptied ─▸ machine
//!   not ─▸ entries recovered ─▸ legs flushed ─▸ superblocks: clean ───▸     "
//!                                           ╰─▸ some do not add up,
//!                                               or a leg is missing ──▸     "    brings in sync
//! ```
//!
//! As the kernel does it: an array of which all entries add up, and there are some, is clean then;
//! any other one is brought in sync, all of it. A cut before logs are empty leaves entries that may
//! be recovered once more, as nothing else was written; one behind that an array that is clean, or
//! one with nothing to recover.
//!
//! A leg that joins holds what it held when it was away: its log is emptied, and not read.

use block::{BlockingDevice, Range};
use dm::raid::md::partial::{Logs, Recovery, empty, room_for, signature};
use dm::raid::md::{Guard, KeptSuperblock};
use dm::raid::{Geometry, Position};

use super::Opened;
use super::written::{damaged, now};
use crate::host::ArrayPlace;

/// The legs of an array, and their logs.
struct Legs {
    /// Its data, its whole device, and where its log is.
    all: Vec<Option<(BlockingDevice, BlockingDevice, Range)>>,
    names: Vec<String>,
}

/// Makes the logs of an array ready, if it has some: how many bytes of each are used then.
/// Superblocks that change meanwhile are those that are given.
pub(super) fn ready(
    place: &ArrayPlace,
    (opened, geometry): (&Opened, Geometry),
    raw: &mut [Option<KeptSuperblock>],
) -> dm::Result<Option<u64>> {
    let Some(mut legs) = Legs::open(place, opened)? else {
        return Ok(None);
    };
    let freshest = &place.members[opened.array.freshest].claim;
    let signature = signature(&freshest.uuid);
    let joining = opened.joining.map(|(leg, _)| leg);
    if opened.array.resync != Position::End {
        let known = opened.array.legs.iter().zip(&legs.all).enumerate();
        let known = known.map(|(leg, (member, open))| {
            let valid = member.filter(|_| joining != Some(leg))?.valid;
            Some((valid.bytes(), open.as_ref()?.2.len()))
        });
        let recovery = Recovery {
            geometry,
            signature,
            legs: known.collect(),
        };
        let outcome = recovery.run(&mut legs)?;
        legs.flush()?;
        let is_whole =
            |leg: &Option<dm::raid::md::Leg>| leg.is_some_and(|leg| leg.valid == Position::End);
        let is_whole = joining.is_none() && opened.array.legs.iter().all(is_whole);
        // What was never in sync no entry tells of.
        let was_synced = opened.array.resync == Position::Sector(0);
        if outcome.is_complete() && is_whole && was_synced {
            legs.say_clean(raw)?;
        }
    }
    let lens = legs.all.iter().flatten().map(|(_, _, log)| log.len());
    let len = lens.min().unwrap_or(0);
    if len < room_for(geometry.chunk()) {
        let what = format!(
            "its logs of partial parity of {len} bytes have no room for a chunk of {}",
            geometry.chunk()
        );
        return Err(damaged(&what));
    }
    legs.empty(signature)?;
    Ok(Some(len))
}

impl Legs {
    /// `None`: the array has no logs.
    fn open(place: &ArrayPlace, opened: &Opened) -> dm::Result<Option<Self>> {
        let guard = |claim: usize| place.members[claim].claim.guard;
        if !matches!(guard(opened.array.freshest), Guard::PartialParity(_)) {
            return Ok(None);
        }
        let (mut all, mut names) = (Vec::new(), Vec::new());
        for (leg, open) in opened.array.legs.iter().zip(&opened.legs) {
            let (Some(leg), Some(open)) = (leg, open) else {
                all.push(None);
                names.push(String::new());
                continue;
            };
            let name = &place.members[leg.claim].name;
            let Guard::PartialParity(log) = guard(leg.claim) else {
                return Err(damaged(&format!("{name} has no log of partial parity")));
            };
            let device = |device: &dyn block::Device| {
                BlockingDevice::open(device).map_err(|error| dm::Error::device(name, error))
            };
            all.push(Some((device(&*open.data)?, device(&*open.whole)?, log)));
            names.push(name.clone());
        }
        Ok(Some(Self { all, names }))
    }

    fn leg(&mut self, leg: usize) -> (&mut (BlockingDevice, BlockingDevice, Range), &str) {
        let open = self.all[leg].as_mut().expect("who is asked is there");
        (open, &self.names[leg])
    }

    fn flush(&mut self) -> dm::Result<()> {
        for ((data, _, _), name) in self.each() {
            data.flush()
                .map_err(|error| dm::Error::device(name, error))?;
        }
        Ok(())
    }

    fn each(
        &mut self,
    ) -> impl Iterator<Item = (&mut (BlockingDevice, BlockingDevice, Range), &str)> {
        let all = self.all.iter_mut().zip(&self.names);
        all.filter_map(|(open, name)| Some((open.as_mut()?, name.as_str())))
    }

    /// Superblocks say that nothing is being written.
    fn say_clean(&mut self, raw: &mut [Option<KeptSuperblock>]) -> dm::Result<()> {
        for (leg, superblock) in raw.iter_mut().enumerate() {
            let Some(superblock) = superblock else {
                continue;
            };
            let bytes = superblock.rest(now());
            let ((_, whole, _), name) = self.leg(leg);
            let at = superblock.place().offset(whole.info().size);
            let at = at.ok_or_else(|| damaged("a leg is too small by now"))?;
            let written = whole.write_at(&bytes, at).and_then(|()| whole.flush());
            written.map_err(|error| dm::Error::device(name, error))?;
        }
        Ok(())
    }

    /// Nothing is in the logs.
    fn empty(&mut self, signature: u32) -> dm::Result<()> {
        for ((_, whole, log), name) in self.each() {
            let written = whole.write_at(&empty(signature, 0, log.len()), log.start());
            let written = written.and_then(|()| whole.flush());
            written.map_err(|error| dm::Error::device(name, error))?;
        }
        Ok(())
    }
}

impl Logs for Legs {
    fn log(&mut self, leg: usize, range: Range) -> dm::Result<Vec<u8>> {
        let ((_, whole, log), name) = self.leg(leg);
        assert!(range.end() <= log.len(), "it is in the log");
        let range = Range::new(log.start() + range.start(), range.len());
        whole
            .read(range)
            .map_err(|error| dm::Error::device(name, error))
    }

    fn read(&mut self, leg: usize, range: Range) -> dm::Result<Vec<u8>> {
        let ((data, _, _), name) = self.leg(leg);
        data.read(range)
            .map_err(|error| dm::Error::device(name, error))
    }

    fn write(&mut self, leg: usize, start: u64, bytes: &[u8]) -> dm::Result<()> {
        let ((data, _, _), name) = self.leg(leg);
        let written = data.write_at(bytes, start);
        written.map_err(|error| dm::Error::device(name, error))
    }
}
