//! The queue in front of a drive: merged, sorted, reads before writes.
//!
//! ```text
//!   submit ──► waiting (first come) ──► sorted: reads │ writes ──► drive, `depth` at a time
//! ```
//!
//! Of the kind of the kernel's `deadline`: requests that touch become one, up to a size; batches of
//! 16 go upwards over the disk from where the last one ended, and around (C-LOOK); reads go first,
//! but writes are passed over twice at most, and one that has waited too long (reads half a second,
//! writes five) begins the next batch. At most 128 requests of a direction are sorted; others wait
//! in the order of their arrival, as their submitters would for a free request.
//!
//! It stands in front of the drive and behind any mapping, so that two partitions of one disk share
//! it. Flushes go straight through: whoever sends one has waited for what it must cover. Does not
//! model the idling of `cfq`, which was the default of Fedora 10.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::disk::drive::{Answer, Command, Model, Operation, Spent};

/// Requests of a batch.
const BATCH: u32 = 16;
/// Batches of reads while writes wait.
const PASSED_OVER: u32 = 2;
/// Ages at which a request begins a batch: reads, writes.
const EXPIRE_NS: [u64; 2] = [500_000_000, 5_000_000_000];
/// Requests of a direction that are sorted.
const SORTED: usize = 128;
/// Blocks of 512 bytes of a request at most.
const REQUEST_MAX: u32 = 1024;

/// Requests that were merged.
#[derive(Debug, Clone)]
struct Merged {
    operation: Operation,
    count: u32,
    arrival_ns: u64,
    tags: Vec<u64>,
}

/// Where a request is in the order: its first block, and a number that makes it the only one.
type Key = (u64, u64);

/// Requests of one direction.
#[derive(Debug, Clone, Default)]
struct Direction {
    sorted: BTreeMap<Key, Merged>,
    /// The same by the block after their last.
    ends: BTreeMap<Key, u64>,
    /// The same by age.
    ages: BTreeSet<(u64, u64, u64)>,
    waiting: VecDeque<(u64, Command)>,
}

impl Direction {
    /// Merges a command with a request that touches it, or puts it in its place.
    fn add(&mut self, now_ns: u64, serial: u64, command: Command) {
        let end = command.start + u64::from(command.count);
        let fits = |merged: &Merged| {
            merged.operation == command.operation && merged.count + command.count <= REQUEST_MAX
        };
        let touching = self
            .ends
            .range((command.start, 0)..=(command.start, u64::MAX));
        let behind = touching
            .map(|(&(_, serial), &start)| (start, serial))
            .next();
        if let Some(key) = behind
            && let Some(merged) = self.sorted.get_mut(&key)
            && fits(merged)
        {
            merged.count += command.count;
            merged.tags.push(command.tag);
            self.ends.remove(&(command.start, key.1));
            self.ends.insert((end, key.1), key.0);
            return;
        }
        let touching = self.sorted.range((end, 0)..=(end, u64::MAX));
        if let Some((&key, merged)) = touching.into_iter().next()
            && fits(merged)
        {
            let mut merged = self.remove(key);
            merged.count += command.count;
            merged.tags.push(command.tag);
            self.place((command.start, key.1), merged);
            return;
        }
        let merged = Merged {
            operation: command.operation,
            count: command.count,
            arrival_ns: now_ns,
            tags: vec![command.tag],
        };
        self.place((command.start, serial), merged);
    }

    fn place(&mut self, key: Key, merged: Merged) {
        let end = key.0 + u64::from(merged.count);
        self.ends.insert((end, key.1), key.0);
        self.ages.insert((merged.arrival_ns, key.1, key.0));
        self.sorted.insert(key, merged);
    }

    fn remove(&mut self, key: Key) -> Merged {
        let merged = self.sorted.remove(&key).expect("a request that is sorted");
        self.ends.remove(&(key.0 + u64::from(merged.count), key.1));
        self.ages.remove(&(merged.arrival_ns, key.1, key.0));
        merged
    }

    /// The request at or above a block, else the lowest.
    fn next(&self, position: u64) -> Option<Key> {
        let above = self.sorted.range((position, 0)..).next();
        let next = above.or_else(|| self.sorted.iter().next());
        next.map(|(&key, _)| key)
    }

    /// The oldest request, if it has waited too long.
    fn expired(&self, now_ns: u64, expire_ns: u64) -> Option<Key> {
        let &(arrival_ns, serial, start) = self.ages.first()?;
        (arrival_ns + expire_ns <= now_ns).then_some((start, serial))
    }
}

