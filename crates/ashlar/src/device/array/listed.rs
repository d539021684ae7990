//! A leg with a list of blocks that cannot be read, which is written.
//!
//! ```text
//!   read    some of it is listed ─▸ an error, without asking: others have it
//!   write   done ─▸ what it covers can be read
//!   flush   done ─▸ entries of which all can be read since before it are taken off ─▸ answered
//! ```
//!
//! md lists blocks of a leg whose write failed: others were written instead, and what the leg has
//! is old. The machine makes up what it cannot read, and writes it to the leg again; so a list
//! becomes shorter whenever something of it is read, too.
//!
//! An entry leaves the list when what was written is durable, never before: a list that is too long
//! costs redundancy, one that is too short data. What is left moves up, sector by sector and each
//! durably, so that a cut in between leaves entries twice, and none out. Where that fails the list
//! stays as it is for as long as the leg is open.
//!
//! Does not: add entries. A leg that fails a write is lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{
    Answers, Buffer, Completion, Device, Driver, Durability, Error, Extent, Info, Kind, Operation,
    Queue, Range, Request, Result,
};

const SECTOR: usize = 512;
/// What ends a list.
const END: u64 = u64::MAX;

/// A leg, and its list.
pub(super) struct ListedLeg {
    data: Arc<dyn Device>,
    list: Arc<dyn Device>,
    shared: Arc<Mutex<Listed>>,
}

/// What is known of a list. Nobody holds it while something is asked of a device.
#[derive(Debug)]
struct Listed {
    /// As it is on the disk: each entry, and which bytes of the leg it is about.
    entries: Vec<(u64, Range)>,
    /// The bytes of these that cannot be read, apart from one another.
    bad: Vec<Range>,
    /// Bytes of the list.
    len: usize,
    /// Whether it is being written, or could not be.
    is_taken: bool,
}

impl Listed {
    fn is_bad(&self, range: Range) -> bool {
        self.bad.iter().any(|bad| bad.intersection(range).is_some())
    }

    /// These bytes were written.
    fn written(&mut self, range: Range) {
        let rest = |bad: &Range| {
            let before = range.start().min(bad.end()).saturating_sub(bad.start());
            let behind = bad.end().saturating_sub(range.end().max(bad.start()));
            [
                Range::new(bad.start(), before),
                Range::new(bad.end() - behind, behind),
            ]
        };
        let rest = self.bad.iter().flat_map(rest);
        self.bad = rest.filter(|range| !range.is_empty()).collect();
    }

    /// The entries that are about nothing that cannot be read.
    fn healed(&self) -> Vec<u64> {
        let healed = self
            .entries
            .iter()
            .filter(|(_, range)| !self.is_bad(*range));
        healed.map(|(entry, _)| *entry).collect()
    }

    fn on_disk(&self) -> Vec<u8> {
        let mut bytes = vec![0xff; self.len];
        for ((entry, _), place) in self.entries.iter().zip(bytes.chunks_exact_mut(8)) {
            assert!(*entry != END, "it is none");
            place.copy_from_slice(&entry.to_le_bytes());
        }
        bytes
    }

    /// Takes entries off; the sectors of the list that change, in the order in which they are
    /// written.
    fn take_off(&mut self, healed: &[u64]) -> Vec<(u64, Vec<u8>)> {
        let before = self.on_disk();
        self.entries.retain(|(entry, range)| {
            !healed.contains(entry)
                || self
                    .bad
                    .iter()
                    .any(|bad| bad.intersection(*range).is_some())
        });
        let after = self.on_disk();
        let sectors = before.chunks(SECTOR).zip(after.chunks(SECTOR)).enumerate();
        let changed = sectors.filter(|(_, (before, after))| before != after);
        changed
            .map(|(number, (_, after))| ((number * SECTOR) as u64, after.to_vec()))
            .collect()
    }
}

fn locked(shared: &Mutex<Listed>) -> MutexGuard<'_, Listed> {
    // What it says is right after each change.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ListedLeg {
    /// A leg's data, and the list of them, whose entries are these.
    pub(super) fn over(
        data: Arc<dyn Device>,
        list: Arc<dyn Device>,
        entries: Vec<(u64, Range)>,
    ) -> Arc<dyn Device> {
        let whole = Range::new(0, data.info().size);
        let mut listed = Listed {
            bad: Vec::new(),
            len: list.info().size as usize,
            entries,
            is_taken: false,
        };
        for (_, range) in listed.entries.clone() {
            let Some(range) = range.intersection(whole) else {
                continue;
            };
            listed.written(range);
            listed.bad.push(range);
        }
        Arc::new(Self {
            data,
            list,
            shared: Arc::new(Mutex::new(listed)),
        })
    }
}

