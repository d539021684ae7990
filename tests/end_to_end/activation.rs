//! Volumes that commands make active: their names, who uses them, and what is left of them.
//!
//! The program is called under LVM2's names. The names of volumes lie in a folder of each test, so
//! that nothing is made in `/dev` but loop devices.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use tests::{
    Access, Daemon, LoopDevice, Mounted, Scratch, Tool, ashlar_path, assert_root, kill_server,
    sha256, wait_until,
};

/// A machine of a test's own: two disks, LVM2's names for the program, and a folder of devices.
struct Machine {
    scratch: Scratch,
}

impl Machine {
    /// With the group `vg0`.
    fn new() -> Self {
        let machine = Self::without_group();
        let disks = [machine.disk("d0"), machine.disk("d1")];
        machine.run("pvcreate").args(&disks).succeed();
        machine.run("vgcreate").arg("vg0").args(&disks).succeed();
        machine
    }

    fn without_group() -> Self {
        assert_root();
        let scratch = Scratch::new("activation");
        for folder in ["bin", "disks", "etc"] {
            fs::create_dir(scratch.join(folder)).expect("a folder");
        }
        for name in ["d0", "d1"] {
            scratch.sparse(&format!("disks/{name}"), 64 << 20);
        }
        Self { scratch }
    }

    fn disk(&self, name: &str) -> PathBuf {
        self.scratch.join("disks").join(name)
    }

    /// A command under its own name.
    fn run(&self, name: &str) -> Tool {
        let link = self.scratch.join("bin").join(name);
        if !link.exists() {
            symlink(ashlar_path(), &link).expect("a link");
        }
        Tool::new(link)
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
            .env("ASHLAR_DEVICES", self.scratch.join("disks"))
            .env("DM_DEV_DIR", self.scratch.join("dev"))
            .env("LVM_SYSTEM_DIR", self.scratch.join("etc"))
            .env("LVM_LOCKING_DIR", self.scratch.join("locks"))
    }

    /// A command line, to its end.
    fn done(&self, line: &str) -> String {
        self.line(line).succeed().text()
    }

    fn line(&self, line: &str) -> Tool {
        let mut words = line.split(' ');
        let name = words.next().expect("a command");
        self.run(name).args(words)
    }

    /// What a command that fails says.
    fn refused(&self, line: &str) -> String {
        self.line(line).exit(5).complaints()
    }

    /// Both names of a volume of `vg0`.
    fn names(&self, lv: &str) -> [PathBuf; 2] {
        let dev = self.scratch.join("dev");
        [
            dev.join("vg0").join(lv),
            dev.join("mapper").join(format!("vg0-{lv}")),
        ]
    }

    fn is_active(&self, lv: &str) -> bool {
        let [name, mapped] = self.names(lv).map(|path| fs::read_link(path).ok());
        assert_eq!(name, mapped, "both names or none");
        name.is_some()
    }

    fn attr(&self, lv: &str) -> String {
        let line = format!("lvs --noheadings -o lv_attr vg0/{lv}");
        self.done(&line).trim().to_owned()
    }

    /// Waits for letters: whoever looks at all devices has each open for a moment.
    fn shows(&self, lv: &str, wanted: &str) {
        wait_until(wanted, || self.attr(lv) == wanted);
    }

    /// The process that owns `vg0`.
    fn owner(&self) -> Option<Pid> {
        let listed = self.run("ashlar").args(["owners"]).succeed().text();
        let mut words = listed.lines().nth(1)?.split_whitespace();
        Pid::from_raw(words.nth(1)?.parse().ok()?)
    }

    fn mount(&self, lv: &str) -> Mounted {
        let [name, _] = self.names(lv);
        let node = fs::canonicalize(name).expect("it is active");
        Mounted::new(&node, &self.scratch.join("mnt"), &[])
    }

    /// No process, mount, name or record is left.
    fn assert_idle(&self) {
        assert_eq!(self.owner(), None);
        let dev = self.scratch.join("dev");
        assert!(!dev.join("vg0").exists(), "the group has names");
        let mapped = fs::read_dir(dev.join("mapper")).map_or(0, Iterator::count);
        assert_eq!(mapped, 0, "volumes have names");
        let records = fs::read_dir(self.scratch.join("run/attached"));
        assert_eq!(records.map_or(0, Iterator::count), 0, "records are left");
        let mounts = fs::read_to_string("/proc/self/mounts").expect("the mounts");
        let ours = self.scratch.path().display().to_string();
        assert!(!mounts.contains(&ours), "a mount is left: {mounts}");
    }
}

