//! `ashlar plan CMD…`: what a command would do, without doing it.
//!
//! The command's own handler runs, with all its rules, up to the first write; what it planned is
//! shown for people, or as JSON:
//!
//! ```text
//!   {"plan": [ {"command", "groups": [{"vg_name", "seqno", "seqno_now", "what"}],
//!               "volumes": [{"vg_name", "lv_name", "gets": [EXTENTS], "gives_back": [EXTENTS]}],
//!               "new_pvs": [NAME], "removed_pvs": [NAME],
//!               "writes": [{"pv_name", "start", "length", "what"}],
//!               "wipes": [LV], "copies": [{"vg_name", "lv_name", "copies", "bytes", "seconds"}],
//!               "snapshots": [{"vg_name", "lv_name", "origin", "bytes", "chunk_bytes", "chunks",
//!                              "percent", "snapshots"}],
//!               "images": [{"pv_name", "bytes_now", "bytes"}],
//!               "questions": [TEXT], "messages": [TEXT], "flushes": NUMBER} ]}
//!   EXTENTS = {"pv_name", "first", "count"}; start and length are bytes on the device; bytes of
//!   images are those of the whole file; seconds are null: how long copying takes is not known
//! ```
//!
//! Takes no lock: what it says was true when it looked.

use super::run::Caller;
use super::shown::{Summary, show};
use super::table::find;
use super::terminal::Terminal;
use super::work::{Purpose, Work};
use crate::args::{Arguments, Command, Error, Example, Flag, flags, parse};
use crate::commands::Session;

const JSON: Flag = Flag::switch(
    "json",
    "The same as --reportformat json; may also stand behind the command.",
);
const JSON_WORD: &str = "--json";

/// `plan`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "plan",
    summary: "Show what a command would do, without doing it",
    operands: "COMMAND [ARGUMENT ...]",
    description: "Runs any command that changes metadata up to its first write, and shows which \
        extents of which devices each volume would get or give back, what would be written into \
        them, how many flushes that takes, and which questions would be asked. Nothing is changed, \
        and nothing is locked.\n\n\
        Options in front of the command are those of plan; the others are the command's, but for \
        --json.",
    flags: &[&[JSON, flags::REPORT_FORMAT], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar plan lvcreate -L 1g -n data vg0",
            does: "shows which extents a volume would get",
        },
        Example {
            line: "ashlar plan --json lvextend -l +100%FREE vg0/data",
            does: "shows it to a program",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let [name, words @ ..] = arguments.operands() else {
        return Err(Error::usage(
            "plan: name a command, as in: ashlar plan lvcreate -L 1g vg0",
        ));
    };
    let is_json = match arguments.value(&flags::REPORT_FORMAT) {
        _ if arguments.has(&JSON) => true,
        None | Some("basic") => false,
        Some("json" | "json_std") => true,
        Some(other) => {
            let what = format!("Invalid argument for --reportformat: {other}");
            return Err(Error::usage(what));
        }
    };
    let Some((command, handler)) = find(name) else {
        return Err(Error::usage(format!(
            "plan: {name} is no command that changes metadata."
        )));
    };
    // What says where to look may also stand in front.
    let mut all = Vec::new();
    for flag in [flags::DEVICES, flags::DEVICES_FILE, flags::CONFIG] {
        for value in arguments.values(&flag) {
            all.extend([format!("--{}", flag.long), value.to_owned()]);
        }
    }
    // No command that changes something has such an option of its own.
    let end = words.iter().position(|word| word == "--");
    let (front, behind) = words.split_at(end.unwrap_or(words.len()));
    let is_json = is_json || front.iter().any(|word| word == JSON_WORD);
    all.extend(front.iter().filter(|word| *word != JSON_WORD).cloned());
    all.extend_from_slice(behind);
    let inner = parse(command, &all)?;
    let mut terminal = Terminal;
    let caller = Caller::at(&mut terminal);
    let mut work = Work::new(&inner, caller, Purpose::Show)?;
    handler(&inner, &mut work)?;
    let line = [std::slice::from_ref(name), words].concat().join(" ");
    let summaries: Vec<Summary> = work.take_shown().iter().map(Summary::of).collect();
    session.print(&show(&line, &summaries, is_json))?;
    work.finish()
}
