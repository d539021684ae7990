//! What every block may hold, after everything that was submitted, answered and lost.
//!
//! A block has a list of versions, oldest first; version 0 is what it held before. A version is
//! *pending* until it is answered. The list is cut in front whenever something older becomes
//! impossible:
//!
//! ```text
//!   no cut so far       only the newest answered version
//!   after a cut         the oldest that may have survived, and everything after it
//!   after a read        what was read
//! ```
//!
//! The one who asks must not have two requests in flight for the same block, one of which writes:
//! their order would be anybody's guess.

use super::pattern::{BLOCK, Content, describe, fill};

/// What a cut leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survivors {
    /// Everything answered: the server's process was killed.
    Answered,
    /// Everything answered before a flush that was answered, and every FUA write that was: the
    /// power was cut.
    Flushed,
}

/// How long a write lasts once it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Until the power is cut, if no flush comes first.
    Volatile,
    /// For good.
    Fua,
}

/// Something that happened. Identifiers grow from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A write or zeroing of `count` blocks was submitted; `id` is also its version.
    Write {
        /// Its number.
        id: u64,
        /// Its first block.
        first: u64,
        /// Its blocks.
        count: u64,
        /// What it writes.
        content: Content,
        /// Whether it is FUA.
        durability: Durability,
    },
    /// A flush was submitted.
    Flush {
        /// Its number.
        id: u64,
    },
    /// A write or flush was answered with success.
    Answered {
        /// Its number.
        id: u64,
    },
    /// A block was read and held this version.
    Read {
        /// The block.
        block: u64,
        /// What it held.
        version: u64,
    },
    /// The connection was lost: what was not answered never will be.
    Cut,
}

#[derive(Debug, Clone, Copy)]
struct Version {
    id: u64,
    content: Content,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not answered yet, or never.
    Pending,
    /// Answered at this moment (a count of events).
    Answered(u64),
    /// It was found in a read, or was there at the beginning.
    Known,
}

#[derive(Debug, Clone)]
struct Block {
    /// Oldest first; what lies before the first can no longer come back.
    versions: Vec<Version>,
    /// Whether a cut came after the newest answered version.
    unsure: Sureness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sureness {
    Sure,
    Unsure,
}

/// A write or flush in flight.
#[derive(Debug, Clone, Copy)]
enum Flight {
    Write {
        id: u64,
        first: u64,
        count: u64,
        durability: Durability,
    },
    Flush {
        id: u64,
        submitted: u64,
    },
}

/// Everything that is known.
#[derive(Debug, Clone)]
pub struct History {
    seed: u64,
    survivors: Survivors,
    blocks: Vec<Block>,
    flights: Vec<Flight>,
    /// Events so far.
    now: u64,
}

impl History {
    /// Blocks that held zeros before; their noise follows from `seed`.
    pub fn new(seed: u64, count: u64, survivors: Survivors) -> Self {
        let block = Block {
            versions: vec![Version {
                id: 0,
                content: Content::Zeros,
                state: State::Known,
            }],
            unsure: Sureness::Sure,
        };
        History {
            seed,
            survivors,
            blocks: vec![block; count as usize],
            flights: Vec::new(),
            now: 0,
        }
    }

