//! Arrays whose superblocks and bitmaps say anything: each starts or is refused, answers what it is
//! asked, ends, and reads what was written to it, with any legs missing.
//!
//! ```text
//!   kind, legs that are missing, how many patches, (leg, place, byte) for each, requests
//! ```
//!
//! Metadata are valid ones of an array in use, with the patches in them, since no mutation finds a
//! superblock that means something.
#![no_main]

use std::collections::VecDeque;
use std::time::Duration;

use block::{Access, Buffer, Completion, Durability, Info, Operation, Range, Request, Unmap};
use dm::machine::{Event, EventOf, Machine, Step, Steps};
use dm::raid::{
    Array, ArrayConfig, ArrayLeg, Bitmap, Consistency, Described, Dirty, FailedDevices, FirstSync,
    Geometry, Keeping, Parity, Position, Rotation, Scheme, Superblock,
};
use libfuzzer_sys::fuzz_target;

const CHUNK: u64 = 4096;
const ROWS: u64 = 24;
const REGION: u64 = 8192;
const META: u64 = 64 << 10;
/// Patches at most, and requests.
const PATCHES_MAX: u8 = 24;
const REQUESTS_MAX: usize = 24;
/// Timers that are let go off, at most: an array may ask for one for ever.
const TIMERS_MAX: usize = 200;
/// Answers at most: no request takes so many.
const ANSWERS_MAX: usize = 200_000;

fuzz_target!(|bytes: &[u8]| {
    let [kind, missing, count, rest @ ..] = bytes else {
        return;
    };
    let (scheme, legs) = scheme(*kind);
    let geometry = Geometry::new(scheme, legs, CHUNK, ROWS * CHUNK).expect("it can be");
    let mut metas: Vec<Vec<u8>> = (0..legs).map(|leg| metadata(&geometry, leg)).collect();
    let patches = usize::from(count % PATCHES_MAX).min(rest.len() / 4);
    let (patches, requests) = rest.split_at(4 * patches);
    for patch in patches.chunks_exact(4) {
        let place = usize::from(u16::from_le_bytes([patch[1], patch[2]]));
        metas[usize::from(patch[0]) % legs][place] = patch[3];
    }
    let missing = |leg: usize| missing >> leg & 1 == 1;
    let consistency = match kind / 6 % 2 {
        0 => Consistency::None,
        _ => Consistency::Journal,
    };
    let Some(mut world) = World::start((&geometry, consistency), metas, missing) else {
        return;
    };
    for request in requests.chunks_exact(4).take(REQUESTS_MAX) {
        world.ask(request);
    }
    world.stop();
});

fn scheme(kind: u8) -> (Scheme, usize) {
    match kind % 6 {
        0 => (Scheme::Mirror, 2),
        1 => (Scheme::Mirror, 3),
        2 => (Scheme::Parity(Parity::One, Rotation::LeftSymmetric), 3),
        3 => (Scheme::Parity(Parity::One, Rotation::First), 4),
        4 => (Scheme::Parity(Parity::Two, Rotation::ZeroRestart), 5),
        _ => (Scheme::near_copies(2), 4),
    }
}

/// What a leg of an array in use says.
fn metadata(geometry: &Geometry, leg: usize) -> Vec<u8> {
    let (level, layout) = geometry.scheme().md();
    let is_mirror = geometry.scheme() == Scheme::Mirror;
    let superblock = Superblock {
        device_count: geometry.legs() as u32,
        array_position: leg as u32,
        events: 10,
        failed: FailedDevices::default(),
        disk_recovery_offset: Position::End,
        array_resync_offset: Position::End,
        level,
        layout,
        stripe_sectors: if is_mirror { 0 } else { (CHUNK / 512) as u32 },
        extended: None,
    };
    let dirty = Dirty::clean(REGION, geometry.sync_size()).expect("few regions");
    let bits = Bitmap::new(geometry.sync_size(), 10, dirty).encode();
    let mut bytes = vec![0; META as usize];
    bytes[..512].copy_from_slice(&superblock.encode());
    bytes[dm::raid::bitmap::START as usize..][..bits.len()].copy_from_slice(&bits);
    bytes
}

/// An array, and its legs in memory, which answer at once.
struct World {
    array: Array,
    now: Duration,
    devices: Vec<Vec<u8>>,
    events: VecDeque<EventOf<Array>>,
    timers: Vec<(Duration, u64)>,
    done: Vec<Completion>,
    started: Option<bool>,
    is_stopped: bool,
    /// What is known to be there.
    written: Vec<Option<u8>>,
}

