//! The simulated disk itself: requests begin and end, and the power fails in between.
//!
//! The contract of [`crate::Device`] is kept as badly as it allows. A write that was answered is
//! seen by reads and may be lost; one that was not answered may be on the medium all the same. A
//! flush makes durable what was answered before it *began*, and nothing else. The atomic unit is
//! one logical block.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{Discards, Faults, Image, Random};
use crate::{Completion, Durability, Error, Info, Kind, Operation, Range, Request, Result};

/// Writes that the cache holds at most; the oldest become durable to make room, as on any disk.
const CACHE_MAX: usize = 1 << 16;

/// A request that the disk works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// A disk with a volatile cache.
#[derive(Debug)]
pub struct Disk {
    info: Info,
    /// What reads see.
    current: Image,
    /// What the medium has, but for what was written with FUA and is in the cache still.
    durable: Image,
    /// What `current` has and `durable` may lose, in the order of the answers.
    cache: VecDeque<Cached>,
    /// How many writes have left the cache.
    settled: u64,
    flying: BTreeMap<Ticket, Flying>,
    begun: u64,
    faults: Faults,
    random: Random,
    gone: bool,
}

/// A write that was answered.
#[derive(Debug, Clone)]
struct Cached {
    range: Range,
    data: Data,
    /// Written with FUA: no cut takes it back.
    durable: bool,
}

#[derive(Debug, Clone, Hash)]
pub(super) enum Data {
    Bytes(Arc<[u8]>),
    Zeros,
}

/// A request that was not answered.
#[derive(Debug)]
struct Flying {
    request: Request,
    fate: Fate,
    /// Of a flush: how many writes had been answered when it began.
    covers: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Proper,
    Lost,
    Misdirected(u64),
    Failing(Kind),
}

impl Disk {
    /// A disk that holds `image` in blocks of `block` bytes. Where things go wrong by chance,
    /// `seed` decides.
    pub fn new(
        name: impl Into<String>,
        image: Image,
        block: u32,
        faults: Faults,
        seed: u64,
    ) -> Self {
        let mut info = Info::new(name, image.size());
        info.logical_block = block;
        info.physical_block = block;
        info.discard_granularity = block;
        info.discard_zeroes = faults.discards == Discards::ReadZeroes;
        info.fua = true;
        info.durable = true;
        Self {
            info,
            current: image.clone(),
            durable: image,
            cache: VecDeque::new(),
            settled: 0,
            flying: BTreeMap::new(),
            begun: 0,
            faults,
            random: Random::new(seed),
            gone: false,
        }
    }

    /// What it says about itself.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Says that its physical blocks have `bytes`, which is not less than a logical one.
    pub fn set_physical_block(&mut self, bytes: u32) {
        assert!(bytes >= self.info.logical_block && bytes.is_power_of_two());
        self.info.physical_block = bytes;
    }

    /// What reads see.
    pub fn content(&self) -> &Image {
        &self.current
    }

    /// What is left if a cut now loses all that it may lose.
    pub fn durable(&self) -> Image {
        let mut image = self.durable.clone();
        for cached in self.cache.iter().filter(|cached| cached.durable) {
            store(&mut image, cached.range, &cached.data);
        }
        image
    }

