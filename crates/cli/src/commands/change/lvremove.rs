//! `lvremove`: volumes go, and their extents are free.

use std::fmt;

use ashlar::apply::{Question, Tolerated};
use lvm2::model::{LvId, Part, Relations, VolumeGroup};
use lvm2::plan::logical::{Along, remove_volumes};
use lvm2::plan::undo;

use super::activation::{close, is_active, require_unused};
use super::arguments::{CHANGE, FORCE};
use super::chosen::{Chosen, chosen, retain_changeable};
use super::run::run;
use super::selection::SELECT;
use super::volumes::ACCEPTED;
use super::work::{Work, failed, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

const NO_HISTORY: Flag = Flag::switch(
    "nohistory",
    "Accepted for scripts; no removed volumes are remembered.",
);

/// `lvremove`
pub(super) const COMMAND: Command = Command {
    name: "lvremove",
    summary: "Remove logical volumes",
    operands: "VG|LV|@TAG ...",
    description: "Frees the extents of volumes; of a group, of all of its volumes. What they held \
        stays on the disks until the extents are used again, so that `undo' can bring a volume \
        back. An origin goes with its snapshots, after a question.",
    flags: &[
        &[FORCE, NO_HISTORY, SELECT],
        CHANGE,
        ACCEPTED,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "lvremove vg0/data",
            does: "removes one volume",
        },
        Example {
            line: "lvremove -S 'lv_name=~^tmp' vg0",
            does: "removes those whose names begin with tmp, and nothing else",
        },
        Example {
            line: "lvremove -y @old",
            does: "removes all volumes with a tag",
        },
    ],
    run,
};

/// Removes the volumes, one after the other.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let mut volumes = chosen(arguments, work)?;
    retain_changeable(&mut volumes, arguments, work)?;
    // Of an origin nobody asks about snapshots that are removed anyway.
    let scan = work.scan()?;
    let is_snapshot = |volume: &Chosen| {
        let found = volume.find(&scan);
        found.is_ok_and(|(found, id)| Relations::of(&found.model).is_cow(id))
    };
    volumes.sort_by_cached_key(|volume| !is_snapshot(volume));
    drop(scan);
    let mut gone = Vec::new();
    let mut ways_back: Vec<WayBack> = Vec::new();
    for volume in &volumes {
        // It went along with another one.
        if gone.contains(&volume.uuid) {
            continue;
        }
        match remove(work, volume, arguments) {
            Ok(removed) => {
                gone.extend(removed.volumes);
                if let Some(way) = removed.way_back {
                    let mut known = ways_back.iter_mut();
                    match known.find(|known| known.group == way.group) {
                        Some(known) => known.count += 1,
                        None => ways_back.push(way),
                    }
                }
            }
            Err(error) => work.fail_later(&error.to_string()),
        }
    }
    for way in ways_back {
        work.note(&way.to_string());
    }
    Ok(())
}

/// What was removed with one change.
struct Removed {
    /// All volumes that went.
    volumes: Vec<lvm2::Uuid>,
    way_back: Option<WayBack>,
}

/// How the volumes of a group come back.
struct WayBack {
    group: String,
    /// The last version that has them all.
    seqno: u32,
    /// How many changes ago that was.
    count: usize,
}

impl fmt::Display for WayBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group,
            seqno,
            count,
        } = self;
        if *count == 1 {
            write!(
                f,
                "`ashlar undo {group}' brings it back, until its extents are used."
            )
        } else {
            write!(
                f,
                "`ashlar undo {group} --to {seqno}' brings them back, until their extents are used."
            )
        }
    }
}

