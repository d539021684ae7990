//! `pvresize`: physical volumes follow their devices.

use ashlar::apply::{Planned, Question, Request, permit};
use ashlar::live::any_owner;
use ashlar::scan::{Duplicate, FoundPv, FoundVg, PvIndex, Restriction, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::plan::physical::{PvSize, begin_room, moves, resize_pv, room_needed};
use lvm2::plan::{Author, Change, HeaderChange, HeaderEdit, Message, When, display_size};
use lvm2::{Extents, Sectors, Uuid};

use super::arguments::{CHANGE, pv_min_size, size};
use super::finder::Finder;
use super::groups::{tell_unchangeable, unique};
use super::pvmove::{Next, follow_group, piece_max};
use super::run::run;
use super::work::{Work, failed, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, flags, parse};
use crate::commands::Session;

const SIZE: Flag = Flag::value(
    "setphysicalvolumesize",
    "Size",
    "The size to use, smaller than the device's; MiB where there is no unit.",
);

const MOVE: Flag = Flag::switch(
    "move",
    "Before a physical volume becomes smaller, move what lies behind its new end: to free extents \
     in front of it, and what finds no place there to other physical volumes of the group.",
);

/// `pvresize`
pub(super) const COMMAND: Command = Command {
    name: "pvresize",
    summary: "Resize physical volumes",
    operands: "PV ...",
    description: "Gives physical volumes the sizes of their devices, after those have grown or \
        before they shrink. Extents in use are never cut off: --move moves them first, as pvmove \
        does, while volumes may be used. Interrupted, what is moved stays, and the same command \
        goes on.",
    flags: &[&[SIZE, MOVE], CHANGE, flags::COMMON],
    examples: &[
        Example {
            line: "pvresize /dev/sdd",
            does: "uses the space that a disk has gained",
        },
        Example {
            line: "pvresize --setphysicalvolumesize 100g --move /dev/sdd",
            does: "frees all but 100 GiB of a disk, whatever lies there",
        },
    ],
    run: move_and_resize,
};

/// Resizes each, and says how many.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let asked = size(arguments, &SIZE, 'm')?.filter(|size| *size > Sectors::ZERO);
    let least = pv_min_size(work);
    let piece = work.host().config.move_piece();
    let (finder, sizes) = (work.finder(), (asked, least));
    let (mut done, mut left, mut begun) = (0, 0, 0);
    let mut meant = Vec::new();
    let is_asked_later = asks_later(work);
    if arguments.operands().iter().any(|name| name == "@") {
        tell_counts(work, 0, 0);
        return Err(Error::usage("Skipping invalid tag ."));
    }
    for name in &finder.tagged(&*work.scan()?, arguments.operands()) {
        let scan = work.scan()?;
        let index = match changeable(&scan, &finder, name) {
            Ok(index) if is_unchosen(&scan, index) => continue,
            Ok(index) => index,
            Err(why) => {
                work.fail_later(&why);
                continue;
            }
        };
        if let Some(group) = out_of_reach(&scan, scan.pv(index)) {
            meant.push(group);
            work.fail_later(&gone(name).to_string());
            continue;
        }
        if is_refused(&scan, scan.pv(index), sizes, work) {
            left += 1;
            continue;
        }
        let request = request(work, &scan, scan.pv(index));
        let mut is_moved = false;
        let resized = work.change(&request, |scan, author| {
            let pv = scan.pv(finder.pv(scan, name)?);
            let device = scan.device(pv.device);
            let size = PvSize {
                device: device.size.whole_sectors(),
                asked,
                least,
            };
            let change = match scan.group_of(pv) {
                Some(group) => {
                    let way = (arguments, piece);
                    let (change, moves) = of_member(group, pv, (name, size), way, author)?;
                    is_moved = moves;
                    change
                }
                None => orphan(pv, &device.name, size)?,
            };
            Ok(asked_once(change, &device.name, size, is_asked_later))
        });
        match resized {
            Ok(_) if is_moved => begun += 1,
            Ok(_) => done += 1,
            Err(error) => {
                work.fail_later(&error.to_string());
                tell_unstored(&scan, index, work);
                left += 1;
            }
        }
    }
    if begun > 0 && !work.is_shown() && !work.is_test() {
        return Ok(());
    }
    tell_unchangeable(&*work.scan()?, &meant, work);
    tell_counts(work, done, left);
    Ok(())
}

