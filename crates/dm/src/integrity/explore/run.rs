//! A running device: what it is asked, and whether its answers are true.

use std::rc::Rc;

use block::sim::{Disk, Random};
use block::{Access, Buffer, Durability, Operation, Range, Request, Unmap};

use super::fault::{Activity, saboteur};
use super::shape::Shape;
use crate::explore::{Content, Expected, Model, SECTOR, Sort, World, infos};
use crate::integrity::Integrity;
use crate::machine::{Event, Machine};

/// Requests in flight at most.
const DEPTH: usize = 6;
/// After so many steps without an answer, none will come.
const STEPS_MAX: usize = 20_000;

/// See the module.
pub(super) struct Run {
    pub(super) shape: Shape,
    pub(super) world: World<Integrity>,
    pub(super) model: Model,
    open: Vec<Asked>,
    tag: u64,
    activity: Rc<Activity>,
    is_read_only: bool,
}

struct Asked {
    tag: u64,
    what: What,
    range: Range,
}

enum What {
    Read(Expected),
    Write(Durability),
    Flush(Vec<u32>),
}

impl Run {
    pub(super) fn start(
        shape: &Shape,
        disks: Vec<Disk>,
        model: Model,
        access: Access,
        random: &mut Random,
    ) -> Result<Self, String> {
        let sizes: Vec<u64> = disks.iter().map(|disk| disk.info().size).collect();
        let infos = infos(&disks, &sizes);
        let machine = Integrity::new(shape.config(access), &infos);
        let mut machine = machine.map_err(|error| error.to_string())?;
        machine.limits = shape.limits;
        let activity = Rc::new(Activity::default());
        activity.starts.set(true);
        let saboteur = saboteur(shape, &activity);
        let world = World::start(machine, (disks, sizes), saboteur);
        let is_read_only = access == Access::ReadOnly;
        let mut run = Self {
            shape: shape.clone(),
            world,
            model,
            open: Vec::new(),
            tag: 0,
            activity,
            is_read_only,
        };
        // It may be cut while it starts.
        if is_read_only || random.chance(2, 3) {
            run.settle_start(random)?;
        }
        Ok(run)
    }

    pub(super) fn settle_start(&mut self, random: &mut Random) -> Result<(), String> {
        self.until(random, "started", |run| run.world.started.is_some())?;
        self.activity.starts.set(false);
        match self.world.started.as_ref().expect("it was waited for") {
            Ok(()) => Ok(()),
            Err(_) if self.has_failed() => Ok(()),
            Err(error) => Err(format!("it does not start: {error}")),
        }
    }

    /// Whether a disk failed it: then it keeps promises to whoever comes next only.
    pub(super) fn has_failed(&self) -> bool {
        self.world.failed.iter().any(|failed| *failed)
    }

    /// Does something, or lets something happen.
    pub(super) fn act(&mut self, random: &mut Random) -> Result<(), String> {
        if self.world.started.is_none() {
            self.world.step(random, 8);
            if self.world.started.is_some() {
                return self.settle_start(random);
            }
            return self.world.broken();
        }
        if self.open.len() < DEPTH && random.chance(1, 3) && !self.has_failed() {
            self.ask(random);
        } else {
            self.world.step(random, 8);
        }
        self.look()
    }

    fn ask(&mut self, random: &mut Random) {
        let block = u64::from(self.shape.block);
        let blocks = self.shape.sectors * SECTOR / block;
        let most = if random.chance(1, 8) { blocks } else { 5 };
        let len = 1 + random.below(most);
        let first = random.below(blocks - len + 1);
        let range = Range::new(first * block, len * block);
        let durability = match random.below(6) {
            0 => Durability::Fua,
            _ => Durability::Volatile,
        };
        match random.below(12) {
            0..=2 => self.read(range),
            3 => {
                let covered = self.model.answered();
                let tag = self.remember(What::Flush(covered), Range::EMPTY);
                self.activity.flushes.set(self.activity.flushes.get() + 1);
                self.world.submit(0, Request::flush(tag));
            }
            _ if self.is_read_only || self.model.is_busy(range) => {}
            4 => {
                self.model.issue(range, Content::Zeros);
                let tag = self.remember(What::Write(durability), range);
                let request = Request {
                    durability,
                    ..Request::bare(tag, Operation::WriteZeroes(Unmap::Allowed), range)
                };
                self.world.submit(0, request);
            }
            _ => {
                let bytes = Buffer::copy_of(&self.model.issue(range, Content::Bytes));
                let tag = self.remember(What::Write(durability), range);
                let request = Request::write(tag, range.start(), durability, bytes);
                self.world.submit(0, request);
            }
        }
    }

