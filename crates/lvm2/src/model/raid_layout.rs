//! Which images of an array hold a chunk of its data.
//!
//! An array is cut into rows of one chunk on each image. Parity takes its turn on the images, or
//! stays on one; data fills what is left of the row.
//!
//! ```text
//!     raid5_la, 3 images      raid5_ls, 3 images      raid10, 3 images, 2 copies
//!     | 0   1   P |           | 0   1   P |           | 0   0   1 |
//!     | 2   P   3 |           | 3   P   2 |           | 1   2   2 |
//!     | P   4   5 |           | P   4   5 |           | 3   3   4 |
//! ```
//!
//! RAID 1 has no chunks: each image holds all data where the volume has it.

use alloc::vec;
use alloc::vec::Vec;

use super::raid_level::{RaidFamily, RaidLevel};

/// Where a chunk of data lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkPlace {
    /// The images that hold it: one, or as many as there are copies; the row of each.
    pub places: Vec<(usize, u64)>,
}

impl RaidLevel {
    /// Where the chunk of data with this number lies on `images` images; of RAID 10 with so many
    /// `copies`.
    ///
    /// `None` for RAID 1, which has no chunks, and where the level needs more images.
    pub fn chunk_place(self, chunk: u64, images: usize, copies: usize) -> Option<ChunkPlace> {
        let family = self.family();
        let data = images.checked_sub(self.parity_count())? as u64;
        if family == RaidFamily::Raid1 || data == 0 || copies == 0 {
            return None;
        }
        if family == RaidFamily::Raid10 {
            let first = chunk.checked_mul(copies as u64)?;
            let all = images as u64;
            let place = |copy: u64| ((copy % all) as usize, copy / all);
            let places = (first..first.checked_add(copies as u64)?).map(place);
            return Some(ChunkPlace {
                places: places.collect(),
            });
        }
        let (row, index) = (chunk / data, (chunk % data) as usize);
        let image = self.data_image(row, index, images);
        assert!(image < images, "an image is one of the array");
        Some(ChunkPlace {
            places: vec![(image, row)],
        })
    }

    /// The image of the data chunk `index` of a row.
    fn data_image(self, row: u64, index: usize, images: usize) -> usize {
        // How far parity has turned, and so the image on which it is, counted from either end.
        let turned = |count: usize| (row % count as u64) as usize;
        let from_end = |count: usize| count - 1 - turned(count);
        let beside = |parity: usize| index + usize::from(index >= parity);
        let behind = |parity: usize, count: usize| (parity + 1 + index) % count;
        // With a second parity on the last image the others are as those of RAID 5.
        let others = images - 1;
        match self {
            // Copies are found before.
            Self::Raid1
            | Self::Raid10
            | Self::Raid10Near
            | Self::Raid0
            | Self::Raid0Meta
            | Self::Raid5N
            | Self::Raid6N6 => index,
            Self::Raid4 => index + 1,
            Self::Raid5La => beside(from_end(images)),
            Self::Raid5Ra => beside(turned(images)),
            Self::Raid5 | Self::Raid5Ls | Self::Raid6Nc => behind(from_end(images), images),
            Self::Raid5Rs => behind(turned(images), images),
            Self::Raid6La6 => beside(from_end(others)),
            Self::Raid6Ra6 => beside(turned(others)),
            Self::Raid6Ls6 => behind(from_end(others), others),
            Self::Raid6Rs6 => behind(turned(others), others),
            Self::Raid6 | Self::Raid6Zr => beside_two(turned(images), index, images),
            Self::Raid6Nr => {
                let turn = ((row + 1) % images as u64) as usize;
                beside_two(images - 1 - turn, index, images)
            }
        }
    }
}

/// Data beside two parities, of which the second is behind the first and wraps around.
fn beside_two(parity: usize, index: usize, images: usize) -> usize {
    if parity == images - 1 {
        index + 1
    } else if index >= parity {
        index + 2
    } else {
        index
    }
}

#[cfg(test)]
mod tests;
