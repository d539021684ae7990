//! A volume in use: what it is asked, what it answers, and what is known of it.

use std::rc::Rc;

use block::sim::{Disk, Image, Random, Ticket};
use block::{Access, Buffer, Durability, Operation, Range, Request, Unmap};

use super::fault::{Activity, ChangeFault, saboteur};
use super::plain::Plain;
use super::text::{Form, Text};
use crate::explore::{Content, Expected, Model, SECTOR, World, infos};
use crate::machine::{Event, Machine};
use crate::mirror::Mirror;
use crate::raid::doubt::Doubt;
use crate::raid::journal::Journal;
use crate::raid::record::Record;
use crate::raid::update::only;
use crate::raid::view::LegSet;
use crate::raid::{Array, Consistency, LegState, Notice};

/// Requests in flight at most.
const DEPTH: usize = 5;
/// After so many steps without an end there is none.
pub(super) const STEPS_MAX: usize = 30_000;
/// A text is durable after so many steps at most.
const COMMIT_MAX: u64 = 12;

/// What a volume is at the moment.
pub(super) enum Body {
    Plain(Plain),
    Array(Box<World<Array>>),
    Mirror(Box<World<Mirror>>),
    /// It is becoming something else.
    Nothing,
}

/// What whoever keeps a state is told.
#[derive(Debug, Clone, Copy)]
pub(super) enum Order {
    Suspend,
    Resume,
    Stop,
}

impl Order {
    fn event<C, F, H>(self) -> Event<C, F, H> {
        match self {
            Self::Suspend => Event::Suspend,
            Self::Resume => Event::Resume,
            Self::Stop => Event::Stop,
        }
    }
}

/// What is being asked.
pub(super) enum What {
    Read(Expected),
    Write(Durability),
    Flush(Vec<u32>),
}

/// See the module.
pub(super) struct Life {
    pub(super) fault: Option<ChangeFault>,
    pub(super) consistency: Consistency,
    /// What the disks say for sure.
    pub(super) text: Text,
    /// What whoever uses the volume goes by.
    pub(super) running: Text,
    /// What they may say already.
    pub(super) next: Option<Text>,
    /// After so many steps they say that for sure, where nothing else waits for it.
    left: u64,
    /// Legs that are filled, of which the text is to say so: their disks.
    filled: Vec<usize>,
    pub(super) body: Body,
    pub(super) model: Model,
    pub(super) open: Vec<(u64, What, Range)>,
    next_tag: u64,
    /// Data disks that are not relied on, and those that vanished.
    pub(super) weak: LegSet,
    /// Those of legs that were away and have not got what they missed.
    pub(super) behind: LegSet,
    /// Whether something does not go together that nobody wrote.
    pub(super) is_rotten: bool,
    /// Whether it became larger in the middle of a region, which has been marked since: what came
    /// of it is made up from parity that nobody computed, as nobody wrote it.
    pub(super) is_half_grown: bool,
    /// The last version of each sector that the journal does not know, and that may not be durable.
    unentered: Vec<u32>,
    /// Whether a leg is to become a volume of its own.
    pub(super) is_splitting: bool,
    /// Volumes that were part of it.
    pub(super) splits: Vec<(Text, Model)>,
    /// Writes that were answered too early.
    pub(super) stragglers: Vec<(usize, Ticket)>,
    pub(super) activity: Rc<Activity>,
}

impl Life {
    /// A volume of which the text says this, on these disks.
    pub(super) fn start(
        (fault, consistency): (Option<ChangeFault>, Consistency),
        text: Text,
        (disks, model): (Vec<Disk>, Model),
        (away, weak): (LegSet, LegSet),
        random: &mut Random,
    ) -> Result<Self, String> {
        let unentered = vec![0; model.count() as usize];
        let mut life = Self {
            fault,
            consistency,
            running: text.clone(),
            text,
            next: None,
            left: 0,
            filled: Vec::new(),
            body: Body::Nothing,
            model,
            open: Vec::new(),
            next_tag: 0,
            weak,
            behind: 0,
            is_rotten: false,
            is_half_grown: false,
            unentered,
            is_splitting: false,
            splits: Vec::new(),
            stragglers: Vec::new(),
            activity: Rc::new(Activity::default()),
        };
        let text = life.text.clone();
        life.become_of(&text, disks, away, random)?;
        Ok(life)
    }

