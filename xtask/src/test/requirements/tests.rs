//! What is missing is named.

use super::{find, missing_packages, search_path};

#[test]
fn a_missing_command_names_its_package_once() {
    let commands = [("sh", "dash"), ("no-such-a", "some"), ("no-such-b", "some")];
    assert_eq!(missing_packages(&commands, &search_path()), ["some"]);
    assert_eq!(missing_packages(&commands, "/nowhere"), ["dash", "some"]);
}

#[test]
fn system_folders_are_searched() {
    assert!(find("losetup", &search_path()).is_some());
}
