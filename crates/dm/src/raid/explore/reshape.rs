//! Histories of arrays that become others while they are used, and the power goes.
//!
//! What counts is simpler than for arrays at rest (`history.rs`): all is in sync at first, a leg
//! that vanished is not relied on any more, and there is a journal wherever a leg may be lost. So
//! nothing is excused. What an array has become in the end is read once more without the machine,
//! and without any legs that it may lose.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use block::sim::{Disk, Faults, Image, Random};
use block::{Access, Buffer, Durability, Operation, Range, Request, Unmap};

use super::becoming::{self, Becoming};
use crate::explore::{
    self, Content, Expected, Model, SECTOR, Sabotage, Saboteur, Seen, World, infos,
};
use crate::machine::{Event, Machine};
use crate::raid::doubt::Doubt;
use crate::raid::superblock::Superblock;
use crate::raid::update::{members, only};
use crate::raid::view::LegSet;
use crate::raid::{Array, Consistency, LegState};

const DEPTH: usize = 5;
const STEPS_MAX: usize = 60_000;
/// Cuts of what a cut left, at most.
const CUTS_MAX: u32 = 3;
/// Moments of a life at most.
const MOMENTS_MAX: u64 = 400;

/// A mistake in how arrays become others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReshapeFault {
    /// Superblocks claim what was moved and is not durable.
    MovedNotFlushed,
    /// They claim it, and not durably.
    PositionNotDurable,
    /// Old rows are overwritten before superblocks say that they do not count.
    OverwrittenEarly,
    /// The rows of a step count as new before they are moved.
    WrongSide,
    /// Others write in the rows of a step.
    WindowOpen,
    /// Entries about rows that were moved count still.
    HeadForgotten,
    /// A leg that was away is believed.
    OutdatedBelieved,
}

impl ReshapeFault {
    /// All of them, with the names they are called by.
    pub const ALL: &[(&str, Self)] = &[
        ("moved-not-flushed", Self::MovedNotFlushed),
        ("position-not-durable", Self::PositionNotDurable),
        ("overwritten-early", Self::OverwrittenEarly),
        ("wrong-side", Self::WrongSide),
        ("window-open", Self::WindowOpen),
        ("moved-head-forgotten", Self::HeadForgotten),
        ("moved-outdated-believed", Self::OutdatedBelieved),
    ];

    fn sabotage(self, disk: usize, request: &Request, activity: &Activity) -> Option<Sabotage> {
        let (is_meta, is_write) = (disk % 2 == 1, request.operation.is_write());
        let is_flush = request.operation == Operation::Flush;
        let start = request.range.start();
        if !activity.is_moving.get() {
            return None;
        }
        match self {
            Self::MovedNotFlushed if is_flush && !is_meta && activity.flushes.get() == 0 => {
                Some(Sabotage::Skipped)
            }
            Self::PositionNotDurable if is_meta && is_write && start == 0 => {
                Some(Sabotage::Volatile)
            }
            Self::OverwrittenEarly if is_meta && is_write && start == 0 => Some(Sabotage::Early),
            Self::HeadForgotten if is_meta && is_write && start == activity.journal.get() => {
                Some(Sabotage::Skipped)
            }
            _ => None,
        }
    }
}

/// What goes on at the moment.
#[derive(Debug, Default)]
struct Activity {
    is_moving: Cell<bool>,
    /// Flushes of users.
    flushes: Cell<u32>,
    journal: Cell<u64>,
}

enum What {
    Read(Expected),
    Write(Durability),
    Flush(Vec<u32>),
}

struct Run {
    shape: Becoming,
    fault: Option<ReshapeFault>,
    world: World<Array>,
    model: Model,
    there: LegSet,
    /// Legs that are not relied on.
    weak: LegSet,
    open: Vec<(u64, What, Range)>,
    next_tag: u64,
    activity: Rc<Activity>,
    /// Moments until the process is killed, if it is.
    kill: Option<u64>,
}

