//! Links lead to the volume, and nothing else is touched.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{make, paths, remove};

fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("ashlar-names-{name}-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn a_volume_has_two_names_and_then_none() {
    let (dir, target) = (folder("two"), Path::new("/nowhere/loop7"));
    make(&dir, "v-g/da-ta", target).unwrap();
    for path in [dir.join("v-g/da-ta"), dir.join("mapper/v--g-da--ta")] {
        assert_eq!(fs::read_link(path).unwrap(), target);
    }
    // Another volume keeps the folder of their group.
    make(&dir, "v-g/other", target).unwrap();
    remove(&dir, "v-g/da-ta", target);
    assert!(dir.join("v-g").is_dir());
    remove(&dir, "v-g/other", target);
    assert!(!dir.join("v-g").exists());
    assert_eq!(fs::read_dir(dir.join("mapper")).unwrap().count(), 0);
    fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn what_is_no_link_of_ours_stays() {
    let (dir, target) = (folder("stays"), Path::new("/nowhere/loop7"));
    // What a killed process left is replaced; a file is not.
    fs::create_dir(dir.join("vg0")).unwrap();
    symlink("/nowhere/loop6", dir.join("vg0/data")).unwrap();
    make(&dir, "vg0/data", target).unwrap();
    assert_eq!(fs::read_link(dir.join("vg0/data")).unwrap(), target);
    fs::write(dir.join("vg0/file"), "mine").unwrap();
    let refused = make(&dir, "vg0/file", target).unwrap_err().to_string();
    assert!(refused.contains("file exists"), "{refused}");
    // One that leads elsewhere by now is another one's.
    remove(&dir, "vg0/data", Path::new("/nowhere/loop8"));
    assert!(dir.join("vg0/data").is_symlink());
    remove(&dir, "vg0/file", target);
    assert_eq!(fs::read_to_string(dir.join("vg0/file")).unwrap(), "mine");
    fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let dir = Path::new("/dev");
    for volume in ["vg0", "../etc", "vg0/..", "vg0/a/b", "/a", "vg0/"] {
        assert_eq!(paths(dir, volume), None, "{volume}");
    }
}
