//! Begins moves, and aborts them.

use ashlar::apply::{Planned, Tolerated};
use ashlar::scan::{FoundVg, PvIndex, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::model::PvId;
use lvm2::model::name::wrongness;
use lvm2::plan::Message;
use lvm2::plan::physical::{Move, MoveMode, MoveRequest, abort_move, begin_move, moves};
use lvm2::{Extents, Sectors, Uuid};

use super::super::finder::Finder;
use super::super::groups::{tell_of_all, tell_unchangeable};
use super::super::pvresize::{changeable, gone, out_of_reach};
use super::super::volumes::{places, policy};
use super::super::work::{Work, planned};
use super::command::{ABORT, ATOMIC, BACKGROUND, NAME};
use crate::args::{Arguments, Error, Kind as ErrorKind};

/// What is said of a tag without a name.
const NO_TAG: &str = "Skipping invalid tag .";

/// Begins a move, or aborts those that are under way.
pub(in crate::commands::change) fn handler(
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let is_abort = arguments.has(&ABORT);
    let [source, targets @ ..] = arguments.operands() else {
        let scan = work.scan()?;
        if is_abort {
            return abort_all(work, &scan);
        }
        // As in stock: other groups go on, and what goes on unseen complains to nobody.
        if work.is_test() || arguments.has(&BACKGROUND) {
            work.leave_untold();
        } else {
            tell_of_all(&scan, work);
        }
        return Ok(());
    };
    match source.strip_prefix('@') {
        None => {}
        Some("") => return Err(refused(is_abort, NO_TAG)),
        Some(_) => return Err(refused(is_abort, "Tags cannot be used with this command.")),
    }
    let scan = work.scan()?;
    let finder = work.finder();
    let found = match find(&scan, &finder, source) {
        Ok(found) => found,
        Err(why) => {
            work.warn_of_all_groups();
            tell_unchangeable(&scan, &[], work);
            return Err(refused(is_abort, &why));
        }
    };
    let group = scan.group_of(scan.pv(found));
    if is_abort {
        return abort_from(source, group, &scan, work);
    }
    let volume = arguments.value(&NAME);
    let own = group.map(|group| group.name.as_str());
    let volume = volume.map(|name| volume_of(own, name)).transpose()?;
    let group = group.ok_or_else(|| {
        Error::failed(format!(
            "Physical volume {} is in no volume group: nothing lies on it.",
            plain(source)
        ))
    })?;
    if is_under_way(&scan, &finder, group, source) {
        work.note(&format!(
            "Detected pvmove in progress for {}.",
            plain(source)
        ));
        if arguments.has(&NAME) || !targets.is_empty() {
            work.error("Ignoring remaining command line arguments.");
        }
        return Ok(());
    }
    if let Err(why) = require_changeable(&scan, &finder, source) {
        work.warn_of_all_groups();
        tell_unchangeable(&scan, &[group.uuid], work);
        return Err(why);
    }
    if targets.iter().any(|target| target == "@") {
        work.error(NO_TAG);
    }
    begin(arguments, (&group.name, volume), source, targets, work)
}

/// Begins the move of what `source` has, or of what a volume of its group has there.
fn begin(
    arguments: &Arguments,
    (name, volume): (&str, Option<&str>),
    source: &String,
    targets: &[String],
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let finder = work.finder();
    let policy = policy(arguments)?;
    let piece = work.host().config.move_piece();
    let request = work.request_of(&[name]);
    work.change(&request, |scan, author| {
        let group = scan.find_group(name)?;
        let found = places(scan, group, &finder, std::slice::from_ref(source))?;
        let found = found.expect("one is named");
        let targets = places(scan, group, &finder, targets)?;
        let asked = MoveRequest {
            source: &found,
            volume,
            targets: targets.as_ref(),
            policy,
            mode: if arguments.has(&ATOMIC) {
                MoveMode::Atomic
            } else {
                MoveMode::Pieces
            },
            piece_max: piece_max(piece, group.model.extent_size),
            region_size: None,
        };
        planned(begin_move(&group.model, &asked, author).map(|(change, _)| change))
    })?;
    Ok(())
}

/// A refusal; a move that is not begun for it is no use of the command, as in stock.
fn refused(is_abort: bool, why: &str) -> Error {
    if is_abort {
        Error::failed(why)
    } else {
        Error::usage(why)
    }
}

/// The name of a volume, without that of its group, which is `own`.
fn volume_of<'n>(own: Option<&str>, name: &'n str) -> Result<&'n str, Error> {
    let plain = name.strip_prefix("/dev/").unwrap_or(name);
    let refused = |why: &str| {
        let what = format!("{why}\nFailed to find an LV name.");
        Err(Error::usage(what))
    };
    let volume = match plain.split_once('/') {
        None => plain,
        Some((_, "")) => return refused("Incomplete LV name supplied with --name."),
        Some((group, _)) if own.is_some_and(|own| own != group) => {
            return refused("Named LV and old PV must be in the same VG.");
        }
        Some((_, volume)) => volume,
    };
    if wrongness(volume).is_some() {
        let what = format!("Logical volume name {volume} is invalid.");
        return Err(Error::usage(what));
    }
    Ok(volume)
}

