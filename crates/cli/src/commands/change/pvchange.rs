//! `pvchange`: properties of physical volumes.

use ashlar::apply::{Planned, Question, area_states};
use ashlar::scan::{FoundPv, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::ondisk::{AreaUse, PvUse};
use lvm2::plan::physical::{Allocatable, PvAttribute, already, change_pv};
use lvm2::plan::{Author, Change, HeaderEdit, Message};

use super::arguments::{ADD_TAG, CHANGE, Choice, DEL_TAG, FORCE, METADATA_IGNORE, choice, tags};
use super::groups::{require_no_names, tell_unchangeable};
use super::pvresize::{changeable, gone, header, is_unchosen, out_of_reach, request};
use super::run::run;
use super::selection::{About, Asked, SELECT, asked};
use super::work::{Lists, Work, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

const ALL: Flag = Flag::switch("all", "All physical volumes.").short('a');
const ALLOCATABLE: Flag = Flag::value(
    "allocatable",
    "y|n",
    "Whether new extents may be taken from it.",
)
.short('x');
const UUID: Flag = Flag::switch("uuid", "Give it a new, random identity.").short('u');

/// `pvchange`
pub(super) const COMMAND: Command = Command {
    name: "pvchange",
    summary: "Change properties of physical volumes",
    operands: "[PV ...]",
    description: "Changes whether extents may be taken from physical volumes, their tags, their \
        identities, and whether their metadata areas are used.",
    flags: &[
        &[
            ALL,
            ALLOCATABLE,
            ADD_TAG,
            DEL_TAG,
            UUID,
            METADATA_IGNORE,
            FORCE,
            SELECT,
        ],
        CHANGE,
        flags::COMMON,
    ],
    examples: &[Example {
        line: "pvchange -x n /dev/sdd",
        does: "takes no more extents from a disk",
    }],
    run,
};

/// Changes each, and says how many.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let attributes = attributes(arguments)?;
    if arguments.has(&UUID) {
        work.keep_devices_file(Lists::Nothing)?;
    }
    let Some(names) = chosen(arguments, work)? else {
        return Ok(());
    };
    if names.iter().any(|name| name == "@") {
        tell_counts(work, 0, 0);
        return Err(Error::usage("Skipping invalid tag ."));
    }
    let finder = work.finder();
    let (mut done, mut left) = (0, 0);
    let mut meant = Vec::new();
    for name in &finder.tagged(&*work.scan()?, &names) {
        let scan = work.scan()?;
        let index = match changeable(&scan, &finder, name) {
            Ok(index) if is_unchosen(&scan, index) => continue,
            Ok(index) => index,
            Err(why) => {
                if !arguments.operands().is_empty() {
                    work.fail_later(&why);
                }
                continue;
            }
        };
        if let Some(group) = out_of_reach(&scan, scan.pv(index)) {
            meant.push(group);
            if !arguments.operands().is_empty() {
                work.fail_later(&gone(name).to_string());
            }
            continue;
        }
        let request = request(work, &scan, scan.pv(index));
        let mut is_changed = false;
        let changed = work.change(&request, |scan, author| {
            let pv = scan.pv(finder.pv(scan, name)?);
            refuse_tags(scan, pv, &attributes)?;
            require_known(scan, pv, arguments.count(&FORCE))?;
            let planned = plan(scan, pv, &attributes, author)?;
            let change = &planned.change;
            is_changed = !change.groups.is_empty() || !change.headers.is_empty();
            Ok(planned)
        });
        if let Err(error) = changed {
            let name = &scan.device(scan.pv(index).device).name;
            let stays = format!("Physical volume {name} not changed");
            let mut why = error.to_string();
            if why != stays {
                why = format!("{why}\n{stays}");
            }
            work.fail_later(&why);
            is_changed = false;
        }
        if is_changed {
            done += 1;
        } else {
            left += 1;
        }
    }
    tell_unchangeable(&*work.scan()?, &meant, work);
    tell_counts(work, done, left);
    Ok(())
}

fn tell_counts(work: &mut Work<'_>, done: usize, left: usize) {
    let plural = |count| if count == 1 { "" } else { "s" };
    work.note(&format!(
        "{done} physical volume{} changed / {left} physical volume{} not changed",
        plural(done),
        plural(left)
    ));
}

/// The names of the physical volumes that are meant; `None`: the fields were asked for.
fn chosen(arguments: &Arguments, work: &mut Work<'_>) -> Result<Option<Vec<String>>, Error> {
    let mut names = arguments.operands().to_vec();
    let criteria = match asked(arguments, About::Pvs, work) {
        Ok(Asked::Operands) => None,
        Ok(Asked::Criteria(criteria)) => Some(criteria),
        Ok(Asked::Help) => return Ok(None),
        Err(why) => {
            tell_unchosen(&why, &names, work)?;
            return Ok(None);
        }
    };
    if names.is_empty() && !arguments.has(&ALL) && criteria.is_none() {
        let what = "Please give a physical volume path, or -a.";
        return Err(Error::lacking(arguments.command(), what));
    }
    require_no_names(arguments, &ALL)?;
    if arguments.has(&ALL) || names.is_empty() {
        let scan = work.scan()?;
        let device = |pv: &FoundPv| scan.device(pv.device).name.clone();
        names = scan.physical_volumes.iter().map(device).collect();
    }
    if let Some(criteria) = criteria {
        let (scan, finder) = (work.scan()?, work.finder());
        let met = criteria.pvs(&scan);
        let name_of = |name: &String| finder.device(&scan, name).map(|at| &scan.device(at).name);
        // What is none meets nothing: its turn will tell.
        names.retain(|name| {
            finder.pv(&scan, name).is_err() || name_of(name).is_ok_and(|name| met.contains(name))
        });
    }
    Ok(Some(names))
}

/// Says that criteria are wrong: then none that is named meets them.
fn tell_unchosen(why: &Error, names: &[String], work: &mut Work<'_>) -> Result<(), Error> {
    let (scan, finder) = (work.scan()?, work.finder());
    tell_unchangeable(&scan, &[], work);
    work.fail_later(&why.to_string());
    for name in names.iter().filter(|name| !name.starts_with('@')) {
        work.fail_later(&finder.lack(&scan, name));
    }
    tell_counts(work, 0, 0);
    Ok(())
}

/// Fails where what is in no group, or in one that is not to be seen, would get a tag: there is
/// nowhere to write it.
fn refuse_tags(scan: &Scan, pv: &FoundPv, attributes: &[PvAttribute<'_>]) -> ashlar::Result<()> {
    let is_tag = |attribute: &PvAttribute<'_>| {
        matches!(
            attribute,
            PvAttribute::AddTag(_) | PvAttribute::RemoveTag(_)
        )
    };
    if scan.group_of(pv).is_some() || !attributes.iter().any(is_tag) {
        return Ok(());
    }
    let name = &scan.device(pv.device).name;
    let what = format!("Can't change tag on Physical Volume {name} not in volume group");
    Err(Failure::new(Kind::Refused, what))
}

/// Fails where a physical volume belongs to a group that is not to be seen, or went on without it:
/// what is changed here would not be changed there.
fn require_known(scan: &Scan, pv: &FoundPv, force: usize) -> ashlar::Result<()> {
    let name = &scan.device(pv.device).name;
    if scan.group_of(pv).is_some() || force >= 2 {
        return Ok(());
    }
    let why = match scan.group_behind(pv) {
        Some(group) => format!(
            "PV {name} is outdated: volume group {} went on without it; vgck --updatemetadata {} \
             makes it free.",
            group.name, group.name
        ),
        None if pv.header.usage() == PvUse::Used => {
            format!("PV {name} is used by a VG but its metadata is missing.")
        }
        None => return Ok(()),
    };
    let what = format!("{why}\nCan't change PV '{name}' without -ff.");
    Err(Failure::new(Kind::Refused, what))
}

fn attributes(arguments: &Arguments) -> Result<Vec<PvAttribute<'_>>, Error> {
    // In stock's order: the first that is refused is told.
    let mut all = Vec::new();
    let added = tags(arguments, &ADD_TAG)?;
    all.extend(added.into_iter().map(PvAttribute::AddTag));
    let removed = tags(arguments, &DEL_TAG)?;
    all.extend(removed.into_iter().map(PvAttribute::RemoveTag));
    if let Some(wanted) = choice(arguments, &ALLOCATABLE)? {
        all.push(PvAttribute::Allocatable(match wanted {
            Choice::Yes => Allocatable::Yes,
            Choice::No => Allocatable::No,
        }));
    }
    if let Some(wanted) = choice(arguments, &METADATA_IGNORE)? {
        all.push(PvAttribute::Areas(match wanted {
            Choice::Yes => AreaUse::Ignored,
            Choice::No => AreaUse::Used,
        }));
    }
    if arguments.has(&UUID) {
        all.push(PvAttribute::NewUuid);
    }
    if all.is_empty() {
        let what = "Please give one or more of -x, --uuid, --addtag, --deltag, or \
                    --metadataignore.";
        return Err(Error::lacking(arguments.command(), what));
    }
    Ok(all)
}