/// Copies the first MiB, and what was written is durable then.
fn copy(from: &Path, to: &Path) {
    let (from, to) = (
        format!("if={}", from.display()),
        format!("of={}", to.display()),
    );
    let dd = Tool::new("dd")
        .args([&from, &to])
        .args(["bs=1M", "count=1"]);
    dd.args(["conv=fsync"]).succeed();
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = Tool::new("umount")
            .arg("-f")
            .arg(self.scratch.join("mnt"))
            .run();
        let _ = self.run("ashlar").args(["detach", "--all"]).run();
        if let Some(owner) = self.owner() {
            let _ = kill_process(owner, Signal::KILL);
        }
        let _ = self.run("ashlar").args(["detach", "--all"]).run();
    }
}

#[test]
fn a_tutorial_works() {
    // Proves: what each tutorial types works: a volume has its two names when lvcreate and vgchange
    // return, is made a file system of, mounted, written, grown; inactive and active again it
    // holds what was written; and nothing is left when it is gone.
    let machine = Machine::new();
    machine.done("lvcreate -L 16m -n data vg0");
    let [name, mapped] = machine.names("data");
    machine.shows("data", "-wi-a-----");
    Tool::new("mkfs.ext4").arg("-q").arg(&name).succeed();
    let mount = machine.mount("data");
    machine.shows("data", "-wi-ao----");
    fs::write(mount.path().join("file"), "kept").expect("a file");
    machine.done("lvextend -L 32m vg0/data");
    let size = Tool::new("blockdev")
        .arg("--getsize64")
        .arg(&mapped)
        .succeed();
    assert_eq!(size.text().trim(), (32 << 20).to_string());
    mount.unmount();
    let said = machine.done("vgchange -an vg0");
    assert!(said.contains("0 logical volume(s) in volume group \"vg0\" now active"));
    machine.assert_idle();
    let said = machine.done("vgchange -ay");
    assert!(said.contains("1 logical volume(s) in volume group \"vg0\" now active"));
    let mount = machine.mount("data");
    let kept = fs::read_to_string(mount.path().join("file"));
    assert_eq!(kept.expect("the file"), "kept");
    mount.unmount();
    machine.done("lvremove -y vg0/data");
    machine.done("vgremove vg0");
    machine.assert_idle();
}

#[test]
fn what_is_in_use_stays_active() {
    // Proves: nothing that would take an active volume away does so while it is mounted or open, in
    // stock's words; and what has active volumes is not exported, and has its UUID.
    let machine = Machine::new();
    machine.done("lvcreate -L 16m -n data vg0");
    machine.done("lvcreate -L 4m -n idle vg0");
    let [name, _] = machine.names("data");
    Tool::new("mkfs.ext4").arg("-q").arg(&name).succeed();
    let mount = machine.mount("data");
    let mounted = "Logical volume vg0/data contains a filesystem in use.";
    for line in [
        "lvchange -an vg0/data",
        "lvremove -y vg0/data",
        "lvremove -f vg0/data",
    ] {
        let said = machine.refused(line);
        assert!(said.contains(mounted), "{line}: {said}");
    }
    let said = machine.refused("vgremove -ff vg0");
    assert!(said.contains(mounted), "{said}");
    let said = machine.refused("vgchange -an vg0");
    let counted = "Can't deactivate volume group \"vg0\" with 1 open logical volume(s)";
    assert!(said.contains(counted), "{said}");
    let said = machine.refused("vgexport vg0");
    assert!(said.contains("has active logical volumes"), "{said}");
    let said = machine.refused("vgchange -u vg0");
    assert!(said.contains("Volume group vg0 in use"), "{said}");
    let detach = machine.run("ashlar").args(["detach", "vg0/data"]).exit(5);
    assert!(
        detach.complaints().contains("vg0/data is in use"),
        "{detach}"
    );
    assert!(machine.is_active("data") && machine.is_active("idle"));
    mount.unmount();
    // Open, and not by a mount.
    let open = ["-c", "exec sleep 60 < \"$0\""];
    let open = Tool::new("sh").args(open).arg(&name);
    let holder = Daemon::start(open, || true);
    machine.shows("data", "-wi-ao----");
    let said = machine.refused("lvchange -an vg0/data");
    assert!(said.contains("Logical volume vg0/data in use."), "{said}");
    holder.stop();
    machine.done("vgremove -y vg0");
    machine.assert_idle();
}

