//! A running array: what it is asked, what fails, and how it ends.

use std::rc::Rc;

use block::sim::{Disk, Faults, Image, Random};
use block::{Access, Range};

use super::ask::Asked;
use super::fault::{Activity, SeededFault, saboteur};
use super::shape::Shape;
use crate::explore::{Model, SECTOR, Sort, World, infos};
use crate::machine::{Event, Machine};
use crate::raid::doubt::Doubt;
use crate::raid::journal::Journal;
use crate::raid::update::{members, only};
use crate::raid::view::LegSet;
use crate::raid::{Array, Consistency, LegState};

/// Requests in flight at most.
const DEPTH: usize = 6;
/// After so many steps without an answer, none will come.
const STEPS_MAX: usize = 50_000;
/// So many steps are enough to see that it cannot go on.
const STUCK_AFTER: usize = 500;

/// What is known of an array, whoever runs it.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) model: Model,
    /// By place in what is kept in sync: whether copies or parity are right there.
    pub(super) fits: Vec<Fit>,
    /// Sectors that may hold anything, though nobody wrote that.
    pub(super) wild: Vec<bool>,
    /// Legs that hold nothing, whatever their superblocks say.
    pub(super) rebuild: LegSet,
}

/// Whether parity fits the data, and copies are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fit {
    Sure,
    /// Power was cut while a write went to the row, and no journal had it.
    Cut,
    /// A write to the row failed.
    Torn,
    /// It was never brought in sync.
    Raw,
}

/// A running array and what is known of it.
pub(super) struct Run {
    pub(super) shape: Shape,
    /// Whether rows are journaled.
    pub(super) consistency: Consistency,
    pub(super) world: World<Array>,
    pub(super) known: Known,
    pub(super) there: LegSet,
    /// Legs that need not be of use: they are not there, not whole, or failed something.
    pub(super) weak: LegSet,
    /// By sector: the last version that the journal knows nothing of, and that may not be durable.
    pub(super) unentered: Vec<u32>,
    pub(super) open: Vec<Asked>,
    pub(super) next_tag: u64,
    /// Legs that the array had lost, and requests that had failed, when it was looked at last.
    pub(super) failures: (u32, u64),
    /// It is suspended, and asked nothing.
    rests: bool,
    pub(super) activity: Rc<Activity>,
}

/// What goes wrong, besides the power.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mishap {
    /// A leg vanishes, data and metadata.
    Gone(usize),
    /// One request to the data of a leg fails.
    Data(usize, Sort),
    /// One write to the metadata of a leg fails.
    Meta(usize),
}

impl Mishap {
    pub(super) fn chosen(random: &mut Random, shape: &Shape) -> Self {
        let leg = random.index(shape.legs());
        match random.below(10) {
            0..=3 => Self::Gone(leg),
            4 => Self::Data(leg, Sort::Write),
            5 => Self::Data(leg, Sort::Flush),
            6 | 7 => Self::Data(leg, Sort::Read),
            _ => Self::Meta(leg),
        }
    }

    fn leg(self) -> usize {
        match self {
            Self::Gone(leg) | Self::Data(leg, _) | Self::Meta(leg) => leg,
        }
    }
}

impl Run {
    /// Starts an array of the legs that are there, of which some are whole.
    pub(super) fn start(
        shape: Shape,
        (images, known): (Vec<Image>, Known),
        (there, whole): (LegSet, LegSet),
        random: &mut Random,
    ) -> Result<Self, String> {
        let faults = || Faults {
            discards: shape.discards,
            residue: true,
            ..Faults::default()
        };
        let mut images = images;
        if shape.fault == Some(SeededFault::MarkUnchecked) {
            shape.mark_as_heads_say(&mut images);
        }
        let disk = |image| Disk::new("disk", image, SECTOR as u32, faults(), random.number());
        let disks = images.into_iter().map(disk).collect();
        Self::start_on(shape, (disks, known), (there, whole), random)
    }

