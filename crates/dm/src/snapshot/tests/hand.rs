//! An origin whose legs answer by hand: each request waits until its test says how it ends.

use std::time::Duration;

use block::sim::{Disk, Faults, Image};
use block::{Buffer, Completion, Durability, Error, Kind, Operation, Range, Request, Unmap};

use crate::machine::Machine;
use crate::snapshot::control::{Event, Notice, Step, Steps};
use crate::snapshot::{
    Access, Changes, Control, Origin, OriginConfig, Overflow, SnapshotConfig, Stored, read_store,
};

/// The smallest chunk: an area of it has 32 entries.
pub(super) const CHUNK: u64 = 512;
/// Chunks of the origin.
pub(super) const CHUNKS: u64 = 64;
pub(super) const SIZE: u64 = CHUNKS * CHUNK;
/// Chunks of a store: enough for all of the origin.
pub(super) const STORE: u64 = 80;

/// What is asked of an origin made by [`config`].
pub(super) fn config(snapshots: usize) -> OriginConfig {
    OriginConfig {
        name: "origin".to_owned(),
        size: SIZE,
        origin: 0,
        access: Access::ReadWrite,
        snapshots: (1..=snapshots).map(|leg| Some(snapshot(leg))).collect(),
    }
}

/// A fresh snapshot with its store on `leg`.
pub(super) fn snapshot(leg: usize) -> SnapshotConfig {
    SnapshotConfig {
        id: 100 + leg as u64,
        name: format!("snapshot{leg}"),
        size: SIZE,
        store: leg,
        store_size: STORE * CHUNK,
        chunk: CHUNK,
        stored: Stored::Fresh,
        access: Access::ReadWrite,
        merging: false,
        overflow: Overflow::FailWrite,
        notify_at: None,
    }
}

/// The byte that a sector of the origin is full of at first.
pub(super) fn first(sector: u64) -> u8 {
    (sector % 199) as u8 + 1
}

/// The same disk with another size.
pub(super) fn resized(before: &Disk, size: u64) -> Disk {
    let old = before.content();
    let mut image = Image::from_bytes(&vec![0xee; size as usize]);
    image.write(0, &old.bytes(Range::new(0, old.size().min(size))));
    disk(image)
}

/// A disk that holds `image`.
pub(super) fn disk(image: Image) -> Disk {
    Disk::new("disk", image, 512, Faults::default(), 0)
}

/// A disk for a new store: what it holds is not known, but for its header.
pub(super) fn new_store(size: u64) -> Disk {
    let mut image = Image::from_bytes(&vec![0xee; size as usize]);
    image.zero(Range::new(0, 512));
    disk(image)
}

pub(super) struct Hand {
    pub(super) origin: Origin,
    steps: Steps,
    /// What the legs were asked and have not answered.
    pub(super) asked: Vec<(usize, Request)>,
    pub(super) done: Vec<Completion>,
    pub(super) notices: Vec<Notice>,
    pub(super) disks: Vec<Disk>,
    pub(super) now: Duration,
    pub(super) timers: Vec<(Duration, u64)>,
    pub(super) has_started: bool,
    /// Whether it said that it has ended since it was told to.
    pub(super) has_ended: bool,
    tag: u64,
}

impl Hand {
    /// `snapshots` fresh ones of an origin whose sectors are full of [`first`].
    pub(super) fn new(snapshots: usize) -> Self {
        Self::of(config(snapshots))
    }

    pub(super) fn of(config: OriginConfig) -> Self {
        let mut disks = vec![Image::new(config.size)];
        for sector in 0..config.size / 512 {
            disks[0].write(sector * 512, &[first(sector); 512]);
        }
        let stores = config.snapshots().map(|snapshot| snapshot.store_size);
        disks.extend(stores.map(|size| new_store(size).content().clone()));
        Self::on(config, disks)
    }

    /// On disks that hold `images`.
    pub(super) fn on(config: OriginConfig, images: Vec<Image>) -> Self {
        let mut hand = Self::start(config, images.into_iter().map(disk).collect());
        hand.settle_start();
        hand
    }