/// Whether the newest superblocks call other legs failed than one another.
fn is_split(images: &[Image]) -> bool {
    let metas = images.iter().skip(1).step_by(2);
    let superblocks = metas.map(|meta| {
        let bytes = meta.bytes(Range::new(0, SECTOR));
        let superblock = Superblock::decode(&bytes).expect("a whole sector is written");
        superblock.expect("all legs had one")
    });
    let superblocks: Vec<Superblock> = superblocks.collect();
    let newest = superblocks.iter().max_by_key(|one| one.events);
    let newest = newest.expect("an array has legs");
    let mut others = superblocks.iter();
    others.any(|one| one.events == newest.events && one.failed != newest.failed)
}

/// One history; how it broke a promise, if it did.
pub(super) fn run(seed: u64, fault: Option<ReshapeFault>, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random::new(seed);
    let shape = Becoming::chosen(None, &mut random);
    begin(shape, fault, &mut random)?.live(CUTS_MAX, &mut random, seen)
}

/// One history of the reshape of this name, whose process is killed.
fn run_killed(name: &str, seed: u64, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random::new(seed);
    let wanted = becoming::named(name).ok_or("there is no such reshape")?;
    let shape = Becoming::chosen(Some(wanted), &mut random);
    let mut run = begin(shape, None, &mut random)?;
    run.kill = Some(random.below(MOMENTS_MAX));
    run.live(CUTS_MAX, &mut random, seen)
}

/// An array that begins to become another one.
fn begin(shape: Becoming, fault: Option<ReshapeFault>, random: &mut Random) -> Result<Run, String> {
    let mut model = Model::new(shape.sectors());
    model.is_sticky = false;
    model.is_monotone = false;
    let images = shape.images();
    let disks = disks(images, random);
    Run::start((shape, fault), (disks, model), (shape.all(), 0), random)
}

fn disks(images: Vec<Image>, random: &mut Random) -> Vec<Disk> {
    let faults = || Faults {
        residue: true,
        ..Faults::default()
    };
    let disk = |image| Disk::new("disk", image, SECTOR as u32, faults(), random.number());
    images.into_iter().map(disk).collect()
}

impl Run {
    fn start(
        (shape, fault): (Becoming, Option<ReshapeFault>),
        (disks, model): (Vec<Disk>, Model),
        (there, weak): (LegSet, LegSet),
        random: &mut Random,
    ) -> Result<Self, String> {
        let sizes: Vec<u64> = disks.iter().map(|disk| disk.info().size).collect();
        let config = shape.config(there, Access::ReadWrite);
        let array =
            Array::new(config, &infos(&disks, &sizes)).map_err(|error| error.to_string())?;
        let activity = Rc::new(Activity::default());
        activity.journal.set(shape.journal_start());
        let saboteur = match fault {
            None => Saboteur::none(),
            Some(fault) => {
                let activity = Rc::clone(&activity);
                Saboteur::new(move |disk, request| fault.sabotage(disk, request, &activity))
            }
        };
        let mut run = Self {
            shape,
            fault,
            world: World::start(array, (disks, sizes), saboteur),
            model,
            there,
            weak,
            open: Vec::new(),
            next_tag: 0,
            activity,
            kill: None,
        };
        while run.world.started.is_none() {
            if !run.world.step(random, 1 << 40) {
                return Err("the array does not start".into());
            }
        }
        match &run.world.started {
            Some(Ok(())) if run.world.machine.record.is_some() => {}
            other => {
                let why = &run.world.machine.why_still;
                return Err(format!("it cannot be written: {other:?}{why}"));
            }
        }
        if fault == Some(ReshapeFault::OutdatedBelieved) {
            let assembly = run.world.machine.view_mut().assembly_mut();
            for (state, missed) in assembly.legs.iter_mut().zip(&mut assembly.missed) {
                if *state == LegState::Filling {
                    *state = LegState::Valid { until: u64::MAX };
                    *missed = Doubt::Nowhere;
                }
            }
        }
        Ok(run)
    }

