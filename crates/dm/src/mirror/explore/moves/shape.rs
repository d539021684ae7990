//! What the volume of one history is made of, and what the metadata say of its move.
//!
//! Each piece has a window on the source's disk and one on the target's, of which each is a
//! simulated disk of its own: what a flush of one makes durable says nothing about the others, and
//! a cut may lose of each what it likes. All is small, and sizes are odd: of most pieces the last
//! region is not whole.

use block::sim::{Discards, Disk, Faults, Image, Random};
use block::{Info, Range};

use super::fault::SeededFault;
use crate::explore::{NEVER, SECTOR, encode};
use crate::mirror::limits::Limits;
use crate::mirror::{Mirror, MirrorConfig, MirrorImage, Primary};

/// Pieces at most.
const PIECES_MAX: usize = 4;
/// Windows of a piece: where it is moved from, and to.
pub(super) const SOURCE: usize = 0;
pub(super) const TARGET: usize = 1;
pub(super) const SIDES: usize = 2;

/// What a history is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Sectors of each piece.
    sizes: [u64; PIECES_MAX],
    /// How many pieces there are.
    pub(super) count: usize,
    /// Bytes of a region.
    region: u64,
    pub(super) discards: Discards,
    /// The source's disk is the target's, too.
    pub(super) one_disk: bool,
    /// In so many steps a piece that is copied is finished.
    pub(super) patience: u64,
    pub(super) fault: Option<SeededFault>,
}

/// What the metadata say: so many pieces are on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Described {
    pub(super) moved: usize,
    /// The others stay where they are.
    pub(super) is_aborted: bool,
}

impl Described {
    /// Where a piece is, for whoever does not copy it.
    pub(super) fn side(self, piece: usize) -> usize {
        if piece < self.moved { TARGET } else { SOURCE }
    }
}

impl Shape {
    pub(super) fn chosen(random: &mut Random, fault: Option<SeededFault>) -> Self {
        Self {
            sizes: std::array::from_fn(|_| 2 + random.below(6)),
            count: 2 + random.index(PIECES_MAX - 1),
            region: SECTOR << random.below(3),
            discards: match random.below(4) {
                0 => Discards::Keep,
                _ => Discards::ReadZeroes,
            },
            one_disk: random.chance(1, 4),
            patience: [6, 25, 250][random.index(3)],
            fault,
        }
    }

    /// Where a piece is in the volume.
    pub(super) fn piece(&self, piece: usize) -> Range {
        let start = self.sizes[..piece].iter().sum::<u64>();
        Range::new(start * SECTOR, self.sizes[piece] * SECTOR)
    }

    /// Sectors of the volume.
    pub(super) fn sectors(&self) -> u64 {
        self.sizes[..self.count].iter().sum()
    }

    /// The piece that is being copied.
    pub(super) fn running(&self, described: Described) -> Option<usize> {
        let is_running = described.moved < self.count && !described.is_aborted;
        is_running.then_some(described.moved)
    }

    /// A window of a piece before its first write, which holds it or not.
    pub(super) fn image(&self, piece: usize, holds: bool) -> Image {
        let range = self.piece(piece);
        let mut image = Image::new(range.len());
        let first = range.start() / SECTOR;
        for sector in 0..self.sizes[piece] {
            let version = if holds { 0 } else { NEVER };
            image.write(sector * SECTOR, &encode((first + sector) as usize, version));
        }
        image
    }

    pub(super) fn disk(&self, image: Image, random: &mut Random) -> Disk {
        let faults = Faults {
            discards: self.discards,
            residue: true,
            ..Faults::default()
        };
        Disk::new("disk", image, SECTOR as u32, faults, random.number())
    }

    /// What copies a piece, to a target that may not be there.
    pub(super) fn mirror(
        &self,
        piece: usize,
        infos: &[Info],
        is_there: bool,
    ) -> Result<Mirror, String> {
        let mut legs = [SOURCE, TARGET].map(|leg| MirrorImage::present(leg as u64, leg));
        if !is_there {
            legs[TARGET] = MirrorImage::missing(TARGET as u64);
        }
        let size = self.piece(piece).len();
        let mut config = MirrorConfig::new("pvmove0", size, self.region, legs.to_vec());
        config.primary = Primary::Source;
        let mut mirror = Mirror::new(config, infos).map_err(|error| error.to_string())?;
        mirror.limits = Limits {
            copy_piece: SECTOR,
            zeroed_regions: 1,
            log_run: SECTOR as usize,
        };
        Ok(mirror)
    }
}
