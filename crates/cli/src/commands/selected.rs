//! What the operands of a reading command name.
//!
//! No operand means everything. A name that does not exist is told and makes the command fail at
//! its end; the others are still shown.

use std::os::unix::fs::FileTypeExt;

use ashlar::scan::{Content, DeviceIndex, FoundDevice, PvIndex, Restriction, foreign};
use lvm2::model::name::wrongness;
use lvm2::model::{LvId, PvId, VgFlag};

use super::Session;
use super::rows::{is_unchosen, label_of, volumes};
use crate::args::{Arguments, Error, LvName, Target, flags, split_target};
use crate::output::fields::LogObject;
use crate::output::{Group, View};

/// A volume group that is named, wholly or some of its volumes.
pub(super) struct Named<'a> {
    /// The group.
    pub(super) group: &'a Group,
    whole: bool,
    lvs: Vec<LvId>,
}

impl<'a> Named<'a> {
    /// One volume of a group.
    pub(super) fn only(group: &'a Group, lv: LvId) -> Self {
        Self {
            group,
            whole: false,
            lvs: vec![lv],
        }
    }

    /// The named volumes; of a group as a whole those that people see, or all.
    pub(super) fn volumes(&self, all: bool) -> Vec<LvId> {
        if self.whole {
            return volumes(self.group, all);
        }
        self.group
            .order
            .iter()
            .copied()
            .filter(|lv| self.lvs.contains(lv))
            .collect()
    }
}

/// Which names a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Groups {
    /// Volume groups and tags.
    Only,
    /// Volumes, too.
    WithVolumes,
}

/// The groups and volumes that the operands name.
pub(super) fn groups<'a>(
    view: &'a View,
    arguments: &Arguments,
    names: Groups,
    session: &mut Session,
) -> Result<Vec<Named<'a>>, Error> {
    let mut named: Vec<Named<'a>> = view
        .groups
        .iter()
        .map(|group| Named {
            group,
            whole: false,
            lvs: Vec::new(),
        })
        .collect();
    let words = usable(arguments.operands(), names, session)?;
    let has_tags = words.iter().any(|word| word.starts_with('@'));
    // Volumes of groups that are meant as wholes are looked for no more.
    let is_whole = |group: &String| {
        let mut targets = words.iter().map(|word| split_target(word));
        targets.any(|target| matches!(target, Target::Vg(name) if name == *group))
    };
    let mut skipped = Vec::new();
    for word in &words {
        if let Some(name) = ambiguous(view, word) {
            if !skipped.contains(&name) {
                session.fail_later(&format!(
                    "Multiple VGs found with the same name: skipping {name}\n\
                     Use --select vg_uuid=<uuid> in place of the VG name."
                ));
                skipped.push(name);
            }
            // As in stock, where volumes have tags, all groups are gone through by name, too.
            if !has_tags || names == Groups::Only {
                continue;
            }
        }
        match split_target(word) {
            Target::Tag(tag) => add_tag(&mut named, &tag, names),
            // As in stock, names are then only looked for among the groups that there are.
            Target::Vg(name) if has_tags && !is_there(view, &name) => {}
            Target::Lv(name) if has_tags && !is_there(view, &name.vg) => {}
            Target::Lv(name) if is_whole(&name.vg) && is_there(view, &name.vg) => {}
            Target::Vg(name) => add_group(&mut named, &name, names, session),
            Target::Lv(name) => add_volume(&mut named, &name, session),
        }
    }
    let everything = words.is_empty();
    if everything {
        for named in &mut named {
            count_group(named.group, names, session);
            named.whole = true;
        }
    }
    named.retain(|named| named.whole || !named.lvs.is_empty());
    named.retain(|named| is_shown(view, named.group, arguments, everything, session));
    // A report about groups has exported ones, whatever its fields.
    if names == Groups::WithVolumes && arguments.command() != "vgs" {
        named.retain(|named| is_imported(named.group, everything, session));
    }
    Ok(named)
}

/// The name of a group that a word means, where several have it.
fn ambiguous(view: &View, word: &str) -> Option<String> {
    let name = match split_target(word) {
        Target::Vg(name) => name,
        Target::Lv(name) => name.vg,
        Target::Tag(_) => return None,
    };
    let named = view.groups.iter().filter(|group| group.vg.name == name);
    (named.count() > 1).then_some(name)
}

/// Fails at words that can be no names at all, before anything is looked at.
pub(super) fn require_names(arguments: &Arguments, names: Groups) -> Result<(), Error> {
    let mut words = arguments.operands().iter();
    words
        .find_map(|word| no_name(word, names))
        .map_or(Ok(()), Err)
}

