//! `defrag`: volumes become contiguous again while they are in use.
//!
//! ```text
//!   defrag  ─▸ handler   plans, and begins the first pass: a move like that of pvmove
//!           ─▸ follow    waits until it has ended; then the handler again, until nothing is left
//! ```
//!
//! Nothing is remembered between passes: each is planned from what is there then. So whoever ends
//! this, and how, the next `defrag` goes on from there.

use ashlar::apply::Planned;
use ashlar::scan::{FoundVg, Scan};
use lvm2::model::VolumeGroup;
use lvm2::plan::physical::{Defrag, DefragScope, begin_relocation, moves, plan_defrag};
use lvm2::plan::{Message, display_size};
use lvm2::{Extents, Sectors};

use super::arguments::CHANGE;
use super::chosen::missing;
use super::pvmove::{Next, follow_group, piece_max};
use super::work::{Work, failed, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, LvName, Target, flags, split_target};
use crate::commands::Session;

const TO_START: Flag = Flag::switch(
    "to-start",
    "Besides, pack all volumes of the group to the front of their disks: their ends are free then.",
);

/// `defrag`
pub(super) const COMMAND: Command = Command {
    name: "defrag",
    summary: "Make volumes contiguous again",
    operands: "VG|VG/LV",
    description: "Moves extents so that what a volume has on a disk lies in one piece; of a group, \
        that of all its volumes. As few extents are moved as possible, and they stay on their disk \
        unless it has no room; copies and stripes stay on disks of their own. Volumes may be used \
        meanwhile, as with pvmove. Interrupted at any moment, what is moved stays, and defrag \
        again goes on; pvmove --abort ends what is under way. plan defrag shows what would be \
        moved.",
    flags: &[&[TO_START], CHANGE, flags::COMMON],
    examples: &[
        Example {
            line: "defrag vg0/data",
            does: "makes a volume contiguous that grew in pieces",
        },
        Example {
            line: "defrag --to-start vg0",
            does: "frees the ends of the disks, so that pvresize can shorten them",
        },
    ],
    run,
};

/// What is to be contiguous.
struct Asked {
    group: String,
    /// A volume, or all of the group.
    volume: Option<String>,
    is_to_start: bool,
}

impl Asked {
    fn of(arguments: &Arguments) -> Result<Self, Error> {
        let [word] = arguments.operands() else {
            return Err(Error::usage(
                "Please name a volume group, or a volume as VG/LV.",
            ));
        };
        let is_to_start = arguments.has(&TO_START);
        let (group, volume) = match split_target(word) {
            Target::Vg(group) => (group, None),
            Target::Lv(LvName { vg, lv }) => (vg, Some(lv)),
            Target::Tag(_) => {
                return Err(Error::usage(
                    "Please name a volume group, or a volume as VG/LV.",
                ));
            }
        };
        if is_to_start && volume.is_some() {
            return Err(Error::usage(
                "--to-start moves all volumes of a group: name the group alone.",
            ));
        }
        Ok(Self {
            group,
            volume,
            is_to_start,
        })
    }

    fn plan(&self, group: &FoundVg) -> ashlar::Result<Defrag> {
        let vg = &group.model;
        let scope = match &self.volume {
            None if self.is_to_start => DefragScope::GroupToStart,
            None => DefragScope::Group,
            Some(name) => {
                let lv = vg.lv_by_name(name);
                DefragScope::Volume(lv.ok_or_else(|| missing(&self.group, name))?)
            }
        };
        Ok(plan_defrag(vg, scope)?)
    }
}

