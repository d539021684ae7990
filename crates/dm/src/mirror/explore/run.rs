//! A running mirror: what it is asked, what fails, and whether its answers are true.

use block::sim::{Disk, Faults, Image, Random};
use block::{Buffer, Completion, Durability, Operation, Range, Request, Unmap};

use super::fault::{Activity, SeededFault};
use super::shape::{SECTORS, Shape};
use super::world::{Described, World};
use crate::explore::{Content, Expected, Failure, Model, NEVER, SECTOR, Sort, encode};
use crate::machine::{Event, Machine};
use crate::mirror::state::Claim;
use crate::mirror::{LogPlace, Mirror};

/// Requests in flight at most.
const DEPTH: usize = 6;
/// Sectors of one request at most.
const LENGTH: u64 = 5;
/// After so many steps without an answer, none will come.
const STEPS_MAX: usize = 20_000;

/// What disks hold, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Left {
    pub(super) images: Vec<Image>,
    pub(super) model: Model,
    /// Legs that must hold everything.
    pub(super) whole: Vec<bool>,
    pub(super) described: Described,
}

/// A running mirror and what is known of it.
pub(super) struct Run {
    pub(super) shape: Shape,
    pub(super) world: World,
    pub(super) model: Model,
    pub(super) whole: Vec<bool>,
    pub(super) there: Vec<bool>,
    open: Vec<Asked>,
    next_tag: u64,
    /// Some leg does not read what it holds.
    reads_fail: bool,
    /// Legs that the mirror had lost, and reads that had failed, when it was looked at last.
    failures: (usize, u64),
    /// It is suspended, and asked nothing.
    rests: bool,
    /// It got another size, and has not gone on since.
    is_resized: bool,
    /// How often it became another one.
    pub(super) resized: u64,
}

/// A request in flight.
struct Asked {
    tag: u64,
    what: What,
    range: Range,
}

enum What {
    Read(Expected),
    Write(Durability),
    Flush(Vec<u32>),
    /// A discard that does nothing.
    Advice,
}

/// What goes wrong, besides the power.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mishap {
    /// A leg vanishes.
    LegGone(usize),
    /// One request to a leg fails.
    LegFails(usize, Sort),
    /// One write, or one flush, fails on each leg.
    AllFail(Sort),
    LogGone,
    LogFails,
    /// The next description cannot be written.
    Undescribed,
}

impl Mishap {
    pub(super) fn chosen(random: &mut Random, shape: Shape) -> Self {
        let leg = random.index(shape.legs);
        let sort = [Sort::Write, Sort::Flush][random.index(2)];
        match random.below(20) {
            0..=5 => Self::LegGone(leg),
            6..=8 => Self::LegFails(leg, sort),
            9 | 10 => Self::LegFails(leg, Sort::Read),
            11 => Self::AllFail(sort),
            12 => Self::LogGone,
            13..=18 => Self::LogFails,
            _ => Self::Undescribed,
        }
    }
}

impl Run {
    /// Starts a mirror of the legs that are there.
    pub(super) fn start(
        shape: Shape,
        left: Left,
        there: Vec<bool>,
        random: &mut Random,
    ) -> Result<Self, String> {
        let faults = || Faults {
            discards: shape.discards,
            residue: true,
            ..Faults::default()
        };
        let disks = left.images.into_iter();
        let disks: Vec<Disk> = disks
            .map(|image| Disk::new("disk", image, SECTOR as u32, faults(), random.number()))
            .collect();
        let both = |(whole, there): (&bool, &bool)| *whole && *there;
        let whole = left.whole.iter().zip(&there).map(both).collect();
        Self::start_on(shape, disks, left.described, left.model, (whole, there))
    }

