//! `lvconvert` of snapshots: a store is split off, a volume becomes one, or a snapshot is merged.

use ashlar::activate::Activator;
use ashlar::apply::Question;
use lvm2::model::{LvId, Relations, VolumeGroup};
use lvm2::plan::Message;
use lvm2::plan::logical::{
    CHUNK_SIZE_DEFAULT, Join, MergeStart, StoreHead, join_snapshot, split_snapshot, start_merge,
};

use super::activation::close;
use super::arguments::{Choice, ZERO, choice};
use super::convert_subject::require_store;
use super::groups::changeable_group;
use super::lvcreate::SNAPSHOT;
use super::new_snapshot::chunk_size;
use super::volumes::{TYPE, default_group, path, require_group_name, require_valid_name};
use super::work::{Work, planned};
use crate::args::{Arguments, Error, Flag, LvName};
use crate::attachment::Runtime;
use crate::commands::detach::require_unused;

/// `--splitsnapshot`
pub(super) const SPLIT_SNAPSHOT: Flag = Flag::switch(
    "splitsnapshot",
    "Make the store of a snapshot a volume of its own, which holds what differs from the origin as \
     it lies in the store. The snapshot is gone; -s -Z n brings it back as long as nobody has \
     written to the origin.",
);

/// `--merge`
pub(super) const MERGE: Flag = Flag::switch(
    "merge",
    "Merge a snapshot back into its origin: the origin holds at once what the snapshot holds, and \
     the store is copied back while the origin is served. Then the snapshot is gone. Where the \
     origin is not served, or is attached and open, the merge begins when it is used next.",
);
/// `--mergesnapshot`
pub(super) const MERGE_SNAPSHOT: Flag = Flag::switch("mergesnapshot", "The same as --merge.");

/// Whether a volume is to become the store of a snapshot.
pub(super) fn joins(arguments: &Arguments) -> bool {
    arguments.has(&SNAPSHOT) || arguments.value(&TYPE) == Some("snapshot")
}

/// The store of a snapshot becomes a volume.
pub(super) fn split_off(work: &mut Work<'_>, volume: &LvName) -> Result<(), Error> {
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let found = scan.find_group(&volume.vg)?;
        planned(split_snapshot(&found.model, &volume.lv, author))
    })?;
    Ok(())
}

/// A snapshot goes back into its origin.
pub(super) fn merge(work: &mut Work<'_>, volume: &LvName) -> Result<(), Error> {
    close_store(work, volume)?;
    let host = work.host().clone();
    let served = work.served();
    let ownership = work.ownership();
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let found = scan.find_group(&volume.vg)?;
        let model = &found.model;
        let store = model.lv_by_name(&volume.lv);
        let relations = Relations::of(model);
        let origin = store.and_then(|store| relations.snapshot_of_cow(model, store));
        let runs = origin.is_some_and(|snapshot| {
            let neighbours = relations.snapshots(model, snapshot.origin);
            let mut all = neighbours.map(|one| one.cow).chain([snapshot.origin]);
            all.any(|lv| served.contains(&model.lv(lv).uuid))
        });
        // One that holds nothing any more gives nothing back. An origin that runs knows that.
        match (store, origin) {
            (Some(store), Some(_)) if !runs => {
                let is_ours = ownership.is_of(found.uuid);
                let mut reader = Activator::new(scan, &host).among_ours(is_ours);
                reader.store_used(found, store)?;
            }
            _ => {}
        }
        let waits = origin.is_some_and(|snapshot| runs && is_open(model, snapshot.origin));
        let start = if runs && !waits {
            MergeStart::Now
        } else {
            MergeStart::Later
        };
        let mut planned = planned(start_merge(model, &volume.lv, start, author))?;
        if waits {
            let note = Message::note("Delaying merge since origin is open.");
            planned.change.messages.insert(0, note);
        }
        Ok(planned)
    })?;
    Ok(())
}

