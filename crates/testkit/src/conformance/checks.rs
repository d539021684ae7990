//! The list of checks.

use std::collections::HashMap;

use block::{
    Buffer, Completion, Device, Durability, EngineKind, Info, Kind, Operation, Range, Request,
    Unmap,
};

use super::asker::Subject;
use super::model::{Choices, Model};

/// The largest device that is checked, in bytes: the model has one entry per byte.
const SIZE_MAX: u64 = 64 << 20;

/// The longest request of a check, in bytes.
const REQUEST_MAX: u64 = 256 << 10;

const BARE: [Operation; 3] = [
    Operation::WriteZeroes(Unmap::Allowed),
    Operation::WriteZeroes(Unmap::Forbidden),
    Operation::Discard,
];

/// A device under test: what it says, what it should hold, and where choices come from.
struct Suite<'device> {
    subject: Subject<'device>,
    info: Info,
    model: Model,
    choices: Choices,
}

/// Checks all that a device promises. Destroys its content; `seed` makes a run repeatable.
pub fn check(device: &dyn Device, seed: u64) {
    let engine = None;
    check_all(Subject { device, engine }, seed);
}

/// Checks as [`check`] does, with queues that work through `engine`.
pub fn check_with_engine(device: &dyn Device, engine: EngineKind, seed: u64) {
    let engine = Some(engine);
    check_all(Subject { device, engine }, seed);
}

fn check_all(subject: Subject<'_>, seed: u64) {
    let mut suite = Suite::new(subject, seed);
    assert!(!suite.info.read_only, "check_read_only is for this");
    suite.empty_requests();
    suite.refusals();
    suite.one_at_a_time(200);
    suite.many_at_a_time(2000, 32);
    suite.durability();
    suite.zeroes();
    suite.extents();
    suite.two_queues();
    suite.abandoned();
    suite.compare_all();
}

/// Checks all that a device promises that is not written; its content stays.
pub fn check_read_only(device: &dyn Device, seed: u64) {
    let engine = None;
    let mut suite = Suite::new(Subject { device, engine }, seed);
    suite.refusals();
    let mut asker = suite.subject.asker();
    for _ in 0..200 {
        let range = suite.range();
        let read = asker.read(range).expect("reads work");
        suite.model.compare(range, &read);
    }
    asker
        .bare(Operation::Flush, Range::EMPTY)
        .expect("a flush works");
    if suite.info.read_only {
        let block = suite.block();
        let refused = asker.write(0, Durability::Volatile, &vec![1; block as usize]);
        assert_eq!(
            kind(&refused),
            Some(Kind::ReadOnly),
            "a write to a read-only device"
        );
        for operation in BARE {
            let refused = asker.bare(operation, Range::new(0, block));
            assert_eq!(
                kind(&refused),
                Some(Kind::ReadOnly),
                "{operation:?} on a read-only device"
            );
        }
    }
    drop(asker);
    suite.extents();
    suite.compare_all();
}

fn kind(result: &block::Result<()>) -> Option<Kind> {
    result.as_ref().err().map(block::Error::kind)
}

impl<'device> Suite<'device> {
    fn new(subject: Subject<'device>, seed: u64) -> Self {
        let info = subject.device.info();
        println!(
            "conformance of {}, {:?}, seed {seed}",
            info.name, subject.engine
        );
        let blocks = [info.logical_block, info.physical_block];
        assert!(
            blocks.iter().all(|block| block.is_power_of_two()),
            "blocks are powers of two"
        );
        assert!(
            info.logical_block <= info.physical_block,
            "blocks are ordered"
        );
        assert!(
            info.size.is_multiple_of(u64::from(info.logical_block)),
            "the size is whole blocks"
        );
        assert!(
            (1..=SIZE_MAX).contains(&info.size),
            "a device of 1 to {SIZE_MAX} bytes is checked"
        );
        let content = read_all(subject, info.size);
        Self {
            subject,
            info,
            model: Model::new(content),
            choices: Choices::new(seed),
        }
    }

    fn block(&self) -> u64 {
        u64::from(self.info.logical_block)
    }

    /// A range of whole blocks, not empty, mostly short.
    fn range(&mut self) -> Range {
        let (block, size) = (self.block(), self.info.size);
        let len_max = match self.choices.below(4) {
            0 => REQUEST_MAX,
            1 => 16 * block,
            _ => 4 * block,
        };
        let len = (1 + self.choices.below(len_max.min(size) / block)) * block;
        let start = self.choices.below((size - len) / block + 1) * block;
        Range::new(start, len)
    }

    /// No bytes, no failure.
    fn empty_requests(&mut self) {
        let mut asker = self.subject.asker();
        for start in [0, self.info.size] {
            let empty = Range::new(start, 0);
            assert!(asker.read(empty).is_ok(), "an empty read at {start}");
            let wrote = asker.write(start, Durability::Volatile, &[]);
            assert!(wrote.is_ok(), "an empty write at {start}: {wrote:?}");
            for operation in BARE {
                let did = asker.bare(operation, empty);
                assert!(did.is_ok(), "an empty {operation:?} at {start}: {did:?}");
            }
        }
    }

