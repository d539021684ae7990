//! Where a mirror may be asked without its home; see [`crate::map`].
//!
//! ```text
//!   settled    a bit per region: all images hold the same there, and nobody writes
//!   anywhere   the images that may be read where that is so
//!   primary    the one that is read elsewhere: the first one in sync
//! ```
//!
//! A read holds nothing of a region. It goes to an image that was right when it was chosen; what
//! happens to the region or the image after that happens beside the read, which may see it or not.
//! What the chain of rules needs is only this: who has seen the effect of a change chooses by what
//! was published before it. Home clears a region's bit before any image is written there, and names
//! another primary before it answers what the old one missed (both are done within the event that
//! asks for the write or the answer). These stores release and a route's loads acquire; the write,
//! its answer, and whatever tells the reader of it pass through locks or the kernel, so they order
//! the load behind the store.
//!
//! What was read before a write began may meet it on an image that is not the first, as it may at
//! home: such a read sees the write early, and no later one counts on that.
//!
//! A write goes to all images, if the home has opened all its regions for that: they are dirty and
//! in sync, and every image is there (`slots.rs`). It holds them, so none is called clean, copied
//! or forgotten meanwhile. When an image is lost the home closes all regions; a write that holds
//! one has asked that image, too. What all images did is answered at once, even while the loss of
//! one is being recorded: that one missed nothing of it. What one of them did not do the home
//! judges, as if it had asked itself.
//!
//! Costs: 1 bit per region, 64 KiB for each TiB of regions of 2 MiB, and 64 bytes per image.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use block::{Operation, Range, Request};

use super::config::{MirrorConfig, REGIONS_MAX};
use super::reads::Reads;
use super::slots::Slots;
use crate::map::{Ended, Legs, Map, Route};

/// Regions that one write may hold.
const HELD_MAX: u64 = 16;
/// No image.
const NOBODY: u32 = u32::MAX;

/// What queues know of a mirror.
#[derive(Debug)]
pub struct MirrorMap {
    region_size: u64,
    regions: u64,
    settled: Box<[AtomicU64]>,
    images: Box<[Image]>,
    /// A bit per image.
    anywhere: AtomicU32,
    primary: AtomicU32,
    /// Regions that may be written.
    slots: Slots,
    /// The legs of all images: a bit each. `None`: not all are there.
    all: Option<u64>,
    /// Whether somebody asked since the home looked.
    asked: AtomicBool,
}

/// An image, alone on its line of the processor's cache.
#[derive(Debug)]
#[repr(align(64))]
struct Image {
    /// `None`: it is missing.
    leg: Option<usize>,
    /// Reads in flight, the home's too.
    reading: AtomicU32,
}

/// What a request holds that goes to images without the home.
#[derive(Debug)]
pub enum Hold {
    /// A read: its place among those of this image.
    Read(usize),
    /// A write: the regions of its range.
    Write(Range),
}

impl MirrorMap {
    /// Nothing may be read yet.
    pub(super) fn new(config: &MirrorConfig, legs: impl Iterator<Item = Option<usize>>) -> Self {
        let image = |leg| Image {
            leg,
            reading: AtomicU32::new(0),
        };
        Self::of_regions(
            (config.region_count(), config.region_size),
            legs.map(image).collect(),
        )
    }

    fn of_regions((regions, region_size): (u64, u64), images: Box<[Image]>) -> Self {
        assert!(region_size.is_power_of_two());
        assert!(regions <= REGIONS_MAX);
        let words = regions.div_ceil(64);
        let bit = |image: &Image| 1_u64.checked_shl(image.leg? as u32);
        let all = images
            .iter()
            .map(bit)
            .try_fold(0, |all, bit| Some(all | bit?));
        Self {
            region_size,
            regions,
            settled: (0..words).map(|_| AtomicU64::new(0)).collect(),
            images,
            anywhere: AtomicU32::new(0),
            primary: AtomicU32::new(NOBODY),
            slots: Slots::new(),
            all,
            asked: AtomicBool::new(false),
        }
    }

