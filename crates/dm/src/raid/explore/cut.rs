//! The power is cut, and what is left is looked at.

use std::hash::{DefaultHasher, Hash, Hasher};

use block::Range;
use block::sim::{Disk, Image, Random};

use super::oracle::Record;
use super::run::{Fit, Known, Run};
use super::shape::{Shape, named};
use crate::explore::Seen;
use crate::raid::Consistency;
use crate::raid::update::{members, only};
use crate::raid::view::LegSet;

/// What a cut left, and which legs of it are there.
struct Left {
    images: Vec<Image>,
    known: Known,
    there: LegSet,
    whole: LegSet,
}

/// Cuts the power of a running array, and looks what is left; the run itself goes on.
pub(super) fn cut(
    run: &Run,
    random: &mut Random,
    depth: u32,
    seen: &mut Seen,
) -> Result<(), String> {
    let shape = run.shape;
    let disks = run.world.disks.iter();
    let images: Vec<Image> = disks.map(|disk| disk.cut(random)).collect();
    let record = Record::read(&shape, &images)?;
    let doubted = shape.all() & !run.weak & !record.whole;
    if record.is_split {
        seen.count("cuts that left legs of two minds", 1);
        return Ok(());
    }
    if record.is_torn {
        seen.count("cuts that tore a superblock", 1);
        return Ok(());
    }
    if doubted != 0 {
        let legs = named(doubted);
        return Err(format!("leg {legs} never failed and is not believed"));
    }
    let mut known = known_after(run, &record);
    known.model.cut();
    let there = if record.is_used {
        choose_legs(run, record.whole, random)
    } else {
        // Of an array that nobody has used no leg may be missing.
        shape.all()
    };
    if there == 0 {
        return Ok(());
    }
    if there != run.there || run.weak != 0 {
        known.model.forget_reads();
    }
    // A leg that failed and knows nothing of it may not be believed where it lacks marks.
    let whole = record.whole & there & !(record.unmarked & run.weak);
    seen.cut(fingerprint(&shape, &images, there, &known));
    let absent = shape.all() & !there;
    let is_back = run.lost() & there != 0;
    seen.count("cuts without a leg", u64::from(absent != 0));
    seen.count("cuts without two", u64::from(absent.count_ones() > 1));
    seen.count("cuts with a lost leg back", u64::from(is_back));
    let is_enough = shape.survives(shape.all() & !whole);
    seen.count("cuts that left too little", u64::from(!is_enough));
    let left = Left {
        images,
        known,
        there,
        whole,
    };
    verify(shape, left, random, depth, seen)
}

/// What is known when all that runs is gone.
pub(super) fn known_after(run: &Run, record: &Record) -> Known {
    let shape = run.shape;
    let mut known = run.known.clone();
    for sector in 0..shape.sectors() {
        known.wild[sector as usize] |= run.is_excused(sector);
    }
    for (place, fit) in known.fits.iter_mut().enumerate() {
        if !record.doubt[shape.region_of(place)] {
            *fit = Fit::Sure;
        }
    }
    let torn = (0..shape.sectors()).filter(|sector| {
        let (floor, _, issued) = known.model.versions(*sector);
        let was_entered = match run.consistency {
            Consistency::None => false,
            Consistency::Auto => run.unentered[*sector as usize] <= floor,
            Consistency::Journal => true,
        };
        shape.is_parity() && !was_entered && issued > floor
    });
    for sector in torn.collect::<Vec<_>>() {
        let place = shape.place(sector);
        let fit = &mut known.fits[place];
        if *fit == Fit::Sure && record.doubt[shape.region_of(place)] {
            *fit = Fit::Cut;
        }
    }
    if record.is_used {
        known.rebuild &= !record.current;
    }
    known
}

/// The legs that are there after a cut.
fn choose_legs(run: &Run, whole: LegSet, random: &mut Random) -> LegSet {
    let shape = run.shape;
    let disks = |leg: usize| [2 * leg, 2 * leg + 1].map(|disk| &run.world.disks[disk]);
    let is_gone = |leg: &usize| disks(*leg).into_iter().any(Disk::is_gone);
    let gone = members(shape.all()).filter(is_gone);
    let gone = gone.fold(0, |set, leg| set | only(leg));
    let mut there = run.there & !gone;
    if random.chance(1, 2) {
        there = shape.all();
    }
    if random.chance(1, 2) {
        let fewer = there & !shape.some_legs(random);
        let is_enough = shape.survives(shape.all() & !(fewer & whole));
        if is_enough || random.chance(1, 16) {
            there = fewer;
        }
    }
    there
}

/// Starts what a cut left, reads all of it twice while it is brought in sync, and leaves it alone
/// until it is, or goes on and cuts once more.
fn verify(
    shape: Shape,
    left: Left,
    random: &mut Random,
    depth: u32,
    seen: &mut Seen,
) -> Result<(), String> {
    let legs = (left.there, left.whole);
    let mut run = Run::start(shape, (left.images, left.known), legs, random)?;
    if !run.settle_start(random)? || !shape.survives(run.weak) {
        return Ok(());
    }
    for _ in 0..2 {
        run.read_all(random)?;
    }
    if depth > 0 && random.chance(1, 4) {
        for _ in 0..random.index(60) {
            run.act(random)?;
        }
        return cut(&run, random, depth - 1, seen);
    }
    if random.chance(1, 2) {
        run.check_settled(random, seen)?;
    }
    Ok(())
}

fn fingerprint(shape: &Shape, images: &[Image], there: LegSet, known: &Known) -> u64 {
    let mut hasher = DefaultHasher::new();
    for leg in members(there) {
        for (disk, len) in [
            (2 * leg, shape.geometry.leg_size()),
            (2 * leg + 1, shape.meta_len()),
        ] {
            images[disk].bytes(Range::new(0, len)).hash(&mut hasher);
        }
    }
    there.hash(&mut hasher);
    known.model.hash(&mut hasher);
    known.fits.hash(&mut hasher);
    hasher.finish()
}
