//! Volumes become active, or are no more: in the owner of their group.

use ashlar::host::VolumeList;
use ashlar::live::{Client, LiveGroup};
use ashlar::scan::FoundVg;
use dm::volume::Access as VolumeAccess;
use export::fuse::Access;
use export::loop_device::Frozen;
use lvm2::Uuid;
use lvm2::model::{LogicalVolume, LvId, Relations, VolumeGroup};

use super::super::run::{OWNERS_MAX, owners_end};
use super::super::volumes::IGNORE_SKIP;
use super::super::work::{Work, failed, inactive};
use super::begin::begin_for;
use super::served::served;
use super::wanted::{Act, Meant, is_chosen, meant, refusals, wanted, with_snapshots};
use super::{ACTIVATE, Activation, asked};
use crate::args::{Arguments, Error, Flag, flags};
use crate::attachment::Claim;
use crate::commands::open::{ACTIVATION_MODE, Opener};
use crate::live::{Nodes, Wanted, of_caller};

/// Names that stand on one line, in bytes; a name has 255 at most, and JSON makes three more of
/// each. With the options beside them they are less than `ashlar::live` takes.
const NAMES_MAX: usize = 32 << 10;
/// What the owner has to be told of an activation.
const OF_ACTIVATION: &[&Flag] = &[
    &ACTIVATE,
    &ACTIVATION_MODE,
    &flags::PARTIAL,
    &IGNORE_SKIP,
    &flags::VERBOSE,
    &flags::QUIET,
    &flags::YES,
];

/// `vgchange -a`: the volumes of a group, and how many are active then.
pub(in crate::commands::change) fn change_group(
    group: &FoundVg,
    activation: Activation,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    if !change(group, Meant::Group, activation, arguments, work)? {
        return Ok(());
    }
    let served = served(group, work)?;
    let visible = meant(&group.model, Meant::Group);
    let is_active = |id: &&LvId| served.has(group.model.lv(**id).uuid);
    work.note(&format!(
        "{} logical volume(s) in volume group \"{}\" now active",
        visible.iter().filter(is_active).count(),
        group.name
    ));
    Ok(())
}

/// `lvchange -a`: these volumes of one group.
pub(in crate::commands::change) fn change_volumes(
    group: &FoundVg,
    volumes: &[Uuid],
    activation: Activation,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let by = Meant::Volumes(volumes);
    change(group, by, activation, arguments, work).map(drop)
}

/// What a command has just made becomes active, in the owner, where it runs; of what was there
/// before, what is used together with it.
pub(in crate::commands::change) fn activate_new(
    vg: &VolumeGroup,
    is_new: impl Fn(&LogicalVolume) -> bool,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let Some(owner) = work.active(vg.uuid) else {
        return Ok(());
    };
    let config = work.host().config.clone();
    let activation = asked(arguments)?.unwrap_or(Activation::Yes);
    let new = meant(vg, Meant::Group).into_iter();
    let new = new.filter(|id| {
        let volume = vg.lv(*id);
        is_new(volume) && is_chosen(vg, volume, activation, arguments, &config)
    });
    let volumes = with_snapshots(vg, new.collect());
    activate(owner, vg, &volumes, arguments, work)
}

