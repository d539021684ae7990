//! Long histories beside a naive model: requests to all faces, snapshots that come, go and are
//! merged, restarts, full stores, failing disks, and power cuts.

use block::sim::{Disk, Image, Random};
use block::{Durability, Kind, Range};

use super::hand::{CHUNK, CHUNKS, Hand, SIZE, STORE, config, disk, first, new_store, snapshot};
use crate::machine::Machine;
use crate::snapshot::control::Event;
use crate::snapshot::{Control, Notice, OriginConfig, Overflow, SnapshotState, Stored, read_store};

/// How many there are; each has its number as its seed.
const HISTORIES: u64 = 1500;
/// Snapshots at once.
const SNAPSHOTS: usize = 4;

/// What the faces hold, a byte for each sector.
type Faces = Vec<Option<Vec<u8>>>;

/// A write that may have been done: its face, its sectors, and the byte.
type Write = (usize, std::ops::Range<usize>, u8);

/// What happened, so that nothing is thought to be tested that never happens.
#[derive(Debug, Default)]
struct Seen {
    cuts: u32,
    kills: u32,
    restarts: u32,
    merged: u32,
    merge_failed: u32,
    without_room: u32,
    invalid: u32,
    unmarked: u32,
    /// Snapshots that were not marked, and were whole after a restart.
    revived: u32,
}

