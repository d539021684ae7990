//! `lvchange`: properties of volumes.

use std::collections::BTreeSet;

use ashlar::apply::Tolerated;
use ashlar::scan::{Member, Restriction};
use lvm2::Uuid;
use lvm2::model::Relations;
use lvm2::plan::group::is_partial;
use lvm2::plan::logical::{
    AttributeChange, change_volume, refused_change, resync_array, resync_mirror,
};

use super::activation::{
    ACTIVATE, Activation, asked, change_volumes, refresh, refresh_active, require_usable,
};
use super::arguments::{ADD_TAG, ALLOC, CHANGE, Choice, FORCE, choice, refuse};
use super::arrays::{MAX_RATE, MIN_RATE};
use super::change_array::{self, REBUILD, WRITE_BEHIND, WRITE_MOSTLY, is_about_arrays};
use super::chosen::{
    Chosen, chosen, groups_in_play, named_groups, retain_changeable, skipped_cluster,
};
use super::limits::changed_minor;
use super::lvconvert::state;
use super::not_done;
use super::profiles::{DETACH_PROFILE, METADATA_PROFILE, changed_profile};
use super::reset_failed::{self, RESET};
use super::run::run;
use super::selection::SELECT;
use super::syncaction::{SYNC_ACTION, check};
use super::volumes::{
    ACCEPTED, AUTOACTIVATION, CONTIGUOUS, IGNORE_SKIP, MAJOR, MINOR, PERMISSION, PERSISTENT,
    READ_AHEAD, SKIP, allocation, autoactivation, permission, read_ahead, skip, tags, type_shown,
};
use super::work::{Work, failed, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, LvName, Target, flags, split_target};
use crate::commands::open::ACTIVATION_MODE;

const REMOVE_TAG: Flag = Flag::value("deltag", "Tag", "A tag to be removed. May be repeated.");
const REFRESH: Flag = Flag::switch(
    "refresh",
    "Give the node of an active volume the permission that the metadata have; all else that is \
     served is always the newest.",
);
const RESYNC: Flag = Flag::switch(
    "resync",
    "Make all copies of a mirror or an array equal to its first one, and the parity of an array \
     right for its data, when it is used next.",
);
const SYSINIT: Flag = Flag::switch("sysinit", "Accepted for scripts.");

/// What pools are told, and not done here.
const POOLS: &[Flag] = &[Flag::value("zero", "y|n", "Not done yet: thin pools.").short('Z')];

/// `lvchange`
pub(super) const COMMAND: Command = Command {
    name: "lvchange",
    summary: "Change properties of logical volumes",
    operands: "VG|LV|@TAG ...",
    description: "Changes what the metadata says about volumes: whether they may be written, their \
        tags, how extents are chosen for them. Several changes are made together or not at all.",
    flags: &[
        &[
            PERMISSION,
            ADD_TAG,
            REMOVE_TAG,
            ALLOC,
            CONTIGUOUS,
            READ_AHEAD,
            SKIP,
            IGNORE_SKIP,
            AUTOACTIVATION,
            PERSISTENT,
            MINOR,
            MAJOR,
            ACTIVATE,
            ACTIVATION_MODE,
            REFRESH,
            RESYNC,
            RESET,
            REBUILD,
            WRITE_MOSTLY,
            WRITE_BEHIND,
            MIN_RATE,
            MAX_RATE,
            SYNC_ACTION,
            SYSINIT,
            SELECT,
            METADATA_PROFILE,
            DETACH_PROFILE,
            FORCE,
            flags::PARTIAL,
            flags::READ_ONLY,
            flags::IGNORE_LOCKING_FAILURE,
        ],
        CHANGE,
        ACCEPTED,
        POOLS,
        not_done::SETTINGS,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "lvchange -p r vg0/data",
            does: "makes a volume read-only",
        },
        Example {
            line: "lvchange --addtag old vg0",
            does: "gives all volumes of a group a tag",
        },
    ],
    run,
};

