//! The operations of a run, drawn as the program draws them.
//!
//! The program keeps a table of twice as many slots as files; a slot with size 0 is free. A new
//! file takes the slot behind the last one taken if that is free, else the first free one; if none
//! is, nothing is made and nothing drawn. A file to read, append to or delete is drawn until the
//! draw hits a used slot. Before its clock starts the program fills a buffer of twice the larger
//! size with draws, so the stream depends on that size.

use super::free::Free;
use super::settings::Settings;
use crate::workload::InputError;
use crate::workload::mt19937::Mt19937;

/// Which part of the run an operation belongs to; the program times them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The pool is made.
    Creation,
    /// The transactions.
    Transactions,
    /// What is left is deleted.
    Deletion,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All transactions were made.
    Complete,
    /// A transaction found no file; the program then deletes and prints no report.
    OutOfFiles,
}

/// A file: its number is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct File {
    /// The number, from 1; its name.
    pub number: u32,
    /// Index of its location; 0 where none was set.
    pub location: u32,
    /// Its subdirectory, if there are two or more.
    pub subdirectory: Option<u32>,
}

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Makes the file and writes so many bytes.
    Create {
        /// Bytes written.
        bytes: u64,
    },
    /// Reads the whole file.
    Read {
        /// Its size.
        bytes: u64,
    },
    /// Writes at its end.
    Append {
        /// The size before.
        at: u64,
        /// Bytes written.
        bytes: u64,
    },
    /// Removes the file.
    Delete {
        /// Its size.
        bytes: u64,
    },
}

/// One operation of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Where in the run.
    pub phase: Phase,
    /// On which file.
    pub file: File,
    /// What.
    pub operation: Operation,
}

/// The operations of a run, in order.
#[derive(Debug, Clone)]
pub struct Stream {
    settings: Settings,
    random: Mt19937,
    /// Index of a location for each unit of weight.
    chosen: Vec<u32>,
    slots: Vec<Slot>,
    free: Free,
    /// The slot behind the last one taken.
    behind: usize,
    used: usize,
    numbered: u32,
    next: Next,
    ending: Ending,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// 0 if free.
    bytes: u32,
    file: File,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Create { left: u32 },
    ReadOrAppend { left: u32 },
    CreateOrDelete { left: u32 },
    Delete { slot: usize },
}

impl Stream {
    /// The stream of `settings`.
    pub fn new(settings: &Settings) -> Result<Self, InputError> {
        settings.check()?;
        let mut random = Mt19937::new(settings.seed);
        for _ in 0..2 * u64::from(settings.size.0.max(settings.size.1)) {
            random.number();
        }
        let empty = Slot {
            bytes: 0,
            file: File {
                number: 0,
                location: 0,
                subdirectory: None,
            },
        };
        let weights = settings.locations.iter().enumerate();
        let chosen = weights
            .flat_map(|(index, place)| std::iter::repeat_n(index as u32, place.weight as usize));
        Ok(Self {
            chosen: chosen.collect(),
            random,
            slots: vec![empty; 2 * settings.number as usize],
            free: Free::all(2 * settings.number as usize),
            behind: 0,
            used: 0,
            numbered: 0,
            next: Next::Create {
                left: settings.number,
            },
            ending: Ending::Complete,
            settings: settings.clone(),
        })
    }

    /// How the run ended, as far as it has gone.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// Files that exist now.
    pub fn files(&self) -> usize {
        self.used
    }

    /// A draw below `limit`; nothing is drawn if that is not positive.
    fn below(&mut self, limit: i64) -> u32 {
        if limit <= 0 {
            return 0;
        }
        (u64::from(self.random.number()) % limit as u64) as u32
    }

    fn free_slot(&mut self) -> Option<usize> {
        let behind = self.slots.get(self.behind);
        let slot = match behind {
            Some(slot) if slot.bytes == 0 => self.behind,
            _ => self.free.first()?,
        };
        self.behind = slot + 1;
        Some(slot)
    }

