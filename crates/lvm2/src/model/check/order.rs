//! Whether following references ever ends, and in which order volumes can be built.
//!
//! A depth-first walk with a stack of its own: texts can stack volumes deeper than threads can
//! call functions.

use alloc::vec;
use alloc::vec::Vec;

use super::Checker;
use crate::model::geometry::Part;
use crate::model::ids::LvId;
use crate::model::vg::VolumeGroup;

/// How far the walk has come with a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Unseen,
    /// Something that it stands on is being looked at.
    Open,
    Done,
}

pub(super) fn check(checker: &mut Checker<'_>) {
    if let Err(lv) = dependency_order(checker.vg) {
        checker.lv_error(
            lv,
            "it stands on itself, through the volumes that it refers to",
        );
    }
}

/// All logical volumes, each behind those that it stands on; or one that stands on itself.
///
/// What a thin pool is still to create, and where a thin volume is to be merged to, does not
/// count: nothing stands on those.
pub fn dependency_order(vg: &VolumeGroup) -> Result<Vec<LvId>, LvId> {
    let mut progress = vec![Progress::Unseen; vg.lv_slots()];
    let mut order = Vec::with_capacity(vg.lv_count());
    for (root, _) in vg.lvs() {
        if progress[root.index()] != Progress::Unseen {
            continue;
        }
        progress[root.index()] = Progress::Open;
        let mut stack = vec![(root, stands_on(vg, root))];
        while let Some((lv, left)) = stack.last_mut() {
            let Some(next) = left.pop() else {
                debug_assert_eq!(
                    progress[lv.index()],
                    Progress::Open,
                    "it is left after it was entered"
                );
                progress[lv.index()] = Progress::Done;
                order.push(*lv);
                stack.pop();
                continue;
            };
            match progress[next.index()] {
                Progress::Done => {}
                Progress::Open => return Err(next),
                Progress::Unseen => {
                    progress[next.index()] = Progress::Open;
                    stack.push((next, stands_on(vg, next)));
                }
            }
        }
    }
    assert_eq!(
        order.len(),
        vg.lv_count(),
        "each volume has its place in the order"
    );
    Ok(order)
}

fn stands_on(vg: &VolumeGroup, lv: LvId) -> Vec<LvId> {
    let mut found = Vec::new();
    for segment in &vg.lv(lv).segments {
        segment.for_each_reference(|used, part| {
            if !matches!(part, Part::ThinMessage | Part::ThinMerge) {
                found.push(used);
            }
        });
    }
    // A volume with many segments on one other needs to look there once.
    found.sort_unstable();
    found.dedup();
    found.reverse();
    found
}