/// Changes the volumes, one after the other.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    if arguments.has(&SYNC_ACTION) {
        return check(arguments, work);
    }
    let (added, removed) = (tags(arguments, &ADD_TAG)?, tags(arguments, &REMOVE_TAG)?);
    let mut changes = property_changes(arguments, work, (&added, &removed))?;
    let active = asked(arguments)?;
    let is_about_arrays = is_about_arrays(arguments);
    let changes_text = !changes.is_empty()
        || is_about_arrays
        || [&RESYNC, &RESET, &PERSISTENT]
            .into_iter()
            .any(|flag| arguments.has(flag));
    let mut volumes = chosen(arguments, work)?;
    if changes_text {
        retain_changeable(&mut volumes, arguments, work)?;
    }
    refuse(arguments, &[POOLS, not_done::SETTINGS])?;
    if choice(arguments, &PERSISTENT)? == Some(Choice::Yes) {
        retain_numbered(&mut volumes, work)?;
    }
    if arguments.has(&ALLOC) || arguments.has(&CONTIGUOUS) {
        retain_whole(&mut volumes, arguments, work)?;
    }
    if !volumes.is_empty() {
        changes.extend(changed_minor(arguments, work)?);
    }
    require_arrays(&mut volumes, arguments, work)?;
    if active.is_some() || arguments.has(&REFRESH) {
        retain_usable(&mut volumes, arguments, work)?;
    }
    for volume in &volumes {
        if !changes.is_empty()
            && let Err(error) = change_properties(volume, &changes, work)
        {
            work.fail_later(&error.to_string());
        }
        if is_about_arrays && let Err(error) = change_array::change(volume, arguments, work) {
            work.fail_later(&error.to_string());
        }
        if arguments.has(&RESYNC)
            && let Err(error) = resync(volume, work)
        {
            work.fail_later(&error.to_string());
        }
        if arguments.has(&RESET)
            && let Err(error) = reset_failed::reset(volume, work)
        {
            work.fail_later(&error.to_string());
        }
    }
    let groups: BTreeSet<&String> = volumes.iter().map(|one| &one.group).collect();
    for group in groups {
        let own = volumes.iter().filter(|one| one.group == *group);
        let own: Vec<Uuid> = own.map(|one| one.uuid).collect();
        if let Err(error) = attend(group, &own, active, arguments, work) {
            work.fail_later(&error.to_string());
        }
    }
    Ok(())
}

/// Makes those changes of one volume that can be made; what cannot is said, and fails the command,
/// as in stock.
fn change_properties(
    volume: &Chosen,
    changes: &[AttributeChange<'_>],
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let mut request = work.request_of(&[&volume.group]);
    request.tolerated.push(Tolerated::Absent);
    let mut refused: Vec<String> = Vec::new();
    let outcome = work.change(&request, |scan, author| {
        let (found, id) = volume.find(scan)?;
        let name = found.model.lv(id).name();
        refused.clear();
        let mut possible = changes.to_vec();
        // One alone is refused by the plan.
        if changes.len() > 1 {
            possible.retain(|change| {
                let refusal = refused_change(&found.model, name, *change);
                refused.extend(refusal.as_ref().map(|error| error.context.clone()));
                refusal.is_none()
            });
        }
        if possible.is_empty() {
            refused.clear();
            possible = changes.to_vec();
        }
        planned(change_volume(&found.model, name, &possible, author))
    });
    for why in refused {
        work.fail_later(&why);
    }
    outcome.map(drop)
}

/// What is to become of properties of the volumes.
fn property_changes<'a>(
    arguments: &'a Arguments,
    work: &mut Work<'_>,
    (added, removed): (&'a [String], &'a [String]),
) -> Result<Vec<AttributeChange<'a>>, Error> {
    let mut changes: Vec<AttributeChange<'_>> = Vec::new();
    changes.extend(permission(arguments)?.map(AttributeChange::Permission));
    let allocation = allocation(arguments)?;
    changes.extend(allocation.map(|allocation| AttributeChange::Allocation(allocation.own())));
    changes.extend(read_ahead(arguments, work)?.map(AttributeChange::ReadAhead));
    changes.extend(skip(arguments)?.map(AttributeChange::Skip));
    changes.extend(autoactivation(arguments)?.map(AttributeChange::Autoactivation));
    let profile = changed_profile(arguments)?;
    changes.extend(profile.map(|profile| AttributeChange::Profile(profile.name())));
    changes.extend(removed.iter().map(|tag| AttributeChange::RemoveTag(tag)));
    changes.extend(added.iter().map(|tag| AttributeChange::AddTag(tag)));
    Ok(changes)
}

