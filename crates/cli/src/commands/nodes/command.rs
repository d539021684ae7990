//! The command: which nodes are named, and the forms in which they are shown.

use serde::Serialize;

use super::stack::{Node, nodes};
use super::status;
use super::target::{Argument, Below};
use crate::args::{Arguments, Command, Error, Example, Flag, Target, flags, split_target};
use crate::commands::Session;
use crate::output::{Live, View};

/// `--table`
const TABLE: Flag = Flag::switch(
    "table",
    "Print what each node is made of: first sector, sectors, target, and what that is told.",
);
/// `--status`
const STATUS: Flag = Flag::switch(
    "status",
    "Print how each of these lines is: how full a store is, how much of a mirror or an array goes \
     together, which legs are lost.",
);
/// `--deps`
const DEPS: Flag = Flag::switch("deps", "Print what each node stands on.");
/// `--tree`
const TREE: Flag = Flag::switch(
    "tree",
    "Print what each node stands on, and what that stands on, down to the disks.",
);
/// `--json`
const JSON: Flag = Flag::switch("json", "Print one JSON object with all of this.");
/// `-a`
const ALL: Flag = Flag::switch(
    "all",
    "Show what exists only below others, too: images, logs, stores, and the layers of origins.",
)
.short('a');

/// The deepest tree that is printed.
const DEPTH_MAX: usize = 32;

/// `nodes`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "nodes",
    summary: "Show active volumes as device-mapper would",
    operands: "[VG|VG/LV|NODE ...]",
    description: "One line for each active volume: its name in device-mapper's spelling, the \
        numbers of its device, whether somebody has it open and may write it, its size in sectors, \
        its targets, and its device. --table, --status, --deps and --tree say what dmsetup says \
        with its commands table, status, deps and ls --tree, in its words.\n\n\
        There is no device-mapper: one process serves all of a volume, so that only what people \
        use has a device. What is below it has the name that LVM2 would give it, and stands in \
        tables as /dev/mapper/NAME; an image stands there by its path. What whoever serves a \
        volume does not say is -.",
    flags: &[&[ALL, TABLE, STATUS, DEPS, TREE, JSON], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar nodes",
            does: "lists the active volumes and their devices",
        },
        Example {
            line: "ashlar nodes -a --table vg0",
            does: "prints the tables of all that is active in vg0",
        },
        Example {
            line: "ashlar nodes --tree vg0/data",
            does: "shows on which disks vg0/data stands",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let forms = [&TABLE, &STATUS, &DEPS, &TREE, &JSON];
    if forms.iter().filter(|form| arguments.has(form)).count() > 1 {
        let what = "nodes: only one of --table, --status, --deps, --tree and --json may be given";
        return Err(Error::usage(what));
    }
    let view = session.live_view(arguments)?;
    let groups = view.groups.iter();
    let all: Vec<Node<'_>> = groups.flat_map(|group| nodes(&view, group)).collect();
    let (chosen, absent) = chosen(&view, &all, arguments);
    for what in &absent {
        session.fail_later(what);
    }
    if chosen.is_empty() && !absent.is_empty() {
        return Err(Error::reported());
    }
    if arguments.has(&JSON) {
        json(session, &chosen)?;
    } else if chosen.is_empty() {
        session.line("No volumes are active.")?;
    } else if arguments.has(&TREE) {
        for node in &chosen {
            session.line(&titled(node))?;
            branches(session, &all, node, " ", 1)?;
        }
    } else if arguments.has(&DEPS) {
        for node in &chosen {
            session.line(&dependencies(node))?;
        }
    } else if arguments.has(&TABLE) {
        let text = |node: &Node<'_>| node.lines.iter().map(super::target::Line::text).collect();
        lines(session, &chosen, is_one(arguments, &chosen), text)?;
    } else if arguments.has(&STATUS) {
        lines(session, &chosen, is_one(arguments, &chosen), status::lines)?;
    } else {
        list(session, &chosen)?;
    }
    // It was said whose are not known.
    let is_known = |live: &Live| !matches!(live, Live::Unknown);
    if view.groups.iter().all(|group| is_known(&group.live)) {
        Ok(())
    } else {
        Err(Error::reported())
    }
}

