//! What others serve, change, replace or run a machine from is not written.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use tests::{Daemon, Group, Scratch, Tool};

/// Bytes of a disk.
const SIZE: u64 = 64 << 20;

/// `ashlar serve` of a volume over a unix socket.
struct Served {
    daemon: Daemon,
    socket: PathBuf,
}

impl Served {
    fn of(group: &Group, volume: &str) -> Self {
        let socket = group.join("nbd");
        let address = format!("--nbd=unix:{}", socket.display());
        let serve = group.ashlar().args(["serve", volume]).arg(address);
        Self {
            daemon: Daemon::start(serve, || UnixStream::connect(&socket).is_ok()),
            socket,
        }
    }

    fn uri(&self, volume: &str) -> String {
        format!("nbd+unix:///{volume}?socket={}", self.socket.display())
    }
}

/// The label of a disk stays while its group is served, whoever asks and however: with the owner's
/// runtime folder, and with another one.
#[test]
fn a_served_disk_is_not_removed() {
    let group = Group::new("locks-remove", 2, SIZE);
    group.create("d", &["-l", "4"]);
    let served = Served::of(&group, "vg0/d");
    for runtime in ["run", "elsewhere"] {
        let remove = group
            .ashlar()
            .env("ASHLAR_RUNTIME_DIR", group.join(runtime));
        let remove = remove.args(["pvremove", "-ff", "-y"]).arg(group.disk(1));
        let said = remove.exit(5).complaints();
        let owner = format!("(process {})", served.daemon.pid());
        assert!(
            said.contains("is being served by another ashlar") && said.contains(&owner),
            "{said}"
        );
    }
    group
        .ashlar()
        .args(["lvextend", "-l", "+1", "vg0/d"])
        .succeed();
    served.daemon.stop();
    let count = group.ashlar().args(["vgs", "--noheadings"]);
    let count = count.args(["-o", "pv_count,vg_missing_pv_count", "vg0"]);
    let count = count.succeed().text();
    assert_eq!(count.split_whitespace().collect::<Vec<_>>(), ["2", "0"]);
}

/// Two partitions of one image are disks of one group: made, changed, served, grown by a third one
/// while served, and reduced again, without waiting for each other.
#[test]
fn partitions_of_one_image_are_one_group() {
    let scratch = Scratch::new("locks-partitions");
    let image = scratch.sparse("p.img", 4 * SIZE);
    let table = "label: gpt\nsize=64M\nsize=64M\nsize=64M\n";
    Tool::new("sfdisk")
        .arg("-q")
        .arg(&image)
        .input(table)
        .succeed();
    let group = Group::on("locks-partitions", scratch.path());
    let part = |number: u32| format!("{}:{number}", image.display());
    let create = group.ashlar().args(["vgcreate", "-s", "1m", "vg0"]);
    create.args([part(1), part(2)]).succeed();
    group.create("d", &["-l", "100"]);
    let served = Served::of(&group, "vg0/d");
    let run = |words: &[&str]| group.ashlar().args(words).succeed();
    run(&["lvextend", "-l", "+10", "vg0/d"]);
    run(&["vgextend", "vg0", &part(3)]);
    run(&["vgreduce", "vg0", &part(3)]);
    // What is left is still locked.
    let elsewhere = group
        .ashlar()
        .env("ASHLAR_RUNTIME_DIR", group.join("elsewhere"));
    let refused = elsewhere.args(["lvremove", "-y", "vg0/d"]).exit(5);
    let said = refused.complaints();
    assert!(said.contains("is being served by another ashlar"), "{said}");
    served.daemon.stop();
    run(&["lvremove", "-y", "vg0/d"]);
}

