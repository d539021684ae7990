//! Records tell a living server from a killed one, and nothing is left.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{FlockOperation, flock};

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
        dir: None,
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

#[test]
fn one_holds_a_record_however_many_look_and_clean() {
    // Servers come and go under one name, killed ones among them, while others look and clean up:
    // at no time do two hold it, and the one that does is found.
    let runtime = runtime("many");
    let holders = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let serve = |rounds: usize| {
        for round in 0..rounds {
            let Ok(mut held) = runtime.claim("vg0-data", "vg0/data") else {
                continue;
            };
            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
            let record = Record {
                volume: "vg0/data".into(),
                pid: round as u32,
                ..Record::default()
            };
            held.write(&record).unwrap();
            let found = Attachment::read(held.folder.clone()).expect("nobody removed it");
            assert_eq!((found.state, found.record), (State::Served, record));
            holders.fetch_sub(1, Ordering::SeqCst);
            if round % 2 == 0 {
                // As the kernel leaves what a killed process had.
                flock(&held.file, FlockOperation::Unlock).unwrap();
                let _ = ManuallyDrop::new(held);
            }
        }
    };
    std::thread::scope(|scope| {
        let looker = || {
            while !over.load(Ordering::SeqCst) {
                for found in runtime.attachments().unwrap() {
                    if found.state == State::Stale {
                        found.clean_up().unwrap();
                    }
                }
            }
        };
        let lookers = [scope.spawn(looker), scope.spawn(looker)];
        let servers = [scope.spawn(|| serve(40)), scope.spawn(|| serve(40))];
        for server in servers {
            server.join().unwrap();
        }
        over.store(true, Ordering::SeqCst);
        for looker in lookers {
            looker.join().unwrap();
        }
    });
    drop(runtime.claim("vg0-data", "vg0/data").unwrap());
    assert!(runtime.attachments().unwrap().is_empty());
    std::fs::remove_dir(&runtime.attached).unwrap();
}

#[test]
fn mounts_are_found_whatever_their_path_has_in_it() {
    // A dead mount that is not recognised stays for good: blanks, tabs, newlines, backslashes.
    let list =
        b"ashlar /tmp/a\\040b\\011c\\012d\\134e fuse.ashlar rw 0 0\ntmpfs /tmp/x tmpfs rw 0 0\n";
    assert!(super::is_listed(Path::new("/tmp/a b\tc\nd\\e"), list));
    assert!(!super::is_listed(Path::new("/tmp/a b"), list));
    assert!(!super::is_listed(Path::new("/tmp/x"), list));
    for path in ["/plain", "/a b", "/back\\slash", "/line\nbreak", "/\\012"] {
        let line = super::written(Path::new(path));
        assert!(!line.contains('\n'), "{line:?}");
        assert_eq!(super::path_in(&line), Path::new(path));
    }
}
