//! A device with checksums, leg by leg, in a state that it can be left in.

use std::sync::Arc;
use std::time::Duration;

use block::memory::MemoryDevice;
use block::sim::Random;
use block::{Access, Device};

use crate::Result;
use crate::home::Home;
use crate::integrity::journal::{Round, section};
use crate::integrity::sums::tag;
use crate::integrity::{Discards, Integrity, IntegrityConfig, Mode, Places, Superblock};

pub(in crate::integrity) const LIMIT: Duration = Duration::from_secs(10);
/// Blocks of the data.
pub(in crate::integrity) const BLOCKS: u64 = 100;
/// log2 of the blocks of a bit: 16 of them.
const LOG2_BIT: u8 = 4;
const SECTIONS: u32 = 3;

/// What it was left in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::integrity) enum State {
    /// All is in place.
    Clean,
    /// Some blocks are in the journal, and their places hold something else.
    Journaled,
    /// The bits of some blocks are set, whose checksums are wrong.
    Marked,
    /// Checksums are computed up to the middle; behind it there is anything.
    Computing,
    /// It was used when it was smaller.
    Grown,
    /// Never used.
    New,
}

/// See the module.
#[derive(Clone)]
pub(in crate::integrity) struct Made {
    pub(in crate::integrity) block: u32,
    state: State,
    pub(in crate::integrity) discards: Discards,
    /// What is to be read.
    pub(in crate::integrity) content: Vec<u8>,
    pub(in crate::integrity) data: Vec<u8>,
    pub(in crate::integrity) metadata: Vec<u8>,
    tags: usize,
}

impl Made {
    pub(in crate::integrity) fn states() -> [State; 6] {
        use State::{Clean, Computing, Grown, Journaled, Marked, New};
        [Clean, Journaled, Marked, Computing, Grown, New]
    }

    pub(in crate::integrity) fn new(block: u32, state: State) -> Self {
        let size = u64::from(block) * BLOCKS;
        let half = BLOCKS / 2 * u64::from(block) / 512;
        let superblock = Superblock {
            version: if state == State::Marked { 3 } else { 2 },
            journal_sections: SECTIONS,
            provided_sectors: if state == State::Grown {
                half
            } else {
                size / 512
            },
            log2_block: (block / 512).trailing_zeros() as u8,
            log2_bit: LOG2_BIT,
            recalculated: match state {
                State::Computing | State::Grown => Some(half),
                State::Journaled => None,
                _ => Some(size / 512),
            },
            has_bitmap: state == State::Marked,
            has_padding: false,
        };
        let metadata = vec![0; 1 << 20];
        let places = Places::new(&superblock, size, metadata.len() as u64).expect("it fits");
        let mut random = Random::new(3);
        let content: Vec<u8> = (0..size).map(|_| random.number() as u8).collect();
        let mut made = Self {
            block,
            state,
            discards: Discards::Refused,
            data: content.clone(),
            content,
            metadata,
            tags: places.tags_start() as usize,
        };
        if state == State::New {
            made.metadata[made.tags..].fill(0x77);
            return made;
        }
        made.metadata[..Superblock::LEN].copy_from_slice(&superblock.encode());
        for number in 0..BLOCKS {
            let data = made.block_of(&made.data, number).to_vec();
            let at = made.tag_start(number);
            let is_right = made.is_checked(number);
            let tag = tag(places.sector_of(number), &data);
            made.metadata[at..at + 4].copy_from_slice(&if is_right { tag } else { [0x77; 4] });
        }
        let area = made.area(&places);
        made.metadata[Superblock::LEN..][..area.len()].copy_from_slice(&area);
        made
    }

    /// The journal, or the bitmap; what is in the journal is not in its place.
    fn area(&mut self, places: &Places) -> Vec<u8> {
        if self.state == State::Marked {
            // Of seven bits the second and the last.
            let mut bits = vec![0; places.bitmap_len() as usize];
            bits[0] = 0b100_0010;
            return bits;
        }
        let journaled: Vec<u64> = (0..BLOCKS)
            .filter(|block| self.is_journaled(*block))
            .collect();
        let content = self.content.clone();
        let blocks: Vec<(u64, &[u8])> = journaled
            .iter()
            .map(|number| (*number, self.block_of(&content, *number)))
            .collect();
        for number in &journaled {
            let start = (*number * u64::from(self.block)) as usize;
            self.data[start..start + self.block as usize].fill(0x11);
        }
        let first = section(places, (0, Round::FIRST.next()), &blocks);
        let rest = (1..places.sections).flat_map(|at| section(places, (at, Round::FIRST), &[]));
        first.into_iter().chain(rest).collect()
    }

    fn block_of<'a>(&self, bytes: &'a [u8], number: u64) -> &'a [u8] {
        let len = self.block as usize;
        &bytes[number as usize * len..][..len]
    }

    fn is_journaled(&self, block: u64) -> bool {
        self.state == State::Journaled && block.is_multiple_of(5)
    }

    /// Whether the checksum on its place means something.
    pub(in crate::integrity) fn is_checked(&self, block: u64) -> bool {
        match self.state {
            State::Clean | State::Journaled => true,
            State::Marked => ![1, 6].contains(&(block >> LOG2_BIT)),
            State::Computing | State::Grown => block < BLOCKS / 2,
            State::New => false,
        }
    }

    /// Whether what lies on its place is compared.
    pub(in crate::integrity) fn has_checksum(&self, block: u64) -> bool {
        self.is_checked(block) && !self.is_journaled(block)
    }

    pub(in crate::integrity) fn tag_start(&self, block: u64) -> usize {
        self.tags + 4 * block as usize
    }

    pub(in crate::integrity) fn home(&self) -> Result<Home<Integrity>> {
        self.start().map(|(home, _)| home)
    }

    pub(in crate::integrity) fn home_and_legs(&self) -> (Home<Integrity>, Vec<Arc<MemoryDevice>>) {
        self.start().expect("it starts")
    }

    fn start(&self) -> Result<(Home<Integrity>, Vec<Arc<MemoryDevice>>)> {
        let leg =
            |name: &str, bytes: &[u8]| Arc::new(MemoryDevice::from_bytes(name, bytes.to_vec()));
        let legs = vec![leg("data", &self.data), leg("checksums", &self.metadata)];
        let config = IntegrityConfig {
            name: "image".into(),
            access: Access::ReadOnly,
            mode: if self.state == State::Marked {
                Mode::Bitmap
            } else {
                Mode::Journal
            },
            block: self.block,
            discards: self.discards,
            journal_sectors: None,
        };
        let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
        let devices = legs
            .iter()
            .map(|leg| Arc::clone(leg) as Arc<dyn Device>)
            .collect();
        let machine = Integrity::new(config, &infos)?;
        Ok((Home::start("image", machine, devices, LIMIT)?, legs))
    }
}
