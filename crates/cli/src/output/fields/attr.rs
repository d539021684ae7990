//! The strings of letters: `-wi-a-----`, `wz--n-`, `a--`.
//!
//! The letters and their precedence are LVM2's (see the notes of `man lvs`, `vgs`, `pvs`). Who
//! serves or attaches a volume makes it active; what only a running target can tell is
//! told by the owner of its group, of a RAID volume by its superblocks, or stays `-`.

use ashlar::scan::{Duplicate, FoundPv};
use lvm2::model::{LvId, PvFlag, SegmentType, VgFlag, policy_letter};

use super::catalogue::fields;
use crate::output::report::{FieldKind, Value};
use crate::output::{Group, Row, State, Style, Trouble};

fields! { FIELDS of LvInfoStatus {
    "lv_attr" "Attr" FieldKind::Text, 0, lv_attr_field, "Type, permissions and state, as letters.";
} }

fn lv_attr_field(row: &Row<'_>, _: &Style) -> Value {
    Value::text(
        row.volume()
            .map(|(group, lv, _)| lv_attr(group, lv))
            .unwrap_or_default(),
    )
}

/// The letters of a logical volume.
pub(crate) fn lv_attr(group: &Group, lv: LvId) -> String {
    let mut letters = lvm2::model::lv_attr(&group.vg, &group.relations, lv);
    let is_mirror = matches!(group.vg.lv(lv).first(), Some(SegmentType::Mirror(_)));
    match group.state(lv) {
        State::Inactive => {}
        State::Unknown => {
            (letters[4], letters[5]) = ('X', 'X');
            if is_mirror {
                letters[8] = 'X';
            }
        }
        State::Active(active) => {
            let is_invalid = active.snapshot.is_some_and(|snapshot| snapshot.is_invalid);
            letters[4] = if is_invalid { 'I' } else { 'a' };
            if active.is_open {
                letters[5] = 'o';
            }
            if active.is_only_read && letters[1] == 'w' {
                letters[1] = 'R';
            }
            if letters[0] == 'I' && group.is_synced_image(lv) {
                letters[0] = 'i';
            }
            if active.has_failed() {
                letters[8] = 'r';
            }
        }
    }
    match group.trouble(lv) {
        Some(Trouble::Unknown) => letters[8] = 'X',
        Some(Trouble::Distrusted) => letters[8] = 'r',
        Some(Trouble::Reshaping) => letters[8] = 's',
        None => {}
    }
    if group.is_partial(lv) {
        letters[8] = 'p';
    }
    letters.into_iter().collect()
}

/// The letters of a volume group.
pub(crate) fn vg_attr(group: &Group) -> String {
    let vg = &group.vg;
    let flag = |flag, letter| if vg.flags.has(flag) { letter } else { '-' };
    let shared = match (vg.flags.has(VgFlag::Clustered), vg.lock_type.as_deref()) {
        (true, _) => 'c',
        (false, None | Some("none")) => '-',
        (false, Some(_)) => 's',
    };
    let letters = [
        if vg.is_writable() { 'w' } else { 'r' },
        flag(VgFlag::Resizeable, 'z'),
        flag(VgFlag::Exported, 'x'),
        if group.missing_count() > 0 { 'p' } else { '-' },
        policy_letter(Some(vg.allocation)),
        shared,
    ];
    letters.into_iter().collect()
}

/// The letters of a physical volume.
pub(crate) fn pv_attr(row: &Row<'_>) -> String {
    let duplicate = |pv: &FoundPv| pv.duplicate == Duplicate::Unchosen;
    let physical = row.physical();
    let used = physical.is_some() || row.label().is_some_and(super::pv::is_marked_used);
    let first = match physical {
        _ if row.label().is_some_and(duplicate) => 'd',
        Some((_, _, pv)) if pv.flags.has(PvFlag::Allocatable) => 'a',
        _ if used => 'u',
        _ => '-',
    };
    let exported = physical.is_some_and(|(group, _, _)| group.vg.flags.has(VgFlag::Exported));
    let missing = physical.is_some_and(|(group, pv, _)| group.is_missing(pv));
    [
        first,
        if exported { 'x' } else { '-' },
        if missing { 'm' } else { '-' },
    ]
    .into_iter()
    .collect()
}