/// The longest piece: so much is copied again after a crash, and two commits are as far apart.
pub(in crate::commands::change) fn piece_max(piece: u64, extent_size: Sectors) -> Extents {
    let extent = extent_size.to_bytes().map_or(u64::MAX, |bytes| bytes.0);
    Extents((piece / extent.max(1)).max(1))
}

/// A physical volume's name without its extents.
pub(super) fn plain(word: &str) -> &str {
    // A colon may be part of an address.
    match word.split_once(':') {
        Some((name, ranges)) if !ranges.contains('/') => name,
        _ => word,
    }
}

/// The physical volume that is named, or why it is none.
fn find(scan: &Scan, finder: &Finder, source: &str) -> Result<PvIndex, String> {
    let name = plain(source);
    let found = finder.pv(scan, name);
    found.map_err(|_| finder.lack(scan, name))
}

/// Fails where the group of a physical volume cannot be changed: stock finds none there.
fn require_changeable(scan: &Scan, finder: &Finder, source: &str) -> Result<(), Error> {
    let name = plain(source);
    let found = changeable(scan, finder, name).map_err(Error::usage)?;
    match out_of_reach(scan, scan.pv(found)) {
        Some(_) => Err(Error::usage(gone(name).to_string())),
        None => Ok(()),
    }
}

fn is_under_way(scan: &Scan, finder: &Finder, group: &FoundVg, source: &str) -> bool {
    let pv = finder.member(scan, group, plain(source));
    pv.is_some_and(|pv| !from(group, pv).is_empty())
}

/// The moves from a physical volume.
fn from(group: &FoundVg, pv: PvId) -> Vec<Uuid> {
    let all = moves(&group.model).into_iter();
    let from = all.filter(|one| one.sources.contains(&pv));
    from.map(|one| one.uuid).collect()
}

fn abort_all(work: &mut Work<'_>, scan: &Scan) -> Result<(), Error> {
    let all = scan
        .groups
        .iter()
        .filter(|group| !moves(&group.model).is_empty());
    for group in all {
        let aborted = abort(work, &group.name, |_, group| {
            moves(&group.model)
                .into_iter()
                .map(|one| one.uuid)
                .collect()
        });
        match aborted {
            Ok(()) => {}
            // Another process does all of it.
            Err(error) if matches!(error.kind(), ErrorKind::Reported) => return Err(error),
            // What keeps one group keeps no other.
            Err(error) => work.fail_later(&error.to_string()),
        }
    }
    Ok(())
}

/// Aborts the moves from a physical volume.
fn abort_from(
    source: &str,
    group: Option<&FoundVg>,
    scan: &Scan,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let finder = work.finder();
    let which = |scan: &Scan, group: &FoundVg| {
        let pv = finder.member(scan, group, plain(source));
        pv.map_or(Vec::new(), |pv| from(group, pv))
    };
    let Some(group) = group.filter(|group| !which(scan, group).is_empty()) else {
        let device = plain(source);
        let none = "No pvmove in progress - already finished or aborted.";
        work.note(&format!("{device}: {none}"));
        return Ok(());
    };
    abort(work, &group.name, which)
}

/// Aborts the moves of a group that `which` says, one after the other.
fn abort(
    work: &mut Work<'_>,
    group: &str,
    which: impl Fn(&Scan, &FoundVg) -> Vec<Uuid>,
) -> Result<(), Error> {
    let mut request = work.request_of(&[group]);
    request.tolerated = vec![Tolerated::Missing];
    let mut is_first = true;
    loop {
        let mut left = 0;
        work.change(&request, |scan, author| {
            let found = scan.find_group(group)?;
            let all = which(scan, found);
            left = all.len();
            let Some(one) = all.first() else {
                if is_first {
                    let what = format!("No pvmove in progress in volume group {group}");
                    return Err(Failure::new(Kind::NotFound, what));
                }
                return Ok(Planned::default());
            };
            let vg = &found.model;
            let text = moves(vg)
                .iter()
                .find(|other| other.uuid == *one)
                .map(|one| aborted(group, one));
            let mut change = planned(abort_move(vg, one, author))?;
            change.change.messages.extend(text.map(Message::note));
            Ok(change)
        })?;
        if left <= 1 || work.is_shown() {
            return Ok(());
        }
        is_first = false;
    }
}

fn aborted(group: &str, one: &Move) -> String {
    let kept = match one.mode {
        MoveMode::Pieces if one.moved > Extents::ZERO => {
            format!(
                "{} of {} extents were moved and stay there",
                one.moved.0, one.extents.0
            )
        }
        _ => "everything is where it was".to_owned(),
    };
    format!("{group}/{}: aborted; {kept}.", one.name)
}

#[cfg(test)]
mod tests;