/// Begins the next pass; where plans are only shown or tested, says what all of them move.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let asked = Asked::of(arguments)?;
    let piece = work.host().config.move_piece();
    let is_told = work.is_shown() || work.is_test();
    let request = work.request_of(&[&asked.group]);
    work.change(&request, |scan: &Scan, author| {
        let group = scan.find_group(&asked.group)?;
        let vg = &group.model;
        let plan = asked.plan(group)?;
        let mut messages = Vec::new();
        if is_told {
            let texts = summary(vg, &plan, arguments.operands());
            messages.extend(texts.into_iter().map(Message::note));
        }
        let mut change = match plan.passes.first() {
            None => Planned::default(),
            Some(pass) => {
                let piece_max = piece_max(piece, vg.extent_size);
                let begun = begin_relocation(vg, pass, piece_max, author);
                planned(begun.map(|(change, _)| change))?
            }
        };
        change.change.messages.splice(0..0, messages);
        Ok(change)
    })?;
    Ok(())
}

/// What is moved, for people.
fn summary(vg: &VolumeGroup, plan: &Defrag, operands: &[String]) -> Vec<String> {
    let mut texts = Vec::new();
    if plan.passes.is_empty() {
        texts.push(format!("{}: nothing is to be moved.", operands.join(" ")));
    } else {
        let size = plan.extents.to_sectors(vg.extent_size);
        let (count, passes) = (plan.extents, plan.passes.len());
        texts.push(format!(
            "{count} ({}) in {passes} {}; segments {} -> {}",
            display_size(size.unwrap_or(Sectors::ZERO)),
            if passes == 1 { "pass" } else { "passes" },
            plan.segments.0,
            plan.segments.1,
        ));
    }
    for lv in &plan.left {
        texts.push(format!(
            "{}/{} stays in pieces: its disks have no room for it in one piece, or it must not be \
             moved now.",
            vg.name,
            vg.lv(*lv).name()
        ));
    }
    texts
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let is_only_tried = arguments.has(&flags::TEST) || arguments.has(&flags::HELP);
    if is_only_tried {
        return super::run::run(arguments, session);
    }
    let asked = Asked::of(arguments)?;
    let mut passes = Passes {
        arguments,
        asked,
        is_told: false,
        extents_left: None,
    };
    let disks = session.disks(arguments)?;
    let group = disks.scan.find_group(&passes.asked.group);
    let group = group.map_err(|error| super::work::missing(&passes.asked.group, &error))?;
    if passes.next(session)? == Next::Begun {
        follow_group(arguments, &disks, group, session, &mut |session| {
            passes.next(session)
        })?;
    }
    Ok(())
}

/// Passes that follow one another.
struct Passes<'a> {
    arguments: &'a Arguments,
    asked: Asked,
    is_told: bool,
    /// What was left to be moved when the last one began.
    extents_left: Option<Extents>,
}

impl Passes<'_> {
    /// Begins the next pass, if there is one and nothing is under way.
    fn next(&mut self, session: &mut Session) -> Result<Next, Error> {
        let disks = session.disks(self.arguments)?;
        let group = disks.scan.find_group(&self.asked.group);
        let group = group.map_err(|error| failed(&error))?;
        if let Some(one) = moves(&group.model).first() {
            session.tell(&format!(
                "{}/{} is under way and ends first.",
                group.name, one.name
            ));
            return Ok(Next::Begun);
        }
        let plan = self.asked.plan(group).map_err(|error| failed(&error))?;
        if !self.is_told {
            self.is_told = true;
            if !self.arguments.has(&flags::QUIET) {
                for text in summary(&group.model, &plan, self.arguments.operands()) {
                    session.line(&text)?;
                }
                session.out().flush()?;
            }
        }
        if plan.passes.is_empty() {
            return Ok(Next::End);
        }
        // Each pass leaves less to do, unless somebody else changes what is there.
        if self.extents_left.is_some_and(|left| plan.extents >= left) {
            return Err(Error::failed(format!(
                "{} has been changed meanwhile: run defrag again for what is left to do.",
                group.name
            )));
        }
        self.extents_left = Some(plan.extents);
        super::run::run(self.arguments, session)?;
        Ok(Next::Begun)
    }
}