    /// What goes wrong; may be changed at any time.
    pub fn faults_mut(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// From now on nothing answers but with [`Kind::Gone`].
    pub fn vanish(&mut self) {
        self.gone = true;
    }

    /// Whether it has vanished.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// How many requests have begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Requests in flight, oldest first.
    pub fn in_flight(&self) -> impl Iterator<Item = Ticket> {
        self.flying.keys().copied()
    }

    /// Takes a request, which must be proper (see [`crate::Checked`]).
    pub fn begin(&mut self, request: Request) -> Ticket {
        self.begun += 1;
        self.gone |= self.faults.vanishing.is_some_and(|at| at <= self.begun);
        let fate = self.fate(&request);
        let covers = self.settled + self.cache.len() as u64;
        let ticket = Ticket(self.begun);
        let flying = Flying {
            request,
            fate,
            covers,
        };
        self.flying.insert(ticket, flying);
        ticket
    }

    /// How long the next request takes, in nanoseconds.
    pub fn latency_ns(&mut self) -> u64 {
        let jitter = match self.faults.jitter_ns {
            0 => 0,
            most => self.random.below(most.saturating_add(1)),
        };
        self.faults.latency_ns.saturating_add(jitter)
    }

    /// Ends a request in flight.
    pub fn finish(&mut self, ticket: Ticket) -> Completion {
        let flying = self.flying.remove(&ticket).expect("is in flight");
        let Flying {
            mut request,
            fate,
            covers,
        } = flying;
        let result = self.carry_out(&mut request, fate, covers);
        request.complete(result)
    }

    /// Forgets a request in flight, which its asker was killed before it was sent.
    pub fn abandon(&mut self, ticket: Ticket) {
        self.flying.remove(&ticket).expect("is in flight");
    }

    /// Carries out a write in flight whose asker was killed, or was told that it failed: it is
    /// seen, but nothing has made it durable. Nothing becomes of other requests.
    pub fn interrupt(&mut self, ticket: Ticket) {
        let Flying { request, fate, .. } = self.flying.remove(&ticket).expect("is in flight");
        if request.operation.is_write() && !self.gone {
            self.take(&request, fate, Durability::Volatile);
        }
    }

    /// Carries out a request in flight whose asker was killed, and hears no answer. A flush that
    /// was to fail is forgotten and loses nothing: Linux keeps a failure that nobody heard for
    /// whoever flushes next (`errseq_t`), so that nobody goes on without hearing of it.
    pub fn finish_unheard(&mut self, ticket: Ticket) {
        let flying = self.flying.get(&ticket).expect("is in flight");
        let is_flush = flying.request.operation == Operation::Flush;
        if is_flush && matches!(flying.fate, Fate::Failing(_)) {
            return self.abandon(ticket);
        }
        self.finish(ticket);
    }

    /// What a power cut at this moment could leave: of the writes that are not durable, answered
    /// or not, any subset, each of them whole or torn.
    pub fn cut(&self, random: &mut Random) -> Image {
        let mut image = self.durable.clone();
        let greed = random.below(4);
        for cached in &self.cache {
            if cached.durable {
                store(&mut image, cached.range, &cached.data);
            } else {
                self.keep_some(&mut image, cached.range, &cached.data, greed, random);
            }
        }
        let mut flying: Vec<&Flying> = self.flying.values().collect();
        while !flying.is_empty() {
            let one = flying.swap_remove(random.index(flying.len()));
            if let Some((range, data)) = one.write(&self.faults) {
                self.keep_some(&mut image, range, &data, greed, random);
            }
        }
        image
    }

    /// Fails the power: all in flight is gone unanswered, and what [`Disk::cut`] left is all.
    pub fn lose_power(&mut self, random: &mut Random) {
        let image = self.cut(random);
        self.flying.clear();
        self.settled += self.cache.len() as u64;
        self.cache.clear();
        self.current = image.clone();
        self.durable = image;
    }

    fn fate(&mut self, request: &Request) -> Fate {
        if let Some(kind) = self.faults.failing.get(&self.begun) {
            return Fate::Failing(*kind);
        }
        if !request.operation.is_write() {
            return Fate::Proper;
        }
        let lost = u64::from(self.faults.lost_per_million);
        if lost > 0 && self.random.chance(lost, 1_000_000) {
            return Fate::Lost;
        }
        let misdirected = u64::from(self.faults.misdirected_per_million);
        if misdirected > 0 && self.random.chance(misdirected, 1_000_000) {
            let block = u64::from(self.info.logical_block);
            let places = (self.info.size - request.range.len()) / block + 1;
            return Fate::Misdirected(self.random.below(places) * block);
        }
        Fate::Proper
    }

    fn carry_out(&mut self, request: &mut Request, fate: Fate, covers: u64) -> Result<()> {
        let fail = |kind, what: &str| {
            let (operation, range) = (request.operation, request.range);
            let text = format!("{}: {operation:?} of {range:?} {what}", self.info.name);
            Err(Error::new(kind, text))
        };
        if self.gone {
            let failure = fail(Kind::Gone, "failed: the disk has vanished");
            if request.operation.is_write() && self.random.chance(1, 2) {
                self.take(request, Fate::Proper, Durability::Volatile);
            }
            return failure;
        }
        if let Fate::Failing(kind) = fate {
            let failure = fail(kind, "failed, as planned");
            if request.operation == Operation::Flush {
                self.drop_some(covers);
            } else if self.faults.residue && self.random.chance(1, 2) {
                self.take(request, Fate::Proper, Durability::Volatile);
            }
            return failure;
        }
        match request.operation {
            Operation::Read => {
                let blocks = self.blocks(request.range);
                if self.faults.unreadable.range(blocks).next().is_some() {
                    return fail(Kind::Io, "failed: a block cannot be read");
                }
                self.current
                    .read(request.range.start(), &mut request.buffer);
            }
            Operation::Flush => {
                while self.settled < covers {
                    self.settle();
                }
            }
            _ => self.take(request, fate, request.durability),
        }
        Ok(())
    }

    /// Stores a write in the cache.
    fn take(&mut self, request: &Request, fate: Fate, durability: Durability) {
        let flying = (request, fate);
        let Some((range, data)) = written(flying.0, flying.1, self.faults.discards) else {
            return;
        };
        for block in self.blocks(range) {
            self.faults.unreadable.remove(&block);
        }
        store(&mut self.current, range, &data);
        self.cache.push_back(Cached {
            range,
            data,
            durable: durability == Durability::Fua,
        });
        while self.cache.len() > CACHE_MAX {
            self.settle();
        }
    }

    /// Makes the oldest write of the cache durable.
    fn settle(&mut self) {
        if let Some(cached) = self.cache.pop_front() {
            store(&mut self.durable, cached.range, &cached.data);
        }
        self.settled += 1;
    }

    /// A failed flush: the kernel thinks what it wrote is clean, and some of it never arrives.
    fn drop_some(&mut self, covers: u64) {
        while self.settled < covers {
            if self.cache.front().is_some_and(|cached| cached.durable) || self.random.chance(1, 2) {
                self.settle();
            } else {
                self.cache.pop_front();
                self.settled += 1;
            }
        }
    }

    fn keep_some(
        &self,
        image: &mut Image,
        range: Range,
        data: &Data,
        greed: u64,
        random: &mut Random,
    ) {
        match (greed, random.below(5)) {
            (0, _) | (2.., 0 | 1) => {}
            (1, _) | (2.., 2 | 3) => store(image, range, data),
            _ => {
                let block = u64::from(self.info.logical_block);
                for start in (range.start()..range.end()).step_by(block as usize) {
                    if random.chance(1, 2) {
                        store_part(image, range, data, Range::new(start, block));
                    }
                }
            }
        }
    }

    fn blocks(&self, range: Range) -> std::ops::Range<u64> {
        let block = u64::from(self.info.logical_block);
        range.start() / block..range.end().div_ceil(block)
    }
}

impl Flying {
    fn write(&self, faults: &Faults) -> Option<(Range, Data)> {
        let fate = match self.fate {
            Fate::Failing(_) if faults.residue => Fate::Proper,
            fate => fate,
        };
        written(&self.request, fate, faults.discards)
    }
}

/// Where a write stores what; `None`: it stores nothing.
fn written(request: &Request, fate: Fate, discards: Discards) -> Option<(Range, Data)> {
    let range = match fate {
        Fate::Proper => request.range,
        Fate::Misdirected(start) => Range::new(start, request.range.len()),
        Fate::Lost | Fate::Failing(_) => return None,
    };
    data_of(request, discards).map(|data| (range, data))
}

/// What a write stores; `None` for all that stores nothing.
pub(super) fn data_of(request: &Request, discards: Discards) -> Option<Data> {
    match request.operation {
        Operation::Write => Some(Data::Bytes(Arc::from(&*request.buffer))),
        Operation::WriteZeroes(_) => Some(Data::Zeros),
        Operation::Discard => (discards == Discards::ReadZeroes).then_some(Data::Zeros),
        Operation::Read | Operation::Flush => None,
    }
}

/// Stores a write as a whole.
pub(super) fn store(image: &mut Image, range: Range, data: &Data) {
    match data {
        Data::Bytes(bytes) => image.write(range.start(), bytes),
        Data::Zeros => image.zero(range),
    }
}

/// Stores what of a write lies in `part`.
pub(super) fn store_part(image: &mut Image, range: Range, data: &Data, part: Range) {
    let Some(part) = range.intersection(part) else {
        return;
    };
    match data {
        Data::Bytes(bytes) => {
            let at = (part.start() - range.start()) as usize;
            image.write(part.start(), &bytes[at..][..part.len() as usize]);
        }
        Data::Zeros => image.zero(part),
    }
}
