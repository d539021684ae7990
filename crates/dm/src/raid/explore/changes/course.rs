//! A change of a volume in use, from its plan to its end, as commands and owners carry it out.
//!
//! ```text
//!   new metadata zeroed ─▸ requests held, the array rests ─▸ what it is to become is prepared
//!     ─▸ the text is written ─▸ it becomes that ─▸ requests go on ─▸ legs are filled ─▸ the text
//!                          ╲─▸ or cannot be: all goes on as it was
//! ```

use block::sim::{Image, Random};
use block::{Access, Range};

use super::after::{adapt, cut, disks_of};
use super::fault::ChangeFault;
use super::kinds::{Kind, Way};
use super::life::{Body, Life, Order, STEPS_MAX};
use super::text::{DATA, Form, Leg, META_LEN, METAS, Text};
use crate::explore::{Model, SECTOR, Seen, infos};
use crate::machine::{Event, Machine};
use crate::raid::doubt::Doubt;
use crate::raid::update::only;
use crate::raid::{ArrayConfig, Consistency, Control};

/// Bytes of a data disk.
const DATA_LEN: u64 = 64 * SECTOR;
/// One of so many moments is a cut.
const CUT_EVERY: u64 = 40;
/// Steps of a change that is not refused for ever.
const TRIES: usize = 200;
/// Steps that are looked at when a change is made.
const AFTER: usize = 200;

/// How far a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Before,
    Preparing,
    Resting,
    Committing,
    After,
}

impl Stage {
    const ALL: [Self; 5] = [
        Self::Before,
        Self::Preparing,
        Self::Resting,
        Self::Committing,
        Self::After,
    ];
}

/// Why a history does not go on as it was.
pub(super) enum Halt {
    /// Its process was killed.
    Killed,
    Broken(String),
}

impl From<String> for Halt {
    fn from(what: String) -> Self {
        Self::Broken(what)
    }
}

/// One history.
pub(super) struct Course<'s> {
    life: Life,
    /// The process is killed in this stage, after so many moments of it.
    kill: (Stage, u64),
    seen: &'s mut Seen,
}

/// Runs the history of `seed` with the change of this name; what is wrong, if anything.
pub(super) fn run(
    name: &str,
    (seed, fault): (u64, Option<ChangeFault>),
    seen: &mut Seen,
) -> Result<(), String> {
    let random = &mut Random::new(seed);
    let kind = Kind::chosen(name, random);
    // While a leg is filled or away, any cut would find the write hole without a journal.
    let is_filled = kind.new.legs.iter().any(|leg| leg.rebuild);
    let consistency = match random.below(4) {
        0 if kind.lost.is_some() => Consistency::Journal,
        0 if !is_filled => Consistency::None,
        1 => Consistency::Journal,
        _ => Consistency::Auto,
    };
    let mut life = begin((fault, consistency), &kind, random)?;
    life.is_splitting = name == "split";
    let stage = Stage::ALL[random.index(Stage::ALL.len())];
    let moments = match stage {
        Stage::Before | Stage::After => random.below(60),
        Stage::Preparing | Stage::Committing => random.below(4),
        Stage::Resting => random.below(12),
    };
    let kill = (stage, moments);
    let mut course = Course { life, kill, seen };
    match course.whole(&kind, random) {
        Ok(()) | Err(Halt::Killed) => {}
        Err(Halt::Broken(what)) => return Err(what),
    }
    let Course { life, seen, .. } = course;
    life.end(random, seen)
}