    /// The same on disks that are running.
    fn start_on(
        shape: Shape,
        disks: Vec<Disk>,
        described: Described,
        mut model: Model,
        (whole, there): (Vec<bool>, Vec<bool>),
    ) -> Result<Self, String> {
        let infos: Vec<_> = disks.iter().map(|disk| disk.info().clone()).collect();
        let mirror = shape.mirror(&described, &there, &infos)?;
        model.is_monotone = !described.assumed;
        let failures = failures(&mirror);
        let log = match shape.log {
            LogPlace::Disk(leg) => Some(leg),
            LogPlace::Core => None,
        };
        let activity = Activity {
            log,
            ..Activity::default()
        };
        let mut world = World::start(mirror, disks, described, (shape.fault, activity));
        world.runs.mischief = shape.fault.and_then(SeededFault::mischief);
        Ok(Self {
            shape,
            model,
            whole,
            failures,
            world,
            there,
            open: Vec::new(),
            next_tag: 0,
            reads_fail: false,
            rests: false,
            is_resized: false,
            resized: 0,
        })
    }

    /// Waits for the start; whether it worked, which it must if a leg is whole.
    pub(super) fn settle_start(&mut self, random: &mut Random) -> Result<bool, String> {
        while self.world.runs.started.is_none() {
            if !self.world.step(random, 1 << 40) {
                return Err("the mirror does not start".into());
            }
        }
        match self.world.runs.started.as_ref().expect("it was waited for") {
            Ok(()) => {
                if self.shape.fault == Some(SeededFault::RecordIgnored) {
                    let legs = self.world.runs.machine.images.iter_mut();
                    legs.filter(|leg| leg.is_live())
                        .for_each(|leg| leg.in_sync = true);
                }
                Ok(true)
            }
            Err(error) if self.whole.contains(&true) && !self.refuses() => {
                Err(format!("it does not start, though a leg is whole: {error}"))
            }
            Err(_) => Ok(false),
        }
    }

    /// Does something, or lets something happen.
    pub(super) fn act(&mut self, random: &mut Random) -> Result<(), String> {
        if self.rests {
            if self.is_resized || random.chance(1, 4) {
                self.resume();
            } else {
                self.resize(random)?;
            }
        } else if self.open.len() < DEPTH && random.chance(1, 3) {
            self.ask(random);
        } else if random.chance(1, 25) {
            self.suspend(random)?;
            // Whoever keeps the description would have to be done with it. Where the log cannot be
            // told, it still speaks of the old size after a cut, and of what others wrote since.
            let can_change = self.world.wanted.is_none() && !self.log_failed();
            self.rests = can_change && random.chance(3, 4);
            if !self.rests {
                self.resume();
            }
        } else {
            self.world.step(random, 8);
        }
        self.look()
    }

    fn resume(&mut self) {
        self.rests = false;
        self.is_resized = false;
        self.world.tell(Event::Resume);
    }

    /// Something goes wrong; as long as another leg is whole, if a leg is lost by it.
    pub(super) fn suffer(&mut self, mishap: Mishap) {
        let legs = self.shape.legs;
        let others = |leg: usize| (0..legs).any(|other| other != leg && self.whole[other]);
        match mishap {
            Mishap::LegGone(leg) | Mishap::LegFails(leg, Sort::Write | Sort::Flush)
                if !others(leg) =>
            {
                return;
            }
            Mishap::LegGone(leg) => {
                self.world.runs.disks[leg].vanish();
                self.whole[leg] = false;
            }
            Mishap::LegFails(leg, Sort::Read) => {
                self.world.runs.arrange(leg, Sort::Read);
                self.reads_fail = true;
            }
            Mishap::LegFails(leg, sort) => {
                self.world.runs.arrange(leg, sort);
                self.whole[leg] = false;
            }
            Mishap::AllFail(sort) => {
                (0..legs).for_each(|leg| self.world.runs.arrange(leg, sort));
                self.whole.fill(false);
            }
            Mishap::LogGone | Mishap::LogFails if self.shape.log == LogPlace::Core => return,
            Mishap::LogGone => self.world.runs.disks[legs].vanish(),
            Mishap::LogFails => self.world.runs.arrange(legs, Sort::Write),
            Mishap::Undescribed => self.world.undescribable = true,
        }
        // Another leg may be read from now on.
        self.model.is_monotone = false;
    }

