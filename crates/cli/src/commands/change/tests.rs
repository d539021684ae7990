//! What holds for all commands that change metadata.

use ashlar::explore::Case;

use super::COMMANDS;

/// It writes one device, in the order in which a new physical volume gets its areas and its label,
/// which is explored with `pvcreate`: `end_to_end/header_repair.rs` kills it at each write.
const WRITES_AS_PVCREATE: &str = "pvck";

/// Each of them is cut off at every moment by `cargo xtask crash`: whoever adds one adds cases.
#[test]
fn every_command_is_explored() {
    let explored = Case::explored();
    let names = COMMANDS.iter().map(|command| command.name);
    let names = names.filter(|name| *name != WRITES_AS_PVCREATE);
    let forgotten: Vec<&str> = names.filter(|name| !explored.contains(name)).collect();
    assert_eq!(forgotten, [""; 0], "add them to crates/ashlar/src/explore");
}
