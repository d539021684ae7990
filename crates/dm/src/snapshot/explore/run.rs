//! A running origin with its snapshots: what it is asked, what fails, and whether its answers are
//! true.

use std::rc::Rc;

use block::sim::{Disk, Image, Random};
use block::{Completion, Durability, Info, Range};

use super::ask::{Asked, DEPTH, What};
use super::fault::{Activity, SeededFault, saboteur};
use super::oracle::{Oracle, Taken};
use super::shape::{SLOTS, Shape};
use crate::explore::{Expected, SECTOR, World, infos};
use crate::machine::{Event, Face, Machine};
use crate::snapshot::{Control, Notice, Origin, OriginConfig, Overflow, SnapshotConfig, Stored};
use crate::volume::Access;

/// After so many steps without an answer, none will come.
const STEPS_MAX: usize = 20_000;

/// What disks hold, by leg, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Left {
    pub(super) images: Vec<Image>,
    pub(super) stored: [Stored; SLOTS],
    pub(super) oracle: Oracle,
    /// What each face shows, read without a machine.
    pub(super) plain: Vec<Option<Vec<u8>>>,
}

/// A running origin and what is known of it.
pub(super) struct Run {
    pub(super) shape: Shape,
    pub(super) world: World<Origin>,
    pub(super) oracle: Oracle,
    pub(super) faces: Vec<Option<Face>>,
    pub(super) open: Vec<Asked>,
    pub(super) next_tag: u64,
    pub(super) activity: Rc<Activity>,
    /// What each face shows as long as nothing was written.
    pub(super) plain: Vec<Option<Vec<u8>>>,
    /// Orders that were not obeyed yet.
    ordered: u64,
    /// Merges that ended.
    pub(super) merged: u64,
    /// Snapshots that said that they are invalid.
    pub(super) invalidated: u64,
}

impl Run {
    /// Starts what was left.
    pub(super) fn start(shape: Shape, left: Left, random: &mut Random) -> Result<Self, String> {
        let images = left.images.into_iter();
        let disks: Vec<Disk> = images.map(|image| shape.disk(image, random)).collect();
        let mut run = Self::start_on(shape, disks, left.oracle, &left.stored)?;
        run.plain = left.plain;
        Ok(run)
    }

    /// The same on disks that are running.
    pub(super) fn start_on(
        shape: Shape,
        disks: Vec<Disk>,
        oracle: Oracle,
        stored: &[Stored; SLOTS],
    ) -> Result<Self, String> {
        let mut oracle = oracle;
        oracle.restarted();
        let activity = Rc::new(Activity::default());
        activity.merging.set(oracle.merging_leg());
        activity.starts.set(true);
        let mut sizes: Vec<u64> = disks.iter().map(|disk| disk.info().size).collect();
        sizes[0] = oracle.origin_size();
        for (slot, taken) in oracle.snapshots.iter().enumerate() {
            if let Some(taken) = taken {
                sizes[1 + slot] = taken.store_size;
            }
        }
        let config = config(shape, &oracle, stored);
        let infos = infos(&disks, &sizes);
        let mut machine = Origin::new(config, &infos).map_err(|error| error.to_string())?;
        machine.limits = shape.limits;
        let mut world = World::start(machine, (disks, sizes), saboteur(shape, &activity));
        world.mischief = shape.fault.and_then(SeededFault::mischief);
        let faces = world.machine.faces(&infos);
        let run = Self {
            shape,
            world,
            oracle,
            faces,
            open: Vec::new(),
            next_tag: 1,
            activity,
            plain: Vec::new(),
            ordered: 0,
            merged: 0,
            invalidated: 0,
        };
        run.check_faces()?;
        Ok(run)
    }

    /// Waits for the start, which must work.
    pub(super) fn settle_start(&mut self, random: &mut Random) -> Result<(), String> {
        while self.world.started.is_none() {
            if !self.world.step(random, 1 << 40) {
                return Err("it does not start".into());
            }
        }
        self.activity.starts.set(false);
        match self.world.started.as_ref().expect("it was waited for") {
            Ok(()) => self.look(),
            Err(error) => Err(format!("it does not start: {error}")),
        }
    }

    /// Does something, or lets something happen.
    pub(super) fn act(&mut self, random: &mut Random) -> Result<(), String> {
        if self.open.len() < DEPTH && random.chance(1, 3) {
            self.ask(random);
        } else {
            self.world.step(random, 8);
        }
        self.look()
    }

