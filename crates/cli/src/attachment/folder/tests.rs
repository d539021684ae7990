//! Records tell a living server from a killed one, and nothing is left.

use std::path::PathBuf;

use super::{Attachment, Record, Runtime, State};

fn runtime(name: &str) -> Runtime {
    let attached = std::env::temp_dir().join(format!("ashlar-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&attached).unwrap();
    Runtime { attached }
}

#[test]
fn a_held_record_is_served_and_then_gone() {
    // While the record is held the attachment is found as served; a second claim names the place.
    let runtime = runtime("held");
    let mut held = runtime.claim("vg0-data", "vg0/data").unwrap();
    let file = held.mount_point().unwrap();
    let node = Some(PathBuf::from("/dev/loop99"));
    let record = Record {
        volume: "vg0/data".into(),
        pid: 7,
        file,
        node,
    };
    held.write(&record).unwrap();
    let found = runtime.find("vg0/data").unwrap().unwrap();
    assert_eq!((found.state, &found.record), (State::Served, &record));
    let refused = runtime.claim("vg0-data", "vg0/data").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "vg0/data is already attached at /dev/loop99"
    );
    drop(held);
    assert!(found.is_gone().unwrap());
    assert!(runtime.attachments().unwrap().is_empty());
    std::fs::remove_dir(&runtime.attached).unwrap();
}

#[test]
fn what_a_killed_server_left_is_cleaned_up() {
    // An unlocked record, however little of it was written, is stale and can be claimed again.
    let runtime = runtime("stale");
    let folder = runtime.attached.join("vg0-data");
    for text in [
        "",
        "volume=vg0/data\npid=1\nnonsense\nfile=/nowhere\nnode=/dev/loop99\n",
    ] {
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("record"), text).unwrap();
        std::fs::write(folder.join("volume"), "").unwrap();
        assert_eq!(
            Attachment::read(folder.clone()).unwrap().state,
            State::Stale
        );
        drop(runtime.claim("vg0-data", "vg0/data").unwrap());
        assert!(!folder.exists());
    }
    std::fs::remove_dir(&runtime.attached).unwrap();
}
