//! Which legs are written, which are away, and what becomes of an array that loses one.
//!
//! A leg that does not do a write or a flush that the others have done is away: it lacks something,
//! and nothing of it is read any more. Before the write is answered all others have it on record,
//! so that it is not believed after a cut. Where not enough legs would be left, none is given up:
//! the write fails, and where it was is in doubt.
//!
//! A leg that fails to answer a read keeps its place: what it should hold is made up and written to
//! it once more.

use block::{Error, Kind, Range};

use super::Notice;
use super::array::{Action, Array};
use super::assembly::LegState;
use super::doubt::Doubt;
use super::geometry::{Geometry, Scheme};
use super::jobs::Gather;
use super::keeping::Keeping;
use super::superblock::Position;
use super::update::{all_legs, only};
use super::view::{LegSet, View};

/// How far an array was brought in sync once, and legs are filled: regions in front of which all
/// is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// `None`: all is in sync.
    pub(super) synced: Option<u64>,
    /// By leg; `None`: it lacks nothing.
    pub(super) filled: Vec<Option<u64>>,
}

impl Geometry {
    /// Whether all can be read without these legs.
    pub(super) fn survives(&self, lost: LegSet) -> bool {
        match self.scheme() {
            Scheme::Parity(..) | Scheme::Mirror => {
                lost.count_ones() as usize <= self.scheme().redundancy(self.legs())
            }
            Scheme::Copies(_) => (0..self.legs() as u64).all(|chunk| {
                let offset = chunk * self.chunk();
                let is_there = |copy| lost & only(self.spot(offset, copy).leg) == 0;
                offset >= self.size() || (0..self.copies()).any(is_there)
            }),
        }
    }
}

impl Array {
    pub(super) fn view_mut(&mut self) -> &mut View {
        let view = self.view.as_mut().expect("it has started");
        std::sync::Arc::make_mut(view)
    }

    /// Its legs, with those that a reshape takes away until it is over.
    pub(super) fn all(&self) -> LegSet {
        all_legs(self.config.legs.len())
    }

    /// The legs that get what is written.
    pub(super) fn writable(&self) -> LegSet {
        let view = self.view.as_ref().expect("it has started");
        let legs = view.assembly().legs.iter().enumerate();
        let is_written = |state: &LegState| match state {
            LegState::Valid { .. } | LegState::Filling => true,
            LegState::Missing | LegState::Untrusted(_) => false,
        };
        let written = legs.filter(|(_, state)| is_written(state));
        written.fold(0, |set, (leg, _)| set | only(leg))
    }

    /// The legs that hold all that they should, but where regions say otherwise.
    pub(super) fn whole_legs(&self) -> LegSet {
        let view = self.view.as_ref().expect("it has started");
        let legs = view.assembly().legs.iter().enumerate();
        let whole = legs.filter(|(_, state)| matches!(state, LegState::Valid { .. }));
        whole.fold(0, |set, (leg, _)| set | only(leg))
    }

    /// Whether each leg holds all that it should: nothing has to be made up.
    pub(super) fn holds_all(&self) -> bool {
        let view = self.view.as_ref().expect("it has started");
        let missed = &view.assembly().missed;
        self.is_whole() && missed.iter().all(|missed| *missed == Doubt::Nowhere)
    }

    /// Whether no leg is away or being filled.
    pub(super) fn is_whole(&self) -> bool {
        self.whole_legs() == self.all()
    }

    /// Whether all can be read without these legs.
    pub(super) fn survives(&self, lost: LegSet) -> bool {
        self.config.geometry().survives(lost)
    }

    /// What is to be said of a write or a flush to legs: those that have not done it are away,
    /// unless they are needed.
    pub(super) fn judge(&mut self, gather: Gather) -> Option<Error> {
        let error = gather.error?;
        // What a reshape has taken away meanwhile is not needed.
        let bad = gather.bad & self.all();
        let lost = self.all() & !self.whole_legs() | bad;
        if !self.survives(lost) {
            return Some(error.within(&self.config.name));
        }
        for leg in super::update::members(bad) {
            self.lose(leg, &error);
        }
        None
    }

    /// A leg is away from now on.
    fn lose(&mut self, leg: usize, why: &Error) {
        if self.writable() & only(leg) == 0 {
            return;
        }
        let assembly = self.view_mut().assembly_mut();
        assembly.legs[leg] = LegState::Untrusted(format!("it failed: {why}"));
        assembly.missed[leg] = Doubt::Nowhere;
        if let Some(record) = &mut self.record {
            record.lose(leg);
            // Others may be needed that lack marks, as reads take them.
            let mut view = self.view.take().expect("it has started");
            self.believe_unmarked(std::sync::Arc::make_mut(&mut view));
            self.view = Some(view);
        }
        self.unsaid |= only(leg);
        self.mending.restart();
        self.notices.push(Notice::Lost(leg));
        self.map_changed = true;
    }

