//! Metadata areas that a commit brings up to date, as people are told.

use lvm2::model::VolumeGroup;
use lvm2::plan::unfinished::is_unfinished;
use lvm2::plan::{Change, GroupChange, Message};

use crate::scan::{AreaContent, FoundArea, FoundVg, Scan};

/// Which areas have an old text of a group that is written; the words are stock's.
pub(super) fn updates(scan: &Scan, change: &Change) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut marked = None;
    for change in &change.groups {
        let (new, seqno) = match change {
            // Stock has no text with a mark, which the next one takes away.
            GroupChange::Commit(new) if marked == Some(new.uuid) => continue,
            GroupChange::Commit(new) => (new, new.seqno),
            // Stock removes the volumes first, which is a text of its own.
            GroupChange::Erase(old) if old.lv_count() > 0 => (old, old.seqno + 1),
            GroupChange::Erase(_) => continue,
        };
        marked = is_unfinished(new).then_some(new.uuid);
        if let Some(found) = scan.groups_of_uuid(new.uuid).next() {
            let text = |device: &str| {
                let text = format!(
                    "updating old metadata to {seqno} on {device} for VG {}.",
                    new.name
                );
                Message::warning(text)
            };
            messages.extend(old(scan, found, new).into_iter().map(text));
        }
    }
    messages
}

/// The devices that stay in a group, or join it, and hold an older text than its newest one.
fn old<'s>(scan: &'s Scan, group: &FoundVg, new: &VolumeGroup) -> Vec<&'s str> {
    let is_old = |area: &FoundArea| match &area.content {
        AreaContent::Version(version) => version.seqno < group.seqno,
        AreaContent::Empty | AreaContent::Ignored | AreaContent::Damaged(_) => false,
    };
    let members = scan.groups.iter().flat_map(|group| &group.members);
    let usable = members.filter_map(|member| member.presence.usable());
    let pvs = usable.map(|pv| scan.pv(pv));
    pvs.filter(|pv| new.pv_by_uuid(&pv.uuid).is_some() && pv.areas.iter().any(is_old))
        .map(|pv| scan.device(pv.device).name.as_str())
        .collect()
}
