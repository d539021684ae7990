//! `pvscan`: one line for each physical volume, and the sums.

use ashlar::scan::{AreaContent, FoundArea, Restriction};
use lvm2::model::VgFlag;
use lvm2::ondisk::PvUse;

use super::Session;
use super::change::run_words;
use super::display::Values;
use super::selected::{self, Chosen};
use super::session::Disks;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::output::{Group, View};

/// `pvscan`
pub(super) const COMMAND: Command = Command {
    name: "pvscan",
    summary: "List physical volumes, their groups and their free space",
    operands: "[DEVICE ...]",
    description: "One line for each physical volume: the device, its volume group, its size and \
        how much of it is free; then the sums over all. pvs says more.",
    flags: &[
        &[
            flags::PVSCAN_SHORT,
            flags::UUID,
            flags::NOVOLUMEGROUP,
            flags::EXPORTED,
            flags::CACHE,
            flags::PARTIAL,
            flags::READ_ONLY,
            flags::IGNORE_LOCKING_FAILURE,
            flags::PVSCAN_ACTIVATE,
        ],
        flags::PVSCAN_EVENTS,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "pvscan",
            does: "lists all physical volumes",
        },
        Example {
            line: "pvscan -n",
            does: "lists those that belong to no volume group",
        },
    ],
    run,
};