    /// What lies outside is refused; what is not aligned is refused, or done as it says.
    fn refusals(&mut self) {
        let mut asker = self.subject.asker();
        let (block, size) = (self.block(), self.info.size);
        let far = (u64::MAX - block) / block * block;
        for (start, len) in [(size, block), (size - block, 2 * block), (far, block)] {
            let outside = Range::new(start, len);
            let read = asker.read(outside).map(|_| ());
            assert_eq!(
                kind(&read),
                Some(Kind::InvalidRequest),
                "a read at {outside:?}"
            );
            if self.info.read_only {
                continue;
            }
            let wrote = asker.write(start, Durability::Volatile, &vec![1; len as usize]);
            assert_eq!(
                kind(&wrote),
                Some(Kind::InvalidRequest),
                "a write at {outside:?}"
            );
            for operation in BARE {
                let did = asker.bare(operation, outside);
                assert_eq!(
                    kind(&did),
                    Some(Kind::InvalidRequest),
                    "{operation:?} at {outside:?}"
                );
            }
        }
        if block == 1 || size < 2 * block {
            return;
        }
        for (start, len) in [(1, block), (0, block - 1), (block / 2, block / 2)] {
            let askew = Range::new(start, len);
            match asker.read(askew) {
                Ok(read) => self.model.compare(askew, &read),
                Err(error) => assert_eq!(error.kind(), Kind::InvalidRequest, "at {askew:?}"),
            }
        }
    }

    /// Single requests against the model.
    fn one_at_a_time(&mut self, count: usize) {
        let mut asker = self.subject.asker();
        for _ in 0..count {
            let range = self.range();
            let request = self.random_request(range);
            let answer = asker.ask(copy(&request));
            self.learn(&request, &answer);
        }
    }

    /// Requests that do not overlap, `depth` at a time, in one queue.
    fn many_at_a_time(&mut self, count: usize, depth: usize) {
        let mut asker = self.subject.asker();
        let mut open: HashMap<u64, Request> = HashMap::new();
        let mut asked = 0;
        while asked < count || asker.open_count() > 0 {
            while asked < count && asker.open_count() < depth {
                let range = self.range();
                let mut others = open.values();
                if others.any(|other| other.range.intersection(range).is_some()) {
                    if asker.open_count() > depth / 2 {
                        break;
                    }
                    asked += 1;
                    continue;
                }
                let request = self.random_request(range);
                open.insert(asker.submit(copy(&request)), request);
                asked += 1;
            }
            for answer in asker.answers() {
                let request = open.remove(&answer.tag).expect("each is open once");
                self.learn(&request, &answer);
            }
        }
    }

    fn random_request(&mut self, range: Range) -> Request {
        let durability = match self.choices.below(8) {
            0 => Durability::Fua,
            _ => Durability::Volatile,
        };
        let len = range.len() as usize;
        match self.choices.below(16) {
            0 => Request::flush(0),
            1 => Request::bare(0, Operation::Discard, range),
            2 | 3 => {
                let operation = BARE[self.choices.below(2) as usize];
                let mut request = Request::bare(0, operation, range);
                request.durability = durability;
                request
            }
            4..=8 => Request::read(0, range.start(), Buffer::copy_of(&vec![0xa5; len])),
            _ => {
                let bytes = Buffer::copy_of(&self.choices.bytes(range.len()));
                Request::write(0, range.start(), durability, bytes)
            }
        }
    }

    /// Compares an answer with the model, and changes the model as the request did.
    fn learn(&mut self, request: &Request, answer: &Completion) {
        let range = request.range;
        let what = || format!("{:?} at {range:?}: {:?}", request.operation, answer.result);
        assert_eq!(
            answer.buffer.len(),
            request.buffer.len(),
            "the buffer comes back"
        );
        let unsupported = request.operation == Operation::Discard
            && self.info.discard_granularity == 0
            && kind(&answer.result) == Some(Kind::Unsupported);
        assert!(answer.result.is_ok() || unsupported, "{}", what());
        match request.operation {
            Operation::Read => self.model.compare(range, &answer.buffer),
            Operation::Write => {
                assert_eq!(*answer.buffer, *request.buffer, "a write keeps its buffer");
                self.model.write(range.start(), &request.buffer);
            }
            Operation::WriteZeroes(_) => self.model.zero(range),
            Operation::Discard if unsupported => {}
            Operation::Discard if self.discard_zeroes(range) => self.model.zero(range),
            Operation::Discard => self.model.forget(range),
            Operation::Flush => {}
        }
    }

    fn discard_zeroes(&self, range: Range) -> bool {
        let granularity = u64::from(self.info.discard_granularity);
        self.info.discard_zeroes && granularity > 0 && range.is_aligned(granularity)
    }