/// A queue in front of a model.
#[derive(Debug)]
pub struct Elevator {
    inner: Box<dyn Model>,
    depth: usize,
    /// Reads, writes.
    directions: [Direction; 2],
    serial: u64,
    current: usize,
    batch_left: u32,
    passed_over: u32,
    position: u64,
    /// Tags of what the drive has, by its tag.
    sent: Vec<Vec<u64>>,
    unused: Vec<u64>,
    answers: VecDeque<Answer>,
}

impl Elevator {
    /// A queue in front of `inner`, which gets `depth` requests at a time (1 without queueing in
    /// the drive).
    pub fn new(inner: Box<dyn Model>, depth: usize) -> Self {
        Self {
            inner,
            depth: depth.max(1),
            directions: [Direction::default(), Direction::default()],
            serial: 0,
            current: 0,
            batch_left: 0,
            passed_over: 0,
            position: 0,
            sent: Vec::new(),
            unused: Vec::new(),
            answers: VecDeque::new(),
        }
    }

    fn in_flight(&self) -> usize {
        self.sent.len() - self.unused.len()
    }

    fn send(&mut self, now_ns: u64, start: u64, merged: Merged) {
        let tag = self.unused.pop().unwrap_or_else(|| {
            self.sent.push(Vec::new());
            self.sent.len() as u64 - 1
        });
        self.sent[tag as usize] = merged.tags;
        let command = Command {
            tag,
            operation: merged.operation,
            start,
            count: merged.count,
        };
        self.inner.submit(now_ns, command);
    }

    /// The next request: of the batch while it lasts, else the first of a new one.
    fn pick(&mut self, now_ns: u64) -> Option<Key> {
        if self.batch_left > 0
            && let Some(key) = self.directions[self.current].next(self.position)
            && key.0 >= self.position
        {
            self.batch_left -= 1;
            return Some(key);
        }
        let some = |direction: &Direction| !direction.sorted.is_empty();
        let (reads, writes) = (some(&self.directions[0]), some(&self.directions[1]));
        self.current = match (reads, writes) {
            (false, false) => return None,
            (true, true) if self.passed_over < PASSED_OVER => {
                self.passed_over += 1;
                0
            }
            (true, false) => 0,
            _ => {
                self.passed_over = 0;
                1
            }
        };
        self.batch_left = BATCH - 1;
        let direction = &self.directions[self.current];
        let expired = direction.expired(now_ns, EXPIRE_NS[self.current]);
        expired.or_else(|| direction.next(self.position))
    }

    fn dispatch(&mut self, now_ns: u64) {
        while self.in_flight() < self.depth
            && let Some(key) = self.pick(now_ns)
        {
            let merged = self.directions[self.current].remove(key);
            self.position = key.0 + u64::from(merged.count);
            self.send(now_ns, key.0, merged);
            self.admit(now_ns, self.current);
        }
    }

    /// Sorts what waits, as far as there is room.
    fn admit(&mut self, now_ns: u64, direction: usize) {
        let direction = &mut self.directions[direction];
        while direction.sorted.len() < SORTED
            && let Some((serial, command)) = direction.waiting.pop_front()
        {
            direction.add(now_ns, serial, command);
        }
    }

    /// Takes what the drive has answered, and gives it more.
    fn advance(&mut self, now_ns: u64) {
        while let Some(answer) = self.inner.answer(now_ns) {
            for tag in std::mem::take(&mut self.sent[answer.tag as usize]) {
                let mut own = answer;
                own.tag = tag;
                self.answers.push_back(own);
            }
            self.unused.push(answer.tag);
            self.dispatch(now_ns);
        }
    }
}

impl Model for Elevator {
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        self.advance(now_ns);
        self.serial += 1;
        if command.operation == Operation::Flush {
            let merged = Merged {
                operation: command.operation,
                count: command.count,
                arrival_ns: now_ns,
                tags: vec![command.tag],
            };
            self.send(now_ns, command.start, merged);
            return;
        }
        let direction = usize::from(command.operation != Operation::Read);
        let waiting = &mut self.directions[direction].waiting;
        waiting.push_back((self.serial, command));
        self.admit(now_ns, direction);
        self.dispatch(now_ns);
    }

    fn wake(&self) -> Option<u64> {
        let answer = self.answers.front().map(|answer| answer.at_ns);
        match (answer, self.inner.wake()) {
            (Some(answer), Some(inner)) => Some(answer.min(inner)),
            (answer, inner) => answer.or(inner),
        }
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.advance(now_ns);
        self.answers.pop_front()
    }

    fn account(&self, spent: &mut Spent) {
        self.inner.account(spent);
    }
}