impl Device for ListedLeg {
    fn info(&self) -> Info {
        self.data.info()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        Ok(Box::new(ListedQueue {
            name: self.data.info().name,
            data: self.data.open_queue(driver)?,
            list: self.list.open_queue(driver)?,
            shared: Arc::clone(&self.shared),
            asked: BTreeMap::new(),
            next: 0,
            taking_off: None,
            refused: Answers::new(driver),
        }))
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        self.data.extents(range, count_max)
    }
}

/// What was asked of the data.
#[derive(Debug)]
struct Asked {
    /// The tag of whoever asked.
    tag: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Other,
    Write(Range),
    /// The entries of which all could be read when it was asked.
    Flush(Vec<u64>),
}

/// A list that is being written, for the flush that waits for it.
#[derive(Debug)]
struct TakingOff {
    flush: Completion,
    /// Sectors of it that were not written, in order.
    ahead: std::vec::IntoIter<(u64, Vec<u8>)>,
}

struct ListedQueue {
    name: String,
    data: Box<dyn Queue>,
    list: Box<dyn Queue>,
    shared: Arc<Mutex<Listed>>,
    asked: BTreeMap<u64, Asked>,
    next: u64,
    taking_off: Option<TakingOff>,
    refused: Answers,
}

impl ListedQueue {
    /// The data answered.
    fn answered(&mut self, mut answer: Completion, done: &mut Vec<Completion>) {
        let asked = self.asked.remove(&answer.tag);
        let asked = asked.expect("a queue answers what it was asked");
        answer.tag = asked.tag;
        match asked.what {
            What::Write(range) if answer.result.is_ok() => {
                locked(&self.shared).written(range);
            }
            What::Flush(healed) if answer.result.is_ok() && !healed.is_empty() => {
                let mut listed = locked(&self.shared);
                if !listed.is_taken {
                    listed.is_taken = true;
                    let ahead = listed.take_off(&healed).into_iter();
                    drop(listed);
                    assert!(self.taking_off.is_none(), "one of all queues writes it");
                    let flush = answer;
                    self.taking_off = Some(TakingOff { flush, ahead });
                    return self.take_off_on(done);
                }
            }
            What::Other | What::Write(_) | What::Flush(_) => {}
        }
        done.push(answer);
    }

    /// Writes the next sector of the list, or answers the flush.
    fn take_off_on(&mut self, done: &mut Vec<Completion>) {
        let taking = self.taking_off.as_mut().expect("it is being written");
        if let Some((start, bytes)) = taking.ahead.next() {
            let buffer = Buffer::copy_of(&bytes);
            let request = Request::write(0, start, Durability::Fua, buffer);
            return self.list.submit(request);
        }
        let taking = self.taking_off.take().expect("it is being written");
        locked(&self.shared).is_taken = false;
        done.push(taking.flush);
    }
}

impl Queue for ListedQueue {
    fn submit(&mut self, mut request: Request) {
        let what = match request.operation {
            Operation::Read if locked(&self.shared).is_bad(request.range) => {
                let what = format!("{}: md's list of bad blocks", self.name);
                let refused = request.complete(Err(Error::new(Kind::Io, what)));
                return self.refused.push(refused);
            }
            Operation::Read | Operation::Discard => What::Other,
            Operation::Write | Operation::WriteZeroes(_) => What::Write(request.range),
            Operation::Flush => What::Flush(locked(&self.shared).healed()),
        };
        let tag = self.next;
        self.next += 1;
        let asked = Asked {
            tag: request.tag,
            what,
        };
        self.asked.insert(tag, asked);
        request.tag = tag;
        self.data.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.refused.drain_into(done);
        let mut answers = Vec::new();
        self.list.poll(&mut answers);
        for answer in answers.drain(..) {
            if answer.result.is_ok() {
                self.take_off_on(done);
                continue;
            }
            // Nobody writes it any more: what it says is too much at most.
            let taking = self.taking_off.take().expect("it is being written");
            done.push(taking.flush);
        }
        self.data.poll(&mut answers);
        for answer in answers {
            self.answered(answer, done);
        }
        if self.taking_off.is_some() {
            // What was just asked goes to the kernel.
            let mut answers = Vec::new();
            self.list.poll(&mut answers);
            for answer in answers {
                if answer.result.is_ok() {
                    self.take_off_on(done);
                } else if let Some(taking) = self.taking_off.take() {
                    done.push(taking.flush);
                }
            }
        }
    }

    fn in_flight(&self) -> usize {
        let waiting = usize::from(self.taking_off.is_some());
        self.asked.len() + waiting + self.refused.len()
    }
}

#[cfg(test)]
mod tests;
