//! How the devices file is replaced.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::write_atomically;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn folder(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("ashlar-listing-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("makes a directory");
    Folder(path)
}

#[test]
fn a_file_is_replaced_whole_and_only_its_owner_may_read_it() {
    // Proves: the folder is made, a leftover of a lost power is replaced, and nothing but the file
    // stays, with stock's permissions.
    let folder = folder("whole");
    let path = folder.0.join("devices/system.devices");
    write_atomically(&path, b"one").expect("is written");
    fs::write(folder.0.join("devices/system.devices_new"), "half").expect("writes");
    let old = fs::File::open(&path).expect("is there");
    write_atomically(&path, b"two").expect("is written");
    assert_eq!(fs::read(&path).expect("is there"), b"two");
    let text = std::io::read_to_string(old).expect("the old file");
    assert_eq!(text, "one", "it was written in place");
    let entries = fs::read_dir(folder.0.join("devices")).expect("a folder");
    assert_eq!(entries.count(), 1);
    let mode = |path: &PathBuf| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&folder.0.join("devices")), 0o700);
}

#[test]
fn what_cannot_be_replaced_stays() {
    // Proves: where the new file cannot take its place, the error comes back and no half is left.
    let folder = folder("stays");
    let path = folder.0.join("system.devices");
    fs::create_dir_all(path.join("full")).expect("makes directories");
    write_atomically(&path, b"two").expect_err("a folder is in the way");
    let entries = fs::read_dir(&folder.0).expect("a folder");
    assert_eq!(entries.count(), 1);
}