    /// Flush and FUA are answered, and what they covered is there for another queue.
    fn durability(&mut self) {
        let mut asker = self.subject.asker();
        for durability in [Durability::Volatile, Durability::Fua] {
            let range = self.range();
            let bytes = self.choices.bytes(range.len());
            let wrote = asker.write(range.start(), durability, &bytes);
            assert!(
                wrote.is_ok(),
                "a write with {durability:?} at {range:?}: {wrote:?}"
            );
            self.model.write(range.start(), &bytes);
            for _ in 0..2 {
                let flushed = asker.bare(Operation::Flush, Range::EMPTY);
                assert!(flushed.is_ok(), "a flush: {flushed:?}");
            }
            let read = self.subject.asker().read(range).expect("reads work");
            self.model.compare(range, &read);
        }
    }

    /// Zeros are a promise, over data, over zeros and over the whole device.
    fn zeroes(&mut self) {
        let mut asker = self.subject.asker();
        let all = Range::new(0, self.info.size);
        for operation in [BARE[1], BARE[0]] {
            let range = self.range();
            let bytes = self.choices.bytes(range.len());
            asker
                .write(range.start(), Durability::Volatile, &bytes)
                .expect("writes work");
            self.model.write(range.start(), &bytes);
            for range in [range, range, all] {
                let did = asker.bare(operation, range);
                assert!(did.is_ok(), "{operation:?} at {range:?}: {did:?}");
                self.model.zero(range);
            }
            self.model
                .compare(all, &read_all(self.subject, self.info.size));
        }
        // Leave something other than zeros behind.
        self.one_at_a_time(50);
    }

    /// Extents cover ranges from their start, differ from each other, and do not lie.
    fn extents(&mut self) {
        for round in 0..40 {
            let range = match round {
                0 => Range::new(0, self.info.size),
                _ => self.range(),
            };
            let count_max = 1 + self.choices.below(8) as usize;
            let extents = self.subject.device.extents(range, count_max);
            let extents = extents.unwrap_or_else(|error| panic!("extents of {range:?}: {error}"));
            assert!(
                (1..=count_max).contains(&extents.len()),
                "one to {count_max} extents, not {}",
                extents.len()
            );
            assert!(
                extents.windows(2).all(|two| two[0].kind != two[1].kind),
                "neighbours differ: {extents:?}"
            );
            let mut at = range.start();
            for extent in extents {
                let part = Range::new(at, extent.len);
                assert!(
                    extent.len > 0 && range.contains(part),
                    "{part:?} lies in {range:?}"
                );
                self.model.compare_kind(part, extent.kind);
                at = part.end();
            }
        }
    }

    /// Two threads with a queue each, on halves of the device.
    fn two_queues(&mut self) {
        let half = self.info.size / 2 / self.block() * self.block();
        if half == 0 {
            return;
        }
        let subject = self.subject;
        let seeds = [self.choices.next(), self.choices.next()];
        std::thread::scope(|scope| {
            let halves = [(0, seeds[0]), (half, seeds[1])];
            let threads = halves.map(|(from, seed)| {
                let len = half.min(REQUEST_MAX);
                scope.spawn(move || {
                    let bytes = Choices::new(seed).bytes(len);
                    let mut asker = subject.asker();
                    for _ in 0..20 {
                        asker
                            .write(from, Durability::Volatile, &bytes)
                            .expect("writes work");
                        let read = asker.read(Range::new(from, len)).expect("reads work");
                        assert!(read == bytes, "another thread's write is in the way");
                    }
                    (from, bytes)
                })
            });
            for thread in threads {
                let (from, bytes) = thread.join().expect("the thread ended well");
                self.model.write(from, &bytes);
            }
        });
    }

    /// A queue that is dropped with requests in flight waits for them.
    fn abandoned(&mut self) {
        let mut asker = self.subject.asker();
        for _ in 0..16 {
            let range = self.range();
            let bytes = Buffer::copy_of(&self.choices.bytes(range.len()));
            asker.submit(Request::write(
                0,
                range.start(),
                Durability::Volatile,
                bytes,
            ));
            self.model.forget(range);
        }
        asker.abandon();
    }

    fn compare_all(&mut self) {
        let content = read_all(self.subject, self.info.size);
        self.model.compare(Range::new(0, self.info.size), &content);
    }
}

fn copy(request: &Request) -> Request {
    Request {
        buffer: Buffer::copy_of(&request.buffer),
        ..*request
    }
}

/// All that a device holds.
fn read_all(subject: Subject<'_>, size: u64) -> Vec<u8> {
    let mut asker = subject.asker();
    let mut content = Vec::with_capacity(size as usize);
    while (content.len() as u64) < size {
        let at = content.len() as u64;
        let range = Range::new(at, (size - at).min(1 << 20));
        content.extend(asker.read(range).expect("reads work"));
    }
    content
}