#[test]
fn reports_name_what_is_active_as_stock_does() {
    // Proves: reports give a volume its names, not the node's of today, and count as open what
    // somebody uses, which programs read before they remove something.
    let machine = Machine::new();
    machine.done("lvcreate -L 16m -n data vg0");
    machine.shows("data", "-wi-a-----");
    let [name, mapped] = machine.names("data").map(|name| name.display().to_string());
    let shown = machine.done("lvs --noheadings -o lv_path,lv_dm_path vg0/data");
    let shown: Vec<&str> = shown.split_whitespace().collect();
    assert_eq!(shown, [&*name, &*mapped]);
    let shown = machine.done("lvdisplay vg0/data");
    assert!(
        shown.contains(&format!("LV Path                {name}\n")),
        "{shown}"
    );
    assert!(machine.done("lvscan").contains(&format!("'{name}'")));
    let opens = |count: &str| {
        let is_open = format!("# open                 {count}\n");
        wait_until(&is_open, || {
            machine.done("lvdisplay vg0/data").contains(&is_open)
        });
        let is_open = format!("Open LV               {count}\n");
        wait_until(&is_open, || {
            machine.done("vgdisplay vg0").contains(&is_open)
        });
    };
    opens("0");
    Tool::new("mkfs.ext4").arg("-q").arg(&name).succeed();
    let mount = machine.mount("data");
    opens("1");
    mount.unmount();
    machine.done("vgremove -y vg0");
    machine.assert_idle();
}

#[test]
fn an_active_snapshot_is_merged_unless_somebody_uses_it() {
    // Proves: as libblockdev and os-brick do it, a snapshot is merged that is active, as it is
    // since it was made; not one that is mounted.
    let machine = Machine::new();
    machine.done("lvcreate -L 16m -n data vg0");
    let [name, _] = machine.names("data");
    Tool::new("mkfs.ext4").arg("-q").arg(&name).succeed();
    machine.done("lvcreate -s -L 8m -n snap vg0/data");
    let mount = machine.mount("data");
    fs::write(mount.path().join("later"), "later").expect("a file");
    mount.unmount();
    let mount = machine.mount("snap");
    let said = machine.refused("lvconvert --merge vg0/snap");
    assert!(said.contains("contains a filesystem in use"), "{said}");
    mount.unmount();
    machine.done("lvconvert --merge vg0/snap");
    assert!(machine.is_active("data") && !machine.is_active("snap"));
    wait_until("it is merged", || !machine.done("lvs vg0").contains("snap"));
    let mount = machine.mount("data");
    assert!(!mount.path().join("later").exists());
    // One that begins while nobody uses its origin runs when that is active again.
    machine.done("lvcreate -s -L 8m -n snap vg0/data");
    fs::write(mount.path().join("later"), "later").expect("a file");
    mount.unmount();
    machine.done("vgchange -an");
    machine.done("lvconvert --merge vg0/snap");
    machine.done("lvchange -ay vg0/data");
    wait_until("it is merged", || !machine.done("lvs vg0").contains("snap"));
    let mount = machine.mount("data");
    assert!(!mount.path().join("later").exists());
    mount.unmount();
    machine.done("vgchange -an");
    machine.assert_idle();
}

#[test]
fn questions_are_stocks() {
    // Proves: active volumes are removed after stock's question, and stay active where the answer
    // is no; a snapshot takes its origin along after a question.
    let machine = Machine::new();
    machine.done("lvcreate -L 8m -n data vg0");
    let asked = machine.line("lvremove vg0/data").input("n\n").exit(5);
    let question = "Do you really want to remove active logical volume vg0/data? [y/n]: ";
    assert!(asked.complaints().contains(question), "{asked}");
    assert!(
        asked
            .complaints()
            .contains("Logical volume vg0/data not removed."),
        "{asked}"
    );
    assert!(machine.is_active("data"));
    machine.done("lvcreate -s -L 4m -n snap vg0/data");
    assert!(
        machine.is_active("snap"),
        "a snapshot is active with its origin"
    );
    let asked = machine.line("lvchange -an vg0/snap").input("n\n").exit(5);
    assert!(
        asked
            .complaints()
            .contains("will also change its origin vg0/data"),
        "{asked}"
    );
    machine.done("lvchange -an vg0/data");
    machine.assert_idle();
    machine.done("lvchange -ay -y vg0/snap");
    assert!(machine.is_active("data") && machine.is_active("snap"));
    machine.done("lvremove -y vg0/snap");
    assert!(machine.is_active("data") && !machine.is_active("snap"));
    machine.line("lvremove vg0/data").input("y\n").succeed();
    machine.assert_idle();
}

