//! Tests: images that are replaced, lost, and filled once more.

use std::collections::BTreeSet;

use super::bench::{create, empty, options, places, shown};
use crate::Result;
use crate::model::{LvFlag, PvFlag, PvId, VolumeGroup};
use crate::ondisk::AreaUse;
use crate::plan::change::Change;
use crate::plan::group::{AreaState, PartialVolumes, remove_missing};
use crate::plan::logical::{
    ArrayState, ImageStates, Replacement, rebuild_images, repair_array, replace_images,
};
use crate::plan::samples::{by_author, done, id, refusal};

fn pvs(vg: &VolumeGroup, numbers: &[usize]) -> BTreeSet<PvId> {
    numbers
        .iter()
        .map(|number| vg.pvs().nth(*number).expect("it is there").0)
        .collect()
}

fn replace(vg: &VolumeGroup, on: &[usize], to: Option<&[usize]>) -> Result<Change> {
    let (gone, places) = (pvs(vg, on), to.map(|numbers| places(vg, numbers)));
    let replacement = Replacement {
        volume: "a",
        pvs: &gone,
        places: places.as_ref(),
        policy: None,
        state: ArrayState::InSync,
    };
    by_author(|author| replace_images(vg, &replacement, author))
}

fn repair(vg: &VolumeGroup, lost: &[usize], state: ArrayState) -> Result<Change> {
    let replacement = Replacement {
        volume: "a",
        pvs: &BTreeSet::new(),
        places: None,
        policy: None,
        state,
    };
    let lost = pvs(vg, lost);
    by_author(|author| repair_array(vg, &replacement, &lost, author))
}

fn made(level: &str) -> VolumeGroup {
    let size = if level == "raid6" { "6" } else { "4" };
    done(create(&empty(), "a", size, options(level)))
}

#[test]
fn images_are_replaced() {
    // Proves: stock's places and names; what is new is to be filled, the rest stays.
    let vg = done(replace(&made("raid1"), &[0], None));
    let lines = shown(&vg);
    assert!(
        lines.contains("a_rimage_0: READ WRITE REBUILD 0+4@pv2:1"),
        "{lines:#?}"
    );
    assert!(
        lines.contains("a_rmeta_0: READ WRITE 0+1@pv2:0"),
        "{lines:#?}"
    );
    assert!(
        lines.contains("a_rimage_1: READ WRITE 0+4@pv1:1"),
        "{lines:#?}"
    );
    let vg = done(replace(&made("raid5"), &[0], Some(&[7])));
    assert!(shown(&vg).contains("a_rimage_0: READ WRITE REBUILD 0+2@pv7:1"));
    let vg = done(replace(&made("raid6"), &[0, 1], None));
    let lines = shown(&vg);
    for number in 0..2 {
        let pv = number + 5;
        let line = format!("a_rimage_{number}: READ WRITE REBUILD 0+2@pv{pv}:1");
        assert!(lines.contains(&line), "{lines:#?}");
    }
}

#[test]
fn what_cannot_be_replaced_is_refused() {
    // Proves: too many images, both of a pair, none, no room, and stock's sentences.
    let said = |level, on: &[usize], to: Option<&[usize]>| refusal(replace(&made(level), on, to));
    assert_eq!(
        said("raid10", &[0, 1], None),
        "Unable to replace all the devices in a RAID10 mirror group."
    );
    assert_eq!(
        said("raid1", &[0, 1], None),
        "Unable to replace all PVs from vg/a at once."
    );
    assert_eq!(
        said("raid5", &[0, 1], None),
        "Unable to replace more than 1 PVs from (raid5) vg/a."
    );
    assert_eq!(
        said("raid5", &[6], None),
        "Logical volume vg/a does not contain devices specified to replace."
    );
    assert!(said("raid5", &[0], Some(&[1])).starts_with("Insufficient"));
    assert!(said("raid5", &[0], Some(&[0])).starts_with("Insufficient"));
    assert!(said("raid0", &[0], None).contains("does not accept LV type raid0"));
    done(replace(&made("raid10"), &[0, 2], None));
}