    /// The process that runs the mirror is killed, and another one starts it: of what was in flight
    /// some was sent, and what the caches of the disks hold is not lost.
    ///
    /// Not where a leg failed a write or a flush: a cache may then hold what is never written, and
    /// shows it to whoever reads next.
    pub(super) fn killed(mut self, random: &mut Random) -> Result<Self, String> {
        if self.lost()[..self.shape.legs].contains(&true) {
            return Ok(self);
        }
        let described = match self.world.wanted.take() {
            Some(wanted) if random.chance(1, 2) => wanted,
            _ => self.world.described,
        };
        let disks = self.world.runs.kill(random);
        self.model.killed();
        self.model.is_sticky &= !described.assumed;
        if self.shape.log == LogPlace::Core && !described.assumed {
            let first = described.order[0];
            let is_first = |(leg, whole): (usize, &mut bool)| *whole &= leg == first;
            self.whole.iter_mut().enumerate().for_each(is_first);
        }
        let legs = (self.whole, self.there);
        Self::start_on(self.shape, disks, described, self.model, legs)
    }

    /// Disks that vanished, or failed something that was to be durable.
    pub(super) fn lost(&self) -> Vec<bool> {
        let disks = self.world.runs.disks.iter().zip(&self.world.runs.failed);
        disks
            .map(|(disk, failed)| disk.is_gone() || *failed)
            .collect()
    }

    /// Whether what is written may be refused although a leg is whole: the log, or those who
    /// describe the mirror, cannot be told what has to be known before.
    fn refuses(&self) -> bool {
        self.world.undescribed || self.log_failed()
    }

    pub(super) fn log_failed(&self) -> bool {
        self.lost().get(self.shape.legs) == Some(&true) && self.shape.log != LogPlace::Core
    }

    fn ask(&mut self, random: &mut Random) {
        // Some are asked for again and again, so that they are dirty already.
        let is_hot = random.chance(1, 3);
        let len = 1 + random.below(if is_hot { 2 } else { LENGTH });
        let sectors = if is_hot {
            4
        } else {
            self.world.described.sectors
        };
        let start = random.below(sectors - len + 1);
        let range = Range::new(start * SECTOR, len * SECTOR);
        let range = self.shape.clip(range);
        let durability = match random.below(6) {
            0 => Durability::Fua,
            _ => Durability::Volatile,
        };
        match random.below(16) {
            0..=3 => self.read(range),
            4 | 5 => {
                let what = What::Flush(self.model.answered());
                let tag = self.remember(what, Range::EMPTY);
                self.world.submit(Request::flush(tag));
            }
            _ if self.model.is_busy(range) => {}
            6 if !self.world.runs.machine.discards => {
                let tag = self.remember(What::Advice, range);
                let place = self.shape.place(range);
                self.world
                    .submit(Request::bare(tag, Operation::Discard, place));
            }
            6 => self.zero(range, Operation::Discard, Durability::Volatile),
            7 | 8 => {
                let unmap = [Unmap::Allowed, Unmap::Forbidden][random.index(2)];
                self.zero(range, Operation::WriteZeroes(unmap), durability);
            }
            _ => {
                let bytes = self.model.issue(range, Content::Bytes);
                let tag = self.remember(What::Write(durability), range);
                let start = self.shape.place(range).start();
                let buffer = Buffer::copy_of(&bytes);
                self.world
                    .submit(Request::write(tag, start, durability, buffer));
            }
        }
    }

    pub(super) fn read(&mut self, range: Range) {
        // Once a leg that was out of sync is in sync, it may be the one to be read.
        let steady = self.world.runs.machine.images.iter().all(|leg| leg.in_sync);
        let expected = self.model.expected(steady);
        let tag = self.remember(What::Read(expected), range);
        let buffer = Buffer::zeroed(range.len() as usize);
        let start = self.shape.place(range).start();
        self.world.submit(Request::read(tag, start, buffer));
    }

