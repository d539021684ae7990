//! What is known of an array, from its images or from who has it at work, and what may be done in
//! each case.
//!
//! | the array is | images may be added or replaced | the first copy may go |
//! |---|---|---|
//! | in sync | yes, to be filled | yes |
//! | unused | copies but the first: a mirror or a volume may have become it | no |
//! | in sync but some images | in the place of those | no |
//! | out of sync | no: the kernel would not take it | no |

use alloc::format;

use super::parts::Array;
use alloc::collections::BTreeSet;

use crate::Result;
use crate::model::{LvFlag, LvId, RaidLevel, VolumeGroup};
use crate::plan::draft::refused;

/// What is known of an array's images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArrayState {
    /// They go together.
    InSync,
    /// Nobody has ever used the array: its metadata is zeros.
    Unused,
    /// All but these, a bit each, go together; these are not believed.
    InSyncBut(u64),
    /// They do not go together everywhere, or nobody knows.
    OutOfSync,
}

/// Whether an image is to be filled from others when the array is used next.
pub(super) fn is_rebuilding(vg: &VolumeGroup, array: &Array) -> bool {
    array
        .volumes()
        .iter()
        .any(|part| vg.lv(*part).flags.has(LvFlag::Rebuild))
}

/// Fails where images cannot be put into the array, in the place of those in `gone`: `what` is to
/// be done to it.
pub(super) fn require_settled(
    vg: &VolumeGroup,
    id: LvId,
    (array, state): (&Array, ArrayState),
    (what, gone): (&str, &BTreeSet<usize>),
) -> Result<()> {
    let name = format!("{}/{}", vg.name, vg.lv(id).name());
    if vg.lv(id).flags.has(LvFlag::NotSynced) {
        return Err(refused(format!(
            "Can't {what} out-of-sync RAID LV {name}: use 'lvchange --resync' first."
        )));
    }
    let is_copied = array.level() == RaidLevel::Raid1 && !gone.contains(&0);
    let is_known = match state {
        ArrayState::InSync => true,
        ArrayState::Unused => is_copied,
        ArrayState::InSyncBut(images) => {
            let rest = gone.iter().fold(images, |set, image| set & !(1 << image));
            rest == 0
        }
        ArrayState::OutOfSync => false,
    };
    if !is_known || is_rebuilding(vg, array) {
        return Err(refused(format!(
            "Unable to {what} {name} while it is not in-sync: use it until it is"
        )));
    }
    Ok(())
}