    /// The same on disks that are running.
    pub(super) fn start_on(
        shape: Shape,
        (disks, mut known): (Vec<Disk>, Known),
        (there, whole): (LegSet, LegSet),
        random: &mut Random,
    ) -> Result<Self, String> {
        let consistency = match random.below(8) {
            0 => Consistency::None,
            _ => shape.consistency,
        };
        let sizes: Vec<u64> = disks.iter().map(|disk| disk.info().size).collect();
        let legs = (there, known.rebuild & there);
        let images: Vec<Image> = disks.iter().map(|disk| disk.content().clone()).collect();
        let keeping = shape.keeps.keeping(&shape, &images);
        let how = (Access::ReadWrite, consistency, keeping);
        let array = shape.array(legs, how, &infos(&disks, &sizes))?;
        let weak = shape.all() & !(there & whole);
        known.model.is_monotone = weak == 0;
        let activity = Rc::new(Activity::default());
        activity.journal_start.set(shape.journal_start());
        activity.is_loading.set(true);
        let saboteur = saboteur(shape.fault, &activity);
        let mut world = World::start(array, (disks, sizes), saboteur);
        world.mischief = shape.fault.and_then(SeededFault::mischief);
        Ok(Self {
            shape,
            consistency,
            world,
            known,
            there,
            weak,
            unentered: vec![0; shape.sectors() as usize],
            open: Vec::new(),
            next_tag: 0,
            failures: (0, 0),
            rests: false,
            activity,
        })
    }

    /// Waits for the start; whether it worked, which it must if what is whole suffices.
    pub(super) fn settle_start(&mut self, random: &mut Random) -> Result<bool, String> {
        while self.world.started.is_none() {
            if !self.step(random, 1 << 40) {
                return Err("the array does not start".into());
            }
        }
        let is_enough = self.shape.survives(self.weak);
        match self.world.started.as_ref().expect("it was waited for") {
            Ok(()) if self.world.machine.record.is_none() && is_enough => {
                Err("it cannot be written, though enough legs are whole".into())
            }
            Ok(()) => {
                self.failures = self.failures_now();
                self.mistake_belief();
                Ok(self.world.machine.record.is_some())
            }
            Err(error) if is_enough => Err(format!(
                "it does not start, though enough legs are whole: {error}"
            )),
            Err(_) => Ok(false),
        }
    }

    /// Makes it believe what is not so.
    fn mistake_belief(&mut self) {
        let array = &mut self.world.machine;
        if array.record.is_none() {
            return;
        }
        match self.shape.fault {
            Some(SeededFault::OutdatedBelieved) => {
                let assembly = array.view_mut().assembly_mut();
                for (state, missed) in assembly.legs.iter_mut().zip(&mut assembly.missed) {
                    if *state == LegState::Filling {
                        *state = LegState::Valid { until: u64::MAX };
                        *missed = Doubt::Nowhere;
                    }
                }
            }
            Some(SeededFault::ResyncLeftOut) => {
                array.view_mut().assembly_mut().dirty = Doubt::Nowhere;
                *array.view_mut().raw_mut() = Doubt::Nowhere;
            }
            _ => return,
        }
        array.publish();
    }

    /// Does something, or lets something happen.
    pub(super) fn act(&mut self, random: &mut Random) -> Result<(), String> {
        if self.rests {
            if random.chance(1, 4) {
                self.resume();
            }
        } else if self.open.len() < DEPTH && random.chance(1, 3) {
            self.ask(random);
        } else if random.chance(1, 40) {
            self.suspend(random)?;
            self.rests = random.chance(3, 4);
            if !self.rests {
                self.resume();
            }
        } else {
            self.step(random, 8);
        }
        self.look()
    }

    pub(super) fn resume(&mut self) {
        if std::mem::take(&mut self.rests) || self.world.suspended {
            self.activity.is_ending.set(false);
            self.world.tell(Event::Resume);
        }
    }

    /// Something goes wrong; seldom more than the array can do without.
    pub(super) fn suffer(&mut self, mishap: Mishap, random: &mut Random) {
        let leg = mishap.leg();
        let is_too_much = !self.shape.survives(self.weak | only(leg));
        if self.there & only(leg) == 0 || is_too_much && random.chance(3, 4) {
            return;
        }
        match mishap {
            Mishap::Gone(_) => {
                self.world.disks[2 * leg].vanish();
                self.world.disks[2 * leg + 1].vanish();
            }
            Mishap::Data(_, sort) => self.world.arrange(2 * leg, sort),
            Mishap::Meta(_) => self.world.arrange(2 * leg + 1, Sort::Write),
        }
        self.weak |= only(leg);
        // Another leg may be read from now on.
        self.known.model.is_monotone = false;
    }

    /// Legs of which a disk vanished, or failed a write or a flush.
    pub(super) fn lost(&self) -> LegSet {
        let is_lost = |disk: usize| self.world.disks[disk].is_gone() || self.world.failed[disk];
        let legs = (0..self.shape.legs()).filter(|leg| is_lost(2 * leg) || is_lost(2 * leg + 1));
        legs.fold(0, |set, leg| set | only(leg))
    }