/// A snapshot that is active and that nobody uses becomes inactive: after the merge it is gone.
fn close_store(work: &Work<'_>, volume: &LvName) -> Result<(), Error> {
    if !work.is_owner() || work.is_test() || work.is_shown() {
        return Ok(());
    }
    let scan = work.scan()?;
    // What is not there the change itself tells.
    let Ok(found) = scan.find_group(&volume.vg) else {
        return Ok(());
    };
    match found.model.lv_by_name(&volume.lv) {
        Some(store) if Relations::of(&found.model).is_cow(store) => close(found, &[store], work),
        _ => Ok(()),
    }
}

/// Whether somebody has the node or the file open at which a volume is attached, as who mounts it
/// has: a file system must not find other bytes under itself. A client of NBD may see them.
fn is_open(vg: &VolumeGroup, lv: LvId) -> bool {
    let all = Runtime::if_there().and_then(|runtime| runtime.attachments().ok());
    let mut all = all.unwrap_or_default().into_iter();
    all.any(|one| {
        one.is_served() && one.record.find(vg) == Some(lv) && require_unused(&one).is_err()
    })
}

/// Fails where no origin of this store can have this name.
fn require_origin_name(origin: &str, store: &LvName) -> Result<(), Error> {
    require_valid_name("Logical volume name", origin)?;
    if origin == store.lv {
        return Err(Error::failed(format!(
            "Unable to use {}/{origin} as both snapshot and origin.",
            store.vg
        )));
    }
    Ok(())
}

/// A volume becomes the store of a snapshot.
pub(super) fn join(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let [origin, store] = arguments.operands() else {
        return Err(Error::usage(
            "Please name the origin and the volume that becomes the store, as in: lvconvert -s \
             vg0/data vg0/store",
        ));
    };
    // Either may name the group of both.
    let (of_origin, origin) = path(origin).map_err(Error::failed)?;
    let (of_store, store) = path(store).map_err(Error::failed)?;
    let Some(group) = of_store
        .or_else(|| of_origin.clone())
        .or_else(default_group)
    else {
        return Err(Error::failed(format!(
            "Cannot find VG name for LV {store}."
        )));
    };
    require_group_name(&group)?;
    let scan = work.scan()?;
    let found = changeable_group(&scan, &group, &[])?;
    let store = LvName {
        vg: group.clone(),
        lv: store,
    };
    require_store(arguments, work, &store)?;
    if let Some(other) = of_origin.filter(|other| *other != group) {
        return Err(Error::failed(format!(
            "Please use a single volume group name (\"{other}\" or \"{group}\")."
        )));
    }
    let failed = |error: Error| Error::failed(error.to_string());
    require_origin_name(&origin, &store).map_err(failed)?;
    let chunk_size = chunk_size(arguments).map_err(failed)?;
    let origin = LvName {
        vg: group,
        lv: origin,
    };
    if found.model.lv_by_name(&origin.lv).is_none() {
        return Err(Error::failed(format!(
            "Couldn't find origin volume {} in Volume group {}.",
            origin.lv, origin.vg
        )));
    }
    let join = Join {
        origin: &origin.lv,
        store: &store.lv,
        chunk_size: chunk_size.unwrap_or(CHUNK_SIZE_DEFAULT),
        head: match choice(arguments, &ZERO)? {
            Some(Choice::No) => StoreHead::Kept,
            Some(Choice::Yes) | None => StoreHead::Zeroed,
        },
    };
    let request = work.request_of(&[&origin.vg]);
    work.change(&request, |scan, author| {
        let found = scan.find_group(&origin.vg)?;
        let mut planned = planned(join_snapshot(&found.model, &join, author))?;
        planned.questions.push(Question {
            text: format!(
                "Do you really want to convert {}/{}? [y/n]: ",
                store.vg, store.lv
            ),
            refusal: "Conversion aborted.".to_owned(),
        });
        Ok(planned)
    })?;
    Ok(())
}