impl World {
    /// An array without these legs; `None`: it is refused.
    fn start(
        (geometry, consistency): (&Geometry, Consistency),
        metas: Vec<Vec<u8>>,
        missing: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let count = geometry.legs();
        let leg = |leg: usize| {
            let there = |device: usize| (!missing(leg)).then_some(device);
            ArrayLeg {
                id: leg as u64,
                data: there(2 * leg),
                meta: there(2 * leg + 1),
                ..ArrayLeg::default()
            }
        };
        let config = ArrayConfig {
            name: "array".into(),
            id: 7,
            size: geometry.size(),
            described: Described::new(*geometry, REGION),
            legs: (0..count).map(leg).collect(),
            leg_names: (0..count).map(|leg| format!("leg-{leg}")).collect(),
            access: Access::ReadWrite,
            first: FirstSync::Due,
            consistency,
            keeping: Keeping::Mapper,
        };
        let devices: Vec<Vec<u8>> = metas
            .into_iter()
            .flat_map(|meta| [vec![0; (ROWS * CHUNK) as usize], meta])
            .collect();
        let infos: Vec<Info> = devices
            .iter()
            .map(|bytes| Info::new("leg", bytes.len() as u64))
            .collect();
        let mut world = Self {
            array: Array::new(config, &infos).ok()?,
            now: Duration::ZERO,
            devices,
            events: VecDeque::from([Event::Start]),
            timers: Vec::new(),
            done: Vec::new(),
            started: None,
            is_stopped: false,
            written: vec![None; geometry.size() as usize],
        };
        world.run(|world| world.started.is_some());
        (world.started == Some(true)).then_some(world)
    }

    /// Goes on until `is_over`; an array that does not get there hangs.
    fn run(&mut self, is_over: impl Fn(&Self) -> bool) {
        let mut timers = 0;
        for _ in 0..ANSWERS_MAX {
            if let Some(event) = self.events.pop_front() {
                self.tell(event);
            } else if is_over(self) {
                return;
            } else {
                timers += 1;
                assert!(timers < TIMERS_MAX, "it waits for ever");
                self.timers.sort_unstable();
                assert!(!self.timers.is_empty(), "nothing will ever happen");
                let (at, key) = self.timers.remove(0);
                self.now = self.now.max(at);
                self.tell(Event::Timer(key));
            }
        }
        panic!("it asks its legs for ever");
    }

    fn tell(&mut self, event: EventOf<Array>) {
        let mut steps = Steps::default();
        self.array.event(event, self.now, &mut steps);
        while let Some(step) = steps.pop() {
            match step {
                Step::Started(result) => self.started = Some(result.is_ok()),
                Step::Done(answer) => self.done.push(answer),
                Step::Sub { leg, request } => {
                    let answer = serve(&mut self.devices[leg], request);
                    self.events.push_back(Event::Answer { leg, answer });
                }
                Step::Timer { at, key } => self.timers.push((at, key)),
                Step::Stopped => self.is_stopped = true,
                Step::Notice(_) => {}
                Step::Suspended | Step::Obeyed { .. } => panic!("nobody asked for that"),
            }
        }
    }

    /// Asks one thing, and looks whether the answer can be right.
    fn ask(&mut self, words: &[u8]) {
        let sectors = self.written.len() as u64 / 512;
        let start = u64::from(u16::from_le_bytes([words[1], words[2]])) % sectors;
        let len = (1 + u64::from(words[3]) % 40).min(sectors - start);
        let range = Range::new(start * 512, len * 512);
        let tag = u64::from(words[0]);
        let request = match words[0] % 8 {
            0..=2 => Request::read(tag, range.start(), Buffer::zeroed(range.len() as usize)),
            3..=5 => {
                let bytes = Buffer::copy_of(&vec![words[0] ^ words[3]; range.len() as usize]);
                Request::write(tag, range.start(), Durability::Volatile, bytes)
            }
            6 => Request::bare(tag, Operation::WriteZeroes(Unmap::Forbidden), range),
            _ => Request::bare(tag, Operation::Flush, Range::new(0, 0)),
        };
        let operation = request.operation;
        self.events.push_back(Event::Request { face: 0, request });
        self.run(|world| !world.done.is_empty());
        let answer = self.done.pop().expect("it was waited for");
        assert!(self.done.is_empty() && answer.tag == tag, "one answer");
        let place = range.start() as usize..range.end() as usize;
        match (operation, answer.result.is_ok()) {
            (Operation::Read, true) => {
                let known = self.written[place].iter().zip(answer.buffer.iter());
                for (want, is) in known {
                    assert!(want.is_none_or(|want| want == *is), "another byte");
                }
            }
            (Operation::Write, true) => self.written[place].fill(Some(words[0] ^ words[3])),
            (Operation::WriteZeroes(_), true) => self.written[place].fill(Some(0)),
            (Operation::Write | Operation::WriteZeroes(_), false) => self.written[place].fill(None),
            _ => {}
        }
    }

    fn stop(&mut self) {
        self.events.push_back(Event::Stop);
        self.run(|world| world.is_stopped);
    }
}

fn serve(bytes: &mut [u8], mut request: Request) -> Completion {
    let place = request.range.start() as usize..request.range.end() as usize;
    match request.operation {
        Operation::Read => request.buffer.copy_from_slice(&bytes[place]),
        Operation::Write => bytes[place].copy_from_slice(&request.buffer),
        Operation::WriteZeroes(_) | Operation::Discard => bytes[place].fill(0),
        _ => {}
    }
    request.complete(Ok(()))
}