    /// What goes together may not, here: a write was cut short.
    pub(super) fn doubt(&mut self, sync: Range) {
        let shape = self.regions.marked().clone();
        for region in self.regions.of(sync) {
            self.view_mut().assembly_mut().dirty.add(region, &shape);
        }
        self.journal
            .iter_mut()
            .for_each(super::journal::Journal::doubt);
        self.mending.restart();
        self.map_changed = true;
    }

    /// Legs whose metadata say that they are of the array.
    pub(super) fn recorded(&self) -> LegSet {
        let metas = self.config.legs.iter().enumerate();
        let metas = metas.filter(|(_, leg)| leg.meta.is_some());
        let metas = metas.fold(0, |set, (leg, _)| set | only(leg));
        self.writable() & metas & !self.unsaid
    }

    /// How far all is, if what was mended so far is durable.
    pub(super) fn progress(&self) -> Progress {
        let view = self.view.as_ref().expect("it has started");
        let assembly = view.assembly();
        Progress {
            // What a write was cut short in bitmaps say; md's are only looked at from there on.
            synced: match self.config.keeping {
                Keeping::Mapper => view.raw().next(0),
                Keeping::Md(_) => {
                    let doubts = [view.raw(), &assembly.dirty];
                    doubts.iter().filter_map(|doubt| doubt.next(0)).min()
                }
            },
            filled: assembly
                .missed
                .iter()
                .map(|missed| missed.next(0))
                .collect(),
        }
    }

    /// Writes down how far all is.
    pub(super) fn record_progress(&mut self, progress: Progress) {
        self.say_progress(progress);
        self.record.as_mut().expect("it is written").change();
    }

    /// The same, whenever superblocks are written next.
    pub(super) fn say_progress(&mut self, progress: Progress) {
        let size = self.regions.marked().region();
        let synced = progress.synced.map(|region| region * size);
        let record = self.record.as_mut().expect("it is written");
        record.superblock.array_resync_offset = match synced {
            Some(byte) => Position::Sector(byte / 512),
            None => Position::End,
        };
        self.durable = progress;
    }

    /// How much is in sync, and what is being done about the rest.
    pub(super) fn synced(&self) -> (u64, Action) {
        let size = self.config.geometry().sync_size();
        let Some(view) = &self.view else {
            return (0, Action::Idle);
        };
        let assembly = view.assembly();
        if self.record.is_none() {
            return (assembly.synced.min(size), Action::Idle);
        }
        let shape = self.regions.marked();
        let mut undone = assembly.dirty.regions(shape);
        let is_alike = undone.merge(&view.raw().regions(shape));
        assert!(is_alike, "they are of one shape");
        let legs = assembly.legs.iter().zip(&assembly.missed);
        let filled = legs.filter(|(state, _)| **state == LegState::Filling);
        let lacks = filled.map(|(_, missed)| missed.regions(shape).count());
        let lacks = lacks.max();
        // What was never computed is not known to be right, nor what is being moved.
        let is_known = *view.raw() == Doubt::Nowhere && assembly.reshape.is_none();
        let (undone, action) = match (undone.count(), lacks) {
            (0, None) => (0, Action::Idle),
            (undone, None) if is_known && !self.mends_doubt() => (undone, Action::Waiting),
            (undone, None) => (undone, Action::Resync),
            (_, Some(lacks)) => (lacks, Action::Recover),
        };
        if let (Action::Idle, Some(reshape)) = (action, &assembly.reshape) {
            let edge = reshape.new_edge().min(size);
            let done = if reshape.backwards { size - edge } else { edge };
            return (done, Action::Reshape);
        }
        let left = undone.saturating_mul(shape.region()).min(size);
        (size - left, action)
    }

    /// How far a leg is recovered, as its superblock says.
    pub(super) fn recovered(&self, leg: usize) -> Position {
        let view = self.view.as_ref().expect("it has started");
        if view.assembly().legs[leg] != LegState::Filling {
            return Position::End;
        }
        let size = self.regions.marked().region();
        if self.reshape().is_some() {
            return Position::Sector(0);
        }
        match self.durable.filled[leg] {
            Some(region) => self.position_on_legs(region * size),
            None => Position::Sector(self.config.geometry().leg_size() / 512),
        }
    }

    /// The place on legs in front of which nothing is of a byte that is kept in sync, or of those
    /// behind it.
    fn position_on_legs(&self, sync: u64) -> Position {
        let geometry = self.config.geometry();
        let byte = match geometry.scheme() {
            Scheme::Parity(..) | Scheme::Mirror => sync,
            Scheme::Copies(copies) if copies.far > 1 => 0,
            // A row holds what is in front of its chunks, too.
            Scheme::Copies(_) => {
                let start = geometry.spot(sync, 0).start;
                start - start % geometry.chunk()
            }
        };
        Position::Sector(byte / 512)
    }

    /// Why nothing is written; `None`: it is.
    pub(super) fn refusal(&self) -> Option<Error> {
        if self.record.is_some() {
            return None;
        }
        let what = format!("{} is read-only{}", self.config.name, self.why_still);
        Some(Error::new(Kind::InvalidRequest, what))
    }
}