/// Takes away the volumes that can have no number of a device, and says so.
fn retain_numbered(volumes: &mut Vec<Chosen>, work: &mut Work<'_>) -> Result<(), Error> {
    let scan = work.scan()?;
    let mut kept = Vec::new();
    for volume in volumes.drain(..) {
        let (found, id) = volume.find(&scan).map_err(|error| failed(&error))?;
        let (vg, name) = (&found.model, format!("{}/{}", volume.group, volume.name));
        let kind = type_shown(vg, id);
        if !Relations::of(vg).is_visible(vg, id) {
            work.fail_later(&format!("Operation not permitted on hidden LV {name}."));
        } else if kind.ends_with("pool") {
            work.fail_later(&format!(
                "Command on LV {name} with invalid LV type {kind}.\nCommand not permitted on LV \
                 {name}."
            ));
        } else {
            kept.push(volume);
        }
    }
    *volumes = kept;
    Ok(())
}

/// Takes away the volumes of which a part is gone, and says so; of those that were named that is an
/// error.
fn retain_whole(
    volumes: &mut Vec<Chosen>,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let scan = work.scan()?;
    let named = named_alone(arguments);
    let mut kept = Vec::new();
    for volume in volumes.drain(..) {
        let (found, id) = volume.find(&scan).map_err(|error| failed(&error))?;
        let is_gone = |member: &&Member| member.presence.found().is_none();
        let gone = found.members.iter().filter(is_gone);
        if !is_partial(&found.model, id, &gone.map(|member| member.id).collect()) {
            kept.push(volume);
            continue;
        }
        let name = format!("{}/{}", volume.group, volume.name);
        let why = format!(
            "Command on LV {name} uses options that are invalid with LV properties: lv_is_partial ."
        );
        if named(&volume) {
            work.fail_later(&format!("{why}\nCommand not permitted on LV {name}."));
        } else {
            work.error(&why);
        }
    }
    *volumes = kept;
    Ok(())
}

/// Which volumes are named themselves, and not as part of a group.
fn named_alone(arguments: &Arguments) -> impl Fn(&Chosen) -> bool {
    let named = arguments.operands().iter().map(|word| split_target(word));
    let named: Vec<Target> = named.collect();
    move |volume| {
        let group = Target::Vg(volume.group.clone());
        let own = Target::Lv(LvName {
            vg: volume.group.clone(),
            lv: volume.name.clone(),
        });
        named.contains(&own) && !named.contains(&group)
    }
}

