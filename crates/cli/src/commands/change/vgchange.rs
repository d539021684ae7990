//! `vgchange`: properties of groups.

use ashlar::apply::{Planned, Question, Request, Tolerated, area_states};
use lvm2::plan::group::{GroupAttribute, Resizing, change_group};
use lvm2::plan::logical::Autoactivation;

use super::activation::{
    ACTIVATE, Activation, asked as activation, change_group as activate, refuse_refresh,
    require_usable,
};
use super::arguments::{
    ADD_TAG, ALLOC, CHANGE, Choice, DEL_TAG, FORCE, choice, number, size, tags,
};
use super::groups::{Unnamed, each, named};
use super::profiles::{DETACH_PROFILE, METADATA_PROFILE, changed_profile};
use super::run::run;
use super::selection::SELECT;
use super::vgcreate::{
    AUTOACTIVATION, COPIES, EXTENT_SIZE, LOCK_TYPE, MAX_LV as NEW_MAX_LV, MAX_PV, SYSTEM_ID,
    allocation, copies, system_id,
};
use super::volumes::IGNORE_SKIP;
use super::work::{Work, inactive, missing, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::open::ACTIVATION_MODE;

const SYSINIT: Flag = Flag::switch("sysinit", "Accepted for scripts.");
const RESIZEABLE: Flag = Flag::value(
    "resizeable",
    "y|n",
    "Whether physical volumes may come and go.",
)
.short('x');
const UUID: Flag = Flag::switch("uuid", "Give it a new, random identity.").short('u');
/// What asks for something of the kernel or of daemons, of which there is nothing to be done here.
const NOTHING_TO_DO: &[Flag] = &[
    Flag::value(
        "monitor",
        "y|n",
        "Accepted for scripts; nobody monitors volumes.",
    ),
    Flag::value("poll", "y|n", "Accepted for scripts; nothing is polled."),
    REFRESH,
];
const REFRESH: Flag = Flag::switch(
    "refresh",
    "Accepted for scripts; who serves a volume has its newest table.",
);
/// What stock knows and what means nothing here.
const ACCEPTED: &[Flag] = &[
    Flag::switch("noudevsync", "Accepted for scripts; there is no udev here."),
    Flag::switch(
        "ignoremonitoring",
        "Accepted for scripts; nobody monitors volumes.",
    ),
    Flag::value(
        "autoactivation",
        "String",
        "Accepted for scripts: what -a activates is activated in any case.",
    ),
    flags::READ_ONLY,
];
/// `-l`, as stock calls it here.
const MAX_LV: Flag = Flag {
    long: "logicalvolume",
    ..NEW_MAX_LV
};
const PV_COPIES: Flag = Flag::value(
    "pvmetadatacopies",
    "0|1|2",
    "Accepted for scripts, beside other options; pvcreate gives a physical volume its areas.",
);
/// What is for a lock manager, which is not there.
const OF_LOCKS: &[Flag] = &[
    Flag::switch("lockstart", "Does nothing: there is no lock manager here."),
    Flag::switch("lockstop", "Does nothing: there is no lock manager here."),
    LOCK_TYPE,
];

/// `vgchange`
pub(super) const COMMAND: Command = Command {
    name: "vgchange",
    summary: "Change properties of volume groups",
    operands: "[VG|@TAG ...]",
    description: "Changes the named groups, or all of them.",
    flags: &[
        &[
            RESIZEABLE,
            EXTENT_SIZE,
            MAX_LV,
            MAX_PV,
            ADD_TAG,
            DEL_TAG,
            ALLOC,
            COPIES,
            PV_COPIES,
            SYSTEM_ID,
            AUTOACTIVATION,
            UUID,
            ACTIVATE,
            ACTIVATION_MODE,
            SYSINIT,
            SELECT,
            METADATA_PROFILE,
            DETACH_PROFILE,
            IGNORE_SKIP,
            FORCE,
            flags::PARTIAL,
            flags::IGNORE_LOCKING_FAILURE,
        ],
        NOTHING_TO_DO,
        ACCEPTED,
        OF_LOCKS,
        CHANGE,
        flags::COMMON,
    ],
    examples: &[Example {
        line: "vgchange --addtag fast vg0",
        does: "tags a group",
    }],
    run,
};

/// Changes each.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    if let Some(what) = lacks_locks(arguments) {
        work.error(what);
        return Ok(());
    }
    let mut attributes = attributes(arguments)?;
    let profile = changed_profile(arguments, work)?;
    attributes.extend(profile.map(|profile| GroupAttribute::Profile(profile.name())));
    let active = activation(arguments)?;
    let is_nothing = NOTHING_TO_DO.iter().any(|flag| arguments.has(flag));
    for flag in NOTHING_TO_DO.iter().filter(|flag| flag.long != "refresh") {
        choice(arguments, flag)?;
    }
    require_alone(arguments, &attributes, active.is_some() || is_nothing)?;
    let is_owned = arguments.has(&SYSTEM_ID);
    if attributes.is_empty() && active.is_none() && !is_nothing && !is_owned {
        return Err(nothing_asked(arguments));
    }
    let names = named(arguments, Unnamed::All, work)?;
    let own = work.host().config.system_id();
    let is_renewed = attributes.contains(&GroupAttribute::NewUuid);
    let new_id = system_id(arguments, work)
        .map_err(|error| Error::failed(format!("{error}\nUnable to set system ID.")))?;
    if let Some(id) = &new_id {
        let id = Some(id.as_str()).filter(|id| !id.is_empty());
        attributes.push(GroupAttribute::SystemId(id));
    }
    let sysfs = work.host().sysfs.clone();
    let asked = |group: &str| {
        let id = new_id.as_deref()?;
        (Some(id) != own.as_deref()).then(|| question(group, id))
    };
    each(&names, work, |name, work| {
        if active.is_some() || is_nothing {
            attend(name, active, arguments, work)?;
        }
        if attributes.is_empty() {
            return Ok(());
        }
        let mut request = work.request_of(&[name]);
        if new_id.is_some() {
            warn_of_loss(name, own.is_none(), asked(name).is_some(), work);
            request.tolerated.push(Tolerated::Foreign);
        }
        if is_renewed {
            request = Request {
                changes_pvs: true,
                ..request
            };
        }
        if attributes.iter().all(is_about_nothing_else) {
            request.tolerated.push(Tolerated::Absent);
        }
        let changed = work.change(&request, |scan, author| {
            let found = scan.find_group(name)?;
            if is_renewed {
                inactive(&sysfs, found)?;
            }
            let areas = area_states(scan, found);
            let change = change_group(&found.model, &attributes, &areas, author);
            Ok(Planned {
                questions: asked(name).into_iter().collect(),
                ..planned(change)?
            })
        });
        changed.map(drop)
    });
    Ok(())
}

