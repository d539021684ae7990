//! `pvremove`: the label goes, so that the device is a physical volume no more.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::ondisk::{Label, PvUse};
use crate::plan::draft::refused;
use crate::{Bytes, Result, SECTOR_SIZE};

/// How much was insisted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Force {
    /// Nothing.
    None,
    /// `-f`.
    Once,
    /// `-ff`: also a physical volume that belongs to a group.
    Twice,
}

/// What is to be written so that `device` has no label: bytes at an offset. `group` is the group
/// that has the physical volume, as far as it is known.
pub fn erase_label(
    label: &Label,
    device: &str,
    group: Option<&str>,
    force: Force,
) -> Result<(Bytes, Vec<u8>)> {
    let hint = "(If you are certain you need pvremove, then confirm by using --force twice.)";
    if force < Force::Twice {
        if let Some(group) = group {
            return Err(refused(format!(
                "PV {device} is used by VG {group} so please use vgreduce first. {hint}"
            )));
        }
        if label.pv.usage() == PvUse::Used {
            return Err(refused(format!(
                "PV {device} is used by a VG but its metadata is missing. {hint}"
            )));
        }
    }
    let at = Bytes(label.sector * SECTOR_SIZE);
    Ok((at, vec![0; SECTOR_SIZE as usize]))
}