    /// Uses the array, cuts its power now and then, and waits for the end.
    fn live(mut self, cuts: u32, random: &mut Random, seen: &mut Seen) -> Result<(), String> {
        self.read_all(random)?;
        let moments = match self.kill {
            Some(moments) => moments,
            None => random.below(MOMENTS_MAX),
        };
        for _ in 0..moments {
            self.act(random)?;
            if random.chance(1, 60) {
                self.lose(random);
            }
            if cuts > 0 && random.chance(1, 25) {
                self.cut(0, random, seen)?;
            }
        }
        if self.kill.is_some() {
            return self.kill(cuts, random, seen);
        }
        if cuts > 0 && random.chance(3, 4) {
            return self.cut(cuts - 1, random, seen);
        }
        self.settle(random, seen)
    }

    /// A leg vanishes that the array can do without.
    fn lose(&mut self, random: &mut Random) {
        let leg = random.index(self.shape.legs());
        let lost = self.weak | self.shape.all() & !self.there | only(leg);
        if self.shape.consistency == Consistency::None || !self.shape.survives(lost) {
            return;
        }
        self.world.disks[2 * leg].vanish();
        self.world.disks[2 * leg + 1].vanish();
        self.weak |= only(leg);
    }

    /// Does something, or lets something happen.
    fn act(&mut self, random: &mut Random) -> Result<(), String> {
        if self.open.len() < DEPTH && random.chance(1, 3) {
            self.ask(random);
        } else {
            self.step(random);
        }
        self.look()
    }

    fn step(&mut self, random: &mut Random) -> bool {
        let machine = &mut self.world.machine;
        self.activity.is_moving.set(machine.window.is_some());
        match (self.fault, machine.moves_to()) {
            (Some(ReshapeFault::WrongSide), Some(next)) => {
                let assembly = machine.view_mut().assembly_mut();
                assembly.reshape.as_mut().expect("it moves").position = next;
            }
            (Some(ReshapeFault::WindowOpen), Some(_)) => machine.open_window(),
            _ => {}
        }
        self.world.step(random, 8)
    }

    fn ask(&mut self, random: &mut Random) {
        let start = random.below(self.shape.sectors());
        let range = self.shape.range(start, 1 + random.below(6));
        let durability = match random.below(4) {
            0 => Durability::Fua,
            _ => Durability::Volatile,
        };
        self.next_tag += 1;
        let tag = self.next_tag;
        let (what, request) = match random.below(12) {
            0..=3 => {
                let buffer = Buffer::zeroed(range.len() as usize);
                let what = What::Read(self.model.expected(false));
                (what, Request::read(tag, range.start(), buffer))
            }
            4 => (What::Flush(self.model.answered()), Request::flush(tag)),
            _ if self.model.is_busy(range) => return,
            5 => {
                self.model.issue(range, Content::Zeros);
                let zeros = Operation::WriteZeroes(Unmap::Allowed);
                let request = Request::bare(tag, zeros, range);
                let request = Request {
                    durability,
                    ..request
                };
                (What::Write(durability), request)
            }
            _ => {
                let bytes = self.model.issue(range, Content::Bytes);
                let buffer = Buffer::copy_of(&bytes);
                let request = Request::write(tag, range.start(), durability, buffer);
                (What::Write(durability), request)
            }
        };
        self.submit(what, request);
    }

    fn submit(&mut self, what: What, request: Request) {
        let is_flush = matches!(what, What::Flush(_));
        let flushes = &self.activity.flushes;
        flushes.set(flushes.get() + u32::from(is_flush));
        self.open.push((request.tag, what, request.range));
        self.world.submit(0, request);
    }

