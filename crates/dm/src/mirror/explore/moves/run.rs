//! A volume whose extents are being moved, piece by piece, and whether its answers are true.

use std::collections::BTreeMap;
use std::rc::Rc;

use block::sim::{Disk, Image, Random};
use block::{Completion, Durability, Range};

use super::ask::{Asked, DEPTH, What};
use super::change::{Change, Goal};
use super::fault::{Activity, SeededFault, saboteur};
use super::shape::{Described, SIDES, SOURCE, Shape, TARGET};
use super::window::Window;
use crate::explore::{Model, SECTOR, Sort, World};
use crate::mirror::{Mirror, Notice};

/// After so many steps without an answer, none will come.
pub(super) const STEPS_MAX: usize = 20_000;

/// What the windows of each piece hold, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Left {
    pub(super) images: Vec<[Image; SIDES]>,
    pub(super) model: Model,
    pub(super) described: Described,
}

/// A running volume and what is known of it.
pub(super) struct Run {
    pub(super) shape: Shape,
    pub(super) described: Described,
    /// What is being written down: a cut leaves this or that.
    pub(super) pending: Option<Described>,
    /// The windows of each piece, but of the one that is being copied.
    pub(super) windows: Vec<[Option<Window>; SIDES]>,
    /// What copies that one.
    pub(super) world: Option<World<Mirror>>,
    /// Its windows that failed a flush before, and do so again.
    pub(super) latched: [bool; SIDES],
    pub(super) model: Model,
    pub(super) open: Vec<Asked>,
    pub(super) next_tag: u64,
    pub(super) activity: Rc<Activity>,
    /// What is about to happen to the volume.
    pub(super) change: Option<Change>,
    /// The piece that runs was said to be copied.
    pub(super) is_copied: bool,
    /// Something of the source failed, or will.
    pub(super) source_fails: bool,
    pub(super) target_gone: bool,
    /// Why a request failed that must not.
    needless: Option<block::Error>,
    /// What happened, and how often.
    pub(super) counts: BTreeMap<&'static str, u64>,
}

impl Run {
    /// Starts what was left, perhaps without the disk that is moved to.
    pub(super) fn start(
        shape: Shape,
        left: Left,
        target_gone: bool,
        random: &mut Random,
    ) -> Result<Self, String> {
        let images = left.images.into_iter();
        let disks = images.map(|pair| pair.map(|image| shape.disk(image, random)));
        let mut disks: Vec<[Disk; SIDES]> = disks.collect();
        if target_gone {
            for pair in &mut disks {
                pair[TARGET].vanish();
            }
        }
        let start = (left.model, left.described);
        Self::start_on(shape, disks, start, target_gone)
    }

    /// The same on disks that are running.
    pub(super) fn start_on(
        shape: Shape,
        disks: Vec<[Disk; SIDES]>,
        (model, described): (Model, Described),
        target_gone: bool,
    ) -> Result<Self, String> {
        let window = |disk| Some(Window::new(disk, false));
        let mut run = Self {
            shape,
            described,
            pending: None,
            windows: disks.into_iter().map(|pair| pair.map(window)).collect(),
            world: None,
            latched: [false; SIDES],
            model,
            open: Vec::new(),
            next_tag: 0,
            activity: Rc::new(Activity::default()),
            change: None,
            is_copied: false,
            source_fails: false,
            target_gone,
            needless: None,
            counts: BTreeMap::new(),
        };
        run.reuse_free();
        run.begin_piece()?;
        Ok(run)
    }

    /// Begins to copy the next piece, if there is one.
    pub(super) fn begin_piece(&mut self) -> Result<(), String> {
        self.is_copied = false;
        let Some(piece) = self.shape.running(self.described) else {
            return Ok(());
        };
        let windows = std::mem::take(&mut self.windows[piece]);
        let windows = windows.map(|window| window.expect("nobody uses it"));
        self.latched = [SOURCE, TARGET].map(|side| windows[side].latched);
        let arranged: Vec<_> = windows
            .iter()
            .map(|window| window.arranged.clone())
            .collect();
        let disks: Vec<Disk> = windows.into_iter().map(|window| window.disk).collect();
        let infos: Vec<_> = disks.iter().map(|disk| disk.info().clone()).collect();
        let is_there = !disks[TARGET].is_gone();
        let mirror = self.shape.mirror(piece, &infos, is_there)?;
        let sizes = infos.iter().map(|info| info.size).collect();
        let saboteur = saboteur(self.shape.fault, &self.activity);
        let mut world = World::start(mirror, (disks, sizes), saboteur);
        world.mischief = self.shape.fault.and_then(SeededFault::mischief);
        for (side, refuses) in self.latched.into_iter().enumerate() {
            arranged[side]
                .iter()
                .for_each(|sort| world.arrange(side, *sort));
            if refuses {
                world.arrange(side, Sort::Flush);
            }
        }
        match &world.started {
            Some(Ok(())) => {}
            started => return Err(format!("the copy of a piece does not start: {started:?}")),
        }
        self.world = Some(world);
        Ok(())
    }

    pub(super) fn machine(&mut self) -> &mut World<Mirror> {
        self.world.as_mut().expect("a piece is being copied")
    }

    pub(super) fn window(&mut self, piece: usize, side: usize) -> &mut Window {
        let window = self.windows[piece][side].as_mut();
        window.expect("the piece is not being copied")
    }

