//! Changes that give the same bytes wherever and whenever they are made: `SOURCE_DATE_EPOCH` and
//! `--uuid-seed`.
//!
//! ```text
//!   what a text says of its making     with ashlar/source_date_epoch    with ashlar/uuid_seed
//!   creation times                     that time
//!   host, its kernel                   localhost, none
//!   command line, device hints         without the folders of paths
//!   UUIDs of what is new                                                of the seed and the disks
//! ```
//!
//! A UUID is the SHA-256 of the seed, of what the disks hold, and of how many were drawn before in
//! the same change. What the disks hold are their physical volumes and, from the rings, every group
//! that ever was on them with its highest sequence number. Each change raises a number or adds a
//! UUID, so that no state comes twice, and no UUID either; also not that of a volume that was
//! removed and made again. Times and names are no part of it: the seed alone decides.
//!
//! Does not: tell disks apart that a command does not see. Two physical volumes that are made by
//! two commands, each of which sees one disk only, get the same UUID of the same seed.
//!
//! Costs: with a seed, every area of every physical volume is read whole, once for each change.

use std::collections::BTreeMap;

use lvm2::ondisk::versions;
use lvm2::plan::{Change, GroupChange};
use lvm2::{UUID_LEN, Uuid};
use sha2::{Digest, Sha256};

use crate::Result;
use crate::scan::{PvIndex, Scan, area_bytes};

/// The machine's name in texts that must not depend on the machine.
pub(super) const NO_HOST: &str = "localhost";

/// Draws UUIDs from a seed.
#[derive(Debug)]
pub(super) struct Drawer {
    base: Sha256,
    drawn: u64,
}

impl Drawer {
    /// The UUIDs of `seed` for a change of what `scan` found.
    pub(super) fn new(seed: &str, scan: &Scan) -> Result<Self> {
        let mut base = Sha256::new();
        base.update((seed.len() as u64).to_le_bytes());
        base.update(seed);
        let mut pvs: Vec<&[u8; UUID_LEN]> = scan
            .physical_volumes
            .iter()
            .map(|pv| pv.uuid.as_bytes())
            .collect();
        pvs.sort_unstable();
        base.update((pvs.len() as u64).to_le_bytes());
        for pv in pvs {
            base.update(pv);
        }
        for (group, seqno) in groups_ever(scan)? {
            base.update(group.as_bytes());
            base.update(seqno.to_le_bytes());
        }
        Ok(Self { base, drawn: 0 })
    }

    /// The next one.
    pub(super) fn draw(&mut self) -> Uuid {
        let mut digest = self.base.clone();
        digest.update(self.drawn.to_le_bytes());
        self.drawn += 1;
        let bytes: [u8; UUID_LEN] = digest.finalize().into();
        Uuid::from_random(&bytes)
    }
}

/// Every group of which the rings hold a text, with its highest sequence number.
fn groups_ever(scan: &Scan) -> Result<BTreeMap<Uuid, u64>> {
    let mut groups: BTreeMap<Uuid, u64> = BTreeMap::new();
    for (index, pv) in scan.physical_volumes.iter().enumerate() {
        for area in 0..pv.areas.len() {
            let Some((bytes, header)) = area_bytes(scan, PvIndex(index), area)? else {
                continue;
            };
            for version in versions(&bytes, &header) {
                if let Ok(uuid) = version.vg_uuid.parse::<Uuid>() {
                    let highest = groups.entry(uuid).or_default();
                    *highest = version.seqno.max(*highest);
                }
            }
        }
    }
    Ok(groups)
}

/// A command line without the folders of the paths in it: `--devices=/tmp/x/a.img,/tmp/x/b.img`
/// becomes `--devices=a.img,b.img`.
pub(super) fn without_folders(line: &str) -> String {
    let is_end = |c: char| matches!(c, ' ' | ',' | '=' | ':');
    // What ends a word is no slash: it stays with the last part.
    line.split_inclusive(is_end).map(file_name).collect()
}

/// The last part of an absolute path; anything else as it is.
fn file_name(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((_, name)) if path.starts_with('/') => name,
        _ => path,
    }
}

/// Takes out of the texts of a change where the devices were: an image keeps its name without the
/// folder, a node of the machine (`/dev/loop3`) says nothing.
pub(super) fn forget_places(change: &mut Change) {
    for group in &mut change.groups {
        let GroupChange::Commit(vg) = group else {
            continue;
        };
        let ids: Vec<_> = vg.pvs().map(|(id, _)| id).collect();
        for id in ids {
            let pv = vg.pv_mut(id);
            pv.device = pv.device.take().and_then(|hint| {
                let is_node = hint.starts_with("/dev/");
                (!is_node).then(|| file_name(&hint).to_owned())
            });
            if pv.device.is_none() {
                (pv.device_id_type, pv.device_id) = (None, None);
            }
        }
    }
}