    /// Judges what was answered.
    fn look(&mut self) -> Result<(), String> {
        self.world.broken()?;
        for answer in std::mem::take(&mut self.world.done) {
            let asked = self.open.iter().position(|(tag, ..)| *tag == answer.tag);
            let asked = asked.ok_or("a request is answered twice")?;
            let (_, what, range) = self.open.swap_remove(asked);
            if let Err(error) = &answer.result {
                return Err(format!("a request fails though enough is there: {error}"));
            }
            match what {
                What::Read(since) => self.model.judge(range, &answer.buffer, &since)?,
                What::Write(durability) => {
                    self.model
                        .written(range, durability == Durability::Fua, true);
                }
                What::Flush(covered) => {
                    let flushes = &self.activity.flushes;
                    flushes.set(flushes.get() - 1);
                    self.model.flushed(&covered);
                }
            }
        }
        Ok(())
    }

    fn read_all(&mut self, random: &mut Random) -> Result<(), String> {
        let mut at = 0;
        while at < self.shape.sectors() {
            let range = self.shape.range(at, 1 + random.below(9));
            at += range.len() / SECTOR;
            self.next_tag += 1;
            let buffer = Buffer::zeroed(range.len() as usize);
            let request = Request::read(self.next_tag, range.start(), buffer);
            let what = What::Read(self.model.expected(false));
            self.submit(what, request);
            while self.open.len() > 2 {
                if !self.step(random) {
                    return Err("a request is never answered".into());
                }
                self.look()?;
            }
        }
        Ok(())
    }

    /// The process is killed, and another one goes on.
    fn kill(self, cuts: u32, random: &mut Random, seen: &mut Seen) -> Result<(), String> {
        seen.count("kills", 1);
        let is_between = self.world.machine.reshape().is_some();
        seen.count("kills in the middle", u64::from(is_between));
        let how = (self.shape, self.fault);
        // What vanished stays away.
        let there = (self.there & !self.weak, self.weak);
        let mut model = self.model;
        model.killed();
        let disks = self.world.kill(random);
        let images: Vec<Image> = disks.iter().map(|disk| disk.content().clone()).collect();
        if is_split(&images) {
            seen.count("cuts that left legs of two minds", 1);
            return Ok(());
        }
        Self::start(how, (disks, model), there, random)?.live(cuts, random, seen)
    }

    /// Cuts the power, and starts what is left.
    fn cut(&self, cuts: u32, random: &mut Random, seen: &mut Seen) -> Result<(), String> {
        let images: Vec<Image> = self
            .world
            .disks
            .iter()
            .map(|disk| disk.cut(random))
            .collect();
        if is_split(&images) {
            seen.count("cuts that left legs of two minds", 1);
            return Ok(());
        }
        let mut model = self.model.clone();
        model.cut();
        let shape = self.shape;
        // What vanished may be there again, and is old.
        let mut there = if random.chance(1, 2) {
            shape.all()
        } else {
            shape.all() & !self.weak
        };
        let mut weak = self.weak | shape.all() & !self.there;
        for _ in 0..2 {
            let leg = random.index(shape.legs());
            let may_lose = shape.consistency == Consistency::Journal && random.chance(1, 2);
            if may_lose && shape.survives(weak | only(leg)) {
                there &= !only(leg);
                weak |= only(leg);
            }
        }
        let mut hasher = DefaultHasher::new();
        for leg in members(there) {
            for disk in [2 * leg, 2 * leg + 1] {
                let whole = Range::new(0, images[disk].size());
                images[disk].bytes(whole).hash(&mut hasher);
            }
        }
        (there, &model).hash(&mut hasher);
        seen.cut(hasher.finish());
        let absent = shape.all() & !there;
        seen.count("cuts without a leg", u64::from(absent != 0));
        seen.count("cuts without two", u64::from(absent.count_ones() > 1));
        seen.count("cuts with a lost leg back", u64::from(weak & there != 0));
        let is_over = self.world.machine.reshape().is_none();
        seen.count("cuts behind the end", u64::from(is_over));
        seen.count("cuts in the middle", u64::from(!is_over));
        let disks = disks(images, random);
        let run = Self::start((shape, self.fault), (disks, model), (there, weak), random)?;
        run.live(cuts, random, seen)
    }