/// The volume before the change, in use.
fn begin(
    how: (Option<ChangeFault>, Consistency),
    kind: &Kind,
    random: &mut Random,
) -> Result<Life, String> {
    let mut data = vec![vec![0x5a; DATA_LEN as usize]; DATA];
    let mut put = |disk: usize, at: u64, bytes: &[u8]| {
        data[disk][at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    };
    if kind.new.geometry().is_some() && kind.new.sectors() > kind.old.sectors() {
        kind.new.leftovers(kind.old.sectors(), &mut put);
    }
    if kind.is_new {
        kind.old.leftovers(0, &mut put);
    } else {
        kind.old.fill(&mut data);
    }
    let mut images: Vec<Image> = data.iter().map(|bytes| Image::from_bytes(bytes)).collect();
    images.extend((0..METAS).map(|_| Image::new(META_LEN)));
    // What was there before says that it belongs to the array.
    for (place, leg) in kind.new.legs.iter().enumerate() {
        images[Text::meta_disk(leg)] = kind.new.meta(place, true);
    }
    if kind.old.geometry().is_some() {
        for (place, leg) in kind.old.legs.iter().enumerate() {
            images[Text::meta_disk(leg)] = if kind.is_new {
                Image::new(META_LEN)
            } else {
                kind.old.meta(place, false)
            };
        }
    }
    if kind.old.is_mirror() {
        images[kind.old.log_disk()] = Image::from_bytes(&kind.old.log(true));
    }
    let mut model = Model::new(kind.old.sectors());
    if kind.is_new {
        model.dropped(0);
    }
    model.is_sticky = false;
    model.is_monotone = false;
    let disks = disks_of(images, random);
    Life::start(how, kind.old.clone(), (disks, model), (0, 0), random)
}

impl Course<'_> {
    /// The change, and all that comes before and after it.
    fn whole(&mut self, kind: &Kind, random: &mut Random) -> Result<(), Halt> {
        for _ in 0..20 + random.index(60) {
            self.go(Stage::Before, random)?;
        }
        if let Some(place) = kind.lost {
            self.life.lose(kind.old.legs[place].data);
        }
        let mut next = Some(kind);
        while let Some(kind) = next {
            self.change(kind, random)?;
            self.seen.count("changes", 1);
            for _ in 0..random.index(40) {
                self.go(Stage::After, random)?;
            }
            next = kind.then.as_deref();
        }
        for _ in 0..AFTER {
            self.go(Stage::After, random)?;
        }
        Ok(())
    }

    /// Something is asked or happens, and is looked at.
    fn go(&mut self, stage: Stage, random: &mut Random) -> Result<(), Halt> {
        self.life.act(random)?;
        self.moment(stage, random)
    }

    /// A moment of a change: the power may go, or the process be killed.
    fn moment(&mut self, stage: Stage, random: &mut Random) -> Result<(), Halt> {
        if self.life.is_rotten {
            // Together with a cut that would be one loss too many.
            return Ok(());
        }
        let every = match stage {
            Stage::Before | Stage::After => CUT_EVERY,
            Stage::Preparing | Stage::Resting | Stage::Committing => CUT_EVERY / 10,
        };
        if random.chance(1, every) {
            cut(&self.life, 1, random, self.seen)?;
            self.seen
                .count("cuts in the middle", u64::from(every < CUT_EVERY));
        }
        if self.kill.0 != stage || self.life.is_in_hole() {
            return Ok(());
        }
        let Some(left) = self.kill.1.checked_sub(1) else {
            return self.kill(stage, random);
        };
        self.kill.1 = left;
        Ok(())
    }

    /// The process is killed, and another one goes on by what the text says.
    fn kill(&mut self, stage: Stage, random: &mut Random) -> Result<(), Halt> {
        self.seen.count("kills", 1);
        let is_between = !matches!(stage, Stage::Before | Stage::After);
        self.seen
            .count("kills in the middle", u64::from(is_between));
        let life = &mut self.life;
        let text = match life.next.take() {
            Some(next) if random.chance(1, 2) => next,
            _ => life.text.clone(),
        };
        let splits = life.splits_of(&text);
        let before = life.text.sectors();
        let disks = life.kill(random);
        let mut model = life.model.clone();
        model.killed();
        adapt(&mut model, before, text.sectors());
        let how = (life.fault, life.consistency);
        let behind = life.behind | life.text.merged_by(&text);
        let weak = life.weak & text.disks();
        let is_rotten = life.is_rotten;
        let is_half_grown = life.is_half_grown || life.text.is_half_grown_by(&text);
        *life = Life::start(how, text, (disks, model), (weak, weak | behind), random)?;
        (life.splits, life.is_rotten) = (splits, is_rotten);
        life.is_half_grown = is_half_grown;
        life.weak = weak;
        life.behind = behind & life.text.disks();
        life.read_all(random)?;
        for _ in 0..random.index(AFTER) {
            life.act(random)?;
            if random.chance(1, CUT_EVERY) {
                cut(life, 0, random, self.seen)?;
            }
        }
        Err(Halt::Killed)
    }

    /// Lets things happen until something is so, at each of whose moments the power may go.
    fn until(
        &mut self,
        stage: Stage,
        is_so: impl Fn(&Life) -> bool,
        random: &mut Random,
    ) -> Result<(), Halt> {
        for _ in 0..STEPS_MAX {
            self.life.look(random)?;
            if is_so(&self.life) {
                return Ok(());
            }
            if !self.life.step(random) {
                self.life.look(random)?;
                if is_so(&self.life) {
                    return Ok(());
                }
                return Err(Halt::Broken(format!("it does not come behind {stage:?}")));
            }
            self.moment(stage, random)?;
        }
        Err(Halt::Broken(format!(
            "it does not come behind {stage:?} in time"
        )))
    }

    fn change(&mut self, kind: &Kind, random: &mut Random) -> Result<(), Halt> {
        for _ in 0..TRIES {
            self.until_planned(kind, random)?;
            let is_done = match kind.way {
                Way::Reload => self.reload(kind, random)?,
                Way::Exchange if kind.old.is_mirror() && random.chance(1, 2) => {
                    self.rest(kind, random)?
                }
                Way::Exchange => self.exchange(kind, random)?,
                Way::Start if random.chance(1, 2) => self.reload(kind, random)?,
                Way::Start | Way::AtRest => self.rest(kind, random)?,
                Way::Text => {
                    self.life.commit(kind.new.clone(), 1 + random.below(12));
                    while self.life.next.is_some() {
                        self.go(Stage::Committing, random)?;
                    }
                    true
                }
                Way::Repair => self.scrub(kind, random)?,
            };
            if is_done {
                return Ok(());
            }
            for _ in 0..random.index(20) {
                self.go(Stage::Before, random)?;
            }
        }
        Err(Halt::Broken("it may never be changed".into()))
    }

    /// Waits until the change may be planned.
    fn until_planned(&mut self, kind: &Kind, random: &mut Random) -> Result<(), Halt> {
        let is_resize = kind.way == Way::Reload && kind.old.legs == kind.new.legs;
        for _ in 0..STEPS_MAX {
            let life = &self.life;
            if life.next.is_none() && (is_resize || life.is_in_sync()) {
                return Ok(());
            }
            if random.chance(1, 4) {
                self.go(Stage::Before, random)?;
            } else {
                self.life.step(random);
                self.life.look(random)?;
                self.moment(Stage::Before, random)?;
            }
        }
        Err(Halt::Broken("it is never in sync".into()))
    }

    /// What is to be there before the text names it.
    fn prepare(&mut self, new: &Text, random: &mut Random) -> Result<(), Halt> {
        let old = self.life.text.clone();
        let is_kept = |leg: &Leg| {
            let mut legs = old.legs.iter();
            old.geometry().is_some() && legs.any(|other| other.meta == leg.meta)
        };
        let fault = self.life.fault;
        for leg in new.legs.iter().filter(|leg| !is_kept(leg)) {
            if new.geometry().is_some() && fault != Some(ChangeFault::MetaNotZeroed) {
                let zeros = vec![0; META_LEN as usize];
                self.life.put(Text::meta_disk(leg), 0, &zeros);
            }
            self.moment(Stage::Preparing, random)?;
        }
        if new.is_mirror() {
            let log = new.log(random.chance(1, 2));
            self.life.put(new.log_disk(), 0, &log);
        }
        if fault == Some(ChangeFault::OldTakenEarly) {
            self.give_away(&old, new);
        }
        Ok(())
    }

    /// What is no part of the volume any more is written by others.
    fn give_away(&mut self, old: &Text, new: &Text) {
        let (gone, kept) = (old.disks() & !new.disks(), old.leg_size.min(new.leg_size));
        let split: Vec<usize> = self
            .life
            .splits
            .iter()
            .map(|(text, _)| text.legs[0].data)
            .collect();
        for leg in &old.legs {
            let from = if gone & only(leg.data) != 0 { 0 } else { kept };
            if split.contains(&leg.data) || self.life.disks()[leg.data].is_gone() {
                continue;
            }
            let len = old.leg_size.saturating_sub(from);
            self.life.put(leg.data, from, &vec![0xa5; len as usize]);
        }
        if new.geometry().is_some() && new.sectors() < old.sectors() {
            let mut left = Vec::new();
            old.leftovers(new.sectors(), |disk, at, bytes| {
                left.push((disk, at, bytes.to_vec()));
            });
            for (disk, at, bytes) in left {
                self.life.put(disk, at, &bytes);
            }
        }
    }

    /// The text as it is written: a mistake may leave something out.
    fn written(&self, new: &Text) -> Text {
        let mut text = new.clone();
        if self.life.fault == Some(ChangeFault::RebuildUnsaid) {
            text.legs.iter_mut().for_each(|leg| leg.rebuild = false);
        }
        text
    }

    /// The text is written while all rests; whether it is, or could not be.
    fn commit(&mut self, kind: &Kind, random: &mut Random) -> Result<bool, Halt> {
        self.life.commit(self.written(&kind.new), 0);
        for _ in 0..=random.index(3) {
            self.moment(Stage::Committing, random)?;
        }
        if random.chance(1, 8) {
            self.life.next = None;
            self.seen.count("texts that could not be written", 1);
            return Ok(false);
        }
        self.durable(kind);
        self.moment(Stage::Committing, random)?;
        Ok(true)
    }

    /// The text is durable.
    fn durable(&mut self, kind: &Kind) {
        let life = &mut self.life;
        let text = life.next.take().expect("it was written");
        life.splits = life.splits_of(&text);
        life.is_half_grown |= life.text.is_half_grown_by(&text);
        let before = std::mem::replace(&mut life.text, text);
        let (from, to) = (before.sectors(), life.text.sectors());
        adapt(&mut life.model, from, to);
        life.behind |= before.merged_by(&life.text);
        life.weak &= life.text.disks();
        self.give_away(&before, &kind.new);
    }

    fn suspend(&mut self, random: &mut Random) -> Result<(), Halt> {
        self.life.tell(Order::Suspend);
        let is_so = |life: &Life| life.has_obeyed(Order::Suspend);
        self.until(Stage::Resting, is_so, random)
    }

    /// The array becomes another one; whether it does.
    fn reload(&mut self, kind: &Kind, random: &mut Random) -> Result<bool, Halt> {
        self.prepare(&kind.new, random)?;
        self.suspend(random)?;
        let how = (Access::ReadWrite, self.life.consistency);
        let (config, reach) = (kind.new.config(0, how), kind.new.reach());
        let world = self.life.world();
        let infos = infos(&world.disks, &reach);
        if world.machine.foresee(&config, &infos).is_err() {
            world.tell(Event::Resume);
            self.seen.count("changes that were put off", 1);
            return Ok(false);
        }
        if self.life.fault == Some(ChangeFault::ResumedEarly) {
            self.become_new(kind, reach, config, random)?;
            self.life.commit(kind.new.clone(), 0);
            for _ in 0..20 {
                self.life.step(random);
                self.life.look(random)?;
                self.moment(Stage::Committing, random)?;
            }
            self.durable(kind);
            return Ok(true);
        }
        if !self.commit(kind, random)? {
            self.life.world().tell(Event::Resume);
            return Ok(false);
        }
        self.become_new(kind, reach, config, random)?;
        Ok(true)
    }

    fn become_new(
        &mut self,
        kind: &Kind,
        reach: Vec<u64>,
        config: ArrayConfig,
        random: &mut Random,
    ) -> Result<(), Halt> {
        let fault = self.life.fault;
        self.life.running = kind.new.clone();
        let is_smaller = kind.new.leg_size < kind.old.leg_size;
        self.life.activity.has_shrunk.set(is_smaller);
        let world = self.life.world();
        for (disk, size) in reach.into_iter().enumerate() {
            world.resize(disk, size);
        }
        let successor = world
            .machine
            .successor(&config, &world.infos())
            .expect("it was foreseen");
        if let Some(array) = successor {
            world.succeed(array);
            world.tell(Event::Start);
            return self.until_started(random);
        }
        if fault != Some(ChangeFault::NotReloaded) {
            world.tell(Event::Reload(config));
        }
        if fault == Some(ChangeFault::GrowthBelieved) {
            let array = &mut world.machine;
            *array.view_mut().raw_mut() = Doubt::Nowhere;
            array.view_mut().assembly_mut().dirty = Doubt::Nowhere;
            array.publish();
        }
        world.tell(Event::Resume);
        if fault == Some(ChangeFault::FilledEarly) {
            self.life
                .text
                .legs
                .iter_mut()
                .for_each(|leg| leg.rebuild = false);
        }
        Ok(())
    }

    /// Another array has taken the place of the one that was, and starts.
    fn until_started(&mut self, random: &mut Random) -> Result<(), Halt> {
        self.seen.count("arrays that others took the place of", 1);
        let is_so = |life: &Life| match &life.body {
            Body::Array(world) => world.started.is_some(),
            _ => unreachable!("it is an array"),
        };
        self.until(Stage::Resting, is_so, random)?;
        Ok(self.life.has_started()?)
    }

    /// What has no state gets one, or the other way round; whether it does.
    fn exchange(&mut self, kind: &Kind, random: &mut Random) -> Result<bool, Halt> {
        self.prepare(&kind.new, random)?;
        if !matches!(kind.old.form, Form::Plain(_)) {
            self.suspend(random)?;
            if !self.commit(kind, random)? {
                self.life.tell(Order::Resume);
                return Ok(false);
            }
            let disks = self.life.take_disks();
            self.life.become_of(&kind.new, disks, 0, random)?;
            return Ok(true);
        }
        if self.life.fault == Some(ChangeFault::NotDrained)
            && let Body::Plain(plain) = &mut self.life.body
        {
            self.life.stragglers = plain.forget(random);
        }
        self.until(Stage::Resting, |life| life.open.is_empty(), random)?;
        let disks = self.life.take_disks();
        self.life.become_of(&kind.new, disks, 0, random)?;
        // It runs, and nobody asks it before the text is durable.
        for _ in 0..random.index(8) {
            self.life.step(random);
            self.life.look(random)?;
            self.moment(Stage::Resting, random)?;
        }
        if !self.commit(kind, random)? {
            let disks = self.life.kill(random);
            self.life.become_of(&kind.old, disks, 0, random)?;
            return Ok(false);
        }
        Ok(true)
    }

    /// The volume is closed, changed and opened again; whether it was.
    fn rest(&mut self, kind: &Kind, random: &mut Random) -> Result<bool, Halt> {
        self.life.tell(Order::Stop);
        let is_so = |life: &Life| life.has_obeyed(Order::Stop);
        self.until(Stage::Resting, is_so, random)?;
        self.prepare(&kind.new, random)?;
        let is_done = self.commit(kind, random)?;
        let disks = self.life.take_disks();
        let text = self.life.text.clone();
        self.life.become_of(&text, disks, 0, random)?;
        Ok(is_done)
    }

    /// What does not go together is repaired while it is written.
    fn scrub(&mut self, kind: &Kind, random: &mut Random) -> Result<bool, Halt> {
        if kind.old.is_parity() && random.chance(1, 3) {
            let geometry = kind.old.geometry().expect("it has parity");
            let row = random.below(geometry.leg_size() / geometry.chunk());
            let leg = kind.old.legs[geometry.row(row).p];
            self.life.is_rotten = true;
            let bytes = vec![0xa5; SECTOR as usize];
            self.life.put(leg.data, row * geometry.chunk(), &bytes);
        }
        self.life.order_repair();
        for _ in 0..STEPS_MAX {
            self.go(Stage::Committing, random)?;
            if self.life.is_repaired()? {
                self.life.is_rotten = false;
                return Ok(true);
            }
        }
        Err(Halt::Broken("it is never repaired".into()))
    }
}