#[test]
fn names_follow_what_happens_to_volumes() {
    // Proves: names of active volumes follow renames of volumes and groups, however many there are,
    // and a name that is no link is left alone.
    let machine = Machine::new();
    machine.done("lvcreate -L 4m -n a vg0");
    machine.done("lvcreate -L 4m -n b-c vg0");
    let node = fs::canonicalize(&machine.names("a")[0]).expect("it is active");
    machine.done("lvrename vg0 a z");
    assert!(!machine.is_active("a"));
    assert_eq!(
        fs::canonicalize(&machine.names("z")[1]).expect("a name"),
        node
    );
    machine.done("vgrename vg0 new");
    let dev = machine.scratch.join("dev");
    assert!(!dev.join("vg0").exists());
    assert_eq!(fs::canonicalize(dev.join("new/z")).expect("a name"), node);
    assert!(dev.join("mapper/new-b--c").is_symlink());
    machine.done("vgrename new vg0");
    // Names that somebody has removed are made anew.
    for path in machine.names("z") {
        fs::remove_file(path).expect("a name");
    }
    machine.done("vgmknodes");
    assert!(machine.is_active("z"));
    machine.done("vgchange -an");
    machine.assert_idle();
    fs::create_dir_all(dev.join("vg0/z")).expect("something else");
    let said = machine.refused("lvchange -ay vg0/z");
    assert!(said.contains("file exists"), "{said}");
    assert!(dev.join("vg0/z").is_dir());
    fs::remove_dir(dev.join("vg0/z")).expect("it is still there");
    let _ = fs::remove_dir(dev.join("vg0"));
    machine.done("lvchange -ay vg0/z");
    machine.done("vgchange -an");
    machine.assert_idle();
}

/// Proves: a changed permission reaches the node of an active volume at once; one that somebody has
/// opened for reading only gets it when he is gone, and that is said (--refresh).
#[test]
fn permissions_reach_nodes() {
    let machine = Machine::new();
    machine.done("lvcreate -y -L8m -n a vg0");
    let [name, _] = machine.names("a");
    let is_writable = || {
        let told = Tool::new("blockdev").arg("--getro").arg(&name);
        told.succeed().text().trim() == "0"
    };
    machine.done("lvchange -pr vg0/a");
    assert!(!is_writable());
    machine.done("lvchange -prw vg0/a");
    assert!(is_writable());
    let mkfs = Tool::new("mkfs.ext4").args(["-q", "-F"]);
    mkfs.arg(&name).succeed();
    let mounted = machine.mount("a");
    machine.done("lvchange -pr vg0/a");
    assert!(!is_writable());
    machine.done("lvchange -prw vg0/a");
    assert!(is_writable());
    fs::write(mounted.path().join("file"), "kept").expect("it is mounted");
    mounted.unmount();
    machine.done("lvchange -pr vg0/a");
    let reader = fs::File::open(&name).expect("a node");
    let told = machine.line("lvchange -prw vg0/a").succeed().complaints();
    assert!(
        told.contains("it stays read-only until refreshed"),
        "{told}"
    );
    assert!(!is_writable());
    drop(reader);
    machine.done("lvchange --refresh vg0/a");
    assert!(is_writable());
    Tool::new("e2fsck").arg("-fn").arg(&name).succeed();
    machine.done("lvchange -pr vg0/a");
    machine.done("vgchange --refresh vg0");
    assert!(!is_writable());
    machine.done("vgchange -an vg0");
}