/// Activates the groups of physical volumes of which none is missing.
fn activate(view: &View, chosen: &[Chosen<'_>], arguments: &Arguments) -> Result<(), Error> {
    let is_chosen = |group: &Group| {
        let mut chosen = chosen.iter();
        chosen.any(|one| matches!(one, Chosen::Member(own, _) if std::ptr::eq(*own, group)))
    };
    let groups = view.groups.iter();
    let groups = groups.filter(|group| group.missing_count() == 0 && is_chosen(group));
    let names: Vec<String> = groups.map(|group| group.vg.name.clone()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let mut words = vec!["vgchange".to_owned(), "-aay".to_owned()];
    words.extend(arguments.words_of(&[&flags::DEVICES]));
    words.extend(arguments.words_of(flags::OF_DISKS));
    words.extend(names);
    run_words(&words)
}

/// The columns of names are as wide as the longest name and this.
const GAP: usize = 2;
/// Stock has always counted the name of its group of unused disks, too.
const VG_NAME_MIN: usize = "#orphans_lvm2".len();

/// What one line says.
struct Line {
    name: String,
    uuid: String,
    place: Place,
    /// The size and what is free of it, in sectors.
    size: u64,
    free: u64,
}

/// Where a physical volume belongs.
#[derive(PartialEq, Eq)]
enum Place {
    Group(String),
    Exported(String),
    Nowhere,
}

impl Place {
    fn name(&self) -> &str {
        match self {
            Self::Group(name) | Self::Exported(name) => name,
            Self::Nowhere => "",
        }
    }
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    require_sense(arguments)?;
    let list = LISTS.iter().find(|flag| arguments.has(flag));
    let is_of_one = list.is_some()
        || !arguments.operands().is_empty()
        || arguments.has(&flags::PVSCAN_ACTIVATE)
        || arguments.has(&flags::MAJOR_OF_PV);
    // What a daemon would do with it, udev's rules and scripts ask for.
    let is_event = arguments.has(&flags::CACHE) || list.is_some();
    let config = session.config(arguments)?;
    if is_event && is_of_one && !config.flag("global/event_activation", true) {
        return ignored(arguments, session);
    }
    let Disks { scan, .. } = session.disks(arguments)?;
    let view = View::new(scan);
    if is_event && !is_of_one {
        return online(&view, arguments, session);
    }
    let chosen = selected::devices(&view, arguments, session);
    if let Some(list) = list {
        return listed(list, &chosen, session);
    }
    if is_event && arguments.has(&flags::PVSCAN_ACTIVATE) {
        return activate(&view, &chosen, arguments);
    }
    if is_event {
        return Ok(());
    }
    if arguments.has(&flags::EXPORTED) {
        session.tell("WARNING: only considering physical volumes of exported volume group(s)");
    } else if arguments.has(&flags::NOVOLUMEGROUP) {
        session.tell("WARNING: only considering physical volumes in no volume group");
    }
    let mut lines: Vec<Line> = chosen
        .iter()
        .filter_map(|chosen| line(&view, chosen))
        .collect();
    let names = lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
    let groups = lines
        .iter()
        .map(|line| line.place.name().len())
        .max()
        .unwrap_or(0);
    let widths = (names + GAP, groups.max(VG_NAME_MIN) + GAP);
    if arguments.has(&flags::EXPORTED) {
        lines.retain(|line| matches!(line.place, Place::Exported(_)));
    } else if arguments.has(&flags::NOVOLUMEGROUP) {
        lines.retain(|line| line.place == Place::Nowhere);
    }
    if lines.is_empty() {
        return Ok(session.line("No matching physical volumes found")?);
    }
    let values = Values::default();
    for line in &lines {
        session.line(&text(arguments, line, widths, &values))?;
    }
    Ok(session.line(&totals(&lines, &values))?)
}

/// What is asked about the group that one physical volume is in.
const LISTS: [Flag; 2] = [flags::LIST_VG, flags::LIST_LVS];

/// Says, where it would have been asked, that events activate nothing.
fn ignored(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    match (
        arguments.has(&flags::CHECK_COMPLETE),
        arguments.has(&flags::UDEV_OUTPUT),
    ) {
        (false, _) => Ok(()),
        (true, true) => Ok(session.print("LVM_EVENT_ACTIVATION=0\n")?),
        (true, false) => {
            let process = std::process::id();
            Ok(session.line(&format!(
                "pvscan[{process}] Ignoring pvscan with --checkcomplete because event_activation \
                 is disabled."
            ))?)
        }
    }
}

/// The groups of physical volumes, and for `--listlvs` their volumes.
fn listed(list: &Flag, chosen: &[Chosen<'_>], session: &mut Session) -> Result<(), Error> {
    for one in chosen {
        let Chosen::Member(group, _) = one else {
            continue;
        };
        let name = &group.vg.name;
        session.line(&format!("VG {name}"))?;
        if list.long != flags::LIST_LVS.long {
            continue;
        }
        for (_, lv) in group.vg.lvs().filter(|(lv, _)| group.is_visible(*lv)) {
            session.line(&format!("LV {name}/{}", lv.name()))?;
        }
    }
    Ok(())
}

/// Refuses options of one form that make no sense together.
fn require_sense(arguments: &Arguments) -> Result<(), Error> {
    if arguments.has(&flags::EXPORTED) && arguments.has(&flags::NOVOLUMEGROUP) {
        return Err(Error::usage("Options -e and -n are incompatible"));
    }
    if arguments.has(&flags::MAJOR_OF_PV) != arguments.has(&flags::MINOR_OF_PV) {
        let what = "Both --major and --minor required to identify devices.";
        return Err(Error::usage(what));
    }
    Ok(())
}

/// What stock says of each physical volume when it notes which are there; nothing is noted here.
fn online(view: &View, arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let process = std::process::id();
    for one in selected::labels(view, arguments, session) {
        let Chosen::Label(found) = one else {
            continue;
        };
        let pv = view.scan.pv(found);
        let name = &view.scan.device(pv.device).name;
        let is_used = pv.group.is_some() || pv.header.usage() == PvUse::Used;
        let has_text = |area: &FoundArea| matches!(area.content, AreaContent::Version(_));
        if is_used && !pv.areas.iter().any(has_text) {
            session.line(&format!("pvscan[{process}] PV {name} has no VG metadata."))?;
        }
        let group = view.scan.group_of(pv);
        let mut restrictions = group.iter().flat_map(|group| &group.restrictions);
        let left_out = restrictions.find_map(|restriction| match restriction {
            Restriction::Exported => Some("ignore exported VG"),
            Restriction::Shared { .. } => Some("ignore shared VG"),
            _ => None,
        });
        let what = left_out.unwrap_or(if is_used { "online" } else { "not used" });
        session.line(&format!("pvscan[{process}] PV {name} {what}."))?;
    }
    Ok(())
}

fn line(view: &View, chosen: &Chosen<'_>) -> Option<Line> {
    match chosen {
        Chosen::Member(group, pv) => {
            let model = group.vg.pv(*pv);
            let free = model.pe_count.0.saturating_sub(group.allocated(*pv));
            let name = group.vg.name.clone();
            let exported = group.vg.flags.has(VgFlag::Exported);
            Some(Line {
                name: view.pv_name(group, *pv).to_owned(),
                uuid: model.uuid.to_string(),
                place: if exported {
                    Place::Exported(name)
                } else {
                    Place::Group(name)
                },
                size: group.sectors(model.pe_count),
                free: group.sectors(lvm2::Extents(free)),
            })
        }
        Chosen::Label(found) => {
            let label = view.scan.pv(*found);
            let device = view.scan.device(label.device);
            Some(Line {
                name: device.name.clone(),
                uuid: label.uuid.to_string(),
                place: Place::Nowhere,
                size: device.size.0 / 512,
                free: 0,
            })
        }
        Chosen::Device(_) => None,
    }
}

fn text(
    arguments: &Arguments,
    line: &Line,
    (names, groups): (usize, usize),
    values: &Values,
) -> String {
    if arguments.has(&flags::PVSCAN_SHORT) {
        return line.name.clone();
    }
    let name = if arguments.has(&flags::UUID) {
        let width = names - GAP;
        format!("{:width$} with UUID {}   ", line.name, line.uuid)
    } else {
        format!("{:names$}", line.name)
    };
    let (size, free) = (values.size(line.size), values.size(line.free));
    match &line.place {
        Place::Group(group) => format!("PV {name} VG {group:groups$} lvm2 [{size} / {free} free]"),
        Place::Exported(group) => {
            format!("PV {name}  is in exported VG {group} [{size} / {free} free]")
        }
        Place::Nowhere => format!("PV {name}    {:groups$} lvm2 [{size}]", ""),
    }
}

fn totals(lines: &[Line], values: &Values) -> String {
    let sum = |nowhere: bool| {
        let counted = lines
            .iter()
            .filter(|line| (line.place == Place::Nowhere) == nowhere);
        let size = |line: &Line| line.size;
        let total = counted.clone().map(size).fold(0_u64, u64::saturating_add);
        (counted.count(), total)
    };
    let ((used, used_size), (unused, unused_size)) = (sum(false), sum(true));
    format!(
        "Total: {} [{}] / in use: {used} [{}] / in no VG: {unused} [{}]",
        used + unused,
        values.size(used_size.saturating_add(unused_size)),
        values.size(used_size),
        values.size(unused_size),
    )
}