    /// How many blocks there are.
    pub fn len(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The seed of the noise.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Takes note of an event.
    ///
    /// # Panics
    /// If it cannot have happened: an answer to nothing, a block that is not there.
    pub fn apply(&mut self, event: Event) {
        self.now += 1;
        match event {
            Event::Write {
                id,
                first,
                count,
                content,
                durability,
            } => {
                for block in self.range(first, count) {
                    block.versions.push(Version {
                        id,
                        content,
                        state: State::Pending,
                    });
                }
                self.flights.push(Flight::Write {
                    id,
                    first,
                    count,
                    durability,
                });
            }
            Event::Flush { id } => self.flights.push(Flight::Flush {
                id,
                submitted: self.now,
            }),
            Event::Answered { id } => self.answered(id),
            Event::Read { block, version } => self.read(block, version),
            Event::Cut => self.cut(),
        }
    }

    fn range(&mut self, first: u64, count: u64) -> &mut [Block] {
        &mut self.blocks[first as usize..(first + count) as usize]
    }

    fn answered(&mut self, answered: u64) {
        let same = |flight: &Flight| match *flight {
            Flight::Write { id, .. } | Flight::Flush { id, .. } => id == answered,
        };
        let index = self.flights.iter().position(same);
        let index = index.unwrap_or_else(|| panic!("{answered} was answered but never asked"));
        let (now, survivors) = (self.now, self.survivors);
        match self.flights.swap_remove(index) {
            Flight::Write {
                id,
                first,
                count,
                durability,
            } => {
                for block in self.range(first, count) {
                    block.answered(id, now);
                    if survivors == Survivors::Answered || durability == Durability::Fua {
                        block.forget_before(now);
                    }
                }
            }
            Flight::Flush { submitted, .. } => {
                for block in &mut self.blocks {
                    block.forget_before(submitted);
                }
            }
        }
    }

    /// What was read stays: whatever else a cut allowed is out of the question.
    fn read(&mut self, block: u64, version: u64) {
        let block = &mut self.blocks[block as usize];
        if block.unsure == Sureness::Unsure {
            block.versions.retain(|candidate| candidate.id == version);
            for candidate in &mut block.versions {
                candidate.state = State::Known;
            }
            block.unsure = Sureness::Sure;
        }
    }

    fn cut(&mut self) {
        self.flights.clear();
        for block in &mut self.blocks {
            let pending = |version: &Version| version.state == State::Pending;
            if block.versions.len() > 1 && self.survivors == Survivors::Flushed
                || block.versions.iter().any(pending)
            {
                block.unsure = Sureness::Unsure;
            }
        }
    }

    /// The version that `bytes`, read from `block` while nothing was in flight for it, are.
    ///
    /// # Errors
    /// What the block holds, if that is none of what it may hold, and what it may.
    pub fn judge(&self, block: u64, bytes: &[u8]) -> Result<u64, String> {
        let mut wanted = vec![0; BLOCK];
        let candidates = self.blocks[block as usize].candidates();
        for version in candidates {
            fill(&mut wanted, self.seed, block, version.id, version.content);
            if wanted == bytes {
                return Ok(version.id);
            }
        }
        let found = describe(bytes);
        let allowed: Vec<String> = candidates
            .iter()
            .map(|version| {
                format!(
                    "{} ({:?}, {:?})",
                    version.id, version.content, version.state
                )
            })
            .collect();
        let allowed = allowed.join(", ");
        Err(format!("block {block} holds {found}; allowed: {allowed}"))
    }

    /// Whether a read of this block tells something new.
    pub(super) fn is_unsure(&self, block: u64) -> bool {
        self.blocks[block as usize].unsure == Sureness::Unsure
    }
}

impl Block {
    fn answered(&mut self, id: u64, now: u64) {
        let version = self.versions.iter_mut().find(|version| version.id == id);
        version.expect("what is in flight is listed").state = State::Answered(now);
        self.unsure = Sureness::Sure;
    }

    /// Versions that are older than the newest one answered up to `moment` cannot come back.
    fn forget_before(&mut self, moment: u64) {
        let is_old =
            |version: &Version| matches!(version.state, State::Answered(at) if at <= moment);
        if let Some(first) = self.versions.iter().rposition(is_old) {
            self.versions.drain(..first);
        }
    }

    /// What a read may find.
    fn candidates(&self) -> &[Version] {
        if self.unsure == Sureness::Unsure {
            return &self.versions;
        }
        let done = |version: &Version| version.state != State::Pending;
        let newest = self.versions.iter().rposition(done).unwrap_or(0);
        &self.versions[newest..=newest]
    }
}