/// Says of a physical volume whose group has copies of it that nothing was written.
fn tell_unstored(scan: &Scan, index: PvIndex, work: &mut Work<'_>) {
    let pv = scan.pv(index);
    let is_copied = |group: &&FoundVg| group.restrictions.contains(&Restriction::DuplicatePvs);
    if let Some(group) = scan.group_of(pv).filter(is_copied) {
        let (name, group) = (&scan.device(pv.device).name, &group.name);
        let what =
            format!("Failed to store physical volume \"{name}\" in volume group \"{group}\"");
        work.error(&what);
    }
}

/// A change with the question that is still to be asked, or else without the warning that was told
/// when it was.
fn asked_once(change: Planned, name: &str, size: PvSize, is_asked_later: bool) -> Planned {
    let mut change = change;
    if is_asked_later {
        change.questions = question(name, size).into_iter().collect();
    } else {
        let warned = size.asked.map(|asked| pretending(name, size, asked));
        let messages = &mut change.change.messages;
        messages.retain(|message| Some(&message.text) != warned.as_ref());
    }
    change
}

fn tell_counts(work: &mut Work<'_>, done: usize, left: usize) {
    work.note(&format!(
        "{done} physical volume(s) resized or updated / {left} physical volume(s) not resized"
    ));
}

/// The change of a physical volume in a group, and whether it only begins to move what is in the
/// way, in pieces of so many bytes.
fn of_member(
    group: &FoundVg,
    pv: &FoundPv,
    (name, size): (&str, PvSize),
    (arguments, piece): (&Arguments, u64),
    author: &mut Author<'_>,
) -> ashlar::Result<(Planned, bool)> {
    let vg = &group.model;
    let id = vg.pv_by_uuid(&pv.uuid).ok_or_else(|| gone(name))?;
    let behind = room_needed(vg, id, &pv.header, size)?;
    if behind == Extents::ZERO || !arguments.has(&MOVE) {
        let resized = planned(resize_pv(vg, id, &pv.header, size, author));
        let resized = resized.map_err(|error| with_remedy(error, behind, arguments, name))?;
        return Ok((resized, false));
    }
    let longest = piece_max(piece, vg.extent_size);
    let begun = begin_room(vg, id, (&pv.header, size), longest, author);
    let mut change = planned(begun.map(|(change, _)| change))?;
    change.change.messages.insert(0, first(name, behind));
    Ok((change, true))
}

/// What is said before extents are moved.
fn first(name: &str, behind: Extents) -> Message {
    Message::note(format!(
        "{name}: {behind} behind the new end of the physical volume: moved first."
    ))
}

/// Says what to do about extents behind the new end.
fn with_remedy(error: Failure, behind: Extents, arguments: &Arguments, name: &str) -> Failure {
    let size = arguments.value(&SIZE);
    let Some(size) = size.filter(|_| behind > Extents::ZERO) else {
        return error;
    };
    let what = format!(
        "{error} To move them first: ashlar pvresize --{} {size} --{} {name}",
        SIZE.long, MOVE.long
    );
    Failure::new(error.kind(), what)
}

