//! Mounts are found in the kernel's list.

use std::path::{Path, PathBuf};

use super::{is_listed, mounted_at};

#[test]
fn a_mount_is_found_by_its_device() {
    let mounts = b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        36 22 7:3 / /mnt/a\\040b rw,relatime shared:1 - ext4 /dev/loop3 rw\n";
    assert_eq!(mounted_at(mounts, "7:3"), Some(PathBuf::from("/mnt/a b")));
    assert_eq!(mounted_at(mounts, "7:30"), None);
    assert_eq!(mounted_at(b"", "7:3"), None);
}

#[test]
fn a_device_is_in_use_by_its_number_or_its_name() {
    let mounts = b"36 22 7:3 / /mnt rw shared:1 - ext4 /dev/loop3 rw\n\
        37 22 0:44 / /btr rw - btrfs /dev/loop5 rw,space_cache\n";
    assert!(is_listed(mounts, Path::new("/dev/other"), "7:3"));
    assert!(is_listed(mounts, Path::new("/dev/loop5"), "7:5"));
    assert!(!is_listed(mounts, Path::new("/dev/loop4"), "7:4"));
    assert!(!is_listed(b"", Path::new("/dev/loop4"), "7:4"));
}
