//! `pvremove`: devices are no physical volumes any more.

use ashlar::apply::{Planned, Question, Request};
use ashlar::scan::{Duplicate, FoundVg, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::ondisk::Label;
use lvm2::plan::Message;
use lvm2::plan::physical::{Force, erase_label};

use super::arguments::{CHANGE, FORCE};
use super::finder::Finder;
use super::pvcreate::{require_allowed, tells_group};
use super::pvresize::asks_later;
use super::run::run;
use super::work::{Lists, Work};
use crate::args::{Arguments, Command, Error, Example, flags};

/// `pvremove`
pub(super) const COMMAND: Command = Command {
    name: "pvremove",
    summary: "Remove labels, so that devices are no physical volumes any more",
    operands: "PV ...",
    description: "Wipes the label of each device. One that belongs to a volume group is refused; \
        -ff insists, and leaves the group without it.",
    flags: &[&[FORCE], CHANGE, flags::COMMON],
    examples: &[Example {
        line: "pvremove /dev/sdd",
        does: "frees a disk for other uses",
    }],
    run,
};

/// Removes each label, and goes on with the next where one is refused.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    work.keep_devices_file(Lists::Nothing)?;
    let finder = work.finder();
    let request = Request {
        changes_pvs: true,
        ..work.request()
    };
    // Tags name none of them here, as in stock.
    for name in &finder.distinct(&*work.scan()?, arguments.operands()) {
        let asked = if asks_later(work) {
            Asked::Later
        } else if is_agreed(work, name, arguments)? {
            Asked::Before
        } else {
            continue;
        };
        let removed = work.change(&request, |scan, _| {
            plan(scan, &finder, name, arguments, asked)
        });
        if let Err(error) = removed {
            work.fail_later(&error.to_string());
        }
    }
    Ok(())
}

/// When people are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// They were, and agreed.
    Before,
    /// By whoever makes the change.
    Later,
}

/// Warns and asks, where there is something to ask; whether the label may be wiped.
fn is_agreed(work: &mut Work<'_>, name: &str, arguments: &Arguments) -> Result<bool, Error> {
    let (scan, finder) = (work.scan()?, work.finder());
    let Ok(planned) = plan(&scan, &finder, name, arguments, Asked::Later) else {
        // Its turn will tell.
        return Ok(true);
    };
    for question in &planned.questions {
        for warning in planned.announced.iter().flatten() {
            work.warn(&warning.text);
        }
        if !work.agrees(&question.text) {
            work.fail_later(&question.refusal);
            return Ok(false);
        }
    }
    Ok(true)
}

fn plan(
    scan: &Scan,
    finder: &Finder,
    name: &str,
    arguments: &Arguments,
    asked: Asked,
) -> ashlar::Result<Planned> {
    let force = match arguments.count(&FORCE) {
        0 => Force::None,
        // As in stock, three times is not twice.
        2 => Force::Twice,
        _ => Force::Once,
    };
    let device = finder.device(scan, name)?;
    let name = &scan.device(device).name;
    require_allowed(scan, device)?;
    let mut pvs = scan.physical_volumes.iter();
    let found = pvs.find(|pv| pv.device == device);
    let is_copy = found.is_some_and(|pv| pv.duplicate == Duplicate::Unchosen);
    let Some(pv) = found.filter(|_| !is_copy) else {
        if force != Force::None && !is_copy {
            let mut planned = Planned::default();
            planned.change.messages.push(wiped(name));
            return Ok(planned);
        }
        let what = format!("No PV found on device {name}.");
        return Err(Failure::new(Kind::NotFound, what));
    };
    let stays = format!("{name}: physical volume label not removed.");
    let behind = scan.group_behind(pv);
    let named = |group: &'_ FoundVg| group.name.clone();
    let group = behind.filter(|_| tells_group(pv)).map(named);
    let label = Label {
        sector: pv.label_sector.0,
        pv: pv.header.clone(),
    };
    erase_label(&label, name, group.as_deref(), force).map_err(|error| {
        let error = ashlar::Error::from(error);
        // Stock's two sentences stand on lines of their own.
        let text = error.to_string().replace(" (If you", "\n(If you");
        Failure::new(error.kind(), format!("{text}\n{stays}"))
    })?;
    let mut planned = Planned {
        removed: vec![device],
        ..Planned::default()
    };
    let messages = &mut planned.change.messages;
    // Also one that only other disks know to be in use is asked about.
    if let Some(group) = behind.map(named) {
        if asked == Asked::Before || arguments.has(&flags::YES) {
            messages.push(Message::warning(format!(
                "Wiping physical volume label from {name} of volume group \"{group}\"."
            )));
        }
        if asked == Asked::Later {
            planned.announced = vec![vec![Message::warning(format!(
                "PV {name} is used by VG {group}."
            ))]];
            planned.questions.push(Question {
                text: format!(
                    "Really WIPE LABELS from physical volume \"{name}\" of volume group \
                     \"{group}\" [y/n]? "
                ),
                refusal: stays,
            });
        }
    }
    messages.push(wiped(name));
    Ok(planned)
}

fn wiped(name: &str) -> Message {
    Message::note(format!(
        "Labels on physical volume \"{name}\" successfully wiped."
    ))
}
