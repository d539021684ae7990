//! `vgextend --restoremissing`: physical volumes that were missing are there again.

use alloc::collections::BTreeSet;
use alloc::format;

use super::extend::require_resizeable;
use crate::Result;
use crate::model::{PvFlag, PvId, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, pv_name, refused};

/// Takes `pvs` back, which the text calls missing. The caller knows that they are there.
pub fn restore_missing(
    vg: &VolumeGroup,
    pvs: &BTreeSet<PvId>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    require_resizeable(vg)?;
    for pv in pvs {
        if !vg.pv(*pv).flags.has(PvFlag::Missing) {
            return Err(refused(format!(
                "PV {} was not missing in VG {}",
                pv_name(vg, *pv),
                vg.name
            )));
        }
        draft.vg.pv_mut(*pv).flags.remove(PvFlag::Missing);
    }
    draft.note(format!(
        "Volume group \"{}\" successfully extended",
        vg.name
    ));
    draft.finish(author)
}