/// Says before the system ID of a group changes what that may mean.
fn warn_of_loss(group: &str, has_none: bool, is_lost: bool, work: &mut Work<'_>) {
    if has_none {
        work.warn("No local system ID is set.");
    }
    if is_lost {
        work.warn(&format!(
            "Volume group {group} might become inaccessible from this machine."
        ));
    }
}

fn nothing_asked(arguments: &Arguments) -> Error {
    if arguments.has(&PV_COPIES) {
        return Error::usage("Need one or more command options.");
    }
    let what = "Need 1 or more of -a, -l, -p, -s, -u, -x, --addtag, --deltag, --alloc, --systemid, \
                --vgmetadatacopies or --setautoactivation.";
    Error::lacking(arguments.command(), what)
}

/// What stock says where there is no lock manager, and ends well.
fn lacks_locks(arguments: &Arguments) -> Option<&'static str> {
    let asked = OF_LOCKS.iter().find(|flag| arguments.has(flag))?;
    Some(if asked.long == LOCK_TYPE.long {
        "Using lock type requires lvmlockd."
    } else {
        "Using lock start and lock stop requires lvmlockd."
    })
}

/// Refuses `--systemid` beside other changes, and changes beside what changes no metadata.
fn require_alone(
    arguments: &Arguments,
    attributes: &[GroupAttribute<'_>],
    is_more: bool,
) -> Result<(), Error> {
    match arguments.value(&SYSTEM_ID) {
        Some(id) if !attributes.is_empty() || is_more => Err(Error::form(format!(
            "Command does not accept option: --{} {id}.",
            SYSTEM_ID.long
        ))),
        _ => Ok(()),
    }
}

/// What is asked before a group is given away.
fn question(group: &str, id: &str) -> Question {
    let text = if id.is_empty() {
        format!("Remove system ID from volume group {group}? [y/n]: ")
    } else {
        format!("Set foreign system ID {id} on volume group {group}? [y/n]: ")
    };
    Question {
        text,
        refusal: format!("Volume group {group} system ID not changed."),
    }
}

/// What changes no metadata: `-a`, and what there is nothing to be done for. Groups that are not
/// used here are an error if they were named.
fn attend(
    name: &str,
    active: Option<Activation>,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let scan = work.scan()?;
    let found = scan
        .find_group(name)
        .map_err(|error| missing(name, &error))?;
    match require_usable(found) {
        Err(_) if arguments.operands().is_empty() => return Ok(()),
        usable => usable?,
    }
    if arguments.has(&REFRESH) {
        refuse_refresh(found, None, arguments, work)?;
    }
    match active {
        Some(wanted) => activate(found, wanted, arguments, work),
        None => Ok(()),
    }
}

/// Whether it is a change that may be made while physical volumes are missing.
fn is_about_nothing_else(attribute: &GroupAttribute<'_>) -> bool {
    matches!(
        attribute,
        GroupAttribute::AddTag(_) | GroupAttribute::RemoveTag(_) | GroupAttribute::Profile(_)
    )
}

fn attributes(arguments: &Arguments) -> Result<Vec<GroupAttribute<'_>>, Error> {
    // In stock's order: the first that is refused is told.
    let mut all = Vec::new();
    all.extend(number(arguments, &MAX_LV)?.map(GroupAttribute::MaxLv));
    all.extend(number(arguments, &MAX_PV)?.map(GroupAttribute::MaxPv));
    if let Some(wanted) = choice(arguments, &RESIZEABLE)? {
        all.push(GroupAttribute::Resizing(match wanted {
            Choice::Yes => Resizing::Allowed,
            Choice::No => Resizing::Forbidden,
        }));
    }
    let removed = tags(arguments, &DEL_TAG)?;
    all.extend(removed.into_iter().map(GroupAttribute::RemoveTag));
    let added = tags(arguments, &ADD_TAG)?;
    all.extend(added.into_iter().map(GroupAttribute::AddTag));
    all.extend(size(arguments, &EXTENT_SIZE, 'm')?.map(GroupAttribute::ExtentSize));
    if arguments.has(&UUID) {
        all.push(GroupAttribute::NewUuid);
    }
    if arguments.value(&ALLOC) == Some("inherit") {
        all.push(GroupAttribute::Allocation(None));
    } else if let Some(policy) = allocation(arguments)? {
        all.push(GroupAttribute::Allocation(Some(policy)));
    }
    all.extend(copies(arguments)?.map(GroupAttribute::Copies));
    if let Some(wanted) = choice(arguments, &AUTOACTIVATION)? {
        all.push(GroupAttribute::Autoactivation(match wanted {
            Choice::Yes => Autoactivation::Yes,
            Choice::No => Autoactivation::No,
        }));
    }
    Ok(all)
}
