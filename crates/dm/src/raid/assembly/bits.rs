//! What stands behind a leg's superblock: a bitmap, as far as there is one.

use crate::raid::bitmap::Bitmap;

/// What stands where a bitmap may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bits {
    /// Nothing.
    None,
    /// None that can be read: why.
    Damaged(String),
    /// A bitmap.
    Bitmap(Bitmap),
    /// A bitmap of an array of which nothing was being written: what is marked legs lack that are
    /// away, and nothing is in doubt.
    Resting(Bitmap),
}

impl Bits {
    /// The bitmap, if there is one that can be read.
    pub fn bitmap(&self) -> Option<&Bitmap> {
        match self {
            Self::Bitmap(bitmap) | Self::Resting(bitmap) => Some(bitmap),
            Self::None | Self::Damaged(_) => None,
        }
    }

    pub(super) fn bitmap_mut(&mut self) -> Option<&mut Bitmap> {
        match self {
            Self::Bitmap(bitmap) | Self::Resting(bitmap) => Some(bitmap),
            Self::None | Self::Damaged(_) => None,
        }
    }
}
