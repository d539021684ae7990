//! The explorer finds what is planted, in a machine that was made for it.

mod journal;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use block::sim::{Disk, Faults, Image, Random};
use block::{Buffer, Durability, Operation, Range, Request};

use self::journal::Journal;
use super::{
    Campaign, Content, Expected, Model, Report, SECTOR, Sabotage, Saboteur, Seen, Sort, World,
    encode,
};
use crate::delay::{Delay, Slowness};
use crate::machine::Event;

const SECTORS: u64 = 4;

/// A mistake: what is done to which sort of requests of which leg.
type Mistake = Option<(usize, Sort, Sabotage)>;

fn saboteur(mistake: Mistake) -> Saboteur {
    Saboteur::new(move |leg, request| {
        let (of, sort, sabotage) = mistake?;
        let is_meant = leg == of && Sort::of(request) == sort;
        is_meant.then_some(sabotage)
    })
}

/// Disks that hold `images`, and their sizes.
fn disks(images: Vec<Image>, random: &mut Random) -> (Vec<Disk>, Vec<u64>) {
    let sizes = images.iter().map(Image::size).collect();
    let images = images.into_iter();
    let disks =
        images.map(|image| Disk::new("disk", image, 512, Faults::default(), random.number()));
    (disks.collect(), sizes)
}

/// A running journal and what is known of it.
struct Run {
    world: World<Journal>,
    model: Model,
    open: Vec<(u64, Range, Option<Expected>)>,
    tag: u64,
}

impl Run {
    fn start(images: Vec<Image>, model: Model, mistake: Mistake, random: &mut Random) -> Self {
        let disks = disks(images, random);
        let mut world = World::start(Journal::default(), disks, saboteur(mistake));
        while world.started.is_none() {
            assert!(world.step(random, 8), "it starts");
        }
        let (open, tag) = (Vec::new(), 0);
        Self {
            world,
            model,
            open,
            tag,
        }
    }

    fn read(&mut self, sector: u64) {
        self.tag += 1;
        let range = Range::new(sector * SECTOR, SECTOR);
        self.open
            .push((self.tag, range, Some(self.model.expected(true))));
        let buffer = Buffer::zeroed(SECTOR as usize);
        self.world
            .submit(0, Request::read(self.tag, range.start(), buffer));
    }

    fn write(&mut self, sector: u64) {
        let range = Range::new(sector * SECTOR, SECTOR);
        if self.model.is_busy(range) {
            return;
        }
        self.tag += 1;
        let bytes = Buffer::copy_of(&self.model.issue(range, Content::Bytes));
        self.open.push((self.tag, range, None));
        let request = Request::write(self.tag, range.start(), Durability::Volatile, bytes);
        self.world.submit(0, request);
    }

    fn look(&mut self) -> Result<(), String> {
        self.world.broken()?;
        for answer in std::mem::take(&mut self.world.done) {
            let known = self.open.iter().position(|(tag, ..)| *tag == answer.tag);
            let (_, range, expected) = self.open.swap_remove(known.ok_or("answered twice")?);
            match expected {
                Some(since) => self.model.judge(range, &answer.buffer, &since)?,
                None => self.model.written(range, true, true),
            }
        }
        Ok(())
    }

    fn finish(&mut self, random: &mut Random) -> Result<(), String> {
        while !self.open.is_empty() {
            if !self.world.step(random, 8) {
                return Err("a request is never answered".into());
            }
            self.look()?;
        }
        Ok(())
    }
}

fn history(seed: u64, mistake: Mistake, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut data = Image::new(SECTORS * SECTOR);
    for sector in 0..SECTORS {
        data.write(sector * SECTOR, &encode(sector as usize, 0));
    }
    let images = vec![data, Image::new(SECTOR)];
    let mut run = Run::start(images, Model::new(SECTORS), mistake, &mut random);
    for _ in 0..40 {
        match random.below(8) {
            0 => run.read(random.below(SECTORS)),
            1 | 2 => run.write(random.below(SECTORS)),
            _ => _ = run.world.step(&mut random, 8),
        }
        run.look()?;
        if random.chance(1, 2) {
            let disks = run.world.disks.iter();
            let images: Vec<Image> = disks.map(|disk| disk.cut(&mut random)).collect();
            let mut model = run.model.clone();
            model.cut();
            seen.cut(fingerprint(&images, &model));
            let mut left = Run::start(images, model, mistake, &mut random);
            for sector in (0..SECTORS).chain(0..SECTORS) {
                left.read(sector);
                left.finish(&mut random)?;
            }
        }
    }
    run.finish(&mut random)
}