    /// Waits until all is moved; then reads it without the machine.
    fn settle(mut self, random: &mut Random, seen: &mut Seen) -> Result<(), String> {
        for count in 0.. {
            let machine = &self.world.machine;
            let is_over = machine.reshape().is_none() && machine.has_mended();
            if !self.step(random) || is_over && self.open.is_empty() && self.world.is_quiet() {
                break;
            }
            self.look()?;
            if count > STEPS_MAX {
                return Err("it is never done".into());
            }
        }
        self.look()?;
        if let Some(reshape) = self.world.machine.reshape() {
            let machine = &self.world.machine;
            let error = &machine.reshape_error;
            let status = machine.status();
            return Err(format!(
                "it stays at byte {}: {error:?}, {status:?}",
                reshape.position
            ));
        }
        self.read_all(random)?;
        self.world.tell(Event::Stop);
        for _ in 0..STEPS_MAX {
            if self.world.stopped {
                break;
            }
            self.step(random);
            self.look()?;
        }
        if !self.world.stopped || !self.open.is_empty() {
            return Err("it does not stop".into());
        }
        seen.count("ended", 1);
        let weak = self.weak;
        seen.count("ended and whole", u64::from(weak == 0));
        let states = self.world.machine.status().legs.into_iter().enumerate();
        let is_whole = |state: &LegState| *state == LegState::Valid { until: u64::MAX };
        let whole = states.filter(|(_, (state, _))| is_whole(state));
        let whole = whole.fold(0, |set: LegSet, (leg, _)| set | only(leg));
        let images: Vec<Image> = self
            .world
            .disks
            .iter()
            .map(|disk| disk.content().clone())
            .collect();
        self.model.cut();
        for lost in std::iter::once(0).chain((0..self.shape.legs()).map(only)) {
            let there = whole & !lost;
            if self.shape.survives(self.shape.all() & !there) {
                self.read_still(&images, there)?;
            }
        }
        Ok(())
    }

    /// Reads what these legs hold, without writing.
    fn read_still(&mut self, images: &[Image], there: LegSet) -> Result<(), String> {
        let disk =
            |image: &Image| Disk::new("disk", image.clone(), SECTOR as u32, Faults::default(), 0);
        let disks: Vec<Disk> = images.iter().map(disk).collect();
        let sizes: Vec<u64> = images.iter().map(Image::size).collect();
        let config = self.shape.config(there, Access::ReadOnly);
        let array =
            Array::new(config, &infos(&disks, &sizes)).map_err(|error| error.to_string())?;
        let mut world = World::start(array, (disks, sizes), Saboteur::none());
        let mut random = Random::new(1);
        while world.step(&mut random, 1) {}
        if world.machine.reshape().is_some() {
            return Err("it has ended, and superblocks do not say so".into());
        }
        let read = world.read_sectors(&mut self.model, self.shape.sectors());
        read.map_err(|why| format!("with legs {there:#b}, at the end: {why}"))?;
        Ok(())
    }
}

impl super::Campaign {
    /// The same, of arrays that become others.
    pub fn run_reshape(extent: explore::Campaign, fault: Option<ReshapeFault>) -> explore::Report {
        extent.run(|seed, seen| run(seed, fault, seen))
    }

    /// The same, of the reshape of this name, until its process was killed so many times.
    pub fn run_killed_reshape(name: &str, kills: u64, seed: u64) -> explore::Report {
        let extent = explore::Campaign {
            seed,
            states: u64::MAX,
            histories: kills,
        };
        extent.run(|seed, seen| run_killed(name, seed, seen))
    }
}
