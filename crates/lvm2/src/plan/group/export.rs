//! `vgexport` and `vgimport`: a group leaves a machine, and comes to one.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

use crate::Result;
use crate::model::{PvFlag, VgFlag, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused};

/// Marks a group as exported. The caller knows that none of its volumes is active.
pub fn export_group(vg: &VolumeGroup, author: &mut Author<'_>) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    if let Some((_, pv)) = vg.pvs().find(|(_, pv)| pv.flags.has(PvFlag::Missing)) {
        return Err(refused(format!(
            "Cannot export volume group {} while physical volume {} is missing",
            vg.name, pv.uuid
        )));
    }
    draft.vg.flags.insert(VgFlag::Exported);
    draft.vg.system_id = None;
    set_flags(&mut draft.vg, Marks::Set);
    draft.note(format!(
        "Volume group \"{}\" successfully exported",
        vg.name
    ));
    draft.finish(author)
}

/// Takes an exported group into use on the machine with this system ID.
pub fn import_group(
    vg: &VolumeGroup,
    system_id: Option<&str>,
    author: &mut Author<'_>,
) -> Result<Change> {
    if !vg.flags.has(VgFlag::Exported) {
        return Err(refused(format!(
            "Volume group \"{}\" is not exported",
            vg.name
        )));
    }
    let mut draft = Draft::begin_any(vg)?;
    assert!(draft.vg.flags.has(VgFlag::Exported), "it was looked at");
    draft.vg.flags.remove(VgFlag::Exported);
    draft.vg.system_id = system_id.map(str::to_owned);
    set_flags(&mut draft.vg, Marks::Cleared);
    draft.note(format!(
        "Volume group \"{}\" successfully imported",
        vg.name
    ));
    draft.finish(author)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    Set,
    Cleared,
}

fn set_flags(vg: &mut VolumeGroup, marks: Marks) {
    let pvs: Vec<_> = vg.pvs().map(|(id, _)| id).collect();
    for pv in pvs {
        let flags = &mut vg.pv_mut(pv).flags;
        match marks {
            Marks::Set => flags.insert(PvFlag::Exported),
            Marks::Cleared => flags.remove(PvFlag::Exported),
        }
    }
}
