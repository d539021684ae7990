//! `vgchange`: properties of groups.

use ashlar::apply::{Planned, Question, Request, Tolerated, area_states};
use lvm2::plan::group::{GroupAttribute, Resizing, change_group};
use lvm2::plan::logical::Autoactivation;

use super::activation::{
    ACTIVATE, Activation, asked as activation, change_group as activate, refuse_refresh,
    require_usable,
};
use super::arguments::{
    ADD_TAG, ALLOC, CHANGE, Choice, DEL_TAG, FORCE, choice, number, refuse, size, tags,
};
use super::groups::{Unnamed, each, named};
use super::profiles::{DETACH_PROFILE, METADATA_PROFILE, changed_profile};
use super::run::run;
use super::selection::SELECT;
use super::vgcreate::{
    AUTOACTIVATION, COPIES, EXTENT_SIZE, LOCK_TYPE, MAX_LV, MAX_PV, SYSTEM_ID, allocation, copies,
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
        "Accepted for scripts; nothing is activated by events.",
    ),
    flags::READ_ONLY,
];
const UNSUPPORTED: &[Flag] = &[
    Flag::switch("lockstart", "Not supported: there is no lock manager here."),
    Flag::switch("lockstop", "Not supported: there is no lock manager here."),
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
        UNSUPPORTED,
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
    refuse(arguments, UNSUPPORTED)?;
    let mut attributes = attributes(arguments)?;
    let profile = changed_profile(arguments, work)?;
    attributes.extend(profile.map(|profile| GroupAttribute::Profile(profile.name())));
    let active = activation(arguments)?;
    let is_nothing = NOTHING_TO_DO.iter().any(|flag| arguments.has(flag));
    for flag in NOTHING_TO_DO.iter().filter(|flag| flag.long != "refresh") {
        choice(arguments, flag)?;
    }
    if attributes.is_empty() && active.is_none() && !is_nothing {
        return Err(Error::usage(
            "Need 1 or more of -a, -l, -p, -s, -u, -x, --addtag, --deltag, --alloc, --systemid, \
             --vgmetadatacopies or --setautoactivation.",
        ));
    }
    let names = named(arguments, Unnamed::All, work)?;
    let own = work.host().config.system_id();
    let is_renewed = attributes.contains(&GroupAttribute::NewUuid);
    let new_id = arguments.value(&SYSTEM_ID);
    let sysfs = work.host().sysfs.clone();
    let asked = |group: &str| {
        let id = new_id?;
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
            if own.is_none() {
                work.warn("No local system ID is set.");
            }
            if asked(name).is_some() {
                work.warn(&format!(
                    "Volume group {name} might become inaccessible from this machine."
                ));
            }
            request.tolerated.push(Tolerated::Foreign);
        }
        if is_renewed {
            request = Request {
                changes_pvs: true,
                ..request
            };
        }
        if attributes.iter().all(is_tag) {
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
fn is_tag(attribute: &GroupAttribute<'_>) -> bool {
    matches!(
        attribute,
        GroupAttribute::AddTag(_) | GroupAttribute::RemoveTag(_)
    )
}

fn attributes(arguments: &Arguments) -> Result<Vec<GroupAttribute<'_>>, Error> {
    let mut all = Vec::new();
    if let Some(wanted) = choice(arguments, &RESIZEABLE)? {
        all.push(GroupAttribute::Resizing(match wanted {
            Choice::Yes => Resizing::Allowed,
            Choice::No => Resizing::Forbidden,
        }));
    }
    all.extend(size(arguments, &EXTENT_SIZE, 'm')?.map(GroupAttribute::ExtentSize));
    all.extend(number(arguments, &MAX_LV)?.map(GroupAttribute::MaxLv));
    all.extend(number(arguments, &MAX_PV)?.map(GroupAttribute::MaxPv));
    all.extend(
        tags(arguments, &ADD_TAG)?
            .into_iter()
            .map(GroupAttribute::AddTag),
    );
    all.extend(
        tags(arguments, &DEL_TAG)?
            .into_iter()
            .map(GroupAttribute::RemoveTag),
    );
    if arguments.value(&ALLOC) == Some("inherit") {
        all.push(GroupAttribute::Allocation(None));
    } else if let Some(policy) = allocation(arguments)? {
        all.push(GroupAttribute::Allocation(Some(policy)));
    }
    all.extend(copies(arguments)?.map(GroupAttribute::Copies));
    if let Some(id) = arguments.value(&SYSTEM_ID) {
        all.push(GroupAttribute::SystemId(
            Some(id).filter(|id| !id.is_empty()),
        ));
    }
    if let Some(wanted) = choice(arguments, &AUTOACTIVATION)? {
        all.push(GroupAttribute::Autoactivation(match wanted {
            Choice::Yes => Autoactivation::Yes,
            Choice::No => Autoactivation::No,
        }));
    }
    if arguments.has(&UUID) {
        all.push(GroupAttribute::NewUuid);
    }
    Ok(all)
}