    fn read(&mut self, range: Range) {
        let expected = self.model.expected(true);
        let tag = self.remember(What::Read(expected), range);
        let buffer = Buffer::zeroed(range.len() as usize);
        self.world
            .submit(0, Request::read(tag, range.start(), buffer));
    }

    fn remember(&mut self, what: What, range: Range) -> u64 {
        self.tag += 1;
        let tag = self.tag;
        self.open.push(Asked { tag, what, range });
        tag
    }

    /// Judges what was answered.
    pub(super) fn look(&mut self) -> Result<(), String> {
        self.world.broken()?;
        let has_failed = self.has_failed();
        for answer in std::mem::take(&mut self.world.done) {
            let known = self.open.iter().position(|asked| asked.tag == answer.tag);
            let known = known.ok_or("a request is answered twice")?;
            let asked = self.open.swap_remove(known);
            let is_done = answer.result.is_ok();
            if let (Err(error), false) = (&answer.result, has_failed) {
                return Err(format!("{:?} fails: {error}", asked.range));
            }
            match asked.what {
                What::Read(since) if is_done && !has_failed => {
                    self.model.judge(asked.range, &answer.buffer, &since)?;
                }
                What::Read(_) => {}
                What::Write(how) => {
                    let is_durable = how == Durability::Fua;
                    self.model.written(asked.range, is_durable, is_done);
                }
                What::Flush(covered) => {
                    self.activity.flushes.set(self.activity.flushes.get() - 1);
                    if is_done {
                        self.model.flushed(&covered);
                    }
                }
            }
        }
        Ok(())
    }

    /// Lets things happen until something is so.
    fn until(
        &mut self,
        random: &mut Random,
        what: &str,
        is_so: impl Fn(&Self) -> bool,
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

    pub(super) fn suspend(&mut self, random: &mut Random) -> Result<(), String> {
        self.world.tell(Event::Suspend);
        self.until(random, "suspended", |run| run.world.suspended)?;
        self.world.tell(Event::Resume);
        self.look()
    }

    pub(super) fn stop(&mut self, random: &mut Random) -> Result<(), String> {
        self.activity.ends.set(true);
        self.world.tell(Event::Stop);
        self.until(random, "stopped", |run| run.world.stopped)?;
        if self.open.is_empty() {
            return Ok(());
        }
        Err("it has stopped and not answered everything".into())
    }

    /// Reads all blocks.
    pub(super) fn read_all(&mut self, random: &mut Random) -> Result<(), String> {
        let block = u64::from(self.shape.block);
        let end = self.shape.sectors * SECTOR;
        let mut at = 0;
        while at < end {
            let len = ((1 + random.below(40)) * block).min(end - at);
            self.read(Range::new(at, len));
            at += len;
        }
        self.until(random, "done with all reads", |run| run.open.is_empty())
    }

    /// Lets all happen that happens by itself.
    pub(super) fn rest(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            if !self.world.step(random, 8) {
                self.look()?;
                let unchecked = self.world.machine.status().unchecked;
                if unchecked > 0 && !self.has_failed() {
                    return Err(format!(
                        "{unchecked} bytes have no checksum, and never get one"
                    ));
                }
                return Ok(());
            }
            self.look()?;
        }
        Err("it never rests".into())
    }

    /// The next request of some sort to some leg fails.
    pub(super) fn arrange(&mut self, random: &mut Random) {
        let sort = [Sort::Write, Sort::Flush][random.index(2)];
        self.world.arrange(random.index(2), sort);
    }
}
