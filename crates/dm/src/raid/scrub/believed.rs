//! What is believed of an array whose metadata somebody has read.
//!
//! The same as when an array is started: superblock and bitmap of each leg, judged together.

use crate::Result;
use crate::raid::assembly::{Assembly, Bits, LegFound, LegState, assemble};
use crate::raid::bitmap::{self, Bitmap};
use crate::raid::config::{ArrayConfig, LegContent};
use crate::raid::superblock::Superblock;

/// What is read is a multiple of this, which suits every disk.
const BLOCK: u64 = 4096;
/// Regions of a bitmap that are looked at, at most: with more there is no course.
const REGIONS_MAX: u64 = 1 << 21;

/// How many bytes from its start on of each metadata device are to be read, as far as it is so
/// long.
pub fn metadata_len(config: &ArrayConfig) -> u64 {
    let region = config.described.region_size.max(1);
    let regions = config.geometry().sync_size().div_ceil(region);
    let regions = regions.min(REGIONS_MAX);
    (bitmap::START + bitmap::len_for(regions)).next_multiple_of(BLOCK)
}

/// What is believed of an array, of whose legs these metadata were read: the bytes, or why there
/// are none; `None`: the leg has no metadata, or is missing.
///
/// # Errors
///
/// There is no array; why.
pub fn believed(
    config: &ArrayConfig,
    metadata: &[Option<std::result::Result<Vec<u8>, String>>],
) -> Result<Assembly> {
    assert_eq!(
        metadata.len(),
        config.legs.len(),
        "each leg's metadata were looked for"
    );
    let mut assembly = if config.legs.iter().any(|leg| leg.meta.is_some()) {
        let legs = config.legs.iter().zip(metadata);
        let found: Vec<LegFound> = legs
            .map(|(leg, bytes)| match bytes {
                None => LegFound::Missing,
                Some(Err(why)) => of_content(leg.content, LegFound::Damaged(why.clone())),
                Some(Ok(bytes)) => of_content(leg.content, found(bytes)),
            })
            .collect();
        assemble(&config.name, &config.described, &found)?
    } else {
        // Nothing is on record, so nothing is known to go together.
        let valid = LegState::Valid { until: u64::MAX };
        Assembly {
            synced: 0,
            ..Assembly::of(config.legs.iter().map(|_| valid.clone()).collect())
        }
    };
    for (state, leg) in assembly.legs.iter_mut().zip(&config.legs) {
        if leg.data.is_none() {
            *state = LegState::Missing;
        }
    }
    Ok(assembly)
}

/// What was found on a leg that holds this.
fn of_content(content: LegContent, found: LegFound) -> LegFound {
    match (content, found) {
        (LegContent::Kept, found) => found,
        (LegContent::Rebuild, LegFound::Holds(superblock, _)) => LegFound::New(Some(superblock)),
        (LegContent::Rebuild, _) => LegFound::New(None),
    }
}

fn found(bytes: &[u8]) -> LegFound {
    let Some((superblock, bits)) = bytes.split_at_checked(bitmap::START as usize) else {
        return LegFound::Damaged("its metadata device is too small".into());
    };
    let superblock = match Superblock::decode(superblock) {
        Ok(Some(superblock)) => Box::new(superblock),
        Ok(None) => return LegFound::Blank,
        Err(error) => return LegFound::Damaged(error.to_string()),
    };
    let bits = match Bitmap::decode(bits) {
        Ok(Some(bitmap)) => Bits::Bitmap(bitmap),
        Ok(None) => Bits::None,
        Err(error) => Bits::Damaged(error.to_string()),
    };
    LegFound::Holds(superblock, bits)
}