/// Fails at what can be no tag of a physical volume, before anything is looked at.
pub(super) fn require_tags(arguments: &Arguments) -> Result<(), Error> {
    if arguments.operands().iter().any(|word| word == "@") {
        return Err(Error::usage("Skipping invalid tag ."));
    }
    Ok(())
}

/// Why a word can be no name.
fn no_name(word: &str, names: Groups) -> Option<Error> {
    let name = word.strip_prefix("/dev/").unwrap_or(word);
    if names == Groups::Only && word == "@" {
        return Some(Error::usage(format!("Skipping invalid tag: {word}")));
    }
    let is_mapped = names == Groups::WithVolumes && word.starts_with("/dev/mapper/");
    if word.starts_with('@') || is_mapped {
        return None;
    }
    let (_, inner) = name.split_once('/')?;
    let lv = inner.trim_start_matches('/');
    match names {
        Groups::Only => Some(Error::usage(format!("Invalid volume group name {name}."))),
        Groups::WithVolumes if name.starts_with('/') || lv.contains('/') => {
            let what = format!("\"{word}\": Invalid path for Logical Volume.");
            Some(Error::failed(what))
        }
        Groups::WithVolumes => None,
    }
}

/// The words without those that name nothing, of which stock tells and goes on. Fails at what can
/// be no name at all.
fn usable<'w>(
    words: &'w [String],
    names: Groups,
    session: &mut Session,
) -> Result<Vec<&'w str>, Error> {
    let mut usable = Vec::new();
    let mut is_less = false;
    for word in words {
        if let Some(error) = no_name(word, names) {
            return Err(error);
        }
        if word == "@" {
            session.error(&format!("Skipping invalid tag {word}."));
            continue;
        }
        let name = word.strip_prefix("/dev/").unwrap_or(word);
        let inner = name.split_once('/').map(|(_, lv)| lv);
        let is_path = !word.starts_with('@') && !word.starts_with("/dev/mapper/");
        if is_path && inner.is_some_and(|lv| lv.trim_start_matches('/').is_empty()) {
            session.fail_later(&format!("Failed to find logical volume \"{name}\""));
            is_less = true;
            continue;
        }
        usable.push(word.as_str());
    }
    if is_less && usable.is_empty() {
        return Err(Error::reported());
    }
    Ok(usable)
}

/// Groups of other hosts, and shared ones without their lock manager, are shown on request only,
/// and those of old clusters not at all.
fn is_shown(
    view: &View,
    group: &Group,
    arguments: &Arguments,
    everything: bool,
    session: &mut Session,
) -> bool {
    let name = &group.vg.name;
    for restriction in &view.scan.groups[group.index].restrictions {
        if *restriction == Restriction::Clustered {
            let remedy = "See lvmlockd(8) for changing a clvm/clustered VG to a shared VG.";
            if everything {
                session.error(&format!("Skipping clustered VG {name}.\n  {remedy}"));
            } else {
                let what = format!("Cannot access clustered VG {name}.\n  {remedy}");
                session.fail_later(&what);
            }
            return false;
        }
        let message = match restriction {
            Restriction::Foreign { system_id, own } if !arguments.has(&flags::FOREIGN) => {
                let message = format!(
                    "{}; --foreign shows it.",
                    foreign(name, system_id, own.as_deref())
                );
                if everything {
                    session.error(&message);
                }
                message
            }
            Restriction::Shared { lock_type } if !arguments.has(&flags::SHARED) => format!(
                "Cannot access VG {name} with lock type {lock_type} that requires lvmlockd; \
                 --shared shows it."
            ),
            _ => continue,
        };
        if !everything {
            session.fail_later(&message);
        }
        return false;
    }
    true
}

/// Volumes of exported groups are not shown; a group that is asked for by name is an error.
fn is_imported(group: &Group, everything: bool, session: &mut Session) -> bool {
    let exported = group.vg.flags.has(VgFlag::Exported);
    if exported && !everything {
        session.fail_later(&format!("Volume group {} is exported", group.vg.name));
    }
    !exported
}

