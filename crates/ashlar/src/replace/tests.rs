//! Replaced, or as before.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{Readers, replace_file};
use crate::tests::fixture::Folder;

#[test]
fn files_are_replaced_as_a_whole() {
    let folder = Folder::new();
    let path = folder.path("file");
    let beside = folder.path("file.new");
    replace_file(&path, &beside, Readers::Owner, |out| out.write_all(b"one")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);

    // A rest of an earlier try is no way to another file.
    let other = folder.path("other");
    fs::write(&other, b"other").unwrap();
    symlink(&other, &beside).unwrap();
    let failure = replace_file(&path, &beside, Readers::Owner, |out| {
        out.write_all(b"half")?;
        Err(io::Error::other("full"))
    });
    assert_eq!(failure.unwrap_err().to_string(), "full");
    assert_eq!(fs::read(&path).unwrap(), b"one");
    assert_eq!(fs::read(&other).unwrap(), b"other");
    assert!(fs::symlink_metadata(&beside).is_err());
}
