//! Long histories beside a naive model: requests to all faces, snapshots that come, go and are
//! merged, restarts, and power cuts.

use block::Range;
use block::sim::{Image, Random};

use super::hand::{CHUNK, CHUNKS, Hand, SIZE, STORE, config, first, new_store, snapshot};
use crate::snapshot::control::Event;
use crate::snapshot::{Control, Notice, OriginConfig, Stored, read_store};

/// Snapshots at once.
const SNAPSHOTS: usize = 4;

/// What the faces hold, a byte for each sector.
type Faces = Vec<Option<Vec<u8>>>;

/// A write that may have been done: its face, its sectors, and the byte.
type Write = (usize, std::ops::Range<usize>, u8);

struct History {
    hand: Hand,
    faces: Faces,
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
            snapshot.store_size = 4 * STORE * CHUNK;
        }
        let content: Vec<u8> = (0..CHUNKS).map(first).collect();
        let faces = vec![Some(content); config.snapshots.len() + 1];
        let hand = Hand::of(config);
        let mut history = Self {
            hand,
            faces,
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

    fn run(mut self) {
        for _ in 0..10 + self.random.below(20) {
            let writes = self.ask();
            if self.random.chance(1, 3) {
                self.cut(&writes);
            } else {
                self.finish(&writes);
            }
            self.check();
            self.change();
        }
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
                hand.answer(random.index(hand.asked.len()));
            }
        }
        writes
    }

    /// All ends well, and is durable.
    fn finish(&mut self, writes: &[(u64, Write)]) {
        while !self.hand.asked.is_empty() {
            self.hand.answer(self.random.index(self.hand.asked.len()));
        }
        self.check_reads(writes);
        for (tag, (face, sectors, byte)) in writes {
            assert_eq!(self.hand.result(*tag), None, "seed {}", self.seed);
            self.faces[*face].as_mut().expect("it was asked")[sectors.clone()].fill(*byte);
        }
        for face in 0..self.faces.len() {
            if self.faces[face].is_some() {
                self.hand.flush(face);
                self.hand.settle();
            }
        }
        self.hand.done.clear();
    }

    /// What was read is what was there, or was being written.
    fn check_reads(&mut self, writes: &[(u64, Write)]) {
        for (tag, face, first) in std::mem::take(&mut self.reads) {
            let bytes = self
                .hand
                .answered(tag)
                .expect("it is answered")
                .expect("it is read");
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
        self.reads.clear();
        let (hand, random) = (&mut self.hand, &mut self.random);
        for (leg, request) in std::mem::take(&mut hand.asked) {
            if random.chance(3, 4) {
                hand.disks[leg].begin(request);
            }
        }
        let images = hand.disks.iter().map(|disk| disk.cut(random)).collect();
        self.start(images);
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
        self.finish(&[]);
    }

    /// Begins again with what is on the disks.
    fn start(&mut self, images: Vec<Image>) {
        let mut config = self.hand.origin.config();
        for snapshot in config.snapshots.iter_mut().flatten() {
            snapshot.stored = stored(&images[snapshot.store], self.seed);
        }
        self.hand = Hand::on(config, images);
        self.limit();
    }

    fn restart(&mut self) {
        self.hand.tell(Event::Stop);
        self.hand.settle();
        assert!(self.hand.has_ended, "it has stopped");
        let images = self.hand.disks.iter().map(|disk| disk.content().clone());
        let images = images.collect();
        self.start(images);
    }

    /// Something else than a request.
    fn change(&mut self) {
        let is_merging = self.hand.origin.merging().is_some();
        let mut config = self.hand.origin.config();
        if self
            .hand
            .notices
            .iter()
            .any(|notice| matches!(notice, Notice::Merged { .. }))
        {
            let place = self.hand.origin.merging().expect("it was merged");
            config.snapshots[place] = None;
            return self.reload(config);
        }
        match self.random.below(12) {
            10 => self.hand.order(Control::MergeRate(0)),
            11 => self.hand.order(Control::MergeRate(1)),
            0 => self.restart(),
            1 if !is_merging => self.add(config),
            2 if config.snapshots().next().is_some() => {
                let place = self.random.index(config.snapshots.len());
                if config.snapshots[place]
                    .as_ref()
                    .is_some_and(|one| !one.merging)
                {
                    config.snapshots[place] = None;
                    self.faces[place + 1] = None;
                    self.reload(config);
                }
            }
            3..5 if !is_merging && config.snapshots().next().is_some() => {
                let place = self.random.index(config.snapshots.len());
                if let Some(snapshot) = &mut config.snapshots[place] {
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
        new.store_size = 4 * STORE * CHUNK;
        self.hand.disks.push(new_store(new.store_size));
        config.snapshots.push(Some(new));
        let content = self.faces[0].clone();
        self.faces.push(content);
        self.reload(config);
    }

    fn reload(&mut self, config: OriginConfig) {
        self.hand.notices.clear();
        self.hand.reload(config).expect("it may become this");
    }

    fn check(&mut self) {
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
            let wanted = self.faces[face].as_ref().expect("it is there");
            let seen = through(&self.hand, snapshot.store, self.seed);
            assert_eq!(
                &seen, wanted,
                "seed {}: what is stored of {face}",
                self.seed
            );
        }
    }
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
fn through(hand: &Hand, leg: usize, seed: u64) -> Vec<u8> {
    let mut bytes = hand.disks[0].content().bytes(Range::new(0, SIZE));
    let store = hand.disks[leg].content();
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
    for seed in 0..1500 {
        History::new(seed).run();
    }
}