    pub(super) fn disk(&self, piece: usize, side: usize) -> &Disk {
        match (&self.windows[piece][side], &self.world) {
            (Some(window), _) => &window.disk,
            (None, Some(world)) => &world.disks[side],
            (None, None) => unreachable!("the windows are somewhere"),
        }
    }

    /// Does something, or lets something happen.
    pub(super) fn act(&mut self, random: &mut Random) -> Result<(), String> {
        self.consider(random);
        if self.change.is_some() && random.chance(1, 2) {
            self.advance(random)?;
        } else if self.change.is_none() && self.open.len() < DEPTH && random.chance(1, 3) {
            self.ask(random);
        } else {
            self.step(random);
        }
        self.look()
    }

    /// Lets one thing happen; whether there was anything.
    pub(super) fn step(&mut self, random: &mut Random) -> bool {
        let windows = self.windows.iter_mut().flatten().flatten();
        let mut busy: Vec<&mut Window> = windows.filter(|window| !window.is_idle()).collect();
        let plain = busy.len() as u64;
        if plain == 0 || random.chance(1, 1 + plain) {
            let world = self.world.as_mut();
            if world.is_some_and(|world| world.step(random, 8)) {
                return true;
            }
        }
        if busy.is_empty() {
            return false;
        }
        let window = busy.swap_remove(random.index(plain as usize));
        let answer = window.step(random);
        self.answered(answer);
        true
    }

    /// One piece answered.
    fn answered(&mut self, answer: Completion) {
        let parts = self.open.iter_mut();
        let mut places = parts.filter_map(|asked| {
            let place = asked.parts.iter().position(|part| part.tag == answer.tag)?;
            Some((asked, place))
        });
        let (asked, place) = places.next().expect("it was asked, and once");
        let part = asked.parts.swap_remove(place);
        if let (What::Read(_), Ok(())) = (&asked.what, &answer.result) {
            let at = (part.range.start() - asked.range.start()) as usize;
            asked.bytes[at..][..answer.buffer.len()].copy_from_slice(&answer.buffer);
        }
        let Err(error) = answer.result else { return };
        asked.error = Some(error.clone());
        if !self.may_fail(&part) {
            self.needless.get_or_insert(error);
        }
    }

    pub(super) fn count(&mut self, what: &'static str, times: u64) {
        *self.counts.entry(what).or_default() += times;
    }

    /// Waits for all answers, and for what is about to happen.
    pub(super) fn finish(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            self.look()?;
            if self.open.is_empty() && self.change.is_none() {
                return Ok(());
            }
            if self.change.is_some() {
                self.advance(random)?;
            }
            if !self.step(random) && self.change.is_none() && !self.open.is_empty() {
                return Err("a request is never answered".into());
            }
        }
        Err("requests are not answered in time".into())
    }

    /// Lets the move come to its end, where nothing fails; then the source is not needed.
    pub(super) fn rest(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            self.look()?;
            if self.shape.running(self.described).is_none() && self.change.is_none() {
                self.finish(random)?;
                self.source_vanishes();
                return Ok(());
            }
            self.consider(random);
            if self.is_copied && !self.step(random) {
                self.change(Goal::Moved);
            }
            if self.change.is_some() {
                self.advance(random)?;
            }
            self.step(random);
        }
        Err("the move does not come to its end".into())
    }

    /// Pieces that were moved need no source.
    fn source_vanishes(&mut self) {
        for piece in 0..self.described.moved {
            self.window(piece, SOURCE).disk.vanish();
        }
    }

    /// Reads all sectors once.
    pub(super) fn read_all(&mut self, random: &mut Random) -> Result<(), String> {
        let (sectors, mut at) = (self.shape.sectors(), 0);
        self.finish(random)?;
        while at < sectors {
            let len = (1 + random.below(4)).min(sectors - at);
            self.read(Range::new(at * SECTOR, len * SECTOR));
            at += len;
            while self.open.len() > 2 {
                self.step(random);
                self.look()?;
            }
        }
        self.finish(random)
    }

    /// Judges what was told and answered.
    pub(super) fn look(&mut self) -> Result<(), String> {
        if let Some(world) = &mut self.world {
            world.broken()?;
            for notice in std::mem::take(&mut world.notices) {
                self.is_copied |= notice == Notice::Copied;
                let name = match notice {
                    Notice::Copied => "pieces copied",
                    Notice::Lost(_) => "targets lost",
                    Notice::Stuck(_) => "pieces stuck",
                    Notice::Persist(_) => return Err("the source of a move is lost".into()),
                };
                *self.counts.entry(name).or_default() += 1;
            }
        }
        let done = self
            .world
            .as_mut()
            .map(|world| std::mem::take(&mut world.done));
        for answer in done.into_iter().flatten() {
            self.answered(answer);
        }
        if let Some(error) = &self.needless {
            return Err(format!("a request fails without need: {error}"));
        }
        for index in (0..self.open.len()).rev() {
            if self.open[index].parts.is_empty() {
                let asked = self.open.swap_remove(index);
                self.judge(&asked)?;
            }
        }
        if self.open.is_empty() {
            self.activity.writes.borrow_mut().clear();
        }
        Ok(())
    }

    fn judge(&mut self, asked: &Asked) -> Result<(), String> {
        let done = asked.error.is_none();
        match &asked.what {
            What::Read(since) if done => self.model.judge(asked.range, &asked.bytes, since)?,
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
