//! The flat table, and finding a byte in it.
//!
//! Sorted ends of segments are searched with `partition_point`, which is branchless; a [`Hint`]
//! that the caller keeps (one per queue) answers at once while requests stay in one segment.

use std::fmt;
use std::sync::Arc;

use block::{Device, Range};

use super::layout::Layout;
use super::place::{Place, Stripe};
use crate::{Error, Kind, Result};

/// Requests are multiples of this at least, in bytes, as on any disk.
const LOGICAL_BLOCK_MIN: u32 = 512;

/// A compiled layout: immutable, shared, and cheap to ask.
pub struct Table {
    pub(super) layout: Arc<Layout>,
    pub(super) ends: Box<[u64]>,
    pub(super) segments: Box<[Place]>,
    pub(super) stripes: Box<[Stripe]>,
    pub(super) devices: Box<[Arc<dyn Device>]>,
    pub(super) reasons: Box<[Arc<str>]>,
}

/// The segment that was found last, by whoever asks. Belongs to one table; make a new one for
/// another.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hint {
    index: usize,
    start: u64,
    end: u64,
}

/// Where a byte is in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// At byte `offset` of the device with this index in [`Table::devices`].
    Device {
        /// Index of the device.
        device: usize,
        /// First byte.
        offset: u64,
    },
    /// Nowhere: zeros.
    Zero,
    /// Nowhere: fails, for the [`Table::reason`] with this index.
    Error {
        /// Index of the reason.
        reason: usize,
    },
}

/// The answer of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapped {
    /// Where the byte is.
    pub leaf: Leaf,
    /// How many bytes from there go on in the same place, not 0.
    pub len: u64,
}

/// A run of bytes that are together on one leaf, though perhaps not together in the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Where the run begins.
    pub leaf: Leaf,
    /// Length in bytes, not 0.
    pub len: u64,
}

impl Table {
    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The devices that [`Leaf::Device`] counts.
    pub fn devices(&self) -> &[Arc<dyn Device>] {
        &self.devices
    }

    /// Why a [`Leaf::Error`] fails.
    pub fn reason(&self, index: usize) -> &Arc<str> {
        &self.reasons[index]
    }

    /// How many segments there are after merging.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// The largest chunk of its stripes, and the widest row, in bytes; `None` without stripes.
    pub fn stripe_limits(&self) -> Option<(u64, u64)> {
        let chunk = self.stripes.iter().map(Stripe::chunk).max()?;
        let width = self.stripes.iter().map(Stripe::width).max()?;
        Some((chunk, width))
    }

    /// The largest logical block of its devices, in bytes, at least 512: what requests must be
    /// multiples of.
    pub fn logical_block(&self) -> u32 {
        let blocks = self.devices.iter();
        let blocks = blocks.map(|device| device.info().logical_block);
        blocks.max().unwrap_or(0).max(LOGICAL_BLOCK_MIN)
    }

    /// Where byte `at` is; `at` lies inside.
    #[inline]
    pub fn lookup(&self, at: u64, hint: &mut Hint) -> Mapped {
        self.seek(at, hint);
        let len = hint.end - at;
        let place = self.segments[hint.index].advance(at - hint.start);
        if let Place::Device { device, offset } = place {
            let device = device as usize;
            let leaf = Leaf::Device { device, offset };
            return Mapped { leaf, len };
        }
        self.resolve(place, len)
    }

    /// Where `place` is in the end, of which `len` bytes lie in one segment.
    fn resolve(&self, mut place: Place, mut len: u64) -> Mapped {
        while let Place::Stripe { stripe, skip } = place {
            let stripe = &self.stripes[stripe as usize];
            let found = stripe.locate(skip);
            len = len.min(found.left);
            place = stripe.legs[found.leg].advance(found.offset);
        }
        let leaf = Leaf::of(place);
        Mapped { leaf, len }
    }

    /// Appends where the bytes of `range` are, in no order, each leg's share of a stripe as one
    /// run: what a request without data needs. `range` lies inside.
    pub fn runs(&self, range: Range, hint: &mut Hint, runs: &mut Vec<Run>) {
        let mut at = range.start();
        while at < range.end() {
            self.seek(at, hint);
            let stop = hint.end.min(range.end());
            let place = self.segments[hint.index].advance(at - hint.start);
            self.spread(place, stop - at, runs);
            at = stop;
        }
    }

    /// Makes `hint` the segment that byte `at` is in.
    #[inline]
    fn seek(&self, at: u64, hint: &mut Hint) {
        if at.wrapping_sub(hint.start) < hint.end - hint.start {
            return;
        }
        let index = self.ends.partition_point(|end| *end <= at);
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        let end = self.ends[index];
        *hint = Hint { index, start, end };
    }

    fn spread(&self, place: Place, len: u64, runs: &mut Vec<Run>) {
        let Place::Stripe { stripe, skip } = place else {
            let leaf = Leaf::of(place);
            runs.push(Run { leaf, len });
            return;
        };
        let stripe = &self.stripes[stripe as usize];
        for (index, leg) in stripe.legs.iter().enumerate() {
            let start = stripe.share(skip, index);
            let end = stripe.share(skip + len, index);
            if start < end {
                self.spread(leg.advance(start), end - start, runs);
            }
        }
    }