fn add_tag(named: &mut [Named<'_>], tag: &str, names: Groups) {
    for named in named {
        if named.group.vg.tags.iter().any(|own| own == tag) {
            named.whole = true;
        } else if names == Groups::WithVolumes {
            let group = named.group;
            let tagged = |lv: &LvId| group.vg.lv(*lv).tags.iter().any(|own| own == tag);
            named.lvs.extend(group.order.iter().copied().filter(tagged));
        }
    }
}

fn is_called(group: &Group, name: &str) -> bool {
    group.vg.name == name || group.vg.uuid.to_string() == name
}

fn is_there(view: &View, name: &str) -> bool {
    view.groups.iter().any(|group| is_called(group, name))
}

fn not_found(name: &str, session: &mut Session) {
    session.log_object(LogObject {
        kind: "vg",
        name: name.to_owned(),
        ..LogObject::default()
    });
    session.error(&format!("Volume group \"{name}\" not found"));
    session.fail_later(&format!("Cannot process volume group {name}"));
    session.log_failure();
}

/// Counts what goes well with a group as a whole, in a command's log.
fn count_group(group: &Group, names: Groups, session: &mut Session) {
    let (volumes, pvs) = (group.visible_count(), group.vg.pvs().count());
    session.log_successes(match (names, session.command()) {
        (Groups::WithVolumes, _) => volumes + 1,
        (Groups::Only, "fullreport") => 2 * (volumes + pvs) + 1,
        (Groups::Only, _) => 1,
    });
}

fn add_group(named: &mut [Named<'_>], name: &str, names: Groups, session: &mut Session) {
    let mut found = false;
    for named in named
        .iter_mut()
        .filter(|named| is_called(named.group, name))
    {
        if !named.whole {
            count_group(named.group, names, session);
        }
        named.whole = true;
        found = true;
    }
    if !found {
        if wrongness(name).is_some() {
            session.error(&format!(
                "Volume group name \"{name}\" has invalid characters."
            ));
            session.fail_later(&format!("Cannot process volume group {name}"));
            return;
        }
        not_found(name, session);
    }
}

fn add_volume(named: &mut [Named<'_>], name: &LvName, session: &mut Session) {
    let LvName { vg, lv } = name;
    let mut found = false;
    for named in named.iter_mut().filter(|named| is_called(named.group, vg)) {
        found = true;
        if let Some(id) = named.group.vg.lv_by_name(lv) {
            // The volume, and its group.
            session.log_successes(2);
            named.lvs.push(id);
            continue;
        }
        let group = (named.group.vg.name.clone(), named.group.vg.uuid.to_string());
        session.log_object(LogObject {
            kind: "lv",
            name: lv.clone(),
            group: group.clone(),
            ..LogObject::default()
        });
        session.fail_later(&format!("Failed to find logical volume \"{vg}/{lv}\""));
        session.log_failure();
        session.log_object(LogObject {
            kind: "vg",
            name: group.0,
            id: group.1,
            ..LogObject::default()
        });
        session.log_failure();
    }
    if !found {
        not_found(vg, session);
    }
}

/// What a line of `pvs` is about.
#[derive(Clone, Copy)]
pub(super) enum Chosen<'a> {
    /// A physical volume of a group, present or missing.
    Member(&'a Group, PvId),
    /// A label that belongs to no group, or an unused duplicate.
    Label(PvIndex),
    /// A device without a label.
    Device(&'a FoundDevice),
}

/// The physical volumes that a command may see, and the devices that could become some.
fn everything<'a>(view: &'a View, arguments: &Arguments, session: &mut Session) -> Vec<Chosen<'a>> {
    let mut everything = Vec::new();
    for group in &view.groups {
        if is_shown(view, group, arguments, true, session) {
            let members = group.vg.pvs().map(|(pv, _)| Chosen::Member(group, pv));
            everything.extend(members);
        }
    }
    for device in &view.scan.devices {
        match label_of(device) {
            // Its group went on without it: stock does not show it either.
            Some(found) if view.scan.pv(found).outdated.is_some() => {}
            Some(found) if view.scan.pv(found).group.is_none() => {
                everything.push(Chosen::Label(found));
            }
            Some(found) if is_unchosen(view, found) => everything.push(Chosen::Label(found)),
            Some(_) => {}
            // What is left out, or is the sum of other devices, cannot become a volume.
            None if matches!(device.content, Content::Partitions | Content::Skipped(_)) => {}
            None => everything.push(Chosen::Device(device)),
        }
    }
    everything
}

/// The physical volumes that the operands name.
pub(super) fn devices<'a>(
    view: &'a View,
    arguments: &Arguments,
    session: &mut Session,
) -> Vec<Chosen<'a>> {
    let all = arguments.has(&flags::ALL);
    let mut everything = everything(view, arguments, session);
    if arguments.operands().is_empty() {
        everything.retain(|chosen| match chosen {
            Chosen::Member(..) => true,
            Chosen::Label(found) => all || !is_unchosen(view, *found),
            Chosen::Device(_) => all,
        });
        count_devices(view, &everything, session);
        return everything;
    }
    let mut is_meant = vec![false; everything.len()];
    session.log_object(LogObject {
        kind: "pv",
        ..LogObject::default()
    });
    let mut unfound = Vec::new();
    for word in arguments.operands() {
        let device = view.scan.find_device(word, None);
        let mut is_there = false;
        for (chosen, is_meant) in everything.iter().zip(&mut is_meant) {
            let is_shown = !matches!(chosen, Chosen::Device(_));
            let is_it = is_shown && is_named(view, chosen, word, device);
            is_there |= is_it;
            *is_meant |= is_it;
        }
        if is_there || word.starts_with('@') {
            continue;
        }
        let content = device.map(|device| &view.scan.device(device).content);
        match (
            device.and_then(|device| barred(view, device, word)),
            content,
        ) {
            (Some(why), _) => session.fail_later(&why),
            (None, Some(Content::Skipped(reason))) => {
                session.fail_later(&format!("Cannot use {word}: {reason}"));
            }
            (None, Some(_)) => unfound.push(word),
            (None, None) => session.fail_later(&not_there(word, arguments)),
        }
    }
    // As in stock, each once, and in their own order.
    let mut meant = is_meant.into_iter();
    let mut named = everything;
    named.retain(|_| meant.next() == Some(true));
    count_devices(view, &named, session);
    for word in unfound {
        session.fail_later(&format!("Failed to find physical volume \"{word}\"."));
    }
    named
}

