//! Devices with a state in virtual time: the machines that serve users, told the events of the
//! emulation.
//!
//! ```text
//!   mirror   legs 0..n: copies, all in sync; the last leg: its log, if it is on a disk
//!   origin   leg 0: its own bytes; legs 1..: the stores of its snapshots, fresh
//!   array    legs 0..n: data, all that redundancy asks for in sync; legs n..2n: their metadata
//! ```
//!
//! Legs are areas of disks. What a machine asks them is turned into commands; buffers, which nobody
//! fills, are kept for the answers. So a log, a store and metadata read as zeros, which is what
//! they are when they are new. Nothing is copied at the start.
//!
//! An array that begins in the middle of its first row is asked for what lies behind that. Before
//! its first write its legs are told that it is written, and before the first to each region that
//! this is; so a run that is to say what settled places cost writes them twice, or has large
//! regions.
//!
//! Does not: take the short way past the machine that requests to settled places have. The legs
//! are asked the same. No leg of an array is away, and none is brought in sync beside the load.

use std::fmt;
use std::time::Duration;

use block::{Buffer, Durability, Info, Range, Request};
use dm::machine::{Event, EventOf, Machine, Step, Steps};
use dm::mirror::{LogPlace, Mirror, MirrorConfig, MirrorImage, Sync};
use dm::raid::{self, ArrayConfig, ArrayLeg, Consistency, Described, FirstSync, Keeping};
use dm::snapshot::{Origin, OriginConfig, Overflow, SnapshotConfig, Stored};
use dm::volume::Access;

use crate::disk::drive::{Command, Operation};
use crate::layout::{Area, Array, METADATA, Store};

const BLOCK: u64 = 512;

/// What a device with a state wants done.
#[derive(Debug)]
pub(super) enum Asked {
    /// The part with this tag is done.
    Done(u64),
    /// A timer.
    Timer { at_ns: u64, key: u64 },
    /// A command for a disk; `asked` comes back with the answer.
    Disk {
        disk: usize,
        asked: u32,
        command: Command,
        holds: Holds,
    },
}

/// What a leg holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// The bytes of the volume, or a copy of them.
    Data,
    /// What the device notes for itself: a log, a store.
    State,
}

/// A device with a state, whatever it is.
pub(super) trait Stateful: fmt::Debug + Send {
    /// Comes first.
    fn start(&mut self);
    /// A timer's time has come.
    fn timer(&mut self, now_ns: u64, key: u64);
    /// A command for it, in its own blocks.
    fn request(&mut self, now_ns: u64, command: Command);
    /// A leg answered.
    fn answered(&mut self, now_ns: u64, asked: u32);
    /// Takes what it wants done.
    fn steps(&mut self, now_ns: u64, asked: &mut Vec<Asked>);
}

/// A mirror of `len` bytes on `legs`, with a log on a disk or in memory.
pub(super) fn mirror(
    len: u64,
    region: u64,
    legs: &[Area],
    log: Option<Area>,
) -> dm::Result<Box<dyn Stateful>> {
    let members = (0..legs.len()).map(|leg| MirrorImage::present(leg as u64, leg));
    let mut config = MirrorConfig::new("mirror", len, region, members.collect());
    config.sync = Sync::Assumed;
    let mut places: Vec<Leg> = legs.iter().map(|leg| Leg::new(*leg, Holds::Data)).collect();
    let mut infos = vec![Info::new("image", len); legs.len()];
    if let Some(log) = log {
        config.log = LogPlace::Disk(places.len());
        places.push(Leg::new(log, Holds::State));
        infos.push(Info::new(
            "log",
            dm::mirror::log_length(config.region_count()),
        ));
    }
    Ok(Box::new(Running::new(Mirror::new(config, &infos)?, places)))
}

/// An origin of `len` bytes with a snapshot for each of `stores`, all made just now, in chunks of
/// `chunk` bytes.
pub(super) fn origin(
    len: u64,
    chunk: u64,
    origin: Area,
    stores: &[Store],
) -> dm::Result<Box<dyn Stateful>> {
    let snapshot = |(number, store): (usize, &Store)| {
        Some(SnapshotConfig {
            id: number as u64,
            name: format!("snapshot {number}"),
            size: len,
            store: 1 + number,
            store_size: store.len,
            chunk,
            stored: Stored::Fresh,
            access: Access::ReadWrite,
            merging: false,
            overflow: Overflow::default(),
            notify_at: None,
        })
    };
    let config = OriginConfig {
        name: "origin".to_owned(),
        size: len,
        origin: 0,
        access: Access::ReadWrite,
        snapshots: stores.iter().enumerate().map(snapshot).collect(),
    };
    let mut places = vec![Leg::new(origin, Holds::Data)];
    let mut infos = vec![Info::new("origin", len)];
    for store in stores {
        places.push(Leg::new(store.area, Holds::State));
        infos.push(Info::new("store", store.len));
    }
    Ok(Box::new(Running::new(Origin::new(config, &infos)?, places)))
}