/// Resizes; with `--move` after what is in the way was moved.
fn move_and_resize(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let is_only_tried = arguments.has(&flags::TEST) || arguments.has(&flags::HELP);
    if !arguments.has(&MOVE) || is_only_tried {
        return run(arguments, session);
    }
    let ([name], true) = (arguments.operands(), arguments.has(&SIZE)) else {
        return Err(Error::usage(format!(
            "--move needs --{} and one physical volume",
            SIZE.long
        )));
    };
    let asked = size(arguments, &SIZE, 'm')?;
    let disks = session.disks(arguments)?;
    let Some((_, group)) = member(&disks.scan, name) else {
        return run(arguments, session);
    };
    // Whoever agreed to the move is not asked again when it has ended.
    let mut words = arguments.words().to_vec();
    if !arguments.has(&flags::YES) {
        words.insert(0, "--yes".to_owned());
    }
    let agreed = parse(&COMMAND, &words)?;
    let mut left = None;
    let mut next = |session: &mut Session| {
        let now = session.disks(arguments)?;
        let Some((pv, group)) = member(&now.scan, name) else {
            return Ok(Next::End);
        };
        if !moves(&group.model).is_empty() {
            return Ok(Next::Begun);
        }
        let behind = behind(&now.scan, pv, group, asked).map_err(|error| failed(&error))?;
        if left.is_some_and(|left| behind >= left) {
            return Err(Error::failed(format!(
                "{name} has been changed meanwhile: run pvresize again."
            )));
        }
        let words = if left.is_none() { arguments } else { &agreed };
        run(words, session)?;
        left = Some(behind);
        Ok(if behind == Extents::ZERO {
            Next::End
        } else {
            Next::Begun
        })
    };
    if next(session)? == Next::Begun {
        follow_group(arguments, &disks, group, session, &mut next)?;
    }
    Ok(())
}

/// A physical volume by its device's name, if it is in a group.
fn member<'s>(scan: &'s Scan, name: &str) -> Option<(&'s FoundPv, &'s FoundVg)> {
    let device = scan.find_device(name, None)?;
    let mut all = scan.physical_volumes.iter();
    let pv = all.find(|pv| pv.device == device)?;
    Some((pv, scan.group_of(pv)?))
}

/// How many extents lie behind the end that is asked for.
fn behind(
    scan: &Scan,
    pv: &FoundPv,
    group: &FoundVg,
    asked: Option<Sectors>,
) -> ashlar::Result<Extents> {
    let device = scan.device(pv.device);
    let size = PvSize {
        device: device.size.whole_sectors(),
        asked,
        least: Sectors::ZERO,
    };
    let id = group.model.pv_by_uuid(&pv.uuid);
    let id = id.ok_or_else(|| gone(&device.name))?;
    Ok(room_needed(&group.model, id, &pv.header, size)?)
}

/// A request that changes the group of a physical volume, or the volume if it has none.
pub(super) fn request(work: &Work<'_>, scan: &Scan, pv: &FoundPv) -> Request {
    match scan.group_of(pv) {
        Some(group) => work.request_of(&[unique(scan, group)]),
        None => Request {
            changes_pvs: true,
            ..work.request()
        },
    }
}

/// What is asked where less than the device has is used.
fn question(name: &str, size: PvSize) -> Option<Question> {
    let asked = size.asked.filter(|asked| *asked < size.device)?;
    Some(Question {
        text: format!(
            "{name}: Requested size {} is less than real size {}. Proceed?  [y/n]: ",
            display_size(asked),
            display_size(size.device)
        ),
        refusal: format!("Physical Volume {name} not resized."),
    })
}

/// A physical volume without a group: only its header says how large it is.
fn orphan(pv: &FoundPv, name: &str, size: PvSize) -> ashlar::Result<Planned> {
    let new = size.asked.unwrap_or(size.device);
    let areas = pv.header.data_areas.first();
    let pe_start = areas.map_or(Sectors::ZERO, |data| data.offset.whole_sectors());
    size.require_start(pe_start, name)?;
    let bytes = new.to_bytes().filter(|_| new <= size.device);
    let bytes = bytes.ok_or_else(|| {
        let what = format!("{name}: the size asked for is larger than the device");
        Failure::new(Kind::Refused, what)
    })?;
    let pretending = (new != size.device).then(|| Message::warning(pretending(name, size, new)));
    let changed = Message::note(format!("Physical volume \"{name}\" changed"));
    Ok(Planned::from(Change {
        headers: vec![header(pv.uuid, HeaderEdit::DeviceSize(bytes))],
        messages: pretending.into_iter().chain([changed]).collect(),
        ..Change::default()
    }))
}

