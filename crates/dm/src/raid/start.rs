//! An array that begins to be written, and how its record is kept.

use std::sync::Arc;

use block::{Access, Buffer, Durability, Error, Kind, Request};

use super::array::{Array, Notice, Steps};
use super::assembly::{Assembly, Away, LegState};
use super::bitmap::{Bitmap, Dirty, START};
use super::config::{Consistency, FirstSync};
use super::doubt::Doubt;
use super::geometry::Scheme;
use super::jobs::{Gather, Job, Question};
use super::journal::Journal;
use super::keeping::Keeping;
use super::map::ArrayMap;
use super::record::{Claim, Ended, Level, Record, Written};
use super::regions::Regions;
use super::superblock::{Extended, FailedDevices, Position, Superblock};
use super::update::{members, only};
use super::view::View;
use crate::Result;
use crate::locks::Locks;

const SECTOR: u64 = 512;
/// A mirror is locked in pieces of at most so many bytes.
const PIECE: u64 = 1 << 20;

impl Array {
    /// Believes this, and writes if it can.
    pub(super) fn believe(&mut self, assembly: Assembly) -> Result<()> {
        let mut assembly = self.fitting(assembly)?;
        if assembly.reshape.is_none() {
            self.config.leave();
        }
        if assembly.is_new() && self.config.first == FirstSync::Assumed {
            assembly.synced = u64::MAX;
            assembly.remarks.clear();
        }
        let is_wanted = self.config.access == Access::ReadWrite;
        let why = if is_wanted {
            why_still(self, &assembly)
        } else {
            None
        };
        let mut view = View::new(&self.config, assembly);
        if let (true, None) = (is_wanted, &why) {
            self.come_alive(&mut view)?;
        }
        if let Some(why) = why {
            view.assembly_mut()
                .remarks
                .push(format!("it is read-only: {why}"));
            self.why_still = format!(": {why}");
        }
        self.show(view);
        Ok(())
    }

    /// Serves what is believed from now on.
    pub(super) fn show(&mut self, view: View) {
        let devices = self.config.legs.iter().map(|leg| leg.data).collect();
        let view = Arc::new(view);
        let map = if self.record.is_none() {
            ArrayMap::still(Arc::clone(&view), devices)
        } else {
            let reads = self.config.legs.iter().map(|leg| leg.reads).collect();
            let assembly = view.assembly();
            let start = assembly
                .reshape
                .map_or(assembly.data_start, |reshape| reshape.new_start);
            let shape = self.regions.marked();
            ArrayMap::live(*self.config.geometry(), start, (devices, reads), shape)
        };
        self.map = Arc::new(map);
        self.view = Some(view);
        if self.record.is_some() {
            let progress = self.progress();
            self.say_progress(progress);
            self.publish();
        }
    }

    /// Data lie on their legs, wherever superblocks say that they begin.
    fn fitting(&self, assembly: Assembly) -> Result<Assembly> {
        let new_start = assembly.reshape.map_or(0, |reshape| reshape.new_start);
        for start in [assembly.data_start, new_start] {
            let end = start.checked_add(self.config.geometry().leg_size());
            if end.is_none_or(|end| end > self.room) {
                let what = format!(
                    "{}: its data begin at byte {start} of legs of {} bytes",
                    self.config.name, self.room
                );
                return Err(crate::Error::new(crate::Kind::Damaged, what));
            }
        }
        Ok(assembly)
    }

    /// What is known of bytes becomes what is known of regions.
    fn come_alive(&mut self, view: &mut View) -> Result<()> {
        let geometry = *self.config.geometry();
        let size = geometry.sync_size();
        let clean = Dirty::clean(self.config.described.region_size, size)?;
        let region = clean.region();
        let synced = view.assembly().synced;
        let mut raw = Doubt::Nowhere;
        for number in 0..clean.regions() {
            if ((number + 1) * region).min(size) > synced {
                raw.add(number, &clean);
            }
        }
        let doubt = view.assembly().dirty.in_shape(&clean);
        view.assembly_mut().dirty = doubt.clone();
        let mut marked = doubt.regions(&clean);
        for other in [&view.assembly().lacking, &raw] {
            let alike = marked.merge(&other.in_shape(&clean).regions(&clean));
            assert!(alike, "they are of one shape");
        }
        for leg in 0..self.config.legs.len() {
            self.begin_leg(leg, view, &marked, &clean);
        }
        self.believe_unmarked(view);
        let assembly = view.assembly();
        let superblock = self.superblock(assembly);
        let failed = assembly.failed;
        let bitmap = self.config.keeping.bitmap(Bitmap {
            events_cleared: assembly.events_cleared,
            ..Bitmap::new(size, superblock.events, marked.clone())
        });
        let is_told = assembly.is_told;
        view.come_alive(region, raw);
        let mut record = Record::new(superblock, &bitmap, failed).within(self.bitmap_room());
        if !is_told {
            record.claim();
        }
        self.journal = self.new_journal(view);
        self.regions = Regions::new(marked);
        self.locks = Locks::new(match geometry.scheme() {
            Scheme::Mirror => PIECE.min(region),
            Scheme::Parity(..) | Scheme::Copies(_) => {
                let before = view.assembly().reshape.map_or(0, |one| one.from.chunk());
                geometry.chunk().max(before)
            }
        });
        self.record = Some(record);
        Ok(())
    }

