//! Which areas of its disks a volume uses, and how much: shares of the blocks moved.
//!
//! Something that counts stands below the volume, between the queue that sorts and each disk. So
//! the areas of a volume (its physical volumes, its stripes, its legs) are told apart whatever
//! maps to them, and with several disks each is an area at least.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::record::Values;
use crate::disk::drive::{Answer, Command, Model, Spent};
use crate::layout::Layout;

/// Areas that are told apart; with more of them shares say little.
const AREAS_MAX: usize = 8;
const BLOCK: u64 = 512;

/// An area of a disk, and the blocks moved there.
#[derive(Debug)]
struct Area {
    disk: usize,
    start: u64,
    end: u64,
    moved: AtomicU64,
}

/// The areas of a volume.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    areas: Arc<Vec<Area>>,
    /// Disks that are watched.
    disks: Arc<AtomicUsize>,
}

/// A disk that is watched.
#[derive(Debug)]
struct Watched {
    inner: Box<dyn Model>,
    disk: usize,
    areas: Arc<Vec<Area>>,
}

impl Shares {
    /// The areas of a layout, in the order of its volume.
    pub(super) fn new(layout: &Layout) -> Self {
        let areas = layout.volume.iter().flat_map(crate::layout::Segment::areas);
        let areas = areas.map(|(area, len)| Area {
            disk: area.disk,
            start: area.start / BLOCK,
            end: (area.start + len) / BLOCK,
            moved: AtomicU64::new(0),
        });
        Self {
            areas: Arc::new(areas.collect()),
            disks: Arc::new(AtomicUsize::new(0)),
        }
    }

    /// Watches the next disk of the layout.
    pub(super) fn watch(&self, inner: Box<dyn Model>) -> Box<dyn Model> {
        Box::new(Watched {
            inner,
            disk: self.disks.fetch_add(1, Ordering::Relaxed),
            areas: Arc::clone(&self.areas),
        })
    }

    /// Adds `area1_percent` and so on, if there are some areas and not too many.
    pub(super) fn add(&self, values: &mut Values) {
        let moved = |area: &Area| area.moved.load(Ordering::Relaxed) as f64;
        let all: f64 = self.areas.iter().map(moved).sum();
        if !(2..=AREAS_MAX).contains(&self.areas.len()) || all == 0.0 {
            return;
        }
        for (number, area) in (1..).zip(self.areas.iter()) {
            let percent = (moved(area) * 1e6 / all).round() / 1e4;
            values.insert(format!("area{number}_percent"), percent);
        }
    }
}

impl Model for Watched {
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        let mut areas = self.areas.iter();
        let here = |area: &&Area| {
            area.disk == self.disk && (area.start..area.end).contains(&command.start)
        };
        if let Some(area) = areas.find(here) {
            area.moved
                .fetch_add(u64::from(command.count), Ordering::Relaxed);
        }
        self.inner.submit(now_ns, command);
    }

    fn wake(&self) -> Option<u64> {
        self.inner.wake()
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.inner.answer(now_ns)
    }

    fn account(&self, spent: &mut Spent) {
        self.inner.account(spent);
    }
}
