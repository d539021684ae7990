//! What is missing is named.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{ensure_fuse, ensure_list, find, missing_packages, search_path};

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

#[test]
fn a_device_for_root_alone_is_opened_to_everybody() {
    // What a machine without udev has; a file stands for the device.
    let device = std::env::temp_dir().join(format!("xtask-fuse-{}", std::process::id()));
    std::fs::write(&device, "").expect("a file");
    let rights = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&device, rights(0o600)).expect("its rights");
    let outcome = ensure_fuse(&device);
    let mode = std::fs::metadata(&device).map(|found| found.permissions().mode() & 0o777);
    std::fs::remove_file(&device).expect("the file is ours");
    assert_eq!(outcome, Ok(()));
    assert_eq!(mode.expect("the file is there"), 0o666);
    let missing = ensure_fuse(Path::new("/nowhere/fuse")).expect_err("it is not there");
    assert!(missing.contains("/nowhere/fuse"), "{missing}");
}

#[test]
fn a_missing_list_of_mounts_is_made() {
    // What a minimal root has: none. A list that is there stays, one that cannot be made is named.
    let list = std::env::temp_dir().join(format!("xtask-mtab-{}", std::process::id()));
    let made = ensure_list(&list);
    let target = std::fs::read_link(&list);
    let again = ensure_list(&list);
    std::fs::remove_file(&list).expect("the link is ours");
    assert_eq!((made, again), (Ok(()), Ok(())));
    assert_eq!(target.expect("a link"), Path::new("/proc/self/mounts"));
    let refused = ensure_list(Path::new("/nowhere/mtab")).expect_err("it cannot be made");
    assert!(refused.contains("/nowhere/mtab"), "{refused}");
}