/// The nodes that the operands name, each once, or without any those that people use; and of which
/// names there is nothing.
fn chosen<'n, 'a>(
    view: &View,
    all: &'n [Node<'a>],
    arguments: &Arguments,
) -> (Vec<&'n Node<'a>>, Vec<String>) {
    let parts = arguments.has(&ALL);
    let operands = arguments.operands();
    let mut is_chosen = vec![operands.is_empty(); all.len()];
    let mut is_named = vec![false; all.len()];
    let mut missing = Vec::new();
    for operand in operands {
        // A name as it is listed, or the name of a volume or a group.
        let target = split_target(operand);
        let plain = operand.strip_prefix("/dev/mapper/").unwrap_or(operand);
        let mut found = false;
        for (index, node) in all.iter().enumerate() {
            let group = &node.group.vg.name;
            let name = node.group.vg.lv(node.lv).name();
            let is_volume = node.name == plain
                || matches!(&target, Target::Lv(lv) if lv.vg == *group && lv.lv == name);
            let is_group = matches!(&target, Target::Vg(vg) if vg == group);
            is_chosen[index] |= is_volume || is_group;
            // Whoever names a part means it; of a volume with layers, all are meant by -a only.
            is_named[index] |= node.name == plain || (is_volume && !node.is_layer());
            found |= is_volume || is_group;
        }
        if !found {
            missing.extend(absent(view, operand, &target));
        }
    }
    let shown = all.iter().enumerate();
    let shown = shown.filter(|(index, node)| {
        is_chosen[*index] && (parts || is_named[*index] || !node.is_part())
    });
    (shown.map(|(_, node)| node).collect(), missing)
}

/// Why nothing that is active has this name; `None` for a group without such volumes.
fn absent(view: &View, operand: &str, target: &Target) -> Option<String> {
    let group = |name: &str| view.groups.iter().find(|group| group.vg.name == name);
    match target {
        Target::Vg(name) if group(name).is_some() => None,
        Target::Lv(lv) => Some(match group(&lv.vg) {
            None => format!("Volume group \"{}\" not found", lv.vg),
            Some(group) if group.vg.lv_by_name(&lv.lv).is_some() => {
                format!("{}/{} is not active.", lv.vg, lv.lv)
            }
            Some(_) => format!("Failed to find logical volume \"{}/{}\"", lv.vg, lv.lv),
        }),
        Target::Vg(_) | Target::Tag(_) => Some(format!(
            "Nothing that is active is called {operand}: name a volume group, VG/LV, or what \
             `ashlar nodes -a' lists."
        )),
    }
}