#[test]
fn lost_images_are_replaced() {
    // Proves: those on physical volumes that are gone, which stay missing; and that more than the
    // level survives is refused.
    let vg = made("raid5");
    let repaired = done(repair(&vg, &[1], ArrayState::InSync));
    let lines = shown(&repaired);
    assert!(
        lines.contains("a_rimage_1: READ WRITE REBUILD 0+2@pv3:1"),
        "{lines:#?}"
    );
    let gone = repaired.pvs().nth(1).expect("it stays").1;
    assert!(gone.flags.has(PvFlag::Missing));
    // Nothing is put where a device is missing that the array does not use.
    let beside = done(repair(&vg, &[1, 3], ArrayState::InSync));
    assert!(shown(&beside).contains("a_rimage_1: READ WRITE REBUILD 0+2@pv4:1"));
    let lost = refusal(repair(&vg, &[0, 1], ArrayState::InSync));
    assert!(lost.contains("lost 2 of its 3 images"), "{lost}");
    let early = refusal(repair(&vg, &[1], ArrayState::OutOfSync));
    assert!(early.contains("not in-sync"), "{early}");
    let whole = refusal(repair(&vg, &[5], ArrayState::InSync));
    assert!(
        whole.ends_with("is consistent. Nothing to repair."),
        "{whole}"
    );
    // A mirror may have become what nobody has used: its first copy is the one that is right.
    let unused = |level, lost| repair(&made(level), &[lost], ArrayState::Unused);
    assert!(refusal(unused("raid5", 1)).contains("not in-sync"));
    assert!(refusal(unused("raid1", 0)).contains("not in-sync"));
    let second = done(unused("raid1", 1));
    assert!(shown(&second).contains("a_rimage_1: READ WRITE REBUILD 0+4@pv2:1"));
}

#[test]
fn errors_are_replaced() {
    // Proves: what vgreduce --removemissing --force leaves is repaired behind it, and the volume
    // grows again.
    let vg = made("raid6");
    let lost = pvs(&vg, &[2]);
    let (states, partial) = (ImageStates::default(), PartialVolumes::Remove);
    let area = |pv: &crate::model::PhysicalVolume| AreaState {
        pv: pv.uuid,
        area: 0,
        usage: AreaUse::Used,
    };
    let areas: Vec<AreaState> = vg.pvs().map(|(_, pv)| area(pv)).collect();
    let reduced = done(by_author(|author| {
        remove_missing(&vg, &lost, partial, &states, &areas, author)
    }));
    assert_eq!(reduced.pv_count(), 7);
    let repaired = done(repair(&reduced, &[], ArrayState::InSync));
    let image = repaired.lv(id(&repaired, "a_rimage_2"));
    assert!(image.flags.has(LvFlag::Rebuild));
    assert_eq!(image.extents().0, 2);
    let again = refusal(repair(&repaired, &[], ArrayState::InSync));
    assert!(again.ends_with("Nothing to repair."), "{again}");
}

#[test]
fn images_are_filled_once_more() {
    // Proves: the flag on what was named, and stock's refusals.
    let rebuild = |vg: &VolumeGroup, on: &[usize]| {
        let replacement = Replacement {
            volume: "a",
            pvs: &pvs(vg, on),
            places: None,
            policy: None,
            state: ArrayState::InSync,
        };
        by_author(|author| rebuild_images(vg, &replacement, author))
    };
    let vg = done(rebuild(&made("raid1"), &[1]));
    assert!(shown(&vg).contains("a_rimage_1: READ WRITE REBUILD 0+4@pv1:1"));
    assert_eq!(
        refusal(rebuild(&made("raid1"), &[0, 1])),
        "Unable to rebuild all PVs from vg/a at once."
    );
    assert_eq!(
        refusal(rebuild(&made("raid1"), &[6])),
        "Logical volume vg/a does not contain devices specified to rebuild."
    );
}
