//! One history: what an array is made of, how it begins, what is done to it, what fails, and when
//! the power goes.

use block::Range;
use block::sim::{Disk, Image, Random};

use super::cut::{cut, known_after};
use super::fault::SeededFault;
use super::keeps::Keeps;
use super::oracle::{Record, add_parity};
use super::run::{Fit, Known, Mishap, Run};
use super::shape::Shape;
use crate::explore::{Model, NEVER, SECTOR, Seen, encode};
use crate::raid::bitmap::{Bitmap, Dirty, START};
use crate::raid::keeping::Activity;
use crate::raid::update::only;
use crate::raid::view::LegSet;
use crate::raid::{Consistency, Extended, FailedDevices, FirstSync, Position, Scheme, Superblock};

/// Events of an array that was used.
const EVENTS: u64 = 10;

/// Of arrays in sync one of so many was another one before, if it can have been.
const FORMER_EVERY: u64 = 5;

/// How an array begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// Nobody has used it.
    New,
    InSync,
    /// Legs are not there.
    Without(LegSet),
    /// Legs were away: for so long that they lack what is marked, or anything.
    Back(LegSet, Absence),
    /// Legs hold nothing.
    Rebuild(LegSet),
    /// Superblocks say what it was before a takeover, which these legs are added by.
    TakenOver(Former, LegSet),
}

/// What an array was: md's level and layout, and how many legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Former {
    level: u32,
    layout: u32,
    legs: usize,
}