fn plan(
    scan: &Scan,
    pv: &FoundPv,
    attributes: &[PvAttribute<'_>],
    author: &mut Author<'_>,
) -> ashlar::Result<Planned> {
    let name = &scan.device(pv.device).name;
    let Some(group) = scan.group_of(pv) else {
        return orphan(pv, name, attributes, author);
    };
    let id = group.model.pv_by_uuid(&pv.uuid).ok_or_else(|| gone(name))?;
    let areas = area_states(scan, group);
    let mut planned = planned(change_pv(&group.model, id, attributes, &areas, author))?;
    let is_area = |one: &PvAttribute<'_>| matches!(one, PvAttribute::Areas(_));
    if attributes.iter().any(is_area) && group.model.metadata_copies.is_some_and(|one| one > 0) {
        planned.questions.push(Question {
            text: format!(
                "Override preferred number of copies of VG {} metadata? [y/n]: ",
                group.name
            ),
            refusal: format!("Physical volume {name} not changed"),
        });
    }
    Ok(planned)
}

/// A physical volume without a group has an identity and metadata areas, and nothing else to be
/// changed.
fn orphan(
    pv: &FoundPv,
    name: &str,
    attributes: &[PvAttribute<'_>],
    author: &mut Author<'_>,
) -> ashlar::Result<Planned> {
    let refused = |what: String| Err(Failure::new(Kind::Refused, what));
    let mut edits = Vec::new();
    for attribute in attributes {
        match attribute {
            PvAttribute::NewUuid => {
                edits.push(HeaderEdit::Uuid(author.uuid()));
            }
            PvAttribute::Areas(usage) => {
                let areas = pv.areas.iter();
                let headers = areas.filter_map(|area| area.header.as_ref());
                let mut others = headers.filter(|header| header.usage != *usage);
                if others.next().is_none() {
                    return refused(format!(
                        "Metadata areas on physical volume \"{name}\" already {}.",
                        already(*usage)
                    ));
                }
                edits.push(HeaderEdit::Areas(*usage));
            }
            PvAttribute::Allocatable(_) => {
                return refused(format!(
                    "Allocatability not supported by orphan lvm2 format PV {name}"
                ));
            }
            PvAttribute::AddTag(_) | PvAttribute::RemoveTag(_) => {
                debug_assert!(false, "tags were refused");
            }
        }
    }
    Ok(Planned::from(Change {
        headers: edits
            .into_iter()
            .map(|edit| header(pv.uuid, edit))
            .collect(),
        messages: vec![Message::note(format!("Physical volume \"{name}\" changed"))],
        ..Change::default()
    }))
}
