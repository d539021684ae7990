//! `pvscan`: one line for each physical volume, and the sums.

use lvm::model::{PvId, VgFlag};
use manager::scan::PvIndex;

use super::Session;
use super::display::Values;
use super::selected::{self, Chosen};
use crate::args::{Arguments, Command, Error, Example, flags};
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
        ],
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

/// Columns are as wide as the longest name and this.
const GAP: usize = 2;
/// Stock has always counted the name of its group of unused disks, too.
const VG_NAME_MIN: usize = "#orphans_lvm2".len();

/// One line to be.
struct Line {
    name: String,
    group: String,
    rest: String,
}

#[derive(Default)]
struct Sums {
    used: (u64, u64),
    unused: (u64, u64),
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let view = session.view(arguments)?;
    let chosen = selected::devices(&view, arguments, session);
    if arguments.has(&flags::EXPORTED) {
        session.tell("WARNING: only considering physical volumes of exported volume group(s)");
    } else if arguments.has(&flags::NOVOLUMEGROUP) {
        session.tell("WARNING: only considering physical volumes in no volume group");
    }
    let values = Values::default();
    let mut sums = Sums::default();
    let mut lines = Vec::new();
    for chosen in chosen {
        let line = match chosen {
            Chosen::Member(..) if arguments.has(&flags::NOVOLUMEGROUP) => continue,
            Chosen::Member(group, pv) => {
                let exported = group.vg.flags.has(VgFlag::Exported);
                if arguments.has(&flags::EXPORTED) && !exported {
                    continue;
                }
                member(&view, group, pv, values, &mut sums)
            }
            Chosen::Label(_) if arguments.has(&flags::EXPORTED) => continue,
            Chosen::Label(found) => orphan(&view, found, values, &mut sums),
            Chosen::Device(_) => continue,
        };
        lines.push((line, uuid(&view, &chosen)));
    }
    print(arguments, session, &lines)?;
    if lines.is_empty() {
        return Ok(session.line("No matching physical volumes found")?);
    }
    let total = sums.used.1.saturating_add(sums.unused.1);
    let totals = format!(
        "Total: {} [{}] / in use: {} [{}] / in no VG: {} [{}]",
        sums.used.0 + sums.unused.0,
        values.size(total),
        sums.used.0,
        values.size(sums.used.1),
        sums.unused.0,
        values.size(sums.unused.1),
    );
    Ok(session.line(&totals)?)
}

fn print(
    arguments: &Arguments,
    session: &mut Session,
    lines: &[(Line, String)],
) -> Result<(), Error> {
    if arguments.has(&flags::PVSCAN_SHORT) {
        for (line, _) in lines {
            session.line(&line.name)?;
        }
        return Ok(());
    }
    let name = |(line, uuid): &(Line, String)| {
        if arguments.has(&flags::UUID) {
            format!("{} with UUID {uuid}", line.name)
        } else {
            line.name.clone()
        }
    };
    let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0) + GAP;
    let names = longest(&mut lines.iter().map(|line| name(line).len()));
    let groups = longest(
        &mut lines
            .iter()
            .map(|(line, _)| line.group.len().max(VG_NAME_MIN)),
    );
    for line in lines {
        let (Line { group, rest, .. }, _) = line;
        let label = if group.is_empty() { "  " } else { "VG" };
        session.line(&format!(
            "PV {:names$} {label} {group:groups$} {rest}",
            name(line)
        ))?;
    }
    Ok(())
}

fn member(view: &View, group: &Group, pv: PvId, values: Values, sums: &mut Sums) -> Line {
    let model = group.vg.pv(pv);
    let size = group.sectors(model.pe_count);
    let free = model.pe_count.0.saturating_sub(group.allocated(pv));
    let free = values.size(group.sectors(lvm::Extents(free)));
    sums.used = (sums.used.0 + 1, sums.used.1.saturating_add(size));
    let name = view.pv_name(group, pv).to_owned();
    Line {
        name,
        group: group.vg.name.clone(),
        rest: format!("lvm2 [{} / {free} free]", values.size(size)),
    }
}

fn orphan(view: &View, found: PvIndex, values: Values, sums: &mut Sums) -> Line {
    let device = view.scan.device(view.scan.pv(found).device);
    let size = device.size.0 / 512;
    sums.unused = (sums.unused.0 + 1, sums.unused.1.saturating_add(size));
    Line {
        name: device.name.clone(),
        group: String::new(),
        rest: format!("lvm2 [{}]", values.size(size)),
    }
}

fn uuid(view: &View, chosen: &Chosen<'_>) -> String {
    match chosen {
        Chosen::Member(group, pv) => group.vg.pv(*pv).uuid.to_string(),
        Chosen::Label(found) => view.scan.pv(*found).uuid.to_string(),
        Chosen::Device(_) => String::new(),
    }
}
