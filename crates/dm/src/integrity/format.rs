//! What a device becomes that nobody has used: as large a journal as a kernel makes, and nothing
//! computed.

use block::Info;

use super::config::{DATA, IntegrityConfig, METADATA, Mode};
use super::journal::{Round, section};
use super::places::{Places, SECTOR};
use super::superblock::Superblock;
use crate::Result;

/// The most sectors of a journal, if nothing else is asked for; less of small devices.
const JOURNAL_SECTORS_MAX: u64 = 131_072;
/// A journal is no larger than one part in so many of the data.
const JOURNAL_PART: u64 = 128;
/// log2 of the sectors of a bit, at least.
const LOG2_BIT_SECTORS: u8 = 15;
const VERSION: u8 = 2;

/// The superblock of a new one, and where all is.
///
/// # Errors
///
/// The legs have no room for it.
pub(super) fn format(config: &IntegrityConfig, legs: &[Info]) -> Result<(Superblock, Places)> {
    let (data, metadata) = (legs[DATA].size, legs[METADATA].size);
    let block = u64::from(config.block);
    let sectors = data / block * (block / SECTOR);
    let journal = (data / SECTOR / JOURNAL_PART).min(JOURNAL_SECTORS_MAX);
    let journal = config.journal_sectors.unwrap_or(journal);
    let mut superblock = Superblock {
        version: VERSION,
        journal_sections: 1,
        provided_sectors: sectors,
        log2_block: (block / SECTOR).trailing_zeros() as u8,
        log2_bit: 0,
        recalculated: Some(0),
        has_bitmap: false,
        has_padding: false,
    };
    superblock.log2_bit = LOG2_BIT_SECTORS - superblock.log2_block;
    let one = Places::new(&superblock, data, metadata)?;
    let most = (journal / one.section_sectors).max(1);
    // As many as there is room for.
    let (mut sections, mut above) = (1, u32::try_from(most).unwrap_or(u32::MAX).saturating_add(1));
    while above - sections > 1 {
        superblock.journal_sections = sections + (above - sections) / 2;
        match Places::new(&superblock, data, metadata) {
            Ok(_) => sections = superblock.journal_sections,
            Err(_) => above = superblock.journal_sections,
        }
    }
    superblock.journal_sections = sections;
    let mut places = Places::new(&superblock, data, metadata)?;
    while places.bitmap_len() > places.journal_len() {
        superblock.log2_bit += 1;
        places = Places::new(&superblock, data, metadata)?;
    }
    assert!(u64::from(sections) <= most, "no longer than it should be");
    superblock.has_bitmap = config.mode == Mode::Bitmap;
    Ok((superblock, places))
}

/// An empty journal, a section each: where, and its bytes.
pub(super) fn empty_journal(places: &Places) -> impl Iterator<Item = (u64, Vec<u8>)> + '_ {
    (0..places.sections).map(|number| {
        let start = places.section_start(number);
        (start, section(places, (number, Round::FIRST), &[]))
    })
}