/// The physical volume called `name`, if it may be changed, or why it may not.
pub(super) fn changeable(scan: &Scan, finder: &Finder, name: &str) -> Result<PvIndex, String> {
    let index = finder.pv(scan, name).map_err(|_| finder.lack(scan, name))?;
    match barred(scan, scan.pv(index), name) {
        None => Ok(index),
        Some(why) => Err(why),
    }
}

/// Why a physical volume is not changed whose group is another's, or nobody's.
fn barred(scan: &Scan, pv: &FoundPv, name: &str) -> Option<String> {
    let group = scan.group_of(pv)?;
    let why = group.restrictions.iter().find_map(|restriction| {
        Some(match restriction {
            Restriction::Exported => "exported",
            Restriction::Foreign { .. } => "foreign",
            Restriction::Shared { .. } => "shared",
            Restriction::Clustered => "clustered",
            _ => return None,
        })
    })?;
    Some(if why == "clustered" {
        skipped_cluster(&group.name)
    } else {
        format!("Cannot use PV {name} in {why} VG {}.", group.name)
    })
}

/// Whether another device is used for a physical volume: of this one, as in stock, nothing is
/// changed, and the warning about it has said so.
pub(super) fn is_unchosen(scan: &Scan, pv: PvIndex) -> bool {
    scan.pv(pv).duplicate == Duplicate::Unchosen
}

/// What is said of the group of an old cluster.
pub(super) fn skipped_cluster(group: &str) -> String {
    format!(
        "Skipping clustered VG {group}.\nSee lvmlockd(8) for changing a clvm/clustered VG to a \
         shared VG."
    )
}

/// The group of a physical volume that may not be changed: stock does not find it then.
pub(super) fn out_of_reach(scan: &Scan, pv: &FoundPv) -> Option<Uuid> {
    let group = scan.group_of(pv)?;
    let is_copied = group.restrictions.contains(&Restriction::DuplicatePvs);
    (!is_copied && permit(group, &[]).is_err()).then_some(group.uuid)
}

/// Whether another process may have to ask, or nobody: then the plan does.
pub(super) fn asks_later(work: &Work<'_>) -> bool {
    work.is_shown() || any_owner()
}

/// Asks about a size that is smaller than the device, and refuses one that is less than the least.
fn is_refused(
    scan: &Scan,
    pv: &FoundPv,
    (asked, least): (Option<Sectors>, Sectors),
    work: &mut Work<'_>,
) -> bool {
    let Some(asked) = asked else {
        return false;
    };
    let device = scan.device(pv.device);
    let name = &device.name;
    let size = PvSize {
        device: device.size.whole_sectors(),
        asked: Some(asked),
        least,
    };
    if let Some(question) = question(name, size).filter(|_| !asks_later(work))
        && !work.agrees(&question.text)
    {
        work.fail_later(&question.refusal);
        return true;
    }
    if asked != size.device && (asked < least || !asks_later(work)) {
        work.warn(&pretending(name, size, asked));
    }
    if asked >= least {
        return false;
    }
    work.fail_later(&format!(
        "Size must exceed minimum of {} sectors on PV {name}.",
        least.0
    ));
    true
}

/// What is warned of where another size than the device's is used.
fn pretending(name: &str, size: PvSize, new: Sectors) -> String {
    let (new, real) = (new.0, size.device.0);
    format!("{name}: Pretending size is {new} not {real} sectors.")
}

/// The header of a physical volume without a group is rewritten.
pub(super) fn header(pv: Uuid, edit: HeaderEdit) -> HeaderChange {
    HeaderChange {
        pv,
        when: When::AfterCommit,
        edit,
    }
}

pub(super) fn gone(name: &str) -> Failure {
    let what = format!("Failed to find physical volume \"{name}\".");
    Failure::new(Kind::NotFound, what)
}