/// An image that was replaced under its name while it was served is not changed, and no other
/// volume is served from it; the one that is served goes on.
#[test]
fn a_replaced_image_is_not_written() {
    let group = Group::new("locks-replaced", 1, SIZE);
    group.create("d", &["-l", "4"]);
    group.create("e", &["-l", "4"]);
    let served = Served::of(&group, "vg0/d");
    let (disk, old, copy) = (group.disk(0), group.join("old.img"), group.join("copy.img"));
    fs::copy(&disk, &copy).expect("a copy");
    fs::rename(&disk, &old).expect("is moved away");
    fs::rename(&copy, &disk).expect("is replaced");
    let before = fs::read(&disk).expect("is read");
    for words in [
        &["lvextend", "-l", "+1", "vg0/d"][..],
        &["attach", "vg0/e"][..],
    ] {
        let said = group.ashlar().args(words).exit(5).complaints();
        assert!(
            said.contains("is not the file that process") && said.contains("another one was put"),
            "{said}"
        );
    }
    assert!(
        before == fs::read(&disk).expect("is read"),
        "it is as it was"
    );
    fs::rename(&old, &disk).expect("is back");
    let extend = group.ashlar().args(["lvextend", "-l", "+1", "vg0/d"]);
    extend.succeed();
    Tool::new("nbdinfo").arg(served.uri("vg0/d")).succeed();
    served.daemon.stop();
}

/// An image that qemu writes, as a virtual machine does, is read and not written by any command,
/// which names who has it.
#[test]
fn an_image_of_a_virtual_machine_is_not_written() {
    let group = Group::new("locks-machine", 1, SIZE);
    group.create("d", &["-l", "4"]);
    let (disk, socket) = (group.disk(0), group.join("qemu"));
    let machine = Tool::new("qemu-nbd").args(["-f", "raw", "-t", "-k"]);
    let machine = machine.args([&socket, &disk]);
    let machine = Daemon::start(machine, || UnixStream::connect(&socket).is_ok());
    let before = fs::read(&disk).expect("is read");
    let path = disk.to_string_lossy().into_owned();
    for words in [
        &["lvcreate", "-l", "1", "vg0"][..],
        &["lvremove", "-y", "vg0/d"][..],
        &["attach", "vg0/d"][..],
        &["serve", "vg0/d", "--run=true"][..],
        &["vgremove", "-ff", "-y", "vg0"][..],
        &["pvremove", "-ff", "-y", &path][..],
        &["pvcreate", "-ff", "-y", &path][..],
    ] {
        let said = group.ashlar().args(words).exit(5).complaints();
        let who = format!("is in use by qemu-nbd (process {})", machine.pid());
        assert!(said.contains(&who), "{words:?}: {said}");
    }
    assert!(
        before == fs::read(&disk).expect("is read"),
        "it was written"
    );
    group.ashlar().args(["cat", "vg0/d"]).succeed();
    machine.stop();
    group.create("e", &["-l", "1"]);
}

/// qemu does not write an image whose volumes are served, also after commands that ran meanwhile;
/// readers are in nobody's way.
#[test]
fn a_served_image_is_not_written_by_qemu() {
    let group = Group::new("locks-qemu", 1, SIZE);
    group.create("d", &["-l", "4"]);
    // For reading and writing, though it only reads.
    let open = || {
        let io = Tool::new("qemu-io").args(["-f", "raw", "-c", "read 0 512"]);
        io.arg(group.disk(0))
    };
    let served = Served::of(&group, "vg0/d");
    let refused = || {
        let said = open().exit(1).complaints();
        assert!(said.contains("Failed to get \"write\" lock"), "{said}");
    };
    refused();
    let extend = group.ashlar().args(["lvextend", "-l", "+1", "vg0/d"]);
    extend.succeed();
    refused();
    let read = Tool::new("qemu-io").args(["-r", "-f", "raw", "-c", "read 0 512"]);
    read.arg(group.disk(0)).succeed();
    served.daemon.stop();
    open().succeed();
    let socket = group.join("reader");
    let address = format!("--nbd=unix:{}", socket.display());
    let reader = group.ashlar().args(["serve", "-r", "vg0/d"]).arg(address);
    let reader = Daemon::start(reader, || UnixStream::connect(&socket).is_ok());
    open().succeed();
    reader.stop();
}
