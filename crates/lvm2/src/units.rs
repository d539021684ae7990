//! Sizes with their unit in the type: bytes, 512-byte sectors, and extents.
//!
//! LVM2's texts count in sectors of 512 bytes, whatever the device's block size is, and in extents
//! of the volume group. Adding a sector to a byte does not compile; conversions are named, and
//! those that can overflow on values from a disk return an `Option`.
//!
//! The operators are for our own arithmetic: overflow there is a bug and panics.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

/// Bytes in a sector, on every device.
pub const SECTOR_SIZE: u64 = 512;

/// A number of bytes, or a byte offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// A number of 512-byte sectors, or a sector offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sectors(pub u64);

/// A number of extents, or the index of one. LVM2 keeps it in 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Extents(pub u64);

impl Bytes {
    /// The sectors that this is, where it is a whole number of them.
    pub fn to_sectors(self) -> Option<Sectors> {
        self.0
            .is_multiple_of(SECTOR_SIZE)
            .then_some(Sectors(self.0 / SECTOR_SIZE))
    }

    /// The whole sectors in it; a rest is dropped.
    pub fn whole_sectors(self) -> Sectors {
        Sectors(self.0 / SECTOR_SIZE)
    }
}

impl Sectors {
    /// The same in bytes; `None` where that needs more than 64 bits.
    pub fn to_bytes(self) -> Option<Bytes> {
        self.0.checked_mul(SECTOR_SIZE).map(Bytes)
    }

    /// How many whole extents of `extent_size` fit; `None` where the size is zero.
    pub fn whole_extents(self, extent_size: Sectors) -> Option<Extents> {
        self.0.checked_div(extent_size.0).map(Extents)
    }
}

impl Extents {
    /// The same in sectors; `None` where that needs more than 64 bits.
    pub fn to_sectors(self, extent_size: Sectors) -> Option<Sectors> {
        self.0.checked_mul(extent_size.0).map(Sectors)
    }
}

macro_rules! arithmetic {
    ($type:ident, $singular:literal, $plural:literal) => {
        impl $type {
            /// Nothing.
            pub const ZERO: $type = $type(0);

            /// The sum, unless it needs more than 64 bits.
            pub fn checked_add(self, other: $type) -> Option<$type> {
                self.0.checked_add(other.0).map($type)
            }

            /// The difference, unless it would be negative.
            pub fn checked_sub(self, other: $type) -> Option<$type> {
                self.0.checked_sub(other.0).map($type)
            }

            /// The product, unless it needs more than 64 bits.
            pub fn checked_mul(self, times: u64) -> Option<$type> {
                self.0.checked_mul(times).map($type)
            }

            /// The next multiple of `unit` at or above, unless that needs more than 64 bits.
            pub fn round_up(self, unit: $type) -> Option<$type> {
                self.0.checked_next_multiple_of(unit.0).map($type)
            }

            /// The next multiple of `unit` at or below.
            pub fn round_down(self, unit: $type) -> $type {
                $type(self.0 - self.0 % unit.0)
            }
        }

        impl Add for $type {
            type Output = $type;
            fn add(self, other: $type) -> $type {
                self.checked_add(other).expect("a sum of ours fits 64 bits")
            }
        }

        impl Sub for $type {
            type Output = $type;
            fn sub(self, other: $type) -> $type {
                self.checked_sub(other)
                    .expect("a difference of ours is not negative")
            }
        }

        impl Mul<u64> for $type {
            type Output = $type;
            fn mul(self, times: u64) -> $type {
                self.checked_mul(times)
                    .expect("a product of ours fits 64 bits")
            }
        }

        impl Div for $type {
            type Output = u64;
            fn div(self, other: $type) -> u64 {
                self.0 / other.0
            }
        }

        impl Rem for $type {
            type Output = $type;
            fn rem(self, other: $type) -> $type {
                $type(self.0 % other.0)
            }
        }

        impl AddAssign for $type {
            fn add_assign(&mut self, other: $type) {
                *self = *self + other;
            }
        }

        impl SubAssign for $type {
            fn sub_assign(&mut self, other: $type) {
                *self = *self - other;
            }
        }

        impl Sum for $type {
            fn sum<I: Iterator<Item = $type>>(items: I) -> $type {
                items.fold($type(0), Add::add)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "{} {}",
                    self.0,
                    if self.0 == 1 { $singular } else { $plural }
                )
            }
        }
    };
}

arithmetic!(Bytes, "byte", "bytes");
arithmetic!(Sectors, "sector", "sectors");
arithmetic!(Extents, "extent", "extents");

#[cfg(test)]
mod tests;
