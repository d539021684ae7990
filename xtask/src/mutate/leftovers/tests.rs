//! Only what lies in the world is taken away.

use std::path::{Path, PathBuf};

use super::{Mounted, clear, parse, within};

/// Of mounts, those of the world are known, and which of them are FUSE's.
#[test]
fn mounts_of_the_world_are_known() {
    let mounted = parse(
        "42 23 0:39 / /sys/fs/fuse/connections rw - fusectl none rw\n\
         50 23 0:51 / /tmp/other/file rw shared:1 - fuse.ashlar ashlar rw\n\
         51 23 0:52 / /tmp/w/a/file rw - fuse.ashlar ashlar rw\n\
         52 23 7:3 / /tmp/w/files rw - ext4 /dev/loop3 rw\n",
    );
    let [fuse, ext4] = &within(&mounted, Path::new("/tmp/w")).collect::<Vec<_>>()[..] else {
        panic!("{mounted:?}");
    };
    let connection = Some("52".to_owned());
    let path = PathBuf::from("/tmp/w/a/file");
    assert_eq!(**fuse, Mounted { path, connection });
    assert_eq!(ext4.connection, None);
}

/// A world is empty afterwards, and what lies beside it stays.
#[test]
fn the_world_is_emptied() {
    let folder = tests::Scratch::new("leftovers");
    let world = folder.join("world");
    std::fs::create_dir_all(world.join("a/b")).expect("a folder is made");
    std::fs::write(folder.join("beside"), "").expect("a file is made");
    clear(&world);
    let left = std::fs::read_dir(&world).expect("it is there").count();
    assert_eq!(left, 0);
    assert!(folder.join("beside").exists());
}