impl Former {
    /// What an array may have been, and the legs that it had not; `None`: nothing else.
    fn of(shape: &Shape) -> Option<(Self, LegSet)> {
        let legs = shape.legs();
        let (level, layout) = shape.geometry.scheme().md();
        let with_q = [(0, 16), (1, 17), (2, 18), (3, 19), (5, 5)];
        let last = only(legs - 1);
        match level {
            1 if legs == 2 => Some((
                Self {
                    level: 5,
                    layout: 2,
                    legs,
                },
                0,
            )),
            5 => {
                let (_, layout) = *with_q.iter().find(|(one, _)| *one == layout)?;
                let (level, legs) = (6, legs + 1);
                Some((
                    Self {
                        level,
                        layout,
                        legs,
                    },
                    0,
                ))
            }
            6 => {
                let (layout, _) = *with_q.iter().find(|(_, two)| *two == layout)?;
                let (level, legs) = (5, legs - 1);
                Some((
                    Self {
                        level,
                        layout,
                        legs,
                    },
                    last,
                ))
            }
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absence {
    Short,
    Long,
}

impl Beginning {
    fn chosen(seed: u64, random: &mut Random, shape: &Shape) -> Self {
        let legs = shape.some_legs(random);
        match random.below(12) {
            0..=3 => Self::New,
            4..=6 => match Former::of(shape) {
                // By the seed, and not by lot: other histories stay what they are.
                Some((was, new)) if seed % FORMER_EVERY == 1 && shape.keeps == Keeps::Mapper => {
                    Self::TakenOver(was, new)
                }
                _ => Self::InSync,
            },
            7 | 8 => Self::Without(legs),
            9 => Self::Back(legs, Absence::Short),
            10 => Self::Back(legs, Absence::Long),
            _ => Self::Rebuild(legs),
        }
    }
}

/// Runs the history of `seed`; what is wrong, if anything.
pub(super) fn run(seed: u64, fault: Option<SeededFault>, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random::new(seed);
    let shape = Shape::chosen(&mut random, fault);
    run_of(seed, shape, random, seen)
}

/// The same of an array of md's.
pub(super) fn run_md(seed: u64, fault: Option<SeededFault>, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random::new(seed);
    let shape = Shape {
        keeps: Keeps::md(&mut random),
        consistency: Consistency::None,
        ..Shape::chosen(&mut random, fault)
    };
    run_of(seed, shape, random, seen)
}

fn run_of(seed: u64, shape: Shape, mut random: Random, seen: &mut Seen) -> Result<(), String> {
    let beginning = Beginning::chosen(seed, &mut random, &shape);
    let (images, known) = begin(&shape, beginning, &mut random);
    let absent = match beginning {
        Beginning::Without(legs) => legs,
        _ => 0,
    };
    let there = shape.all() & !absent;
    let whole = match beginning {
        Beginning::Back(legs, _) | Beginning::Rebuild(legs) | Beginning::TakenOver(_, legs) => {
            there & !legs
        }
        _ => there,
    };
    let mut run = Run::start(shape, (images, known), (there, whole), &mut random)?;
    if !run.settle_start(&mut random)? {
        return Err("it cannot be written at first".into());
    }
    let steps = 20 + random.index(120);
    let mishaps: Vec<(usize, Mishap)> = (0..random.index(3))
        .map(|_| (random.index(steps), Mishap::chosen(&mut random, &shape)))
        .collect();
    let again_at = random.chance(1, 2).then(|| random.index(steps));
    for step in 0..steps {
        if again_at == Some(step) {
            run = again(run, &mut random, seen)?;
        }
        for (_, mishap) in mishaps.iter().filter(|(when, _)| *when == step) {
            run.suffer(*mishap, &mut random);
        }
        run.act(&mut random)?;
        if random.chance(1, 2) {
            cut(&run, &mut random, 1, seen)?;
        }
    }
    let [reads, _] = run.world.asked_directly();
    seen.count("reads without the home", reads);
    if random.chance(1, 2) {
        run.resume();
        run.finish(&mut random)?;
    } else {
        run.stop(&mut random, |run, random| {
            if random.chance(1, 8) {
                cut(run, random, 1, seen)?;
            }
            Ok(())
        })?;
        seen.count("stopped", 1);
    }
    cut(&run, &mut random, 1, seen)
}

/// The process that runs the array is killed, or the array is stopped, and another one starts it.
///
/// Not where a leg failed a write or a flush: a cache may then hold what is never written, and
/// shows it to whoever reads next.
fn again(mut run: Run, random: &mut Random, seen: &mut Seen) -> Result<Run, String> {
    if run.lost() != 0 {
        return Ok(run);
    }
    let is_killed = random.chance(1, 2);
    if !is_killed {
        run.resume();
        run.stop(random, |_, _| Ok(()))?;
    }
    seen.count(if is_killed { "killed" } else { "started again" }, 1);
    let (shape, there) = (run.shape, run.there);
    let images: Vec<Image> = {
        let disks = run.world.disks.iter();
        disks.map(|disk| disk.content().clone()).collect()
    };
    let mut known = known_after(&run, &Record::read(&shape, &images)?);
    let disks = if is_killed {
        known.model.killed();
        run.world.kill(random)
    } else {
        run.world.disks
    };
    let images: Vec<Image> = disks.iter().map(|disk| disk.content().clone()).collect();
    let record = Record::read(&shape, &images)?;
    // What is seen after a kill need not be durable: the array makes it so before anything counts
    // on it.
    let durable: Vec<Image> = disks.iter().map(Disk::durable).collect();
    let whole = record.whole & Record::read(&shape, &durable)?.whole;
    let mut run = Run::start_on(shape, (disks, known), (there, whole), random)?;
    if run.settle_start(random)? {
        return Ok(run);
    }
    Err("it cannot be written again".into())
}

/// The disks of an array, and what is known of them.
fn begin(shape: &Shape, beginning: Beginning, random: &mut Random) -> (Vec<Image>, Known) {
    let is_raw = beginning == Beginning::New && shape.first == FirstSync::Due;
    let mut data = vec![vec![0; shape.geometry.leg_size() as usize]; shape.legs()];
    for sector in 0..shape.sectors() {
        for copy in 0..shape.geometry.copies() {
            let spot = shape.geometry.spot(sector * SECTOR, copy);
            let version = if is_raw && copy > 0 { NEVER } else { 0 };
            put(
                &mut data[spot.leg],
                spot.start,
                &encode(sector as usize, version),
            );
        }
    }
    if shape.is_parity() && !is_raw {
        let rows = shape.geometry.leg_size() / shape.geometry.chunk();
        (0..rows).for_each(|row| add_parity(shape, row, &mut data));
    }
    let size = shape.sync_size();
    let mut marked = Dirty::clean(shape.region, size).expect("few regions");
    let (mut lacking, mut is_short) = (0, false);
    match beginning {
        Beginning::Back(legs, absence) => {
            (lacking, is_short) = (legs, absence == Absence::Short);
            let regions = (0..shape.regions()).filter(|_| random.chance(1, 2));
            regions.for_each(|region| marked.set(region));
        }
        Beginning::Rebuild(legs) | Beginning::TakenOver(_, legs) => lacking = legs,
        Beginning::New | Beginning::InSync | Beginning::Without(_) => {}
    }
    for sector in 0..shape.sectors() {
        let region = shape.region_of(shape.place(sector)) as u64;
        if is_short && !marked.is_dirty(region) {
            continue;
        }
        for copy in 0..shape.geometry.copies() {
            let spot = shape.geometry.spot(sector * SECTOR, copy);
            if lacking & only(spot.leg) != 0 {
                put(
                    &mut data[spot.leg],
                    spot.start,
                    &encode(sector as usize, NEVER),
                );
            }
        }
    }
    let metas = (0..shape.legs()).map(|leg| match beginning {
        Beginning::New => new_meta(shape, leg),
        Beginning::Rebuild(legs) | Beginning::TakenOver(_, legs) if legs & only(leg) != 0 => {
            Image::new(shape.meta_len())
        }
        Beginning::TakenOver(was, _) => meta(shape, (leg, Some(was)), (0, false), &marked),
        _ => meta(shape, (leg, None), (lacking, is_short), &marked),
    });
    let images = data.iter().zip(metas);
    let images = images.flat_map(|(data, meta)| [Image::from_bytes(data), meta]);
    let fit = if is_raw { Fit::Raw } else { Fit::Sure };
    let known = Known {
        model: Model::new(shape.sectors()),
        fits: vec![fit; shape.places()],
        wild: vec![false; shape.sectors() as usize],
        rebuild: match beginning {
            Beginning::Rebuild(legs) | Beginning::TakenOver(_, legs) => legs,
            _ => 0,
        },
    };
    (images.collect(), known)
}

fn put(leg: &mut [u8], start: u64, bytes: &[u8]) {
    let start = start as usize;
    leg[start..start + bytes.len()].copy_from_slice(bytes);
}

/// What stands beside a leg of an array that nobody has used.
fn new_meta(shape: &Shape, leg: usize) -> Image {
    let clean = Dirty::clean(shape.region, shape.sync_size()).expect("few regions");
    let said = match shape.first {
        FirstSync::Due => (Activity::Written, &clean.filled()),
        FirstSync::Assumed => (Activity::Resting, &clean),
    };
    let superblock = plain_superblock(shape, leg);
    let made = shape.keeps.image(shape, (leg, &superblock), said);
    made.unwrap_or_else(|| Image::new(shape.meta_len()))
}

/// What is said of an array all of whose legs are there.
fn plain_superblock(shape: &Shape, leg: usize) -> Superblock {
    let (level, layout) = shape.geometry.scheme().md();
    Superblock {
        device_count: shape.legs() as u32,
        array_position: leg as u32,
        events: EVENTS,
        failed: FailedDevices::default(),
        disk_recovery_offset: Position::End,
        array_resync_offset: Position::End,
        level,
        layout,
        stripe_sectors: match shape.geometry.scheme() {
            Scheme::Mirror => 0,
            _ => (shape.geometry.chunk() / SECTOR) as u32,
        },
        extended: None,
    }
}

/// Superblock and bitmap of a leg, if these legs were away when the others were written, and the
/// array was another one.
fn meta(
    shape: &Shape,
    (leg, was): (usize, Option<Former>),
    (away, is_short): (LegSet, bool),
    marked: &Dirty,
) -> Image {
    let (level, layout) = shape.geometry.scheme().md();
    let legs = shape.legs();
    let former = was.unwrap_or(Former {
        level,
        layout,
        legs,
    });
    let is_away = away & only(leg) != 0;
    let others = (0..shape.legs()).filter(|other| away & only(*other) != 0);
    let failed: FailedDevices = if is_away {
        FailedDevices::default()
    } else {
        others.collect()
    };
    let events = if is_away { EVENTS - 3 } else { EVENTS };
    let stripe_sectors = match former.level {
        1 => 0,
        _ => (shape.geometry.chunk() / SECTOR) as u32,
    };
    let extended = was.map(|was| Extended {
        array_sectors: shape.sectors(),
        sectors: shape.geometry.leg_size() / SECTOR,
        ..Extended::at_rest((was.level, was.layout), stripe_sectors)
    });
    let superblock = Superblock {
        device_count: former.legs as u32,
        array_position: leg as u32,
        events,
        failed,
        disk_recovery_offset: Position::End,
        array_resync_offset: Position::End,
        level: former.level,
        layout: former.layout,
        stripe_sectors,
        extended,
    };
    let dirty = if is_away {
        marked.emptied()
    } else {
        marked.clone()
    };
    let said = (Activity::Resting, &dirty);
    if let Some(image) = shape.keeps.image(shape, (leg, &superblock), said) {
        return image;
    }
    let bitmap = Bitmap {
        events_cleared: if is_short { EVENTS - 4 } else { EVENTS - 1 },
        ..Bitmap::new(shape.sync_size(), events, dirty)
    };
    let mut image = Image::new(shape.meta_len());
    image.write(0, &superblock.encode());
    image.write(START, &bitmap.encode());
    assert!(Range::new(0, START).end() < image.size(), "both fit");
    image
}