    /// The journal of an array with parity, if it may be wanted and there is room.
    fn new_journal(&self, view: &mut View) -> Option<Journal> {
        let is_parity = matches!(self.config.geometry().scheme(), Scheme::Parity(..));
        if self.config.consistency == Consistency::None || !is_parity {
            return None;
        }
        let room = self.meta_room.expect("it has metadata");
        let journal = Journal::new(&self.config, room);
        let assembly = view.assembly_mut();
        let before = assembly.reshape.map(|reshape| reshape.from);
        let journal = journal.filter(|journal| before.is_none_or(|old| journal.suits(&old)));
        let is_whole = |leg: &LegState| *leg == LegState::Valid { until: u64::MAX };
        let is_whole = assembly.legs.iter().all(is_whole);
        if journal.is_none() && !(self.config.consistency == Consistency::Auto && is_whole) {
            assembly.remarks.push(format!(
                "it has no journal, as its metadata of {room} bytes have no room for a row: what a \
                 leg held where power is cut may be lost with the leg"
            ));
        }
        journal
    }

    /// Bytes of the bitmap that legs keep.
    fn bitmap_room(&self) -> u64 {
        if !self.config.keeping.has_bitmap() {
            return 0;
        }
        let room = self.meta_room.expect("it is written beside its legs");
        room.checked_sub(START).expect("a bitmap fits")
    }

    /// What is believed of a leg from now on.
    fn begin_leg(&mut self, leg: usize, view: &mut View, marked: &Dirty, clean: &Dirty) {
        let geometry = *self.config.geometry();
        let assembly = view.assembly_mut();
        let lacks = match (&assembly.legs[leg], assembly.away[leg]) {
            (LegState::Missing | LegState::Filling, _) | (LegState::Untrusted(_), Away::No) => {
                return;
            }
            (LegState::Valid { until: u64::MAX }, _) => {
                assembly.missed[leg] = assembly.missed[leg].in_shape(clean);
                return;
            }
            (LegState::Untrusted(_), Away::Marked) => {
                self.unsaid |= only(leg);
                marked.clone()
            }
            (LegState::Untrusted(_), Away::Long) => {
                self.unsaid |= only(leg);
                clean.filled()
            }
            (LegState::Valid { until }, _) => {
                let counts_array = matches!(geometry.scheme(), Scheme::Copies(_));
                let until = if counts_array { 0 } else { *until };
                let mut lacks = clean.filled();
                let whole = until / clean.region();
                (0..whole.min(clean.regions())).for_each(|region| lacks.clear(region));
                lacks
            }
        };
        assembly.legs[leg] = LegState::Filling;
        assembly.missed[leg] = Doubt::in_regions(lacks);
    }

    /// Legs that the others cannot do without were not away, whatever marks they lack: power was
    /// cut while these were written.
    pub(super) fn believe_unmarked(&self, view: &mut View) {
        let assembly = view.assembly_mut();
        let is_whole = |state: &LegState| matches!(state, LegState::Valid { until: u64::MAX });
        let mut from = 0;
        loop {
            let missed = assembly.missed.iter();
            let Some(region) = missed.filter_map(|missed| missed.next(from)).min() else {
                return;
            };
            from = region + 1;
            let (mut lost, mut unmarked) = (0, 0);
            for (leg, state) in assembly.legs.iter().enumerate() {
                let lacks = assembly.missed[leg].next(region) == Some(region);
                let is_there = matches!(state, LegState::Valid { .. } | LegState::Filling);
                if is_whole(state) && lacks {
                    unmarked |= only(leg);
                } else if lacks || !is_there {
                    lost |= only(leg);
                }
            }
            if !self.survives(lost | unmarked) {
                members(unmarked).for_each(|leg| assembly.missed[leg].remove(region));
            }
        }
    }

    /// What superblocks say from now on; the next writing adds to the events.
    pub(super) fn superblock(&self, assembly: &Assembly) -> Superblock {
        let data_offset = assembly.data_start / SECTOR;
        let legs = assembly.legs.iter().enumerate();
        let away = legs.filter(|(leg, state)| {
            let is_away = matches!(state, LegState::Missing | LegState::Untrusted(_));
            is_away || self.unsaid & only(*leg) != 0
        });
        let failed: FailedDevices = away.map(|(leg, _)| leg).collect();
        let geometry = self.config.geometry();
        let in_sync = Superblock::in_sync(geometry, self.config.size.min(geometry.size()), 0);
        let extended = in_sync.extended.map(|extended| Extended {
            data_offset,
            new_data_offset: data_offset,
            ..extended
        });
        let at_rest = Superblock {
            events: assembly.events,
            failed,
            extended,
            ..in_sync
        };
        match &assembly.reshape {
            Some(reshape) => reshape.said_by(&at_rest),
            None => at_rest,
        }
    }

