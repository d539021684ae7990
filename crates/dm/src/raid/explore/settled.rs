//! An array that is left alone until nothing is left to do, and what its legs hold then.

use block::sim::{Disk, Faults, Image, Random};
use block::{Access, Buffer, Range, Request};

use super::oracle::{Record, check_copies, check_parity};
use super::run::{Fit, Run};
use super::shape::{Shape, named};
use crate::explore::{SECTOR, Saboteur, Seen, World, infos};
use crate::raid::update::only;
use crate::raid::view::LegSet;

/// What a sector holds, if that is known.
type Sector = Option<Vec<u8>>;

impl Run {
    /// Lets it bring in sync what is not, stops it, compares its legs, and reads it without some.
    pub(super) fn check_settled(
        &mut self,
        random: &mut Random,
        seen: &mut Seen,
    ) -> Result<(), String> {
        self.settle(random)?;
        self.read_all(random)?;
        self.settle(random)?;
        let unfilled = self.unfilled();
        let legs = unfilled.iter().map(|(leg, _)| only(*leg));
        let unfilled_legs = legs.fold(0, |set, leg| set | leg);
        let is_whole = self.there == self.shape.all() && self.lost() == 0 && self.can_be_whole();
        if is_whole && unfilled_legs != 0 {
            return Err(format!("all legs are there, and not whole: {unfilled:?}"));
        }
        self.stop(random, |_, _| Ok(()))?;
        // What is marked may be in caches still.
        let disks = self.world.disks.iter();
        let images: Vec<Image> = if is_whole {
            disks.map(Disk::durable).collect()
        } else {
            disks.map(|disk| disk.content().clone()).collect()
        };
        let record = Record::read(&self.shape, &images)?;
        let is_done = record.whole == self.shape.all() && !record.doubt.contains(&true);
        // One that had nothing to say says nothing: what it read may be in caches only.
        let has_said = self.world.machine.has_said();
        if is_whole && has_said && !is_done && self.shape.fault.is_none() {
            let (whole, doubt) = (named(record.whole), record.doubt);
            return Err(format!(
                "it is in sync, and its record says: {whole}, {doubt:?}"
            ));
        }
        let whole = record.whole & self.there;
        let held = self.shape.all() & !whole;
        if !record.is_used || record.is_split || !self.shape.survives(held) {
            return Ok(());
        }
        let content = self.read_without(&images, (self.there, &record))?;
        let data = self.data_of(&images);
        if self.shape.is_parity() || !record.doubt.contains(&true) {
            check_copies(&self.shape, whole, (&data, &content))?;
        }
        if self.shape.is_parity() && is_whole {
            check_parity(&self.shape, &data)?;
        }
        let left = whole & !self.shape.some_legs(random);
        if left != 0 && self.shape.survives(self.shape.all() & !left) {
            let fewer = self.read_without(&images, (left, &record))?;
            let same =
                |(one, other): (&Sector, &Sector)| one.is_none() || other.is_none() || one == other;
            if let Some(sector) = content.iter().zip(&fewer).position(|pair| !same(pair)) {
                let legs = named(self.shape.all() & !left);
                return Err(format!(
                    "sector {sector} is not the same without leg {legs}"
                ));
            }
        }
        seen.count("settled", 1);
        seen.count("settled and whole", u64::from(is_whole));
        Ok(())
    }

    /// Whether all legs may come to hold what they should: not one whose superblock was lost, and
    /// not where parity was never computed and says nothing of what a leg lacks.
    fn can_be_whole(&self) -> bool {
        let metas = (0..self.shape.legs()).map(|leg| self.world.disks[2 * leg + 1].content());
        let is_blank = |meta: &Image| {
            meta.bytes(Range::new(0, SECTOR))
                .iter()
                .all(|byte| *byte == 0)
        };
        let is_used = metas.clone().any(|meta| !is_blank(meta));
        let is_lost = is_used && metas.clone().any(is_blank);
        !self.is_stuck() && !is_lost
    }

    /// What each sector holds for those who have these legs and write nothing; `None`: that is
    /// not known, as nothing mends a row that lacks a leg.
    fn read_without(
        &self,
        images: &[Image],
        (there, record): (LegSet, &Record),
    ) -> Result<Vec<Sector>, String> {
        let shape = &self.shape;
        let is_loose = |sector: u64| {
            let place = shape.place(sector);
            let is_made_up = shape.holders(sector) & !(record.whole & there) != 0;
            let fits = self.known.fits[place] == Fit::Sure || !record.doubt[shape.region_of(place)];
            is_made_up && !fits
        };
        let answers = read_still(shape, images, there)?;
        let sectors = answers
            .into_iter()
            .zip(0..)
            .map(|(answer, sector)| match answer {
                _ if is_loose(sector) => Ok(None),
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) => Err(format!("sector {sector}, without the machine: {error}")),
            });
        sectors.collect()
    }
}

/// The sectors of an array of these legs, which is not written.
fn read_still(
    shape: &Shape,
    images: &[Image],
    there: LegSet,
) -> Result<Vec<Result<Vec<u8>, String>>, String> {
    let disk =
        |image: &Image| Disk::new("disk", image.clone(), SECTOR as u32, Faults::default(), 0);
    let disks: Vec<Disk> = images.iter().map(disk).collect();
    let sizes: Vec<u64> = images.iter().map(Image::size).collect();
    let keeping = shape.keeps.keeping(shape, images);
    let how = (Access::ReadOnly, shape.consistency, keeping);
    let array = shape.array((there, 0), how, &infos(&disks, &sizes))?;
    let mut world = World::start(array, (disks, sizes), Saboteur::none());
    let mut random = Random::new(1);
    while world.step(&mut random, 1) {}
    match &world.started {
        Some(Ok(())) => {}
        other => return Err(format!("it cannot be read: {other:?}")),
    }
    let read = |sector: u64| {
        let buffer = Buffer::zeroed(SECTOR as usize);
        let request = Request::read(sector, sector * SECTOR, buffer);
        world.submit(0, request);
        while world.step(&mut random, 1) {}
        world.broken()?;
        let answer = world.done.pop().ok_or("it does not answer")?;
        let bytes = answer.result.map(|()| answer.buffer.to_vec());
        Ok(bytes.map_err(|error| error.to_string()))
    };
    (0..shape.sectors()).map(read).collect()
}
