//! Where the bytes of a segment are, and the arithmetic of stripes.
//!
//! A stripe of `n` legs and chunks of `c` bytes puts its byte `x` into chunk `x / c`; that chunk is
//! row `x / c / n` of leg `x / c % n`. A leg is a place itself, so a stripe whose leg is striped
//! needs nothing special. Chunks need not be powers of two, but where they are, a shift divides.

/// Where a run of bytes begins. Copyable, and compares equal where the bytes are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On a device, by its index in the table.
    Device { device: u32, offset: u64 },
    /// `skip` bytes into a stripe, by its index in the table.
    Stripe { stripe: u32, skip: u64 },
    /// Nowhere: zeros.
    Zero,
    /// Nowhere: fails, with a reason by its index in the table.
    Error { reason: u32 },
}

impl Place {
    /// The place `by` bytes further on.
    pub(super) fn advance(self, by: u64) -> Self {
        match self {
            Self::Device { device, offset } => Self::Device {
                device,
                offset: offset + by,
            },
            Self::Stripe { stripe, skip } => Self::Stripe {
                stripe,
                skip: skip + by,
            },
            Self::Zero | Self::Error { .. } => self,
        }
    }
}

/// Turns over legs.
#[derive(Debug, Clone)]
pub(super) struct Stripe {
    chunk: Divisor,
    count: Divisor,
    /// Where each leg begins.
    pub(super) legs: Box<[Place]>,
    /// How many runs that are no stripes it comes to, with those of striped legs.
    pub(super) leaf_count: usize,
}

/// What a byte of a stripe is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InStripe {
    pub(super) leg: usize,
    /// Byte of the leg.
    pub(super) offset: u64,
    /// Bytes left in the chunk, not 0.
    pub(super) left: u64,
}

impl Stripe {
    /// A stripe whose striped legs are in `stripes`.
    pub(super) fn new(chunk: u64, legs: Box<[Place]>, stripes: &[Self]) -> Self {
        let leaves = legs.iter().map(|leg| match leg {
            Place::Stripe { stripe, .. } => stripes[*stripe as usize].leaf_count,
            _ => 1,
        });
        Self {
            chunk: Divisor::new(chunk),
            count: Divisor::new(legs.len() as u64),
            leaf_count: leaves.fold(0, usize::saturating_add),
            legs,
        }
    }

    /// Bytes per turn.
    pub(super) fn chunk(&self) -> u64 {
        self.chunk.value
    }

    /// Bytes per row: one chunk of each leg. Fits, because the layout was checked.
    pub(super) fn width(&self) -> u64 {
        self.chunk.value * self.count.value
    }

    /// Where byte `at` of the stripe is.
    pub(super) fn locate(&self, at: u64) -> InStripe {
        let (turn, within) = self.chunk.div_rem(at);
        let (row, leg) = self.count.div_rem(turn);
        InStripe {
            leg: leg as usize,
            offset: row * self.chunk.value + within,
            left: self.chunk.value - within,
        }
    }

    /// How many of the stripe's first `at` bytes are on `leg`. What is between two such numbers
    /// is one run on the leg.
    pub(super) fn share(&self, at: u64, leg: usize) -> u64 {
        let (turn, within) = self.chunk.div_rem(at);
        let (row, current) = self.count.div_rem(turn);
        let rest = match leg.cmp(&(current as usize)) {
            std::cmp::Ordering::Less => self.chunk.value,
            std::cmp::Ordering::Equal => within,
            std::cmp::Ordering::Greater => 0,
        };
        row * self.chunk.value + rest
    }

    /// Whether `next`, from byte `skip`, goes on where this stripe is at byte `end`.
    pub(super) fn continues(&self, end: u64, next: &Self, skip: u64) -> bool {
        let width = self.width();
        self.chunk == next.chunk
            && self.legs.len() == next.legs.len()
            && end.is_multiple_of(width)
            && skip.is_multiple_of(width)
            && self.legs.iter().zip(&next.legs).all(|(here, there)| {
                let count = self.count.value;
                here.advance(end / count) == there.advance(skip / count)
            })
    }
}

/// A number to divide by, not 0; a shift where it is a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Divisor {
    value: u64,
    shift: Option<u8>,
}

impl Divisor {
    fn new(value: u64) -> Self {
        assert!(value > 0, "chunks and legs are counted from 1");
        let shift = value.is_power_of_two().then(|| value.ilog2() as u8);
        Self { value, shift }
    }

    fn div_rem(self, number: u64) -> (u64, u64) {
        match self.shift {
            Some(shift) => (number >> shift, number & (self.value - 1)),
            None => (number / self.value, number % self.value),
        }
    }
}