    /// Orders that a merge be as fast as `rate` says.
    pub(super) fn order(&mut self, rate: u64) {
        self.ordered += 1;
        let control = Control::MergeRate(rate);
        let id = self.ordered;
        self.world.tell(Event::Control { id, control });
    }

    /// Ends all that is in flight, and what the machine does by itself.
    pub(super) fn suspend(&mut self, random: &mut Random) -> Result<(), String> {
        self.world.tell(Event::Suspend);
        self.until(random, "suspended", |run| run.world.suspended)
    }

    /// Stops it, whatever is in flight.
    pub(super) fn stop(&mut self, random: &mut Random) -> Result<(), String> {
        self.world.tell(Event::Stop);
        self.until(random, "stopped", |run| run.world.stopped)?;
        if self.open.is_empty() {
            return Ok(());
        }
        Err("it has stopped and not answered everything".into())
    }

    /// Lets it be what the oracle says, and go on.
    pub(super) fn reload(&mut self) -> Result<(), String> {
        let config = self.config();
        let infos = self.world.infos();
        let foreseen = self.world.machine.foresee(&config, &infos);
        foreseen.map_err(|error| format!("it cannot become what it should: {error}"))?;
        self.world.tell(Event::Reload(config));
        self.faces = self.world.machine.faces(&infos);
        self.activity.merging.set(self.oracle.merging_leg());
        self.check_faces()
    }

    pub(super) fn config(&self) -> OriginConfig {
        let known = [const { Stored::Fresh }; SLOTS];
        config(self.shape, &self.oracle, &known)
    }

    /// Whether there is a face for the origin and each snapshot that is not merged.
    fn check_faces(&self) -> Result<(), String> {
        let size = |face: usize| {
            let face = self.faces.get(face).and_then(Option::as_ref);
            face.map(|face| face.info.size)
        };
        let mut right = size(0) == Some(self.oracle.origin_size());
        for (slot, taken) in self.oracle.snapshots.iter().enumerate() {
            let taken = taken.as_ref().filter(|taken| !taken.merging);
            right &= size(1 + slot) == taken.map(|taken| taken.size);
        }
        if right {
            return Ok(());
        }
        Err(format!("it has other faces: {:?}", self.faces))
    }