/// The physical volumes that the operands name, by their labels alone; the copies that are not used
/// only where they are named.
pub(super) fn labels<'a>(
    view: &'a View,
    arguments: &Arguments,
    session: &mut Session,
) -> Vec<Chosen<'a>> {
    let operands = arguments.operands();
    let mut named = Vec::new();
    for word in operands {
        match view.scan.find_device(word, None) {
            None => session.fail_later(&format!("Failed to find device \"{word}\".")),
            Some(device) if label_of(view.scan.device(device)).is_none() => {
                session.fail_later(&format!("No physical volume label read from {word}."));
            }
            Some(device) => named.push(view.scan.device(device)),
        }
    }
    let mut chosen = Vec::new();
    for device in &view.scan.devices {
        let Some(found) = label_of(device) else {
            continue;
        };
        let is_meant = if operands.is_empty() {
            !is_unchosen(view, found)
        } else {
            named.iter().any(|one| one.name == device.name)
        };
        if is_meant {
            chosen.push(Chosen::Label(found));
        }
    }
    chosen
}

/// Counts what goes well where all groups are gone through for their physical volumes, and then
/// those that have none, in a command's log.
fn count_devices(view: &View, chosen: &[Chosen<'_>], session: &mut Session) {
    let is_pv = |chosen: &&Chosen<'_>| !matches!(chosen, Chosen::Device(_));
    session.log_successes(chosen.iter().filter(is_pv).count() + view.groups.len() + 1);
}

/// Why a device is not there.
fn not_there(word: &str, arguments: &Arguments) -> String {
    let kind = std::fs::metadata(word).map(|found| found.file_type());
    let is_left_out =
        arguments.has(&flags::DEVICES) && kind.is_ok_and(|kind| kind.is_block_device());
    let why = if is_left_out {
        "device is not in devices list"
    } else {
        "device not found"
    };
    format!("Cannot use {word}: {why}")
}

/// Why the physical volume of a device is not shown, if its group is another's.
fn barred(view: &View, device: DeviceIndex, word: &str) -> Option<String> {
    let found = label_of(view.scan.device(device))?;
    let group = view.scan.group_of(view.scan.pv(found))?;
    let name = &group.name;
    let mut restrictions = group.restrictions.iter();
    restrictions.find_map(|restriction| match restriction {
        Restriction::Foreign { .. } => Some(format!("Cannot use PV {word} in foreign VG {name}.")),
        Restriction::Shared { .. } => Some(format!("Cannot use PV {word} in shared VG {name}.")),
        Restriction::Clustered => Some(format!("Skipping clustered VG {name}.")),
        _ => None,
    })
}

fn is_named(view: &View, chosen: &Chosen<'_>, word: &str, device: Option<DeviceIndex>) -> bool {
    if let Some(tag) = word.strip_prefix('@') {
        return match chosen {
            Chosen::Member(group, pv) => group.vg.pv(*pv).tags.iter().any(|own| own == tag),
            _ => false,
        };
    }
    let Some(device) = device else {
        return false;
    };
    match chosen {
        Chosen::Member(group, pv) => {
            let found = group.found(*pv);
            found.is_some_and(|found| view.scan.pv(found).device == device)
        }
        Chosen::Label(found) => view.scan.pv(*found).device == device,
        Chosen::Device(chosen) => chosen.name == view.scan.device(device).name,
    }
}