#[test]
fn a_killed_owner_leaves_nothing_that_stays() {
    // Proves: after kill -9 of everything the next command takes away names, nodes and records, and
    // a start brings all volumes back as they were.
    let machine = Machine::new();
    machine.done("lvcreate -L 8m -n data vg0");
    let [name, _] = machine.names("data");
    let written = vec![7; 1 << 20];
    let input = machine.scratch.join("input");
    fs::write(&input, &written).expect("a file");
    copy(&input, &name);
    kill_server(machine.owner().expect("it has an owner"));
    machine.shows("data", "-wi-------");
    machine.done("vgchange -ay vg0");
    let output = machine.scratch.join("output");
    copy(&name, &output);
    assert_eq!(
        sha256(&fs::read(output).expect("what was read")),
        sha256(&written)
    );
    kill_server(machine.owner().expect("it has an owner"));
    machine.done("vgscan --mknodes");
    machine.assert_idle();
    machine.done("lvremove -f vg0/data");
}

#[test]
fn settings_choose_what_is_active() {
    // Proves: volume_list, auto_activation_volume_list, read_only_volume_list, flags of volumes and
    // --driverloaded and global/activation decide as in LVM2.
    let machine = Machine::new();
    for (name, options) in [
        ("a", ""),
        ("b", " -ky"),
        ("c", " --setautoactivation n"),
        ("d", ""),
    ] {
        machine.done(&format!("lvcreate -an -Zn -l 1{options} -n {name} vg0"));
    }
    let active = |machine: &Machine| -> String {
        let all = ["a", "b", "c", "d"].into_iter();
        all.filter(|name| machine.is_active(name)).collect()
    };
    let check = |line: &str, wanted: &str| {
        machine.done(line);
        assert_eq!(active(&machine), wanted, "{line}");
        machine.done("vgchange -an vg0");
        machine.assert_idle();
    };
    check("vgchange -ay vg0", "acd");
    check("vgchange -ay -K vg0", "abcd");
    check("vgchange -aay vg0", "ad");
    check(
        "vgchange -aay vg0 --config activation{auto_activation_volume_list=[\"vg0/d\"]}",
        "d",
    );
    check(
        "vgchange -ay vg0 --config activation{volume_list=[\"vg0/a\",\"@none\"]}",
        "a",
    );
    check("vgchange -ay vg0 --config activation{volume_list=[]}", "");
    check("pvscan --cache -aay", "ad");
    check("pvscan --cache -aay --config global/event_activation=0", "");
    check("lvchange -ay vg0/b", "");
    check("lvchange -ay -K vg0/b", "b");
    check("lvchange -aey vg0/c vg0/d", "cd");
    check("vgchange -ay vg0 --driverloaded n", "");
    check("vgchange -ay vg0 --config global/activation=0", "");
    machine.done("lvchange -ay vg0/a --config activation{read_only_volume_list=[\"vg0\"]}");
    let read_only = Tool::new("blockdev")
        .arg("--getro")
        .arg(&machine.names("a")[0]);
    assert_eq!(read_only.succeed().text().trim(), "1");
    machine.done("vgchange -an");
}

#[test]
fn the_program_by_its_own_name_activates_where_it_is_asked() {
    // Proves: `ashlar lvcreate` makes a volume and no more, unless -ay or the configuration says
    // so; `ashlar lvm lvcreate` does as LVM2.
    let machine = Machine::new();
    let by_name = |words: &str| {
        machine.run("ashlar").args(words.split(' ')).succeed();
    };
    by_name("lvcreate -L 4m -n a vg0");
    by_name("lvcreate -ay -L 4m -n b vg0");
    by_name("lvcreate -L 4m -n c vg0 --config ashlar/activate=1");
    by_name("lvm lvcreate -L 4m -n d vg0");
    by_name("lvm lvcreate -an -Zn -L 4m -n e vg0");
    by_name("lvm lvcreate -L 4m -n f vg0 --config ashlar/activate=0");
    let names = ["a", "b", "c", "d", "e", "f"].into_iter();
    let active: String = names.filter(|name| machine.is_active(name)).collect();
    assert_eq!(active, "bcd");
    by_name("stop vg0");
    machine.assert_idle();
}

#[test]
fn a_snapshot_of_a_mounted_volume_is_clean() {
    // Proves: what a program has written into a mounted file system is in a snapshot that is made
    // then, though nothing was synced, and its file system needs no check.
    let machine = Machine::new();
    machine.done("lvcreate -L 24m -n data vg0");
    Tool::new("mkfs.ext4")
        .arg("-q")
        .arg(&machine.names("data")[0])
        .succeed();
    let mount = machine.mount("data");
    let content = vec![3; 2 << 20];
    fs::write(mount.path().join("file"), &content).expect("a file");
    machine.done("lvcreate -s -L 16m -n snap vg0/data");
    // It goes on afterwards.
    fs::write(mount.path().join("later"), "later").expect("another file");
    let snap = fs::canonicalize(&machine.names("snap")[0]).expect("it is active");
    let options = ["-o", "ro,noload"];
    let other = Mounted::new(&snap, &machine.scratch.join("snap"), &options);
    assert_eq!(
        fs::read(other.path().join("file")).expect("the file"),
        content
    );
    assert!(!other.path().join("later").exists());
    other.unmount();
    mount.unmount();
    machine.done("vgchange -an");
    machine.assert_idle();
}

