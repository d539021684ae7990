//! Two simulated disks with caches, a volume over both, and what was promised about its contents.
//!
//! Each write is a slot of its own with a version number, so that what a cut leaves can be judged
//! block by block: any version from the last one that was promised to be durable up to the newest
//! one that was begun.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use block::clock::Clock;
use block::sim::{Disk, Faults, Image, Random, SimDevice};
use block::{BlockingDevice, Device};
use dm::table::{Area, Layout, Piece, Table};
use dm::volume::{Access, Volume};

/// Bytes of a slot: each write is one. It lies on both disks where the volume is striped.
pub(crate) const SLOT: u64 = 4096;
pub(crate) const SLOTS: u64 = 32;
pub(crate) const SIZE: u64 = SLOT * SLOTS;
const CHUNK: u64 = 2048;
const DISK: u64 = 1 << 20;
const BLOCK: usize = 512;
/// A request takes up to so long, in virtual time: so that they overtake each other.
const JITTER_NS: u64 = 1_000_000;

/// What may stand in a slot.
#[derive(Debug, Clone, Default)]
struct Slot {
    /// The newest version that was begun.
    begun: u32,
    /// The newest that was answered.
    answered: u32,
    /// The newest of which it was said that it is durable.
    promised: u32,
    /// Versions that are zeros.
    zeros: BTreeSet<u32>,
}

/// What the clients know.
#[derive(Debug, Clone)]
pub(crate) struct Model(Vec<Slot>);

/// A volume on two disks that lose power.
pub(crate) struct World {
    pub(crate) disks: [SimDevice; 2],
    pub(crate) volume: Volume,
}

impl World {
    /// New disks that hold this.
    pub(crate) fn new(images: [Image; 2], seed: u64) -> Self {
        let faults = Faults {
            latency_ns: 1000,
            jitter_ns: JITTER_NS,
            ..Faults::default()
        };
        let clock = Clock::virtual_time();
        let mut number = seed;
        let disks = images.map(|image| {
            number += 1;
            let disk = Disk::new(format!("disk{number}"), image, 512, faults.clone(), number);
            SimDevice::new(disk, clock.clone())
        });
        let volume = Volume::new("volume", Access::ReadWrite, table(&disks));
        Self { disks, volume }
    }

    /// Blank disks.
    pub(crate) fn blank(seed: u64) -> Self {
        Self::new([Image::new(DISK), Image::new(DISK)], seed)
    }

    /// What a cut of both disks now could leave.
    pub(crate) fn cut(&self, random: &mut Random) -> [Image; 2] {
        [0, 1].map(|disk| self.disks[disk].after_cut(random))
    }

    /// Exchanges the volume's table as an owner does: what is under way ends first.
    pub(crate) fn exchange(&self) {
        let suspension = self.volume.suspend().expect("nobody else suspends it");
        suspension
            .wait(Duration::from_mins(1))
            .expect("queues are polled");
        suspension
            .publish(table(&self.disks))
            .expect("it is drained");
    }
}

/// The first half on one disk, the other half striped over both.
fn table(disks: &[SimDevice; 2]) -> Table {
    let devices = disks
        .each_ref()
        .map(|disk| Arc::new(disk.clone()) as Arc<dyn Device>);
    table_of(&devices)
}

fn table_of([one, two]: &[Arc<dyn Device>; 2]) -> Table {
    let half = SIZE / 2;
    let stripes = [one, two].map(|disk| Area::device(Arc::clone(disk), 512 << 10));
    let pieces = vec![
        Piece::linear(half, Arc::clone(one), 64 << 10),
        Piece::striped(half, CHUNK, stripes.to_vec()),
    ];
    Table::compile(&Layout::new("volume", pieces).expect("a layout")).expect("a table")
}

/// What the version `version` of a slot looks like, block by block.
pub(crate) fn content(slot: u64, version: u32) -> Vec<u8> {
    let words = [slot as u32 + 1, version];
    let eight: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    eight.repeat(SLOT as usize / 8)
}

impl Model {
    pub(crate) fn new() -> Mutex<Self> {
        Mutex::new(Self(vec![Slot::default(); SLOTS as usize]))
    }

    /// A write of a slot, or of zeros, is about to begin; its version.
    pub(crate) fn begin(&mut self, slot: u64, is_zeros: bool) -> u32 {
        let slot = &mut self.0[slot as usize];
        slot.begun += 1;
        if is_zeros {
            slot.zeros.insert(slot.begun);
        }
        slot.begun
    }

    /// It was answered, and is durable if that was asked for.
    pub(crate) fn answer(&mut self, slot: u64, version: u32, is_durable: bool) {
        let slot = &mut self.0[slot as usize];
        slot.answered = slot.answered.max(version);
        if is_durable {
            slot.promised = slot.promised.max(version);
        }
    }

    /// What a flush that begins now covers.
    pub(crate) fn covered(&self) -> Vec<u32> {
        self.0.iter().map(|slot| slot.answered).collect()
    }

    /// A flush that covers this was answered.
    pub(crate) fn flushed(&mut self, covered: &[u32]) {
        for (slot, version) in self.0.iter_mut().zip(covered) {
            slot.promised = slot.promised.max(*version);
        }
    }

    /// What is on the disks of a cut is what may be there.
    pub(crate) fn judge(&self, images: [Image; 2]) {
        let disks = images.map(|image| Arc::new(SimDevice::of_image("cut", image)));
        let disks = disks.map(|disk| disk as Arc<dyn Device>);
        let volume = Volume::new("cut", Access::ReadOnly, table_of(&disks));
        let mut bytes = vec![0; SIZE as usize];
        let mut io = BlockingDevice::open(&volume).expect("it opens");
        io.read_at(&mut bytes, 0).expect("it is read");
        let slots = bytes.chunks(SLOT as usize).zip(&self.0).enumerate();
        for (number, (bytes, slot)) in slots {
            for block in bytes.chunks(BLOCK) {
                let found = slot.version(number as u64, block);
                assert!(
                    found.is_some_and(|version| version >= slot.promised),
                    "slot {number} holds version {found:?} after a cut, of {slot:?}"
                );
            }
        }
    }
}

impl Slot {
    /// The newest version that a block of this slot may be.
    fn version(&self, number: u64, block: &[u8]) -> Option<u32> {
        if block.iter().all(|byte| *byte == 0) {
            return self.zeros.last().copied().or(Some(0));
        }
        let word = block[4..8].try_into().expect("four bytes");
        let version = u32::from_le_bytes(word);
        let is_right = block == &content(number, version)[..BLOCK];
        (is_right && version <= self.begun && !self.zeros.contains(&version)).then_some(version)
    }
}

/// A lock that a panic of another thread does not hide the reason of.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A path that nobody else uses.
pub(crate) fn path() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("ashlar-cuts-{}-{number}", std::process::id()))
}