/// An array that is in sync; it is asked for the bytes of the volume in it.
pub(super) fn array(array: &Array) -> dm::Result<Box<dyn Stateful>> {
    let geometry = array.geometry().expect("the layout was checked");
    let count = array.legs.len();
    let leg = |number| ArrayLeg {
        data: Some(number),
        meta: Some(count + number),
        id: number as u64,
        ..ArrayLeg::default()
    };
    let config = ArrayConfig {
        name: array.level.name().to_owned(),
        id: 0,
        size: geometry.size(),
        described: Described::new(geometry, array.region),
        legs: (0..count).map(leg).collect(),
        leg_names: (0..count).map(|number| format!("leg {number}")).collect(),
        access: Access::ReadWrite,
        first: FirstSync::Assumed,
        consistency: Consistency::Auto,
        keeping: Keeping::Mapper,
    };
    let data = |area: &Area| Area {
        start: area.start + METADATA,
        ..*area
    };
    let metas = array.legs.iter().map(|area| Leg::new(*area, Holds::State));
    let places = array
        .legs
        .iter()
        .map(|area| Leg::new(data(area), Holds::Data));
    let mut infos = vec![Info::new("image", geometry.leg_size()); count];
    infos.extend(vec![Info::new("metadata", METADATA); count]);
    let machine = raid::Array::new(config, &infos)?;
    let running = Running::new(machine, places.chain(metas).collect());
    Ok(Box::new(running.behind(array.begin)))
}

/// A leg: where it is, and what for.
#[derive(Debug, Clone, Copy)]
struct Leg {
    area: Area,
    holds: Holds,
}

impl Leg {
    fn new(area: Area, holds: Holds) -> Self {
        Self { area, holds }
    }
}

/// A machine, and what it asked of its legs.
struct Running<M: Machine> {
    machine: M,
    steps: Steps<M::Notice>,
    legs: Vec<Leg>,
    /// The byte of the machine's face that is asked for as the first.
    begin: u64,
    /// What legs were asked, by number.
    out: Vec<Option<(usize, Request)>>,
    idle: Vec<u32>,
    /// Commands that came before it had read its log and its stores; `None`: it has.
    early: Option<Vec<Command>>,
}

impl<M: Machine> fmt::Debug for Running<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a machine on {:?}", self.legs)
    }
}

impl<M: Machine> Running<M> {
    fn new(machine: M, legs: Vec<Leg>) -> Self {
        Self {
            machine,
            steps: Steps::default(),
            legs,
            begin: 0,
            out: Vec::new(),
            idle: Vec::new(),
            early: Some(Vec::new()),
        }
    }

    /// The same, of which only what lies behind `begin` bytes is asked for.
    fn behind(self, begin: u64) -> Self {
        Self { begin, ..self }
    }

    fn event(&mut self, event: EventOf<M>, now_ns: u64) {
        let now = Duration::from_nanos(now_ns);
        self.machine.event(event, now, &mut self.steps);
    }

    fn ask(&mut self, leg: usize, request: Request) -> Asked {
        let Leg { area, holds } = self.legs[leg];
        let operation = match request.operation {
            block::Operation::Read => Operation::Read,
            block::Operation::Flush | block::Operation::Discard => Operation::Flush,
            block::Operation::Write | block::Operation::WriteZeroes(_) => {
                match request.durability {
                    Durability::Volatile => Operation::Write,
                    Durability::Fua => Operation::WriteThrough,
                }
            }
        };
        let command = Command {
            tag: 0,
            operation,
            start: (area.start + request.range.start()) / BLOCK,
            count: (request.range.len() / BLOCK) as u32,
        };
        let kept = Some((leg, request));
        let asked = if let Some(number) = self.idle.pop() {
            self.out[number as usize] = kept;
            number
        } else {
            self.out.push(kept);
            self.out.len() as u32 - 1
        };
        Asked::Disk {
            disk: area.disk,
            asked,
            command,
            holds,
        }
    }
}

impl<M: Machine> Stateful for Running<M> {
    fn start(&mut self) {
        self.event(Event::Start, 0);
    }

    fn timer(&mut self, now_ns: u64, key: u64) {
        self.event(Event::Timer(key), now_ns);
    }

    fn request(&mut self, now_ns: u64, command: Command) {
        if let Some(early) = &mut self.early {
            early.push(command);
            return;
        }
        let start = self.begin + command.start * BLOCK;
        let range = Range::new(start, u64::from(command.count) * BLOCK);
        let buffer = || Buffer::zeroed(range.len() as usize);
        let request = match command.operation {
            Operation::Read => Request::read(command.tag, range.start(), buffer()),
            Operation::Write => {
                Request::write(command.tag, range.start(), Durability::Volatile, buffer())
            }
            Operation::WriteThrough => {
                Request::write(command.tag, range.start(), Durability::Fua, buffer())
            }
            Operation::Flush => Request::flush(command.tag),
        };
        self.event(Event::Request { face: 0, request }, now_ns);
    }

    fn answered(&mut self, now_ns: u64, asked: u32) {
        let (leg, request) = self.out[asked as usize].take().expect("it was asked");
        self.idle.push(asked);
        let answer = request.complete(Ok(()));
        self.event(Event::Answer { leg, answer }, now_ns);
    }

    fn steps(&mut self, now_ns: u64, asked: &mut Vec<Asked>) {
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Done(completion) => {
                    completion.result.expect("no leg of an emulation fails");
                    asked.push(Asked::Done(completion.tag));
                }
                Step::Sub { leg, request } => asked.push(self.ask(leg, request)),
                Step::Timer { at, key } => asked.push(Asked::Timer {
                    at_ns: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
                    key,
                }),
                Step::Started(result) => {
                    result.expect("what is new starts");
                    for command in self.early.take().unwrap_or_default() {
                        self.request(now_ns, command);
                    }
                }
                Step::Notice(_) | Step::Suspended | Step::Obeyed { .. } | Step::Stopped => {}
            }
        }
    }
}