#[test]
fn groups_on_block_devices_are_active_as_well() {
    // Proves: nodes of a group stand over block devices, whose own nodes they do not become; the
    // disks are free when the last volume is inactive.
    let machine = Machine::without_group();
    let device = LoopDevice::attach(&machine.disk("d0"), Access::ReadWrite);
    let run = |line: &str| {
        let tool = machine.line(line).env("ASHLAR_DEVICES", device.path());
        tool.succeed().text()
    };
    run(&format!("vgcreate vg0 {}", device.path().display()));
    run("lvcreate -L 8m -n data vg0");
    let node = fs::metadata(&machine.names("data")[0]).expect("it is active");
    let own = fs::metadata(device.path()).expect("the disk");
    assert_ne!(node.rdev(), own.rdev());
    run("vgchange -an vg0");
    let exclusively = rustix::fs::OFlags::EXCL | rustix::fs::OFlags::RDWR;
    let opened = rustix::fs::open(device.path(), exclusively, rustix::fs::Mode::empty());
    assert!(opened.is_ok(), "{opened:?}");
    machine.assert_idle();
}

/// What an owner calls when it makes a volume active and inactive again; it is killed at each.
const CALLS: [&str; 3] = [
    "mount,symlink,ioctl",
    "unlink,rmdir,umount2",
    "pwrite64,ftruncate",
];
/// More calls than that no volume takes.
const CALLS_MAX: usize = 40;

#[test]
fn activation_survives_kills() {
    // Proves: an owner that is killed at any of the calls by which it makes a volume active or
    // inactive leaves nothing that keeps the next command from either, and what was written stays.
    let machine = Machine::new();
    machine.done("lvcreate -L 4m -n data vg0");
    machine.done("lvcreate -an -L 4m -n keep vg0");
    let (content, output) = (vec![5; 1 << 20], machine.scratch.join("output"));
    let input = machine.scratch.join("input");
    fs::write(&input, &content).expect("a file");
    copy(&input, &machine.names("data")[0]);
    machine.done("vgchange -an");
    let mut kills = 0;
    for calls in CALLS {
        for call in 1..=CALLS_MAX {
            machine.done("lvchange -ay vg0/keep");
            let owner = machine.owner().expect("it has an owner");
            let traced = traced(owner, calls, call);
            for line in ["lvchange -ay vg0/data", "lvchange -an vg0/data"] {
                // Who is killed may have said so or not.
                machine.line(line).run();
            }
            let was_killed = machine.owner() != Some(owner);
            if !was_killed {
                kill_server(owner);
            }
            drop(traced);
            machine.done("vgchange -ay vg0");
            copy(&machine.names("data")[0], &output);
            assert!(
                fs::read(&output).expect("what was read") == content,
                "{calls} {call}"
            );
            machine.done("vgchange -an vg0");
            machine.assert_idle();
            if !was_killed {
                break;
            }
            kills += 1;
        }
    }
    println!("{kills} kills");
    assert!(kills >= CALLS.len(), "only {kills} kills");
}

/// A tracer that kills a process at its call number `call` of these, until this is dropped.
fn traced(pid: Pid, calls: &str, call: usize) -> Daemon {
    let strace = Tool::new("strace").args(["-f", "-qqq", "-o", "/dev/null", "-e"]);
    let strace = strace.arg(format!("trace={calls}")).arg("-e");
    let strace = strace.arg(format!("inject={calls}:signal=KILL:when={call}"));
    let strace = strace.arg("-p").arg(pid.as_raw_nonzero().to_string());
    Daemon::start(strace, || {
        let status = format!("/proc/{}/status", pid.as_raw_nonzero());
        let status = fs::read_to_string(status).unwrap_or_default();
        let tracer = status
            .lines()
            .find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.is_some_and(|tracer| tracer.trim() != "0")
    })
}
