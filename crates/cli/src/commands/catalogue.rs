//! All commands, and what people want when they look for one.

use super::{
    attach, cat, change, cp, demo, detach, devtypes, explain, facts, fullreport, help, history,
    lab, lvdisplay, lvmconfig, lvmdevices, lvmdiskscan, lvmdump, lvs, lvscan, md, nodes, obsolete,
    owners, pvdisplay, pvs, pvscan, receive, run, scrub, send, serve, snapshot, stop, sync,
    vgcfgbackup, vgdisplay, vgimportclone, vgimportdevices, vgmknodes, vgs, vgscan,
};
use crate::args::{Command, Task};

/// What only looks.
const LOOKING: &[&Command] = &[
    &pvs::COMMAND,
    &vgs::COMMAND,
    &lvs::COMMAND,
    &pvdisplay::COMMAND,
    &vgdisplay::COMMAND,
    &lvdisplay::COMMAND,
    &pvscan::COMMAND,
    &vgscan::COMMAND,
    &lvscan::COMMAND,
    &lvmdevices::COMMAND,
    &vgimportdevices::COMMAND,
    &vgimportclone::COMMAND,
    &lvmdiskscan::COMMAND,
    &fullreport::COMMAND,
    &scrub::COMMAND,
    &md::COMMAND,
    &vgcfgbackup::COMMAND,
    &change::FSADM,
    &lvmdump::COMMAND,
    &history::COMMAND,
    &snapshot::COMMAND,
];

/// What uses volumes, and the rest.
const USING: &[&Command] = &[
    &change::plan::COMMAND,
    &cat::COMMAND,
    &cp::COMMAND,
    &send::COMMAND,
    &receive::COMMAND,
    &attach::COMMAND,
    &detach::COMMAND,
    &vgmknodes::COMMAND,
    &run::COMMAND,
    &serve::COMMAND,
    &owners::COMMAND,
    &nodes::COMMAND,
    &sync::COMMAND,
    &stop::COMMAND,
    &explain::COMMAND,
    &lab::COMMAND,
    &demo::COMMAND,
    &help::COMMAND,
    &facts::FORMATS,
    &facts::SEGTYPES,
    &facts::SYSTEMID,
    &facts::TAGS,
    &facts::LASTLOG,
    &devtypes::COMMAND,
];

const COUNT: usize = LOOKING.len()
    + change::COMMANDS.len()
    + USING.len()
    + lvmconfig::COMMANDS.len()
    + obsolete::COMMANDS.len();

/// All commands, in the order of the overview.
pub(super) const ALL: &[&Command] = &joined();

const fn joined() -> [&'static Command; COUNT] {
    let mut all = [LOOKING[0]; COUNT];
    let groups = [
        LOOKING,
        change::COMMANDS,
        USING,
        lvmconfig::COMMANDS,
        obsolete::COMMANDS,
    ];
    let (mut at, mut group) = (0, 0);
    while group < groups.len() {
        let mut index = 0;
        while index < groups[group].len() {
            all[at] = groups[group][index];
            at += 1;
            index += 1;
        }
        group += 1;
    }
    all
}

/// The command called `name`.
pub(super) fn find(name: &str) -> Option<&'static Command> {
    ALL.iter().copied().find(|command| command.name == name)
}

/// A command, for tests.
#[cfg(test)]
pub(crate) fn command_of(name: &str) -> &'static Command {
    find(name).expect("is a command")
}

/// A line of a command that tests give to others.
#[cfg(test)]
pub(crate) fn arguments_of(name: &str, words: &[&str]) -> crate::args::Arguments {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    crate::args::read_typed(command_of(name), &words).expect("is a line")
}

/// What people want, with the commands that do it. What is in no list here stands under
/// [`OTHERS`].
const TASKS: &[(&str, &[&str])] = &[
    (
        "Look at what is there",
        &[
            "pvs",
            "vgs",
            "lvs",
            "pvdisplay",
            "vgdisplay",
            "lvdisplay",
            "pvscan",
            "vgscan",
            "lvscan",
            "lvmdiskscan",
            "lvmdevices",
            "vgimportdevices",
            "fullreport",
            "snapshot",
            "explain",
        ],
    ),
    (
        "Use volumes",
        &[
            "cat", "cp", "send", "receive", "run", "attach", "detach", "serve", "owners", "nodes",
            "stop",
        ],
    ),
    (
        "Make and change volumes",
        &[
            "lvcreate",
            "lvextend",
            "lvreduce",
            "lvresize",
            "lvrename",
            "lvchange",
            "lvconvert",
            "defrag",
            "lvremove",
        ],
    ),
    (
        "Make and change groups, and the disks in them",
        &[
            "vgcreate",
            "vgextend",
            "vgreduce",
            "vgrename",
            "vgchange",
            "vgsplit",
            "vgmerge",
            "vgexport",
            "vgimport",
            "vgimportclone",
            "vgremove",
            "pvcreate",
            "pvresize",
            "pvchange",
            "pvmove",
            "pvremove",
            "image",
            "md",
        ],
    ),
    ("Look ahead and go back", &["plan", "history", "undo"]),
    (
        "Check and rescue",
        &[
            "vgck",
            "pvck",
            "scrub",
            "sync",
            "vgcfgbackup",
            "vgcfgrestore",
            "fsadm",
            "lvmdump",
        ],
    ),
    ("See what layers cost", &["lab"]),
    ("Get to know Ashlar", &["demo", "help"]),
    (
        "Ask what is known here",
        &[
            "lvmconfig",
            "dumpconfig",
            "config",
            "formats",
            "segtypes",
            "devtypes",
            "systemid",
            "tags",
            "lastlog",
        ],
    ),
    (
        "Gone from LVM2 itself",
        &["lvmchange", "lvmsadc", "lvmsar", "pvdata", "vgconvert"],
    ),
];
/// The last task.
const OTHERS: &str = "More";

/// All commands, each once, by what people want.
pub(super) fn by_task() -> Vec<Task> {
    let mut tasks: Vec<Task> = TASKS
        .iter()
        .map(|(title, names)| Task {
            title,
            commands: names.iter().filter_map(|name| find(name)).collect(),
        })
        .collect();
    let is_listed = |name: &str| TASKS.iter().any(|(_, names)| names.contains(&name));
    let rest = ALL.iter().copied();
    let rest: Vec<&Command> = rest.filter(|command| !is_listed(command.name)).collect();
    if !rest.is_empty() {
        tasks.push(Task {
            title: OTHERS,
            commands: rest,
        });
    }
    tasks
}
