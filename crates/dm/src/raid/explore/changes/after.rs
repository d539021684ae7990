//! What is left of a volume when the power goes, or its process is killed, and how it ends.

use std::hash::{DefaultHasher, Hash, Hasher};

use block::sim::{Disk, Faults, Image, Random};
use block::{Access, Buffer, Range};

use super::life::{Body, Life};
use super::text::Text;
use crate::explore::{Model, SECTOR, Saboteur, Seen, World, infos};
use crate::machine::{Event, Machine};
use crate::raid::doubt::Doubt;
use crate::raid::superblock::{Position, Superblock};
use crate::raid::update::{members, only};
use crate::raid::view::LegSet;
use crate::raid::{Array, LegState};

/// Disks of a volume are made of what a cut left of those of another one.
pub(super) fn disks_of(images: Vec<Image>, random: &mut Random) -> Vec<Disk> {
    let faults = || Faults {
        residue: true,
        ..Faults::default()
    };
    let images = images.into_iter();
    images
        .map(|image| Disk::new("disk", image, SECTOR as u32, faults(), random.number()))
        .collect()
}

/// What the superblocks of the legs of an array say.
fn superblocks(text: &Text, images: &[Image]) -> Vec<Option<Superblock>> {
    let read = |leg| {
        let bytes = images[Text::meta_disk(leg)].bytes(Range::new(0, SECTOR));
        Superblock::decode(&bytes).expect("a sector is written as a whole")
    };
    text.legs.iter().map(read).collect()
}

/// Whether the newest superblocks call other legs failed than one another.
fn is_split(text: &Text, images: &[Image]) -> bool {
    let all = superblocks(text, images);
    let legs = || all.iter().zip(&text.legs).filter(|(_, leg)| !leg.rebuild);
    let all = || legs().filter_map(|(one, _)| one.as_ref());
    let newest = all().max_by_key(|one| one.events);
    newest.is_some_and(|newest| {
        all().any(|one| one.events == newest.events && one.failed != newest.failed)
    })
}

/// Whether all superblocks say that all is in sync, so that a leg may be lost.
fn says_in_sync(text: &Text, images: &[Image]) -> bool {
    let all = superblocks(text, images);
    let mut kept = all.iter().zip(&text.legs).filter(|(_, leg)| !leg.rebuild);
    kept.all(|(one, _)| {
        one.as_ref().is_some_and(|one| {
            let extended = one.extended.as_ref();
            let is_as_long = extended.is_some_and(|one| one.sectors * SECTOR == text.leg_size);
            one.events > 0 && one.array_resync_offset == Position::End && is_as_long
        })
    })
}

/// The sectors of a volume that becomes larger or smaller: nobody knows what comes holds.
pub(super) fn adapt(model: &mut Model, before: u64, after: u64) {
    if after > model.count() {
        model.grow(after);
    }
    if before != after {
        model.dropped(before.min(after));
    }
}

/// Starts what a cut, at this moment, leaves of a volume that goes on, and looks at it.
pub(super) fn cut(
    life: &Life,
    depth: u32,
    random: &mut Random,
    seen: &mut Seen,
) -> Result<(), String> {
    if life.is_in_hole() {
        seen.count("cuts that would find the write hole", 1);
        return Ok(());
    }
    let images = life.images(random);
    let text = match &life.next {
        Some(next) if random.chance(1, 2) => next.clone(),
        _ => life.text.clone(),
    };
    if text.geometry().is_some() && is_split(&text, &images) {
        seen.count("cuts that left legs of two minds", 1);
        return Ok(());
    }
    let mut model = life.model.clone();
    adapt(&mut model, life.text.sectors(), text.sectors());
    let splits = life.splits_of(&text);
    model.cut();
    let behind = life.behind | life.text.merged_by(&text);
    let is_half_grown = life.is_half_grown || life.text.is_half_grown_by(&text);
    let (away, lost) = if is_half_grown {
        (life.weak & text.disks(), 0)
    } else {
        lost_legs(life, (&text, &images), behind, random)
    };
    let mut hasher = DefaultHasher::new();
    for (disk, size) in text.reach().into_iter().enumerate() {
        images[disk].bytes(Range::new(0, size)).hash(&mut hasher);
    }
    (away, &model).hash(&mut hasher);
    seen.cut(hasher.finish());
    seen.count("cuts without a leg", u64::from(away != 0));
    seen.count("cuts that found the new text", u64::from(text != life.text));
    let how = (life.fault, life.consistency);
    check_splits(&splits, &images)?;
    let disks = disks_of(images, random);
    let legs = (away, (life.weak | behind | lost) & text.disks());
    let text_disks = text.disks();
    let mut left = Life::start(how, text, (disks, model), legs, random)?;
    left.is_rotten = life.is_rotten;
    left.is_half_grown = is_half_grown;
    left.behind = behind & text_disks;
    left.splits = splits;
    let read = left.read_all(random);
    read.map_err(|what| {
        let how = (life.consistency, life.weak, life.behind, lost);
        let left = left.how();
        format!("{what}; cut without {away:#b}: {how:?}, {left}")
    })?;
    for _ in 0..random.index(40) {
        left.act(random)?;
    }
    if depth > 0 && random.chance(1, 4) {
        return cut(&left, depth - 1, random, seen);
    }
    if random.chance(1, 2) {
        left.end(random, seen)?;
    }
    Ok(())
}