    /// A slot in use; there is one.
    fn used_slot(&mut self) -> usize {
        assert!(self.used > 0, "a file is drawn only while there are files");
        loop {
            let slot = self.below(self.slots.len() as i64) as usize;
            if self.slots[slot].bytes > 0 {
                return slot;
            }
        }
    }

    fn create(&mut self, phase: Phase) -> Option<Step> {
        let slot = self.free_slot()?;
        let location = match self.settings.locations.len() {
            0 | 1 => 0,
            _ => {
                let index = self.below(self.chosen.len() as i64);
                self.chosen[index as usize]
            }
        };
        let subdirectories = self.settings.subdirectories;
        let subdirectory = (subdirectories > 1).then(|| self.below(i64::from(subdirectories)));
        self.numbered += 1;
        let file = File {
            number: self.numbered,
            location,
            subdirectory,
        };
        let (low, high) = self.settings.size;
        let bytes = low + self.below(i64::from(high) - i64::from(low));
        self.slots[slot] = Slot { bytes, file };
        self.free.remove(slot);
        self.used += 1;
        Some(Step {
            phase,
            file,
            operation: Operation::Create {
                bytes: u64::from(bytes),
            },
        })
    }

    fn read(&mut self) -> Step {
        let slot = self.used_slot();
        let Slot { bytes, file } = self.slots[slot];
        Step {
            phase: Phase::Transactions,
            file,
            operation: Operation::Read {
                bytes: u64::from(bytes),
            },
        }
    }

    /// Appends to a file that is drawn; nothing happens if it has its full size.
    fn append(&mut self) -> Option<Step> {
        let slot = self.used_slot();
        let Slot { bytes: at, file } = self.slots[slot];
        let high = self.settings.size.1;
        if at >= high {
            return None;
        }
        let bytes = self.below(i64::from(high - at)) + 1;
        self.slots[slot].bytes += bytes;
        Some(Step {
            phase: Phase::Transactions,
            file,
            operation: Operation::Append {
                at: u64::from(at),
                bytes: u64::from(bytes),
            },
        })
    }

    fn delete(&mut self, slot: usize, phase: Phase) -> Step {
        let Slot { bytes, file } = self.slots[slot];
        self.slots[slot].bytes = 0;
        self.free.insert(slot);
        self.used -= 1;
        Step {
            phase,
            file,
            operation: Operation::Delete {
                bytes: u64::from(bytes),
            },
        }
    }

    /// Does what comes next; none if that was nothing (a full table, a file of full size).
    fn advance(&mut self) -> Option<Step> {
        match self.next {
            Next::Create { left } => {
                self.next = match left {
                    1 => Next::ReadOrAppend {
                        left: self.settings.transactions,
                    },
                    _ => Next::Create { left: left - 1 },
                };
                self.create(Phase::Creation)
            }
            Next::ReadOrAppend { left: 0 } => {
                self.next = Next::Delete { slot: 0 };
                None
            }
            Next::ReadOrAppend { .. } if self.used == 0 => {
                self.ending = Ending::OutOfFiles;
                self.next = Next::Delete { slot: 0 };
                None
            }
            Next::ReadOrAppend { left } => {
                self.next = Next::CreateOrDelete { left };
                let bias = self.settings.bias_read?;
                if self.below(10) < bias {
                    Some(self.read())
                } else {
                    self.append()
                }
            }
            Next::CreateOrDelete { left } => {
                self.next = Next::ReadOrAppend { left: left - 1 };
                let bias = self.settings.bias_create?;
                if self.below(10) < bias {
                    self.create(Phase::Transactions)
                } else {
                    let slot = self.used_slot();
                    Some(self.delete(slot, Phase::Transactions))
                }
            }
            Next::Delete { slot } => {
                self.next = Next::Delete { slot: slot + 1 };
                (self.slots[slot].bytes > 0).then(|| self.delete(slot, Phase::Deletion))
            }
        }
    }
}

impl Iterator for Stream {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            if matches!(self.next, Next::Delete { slot } if slot >= self.slots.len()) {
                return None;
            }
            if let Some(step) = self.advance() {
                return Some(step);
            }
        }
    }
}
