//! What is believed of an array whose metadata somebody has read.
//!
//! The same as when an array is started: superblock and bitmap of each leg, judged together.

use crate::Result;
use crate::raid::assembly::{Assembly, LegFound, LegState, assemble};
use crate::raid::config::ArrayConfig;

/// How many bytes from its start on of each metadata device are to be read, as far as it is so
/// long.
pub fn metadata_len(config: &ArrayConfig) -> u64 {
    config.record_len()
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
            .enumerate()
            .map(|(place, (leg, bytes))| match bytes {
                None => LegFound::Missing,
                Some(Err(why)) => LegFound::Damaged(why.clone()).of_content(leg.content),
                Some(Ok(bytes)) => {
                    let (keeping, described) = (&config.keeping, &config.described);
                    let found = keeping.found(place, described, bytes);
                    found.of_content(leg.content)
                }
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