    fn zero(&mut self, range: Range, operation: Operation, durability: Durability) {
        self.model.issue(range, Content::Zeros);
        let tag = self.remember(What::Write(durability), range);
        let request = Request::bare(tag, operation, self.shape.place(range));
        self.world.submit(Request {
            durability,
            ..request
        });
    }

    fn remember(&mut self, what: What, range: Range) -> u64 {
        self.next_tag += 1;
        let tag = self.next_tag;
        self.count(&what, 1);
        self.open.push(Asked { tag, what, range });
        tag
    }

    /// Takes note that users ask for one more of these, or one less.
    fn count(&self, what: &What, change: i32) {
        let activity = &self.world.activity;
        let count = match what {
            What::Read(_) => &activity.reads,
            What::Flush(_) => &activity.flushes,
            What::Write(_) | What::Advice => return,
        };
        let now = count.get().checked_add_signed(change);
        count.set(now.expect("what was answered was asked"));
    }

    /// Ends all that is in flight, and what the mirror does by itself.
    fn suspend(&mut self, random: &mut Random) -> Result<(), String> {
        self.world.tell(Event::Suspend);
        self.until(random, "suspended", |run| run.world.runs.suspended)
    }

    /// Stops the mirror, whatever is in flight; `between` looks at it meanwhile.
    pub(super) fn stop(
        &mut self,
        random: &mut Random,
        mut between: impl FnMut(&Self, &mut Random) -> Result<(), String>,
    ) -> Result<(), String> {
        self.world.tell(Event::Stop);
        let mut count = 0;
        while !self.world.runs.stopped && count < STEPS_MAX {
            count += 1;
            if !self.world.step(random, 8) {
                break;
            }
            self.look()?;
            between(self, random)?;
        }
        self.until(random, "stopped", |run| run.world.runs.stopped)?;
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
    ) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            self.look()?;
            if is_so(self) && self.world.runs.is_quiet() {
                return Ok(());
            }
            if is_so(self) {
                return Err(format!("it is {what} with requests in flight"));
            }
            if !self.world.step(random, 8) {
                return Err(format!("it does not become {what}"));
            }
        }
        Err(format!("it does not become {what} in time"))
    }

    /// The mirror, which is suspended, gets another size, and asks nothing for it yet.
    fn resize(&mut self, random: &mut Random) -> Result<(), String> {
        let described = Described {
            sectors: Shape::sectors(random),
            ..self.world.described.clone()
        };
        let config = self.shape.config(&described, &self.there);
        let disks = self.world.runs.disks.iter();
        let infos: Vec<_> = disks.map(|disk| disk.info().clone()).collect();
        let foreseen = self.world.runs.machine.foresee(&config, &infos);
        foreseen.map_err(|error| format!("it cannot get another size: {error}"))?;
        // What it loses is whatever, and so is what it gains.
        let fewer = described.sectors.min(self.world.described.sectors);
        self.model.dropped(fewer);
        // Nobody copies what it gains.
        self.model.is_sticky &= !described.assumed;
        self.world.described = described;
        self.scribble(random);
        let before = (
            self.world.runs.machine.config.size,
            self.world.runs.machine.regions.count(),
        );
        self.world.tell(Event::Reload(config));
        self.mistake_size(before);
        self.is_resized = true;
        self.resized += 1;
        Ok(())
    }

    /// Makes a mistake about a mirror that had another size, in bytes, and so many regions.
    fn mistake_size(&mut self, (size, regions): (u64, u64)) {
        let mirror = &mut self.world.runs.machine;
        match self.shape.fault {
            Some(SeededFault::ResizedUnclaimed) => mirror.claim = Claim::Held,
            Some(SeededFault::TailBelieved) if mirror.config.size > size => {
                mirror.regions.set_in_sync(regions - 1, true);
                if let Some(log) = &mut mirror.journal.log {
                    log.set(regions - 1, true);
                }
            }
            _ => {}
        }
    }

    /// Others write to what is not part of the mirror, on each leg something else.
    fn scribble(&mut self, random: &mut Random) {
        for sector in self.world.described.sectors..SECTORS {
            for leg in 0..self.shape.legs {
                if random.chance(1, 2) && !self.world.runs.disks[leg].is_gone() {
                    let start = self
                        .shape
                        .place(Range::new(sector * SECTOR, SECTOR))
                        .start();
                    let buffer = Buffer::copy_of(&encode(sector as usize, NEVER));
                    let request = Request::write(0, start, Durability::Fua, buffer);
                    let disk = &mut self.world.runs.disks[leg];
                    let ticket = disk.begin(request);
                    disk.finish(ticket);
                }
            }
        }
    }

    /// Waits for all answers.
    pub(super) fn finish(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            if self.open.is_empty() {
                return Ok(());
            }
            if !self.world.step(random, 8) {
                return Err("a request is never answered".into());
            }
            self.look()?;
        }
        Err("requests are not answered in time".into())
    }

    /// Reads all sectors once.
    pub(super) fn read_all(&mut self, random: &mut Random) -> Result<(), String> {
        if self.rests {
            self.resume();
        }
        let first = random.below(SECTORS);
        for sector in 0..SECTORS {
            let sector = (first + sector * 5) % SECTORS;
            if sector >= self.world.described.sectors {
                continue;
            }
            self.read(Range::new(sector * SECTOR, SECTOR));
            self.look()?;
            while self.open.len() > 2 {
                self.world.step(random, 8);
                self.look()?;
            }
        }
        self.finish(random)
    }

    /// Judges what was answered.
    pub(super) fn look(&mut self) -> Result<(), String> {
        self.world.runs.broken()?;
        self.follow_failures();
        for answer in std::mem::take(&mut self.world.runs.done) {
            let known = self.open.iter().position(|asked| asked.tag == answer.tag);
            let Some(known) = known else {
                return Err("a request is answered twice".into());
            };
            let asked = self.open.swap_remove(known);
            self.count(&asked.what, -1);
            self.judge(&asked, &answer)?;
        }
        Ok(())
    }

    /// Tells the model of legs that failed since the last look, and of what was copied.
    fn follow_failures(&mut self) {
        let mirror = &self.world.runs.machine;
        let sectors = self.world.described.sectors;
        let copied = |sector| {
            if sector >= sectors {
                return false;
            }
            let range = Range::new(sector * SECTOR, SECTOR);
            mirror.regions.is_range_in_sync(self.shape.place(range))
        };
        let (lost, errors) = failures(mirror);
        if lost > self.failures.0 {
            self.model.failed(Failure::Lost, copied);
        }
        if errors > self.failures.1 {
            self.model.failed(Failure::Read, copied);
        }
        self.model.settle(copied);
        self.failures = (lost, errors);
    }

    fn judge(&mut self, asked: &Asked, answer: &Completion) -> Result<(), String> {
        let excused = match asked.what {
            What::Read(_) => self.reads_fail,
            What::Write(_) | What::Flush(_) => self.refuses(),
            What::Advice => false,
        };
        if let Err(error) = &answer.result
            && self.whole.contains(&true)
            && !excused
        {
            return Err(format!("a request fails though a leg is whole: {error}"));
        }
        let done = answer.result.is_ok();
        match &asked.what {
            What::Read(since) if done => {
                let bytes = &answer.buffer;
                self.model.judge(asked.range, bytes, since)?;
            }
            What::Flush(covered) if done => self.model.flushed(covered),
            What::Write(durability) => {
                let durable = *durability == Durability::Fua;
                self.model.written(asked.range, durable, done);
            }
            What::Read(_) | What::Flush(_) | What::Advice => {}
        }
        Ok(())
    }
}

/// Legs that a mirror does not ask any more, and reads that legs failed.
fn failures(mirror: &Mirror) -> (usize, u64) {
    let lost = mirror.images.iter().filter(|leg| !leg.is_live()).count();
    (lost, mirror.images.iter().map(|leg| leg.errors).sum())
}