    /// Regions that no image has.
    #[cfg(test)]
    pub(super) fn without_images(regions: u64, region_size: u64) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self::of_regions((regions, region_size), Box::default()))
    }

    pub(super) fn region_size(&self) -> u64 {
        self.region_size
    }

    pub(super) fn region_count(&self) -> u64 {
        self.regions
    }

    /// Whether all images hold the same in a region, and nobody writes there.
    pub(super) fn is_settled(&self, region: u64) -> bool {
        let word = &self.settled[(region / 64) as usize];
        word.load(Ordering::Acquire) >> (region % 64) & 1 == 1
    }

    /// Says so, or not. Only the home does.
    pub(super) fn settle(&self, region: u64, is_settled: bool) {
        assert!(region < self.regions, "there are {}", self.regions);
        let (word, bit) = (&self.settled[(region / 64) as usize], 1 << (region % 64));
        let before = word.load(Ordering::Relaxed);
        let after = if is_settled {
            before | bit
        } else {
            before & !bit
        };
        if before != after {
            // Nobody else writes, so nothing is lost between the two.
            word.store(after, Ordering::Release);
        }
    }

    /// Says the same of all regions, 64 at a time.
    pub(super) fn settle_all(&self, words: &[u64]) {
        assert_eq!(words.len(), self.settled.len());
        for (word, bits) in self.settled.iter().zip(words) {
            word.store(*bits, Ordering::Release);
        }
    }

    /// Says which images may be read: a bit for each where all hold the same, and the one to be
    /// read elsewhere.
    pub(super) fn publish(&self, anywhere: u32, primary: Option<usize>) {
        let primary = primary.map_or(NOBODY, |image| image as u32);
        self.primary.store(primary, Ordering::Release);
        self.anywhere.store(anywhere, Ordering::Release);
    }

    /// Whether somebody asked without the home since this was asked last.
    pub(super) fn was_asked(&self) -> bool {
        let reads = || {
            let images = self.images.iter();
            images.map(|image| image.reading.load(Ordering::Relaxed))
        };
        self.asked.swap(false, Ordering::Relaxed) || reads().any(|reads| reads > 0)
    }

    /// How many images there are.
    pub(super) fn image_count(&self) -> usize {
        self.images.len()
    }

    /// Reads of an image in flight.
    pub(super) fn reading(&self, image: usize) -> u32 {
        // A hint: which of them has less to do.
        self.images[image].reading.load(Ordering::Relaxed)
    }

    /// An image is about to be read.
    pub(super) fn begin_read(&self, image: usize) {
        self.images[image].reading.fetch_add(1, Ordering::Relaxed);
    }

    /// A read of an image has ended.
    pub(super) fn end_read(&self, image: usize) {
        let before = self.images[image].reading.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "a read ends once");
    }

    /// The regions that may be written.
    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    fn of(&self, range: Range) -> std::ops::Range<u64> {
        range.start() / self.region_size..range.end().div_ceil(self.region_size)
    }

    /// The image to read a range from.
    fn choose(&self, range: Range, reads: &mut Reads) -> Option<usize> {
        if self.of(range).all(|region| self.is_settled(region)) {
            let anywhere = self.anywhere.load(Ordering::Acquire);
            return reads.choose(self, anywhere, range);
        }
        let primary = self.primary.load(Ordering::Acquire);
        (primary != NOBODY).then_some(primary as usize)
    }
}

impl MirrorMap {
    fn route_read(&self, range: Range, reads: &mut Reads) -> Result<Route<Hold>, Ended> {
        let image = self.choose(range, reads).ok_or(Ended::Quiet)?;
        let leg = self.images[image].leg.ok_or(Ended::Quiet)?;
        reads.begin(image, range);
        self.begin_read(image);
        Ok(Route {
            legs: Legs::One(leg),
            start: range.start(),
            hold: Hold::Read(image),
        })
    }

    fn route_write(&self, range: Range) -> Result<Route<Hold>, Ended> {
        let all = self.all.ok_or(Ended::Quiet)?;
        let regions = self.of(range);
        if regions.end - regions.start > HELD_MAX {
            return Err(Ended::Quiet);
        }
        for region in regions.clone() {
            if !self.slots.hold(region) {
                return Err(self.release(regions.start..region));
            }
        }
        Ok(Route {
            legs: Legs::All(all),
            start: range.start(),
            hold: Hold::Write(range),
        })
    }

    fn release(&self, regions: std::ops::Range<u64>) -> Ended {
        regions.fold(Ended::Quiet, |ended, region| {
            ended.or(self.slots.release(region))
        })
    }
}

impl Map for MirrorMap {
    const ROUTES: bool = true;
    type Memory = Reads;
    type Hold = Hold;

    fn route(
        &self,
        _face: usize,
        request: &Request,
        reads: &mut Reads,
    ) -> Result<Route<Hold>, Ended> {
        let route = match request.operation {
            Operation::Read => self.route_read(request.range, reads),
            Operation::Write => self.route_write(request.range),
            _ => Err(Ended::Quiet),
        }?;
        if !self.asked.load(Ordering::Relaxed) {
            self.asked.store(true, Ordering::Relaxed);
        }
        Ok(route)
    }

    fn stands(&self, _hold: &Hold) -> bool {
        true
    }

    fn end(&self, hold: Hold) -> Ended {
        match hold {
            Hold::Read(image) => {
                self.end_read(image);
                Ended::Quiet
            }
            Hold::Write(range) => self.release(self.of(range)),
        }
    }
}
