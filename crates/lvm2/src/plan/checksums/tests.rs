//! Volumes with checksums, in the group in which stock made one of every type.

use crate::model::VolumeGroup;
use crate::model::samples::every_type;
use crate::plan::logical::{Along, remove_volumes, rename_volume};
use crate::plan::samples::{by_author, done, id, refusal, resize};

/// That group, without what is of an unknown type.
fn known() -> VolumeGroup {
    let mut vg = every_type();
    vg.remove_lv(id(&vg, "un"));
    vg
}

/// Images with checksums of stock's grow, and do not shrink, and it is said why.
#[test]
fn what_has_checksums_is_not_reduced() {
    let vg = known();
    let grown = done(resize(&vg, "ri", "+1", None));
    let extents = |vg: &VolumeGroup| vg.lv(id(vg, "ri_rimage_0_iorig")).extents().0;
    assert_eq!(extents(&grown), extents(&vg) + 1);
    let said = refusal(resize(&vg, "ri", "-1", None));
    assert!(
        said.contains("/ri has checksums") && said.contains("--raidintegrity n"),
        "{said}"
    );
}

/// It is renamed and removed with all of its parts.
#[test]
fn what_has_checksums_is_renamed_and_removed() {
    let vg = known();
    let parts = |vg: &VolumeGroup, name: &str| {
        let of = vg
            .lvs()
            .filter(|(_, lv)| lv.name().split('_').next() == Some(name));
        of.count()
    };
    assert_eq!(parts(&vg, "ri"), 9);
    let renamed = done(by_author(|author| {
        rename_volume(&vg, "ri", "checked", author)
    }));
    assert_eq!((parts(&renamed, "ri"), parts(&renamed, "checked")), (0, 9));
    let gone = by_author(|author| remove_volumes(&vg, &["ri"], Along::Nothing, author));
    let gone = done(gone);
    assert_eq!(
        (parts(&gone, "ri"), gone.lv_count() + 9),
        (0, vg.lv_count())
    );
}
