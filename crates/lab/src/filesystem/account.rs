//! Where time and blocks went: Eq. 1 of the first study, counted and timed.
//!
//! ```text
//!   caller   elapsed = processor + sum over classes of what it waited for
//!   device   elapsed = idle      + sum over classes of what it was busy with
//! ```
//!
//! Both sums are exact. Who waits for a block that is read, waits for its class. Who is held up
//! because too much is dirty, waits for what the device serves meanwhile. The device is busy while
//! anything is outstanding; the time between two answers belongs to the request of the later one,
//! and is shared by bytes where several are answered at once, as merged ones are.

use crate::disk::drive::Spent;

use crate::component::Component;

/// What was done for one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Requests to read.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Requests to write.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// How long the caller waited for it.
    pub waited_ns: u64,
    /// How long the device was busy with it.
    pub busy_ns: u64,
}

/// The account of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    tallies: [Tally; Component::ALL.len()],
    /// From mount until now.
    pub elapsed_ns: u64,
    /// What the caller computed.
    pub processor_ns: u64,
    /// How long the device had nothing to do.
    pub idle_ns: u64,
    /// Pages of files that were asked for and in memory.
    pub hits: u64,
    /// Pages of files that had to be read.
    pub misses: u64,
    /// Transactions committed.
    pub commits: u64,
    /// Times the log had to be emptied to go on.
    pub checkpoints: u64,
    /// Flushes sent to the device.
    pub flushes: u64,
    /// Where the time of requests went below the file system.
    pub spent: Spent,
}

impl Account {
    /// What was done for `class`.
    pub fn class(&self, class: Component) -> &Tally {
        &self.tallies[class as usize]
    }

    pub(super) fn class_mut(&mut self, class: Component) -> &mut Tally {
        &mut self.tallies[class as usize]
    }

    /// What happened since `earlier`, an account of the same run.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut account = *self;
        for (tally, before) in account.tallies.iter_mut().zip(&earlier.tallies) {
            tally.reads -= before.reads;
            tally.read_bytes -= before.read_bytes;
            tally.writes -= before.writes;
            tally.written_bytes -= before.written_bytes;
            tally.waited_ns -= before.waited_ns;
            // What is under way was accounted to its class until now; the answer may share it out
            // otherwise, and then the earlier account had lent this class more than it got.
            tally.busy_ns = tally.busy_ns.saturating_sub(before.busy_ns);
        }
        account.elapsed_ns -= earlier.elapsed_ns;
        account.processor_ns -= earlier.processor_ns;
        account.idle_ns -= earlier.idle_ns;
        account.hits -= earlier.hits;
        account.misses -= earlier.misses;
        account.commits -= earlier.commits;
        account.checkpoints -= earlier.checkpoints;
        account.flushes -= earlier.flushes;
        account.spent = self.spent.since(&earlier.spent);
        account
    }

    /// Adds what happened in another time.
    pub(super) fn add(&mut self, other: &Self) {
        for (tally, other) in self.tallies.iter_mut().zip(&other.tallies) {
            tally.reads += other.reads;
            tally.read_bytes += other.read_bytes;
            tally.writes += other.writes;
            tally.written_bytes += other.written_bytes;
            tally.waited_ns += other.waited_ns;
            tally.busy_ns += other.busy_ns;
        }
        self.elapsed_ns += other.elapsed_ns;
        self.processor_ns += other.processor_ns;
        self.idle_ns += other.idle_ns;
        self.hits += other.hits;
        self.misses += other.misses;
        self.commits += other.commits;
        self.checkpoints += other.checkpoints;
        self.flushes += other.flushes;
        self.spent = self.spent.and(&other.spent);
    }

    /// What must always hold.
    pub fn check(&self) {
        let waited: u64 = self.tallies.iter().map(|tally| tally.waited_ns).sum();
        assert_eq!(
            waited + self.processor_ns,
            self.elapsed_ns,
            "the caller computes or waits"
        );
        let busy: u64 = self.tallies.iter().map(|tally| tally.busy_ns).sum();
        assert_eq!(
            busy + self.idle_ns,
            self.elapsed_ns,
            "the device is busy or idle"
        );
    }
}