    /// Starts what the text says on these disks.
    pub(super) fn become_of(
        &mut self,
        text: &Text,
        disks: Vec<Disk>,
        away: LegSet,
        random: &mut Random,
    ) -> Result<(), String> {
        self.running = text.clone();
        if matches!(text.form, Form::Plain(_)) {
            self.body = Body::Plain(Plain::new(text.clone(), disks));
            return Ok(());
        }
        if text.is_mirror() {
            let mut world = Box::new(text.mirror(disks)?);
            while world.started.is_none() && world.step(random, 1 << 40) {}
            let is_started = matches!(world.started, Some(Ok(())));
            let how = format!("the mirror does not start: {:?}", world.started);
            self.body = Body::Mirror(world);
            return is_started.then_some(()).ok_or(how);
        }
        let sizes = text.reach();
        let config = text.config(away, (Access::ReadWrite, self.consistency));
        let array =
            Array::new(config, &infos(&disks, &sizes)).map_err(|error| error.to_string())?;
        let saboteur = saboteur(self.fault, &self.activity);
        let mut world = Box::new(World::start(array, (disks, sizes), saboteur));
        while world.started.is_none() {
            if !world.step(random, 1 << 40) {
                return Err("the array does not start".into());
            }
        }
        self.body = Body::Array(world);
        self.has_started()
    }

    /// Looks how an array has started.
    pub(super) fn has_started(&mut self) -> Result<(), String> {
        let world = self.world();
        match &world.started {
            Some(Ok(())) if world.machine.record.is_some() => {}
            other => {
                let why = &world.machine.why_still;
                return Err(format!("it cannot be written: {other:?}{why}"));
            }
        }
        self.believe_filling();
        Ok(())
    }

    fn believe_filling(&mut self) {
        if self.fault != Some(ChangeFault::FillingBelieved) {
            return;
        }
        let array = &mut self.world().machine;
        let assembly = array.view_mut().assembly_mut();
        for (state, missed) in assembly.legs.iter_mut().zip(&mut assembly.missed) {
            if *state == LegState::Filling {
                *state = LegState::Valid { until: u64::MAX };
                *missed = Doubt::Nowhere;
            }
        }
        array.publish();
    }

    /// The array.
    pub(super) fn world(&mut self) -> &mut World<Array> {
        match &mut self.body {
            Body::Array(world) => world,
            Body::Plain(_) | Body::Mirror(_) | Body::Nothing => unreachable!("it is an array"),
        }
    }

    pub(super) fn array(&self) -> Option<&Array> {
        match &self.body {
            Body::Array(world) => Some(&world.machine),
            Body::Plain(_) | Body::Mirror(_) | Body::Nothing => None,
        }
    }

    pub(super) fn disks(&self) -> &[Disk] {
        match &self.body {
            Body::Array(world) => &world.disks,
            Body::Mirror(world) => &world.disks,
            Body::Plain(plain) => &plain.disks,
            Body::Nothing => &[],
        }
    }

    pub(super) fn disks_mut(&mut self) -> &mut [Disk] {
        match &mut self.body {
            Body::Array(world) => &mut world.disks,
            Body::Mirror(world) => &mut world.disks,
            Body::Plain(plain) => &mut plain.disks,
            Body::Nothing => &mut [],
        }
    }

    /// Writes durably past whoever uses the volume.
    pub(super) fn put(&mut self, disk: usize, start: u64, bytes: &[u8]) {
        let request = Request::write(0, start, Durability::Fua, Buffer::copy_of(bytes));
        let disk = &mut self.disks_mut()[disk];
        let ticket = disk.begin(request);
        disk.finish(ticket);
    }

