//! Mirrors whose first copy is lost while they are served and written.
//!
//! The disk of the first copies is behind nbdkit, which is killed. What is written from then on is
//! on the other disks only. When the lost disk is back, its older copy must not be believed: not
//! by us, and not by the kernel, which believes what the metadata names first.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tests::{Daemon, Kernel, LIMIT, Scratch, Tool, sha256};

use super::group::{Group, file, images, pattern};

/// A mirror with a log on disk, and one that was never synchronised, with its log in memory: to
/// the kernel all of its copies are the same, always.
const VOLUMES: [(&str, &str); 2] = [
    ("disk", "--type mirror -m 1 --mirrorlog disk -R 512k -L 8m"),
    (
        "core",
        "--type mirror -m 1 --mirrorlog core --nosync -R 512k -L 8m",
    ),
];

/// Stock finds the group sound, and the kernel copies what the first copies lack.
const JUDGE: &str = r"
set -e
modprobe dm_mirror
vgck lost
vgchange -ay lost
for volume in disk core; do
    until dmsetup status lost-$volume | grep ' 16/16 '; do sleep 0.2; done
    collect lost/$volume /dev/lost/$volume
done
vgchange -an lost
";

/// A group with two mirrors that hold `new`; their first copies hold `old`, and were away when
/// `new` was written.
fn lose(scratch: &Scratch, old: &[u8], new: &[u8]) -> Group {
    let group = Group::create("lost", images(scratch, "lost", 3, 48));
    let (before, after) = (file(scratch, "before", old), file(scratch, "after", new));
    for (volume, options) in VOLUMES {
        group.volume(volume, options);
        group.fill(volume, &before);
        assert_eq!(copies(&group, volume), [0, 1], "{volume}");
    }
    let disk = group.place("disk_mimage_0").image().to_owned();
    assert_eq!(group.place("core_mimage_0").image(), disk);
    let behind = nbdkit(scratch, &disk);
    let others = group.images.iter().filter(|image| **image != disk);
    let mut devices: Vec<String> = others.map(|image| image.display().to_string()).collect();
    devices.push(format!("nbd+unix:///?socket={}", socket(scratch).display()));
    let export = scratch.join("volumes");
    let serve = group.ashlar_on(&devices).arg("serve");
    let serve = serve.args(VOLUMES.map(|(volume, _)| format!("lost/{volume}")));
    let serve = serve
        .env("ASHLAR_RUNTIME_DIR", scratch.join("run"))
        .args(["--assume-exclusive", "--pv-timeout", "1"])
        .arg(format!("--nbd=unix:{}", export.display()));
    let server = Daemon::start(serve, || UnixStream::connect(&export).is_ok());
    let write = |content: &Path, volume: &str| {
        let uri = format!("nbd+unix:///lost/{volume}?socket={}", export.display());
        let copy = Tool::new("nbdcopy").arg("--flush");
        copy.arg(content).arg(uri).succeed();
    };
    for (volume, _) in VOLUMES {
        write(&before, volume);
    }
    wait_for_copies(|| {
        let owners = group.ashlar_on(&devices).arg("owners");
        let owners = owners.env("ASHLAR_RUNTIME_DIR", scratch.join("run"));
        owners.succeed().text()
    });
    behind.signal(Signal::KILL);
    drop(behind);
    for (volume, _) in VOLUMES {
        write(&after, volume);
    }
    let said = server.stop();
    for (volume, _) in VOLUMES {
        let warning = format!("lost/{volume} goes on without a copy that was lost");
        assert!(said.contains(&warning), "{said}");
        assert_eq!(copies(&group, volume), [1, 0], "{volume}: {said}");
        let held = |number: u32| group.place(&format!("{volume}_mimage_{number}")).read();
        assert!(held(0) == old, "{volume}: the lost copy is as it was");
        assert!(held(1) == new, "{volume}: the other one is written");
        assert!(group.read(volume) == new, "{volume}: it is not believed");
    }
    group
}

/// Waits until all copies count: one that is being filled cannot replace another.
fn wait_for_copies(owners: impl Fn() -> String) {
    let end = Instant::now() + LIMIT;
    while owners().contains("out of sync") {
        assert!(Instant::now() < end, "all are in sync at last");
        thread::sleep(Duration::from_millis(100));
    }
}

fn socket(scratch: &Scratch) -> std::path::PathBuf {
    scratch.join("disk.sock")
}

/// A server of one disk.
fn nbdkit(scratch: &Scratch, disk: &Path) -> Daemon {
    let socket = socket(scratch);
    let tool = Tool::new("nbdkit").args(["-f", "-U"]).arg(&socket);
    let tool = tool.arg("file").arg(disk);
    Daemon::start(tool, || UnixStream::connect(&socket).is_ok())
}

/// The numbers of a mirror's copies, in the order of the metadata.
fn copies(group: &Group, volume: &str) -> Vec<u32> {
    let names = group.copies(volume);
    let number = |name: &String| name.rsplit('_').next().and_then(|end| end.parse().ok());
    names
        .iter()
        .map(|name| number(name).expect("a number"))
        .collect()
}

#[test]
fn a_copy_that_was_lost_comes_last() {
    // Proves: a served mirror whose first disk fails goes on; what is written then is what we read
    // when all disks are back, and the metadata names the copy that has it first; also when the
    // mirror is written once more, by a command.
    let scratch = Scratch::new("lost");
    let bytes = |value: u8| vec![value; 8 << 20];
    let group = lose(&scratch, &bytes(1), &bytes(2));
    for (volume, _) in VOLUMES {
        group.fill(volume, &file(&scratch, "third", &bytes(3)));
        assert_eq!(copies(&group, volume), [1, 0], "{volume}");
        assert!(group.read(volume) == bytes(3), "{volume}");
    }
}

#[test]
fn the_kernel_does_not_believe_a_lost_copy() {
    // Proves, in one boot: stock LVM2 and its kernel, which get all disks back, read what was
    // written after the first copy was lost, and copy it over what that one holds.
    let scratch = Scratch::new("lost-judged");
    let (old, new) = (pattern("old", 8 << 20), pattern("new", 8 << 20));
    let group = lose(&scratch, &old, &new);
    let outcome = Kernel::new("lost-judged")
        .disks(&group.images)
        .succeed(JUDGE);
    for (volume, _) in VOLUMES {
        let found = &outcome.collected[&format!("lost/{volume}")];
        assert_eq!(found.sha256, sha256(&new), "{volume}: {outcome}");
        for number in 0..2 {
            let held = group.place(&format!("{volume}_mimage_{number}")).read();
            assert!(held == new, "{volume} {number}: {outcome}");
        }
        assert!(group.read(volume) == new, "{volume}");
    }
}