/// Takes away the volumes that are not of a type for which what is asked is, and says so; of those
/// that were named that is an error.
fn require_arrays(
    volumes: &mut Vec<Chosen>,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let has = |flags: &[&Flag]| flags.iter().any(|flag| arguments.has(flag));
    let is_of_raid1 = has(&[&WRITE_MOSTLY, &WRITE_BEHIND]);
    let wanted = if has(&[&RESYNC]) {
        "mirror or raid"
    } else if has(&[&REBUILD, &MIN_RATE, &MAX_RATE]) {
        "raid"
    } else if is_of_raid1 {
        "raid1"
    } else {
        return Ok(());
    };
    let is_of_options = !has(&[&RESYNC, &REBUILD]);
    let scan = work.scan()?;
    let is_named = named_alone(arguments);
    let cannot_be_rebuilt = |kind: &str| kind.starts_with("raid0") && has(&[&REBUILD]);
    let mut kept = Vec::new();
    for volume in volumes.drain(..) {
        let (found, id) = volume.find(&scan).map_err(|error| failed(&error))?;
        let kind = type_shown(&found.model, id);
        let is_array = kind.starts_with("raid");
        let wanted = if is_of_raid1 && is_array {
            "raid1"
        } else {
            wanted
        };
        let fits = match wanted {
            "raid1" => kind == "raid1",
            "raid" => is_array && !cannot_be_rebuilt(&kind),
            _ => kind == "mirror" || is_array,
        };
        if fits {
            kept.push(volume);
            continue;
        }
        let name = format!("{}/{}", volume.group, volume.name);
        let mut why = if cannot_be_rebuilt(&kind) {
            // As stock calls them where the type has no copies.
            format!("Command on LV {name} with invalid LV type striped.")
        } else if is_of_options {
            format!("Command on LV {name} uses options that require LV types {wanted} .")
        } else {
            format!("Command on LV {name} does not accept LV type {kind}.")
        };
        if is_of_options && is_of_raid1 && wanted == "raid" {
            let both = format!("Command on LV {name} uses options that require LV types raid1 .");
            why = format!("{why}\n{both}");
        }
        // Of a whole group and of a tag, those that fit are meant.
        if is_named(&volume) {
            work.fail_later(&format!("{why}\nCommand not permitted on LV {name}."));
        } else {
            work.error(&why);
        }
    }
    *volumes = kept;
    Ok(())
}

/// `-a` and `--refresh` of volumes of one group, and what a new permission means for their nodes.
fn attend(
    group: &str,
    volumes: &[Uuid],
    active: Option<Activation>,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let is_permitted = permission(arguments)?.is_some();
    if active.is_none() && !arguments.has(&REFRESH) && !is_permitted {
        return Ok(());
    }
    let scan = work.scan()?;
    let found = scan.find_group(group).map_err(|error| failed(&error))?;
    if arguments.has(&REFRESH) {
        refresh(found, Some(volumes), arguments, work)?;
    } else if is_permitted && work.active(found.uuid).is_some() {
        let ids = volumes
            .iter()
            .filter_map(|uuid| found.model.lv_by_uuid(uuid));
        refresh_active(&found.model, &ids.collect::<Vec<_>>(), arguments, work)?;
    }
    match active {
        Some(wanted) => change_volumes(found, volumes, wanted, arguments, work),
        None => Ok(()),
    }
}

/// Takes away the volumes of groups that are not used here, which is an error for those that were
/// named.
fn retain_usable(
    volumes: &mut Vec<Chosen>,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let scan = work.scan()?;
    let named = named_groups(arguments);
    for found in groups_in_play(volumes, arguments, &scan) {
        if let Err(error) = require_usable(found) {
            volumes.retain(|one| one.group != found.name);
            if named.contains(&found.name) {
                work.fail_later(&error.to_string());
            } else if found.restrictions.first() == Some(&Restriction::Clustered) {
                work.error(&skipped_cluster(&found.name));
            }
        }
    }
    Ok(())
}

/// `--resync`: not while it is used, since the copies that others wrote are made anew.
fn resync(volume: &Chosen, work: &mut Work<'_>) -> Result<(), Error> {
    let (host, at_work) = (work.host().clone(), work.arrays()?);
    let served = work.served();
    let request = work.request_of(&[&volume.group]);
    work.change(&request, |scan, author| {
        let (found, id) = volume.find(scan)?;
        let name = found.model.lv(id).name();
        if served.contains(&volume.uuid) {
            let what = format!("Can't resync open logical volume {}/{name}.", found.name);
            return Err(ashlar::Error::new(ashlar::Kind::Refused, what));
        }
        if let Some(array) = change_array::state_of(scan, found, id, &at_work)? {
            return planned(resync_array(&found.model, name, array, author));
        }
        state(scan, &host, found, id)?;
        planned(resync_mirror(&found.model, name, author))
    })
    .map(drop)
}