/// Whether it was done here, so that the rest is to be said here as well.
fn change(
    group: &FoundVg,
    by: Meant<'_>,
    activation: Activation,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<bool, Error> {
    if work.is_test() || work.is_shown() || !work.may_activate() {
        return Ok(true);
    }
    if work.is_owner_of(group.uuid) {
        ask_for_origins(group, by, work)?;
    }
    match (work.active(group.uuid), activation) {
        (Some(owner), Activation::No) => {
            deactivate(owner, group, by, work)?;
            Ok(true)
        }
        (Some(owner), _) => {
            let config = work.host().config.clone();
            let found = wanted(group, by, activation, arguments, &config)?;
            for refusal in found.refusals {
                work.fail_later(&refusal);
            }
            activate(owner, &group.model, &found.volumes, arguments, work)?;
            Ok(true)
        }
        (None, _) => elsewhere(group, by, activation, arguments, work),
    }
}

/// The same in the process that owns the group, which is started if there is something to do.
fn elsewhere(
    group: &FoundVg,
    by: Meant<'_>,
    activation: Activation,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<bool, Error> {
    let name = match by {
        Meant::Group => "vgchange",
        Meant::Volumes(_) => "lvchange",
    };
    let mut words = vec![name.to_owned()];
    words.extend(words_of_caller(arguments)?);
    words.extend(arguments.words_of(flags::OF_DISKS));
    words.extend(arguments.words_of(OF_ACTIVATION));
    let lines = match by {
        Meant::Group => {
            words.push(group.name.clone());
            vec![words]
        }
        Meant::Volumes(_) => {
            let volumes = meant(&group.model, by);
            lines(&words, full_names(&group.model, &volumes))
        }
    };
    let mut is_done = true;
    for line in lines {
        is_done &= said_there(&line, group, by, activation, arguments, work)?;
    }
    Ok(is_done)
}

/// A line for the process that owns the group. Whether there was nothing to do.
fn said_there(
    words: &[String],
    group: &FoundVg,
    by: Meant<'_>,
    activation: Activation,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<bool, Error> {
    for _ in 0..OWNERS_MAX {
        let client = Client::find(group.uuid).map_err(|error| failed(&error))?;
        let client = match (client, activation) {
            (Some(client), _) => client,
            (None, Activation::No) => {
                inactive(&work.host().sysfs, group).map_err(|error| failed(&error))?;
                return Ok(true);
            }
            (None, _) => {
                let found = wanted(group, by, activation, arguments, &work.host().config)?;
                if found.volumes.is_empty() {
                    for refusal in found.refusals {
                        work.fail_later(&refusal);
                    }
                    return Ok(true);
                }
                begin_for(group.uuid, arguments, work)?
            }
        };
        if work.run_elsewhere(client, words)? {
            return Ok(false);
        }
    }
    Err(owners_end())
}

/// The lines that say `words` of volumes: an owner takes no line that is too long.
fn lines(words: &[String], names: impl Iterator<Item = String>) -> Vec<Vec<String>> {
    let mut lines = vec![words.to_vec()];
    let mut bytes = 0;
    for name in names {
        bytes += name.len();
        if bytes > NAMES_MAX {
            lines.push(words.to_vec());
            bytes = name.len();
        }
        lines.last_mut().expect("there is one").push(name);
    }
    lines
}

/// The names of volumes, with that of their group.
fn full_names(vg: &VolumeGroup, volumes: &[LvId]) -> impl Iterator<Item = String> {
    let names = volumes.iter().map(|id| vg.lv(*id).name());
    names.map(|name| format!("{}/{name}", vg.name))
}

fn activate(
    (live, nodes): (&LiveGroup, &Nodes),
    vg: &VolumeGroup,
    volumes: &[LvId],
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    each(vg, volumes, arguments, work, |wanted| {
        nodes.activate(live, wanted)
    })
}

/// Does something to the nodes of volumes, and tells what comes of it.
fn each(
    vg: &VolumeGroup,
    volumes: &[LvId],
    arguments: &Arguments,
    work: &mut Work<'_>,
    act: impl Fn(&Wanted<'_>) -> Result<Vec<String>, Error>,
) -> Result<(), Error> {
    let missing = Opener::options(arguments, VolumeAccess::ReadWrite)?.missing;
    let dir = work.nodes_dir()?;
    let config = work.host().config.clone();
    let read_only = VolumeList::of(&config, "activation/read_only_volume_list");
    for id in volumes {
        let volume = vg.lv(*id);
        let is_listed = read_only.as_ref().is_some_and(|list| list.has(vg, volume));
        let wanted = Wanted {
            uuid: volume.uuid,
            name: volume.name(),
            access: if is_listed || !volume.is_writable() {
                Access::ReadOnly
            } else {
                Access::ReadWrite
            },
            missing,
            dir: &dir,
        };
        match act(&wanted) {
            Ok(gaps) => {
                for gap in gaps {
                    work.warn(&format!("{gap}."));
                }
            }
            Err(error) => work.fail_later(&error.to_string()),
        }
    }
    Ok(())
}

fn deactivate(
    (_, nodes): (&LiveGroup, &Nodes),
    group: &FoundVg,
    by: Meant<'_>,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let vg = &group.model;
    let volumes = with_snapshots(vg, meant(vg, by));
    let mut used = uses(group, &volumes, work)?;
    if !used.is_empty() {
        if let Meant::Group = by {
            used.push(format!(
                "Can't deactivate volume group \"{}\" with {} open logical volume(s)",
                group.name,
                used.len()
            ));
        }
        return Err(Error::failed(used.join("\n")));
    }
    for id in volumes {
        nodes.deactivate(vg.lv(id).uuid)?;
    }
    Ok(())
}

/// Lets the file system in a volume rest that is active here, until what this gives is dropped: a
/// snapshot that is made meanwhile is as clean as after an unmount.
pub(in crate::commands::change) fn freeze(
    group: &str,
    volume: &str,
    work: &Work<'_>,
) -> Result<Option<Frozen>, Error> {
    if !work.is_owner() || work.is_test() || work.is_shown() {
        return Ok(None);
    }
    let scan = work.scan()?;
    // What is not there the change itself tells.
    let Ok(found) = scan.find_group(group) else {
        return Ok(None);
    };
    let lv = found.model.lv_by_name(volume);
    match (work.active(found.uuid), lv) {
        (Some((_, nodes)), Some(lv)) => nodes.freeze(found.model.lv(lv).uuid),
        _ => Ok(None),
    }
}

/// Whether a volume has a node here.
pub(in crate::commands::change) fn is_active(group: &FoundVg, lv: LvId, work: &Work<'_>) -> bool {
    let owner = work.active(group.uuid);
    owner.is_some_and(|(_, nodes)| nodes.has(group.model.lv(lv).uuid))
}

/// Fails if somebody uses volumes that are to be removed and are active here.
pub(in crate::commands::change) fn require_unused(
    group: &FoundVg,
    volumes: &[LvId],
    work: &Work<'_>,
) -> Result<(), Error> {
    let active = volumes.iter().filter(|lv| is_active(group, **lv, work));
    let active: Vec<LvId> = active.copied().collect();
    match uses(group, &active, work)?.into_iter().next() {
        Some(why) => Err(Error::failed(why)),
        None => Ok(()),
    }
}

/// Makes volumes inactive that are to be removed. If somebody uses one, it fails, and none is.
pub(in crate::commands::change) fn close(
    group: &FoundVg,
    volumes: &[LvId],
    work: &Work<'_>,
) -> Result<(), Error> {
    require_unused(group, volumes, work)?;
    if let Some((_, nodes)) = work.active(group.uuid) {
        for lv in volumes {
            nodes.deactivate(group.model.lv(*lv).uuid)?;
        }
    }
    Ok(())
}

/// Makes all volumes of a group inactive, wherever they are active, so that it has no owner then.
pub(in crate::commands::change) fn end_group(
    group: &FoundVg,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let client = Client::find(group.uuid).map_err(|error| failed(&error))?;
    let Some(client) = client else {
        return Ok(());
    };
    let mut words = vec!["lvchange".to_owned(), format!("--{}=n", ACTIVATE.long)];
    words.extend(words_of_caller(arguments)?);
    words.push(group.name.clone());
    let was_failed = work.is_failed();
    work.run_elsewhere(client, &words)?;
    if work.is_failed() && !was_failed {
        return Err(Error::reported());
    }
    Ok(())
}

/// `--refresh`: who serves a volume has its newest table, so that its node's permission is all that
/// may be old; and it is said what could not be active.
pub(in crate::commands::change) fn refresh(
    group: &FoundVg,
    volumes: Option<&[Uuid]>,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let by = volumes.map_or(Meant::Group, Meant::Volumes);
    let ids = meant(&group.model, by);
    for (_, refusal) in refusals(group, &ids, Act::Refresh, arguments)? {
        work.fail_later(&refusal);
    }
    refresh_active(&group.model, &ids, arguments, work)
}

/// The nodes of volumes that are active get the permissions that the metadata have now.
pub(in crate::commands::change) fn refresh_active(
    vg: &VolumeGroup,
    volumes: &[LvId],
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    if work.is_test() || work.is_shown() {
        return Ok(());
    }
    if let Some((live, nodes)) = work.active(vg.uuid) {
        return each(vg, volumes, arguments, work, |wanted| {
            nodes.refresh(live, wanted)
        });
    }
    let client = Client::find(vg.uuid).map_err(|error| failed(&error))?;
    let Some(client) = client else {
        return Ok(());
    };
    let mut words = vec!["lvchange".to_owned(), "--refresh".to_owned()];
    words.extend(words_of_caller(arguments)?);
    words.extend(arguments.words_of(flags::OF_DISKS));
    let mut client = Some(client);
    for line in lines(&words, full_names(vg, volumes)) {
        let found = match client.take() {
            Some(client) => Some(client),
            None => Client::find(vg.uuid).map_err(|error| failed(&error))?,
        };
        // One that ended had nothing active.
        if let Some(client) = found {
            work.run_elsewhere(client, &line)?;
        }
    }
    Ok(())
}

/// Asks before an origin goes along with a snapshot that was named.
fn ask_for_origins(group: &FoundVg, by: Meant<'_>, work: &mut Work<'_>) -> Result<(), Error> {
    let Meant::Volumes(_) = by else {
        return Ok(());
    };
    let vg = &group.model;
    let (relations, chosen) = (Relations::of(vg), meant(vg, by));
    for id in &chosen {
        let snapshot = relations.snapshot_of_cow(vg, *id);
        let Some(origin) = snapshot.map(|snapshot| snapshot.origin) else {
            continue;
        };
        let name = |id: LvId| format!("{}/{}", vg.name, vg.lv(id).name());
        let (snapshot, origin_name) = (name(*id), name(origin));
        let question = format!(
            "Change of snapshot {snapshot} will also change its origin {origin_name}. Proceed? \
             [y/n]: "
        );
        if !chosen.contains(&origin) && !work.agrees(&question) {
            return Err(Error::failed(format!(
                "Logical volume {snapshot} not changed."
            )));
        }
    }
    Ok(())
}

/// Why volumes are not taken away, of those that somebody uses, in stock's words.
fn uses(group: &FoundVg, volumes: &[LvId], work: &Work<'_>) -> Result<Vec<String>, Error> {
    let Some((_, nodes)) = work.active(group.uuid) else {
        return Ok(Vec::new());
    };
    let served = served(group, work)?;
    let mut used = Vec::new();
    for lv in volumes {
        let volume = group.model.lv(*lv);
        let (uuid, name) = (volume.uuid, format!("{}/{}", group.name, volume.name()));
        used.extend(match nodes.use_of(uuid)?.map(|used| used.claimed) {
            Some(Some(Claim::Mount)) => Some(format!(
                "Logical volume {name} contains a filesystem in use."
            )),
            Some(Some(Claim::Device)) => {
                Some(format!("Logical volume {name} is used by another device."))
            }
            Some(None) => Some(format!("Logical volume {name} in use.")),
            None => served.in_use(uuid, &name, u64::from(nodes.has(uuid))),
        });
    }
    Ok(used)
}

/// What this process has in its environment or was told, as words for the owner.
fn words_of_caller(arguments: &Arguments) -> Result<Vec<String>, Error> {
    let mut words = of_caller(arguments)?;
    words.extend(arguments.words_of(&[&flags::DEVICES]));
    Ok(words)
}

#[cfg(test)]
mod tests;