impl Text {
    /// The volume that the leg in this place becomes.
    fn linear(&self, place: usize) -> Self {
        Self {
            form: Form::Plain(self.leg_size),
            legs: vec![self.legs[place]],
            leg_size: self.leg_size,
            region: self.region,
        }
    }
}

impl Life {
    /// Volumes that were part of it, if the text says this.
    pub(super) fn splits_of(&self, text: &Text) -> Vec<(Text, Model)> {
        let mut splits = self.splits.clone();
        let (old, new) = (&self.text, text);
        let is_mirror = |text: &Text| {
            text.geometry()
                .is_some_and(|one| one.copies() == text.legs.len())
        };
        if self.is_splitting
            && splits.is_empty()
            && is_mirror(old)
            && new.legs.len() < old.legs.len()
        {
            splits.push((Text::linear(old, new.legs.len()), self.model.clone()));
        }
        splits
    }

    /// Orders that all is looked at, and repaired.
    fn order_repair(&mut self) {
        let size = self.text.geometry().expect("it is an array").sync_size();
        let control = Control::Repair(vec![Range::new(0, size)]);
        self.world().tell(Event::Control { id: 1, control });
    }

    /// Whether that is done.
    fn is_repaired(&mut self) -> Result<bool, String> {
        let obeyed = std::mem::take(&mut self.world().obeyed);
        let Some((_, result)) = obeyed.into_iter().next() else {
            return Ok(false);
        };
        result.map_err(|error| format!("it is not repaired: {error}"))?;
        Ok(true)
    }

    /// Repairs what does not go together.
    pub(super) fn repair(&mut self, random: &mut Random) -> Result<(), String> {
        self.until(random, "in sync", Self::is_settled)?;
        self.order_repair();
        for _ in 0..STEPS_MAX {
            self.step(random);
            self.look(random)?;
            if self.is_repaired()? {
                return Ok(());
            }
        }
        Err("it is never repaired".into())
    }
}
