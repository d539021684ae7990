//! Arrays that became smaller while nobody used them, and are about to grow.
//!
//! Superblocks and bitmaps go on to speak of the size that the array had when it was used last. If
//! it has that again, of other extents, they would call in sync what never was. So before it grows
//! they say how large it is, and what comes is behind that: never in sync, for us and for the
//! kernel.
//!
//! ```text
//!   used with 12 MiB ─▸ lvreduce 8 ─▸ lvextend 12: first "8 MiB" in each superblock and bitmap,
//!                                                  durably, then the commit
//! ```
//!
//! A cut in front of the commit leaves an array of which its images say the truth. Only the fields
//! themselves are written, marks and events stay.

use dm::raid::{Bits, LegFound};
use lvm2::Bytes;
use lvm2::model::{LvId, SegmentType};
use lvm2::plan::{Before, pieces};

use crate::arrays::ArrayReader;
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

const SECTOR: u64 = 512;
/// Where fields are on a metadata image: the superblock's sectors of the array and of a leg, and
/// those of the bitmap, which begins at byte 4096.
const ARRAY_SECTORS_AT: u64 = 88;
const LEG_SECTORS_AT: u64 = 112;
const SYNC_SECTORS_AT: u64 = 4096 + 40;

/// What must be written before an array that nobody uses grows, so that what comes does not count
/// as in sync; nothing for what is no array.
///
/// # Errors
///
/// The metadata make no array, or an image's metadata lie nowhere.
pub fn shrunk_records(scan: &Scan, group: &FoundVg, lv: LvId) -> Result<Vec<Before>> {
    let mut before = Vec::new();
    let model = &group.model;
    let Some(SegmentType::Raid(raid)) = model.lv(lv).first() else {
        return Ok(before);
    };
    let Some(records) = ArrayReader::default().records(scan, group, lv)? else {
        return Ok(before);
    };
    let geometry = records.described.geometry;
    let size = model.lv(lv).size(model.extent_size);
    let size = size.and_then(lvm2::Sectors::to_bytes).unwrap_or_default();
    for (image, found) in raid.images.iter().zip(&records.images) {
        let (Some(meta), LegFound::Holds(superblock, bits)) = (image.meta, found) else {
            continue;
        };
        let mut fields = Vec::new();
        if let Some(extended) = &superblock.extended {
            let (array, leg) = (size.0 / SECTOR, geometry.leg_size() / SECTOR);
            fields.push((ARRAY_SECTORS_AT, extended.array_sectors, array));
            fields.push((LEG_SECTORS_AT, extended.sectors, leg));
        }
        if let Bits::Bitmap(bitmap) = bits {
            let covers = geometry.sync_size() / SECTOR;
            fields.push((SYNC_SECTORS_AT, bitmap.sync_size / SECTOR, covers));
        }
        for (at, _, is) in fields.into_iter().filter(|(_, said, is)| said > is) {
            let bytes = is.to_le_bytes().to_vec();
            let places = pieces(model, meta, Bytes(at), Bytes(bytes.len() as u64))?;
            let [piece] = places[..] else {
                let name = model.lv(meta).name();
                let what = format!(
                    "{}/{name}: its byte {at} lies nowhere; see vgck",
                    group.name
                );
                return Err(Error::new(Kind::Damaged, what));
            };
            before.push(Before::Write { piece, bytes });
        }
    }
    Ok(before)
}