    /// Whether each byte of `other`, which is no longer, is in the same place here.
    pub(crate) fn extends(&self, other: &Self) -> bool {
        let (mut here, mut there) = (Hint::default(), Hint::default());
        let mut at = 0;
        while at < other.size() {
            if at >= self.size() {
                return false;
            }
            self.seek(at, &mut here);
            other.seek(at, &mut there);
            let place = self.segments[here.index].advance(at - here.start);
            let old = other.segments[there.index].advance(at - there.start);
            if !self.same(place, other, old) {
                return false;
            }
            at = here.end.min(there.end);
        }
        true
    }

    fn same(&self, here: Place, other: &Self, there: Place) -> bool {
        match (here, there) {
            (
                Place::Device { device, offset },
                Place::Device {
                    device: old,
                    offset: at,
                },
            ) => {
                let (new, old) = (&self.devices[device as usize], &other.devices[old as usize]);
                offset == at && Arc::ptr_eq(new, old)
            }
            (
                Place::Stripe { stripe, skip },
                Place::Stripe {
                    stripe: old,
                    skip: at,
                },
            ) => {
                let (new, old) = (&self.stripes[stripe as usize], &other.stripes[old as usize]);
                skip == at
                    && new.chunk() == old.chunk()
                    && new.legs.len() == old.legs.len()
                    && (new.legs.iter().zip(&old.legs))
                        .all(|(new, old)| self.same(*new, other, *old))
            }
            (Place::Zero, Place::Zero) => true,
            (Place::Error { reason }, Place::Error { reason: old }) => {
                self.reason(reason as usize) == other.reason(old as usize)
            }
            _ => false,
        }
    }

    /// Asserts what a table promises about itself.
    pub(crate) fn check(&self) {
        assert_eq!(self.ends.len(), self.segments.len(), "one end per segment");
        assert!(
            self.ends.is_sorted_by(|a, b| a < b),
            "no segment is empty or out of order"
        );
        assert_eq!(self.size(), self.layout.size(), "the table is the layout");
        let legs = self.stripes.iter().flat_map(|stripe| &stripe.legs);
        for (index, place) in self.segments.iter().chain(legs).enumerate() {
            let known = match *place {
                Place::Device { device, .. } => (device as usize) < self.devices.len(),
                Place::Stripe { stripe, .. } => (stripe as usize) < self.stripes.len(),
                Place::Zero => true,
                Place::Error { reason } => (reason as usize) < self.reasons.len(),
            };
            assert!(known, "place {index} refers to what is there");
        }
        for (index, stripe) in self.stripes.iter().enumerate() {
            let inward = |leg: &Place| match leg {
                Place::Stripe { stripe, .. } => (*stripe as usize) < index,
                _ => true,
            };
            assert!(stripe.legs.iter().all(inward), "stripes hold older ones");
        }
    }

    /// Refuses boundaries that would cut a device's logical block.
    pub(super) fn check_alignment(&self) -> Result<()> {
        let block = u64::from(self.logical_block());
        let infos: Vec<_> = self.devices.iter().map(|device| device.info()).collect();
        let legs = self.stripes.iter().flat_map(|stripe| &stripe.legs);
        for place in self.segments.iter().chain(legs) {
            match *place {
                Place::Device { device, offset } => {
                    let info = &infos[device as usize];
                    if offset % u64::from(info.logical_block) != 0 {
                        return Err(self.misaligned(&format!("byte {offset} of {}", info.name)));
                    }
                }
                Place::Stripe { skip, .. } if skip % block != 0 => {
                    return Err(self.misaligned(&format!("byte {skip} of a stripe")));
                }
                _ => {}
            }
        }
        if let Some(end) = self.ends.iter().find(|end| *end % block != 0) {
            return Err(self.misaligned(&format!("the boundary at byte {end}")));
        }
        let mut chunks = self.stripes.iter().map(Stripe::chunk);
        match chunks.find(|chunk| chunk % block != 0) {
            Some(chunk) => Err(self.misaligned(&format!("a stripe's chunk of {chunk} bytes"))),
            None => Ok(()),
        }
    }

    fn misaligned(&self, what: &str) -> Error {
        let (name, block) = (self.layout.name(), self.logical_block());
        let what = format!(
            "{name}: {what} does not fit logical blocks of {block} bytes; it was made on disks \
             with smaller blocks"
        );
        Error::new(Kind::Misaligned, what)
    }
}

impl Leaf {
    fn of(place: Place) -> Self {
        match place {
            Place::Device { device, offset } => Self::Device {
                device: device as usize,
                offset,
            },
            Place::Zero => Self::Zero,
            Place::Error { reason } => Self::Error {
                reason: reason as usize,
            },
            Place::Stripe { .. } => unreachable!("stripes are resolved before"),
        }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.layout.name())
            .field("ends", &self.ends)
            .field("segments", &self.segments)
            .field("stripes", &self.stripes)
            .finish_non_exhaustive()
    }
}