struct History {
    seen: Seen,
    hand: Hand,
    faces: Faces,
    /// What snapshots hold that are not valid and whose stores say that they are; `None`: unknown.
    ghosts: Vec<Option<Vec<Option<u8>>>>,
    /// Whether disks fail while requests are asked.
    is_faulty: bool,
    /// Reads: their face and their first sector.
    reads: Vec<(u64, usize, usize)>,
    random: Random,
    seed: u64,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut config = config(random.index(SNAPSHOTS));
        for snapshot in config.snapshots.iter_mut().flatten() {
            snapshot.chunk = CHUNK << random.below(3);
            snapshot.store_size = store_size(&mut random);
            if random.chance(1, 2) {
                snapshot.overflow = Overflow::Invalidate;
            }
        }
        let content: Vec<u8> = (0..CHUNKS).map(first).collect();
        let faces = vec![Some(content); config.snapshots.len() + 1];
        let hand = Hand::of(config);
        let mut history = Self {
            seen: Seen::default(),
            hand,
            ghosts: vec![None; faces.len()],
            faces,
            is_faulty: random.chance(1, 3),
            reads: Vec::new(),
            random,
            seed,
        };
        history.limit();
        history
    }

    /// Small limits, so that things are done in several steps.
    fn limit(&mut self) {
        let limits = &mut self.hand.origin.limits;
        limits.piece = CHUNK << self.random.below(6);
        limits.merged = CHUNK << self.random.below(5);
        limits.copied = CHUNK << self.random.below(8);
        if self.random.chance(1, 2) {
            // A merge takes one step and waits for ever, unless it is told to go on.
            self.hand.order(Control::MergeRate(1));
        }
    }

    fn run(mut self, seen: Seen) -> Seen {
        self.seen = seen;
        for _ in 0..10 + self.random.below(20) {
            let writes = self.ask();
            match self.random.below(9) {
                0..3 => self.cut(&writes),
                3 | 4 => self.kill(writes),
                _ => self.finish(&writes),
            }
            self.check();
            self.change();
        }
        self.seen
    }

    /// Several requests at once, of which some are answered; each sector is written by one of them
    /// at a time, so that what it holds afterwards is known.
    fn ask(&mut self) -> Vec<(u64, Write)> {
        let (hand, random) = (&mut self.hand, &mut self.random);
        let mut busy = vec![vec![false; CHUNKS as usize]; self.faces.len()];
        let mut writes = Vec::new();
        for _ in 0..=random.below(6) {
            let face = random.index(self.faces.len());
            let sector = random.below(CHUNKS);
            let count = (1 + random.below(12)).min(CHUNKS - sector);
            let sectors = sector as usize..(sector + count) as usize;
            if self.faces[face].is_none() || busy[face][sectors.clone()].contains(&true) {
                continue;
            }
            if random.chance(1, 4) {
                let tag = hand.read(face, sector, count);
                self.reads.push((tag, face, sector as usize));
                continue;
            }
            busy[face][sectors.clone()].fill(true);
            let byte = random.below(256) as u8;
            let tag = match byte {
                0..40 => hand.zero(face, sector, count),
                _ => hand.write(face, sector, count, byte),
            };
            let byte = if byte < 40 { 0 } else { byte };
            writes.push((tag, (face, sectors, byte)));
            while random.chance(2, 3) && !hand.asked.is_empty() {
                answer(hand, random, self.is_faulty);
            }
        }
        writes
    }

    /// All ends, and is durable.
    fn finish(&mut self, writes: &[(u64, Write)]) {
        while !self.hand.asked.is_empty() {
            answer(&mut self.hand, &mut self.random, self.is_faulty);
        }
        self.check_reads(writes);
        self.bury(writes);
        let mut unknown = Vec::new();
        for (tag, write) in writes {
            let (face, sectors, byte) = write.clone();
            let Some(model) = &mut self.faces[face] else {
                continue;
            };
            match self.hand.result(*tag) {
                None => model[sectors].fill(byte),
                Some(Kind::NoSpace) if face > 0 => {
                    self.seen.without_room += 1;
                    unknown.push((*tag, write.clone()));
                }
                Some(kind) => {
                    assert!(self.is_faulty, "seed {}: {kind:?}", self.seed);
                    unknown.push((*tag, write.clone()));
                }
            }
        }
        if !unknown.is_empty() {
            self.adopt(&unknown);
        }
        for face in 0..self.faces.len() {
            if self.faces[face].is_some() {
                self.hand.flush(face);
                self.hand.settle();
            }
        }
        self.hand.done.clear();
    }

    /// Snapshots that are not valid have nothing any more; their stores may say something else.
    fn bury(&mut self, writes: &[(u64, Write)]) {
        let status = self.hand.origin.status().snapshots;
        for (place, status) in status.into_iter().enumerate() {
            let face = place + 1;
            match status.map(|status| status.state) {
                Some(SnapshotState::Invalid) => {
                    self.seen.invalid += u32::from(self.faces[face].is_some());
                    (self.faces[face], self.ghosts[face]) = (None, None);
                }
                Some(SnapshotState::Failed) if self.faces[face].is_some() => {
                    self.seen.unmarked += 1;
                    let model = self.faces[face].take().expect("it was there");
                    let mut ghost: Vec<Option<u8>> = model.into_iter().map(Some).collect();
                    for (_, (_, sectors, _)) in writes.iter().filter(|write| write.1.0 == face) {
                        ghost[sectors.clone()].fill(None);
                    }
                    self.ghosts[face] = Some(ghost);
                }
                _ => {}
            }
        }
    }

    /// What was read is what was there, or was being written.
    fn check_reads(&mut self, writes: &[(u64, Write)]) {
        for (tag, face, first) in std::mem::take(&mut self.reads) {
            let is_valid = face == 0 || self.hand.origin.member(face - 1).is_valid();
            let bytes = match self.hand.answered(tag).expect("it is answered") {
                Ok(bytes) => bytes,
                Err(kind) => {
                    assert!(self.is_faulty || !is_valid, "seed {}: {kind:?}", self.seed);
                    continue;
                }
            };
            let model = self.faces[face].as_ref().expect("it was asked");
            for (sector, seen) in (first..).zip(sectors(&bytes)) {
                let is_new = |(_, write): &(u64, Write)| {
                    write.0 == face && write.1.contains(&sector) && write.2 == seen
                };
                let is_known = seen == model[sector] || writes.iter().any(is_new);
                assert!(
                    is_known,
                    "seed {}: sector {sector} of {face}: {seen}",
                    self.seed
                );
            }
        }
    }

    /// The power fails: of what was asked, any part may be there.
    fn cut(&mut self, writes: &[(u64, Write)]) {
        self.seen.cuts += 1;
        self.reads.clear();
        let (hand, random) = (&mut self.hand, &mut self.random);
        for (leg, request) in std::mem::take(&mut hand.asked) {
            if random.chance(3, 4) {
                hand.disks[leg].begin(request);
            }
        }
        let images = hand.disks.iter().map(|disk| disk.cut(random));
        let disks = images.map(disk).collect();
        self.start(disks);
        self.adopt(writes);
        self.finish(&[]);
    }

    /// The process is killed: some of what was asked is not done, or done in a cache only. What is
    /// done next is cut.
    fn kill(&mut self, mut writes: Vec<(u64, Write)>) {
        self.seen.kills += 1;
        self.reads.clear();
        let (hand, random) = (&mut self.hand, &mut self.random);
        for (leg, mut request) in std::mem::take(&mut hand.asked) {
            match random.below(4) {
                0 => continue,
                1 => {}
                _ => request.durability = Durability::Volatile,
            }
            let ticket = hand.disks[leg].begin(request);
            hand.disks[leg].finish(ticket);
        }
        // What is seen may be lost: what was there before comes back.
        for (tag, (face, sectors, _)) in writes.clone() {
            let model = self.faces[face].as_ref().expect("it was asked");
            let old = sectors.map(|sector| (tag, (face, sector..sector + 1, model[sector])));
            writes.extend(old);
        }
        let disks = std::mem::take(&mut self.hand.disks);
        self.start(disks);
        self.adopt(&writes);
        writes.extend(self.ask());
        self.cut(&writes);
    }

    /// Takes what is there for what is there, if it is what was there or was being written.
    fn adopt(&mut self, writes: &[(u64, Write)]) {
        // A merge may fill the stores of others.
        self.hand.settle();
        self.bury(writes);
        for face in 0..self.faces.len() {
            if self.faces[face].is_none() {
                continue;
            }
            let seen = sectors(&self.hand.bytes(face, SIZE));
            let model = self.faces[face].as_mut().expect("it is there");
            for (sector, (seen, model)) in seen.into_iter().zip(model).enumerate() {
                let is_new = |(_, write): &(u64, Write)| {
                    write.0 == face && write.1.contains(&sector) && write.2 == seen
                };
                let is_known = seen == *model || writes.iter().any(is_new);
                let seed = self.seed;
                assert!(
                    is_known,
                    "seed {seed}: sector {sector} of {face}: {seen}, not {model}"
                );
                *model = seen;
            }
        }
    }

    /// Begins again with what is on the disks.
    fn start(&mut self, disks: Vec<Disk>) {
        let images = contents(&disks);
        let mut config = self.hand.origin.config();
        for (place, snapshot) in config.snapshots.iter_mut().enumerate() {
            let Some(snapshot) = snapshot else {
                continue;
            };
            snapshot.stored = stored(&images[snapshot.store], self.seed);
            let (is_over, face) = (snapshot.stored == Stored::Overflowed, place + 1);
            assert!(
                !is_over || !snapshot.merging,
                "what is merged is not invalid"
            );
            let ghost = self.ghosts[face].take();
            if is_over {
                self.faces[face] = None;
            } else if let Some(ghost) = ghost {
                let seen = through(&images, snapshot.store, self.seed);
                let is_same =
                    |(ghost, seen): (&Option<u8>, &u8)| ghost.is_none_or(|was| was == *seen);
                let is_whole = ghost.iter().zip(&seen).all(is_same);
                assert!(
                    is_whole,
                    "seed {}: what was not marked is as it was",
                    self.seed
                );
                self.faces[face] = Some(seen);
                self.seen.revived += 1;
            }
        }
        self.hand = Hand::start(config, disks);
        self.hand.settle_start();
        self.limit();
    }

    fn restart(&mut self) {
        self.seen.restarts += 1;
        self.hand.tell(Event::Stop);
        self.hand.settle();
        assert!(self.hand.has_ended, "it has stopped");
        let images = contents(&self.hand.disks);
        self.start(images.into_iter().map(disk).collect());
    }

    /// Something else than a request.
    fn change(&mut self) {
        let is_merging = self.hand.origin.merging().is_some();
        let mut config = self.hand.origin.config();
        let is_failed = |notice: &Notice| matches!(notice, Notice::MergeFailed { .. });
        self.seen.merge_failed += u32::from(self.hand.notices.iter().any(is_failed));
        if self
            .hand
            .notices
            .iter()
            .any(|notice| matches!(notice, Notice::Merged { .. }))
        {
            self.seen.merged += 1;
            let place = self.hand.origin.merging().expect("it was merged");
            config.snapshots[place] = None;
            return self.reload(config);
        }
        match self.random.below(12) {
            10 => self.hand.order(Control::MergeRate(0)),
            11 => self.hand.order(Control::MergeRate(1)),
            0 => self.restart(),
            1 if !is_merging => self.add(config),
            // What failed is tried again.
            9 => self.reload(config),
            2 if config.snapshots().next().is_some() => {
                let place = self.random.index(config.snapshots.len());
                if config.snapshots[place]
                    .as_ref()
                    .is_some_and(|one| !one.merging)
                {
                    config.snapshots[place] = None;
                    (self.faces[place + 1], self.ghosts[place + 1]) = (None, None);
                    self.reload(config);
                }
            }
            3..5 if !is_merging && config.snapshots().next().is_some() => {
                let place = self.random.index(config.snapshots.len());
                if self.faces[place + 1].is_some()
                    && let Some(snapshot) = &mut config.snapshots[place]
                {
                    snapshot.merging = true;
                    self.faces[0] = self.faces[place + 1].take();
                    self.reload(config);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, mut config: OriginConfig) {
        if config.snapshots().count() >= SNAPSHOTS {
            return;
        }
        let mut new = snapshot(self.hand.disks.len());
        new.chunk = CHUNK << self.random.below(3);
        new.store_size = store_size(&mut self.random);
        self.hand.disks.push(new_store(new.store_size));
        config.snapshots.push(Some(new));
        let content = self.faces[0].clone();
        self.faces.push(content);
        self.ghosts.push(None);
        self.reload(config);
    }

    fn reload(&mut self, config: OriginConfig) {
        self.hand.notices.clear();
        self.hand.reload(config).expect("it may become this");
    }

    fn check(&mut self) {
        self.hand.settle();
        self.bury(&[]);
        for face in 0..self.faces.len() {
            if let Some(wanted) = &self.faces[face] {
                let seen = sectors(&self.hand.bytes(face, SIZE));
                assert_eq!(&seen, wanted, "seed {}: face {face}", self.seed);
            }
        }
        let config = self.hand.origin.config();
        for (place, snapshot) in config.snapshots.iter().enumerate() {
            let Some(snapshot) = snapshot else {
                continue;
            };
            let face = if snapshot.merging { 0 } else { place + 1 };
            let Some(wanted) = &self.faces[face] else {
                continue;
            };
            let seen = through(&contents(&self.hand.disks), snapshot.store, self.seed);
            assert_eq!(
                &seen, wanted,
                "seed {}: what is stored of {face}",
                self.seed
            );
        }
    }
}

/// Sometimes not enough.
fn store_size(random: &mut Random) -> u64 {
    let chunks = match random.below(3) {
        0 => 4 + random.below(2 * CHUNKS),
        _ => 4 * STORE,
    };
    chunks * CHUNK
}

/// Answers one of the requests to legs; where disks fail, it may be an error, though it was done.
fn answer(hand: &mut Hand, random: &mut Random, is_faulty: bool) {
    let place = random.index(hand.asked.len());
    if is_faulty && random.chance(1, 30) {
        if random.chance(1, 2) {
            hand.fail_done(place, Kind::Io);
        } else {
            hand.fail(place, Kind::Io);
        }
    } else {
        hand.answer(place);
    }
}

fn contents(disks: &[Disk]) -> Vec<Image> {
    disks.iter().map(|disk| disk.content().clone()).collect()
}

fn stored(image: &Image, seed: u64) -> Stored {
    let read = |range| Ok(image.bytes(range));
    let stored = read_store("store", (image.size(), SIZE), read);
    stored.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

/// The byte that each sector is full of.
fn sectors(bytes: &[u8]) -> Vec<u8> {
    let value = |sector: &[u8]| {
        assert!(
            sector.iter().all(|byte| *byte == sector[0]),
            "no sector is torn"
        );
        sector[0]
    };
    bytes.chunks(512).map(value).collect()
}

/// What is on the disks of a snapshot, without asking the machine.
fn through(images: &[Image], leg: usize, seed: u64) -> Vec<u8> {
    let mut bytes = images[0].bytes(Range::new(0, SIZE));
    let store = &images[leg];
    if let Stored::Changes(changes) = stored(store, seed) {
        for run in changes.runs {
            let kept = store.bytes(Range::new(run.start, run.range.len()));
            bytes[run.range.start() as usize..run.range.end() as usize].copy_from_slice(&kept);
        }
    }
    sectors(&bytes)
}

/// Faces and stores hold what a model of single sectors holds, whatever was asked, in whatever
/// order it was answered, and wherever the power failed.
#[test]
fn histories_are_like_a_plain_model() {
    let mut seen = Seen::default();
    for seed in 0..HISTORIES {
        seen = History::new(seed).run(seen);
    }
    println!("{seen:?}");
    assert!(seen.cuts > 0 && seen.kills > 0 && seen.restarts > 0);
    assert!(seen.merged > 0 && seen.merge_failed > 0);
    assert!(seen.without_room > 0 && seen.invalid > 0);
    assert!(seen.unmarked > 0 && seen.revived > 0);
}
