//! The versions of a volume group that still lie in a metadata area.
//!
//! Every change writes a new text into the ring, and the ring is large against one text: tens of
//! old versions stay readable. Nothing points to them any more, so they are looked for. A text
//! begins with a sector, and its first lines cannot be mistaken, because only a volume group has a
//! `seqno` behind its `id`:
//!
//! ```text
//!     NAME {
//!     id = "Gosnfu-aut9-TjZX-iZgi-DS25-FpP1-l1SnwL"
//!     seqno = 44
//! ```
//!
//! It ends with the first NUL. Where another text begins before that, the older one was partly
//! overwritten, and is no version. That is all that can be known without a header: whether an old
//! text is whole shows when it is parsed.
//!
//! Promises: time grows with the area, and each byte of it belongs to at most one version, those
//! to which the header points apart.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::area::{AREA_HEADER_SIZE, AreaHeader, RawLocation};
use super::crc::checksum;
use super::ring::Ring;
use crate::text::{self, Value};
use crate::units::{Bytes, SECTOR_SIZE};

const SECTOR: usize = SECTOR_SIZE as usize;
/// Longest name of a volume group.
const NAME_LEN_MAX: usize = 127;
/// A UUID with its dashes.
const UUID_PRINTED_LEN: usize = 38;
const _: () = assert!(
    UUID_PRINTED_LEN == crate::uuid::UUID_LEN + 6,
    "it has six dashes"
);

/// What the area's header says of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is the version that counts, and its checksum is right.
    Committed,
    /// It is the version of a change that was under way, and its checksum is right.
    Precommitted,
    /// Nothing points to it; its checksum cannot be known.
    Old,
}

/// A text that was found in an area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Where it lies; the checksum is computed where nothing points to it.
    pub location: RawLocation,
    /// The volume group's name in it.
    pub vg_name: String,
    /// The volume group's UUID in it, as printed.
    pub vg_uuid: String,
    /// The number of the change that wrote it.
    pub seqno: u64,
    /// What the header says of it.
    pub standing: Standing,
}

/// The versions in `area`, a whole area's bytes with its header, by seqno. A device that belonged
/// to several volume groups may hold texts of all of them. Where the area could not be read to its
/// end, the versions in what is there are found, those apart that wrap.
pub fn versions(area: &[u8], header: &AreaHeader) -> Vec<Version> {
    let ring = Ring::new(header);
    let size = usize::try_from(header.size.0).unwrap_or(usize::MAX);
    let may_wrap = area.len() >= size;
    let area = &area[..area.len().min(size)];
    let len = area.len();
    let mut found = pointed_to(area, &ring, header);
    let starts: Vec<usize> = (AREA_HEADER_SIZE..len)
        .step_by(SECTOR)
        .filter(|at| first_lines(&area[*at..]).is_some())
        .collect();
    for (index, &start) in starts.iter().enumerate() {
        let offset = Bytes(start as u64);
        if found
            .iter()
            .any(|version| version.location.offset == offset)
        {
            continue;
        }
        // The last text may wrap, up to the first one.
        debug_assert!(start < len, "a text begins in the area");
        let size = match starts.get(index + 1) {
            Some(next) => nul(&area[start..*next]),
            None => nul(&area[start..]).or_else(|| {
                if !may_wrap {
                    return None;
                }
                let rest = nul(&area[AREA_HEADER_SIZE..starts[0]])?;
                Some(len - start + rest)
            }),
        };
        let Some(size) = size else { continue };
        let location = RawLocation {
            offset,
            size: Bytes(size as u64),
            checksum: 0,
        };
        let Ok(text) = ring.text(area, &location) else {
            continue;
        };
        let location = RawLocation {
            checksum: checksum(&text),
            ..location
        };
        found.extend(identify(&text, location, Standing::Old));
    }
    found.sort_by_key(|version| (version.seqno, version.location.offset));
    found
}

/// The texts to which the header points, where their checksums are right.
fn pointed_to(area: &[u8], ring: &Ring, header: &AreaHeader) -> Vec<Version> {
    let slots = [
        (header.committed, Standing::Committed),
        (
            header
                .precommitted
                .filter(|slot| Some(*slot) != header.committed),
            Standing::Precommitted,
        ),
    ];
    let mut found = Vec::new();
    for (location, standing) in slots {
        let Some(location) = location else { continue };
        let Ok(text) = ring.text(area, &location) else {
            continue;
        };
        if location.verify(&text).is_ok() {
            found.extend(identify(&text, location, standing));
        }
    }
    found
}

fn identify(text: &[u8], location: RawLocation, standing: Standing) -> Option<Version> {
    let (vg_name, vg_uuid, seqno) = first_lines(text).or_else(|| parsed(text))?;
    Some(Version {
        location,
        vg_name,
        vg_uuid,
        seqno,
        standing,
    })
}

/// Name, UUID and seqno, where the text begins as LVM2 and we write it.
fn first_lines(text: &[u8]) -> Option<(String, String, u64)> {
    let head = &text[..text.len().min(SECTOR)];
    let name_len = head
        .iter()
        .take(NAME_LEN_MAX + 1)
        .position(|byte| *byte == b' ')?;
    let name = str::from_utf8(&head[..name_len]).ok()?;
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name_byte) {
        return None;
    }
    let (uuid, rest) = head[name_len..]
        .strip_prefix(b" {\nid = \"")?
        .split_at_checked(UUID_PRINTED_LEN)?;
    let uuid = str::from_utf8(uuid).ok()?;
    let rest = rest.strip_prefix(b"\"\nseqno = ")?;
    let digits = rest.iter().position(|byte| *byte == b'\n')?;
    let seqno = str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    Some((name.to_owned(), uuid.to_owned(), seqno))
}

/// The same from a text in another layout.
fn parsed(text: &[u8]) -> Option<(String, String, u64)> {
    let root = text::parse(text).ok()?;
    root.sections().find_map(
        |section| match (section.value("id"), section.value("seqno")) {
            (Some(Value::String(uuid)), Some(Value::Integer(seqno))) => Some((
                section.name.clone().into_owned(),
                uuid.clone().into_owned(),
                u64::try_from(*seqno).ok()?,
            )),
            _ => None,
        },
    )
}

/// The length up to and with the first NUL.
fn nul(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == 0).map(|at| at + 1)
}

#[cfg(test)]
mod tests;
