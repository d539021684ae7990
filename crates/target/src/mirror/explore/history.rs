//! One history: what is written, what fails, where the power is cut, and what is found after.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use block::sim::{Disk, Faults, Image, Random};
use block::{Buffer, Completion, Durability, Range, Request};

use super::kernel;
use super::model::{Model, SECTOR, encode};
use super::plant::Plant;
use super::world::{Described, World};
use crate::machine::Event;
use crate::mirror::log_image::LogImage;
use crate::mirror::{Leg, LogPlace, Mirror, MirrorConfig, Others, Sync};

/// Sectors of the mirrors here, and of their regions.
pub(super) const SECTORS: u64 = 16;
pub(super) const REGION: u64 = 2;
/// Requests in flight at most.
const DEPTH: usize = 6;
/// Sectors of one request at most.
const LENGTH: u64 = 5;
/// After so many steps without an answer, none will come.
const STEPS_MAX: usize = 20_000;

/// What was explored.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Fingerprints of the states that a cut left.
    pub(super) states: HashSet<u64>,
    /// Cuts, of which some left the same.
    pub(super) cuts: u64,
    /// Cuts after which a leg was gone.
    pub(super) without_leg: u64,
    /// Cuts after which a stale leg came back.
    pub(super) stale: u64,
    /// Cuts after which the kernel had the mirror, with a leg that had missed writes.
    pub(super) kernel: u64,
}

/// What a mirror is made of in one history.
#[derive(Debug, Clone, Copy)]
struct Shape {
    legs: usize,
    log: LogPlace,
    plant: Option<Plant>,
}

/// What the power cut left, and what is known of it.
#[derive(Debug, Clone)]
struct Left {
    images: Vec<Image>,
    model: Model,
    /// Legs that must hold everything.
    whole: Vec<bool>,
    described: Described,
}

/// A running mirror and what is known of it.
struct Run {
    shape: Shape,
    world: World,
    model: Model,
    whole: Vec<bool>,
    open: Vec<Asked>,
    next_tag: u64,
    there: Vec<bool>,
}

/// A request in flight.
struct Asked {
    tag: u64,
    what: What,
    range: Range,
}

enum What {
    Read(Vec<u32>),
    Write(Durability),
    Flush(Vec<u32>),
}

/// Runs the history of `seed`; what is wrong, if anything.
pub(super) fn run(seed: u64, plant: Option<Plant>, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random::new(seed);
    let legs = if random.chance(1, 4) { 3 } else { 2 };
    let log = match random.below(8) {
        0 => LogPlace::Core,
        _ => LogPlace::Disk(legs),
    };
    let shape = Shape { legs, log, plant };
    let left = beginning(shape, &mut random);
    let mut run = Run::start(shape, left, vec![true; legs])?;
    run.settle_start(&mut random)?;
    let steps = 20 + random.index(120);
    let dies = random
        .chance(1, 2)
        .then(|| (random.index(steps), random.index(legs)));
    for step in 0..steps {
        if dies.is_some_and(|(when, _)| when == step) {
            let leg = dies.map_or(0, |(_, leg)| leg);
            if run
                .whole
                .iter()
                .enumerate()
                .any(|(other, whole)| *whole && other != leg)
            {
                run.world.disks[leg].vanish();
                run.whole[leg] = false;
            }
        }
        run.act(&mut random)?;
        if random.chance(1, 2) {
            cut(&run, &mut random, 1, seen)?;
        }
    }
    run.finish(&mut random)?;
    cut(&run, &mut random, 1, seen)
}

/// The disks of a mirror that was in sync, or is new.
fn beginning(shape: Shape, random: &mut Random) -> Left {
    let in_sync = random.chance(2, 3);
    let bytes = |version| {
        let sectors = (0..SECTORS as usize).flat_map(move |sector| encode(sector, version));
        sectors.collect::<Vec<u8>>()
    };
    let mut images = vec![Image::from_bytes(&bytes(0))];
    for _ in 1..shape.legs {
        let version = if in_sync { 0 } else { u32::MAX };
        images.push(Image::from_bytes(&bytes(version)));
    }
    let mut log = vec![0; 3 * SECTOR as usize];
    if in_sync {
        log[..8].copy_from_slice(&[0x52, 0x69, 0x4d, 0x4d, 2, 0, 0, 0]);
        log[..4].copy_from_slice(&0x4d69_5272_u32.to_le_bytes());
        log[8..16].fill(0xff);
        log[1024] = 0xff;
    }
    images.push(Image::from_bytes(&log));
    let mut whole = vec![in_sync; shape.legs];
    whole[0] = true;
    Left {
        images,
        model: Model::new(SECTORS),
        whole,
        described: Described {
            order: (0..shape.legs).collect(),
            assumed: in_sync && shape.log == LogPlace::Core,
        },
    }
}

