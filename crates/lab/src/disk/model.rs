//! The seam that everything in virtual time shares: commands in, answers out, at given times.

use super::drive::{Answer, Command};

/// Where the time of requests went, in nanoseconds, summed over all of them. What layers a model
/// has not stays 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// On networks, waiting for them included.
    pub link_ns: u64,
    /// In loop devices, waiting for them included.
    pub loop_ns: u64,
    /// In lookups.
    pub mapping_ns: u64,
    /// At disks, from a part's submission to its answer: waiting, head and bus.
    pub disk_ns: u64,
    /// Of the heads: moving and settling; reading ahead and writing back are part of it.
    pub seek_ns: u64,
    /// Of the heads: waiting for a sector.
    pub rotation_ns: u64,
    /// Of the heads: over sectors.
    pub transfer_ns: u64,
    /// Parts that disks were asked for.
    pub parts: u64,
    /// Those of them that wrote what volumes note for themselves: logs of mirrors, stores of
    /// snapshots.
    pub state_writes: u64,
}

impl Spent {
    /// What is neither head nor network nor software: waiting at disks, their controllers, buses.
    pub fn other_disk_ns(&self) -> u64 {
        let head = self.seek_ns + self.rotation_ns + self.transfer_ns;
        self.disk_ns.saturating_sub(head)
    }

    /// What was spent since `earlier`, of the same model.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.each(earlier, |now, then| now - then)
    }

    /// What was spent in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.each(other, |one, two| one + two)
    }

    fn each(&self, other: &Self, join: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            link_ns: join(self.link_ns, other.link_ns),
            loop_ns: join(self.loop_ns, other.loop_ns),
            mapping_ns: join(self.mapping_ns, other.mapping_ns),
            disk_ns: join(self.disk_ns, other.disk_ns),
            seek_ns: join(self.seek_ns, other.seek_ns),
            rotation_ns: join(self.rotation_ns, other.rotation_ns),
            transfer_ns: join(self.transfer_ns, other.transfer_ns),
            parts: join(self.parts, other.parts),
            state_writes: join(self.state_writes, other.state_writes),
        }
    }
}

/// Anything that takes commands and answers them in its own time: a drive, a capped volume.
///
/// Times never go back. What is submitted at a time is done by then as far as it can be; an answer
/// is given out once, when its time has come.
pub trait Model: std::fmt::Debug + Send {
    /// Blocks of 512 bytes.
    fn blocks(&self) -> u64;

    /// Gives it a command at `now_ns`.
    fn submit(&mut self, now_ns: u64, command: Command);

    /// When it has something to do or to answer; `None` until the next command.
    fn wake(&self) -> Option<u64>;

    /// The next answer whose time has come, in the order of their times.
    fn answer(&mut self, now_ns: u64) -> Option<Answer>;

    /// Adds where time went so far, as far as this model knows.
    fn account(&self, spent: &mut Spent) {
        let _ = spent;
    }
}

impl Model for Box<dyn Model> {
    fn blocks(&self) -> u64 {
        self.as_ref().blocks()
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        self.as_mut().submit(now_ns, command);
    }

    fn wake(&self) -> Option<u64> {
        self.as_ref().wake()
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.as_mut().answer(now_ns)
    }

    fn account(&self, spent: &mut Spent) {
        self.as_ref().account(spent);
    }
}