/// Which legs are not there after a cut, and which of them, besides, are not relied on any more.
fn lost_legs(
    life: &Life,
    (text, images): (&Text, &[Image]),
    behind: LegSet,
    random: &mut Random,
) -> (LegSet, LegSet) {
    let weak = (life.weak | behind) & text.disks();
    // What vanished may be there again, and is old.
    let mut away = if random.chance(1, 2) {
        0
    } else {
        life.weak & text.disks()
    };
    let mut lost = 0;
    let may_lose = text.geometry().is_some() && !life.is_rotten && life.is_covered();
    if may_lose && says_in_sync(text, images) && random.chance(1, 2) {
        let disk = text.legs[random.index(text.legs.len())].data;
        if text.survives(weak | text.unfilled() | only(disk)) {
            lost = only(disk);
            away |= lost;
        }
    }
    (away, lost)
}

/// Volumes that were part of another one hold what that held.
fn check_splits(splits: &[(Text, Model)], images: &[Image]) -> Result<(), String> {
    for (text, model) in splits {
        let mut model = model.clone();
        model.cut();
        for sector in 0..text.sectors() {
            let range = Range::new(sector * SECTOR, SECTOR);
            let since = model.expected(false);
            let (disk, at) = text.pieces(range)[0];
            let judged = model.judge(range, &images[disk].bytes(at), &since);
            judged.map_err(|what| format!("what was split off: {what}"))?;
        }
    }
    Ok(())
}

impl Life {
    /// Waits until nothing is left to do, stops, and compares what the legs hold.
    pub(super) fn end(mut self, random: &mut Random, seen: &mut Seen) -> Result<(), String> {
        if self.is_rotten {
            self.repair(random)?;
        }
        self.until(random, "settled", Self::is_settled)?;
        self.read_all(random)?;
        self.until(random, "settled", Self::is_settled)?;
        let images = |life: &Self| -> Vec<Image> {
            let disks = life.disks().iter();
            disks.map(|disk| disk.content().clone()).collect()
        };
        check_splits(&self.splits, &images(&self))?;
        let text = self.text.clone();
        let whole = match &mut self.body {
            Body::Array(world) => {
                world.tell(Event::Stop);
                let states = world.machine.status().legs.into_iter();
                let is_whole = |state: &LegState| *state == LegState::Valid { until: u64::MAX };
                let whole = states
                    .zip(&text.legs)
                    .filter(|((state, _), _)| is_whole(state));
                whole.fold(0, |set, (_, leg)| set | only(leg.data))
            }
            _ => text.disks(),
        };
        if matches!(self.body, Body::Array(_)) {
            let is_stopped = |life: &Self| match &life.body {
                Body::Array(world) => world.stopped,
                _ => true,
            };
            self.until(random, "stopped", is_stopped)?;
        }
        let aside = text.legs.iter().filter(|leg| leg.is_aside);
        let aside = aside.fold(0, |set, leg| set | only(leg.data));
        let is_whole = self.weak == 0;
        if is_whole && (whole | aside != text.disks() || text.unfilled() != aside) {
            let status = self.array().map(Machine::status);
            return Err(format!(
                "all legs are there, and not whole: {status:?}, {text:?}"
            ));
        }
        // Parity is not made right while a leg is away: another one must not be lost as well.
        let in_doubt = |array: &Array| {
            let view = array.view.as_ref().expect("it has started");
            view.assembly().dirty != Doubt::Nowhere || *view.raw() != Doubt::Nowhere
        };
        let may_lose = !self.is_half_grown && !self.array().is_some_and(in_doubt);
        seen.count("ended", 1);
        seen.count("ended and whole", u64::from(is_whole));
        self.compare(&images(&self), (whole, may_lose))
    }

    /// Whether all that these legs hold goes together, and is right.
    fn compare(
        &mut self,
        images: &[Image],
        (whole, may_lose): (LegSet, bool),
    ) -> Result<(), String> {
        self.model.cut();
        let text = self.text.clone();
        if text.geometry().is_none() {
            return Ok(());
        }
        let first = self.read_still(&text, images, whole)?;
        let others = if may_lose { text.disks() } else { 0 };
        for lost in members(others).map(only) {
            if whole & lost == 0 || !text.survives(text.disks() & !whole | lost) {
                continue;
            }
            let other = self.read_still(&text, images, whole & !lost)?;
            if let Some(sector) = first
                .iter()
                .zip(&other)
                .position(|(one, two)| one[..] != two[..])
            {
                let disk = lost.trailing_zeros();
                return Err(format!(
                    "sector {sector} is not the same without disk {disk}"
                ));
            }
        }
        Ok(())
    }

    /// What the legs on these data disks hold, for who does not write.
    fn read_still(
        &mut self,
        text: &Text,
        images: &[Image],
        there: LegSet,
    ) -> Result<Vec<Buffer>, String> {
        let disk =
            |image: &Image| Disk::new("disk", image.clone(), SECTOR as u32, Faults::default(), 0);
        let disks: Vec<Disk> = images.iter().map(disk).collect();
        let sizes = text.reach();
        let config = text.config(!there, (Access::ReadOnly, self.consistency));
        let array =
            Array::new(config, &infos(&disks, &sizes)).map_err(|error| error.to_string())?;
        let mut world = World::start(array, (disks, sizes), Saboteur::none());
        let mut random = Random::new(1);
        while world.step(&mut random, 1) {}
        if !matches!(world.started, Some(Ok(()))) {
            return Err(format!(
                "on disks {there:#b}, at the end: {:?}",
                world.started
            ));
        }
        let read = world.read_sectors(&mut self.model, text.sectors());
        read.map_err(|why| format!("on disks {there:#b}, at the end: {why}"))
    }
}