    pub(super) fn info(&self, face: usize) -> &Info {
        &self.faces[face].as_ref().expect("it is there").info
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
            if is_so(self) {
                return Ok(());
            }
            if !self.world.step(random, 8) {
                return Err(format!("it does not become {what}"));
            }
        }
        Err(format!("it does not become {what} in time"))
    }

    /// Waits for all answers.
    pub(super) fn finish(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            self.look()?;
            if self.open.is_empty() && self.ordered == 0 {
                return Ok(());
            }
            if !self.world.step(random, 8) {
                return Err("a request is never answered".into());
            }
        }
        Err("requests are not answered in time".into())
    }

    /// Lets all happen that happens by itself: a merge goes on to its end.
    pub(super) fn rest(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            self.look()?;
            if !self.world.step(random, 8) {
                let mut merging = self.oracle.taken().filter(|taken| taken.merging);
                if merging.all(|taken| taken.merged) {
                    return Ok(());
                }
                return Err("a merge does not come to its end".into());
            }
        }
        Err("it never rests".into())
    }

    /// Reads all sectors of all faces once.
    pub(super) fn read_all(&mut self, random: &mut Random) -> Result<(), String> {
        for face in 0..self.faces.len() {
            if self.faces[face].is_none() {
                continue;
            }
            let sectors = self.info(face).size / SECTOR;
            let mut at = 0;
            while at < sectors {
                let len = (1 + random.below(8)).min(sectors - at);
                self.read(face, Range::new(at * SECTOR, len * SECTOR));
                at += len;
                while self.open.len() > 2 {
                    self.world.step(random, 8);
                    self.look()?;
                }
            }
        }
        self.finish(random)
    }

    /// Judges what was told and answered.
    pub(super) fn look(&mut self) -> Result<(), String> {
        self.world.broken()?;
        for (_, result) in std::mem::take(&mut self.world.obeyed) {
            self.ordered -= 1;
            result.map_err(|error| format!("an order is not obeyed: {error}"))?;
        }
        for notice in std::mem::take(&mut self.world.notices) {
            self.heed(&notice)?;
        }
        for answer in std::mem::take(&mut self.world.done) {
            let known = self.open.iter().position(|asked| asked.tag == answer.tag);
            let Some(known) = known else {
                return Err("a request is answered twice".into());
            };
            let asked = self.open.swap_remove(known);
            if let Some(count) = self.activity.count(asked.face, &asked.what) {
                count.set(count.get() - 1);
            }
            self.judge(&asked, &answer)?;
        }
        Ok(())
    }

    fn heed(&mut self, notice: &Notice) -> Result<(), String> {
        let slot_of = |id: u64| {
            let is = |taken: &Option<Taken>| taken.as_ref().is_some_and(|taken| taken.id == id);
            self.oracle.snapshots.iter().position(is)
        };
        match notice {
            Notice::Filled { .. } => Ok(()),
            Notice::Invalid { id, why } => {
                let slot = slot_of(*id).ok_or("a snapshot is invalid that is not there")?;
                if !self.oracle.may_fail(1 + slot, true) {
                    return Err(format!("snapshot {slot} is invalid without need: {why}"));
                }
                self.invalidated += 1;
                self.oracle.invalid(slot, self.next_tag);
                Ok(())
            }
            Notice::Merged { id } => {
                let slot = slot_of(*id).ok_or("a snapshot is merged that is not there")?;
                let taken = self.oracle.snapshots[slot].as_mut().expect("it was found");
                if !taken.merging || taken.merged {
                    return Err(format!("snapshot {slot} is merged that was not to be"));
                }
                taken.merged = true;
                self.merged += 1;
                Ok(())
            }
            Notice::MergeFailed { .. } if self.oracle.may_fail(0, true) => Ok(()),
            Notice::MergeFailed { why, .. } => Err(format!("a merge fails without need: {why}")),
        }
    }

    fn judge(&mut self, asked: &Asked, answer: &Completion) -> Result<(), String> {
        let face = asked.face;
        let writes = matches!(asked.what, What::Write(_) | What::Advice);
        let done = match &answer.result {
            Ok(()) => true,
            Err(error) if !self.oracle.may_fail(face, writes) => {
                return Err(format!(
                    "a request to face {face} fails without need: {error}"
                ));
            }
            Err(_) => false,
        };
        if done && !matches!(asked.what, What::Flush(_)) && self.oracle.must_fail(face, asked.tag) {
            return Err(format!("face {face} is invalid, and answers"));
        }
        match &asked.what {
            What::Read(since) if done => self.compare(asked, &answer.buffer, since)?,
            What::Flush(covered) if done => self.oracle.flushed(face, covered),
            What::Write(durability) => {
                let durable = *durability == Durability::Fua;
                self.oracle.written(face, asked.range, durable, done);
            }
            What::Read(_) | What::Flush(_) | What::Advice => {}
        }
        Ok(())
    }

    /// Whether what was read may be there, and is what whoever reads without a machine sees.
    fn compare(&mut self, asked: &Asked, bytes: &[u8], since: &Expected) -> Result<(), String> {
        let (face, range) = (asked.face, asked.range);
        if let Some(slot) = face.checked_sub(1) {
            let taken = self.oracle.snapshots[slot].as_ref().expect("it is there");
            if !taken.is_trusted {
                return Ok(());
            }
        }
        let judged = self.oracle.model(face).judge(range, bytes, since);
        judged.map_err(|what| format!("face {face}: {what}"))?;
        if let Some(Some(plain)) = self.plain.get(face)
            && plain[range.start() as usize..range.end() as usize] != *bytes
        {
            return Err(format!(
                "face {face}: {range:?} is another one without a machine"
            ));
        }
        Ok(())
    }
}

/// What the oracle knows as a configuration; `stored` is what stores held.
fn config(shape: Shape, oracle: &Oracle, stored: &[Stored; SLOTS]) -> OriginConfig {
    let snapshot = |slot: usize| {
        let taken = oracle.snapshots[slot].as_ref()?;
        Some(SnapshotConfig {
            id: taken.id,
            name: format!("snapshot{slot}"),
            size: taken.size,
            store: 1 + slot,
            store_size: taken.store_size,
            chunk: shape.chunks[slot],
            stored: stored[slot].clone(),
            access: Access::ReadWrite,
            merging: taken.merging,
            overflow: if taken.fails_whole {
                Overflow::Invalidate
            } else {
                Overflow::FailWrite
            },
            notify_at: None,
        })
    };
    OriginConfig {
        name: "origin".into(),
        size: oracle.origin_size(),
        origin: 0,
        access: Access::ReadWrite,
        snapshots: (0..SLOTS).map(snapshot).collect(),
    }
}