/// Whether a single node is meant, which need not be named then.
fn is_one(arguments: &Arguments, chosen: &[&Node<'_>]) -> bool {
    let is_group = |word: &String| matches!(split_target(word), Target::Vg(_));
    match (arguments.operands(), chosen) {
        ([word], [node]) => *word == node.name || !is_group(word),
        _ => false,
    }
}

fn lines(
    session: &mut Session,
    chosen: &[&Node<'_>],
    is_one: bool,
    of: impl Fn(&Node<'_>) -> Vec<String>,
) -> Result<(), Error> {
    for node in chosen {
        for line in of(node) {
            if is_one {
                session.line(&line)?;
            } else {
                session.line(&format!("{}: {line}", node.name))?;
            }
        }
    }
    Ok(())
}

/// The headings.
const COLUMNS: [&str; 7] = [
    "Name", "Number", "Open", "Access", "Sectors", "Targets", "Device",
];

fn list(session: &mut Session, chosen: &[&Node<'_>]) -> Result<(), Error> {
    let none = || "-".to_owned();
    let rows = chosen.iter().map(|node| {
        let mut targets: Vec<&str> = node.lines.iter().map(|line| line.target).collect();
        targets.dedup();
        let place = node.place();
        let word = |is: bool, yes: &str, no: &str| if is { yes } else { no }.to_owned();
        [
            node.name.clone(),
            numbers(node).map_or_else(none, |(major, minor)| format!("{major}:{minor}")),
            word(node.is_open(), "open", "-"),
            word(node.is_read_only(), "read", "write"),
            node.sectors().to_string(),
            targets.join(","),
            place.map_or_else(none, |place| place.path.display().to_string()),
        ]
    });
    let all: Vec<[String; COLUMNS.len()]> = std::iter::once(COLUMNS.map(str::to_owned))
        .chain(rows)
        .collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..COLUMNS.len()).filter_map(width).collect();
    for row in &all {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        session.line(cells.join(" ").trim_end())?;
    }
    Ok(())
}

/// The numbers of its device.
fn numbers(node: &Node<'_>) -> Option<(u32, u32)> {
    node.place().and_then(|place| place.number)
}

fn dependencies(node: &Node<'_>) -> String {
    let below = node.below();
    let count = below.len();
    let names = below.into_iter().map(|one| format!(" ({})", name_of(one)));
    let names = names.collect::<String>();
    format!("{}: {count} dependencies\t:{names}", node.name)
}

fn name_of(below: &Below) -> &str {
    match below {
        Below::Node(name) | Below::Disk(name, _) => name,
    }
}

fn titled(node: &Node<'_>) -> String {
    match numbers(node) {
        Some((major, minor)) => format!("{} ({major}:{minor})", node.name),
        None => node.name.clone(),
    }
}

/// Prints what is below a node, behind `indent`.
fn branches(
    session: &mut Session,
    all: &[Node<'_>],
    node: &Node<'_>,
    indent: &str,
    depth: usize,
) -> Result<(), Error> {
    let below = node.below();
    for (index, one) in below.iter().enumerate() {
        let is_last = index + 1 == below.len();
        let branch = if is_last { "`-" } else { "|-" };
        let found = match one {
            Below::Node(name) => all.iter().find(|other| other.name == *name),
            Below::Disk(..) => None,
        };
        let title = match (found, one) {
            (Some(found), _) => titled(found),
            (None, Below::Disk(name, Some((major, minor)))) => format!("{name} ({major}:{minor})"),
            (None, one) => name_of(one).to_owned(),
        };
        session.line(&format!("{indent}{branch}{title}"))?;
        // Metadata that stand on themselves are nobody's who is active; but who knows.
        if let Some(found) = found.filter(|_| depth < DEPTH_MAX) {
            let indent = format!("{indent}{}", if is_last { "   " } else { "|  " });
            branches(session, all, found, &indent, depth + 1)?;
        }
    }
    Ok(())
}

fn json(session: &mut Session, chosen: &[&Node<'_>]) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Part<'a> {
        start: u64,
        length: u64,
        target: &'a str,
        arguments: Vec<String>,
    }
    #[derive(Serialize)]
    struct One<'a> {
        name: &'a str,
        vg_name: &'a str,
        lv_name: &'a str,
        part: bool,
        device: Option<String>,
        major: Option<u32>,
        minor: Option<u32>,
        open: bool,
        read_only: bool,
        sectors: u64,
        table: Vec<Part<'a>>,
        status: Vec<String>,
        dependencies: Vec<&'a str>,
    }
    #[derive(Serialize)]
    struct All<'a> {
        nodes: Vec<One<'a>>,
    }
    let nodes = chosen.iter().map(|node| {
        let table = node.lines.iter().map(|line| Part {
            start: line.start,
            length: line.length,
            target: line.target,
            arguments: line.arguments.iter().map(Argument::text).collect(),
        });
        let numbers = numbers(node);
        One {
            name: &node.name,
            vg_name: &node.group.vg.name,
            lv_name: node.group.vg.lv(node.lv).name(),
            part: node.is_part(),
            device: node.place().map(|place| place.path.display().to_string()),
            major: numbers.map(|(major, _)| major),
            minor: numbers.map(|(_, minor)| minor),
            open: node.is_open(),
            read_only: node.is_read_only(),
            sectors: node.sectors(),
            table: table.collect(),
            status: status::lines(node),
            dependencies: node.below().into_iter().map(name_of).collect(),
        }
    });
    let all = All {
        nodes: nodes.collect(),
    };
    session.line(&serde_json::to_string(&all).expect("texts and numbers can be written"))?;
    Ok(())
}