    /// Does something, or lets something happen.
    pub(super) fn act(&mut self, random: &mut Random) -> Result<(), String> {
        if self.open.len() < DEPTH && random.chance(1, 3) {
            self.ask(random);
        } else {
            self.step(random);
        }
        self.look(random)
    }

    /// Lets one thing happen; whether there was anything.
    pub(super) fn step(&mut self, random: &mut Random) -> bool {
        if !self.stragglers.is_empty() && random.chance(1, 8) {
            let (disk, ticket) = self.stragglers.swap_remove(0);
            self.disks_mut()[disk].finish(ticket);
        }
        if self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                self.text = self.next.take().expect("it is being written");
            }
        }
        let fault = self.fault;
        let happened = match &mut self.body {
            Body::Plain(plain) => plain.step(random),
            Body::Mirror(world) => world.step(random, 8),
            Body::Array(world) => {
                let array = &mut world.machine;
                match fault {
                    Some(ChangeFault::MendUnlocked) => array.open_locks(true),
                    Some(ChangeFault::RowsUnlocked) => array.open_locks(false),
                    Some(ChangeFault::PastForgotten) => array.forget_past(),
                    _ => {}
                }
                world.step(random, 8)
            }
            Body::Nothing => unreachable!("it is something"),
        };
        self.follow_journal();
        happened || self.left > 0
    }

    /// Notes what the journal does not cover.
    fn follow_journal(&mut self) {
        let journal = self.array().and_then(|array| array.journal.as_ref());
        let covers = journal.is_some_and(Journal::covers);
        self.unentered.resize(self.model.count() as usize, 0);
        for (sector, unentered) in self.unentered.iter_mut().enumerate() {
            let (_, _, issued) = self.model.versions(sector as u64);
            *unentered = if covers { 0 } else { issued };
        }
    }

    /// Whether no row may have been cut that no journal has.
    pub(super) fn is_covered(&self) -> bool {
        let is_sure = |(sector, unentered): (usize, &u32)| {
            let (floor, _, _) = self.model.versions(sector as u64);
            *unentered <= floor
        };
        !self.text.is_parity() || self.unentered.iter().enumerate().all(is_sure)
    }

    /// Whether a leg is away or filled, and rows may be cut that no journal has.
    pub(super) fn is_in_hole(&self) -> bool {
        let is_filled = self.text.legs.iter().any(|leg| leg.rebuild);
        (self.weak != 0 || is_filled) && !self.is_covered()
    }

    fn ask(&mut self, random: &mut Random) {
        let sectors = self.text.sectors();
        let (start, len) = if random.chance(1, 2) {
            (random.below(4.min(sectors)), 1 + random.below(3))
        } else {
            (random.below(sectors), 1 + random.below(6))
        };
        let len = len.min(sectors - start);
        let range = Range::new(start * SECTOR, len * SECTOR);
        let durability = match random.below(4) {
            0 => Durability::Fua,
            _ => Durability::Volatile,
        };
        match random.below(12) {
            0..=2 => self.read(range),
            3 => {
                let covered = self.model.answered();
                self.submit(What::Flush(covered), Range::EMPTY, Request::flush(0));
            }
            _ if self.model.is_busy(range) => {}
            4 => {
                self.model.issue(range, Content::Zeros);
                let request = Request::bare(0, Operation::WriteZeroes(Unmap::Allowed), range);
                let request = Request {
                    durability,
                    ..request
                };
                self.submit(What::Write(durability), range, request);
            }
            _ => {
                let bytes = self.model.issue(range, Content::Bytes);
                let buffer = Buffer::copy_of(&bytes);
                let request = Request::write(0, range.start(), durability, buffer);
                self.submit(What::Write(durability), range, request);
            }
        }
    }

    fn read(&mut self, range: Range) {
        let what = What::Read(self.model.expected(false));
        let buffer = Buffer::zeroed(range.len() as usize);
        self.submit(what, range, Request::read(0, range.start(), buffer));
    }

    fn submit(&mut self, what: What, range: Range, request: Request) {
        self.next_tag += 1;
        let tag = self.next_tag;
        let flushes = &self.activity.flushes;
        flushes.set(flushes.get() + u32::from(matches!(what, What::Flush(_))));
        self.open.push((tag, what, range));
        let request = Request { tag, ..request };
        match &mut self.body {
            Body::Plain(plain) => plain.submit(request),
            Body::Array(world) => world.submit(0, request),
            Body::Mirror(world) => world.submit(0, request),
            Body::Nothing => unreachable!("it is something"),
        }
        self.follow_journal();
    }

    /// Judges what was answered, and hears what is told.
    pub(super) fn look(&mut self, random: &mut Random) -> Result<(), String> {
        let (done, notices) = match &mut self.body {
            Body::Plain(plain) => (std::mem::take(&mut plain.done), Vec::new()),
            Body::Mirror(world) => {
                world.broken()?;
                (std::mem::take(&mut world.done), Vec::new())
            }
            Body::Array(world) => {
                world.broken()?;
                let view = world.machine.view.as_ref();
                let is_filling =
                    view.is_some_and(|view| view.assembly().legs.contains(&LegState::Filling));
                self.activity.is_filling.set(is_filling);
                let notices = std::mem::take(&mut world.notices);
                (std::mem::take(&mut world.done), notices)
            }
            Body::Nothing => unreachable!("it is something"),
        };
        for answer in done {
            let asked = self.open.iter().position(|(tag, ..)| *tag == answer.tag);
            let asked = asked.ok_or("a request is answered twice")?;
            let (_, what, range) = self.open.swap_remove(asked);
            if let Err(error) = &answer.result {
                return Err(format!("a request fails though enough is there: {error}"));
            }
            match what {
                What::Read(since) => self.model.judge(range, &answer.buffer, &since)?,
                What::Write(durability) => {
                    let durable = durability == Durability::Fua;
                    self.model.written(range, durable, true);
                }
                What::Flush(covered) => {
                    let flushes = &self.activity.flushes;
                    flushes.set(flushes.get() - 1);
                    self.model.flushed(&covered);
                }
            }
        }
        for notice in notices {
            if let Notice::Filled(leg) = notice {
                let disk = self.running.legs[leg].data;
                self.behind &= !only(disk);
                self.filled.push(disk);
            }
        }
        let has_marks = |array: &Array| array.regions.marked().count() > 0;
        self.is_half_grown &= !self.is_in_sync() || self.array().is_some_and(has_marks);
        self.write_filled(random);
        Ok(())
    }

    /// Begins to write down that legs are filled.
    fn write_filled(&mut self, random: &mut Random) {
        if self.next.is_some() || self.filled.is_empty() {
            return;
        }
        let mut text = self.text.clone();
        let filled = std::mem::take(&mut self.filled);
        for leg in text
            .legs
            .iter_mut()
            .filter(|leg| filled.contains(&leg.data))
        {
            leg.rebuild = false;
        }
        if text != self.text {
            self.commit(text, 1 + random.below(COMMIT_MAX));
        }
    }

    /// Begins to write a text; it is durable after so many steps, or when it is said so.
    pub(super) fn commit(&mut self, text: Text, left: u64) {
        assert_eq!(self.next, None, "one change at a time");
        self.next = Some(text);
        self.left = left;
    }

    /// Waits until something is so; `between` looks at each moment.
    pub(super) fn until(
        &mut self,
        random: &mut Random,
        what: &str,
        is_so: impl Fn(&Self) -> bool,
    ) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            self.look(random)?;
            if is_so(self) {
                return Ok(());
            }
            if !self.step(random) {
                self.look(random)?;
                return if is_so(self) {
                    Ok(())
                } else {
                    Err(format!("never {what}: {}", self.how()))
                };
            }
        }
        Err(format!("not {what} in time"))
    }

    /// How it is, for people.
    pub(super) fn how(&self) -> String {
        let array = self.array();
        let running = array.filter(|array| array.view.is_some());
        let mended = running.map(Array::has_mended);
        let status = array.map(Machine::status);
        let (open, next, filled) = (self.open.len(), &self.next, &self.filled);
        format!("{open} open, text {next:?}, {filled:?}, {mended:?}, {status:?}")
    }

    /// Reads all.
    pub(super) fn read_all(&mut self, random: &mut Random) -> Result<(), String> {
        let mut at = 0;
        while at < self.text.sectors() {
            let len = (1 + random.below(9)).min(self.text.sectors() - at);
            self.read(Range::new(at * SECTOR, len * SECTOR));
            at += len;
            self.until(random, "answered", |life| life.open.len() < 3)?;
        }
        self.until(random, "answered", |life| life.open.is_empty())
    }

    /// Whether nothing is left to do by itself, and nothing in flight.
    pub(super) fn is_settled(&self) -> bool {
        self.is_in_sync() && self.open.is_empty()
    }

    /// Whether all is in sync, as a plan asks for.
    pub(super) fn is_in_sync(&self) -> bool {
        let is_whole = self.array().is_none_or(|array| {
            let status = array.status();
            let is_filling = status.legs.iter().any(|(leg, _)| *leg == LegState::Filling);
            let is_said = array.record.as_ref().is_none_or(Record::is_idle);
            array.view.is_some() && array.has_mended() && !is_filling && is_said
        });
        let is_copied = match &self.body {
            Body::Mirror(world) => {
                let status = world.machine.status();
                status.in_sync == status.regions
            }
            _ => true,
        };
        is_whole && is_copied && self.next.is_none() && self.filled.is_empty()
    }

    /// Tells whoever keeps a state to suspend, to go on, or to stop.
    pub(super) fn tell(&mut self, what: Order) {
        match &mut self.body {
            Body::Array(world) => world.tell(what.event()),
            Body::Mirror(world) => world.tell(what.event()),
            Body::Plain(_) | Body::Nothing => unreachable!("it has no state"),
        }
    }

    /// Whether it has done so, and all that it told is heard.
    pub(super) fn has_obeyed(&self, what: Order) -> bool {
        let (suspended, stopped) = match &self.body {
            Body::Array(world) => (world.suspended, world.stopped),
            Body::Mirror(world) => (world.suspended, world.stopped),
            Body::Plain(_) | Body::Nothing => unreachable!("it has no state"),
        };
        match what {
            Order::Suspend => suspended,
            Order::Resume => !suspended,
            Order::Stop => stopped && self.next.is_none(),
        }
    }

    /// The disks of a volume that rests.
    pub(super) fn take_disks(&mut self) -> Vec<Disk> {
        match std::mem::replace(&mut self.body, Body::Nothing) {
            Body::Plain(plain) => plain.disks,
            Body::Array(world) => world.disks,
            Body::Mirror(world) => world.disks,
            Body::Nothing => unreachable!("it is something"),
        }
    }

    /// The disks, of which the process that used them is killed.
    pub(super) fn kill(&mut self, random: &mut Random) -> Vec<Disk> {
        self.stragglers.clear();
        match std::mem::replace(&mut self.body, Body::Nothing) {
            Body::Plain(plain) => plain.kill(random),
            Body::Array(world) => world.kill(random),
            Body::Mirror(world) => world.kill(random),
            Body::Nothing => unreachable!("it is something"),
        }
    }

    /// What disks hold if the power goes now.
    pub(super) fn images(&self, random: &mut Random) -> Vec<Image> {
        self.disks().iter().map(|disk| disk.cut(random)).collect()
    }

    /// A leg vanishes.
    pub(super) fn lose(&mut self, disk: usize) {
        let leg = self.text.legs.iter().find(|leg| leg.data == disk);
        let meta = Text::meta_disk(leg.expect("it is a leg"));
        for disk in [disk, meta] {
            self.disks_mut()[disk].vanish();
        }
        self.weak |= only(disk);
    }
}