impl Run {
    /// Starts a mirror of the legs that are there.
    fn start(shape: Shape, left: Left, there: Vec<bool>) -> Result<Self, String> {
        let leg = |leg: usize| Leg {
            device: there[leg].then_some(leg),
            ..Leg::missing(leg as u64 + 100)
        };
        let described = left.described;
        let legs = described.order.iter().map(|disk| leg(*disk)).collect();
        let mut config = MirrorConfig::new("m", SECTORS * SECTOR, REGION * SECTOR, legs);
        config.log = shape.log;
        (config.sync, config.others) = if described.assumed {
            (Sync::Assumed, Others::All)
        } else {
            (Sync::AsLogged, Others::Leg(0))
        };
        let disks: Vec<Disk> = left
            .images
            .into_iter()
            .map(|image| Disk::new("disk", image, SECTOR as u32, Faults::default(), 1))
            .collect();
        let infos: Vec<_> = disks.iter().map(|disk| disk.info().clone()).collect();
        let mut mirror = Mirror::new(config, &infos).map_err(|error| error.to_string())?;
        mirror.planted = shape.plant;
        let whole = left
            .whole
            .iter()
            .zip(&there)
            .map(|(a, b)| *a && *b)
            .collect();
        Ok(Self {
            shape,
            world: World::start(mirror, disks, described),
            model: left.model,
            whole,
            open: Vec::new(),
            next_tag: 0,
            there,
        })
    }

    /// Waits for the start; whether it worked, which it must if a leg is whole.
    fn settle_start(&mut self, random: &mut Random) -> Result<bool, String> {
        while self.world.started.is_none() {
            if !self.world.step(random, 1 << 40) {
                return Err("the mirror does not start".into());
            }
        }
        match self.world.started.as_ref().expect("it was waited for") {
            Ok(()) => Ok(true),
            Err(error) if self.whole.contains(&true) => {
                Err(format!("it does not start, though a leg is whole: {error}"))
            }
            Err(_) => Ok(false),
        }
    }

    /// Does something, or lets something happen.
    fn act(&mut self, random: &mut Random) -> Result<(), String> {
        if self.open.len() < DEPTH && random.chance(1, 3) {
            self.ask(random);
        } else if self.open.is_empty() && random.chance(1, 30) {
            self.suspend(random)?;
        } else {
            self.world.step(random, 8);
        }
        self.look()
    }

    fn ask(&mut self, random: &mut Random) {
        let len = 1 + random.below(LENGTH);
        let start = random.below(SECTORS - len + 1);
        let range = Range::new(start * SECTOR, len * SECTOR);
        match random.below(8) {
            0 | 1 => self.read(range),
            2 => {
                let what = What::Flush(self.model.answered());
                let tag = self.remember(what, Range::EMPTY);
                self.world.submit(Request::flush(tag));
            }
            _ if self.model.is_busy(range) => {}
            chance => {
                let durability = match chance {
                    3 => Durability::Fua,
                    _ => Durability::Volatile,
                };
                let bytes = self.model.issue(range);
                let tag = self.remember(What::Write(durability), range);
                let buffer = Buffer::copy_of(&bytes);
                self.world
                    .submit(Request::write(tag, range.start(), durability, buffer));
            }
        }
    }

    fn read(&mut self, range: Range) {
        let tag = self.remember(What::Read(self.model.answered()), range);
        let buffer = Buffer::zeroed(range.len() as usize);
        self.world.submit(Request::read(tag, range.start(), buffer));
    }

    fn remember(&mut self, what: What, range: Range) -> u64 {
        self.next_tag += 1;
        let tag = self.next_tag;
        self.open.push(Asked { tag, what, range });
        tag
    }

    /// Ends all that is in flight, and what the mirror does by itself, and goes on.
    fn suspend(&mut self, random: &mut Random) -> Result<(), String> {
        self.world.suspended = false;
        self.world.tell(Event::Suspend);
        for _ in 0..STEPS_MAX {
            if self.world.suspended {
                if self
                    .world
                    .disks
                    .iter()
                    .any(|disk| disk.in_flight().count() > 0)
                {
                    return Err("it is suspended with requests in flight".into());
                }
                self.world.tell(Event::Resume);
                return Ok(());
            }
            if !self.world.step(random, 8) {
                return Err("it does not become suspended".into());
            }
        }
        Err("it does not become suspended in time".into())
    }

