//! What others serve, change, replace or run a machine from is not written.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use tests::{Access, Daemon, Disks, Group, LIMIT, LoopDevice, Mounted, Scratch, Tool, ashlar};

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

/// A copy overwrites nothing that is in use: the image of a virtual machine, a physical volume that
/// is served and that the command was not told of, a mounted disk. Each is as it was.
#[test]
fn a_copy_overwrites_nothing_that_is_in_use() {
    let group = Group::new("locks-copy", 1, SIZE);
    group.create("d", &["-l", "1"]);
    let refuse = |target: &Path, why: &str| {
        let before = fs::read(target).expect("is read");
        let copy = group.ashlar().args(["cp", "vg0/d"]).arg(target);
        let said = copy.exit(5).complaints();
        assert!(said.contains(why), "{said}");
        let after = fs::read(target).expect("is read");
        assert!(before == after, "{} was written", target.display());
    };
    let (image, socket) = (group.join("machine.img"), group.join("qemu"));
    fs::write(&image, vec![7; 1 << 20]).expect("an image");
    let machine = Tool::new("qemu-nbd").args(["-f", "raw", "-t", "-k"]);
    let machine = machine.args([&socket, &image]);
    let machine = Daemon::start(machine, || UnixStream::connect(&socket).is_ok());
    refuse(&image, "is in use by qemu-nbd");
    machine.stop();

    let other = Group::new("locks-copy-other", 1, SIZE);
    other.create("d", &["-l", "1"]);
    let served = Served::of(&other, "vg0/d");
    refuse(&other.disk(0), "is being served by another ashlar");
    served.daemon.stop();
    refuse(&other.disk(0), "carries a physical volume");

    Tool::new("mkfs.ext4").arg("-q").arg(&image).succeed();
    let disk = LoopDevice::attach(&image, Access::ReadWrite);
    let mounted = Mounted::new(disk.path(), &group.join("mounted"), &[]);
    refuse(disk.path(), "Device or resource busy");
    mounted.unmount();
    // Of nobody any more: it is overwritten.
    group.ashlar().args(["cp", "vg0/d"]).arg(&image).succeed();
    assert_eq!(fs::metadata(&image).expect("is there").len(), 4 << 20);
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

/// A served group keeps its identity, and so do its disks: by them its owner is found. Afterwards
/// its owner still runs commands.
#[test]
fn a_served_group_keeps_its_identity() {
    let group = Group::new("locks-identity", 3, SIZE);
    group.create("d", &["-l", "4"]);
    let run = |words: &[&str]| group.ashlar().args(words).succeed();
    let other = group.disk(2).to_string_lossy().into_owned();
    run(&["vgreduce", "vg0", &other]);
    run(&["vgcreate", "vg1", &other]);
    let served = Served::of(&group, "vg0/d");
    let disk = group.disk(1).to_string_lossy().into_owned();
    for words in [
        &["vgchange", "--uuid", "vg0"][..],
        &["pvchange", "--uuid", &disk][..],
        &["vgmerge", "vg1", "vg0"][..],
    ] {
        let said = group.ashlar().args(words).exit(5).complaints();
        let who = format!(
            "Volume group vg0 in use: process {} serves it",
            served.daemon.pid()
        );
        assert!(said.contains(&who), "{words:?}: {said}");
    }
    run(&["lvextend", "-l", "+1", "vg0/d"]);
    run(&["vgsplit", "vg0", "vg2", &disk]);
    run(&["vgmerge", "vg0", "vg1"]);
    served.daemon.stop();
    run(&["vgchange", "--uuid", "vg0"]);
}

/// A volume does not become a disk of its own group, neither through its node nor through another
/// group that stands on it.
#[test]
fn a_group_does_not_stand_on_itself() {
    let group = Group::new("locks-itself", 1, SIZE);
    group.create("d", &["-l", "8"]);
    let refused = |node: &str, volume: &str| {
        let extend = group.ashlar().args(["--devices", node, "vgextend"]);
        let said = extend.args(["vg0", node]).exit(5).complaints();
        let why = format!("{node} is made of {volume}, a volume of the same group");
        assert!(said.contains(&why), "{said}");
    };
    let node = group.attach("d").to_string_lossy().into_owned();
    refused(&node, "vg0/d");
    let inner = |words: &[&str]| {
        let tool = group.ashlar().args(["--devices", &node]).args(words);
        tool.succeed().text().trim_end().to_owned()
    };
    inner(&["vgcreate", "-s", "1m", "vg1", &node]);
    inner(&["lvcreate", "-y", "-l", "8", "-n", "e", "vg1"]);
    let second = inner(&["attach", "vg1/e"]);
    let extend = group
        .ashlar()
        .args(["--devices", &node, "--devices", &second]);
    let said = extend
        .args(["vgextend", "vg0", &second])
        .exit(5)
        .complaints();
    assert!(
        said.contains(&format!("{second} is made of vg0/d")),
        "{said}"
    );
    inner(&["detach", "vg1/e"]);
    group.detach("d");
}

/// Nor does it through a server of its own.
#[test]
fn a_group_does_not_stand_on_its_own_server() {
    let group = Group::new("locks-server", 1, SIZE);
    group.create("d", &["-l", "8"]);
    let served = Served::of(&group, "vg0/d");
    let uri = served.uri("vg0/d");
    let extend = group
        .ashlar()
        .args(["--assume-exclusive", "--devices", &uri]);
    let said = extend.args(["vgextend", "vg0", &uri]).exit(5).complaints();
    assert!(
        said.contains("is made of vg0/d, a volume of the same group"),
        "{said}"
    );
    served.daemon.stop();
}

/// Stock's commands that change a group wait for as long as it is served from block devices, and
/// its reports do not; when it is served no more, they go on.
#[test]
fn stock_waits_while_a_group_is_served() {
    let disks = Disks::new("locks-stock", [SIZE]);
    let run = |words: &[&str]| disks.ashlar().args(words).succeed();
    let node = disks.nodes()[0].to_string_lossy().into_owned();
    run(&["vgcreate", "vg0", &node]);
    run(&["lvcreate", "-y", "-l", "4", "-n", "d", "vg0"]);
    let socket = disks.join("nbd");
    let serve = disks.ashlar().args(["serve", "vg0/d"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let served = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let stock = |name: &str| disks.stock().without_driver(name);
    stock("vgs").arg("vg0").succeed();
    let at_once = "global { wait_for_locks = 0 }";
    let remove = stock("lvremove").args(["-y", "-f", "vg0/d", "--config", at_once]);
    let said = remove.exit(5).complaints();
    assert!(said.contains("Can't get lock for vg0"), "{said}");
    // Another path to the same disk, and another world: the file below is locked.
    let image = disks.images()[0].display().to_string();
    let elsewhere = ashlar().args(["--devices", &image, "lvextend", "-l", "+1", "vg0/d"]);
    let said = elsewhere.exit(5).complaints();
    let who = format!(
        "is being served by another ashlar (process {})",
        served.pid()
    );
    assert!(said.contains(&who), "{said}");
    served.stop();
    stock("lvremove").args(["-y", "-f", "vg0/d"]).succeed();
}

/// Whether a process has the file open.
fn has_open(pid: u32, file: &Path) -> bool {
    let links = fs::read_dir(format!("/proc/{pid}/fd"));
    let mut links = links.into_iter().flatten().flatten();
    links.any(|link| fs::read_link(link.path()).is_ok_and(|target| target == file))
}

/// SIGINT and SIGTERM end a command, and a server that begins, while it waits for a lock: at once,
/// with words about what it waited for, and with stock's exit status for what was not done.
#[test]
fn who_waits_for_a_lock_ends_when_told_to() {
    let group = Group::new("locks-signals", 1, SIZE);
    group.create("d", &["-l", "4"]);
    let path = group.join("locks/V_vg0");
    let lock = fs::File::create(&path).expect("a lock file");
    lock.lock().expect("nobody else has it");
    let address = format!("--nbd=unix:{}", group.join("nbd").display());
    let serve = ["serve", address.as_str(), "vg0/d"];
    for (words, signal) in [
        (["lvchange", "--addtag=t", "vg0/d"], Signal::INT),
        (["lvchange", "--addtag=t", "vg0/d"], Signal::TERM),
        (serve, Signal::TERM),
    ] {
        let mut waiting = Daemon::start(group.ashlar().args(words), || true);
        let end = Instant::now() + LIMIT;
        while !has_open(waiting.pid(), &path) {
            assert!(Instant::now() < end, "{words:?} does not want the lock");
            thread::sleep(Duration::from_millis(5));
        }
        // It has the file open a moment before it knows that it has to wait.
        thread::sleep(Duration::from_millis(300));
        waiting.signal(signal);
        let code = waiting.ended(LIMIT);
        let said = waiting.stop();
        assert_eq!(code, Some(5), "{words:?}: {said}");
        assert!(
            said.contains("Interrupted while waiting for a lock: ") && said.contains("V_vg0"),
            "{words:?}: {said}"
        );
    }
    drop(lock);
    let tags = group.ashlar().args(["lvs", "--noheadings", "-olv_tags"]);
    assert_eq!(tags.succeed().text().trim(), "");
}