fn fingerprint(images: &[Image], model: &Model) -> u64 {
    let mut hasher = DefaultHasher::new();
    for image in images {
        image.bytes(Range::new(0, image.size())).hash(&mut hasher);
    }
    model.hash(&mut hasher);
    hasher.finish()
}

fn explore(mistake: Mistake) -> Report {
    let campaign = Campaign {
        seed: 1,
        states: 1000,
        histories: 1000,
    };
    campaign.run(|seed, seen| history(seed, mistake, seen))
}

/// A machine that keeps its promises breaks none.
#[test]
fn a_proper_journal_is_found_proper() {
    let report = explore(None);
    assert_eq!(report.broken, None);
    assert!(report.states >= 1000, "{report}");
}

/// Each rule of the journal, broken, is found.
#[test]
fn broken_rules_are_found() {
    for mistake in [
        (1, Sort::Write, Sabotage::Volatile),
        (1, Sort::Write, Sabotage::Early),
        (0, Sort::Write, Sabotage::Early),
        (0, Sort::Write, Sabotage::Skipped),
        (0, Sort::Flush, Sabotage::Skipped),
    ] {
        let report = explore(Some(mistake));
        let (seed, what) = report.broken.clone().expect("it is found");
        println!(
            "{mistake:?}: seed {seed}: {what}, after {} cuts",
            report.cuts
        );
        let again = Campaign {
            seed,
            states: u64::MAX,
            histories: 1,
        };
        let again = again.run(|seed, seen| history(seed, Some(mistake), seen));
        assert_eq!(again.broken, Some((seed, what)), "the seed repeats it");
    }
}

/// A machine that says too early that nothing is in flight is accused.
#[test]
fn rules_of_machines_are_checked() {
    let mut random = Random::new(1);
    let images = vec![Image::new(SECTORS * SECTOR), Image::new(SECTOR)];
    let mut run = Run::start(images, Model::new(SECTORS), None, &mut random);
    run.world.machine.is_hasty = true;
    run.write(0);
    assert_eq!(run.world.broken(), Ok(()));
    run.world.tell(Event::Suspend);
    let what = run.world.broken().expect_err("a write is in flight");
    assert!(what.contains("suspended with requests in flight"), "{what}");
}

/// Time passes where nothing else can happen, and timers are told in their order.
#[test]
fn time_passes() {
    let mut random = Random::new(1);
    let slowness = Slowness {
        read: Duration::from_secs(2),
        flush: Duration::from_secs(1),
        ..Slowness::default()
    };
    let disks = disks(vec![Image::new(SECTOR)], &mut random);
    let mut world = World::start(Delay::new("slow", slowness), disks, Saboteur::none());
    let read = Request::read(1, 0, Buffer::zeroed(SECTOR as usize));
    world.submit(0, read);
    world.submit(0, Request::bare(2, Operation::Flush, Range::EMPTY));
    while world.step(&mut random, 1) {}
    let tags: Vec<u64> = world.done.iter().map(|done| done.tag).collect();
    assert_eq!(tags, [2, 1]);
}

/// After a failed flush nothing is durable any more, and requests fail as arranged.
#[test]
fn failures_are_latched() {
    let mut random = Random::new(1);
    let disks = disks(vec![Image::new(SECTOR)], &mut random);
    let mut world = World::start(
        Delay::new("d", Slowness::default()),
        disks,
        Saboteur::none(),
    );
    world.arrange(0, Sort::Flush);
    for tag in 0..3 {
        world.submit(0, Request::flush(tag));
        while world.step(&mut random, 8) {}
    }
    assert!(world.done.iter().all(|done| done.result.is_err()));
    assert!(world.failed[0]);
    let read = Request::read(3, 0, Buffer::zeroed(SECTOR as usize));
    world.submit(0, read);
    while world.step(&mut random, 8) {}
    assert!(world.done[3].result.is_ok());
}

/// A read that overlaps a durable write may see what was there before it, whatever a cut left.
#[test]
fn reads_beside_a_write_see_what_was_before() {
    let first = Range::new(0, SECTOR);
    let mut model = Model::new(1);
    model.issue(first, Content::Bytes);
    model.cut();
    let read = |model: &mut Model, since: &Expected| model.judge(first, &encode(0, 0), since);
    let before = model.expected(true);
    read(&mut model, &before).expect("what was in flight may be lost");
    model.issue(first, Content::Bytes);
    model.written(first, true, true);
    read(&mut model, &before).expect("it began before the write was answered");
    let after = model.expected(true);
    read(&mut model, &after).expect_err("the write is durable");
}
