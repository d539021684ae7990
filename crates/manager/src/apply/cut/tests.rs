//! Tests: which loop devices keep an image from becoming shorter.

use std::fs::{File, create_dir_all, write};

use super::require_no_loop;
use crate::Kind;
use crate::tests::fixture::Folder;

#[test]
fn loop_devices_of_others_are_noticed() {
    // Proves: a loop device over the file, also by another of its names, one over a file of this
    // name that is not to be seen here, and none over other files, removed ones or nothing.
    let folder = Folder::new();
    folder.disk("mine.img", &[]);
    folder.disk("other.img", &[]);
    create_dir_all(folder.path("again")).expect("is made");
    let again = folder.path("again/mine.img");
    folder.disk("again/mine.img", &[]);
    std::fs::hard_link(folder.path("mine.img"), folder.path("alias.img")).expect("is made");
    let file = File::open(folder.path("mine.img")).expect("is there");
    let found = file.metadata().expect("is there");
    let nowhere = folder.path("container");
    let cases = [
        (folder.path("mine.img"), true),
        (folder.path("alias.img"), true),
        (folder.path("other.img"), false),
        (again, false),
        (nowhere.join("mine.img"), true),
        (nowhere.join("other.img"), false),
        (nowhere.join("mine.img (deleted)"), false),
    ];
    let disks = folder.path("block");
    create_dir_all(disks.join("sda")).expect("is made");
    create_dir_all(disks.join("loop0")).expect("is made");
    create_dir_all(disks.join("loop7/loop")).expect("is made");
    for (path, is_refused) in cases {
        let text = format!("{}\n", path.display());
        write(disks.join("loop7/loop/backing_file"), text).expect("is written");
        let outcome = require_no_loop(&file, &found, &disks);
        assert_eq!(outcome.is_err(), is_refused, "{}", path.display());
        if let Err(error) = outcome {
            assert_eq!(error.kind(), Kind::Refused);
            assert!(
                error.to_string().contains("losetup -d /dev/loop7"),
                "{error}"
            );
        }
    }
}
