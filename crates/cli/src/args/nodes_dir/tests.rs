//! Names in a folder of devices.

use std::path::Path;

use super::apply;
use crate::args::parse;
use crate::args::table::{Command, Flag};

const FORCE: Flag = Flag::switch("force", "").short('f');

const COMMAND: Command = Command {
    name: "",
    summary: "",
    operands: "[NAME]",
    description: "",
    flags: &[&[FORCE]],
    examples: &[],
    run: |_, _| Ok(()),
};

/// The operands, and the words, of a line that was typed where `/run/nodes` is the folder.
fn named(command: &str, line: &str) -> (String, String) {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let mut arguments = parse(&COMMAND, &words).expect("the words are right");
    apply(command, &mut arguments, Path::new("/run/nodes"));
    (arguments.operands().join(" "), arguments.words().join(" "))
}

#[test]
fn volumes_and_groups_are_named_by_their_nodes() {
    let (operands, words) = named("lvremove", "-f /run/nodes/vg/a /run/nodes/mapper/vg-b");
    assert_eq!(operands, "/dev/vg/a /dev/mapper/vg-b");
    assert_eq!(words, "-f /dev/vg/a /dev/mapper/vg-b");
    assert_eq!(named("vgs", "/run/nodes/vg vg").0, "/dev/vg vg");
}

#[test]
fn paths_of_devices_stay() {
    let (operands, _) = named("vgextend", "/run/nodes/vg /run/nodes/disk");
    assert_eq!(operands, "/dev/vg /run/nodes/disk");
    assert_eq!(named("pvs", "/run/nodes/disk").0, "/run/nodes/disk");
    assert_eq!(named("vgs", "/run/nodes2/vg").0, "/run/nodes2/vg");
}