    /// On these disks, which have not answered anything yet.
    pub(super) fn start(config: OriginConfig, disks: Vec<Disk>) -> Self {
        let infos: Vec<_> = disks.iter().map(|disk| disk.info().clone()).collect();
        let mut hand = Self {
            origin: Origin::new(config, &infos).expect("is good"),
            steps: Steps::default(),
            asked: Vec::new(),
            done: Vec::new(),
            notices: Vec::new(),
            disks,
            now: Duration::ZERO,
            timers: Vec::new(),
            has_started: false,
            has_ended: false,
            tag: 0,
        };
        hand.tell(Event::Start);
        hand
    }

    /// Waits until requests may come.
    pub(super) fn settle_start(&mut self) {
        while !self.has_started {
            self.answer(0);
        }
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.origin.event(event, self.now, &mut self.steps);
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Sub { leg, request } => self.asked.push((leg, request)),
                Step::Done(answer) => self.done.push(answer),
                Step::Timer { at, key } => self.timers.push((at, key)),
                Step::Notice(notice) => self.notices.push(notice),
                Step::Suspended | Step::Stopped => self.has_ended = true,
                Step::Started(result) => {
                    result.expect("it starts");
                    self.has_started = true;
                }
                Step::Obeyed { .. } => {}
            }
        }
    }

    /// Asks a face; the tag of the request.
    pub(super) fn ask(&mut self, face: usize, mut request: Request) -> u64 {
        self.tag += 1;
        request.tag = self.tag;
        self.tell(Event::Request { face, request });
        self.tag
    }

    /// Writes sectors full of `byte` to a face.
    pub(super) fn write(&mut self, face: usize, sector: u64, count: u64, byte: u8) -> u64 {
        let mut buffer = Buffer::zeroed((count * 512) as usize);
        buffer.fill(byte);
        self.ask(
            face,
            Request::write(0, sector * 512, Durability::Volatile, buffer),
        )
    }

    pub(super) fn zero(&mut self, face: usize, sector: u64, count: u64) -> u64 {
        let range = Range::new(sector * 512, count * 512);
        let operation = Operation::WriteZeroes(Unmap::Allowed);
        self.ask(face, Request::bare(0, operation, range))
    }

    pub(super) fn read(&mut self, face: usize, sector: u64, count: u64) -> u64 {
        self.ask(
            face,
            Request::read(0, sector * 512, Buffer::zeroed((count * 512) as usize)),
        )
    }

    pub(super) fn flush(&mut self, face: usize) -> u64 {
        self.ask(face, Request::flush(0))
    }

    /// The request at this place is done.
    pub(super) fn answer(&mut self, at: usize) {
        let (leg, request) = self.asked.remove(at);
        let tag = request.tag;
        let ticket = self.disks[leg].begin(request);
        let answer = self.disks[leg].finish(ticket);
        assert_eq!(answer.tag, tag);
        self.tell(Event::Answer { leg, answer });
    }

    /// The request with these words is done.
    pub(super) fn answer_to(&mut self, words: &str) {
        let place = self.place_of(words);
        self.answer(place);
    }

    /// The request with these words cannot be done.
    pub(super) fn fail_to(&mut self, words: &str, kind: Kind) {
        let place = self.place_of(words);
        self.fail(place, kind);
    }

    fn place_of(&self, words: &str) -> usize {
        let place = self.words().iter().position(|asked| asked == words);
        place.unwrap_or_else(|| panic!("{words:?} is not among {:?}", self.words()))
    }

    /// The request at this place cannot be done.
    pub(super) fn fail(&mut self, at: usize, kind: Kind) {
        let (leg, request) = self.asked.remove(at);
        let answer = request.complete(Err(Error::new(kind, "a bad place")));
        self.tell(Event::Answer { leg, answer });
    }

    /// The request at this place is done, and the leg says that it is not.
    pub(super) fn fail_done(&mut self, at: usize, kind: Kind) {
        let (leg, request) = self.asked.remove(at);
        let ticket = self.disks[leg].begin(request);
        let mut answer = self.disks[leg].finish(ticket);
        answer.result = Err(Error::new(kind, "a bad place"));
        self.tell(Event::Answer { leg, answer });
    }

    /// Answers all that is asked now, in order.
    pub(super) fn answer_all(&mut self) {
        for _ in 0..self.asked.len() {
            self.answer(0);
        }
    }

    /// Answers until nothing is asked any more.
    pub(super) fn settle(&mut self) {
        while !self.asked.is_empty() {
            self.answer(0);
        }
    }

    /// Nothing happens until the next timer.
    pub(super) fn wait(&mut self) {
        let next = (0..self.timers.len()).min_by_key(|place| self.timers[*place]);
        let (at, key) = self.timers.remove(next.expect("it waits for a time"));
        self.now = self.now.max(at);
        self.tell(Event::Timer(key));
    }

    /// What legs are asked, in sectors: `"1 write 2+1 fua"`.
    pub(super) fn words(&self) -> Vec<String> {
        let words = |(leg, request): &(usize, Request)| {
            let (at, len) = (request.range.start() / 512, request.range.len() / 512);
            let fua = match request.durability {
                Durability::Fua => " fua",
                Durability::Volatile => "",
            };
            match request.operation {
                Operation::Read => format!("{leg} read {at}+{len}"),
                Operation::Write => format!("{leg} write {at}+{len}{fua}"),
                Operation::WriteZeroes(_) => format!("{leg} zero {at}+{len}{fua}"),
                Operation::Discard => format!("{leg} discard {at}+{len}"),
                Operation::Flush => format!("{leg} flush"),
            }
        };
        self.asked.iter().map(words).collect()
    }

    /// Asserts what legs are asked, and has it answered.
    pub(super) fn expect(&mut self, words: &[&str]) {
        assert_eq!(self.words(), words);
        self.answer_all();
    }

    /// Waits for the answer to this request: what went wrong, if something did.
    pub(super) fn result(&mut self, tag: u64) -> Option<Kind> {
        self.settle();
        self.answered(tag).expect("it is answered").err()
    }

    /// The answer to this request, if it is there; takes it away.
    pub(super) fn answered(&mut self, tag: u64) -> Option<Result<Buffer, Kind>> {
        let place = self.done.iter().position(|answer| answer.tag == tag)?;
        let answer = self.done.remove(place);
        Some(match answer.result {
            Ok(()) => Ok(answer.buffer),
            Err(error) => Err(error.kind()),
        })
    }

    /// All bytes of a face.
    pub(super) fn bytes(&mut self, face: usize, size: u64) -> Vec<u8> {
        let tag = self.read(face, 0, size / 512);
        self.settle();
        self.answered(tag)
            .expect("it is answered")
            .expect("it is read")
            .to_vec()
    }

    /// What the store on `leg` says after a cut that loses all that it may.
    pub(super) fn stored(&self, leg: usize, size: u64) -> Stored {
        let image = self.disks[leg].durable();
        let read = |range| Ok(image.bytes(range));
        read_store("store", (image.size(), size), read).expect("it is whole")
    }

    pub(super) fn changes(&self, leg: usize) -> Changes {
        match self.stored(leg, SIZE) {
            Stored::Changes(changes) => changes,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn order(&mut self, control: Control) {
        self.tell(Event::Control { id: 1, control });
    }

    /// Suspends it and makes it of something else.
    pub(super) fn reload(&mut self, config: OriginConfig) -> crate::Result<()> {
        let infos: Vec<_> = self.disks.iter().map(|disk| disk.info().clone()).collect();
        self.origin.foresee(&config, &infos)?;
        self.become_of(config);
        Ok(())
    }

    /// The same with what was foreseen earlier.
    pub(super) fn become_of(&mut self, config: OriginConfig) {
        self.has_ended = false;
        self.tell(Event::Suspend);
        self.settle();
        assert!(self.has_ended, "it is suspended");
        self.tell(Event::Reload(config));
        assert!(
            self.asked.is_empty(),
            "nothing is asked before it is resumed"
        );
        self.tell(Event::Resume);
    }
}