    /// Whether legs know that the array is written.
    pub(super) fn is_claimed(&self) -> bool {
        let record = self.record.as_ref();
        record.is_some_and(|record| record.claim == Claim::Held)
    }

    /// Whether legs were told anything.
    #[cfg(any(test, feature = "explore"))]
    pub(super) fn has_said(&self) -> bool {
        let events = self.view.as_ref().map(|view| view.assembly().events);
        let record = self.record.as_ref();
        record.is_some_and(|record| Some(record.superblock.events) > events)
    }

    /// Begins rounds of the record as long as something is to be written and none is running.
    pub(super) fn pump_record(&mut self, steps: &mut Steps) {
        let legs = match &self.record {
            Some(_) if self.wants_record() => self.recorded(),
            _ => return,
        };
        let record = self.record.as_mut().expect("it is written");
        let written = record.begin(legs);
        let job = self.jobs.insert(Job::Record);
        self.write_record(job, written, steps);
        self.record_goes_on(job, steps);
    }

    fn write_record(&mut self, job: usize, written: Vec<Written>, steps: &mut Steps) {
        for Written { leg, start, bytes } in written {
            let slot = 0;
            let buffer = Buffer::copy_of(&bytes);
            let request = Request::write(0, start, Durability::Fua, buffer);
            self.ask_meta(Question { job, leg, slot }, request, steps);
        }
    }

    /// A leg has written a part of the record, or not.
    pub(super) fn record_answered(
        &mut self,
        question: Question,
        answer: &block::Completion,
        steps: &mut Steps,
    ) {
        if answer.result.is_err() {
            self.errors[question.leg] += 1;
        }
        let record = self.record.as_mut().expect("it is written");
        record.answered(question.leg, answer.result.is_ok());
        self.record_goes_on(question.job, steps);
    }

    fn record_goes_on(&mut self, job: usize, steps: &mut Steps) {
        loop {
            let legs = 0..self.config.legs.len();
            let recovered: Vec<Position> = legs.map(|leg| self.recovered(leg)).collect();
            let record = self.record.as_mut().expect("it is written");
            match record.go_on(&self.config.keeping, (&recovered, self.now)) {
                None => return,
                Some(Ok(written)) => self.write_record(job, written, steps),
                Some(Err(ended)) => {
                    self.jobs.remove(job);
                    return self.recorded_round(ended, steps);
                }
            }
        }
    }
}

/// Why an array is only read, though it was to be written.
fn why_still(array: &Array, assembly: &Assembly) -> Option<String> {
    if let Some(reshape) = &assembly.reshape {
        let why = match array.config.keeping {
            Keeping::Mapper => reshape.obstacle(assembly.legs.len(), assembly.data_start),
            Keeping::Md(_) => Some("it is being reshaped"),
        };
        if let Some(why) = why {
            return Some(why.into());
        }
    }
    let Some(room) = array.meta_room else {
        return Some("it keeps no superblocks".into());
    };
    let needed = array.config.record_len();
    if room < needed {
        return Some(format!(
            "superblock and bitmap need {needed} bytes, and there are {room}"
        ));
    }
    let is_lost = |leg: &usize| match &assembly.legs[*leg] {
        LegState::Valid { until } => *until < u64::MAX,
        _ => true,
    };
    let lost = (0..assembly.legs.len()).filter(is_lost);
    if !array.survives(lost.fold(0, |set, leg| set | only(leg))) {
        return Some("too many of its legs are missing".into());
    }
    None
}

impl Array {
    /// A round of the record is over.
    fn recorded_round(&mut self, ended: Ended, steps: &mut Steps) {
        let Ended {
            marks,
            waiters,
            failed,
            good,
            level,
            joined,
        } = ended;
        let filled = joined.into_iter().map(Notice::Filled);
        self.notices.extend(filled);
        let what = || {
            format!(
                "{}: superblocks and bitmaps cannot be written",
                self.config.name
            )
        };
        let unwritten = Error::new(Kind::Io, what());
        let mut error = (good == 0).then(|| unwritten.clone());
        if failed != 0 {
            let gather = Gather {
                out: 0,
                good,
                bad: failed,
                error: Some(unwritten),
            };
            error = error.or(self.judge(gather));
        }
        if error.is_none() {
            self.regions.mark(marks.into_iter());
        }
        if error.is_none() && level == Level::Raised {
            let record = self.record.as_mut().expect("it is written");
            return record.say_all(waiters);
        }
        for id in waiters {
            match self.jobs.get(id) {
                Job::Write(_) => self.stroke_recorded(id, error.clone(), steps),
                Job::Fence(_) => self.end_fence(id, error.clone(), steps),
                Job::Mend(_) => self.mend_recorded(id, error.is_some(), steps),
                Job::Replay(_) => self.replay_recorded(id, error.clone(), steps),
                Job::Window(_) => self.window_recorded(id, error.clone(), steps),
                Job::Moved(_) | Job::Read(_) | Job::Record | Job::Journal(_) | Job::Busy => {
                    unreachable!("it does not wait");
                }
            }
        }
    }
}