    /// Lets one thing happen.
    pub(super) fn step(&mut self, random: &mut Random, patience: u64) -> bool {
        self.observe();
        self.world.step(random, patience)
    }

    /// Notes what the journal does not cover.
    pub(super) fn follow_journal(&mut self) {
        let journal = self.world.machine.journal.as_ref();
        let covers = journal.is_some_and(Journal::covers);
        for (sector, unentered) in self.unentered.iter_mut().enumerate() {
            let (_, _, issued) = self.known.model.versions(sector as u64);
            *unentered = if covers { 0 } else { issued };
        }
    }

    /// Looks what a mistake has to know.
    pub(super) fn observe(&self) {
        let array = &self.world.machine;
        let Some(view) = &array.view else { return };
        self.activity.is_loading.set(array.is_loading());
        let journal = array.journal.as_ref();
        let is_turning = journal.is_some_and(Journal::is_about_to_turn);
        self.activity.is_turning.set(is_turning);
        let legs = &view.assembly().legs;
        self.activity.is_whole.set(array.is_whole());
        self.activity
            .is_filling
            .set(legs.contains(&LegState::Filling));
    }

    /// Ends all that is in flight, and what the array does by itself.
    fn suspend(&mut self, random: &mut Random) -> Result<(), String> {
        self.activity.is_ending.set(true);
        self.world.tell(Event::Suspend);
        self.until(
            random,
            "suspended",
            |run| run.world.suspended,
            |_, _| Ok(()),
        )
    }

    /// Stops the array, whatever is in flight; `between` looks at it meanwhile.
    pub(super) fn stop(
        &mut self,
        random: &mut Random,
        between: impl FnMut(&Self, &mut Random) -> Result<(), String>,
    ) -> Result<(), String> {
        self.activity.is_ending.set(true);
        self.world.tell(Event::Stop);
        self.until(random, "stopped", |run| run.world.stopped, between)?;
        if self.open.is_empty() {
            return Ok(());
        }
        Err("it has stopped and not answered everything".into())
    }

    /// Lets things happen until something is so, with nothing in flight.
    fn until(
        &mut self,
        random: &mut Random,
        what: &str,
        is_so: fn(&Self) -> bool,
        mut between: impl FnMut(&Self, &mut Random) -> Result<(), String>,
    ) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            self.look()?;
            match (is_so(self), self.world.is_quiet()) {
                (true, true) => return Ok(()),
                (true, false) => return Err(format!("it is {what} with requests in flight")),
                (false, _) => {}
            }
            if !self.step(random, 8) {
                return Err(format!("it does not become {what}"));
            }
            between(self, random)?;
        }
        Err(format!("it does not become {what} in time"))
    }

    /// Waits for all answers.
    pub(super) fn finish(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            if self.open.is_empty() {
                return Ok(());
            }
            if !self.step(random, 8) {
                return Err("a request is never answered".into());
            }
            self.look()?;
        }
        Err("requests are not answered in time".into())
    }

    /// Lets it do what it does by itself, until that is nothing.
    pub(super) fn settle(&mut self, random: &mut Random) -> Result<(), String> {
        self.resume();
        for count in 0..STEPS_MAX {
            if !self.step(random, 4) || (self.is_stuck() && count > STUCK_AFTER) {
                return self.look();
            }
            self.look()?;
        }
        Err("it is never done with what it does by itself".into())
    }

    /// Whether it tries again and again to fill a leg where parity was never computed.
    pub(super) fn is_stuck(&self) -> bool {
        self.weak != 0 && self.shape.is_parity() && self.known.fits.contains(&Fit::Raw)
    }

    /// Legs that are not asked any more, and requests that legs failed.
    pub(super) fn failures_now(&self) -> (u32, u64) {
        let array = &self.world.machine;
        let lost = self.shape.all() & !array.writable();
        (lost.count_ones(), array.errors.iter().sum())
    }

    /// The states of legs that the array does not say it has filled.
    pub(super) fn unfilled(&self) -> Vec<(usize, LegState)> {
        let status = self.world.machine.status();
        let legs = status.legs.into_iter().map(|(state, _)| state).enumerate();
        let is_whole = |state: &LegState| *state == LegState::Valid { until: u64::MAX };
        legs.filter(|(_, state)| !is_whole(state)).collect()
    }

    /// Legs that are there, by the places of their disks.
    pub(super) fn data_of(&self, images: &[Image]) -> Vec<Vec<u8>> {
        let legs = members(self.shape.all());
        let whole = Range::new(0, self.shape.geometry.leg_size());
        legs.map(|leg| images[2 * leg].bytes(whole)).collect()
    }
}
