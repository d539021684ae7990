//! What holds for all commands that change metadata.

use ashlar::explore::Case;

use super::COMMANDS;

/// Each of them is cut off at every moment by `cargo xtask crash`: whoever adds one adds cases.
#[test]
fn every_command_is_explored() {
    let explored = Case::explored();
    let names = COMMANDS.iter().map(|command| command.name);
    let forgotten: Vec<&str> = names.filter(|name| !explored.contains(name)).collect();
    assert_eq!(forgotten, [""; 0], "add them to crates/ashlar/src/explore");
}