/// What is asked before a pool goes with the volumes in it; `None`: it is none, or empty.
pub(super) fn pool_question(vg: &VolumeGroup, id: LvId) -> Option<Question> {
    let relations = Relations::of(vg);
    let users = relations.used_by(id).iter();
    let in_pool = users.filter(|used| used.part == Part::ThinPool).count();
    let name = vg.lv(id).name();
    (in_pool > 0).then(|| Question {
        text: format!(
            "Removing pool {}/{name} will remove {in_pool} dependent volume(s). Proceed? [y/n]: ",
            vg.name
        ),
        refusal: not_removed(&vg.name, name),
    })
}

fn not_removed(group: &str, name: &str) -> String {
    format!("Logical volume {group}/{name} not removed.")
}

/// Asks for a volume that is active, with its snapshots, and makes them inactive; whether people
/// were asked. Before a change begins, since one of what is in use is refused.
fn take_away(work: &mut Work<'_>, volume: &Chosen, arguments: &Arguments) -> Result<bool, Error> {
    if !work.is_owner() || work.is_test() || work.is_shown() {
        return Ok(false);
    }
    let scan = work.scan()?;
    let (found, id) = volume.find(&scan).map_err(|error| failed(&error))?;
    let vg = &found.model;
    let relations = Relations::of(vg);
    let snapshots: Vec<LvId> = relations.snapshots(vg, id).map(|one| one.cow).collect();
    let name = vg.lv(id).name();
    let refused = || Error::failed(not_removed(&vg.name, name));
    let is_active = is_active(found, id, work);
    if is_active && !arguments.has(&FORCE) {
        require_unused(found, &[id], work)?;
        let question = match snapshots.len() {
            0 => format!(
                "Do you really want to remove active logical volume {}/{name}? [y/n]: ",
                vg.name
            ),
            count => format!(
                "Do you really want to remove active origin logical volume {}/{name} with {count} \
                 snapshots(s)? [y/n]: ",
                vg.name
            ),
        };
        if !work.agrees(&question) {
            return Err(refused());
        }
    }
    close(found, &[&[id], &snapshots[..]].concat(), work)?;
    Ok(is_active)
}

fn remove(work: &mut Work<'_>, volume: &Chosen, arguments: &Arguments) -> Result<Removed, Error> {
    let is_asked = take_away(work, volume, arguments)?;
    let mut request = work.request_of(&[&volume.group]);
    request.tolerated.push(Tolerated::Absent);
    let mut before = Vec::new();
    let mut way_back = None;
    let outcome = work.change(&request, |scan, author| {
        let (found, id) = volume.find(scan)?;
        let vg = &found.model;
        before = vg.lvs().map(|(_, lv)| lv.uuid).collect();
        let name = vg.lv(id).name();
        let snapshots = Relations::of(vg).snapshots(vg, id).count();
        let change = remove_volumes(vg, &[name], Along::Everything, author);
        let mut planned = planned(change)?;
        // What it would do now; later changes may stand in its way.
        way_back = planned
            .change
            .vg()
            .is_some_and(|after| undo(&[(**vg).clone(), after.clone()], author).is_ok())
            .then(|| WayBack {
                group: vg.name.clone(),
                seqno: vg.seqno,
                count: 1,
            });
        if snapshots > 0 && !arguments.has(&FORCE) && !is_asked {
            planned.questions.push(Question {
                text: format!(
                    "Removing origin {name} will also remove {snapshots} snapshots(s). Proceed? \
                     [y/n]: "
                ),
                refusal: not_removed(&vg.name, name),
            });
        }
        if !arguments.has(&FORCE) {
            planned.questions.extend(pool_question(vg, id));
        }
        Ok(planned)
    })?;
    let left = outcome.iter().flat_map(|outcome| &outcome.groups);
    let left: Vec<_> = left
        .flat_map(|vg| vg.lvs().map(|(_, lv)| lv.uuid))
        .collect();
    before.retain(|uuid| !left.contains(uuid));
    Ok(Removed {
        volumes: before,
        // Where it is only tried or shown, nothing is to come back.
        way_back: way_back.filter(|_| outcome.is_some() && !arguments.has(&flags::TEST)),
    })
}
