//! What superblocks say of a reshape, with what the metadata say that an array will be.

use super::{Described, Reshape, SECTOR, data_start};
use crate::raid::geometry::{Geometry, Scheme};
use crate::raid::superblock::{Extended, Position, Superblock};

/// What an array is becoming, or is to become.
pub(super) fn reshape_of(
    described: &Described,
    newest: &Superblock,
) -> std::result::Result<Option<Reshape>, String> {
    match newest.reshaping() {
        Some(extended) => reshape(described, newest, extended).map(Some),
        None if described.leaving > 0 && newest.device_count as usize == described.legs() => {
            not_begun(described, newest).map(Some)
        }
        None => Ok(None),
    }
}

/// What a reshape goes from and to.
fn reshape(
    described: &Described,
    newest: &Superblock,
    extended: &Extended,
) -> std::result::Result<Reshape, String> {
    let to = described.geometry;
    let scheme = Scheme::from_md(newest.level, newest.layout);
    let scheme = scheme.ok_or("its superblocks name a layout that is not known")?;
    let legs = i64::from(newest.device_count) - i64::from(extended.delta_disks);
    let legs = usize::try_from(legs).map_err(|_| "it had less than no legs".to_owned())?;
    let chunk = u64::from(newest.stripe_sectors) * SECTOR;
    let from = Geometry::new(scheme, legs, chunk, to.leg_size());
    let from = from.map_err(|error| error.to_string())?;
    let counts_array = |geometry: &Geometry| matches!(geometry.scheme(), Scheme::Copies(_));
    if counts_array(&from) != counts_array(&to) {
        return Err("it is reshaped from or to a level that counts otherwise".into());
    }
    let position = match extended.reshape_position {
        Position::Sector(sector) => sector.saturating_mul(SECTOR),
        Position::End => return Err("it is reshaped, and does not say how far".into()),
    };
    if position > to.size().max(from.size()) {
        return Err(format!(
            "it is reshaped up to byte {position}, behind its end"
        ));
    }
    Ok(Reshape {
        from,
        to,
        position,
        backwards: extended.backwards,
        new_start: extended.new_data_offset.saturating_mul(SECTOR),
        says: Some(*extended),
    })
}

/// What is to become another array with fewer legs, and does not know it yet: the newest superblock
/// is from before.
fn not_begun(described: &Described, newest: &Superblock) -> std::result::Result<Reshape, String> {
    let to = described.geometry;
    let from = Geometry::new(to.scheme(), described.legs(), to.chunk(), to.leg_size());
    let from = from.map_err(|error| error.to_string())?;
    Ok(Reshape {
        from,
        to,
        position: from.size(),
        backwards: true,
        new_start: data_start(newest),
        says: None,
    })
}