    /// Waits for all answers.
    fn finish(&mut self, random: &mut Random) -> Result<(), String> {
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

    /// Judges what was answered.
    fn look(&mut self) -> Result<(), String> {
        for answer in std::mem::take(&mut self.world.done) {
            let known = self.open.iter().position(|asked| asked.tag == answer.tag);
            let Some(known) = known else {
                return Err("a request is answered twice".into());
            };
            let asked = self.open.swap_remove(known);
            self.judge(&asked, &answer)?;
        }
        Ok(())
    }

    fn judge(&mut self, asked: &Asked, answer: &Completion) -> Result<(), String> {
        if let Err(error) = &answer.result
            && self.whole.contains(&true)
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
            What::Read(_) | What::Flush(_) => {}
        }
        Ok(())
    }
}

/// Cuts the power of a running mirror, and looks what is left; the run itself goes on.
fn cut(run: &Run, random: &mut Random, depth: u32, seen: &mut Seen) -> Result<(), String> {
    let shape = run.shape;
    let mut model = run.model.clone();
    model.cut();
    let images: Vec<Image> = run
        .world
        .disks
        .iter()
        .map(|disk| disk.cut(random))
        .collect();
    // What is being written when the power goes may be there.
    let described = match &run.world.wanted {
        Some(wanted) if random.chance(1, 2) => wanted.clone(),
        _ => run.world.described.clone(),
    };
    if described.assumed {
        // Nothing is copied after a cut: the legs differ in what was being written.
        model.forget_reads();
        model.is_sticky = false;
    }
    let gone: Vec<bool> = run.world.disks.iter().map(Disk::is_gone).collect();
    let mut whole = run.whole.clone();
    if shape.log != LogPlace::Core {
        believe_record(shape, &images, &mut whole, &gone);
    }
    if whole.contains(&true) {
        seen.kernel += u64::from(gone.contains(&true));
        kernel::judge(shape.log, &images, &described, &model)?;
    }
    let mut there: Vec<bool> = gone[..shape.legs].iter().map(|gone| !gone).collect();
    let stale_returns = gone.contains(&true) && random.chance(1, 2);
    if stale_returns {
        there.fill(true);
    }
    if random.chance(1, 2) {
        there[random.index(shape.legs)] = false;
    }
    if !there.contains(&true) {
        return Ok(());
    }
    if there
        .iter()
        .zip(&run.there)
        .any(|(there, before)| !*there && *before)
    {
        model.forget_reads();
    }
    seen.cuts += 1;
    seen.stale += u64::from(stale_returns);
    seen.without_leg += u64::from(there.contains(&false));
    seen.states.insert(fingerprint(&images, &there, &model));
    let left = Left {
        images,
        model,
        whole,
        described,
    };
    verify(shape, left, there, random, depth, seen)
}

/// Legs that the log's record calls whole must be.
fn believe_record(shape: Shape, images: &[Image], whole: &mut [bool], gone: &[bool]) {
    let log = images[shape.legs].bytes(Range::new(0, 3 * SECTOR));
    let image = LogImage::load(log, SECTORS / REGION, SECTOR as u32, Sync::AsLogged);
    let Ok(image) = image else { return };
    for id in image.believed() {
        let leg = (id - 100) as usize;
        whole[leg] |= !gone[leg];
    }
}

/// Starts what a cut left, reads all of it twice while it is copied, and may cut once more.
fn verify(
    shape: Shape,
    left: Left,
    there: Vec<bool>,
    random: &mut Random,
    depth: u32,
    seen: &mut Seen,
) -> Result<(), String> {
    let mut left = left;
    let forgets = shape.log == LogPlace::Core && !left.described.assumed;
    let first = left.described.order[0];
    let core_lost = forgets && !there[first];
    if forgets {
        // Nothing is known of the others.
        let is_first = |(leg, whole): (usize, &mut bool)| *whole &= leg == first;
        left.whole.iter_mut().enumerate().for_each(is_first);
    }
    let mut run = Run::start(shape, left, there)?;
    if !run.settle_start(random)? {
        return Ok(());
    }
    if core_lost {
        return Ok(());
    }
    for _ in 0..2 {
        let first = random.below(SECTORS);
        for sector in 0..SECTORS {
            let sector = (first + sector * 5) % SECTORS;
            run.read(Range::new(sector * SECTOR, SECTOR));
            run.look()?;
            while run.open.len() > 2 {
                run.world.step(random, 8);
                run.look()?;
            }
        }
        run.finish(random)?;
    }
    if depth > 0 && random.chance(1, 4) {
        for _ in 0..random.index(60) {
            run.act(random)?;
        }
        return cut(&run, random, depth - 1, seen);
    }
    Ok(())
}

fn fingerprint(images: &[Image], there: &[bool], model: &Model) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (index, image) in images.iter().enumerate() {
        if there.get(index).copied().unwrap_or(true) {
            image.bytes(Range::new(0, image.size())).hash(&mut hasher);
        }
    }
    there.hash(&mut hasher);
    model.hash(&mut hasher);
    hasher.finish()
}
