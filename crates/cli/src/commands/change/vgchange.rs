//! `vgchange`: properties of groups.

use ashlar::apply::{Planned, Question, Request, Tolerated, area_states};
use lvm2::plan::Message;
use lvm2::plan::group::{GroupAttribute, Resizing, change_group};
use lvm2::plan::logical::Autoactivation;

use super::activation::{
    ACTIVATE, Activation, asked as activation, change_group as activate, refresh, require_usable,
};
use super::arguments::{
    ADD_TAG, ALLOC, CHANGE, Choice, DEL_TAG, FORCE, choice, number, size, tags,
};
use super::groups::{Unnamed, each, named};
use super::profiles::{DETACH_PROFILE, METADATA_PROFILE, changed_profile};
use super::run::run;
use super::selection::SELECT;
use super::vgcreate::{
    AUTOACTIVATION, COPIES, EMPTY_SYSTEM_ID, EXTENT_SIZE, LOCK_TYPE, MAX_LV as NEW_MAX_LV, MAX_PV,
    SYSTEM_ID, allocation, copies, system_id,
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
    "Give the nodes of active volumes the permissions that the metadata have; all else that is \
     served is always the newest.",
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
    let owner = Owner::of(arguments, work);
    let mut attributes = attributes(arguments)?;
    let profile = changed_profile(arguments)?;
    attributes.extend(profile.map(|profile| GroupAttribute::Profile(profile.name())));
    attributes.extend(owner.iter().filter_map(Owner::attribute));
    let active = activation(arguments)?;
    let is_nothing = NOTHING_TO_DO.iter().any(|flag| arguments.has(flag));
    for flag in NOTHING_TO_DO.iter().filter(|flag| flag.long != "refresh") {
        choice(arguments, flag)?;
    }
    if attributes.is_empty() && active.is_none() && !is_nothing && owner.is_none() {
        return Err(Error::usage("Need one or more command options."));
    }
    let mut tolerated = Vec::new();
    if owner.is_none() && attributes.iter().all(is_about_nothing_else) {
        tolerated.push(Tolerated::Absent);
    }
    let names = named(arguments, Unnamed::All, &tolerated, work)?;
    let is_renewed = attributes.contains(&GroupAttribute::NewUuid);
    let sysfs = work.host().sysfs.clone();
    each(&names, work, |name, work| {
        if active.is_some() || is_nothing {
            attend(name, active, arguments, work)?;
        }
        if attributes.is_empty() && owner.is_none() {
            return Ok(());
        }
        let request = Request {
            changes_pvs: is_renewed,
            tolerated: tolerated.clone(),
            ..work.request_of(&[name])
        };
        let changed = work.change(&request, |scan, author| {
            let found = scan.find_group(name)?;
            if is_renewed {
                inactive(&sysfs, found)?;
            }
            let areas = area_states(scan, found);
            let mut change = || planned(change_group(&found.model, &attributes, &areas, author));
            match &owner {
                Some(owner) => owner.told(&found.name, change),
                None => change(),
            }
        });
        changed.map(drop)
    });
    Ok(())
}

/// Whose the groups become: what `--systemid` says.
struct Owner {
    /// The system ID, or why it is none.
    id: Result<String, String>,
    /// This machine's.
    own: Option<String>,
}

impl Owner {
    fn of(arguments: &Arguments, work: &Work<'_>) -> Option<Self> {
        let text = arguments.value(&SYSTEM_ID)?;
        Some(Self {
            id: system_id(text),
            own: work.host().config.system_id(),
        })
    }

    fn attribute(&self) -> Option<GroupAttribute<'_>> {
        let id = self.id.as_deref().ok()?;
        let id = Some(id).filter(|id| !id.is_empty());
        Some(GroupAttribute::SystemId(id))
    }

    /// The change of a group, with what is said and asked before.
    fn told(
        &self,
        group: &str,
        change: impl FnOnce() -> ashlar::Result<Planned>,
    ) -> ashlar::Result<Planned> {
        let refused = |why: String| ashlar::Error::new(ashlar::Kind::Request, why);
        let id = match &self.id {
            Ok(id) => id,
            Err(why) => return Err(refused(format!("{why}\nUnable to set system ID."))),
        };
        let mut planned = change().map_err(|error| match id.as_str() {
            "" => refused(format!("WARNING: {EMPTY_SYSTEM_ID}\n{error}")),
            _ => error,
        })?;
        let mut warnings = Vec::new();
        if id.is_empty() {
            warnings.push(EMPTY_SYSTEM_ID.to_owned());
        }
        if self.own.is_none() {
            warnings.push("No local system ID is set.".to_owned());
        }
        if Some(id) != self.own.as_ref() {
            warnings.push(format!(
                "Volume group {group} might become inaccessible from this machine."
            ));
            planned.questions.push(question(group, id));
        }
        let messages = &mut planned.change.messages;
        messages.splice(0..0, warnings.into_iter().map(Message::warning));
        Ok(planned)
    }
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
        refresh(found, None, arguments, work)?;
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
    if let Some(wanted) = choice(arguments, &AUTOACTIVATION)? {
        all.push(GroupAttribute::Autoactivation(match wanted {
            Choice::Yes => Autoactivation::Yes,
            Choice::No => Autoactivation::No,
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
    Ok(all)
}
