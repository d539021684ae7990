//! File systems on attached volumes of every kind: made, filled, checked, and grown while mounted.
//!
//! The files are written and read by the bench's verifier, a process of its own. What is written
//! to the node directly, zeros by punching included, is read back by it as well.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tests::{Daemon, Group, Kernel, Mounted, Scratch, Tool, ashlar_path};

/// Large enough for the smallest XFS.
const SIZE_MIB: u64 = 304;
/// Steps of the verifier in each file system.
const STEPS: &str = "25";
const SEED: &str = "7";

const CAP_IPC_LOCK: u64 = 1 << 14;
pub(super) const CAP_SYS_RESOURCE: u64 = 1 << 24;
/// How long a few dozen steps may take.
const WRITER_MAX: Duration = Duration::from_mins(3);

/// A kind of file system: how it is made and checked.
struct Kind {
    mkfs: &'static [&'static str],
    fsck: &'static [&'static str],
}

const EXT2: Kind = Kind {
    mkfs: &["mkfs.ext2", "-q", "-F"],
    fsck: &["e2fsck", "-fn"],
};
const EXT3: Kind = Kind {
    mkfs: &["mkfs.ext3", "-q", "-F"],
    fsck: &["e2fsck", "-fn"],
};
const EXT4: Kind = Kind {
    mkfs: &["mkfs.ext4", "-q", "-F"],
    fsck: &["e2fsck", "-fn"],
};
const XFS: Kind = Kind {
    mkfs: &["mkfs.xfs", "-q", "-f"],
    fsck: &["xfs_repair", "-n"],
};
const BTRFS: Kind = Kind {
    mkfs: &["mkfs.btrfs", "-q", "-f"],
    fsck: &["btrfs", "check", "-q"],
};

/// What a volume of each kind is made with.
const LINEAR: &[&str] = &[];
const STRIPED: &[&str] = &["-i", "2", "-I", "64"];
const MIRRORED: &[&str] = &["--type", "mirror", "-m", "1", "--nosync"];

/// A group with one attached volume, `data`.
struct Attached {
    group: Group,
    node: PathBuf,
}

impl Attached {
    fn new(layout: &[&str], size_mib: u64) -> Self {
        let group = Group::new("filesystems", 3, 512 << 20);
        let size = format!("{size_mib}m");
        group.create("data", &[layout, &["-L", &size]].concat());
        let node = group.attach("data");
        Self { group, node }
    }

    fn make(&self, kind: &Kind) {
        run(kind.mkfs, &self.node);
    }

    fn check(&self, kind: &Kind) {
        run(kind.fsck, &self.node);
    }

    /// Runs the verifier on the files below `folder`.
    fn files(&self, command: &str, folder: &Path, rest: &[&str]) {
        let journal = self.group.join("journal");
        let verifier = verifier(command).args([folder, &journal]);
        verifier.arg(SEED).args(rest).succeed();
    }

    /// Makes a file system, fills it, and finds everything after it was mounted again.
    fn holds(&self, kind: &Kind) {
        self.make(kind);
        let mounted = self.group.mount(&self.node);
        let folder = mounted.path().join("files");
        Tool::new("mkdir").arg(&folder).succeed();
        self.files("write", &folder, &[STEPS]);
        mounted.unmount();
        self.check(kind);
        let mounted = self.group.mount(&self.node);
        self.files("check", &folder, &[]);
        mounted.unmount();
    }

    /// Makes a file system, and extends the volume under it while files are written. Then `resize`
    /// makes it larger, more is written, and everything is found.
    fn grows(&self, kind: &Kind, resize: impl FnOnce(Mounted) -> Mounted) {
        self.make(kind);
        let mounted = self.group.mount(&self.node);
        let folder = mounted.path().join("files");
        Tool::new("mkdir").arg(&folder).succeed();
        let journal = self.group.join("journal");
        let writer = verifier("write").args([&folder, &journal]);
        let has_begun = || fs::metadata(&journal).is_ok_and(|file| file.len() > 0);
        let mut writer = Daemon::start(writer.args([SEED, "60"]), has_begun);
        let extend = self.group.ashlar().arg("lvextend");
        extend.args(["-L", "+80m", "vg0/data"]).succeed();
        let size = Tool::new("blockdev").arg("--getsize64").arg(&self.node);
        let size = size.succeed().text();
        assert_eq!(size.trim(), ((SIZE_MIB + 80) << 20).to_string());
        assert_eq!(writer.ended(WRITER_MAX), Some(0), "the writer saw nothing");
        let before = blocks(&mounted);
        let mounted = resize(mounted);
        let grown = blocks(&mounted) - before;
        assert!(grown > 50 << 20, "the file system grew by {grown} bytes");
        self.files("check", &folder, &[]);
        let more = mounted.path().join("more");
        Tool::new("cp").arg("-r").args([&folder, &more]).succeed();
        mounted.unmount();
        self.check(kind);
        let mounted = self.group.mount(&self.node);
        self.files("check", &mounted.path().join("more"), &[]);
        mounted.unmount();
    }

    /// What is written, zeroed and punched on the node itself is read back.
    fn holds_blocks(&self) {
        let journal = self.group.join("blocks");
        let verifier = verifier("blocks").args([&self.node, &journal]);
        verifier.args([SEED, "1024", "300"]).succeed();
    }
}

/// Runs a tool on a place.
fn run(words: &[&str], place: &Path) {
    Tool::new(words[0]).args(&words[1..]).arg(place).succeed();
}

/// The size of a file system, in bytes.
fn blocks(mounted: &Mounted) -> u64 {
    let stat = Tool::new("stat").args(["-f", "-c", "%b %S"]);
    let text = stat.arg(mounted.path()).succeed().text();
    let numbers = text.split_whitespace().map(str::parse::<u64>);
    numbers.map(|number| number.expect("a number")).product()
}

/// What a process may do, as the bits of `linux/capability.h`.
pub(super) fn effective_capabilities(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    u64::from_str_radix(set.expect("a set").trim(), 16).expect("a number")
}

fn verifier(command: &str) -> Tool {
    Tool::new(env!("CARGO_BIN_EXE_verifier")).arg(command)
}

/// ext2, ext3, ext4, XFS and btrfs hold their files on a linear volume.
#[test]
fn linear_volumes_hold_every_file_system() {
    hold_every_file_system(LINEAR);
}

/// The same on two stripes.
#[test]
fn striped_volumes_hold_every_file_system() {
    hold_every_file_system(STRIPED);
}

/// The same on a mirror, whose legs are equal at the end.
#[test]
fn mirrored_volumes_hold_every_file_system() {
    let group = hold_every_file_system(MIRRORED);
    let [(one, at_one), (two, at_two)] =
        [0, 1].map(|leg| group.place(&format!("data_mimage_{leg}")));
    Tool::new("cmp")
        .arg(format!("--ignore-initial={at_one}:{at_two}"))
        .arg(format!("--bytes={}", SIZE_MIB << 20))
        .args([one, two])
        .succeed();
}

fn hold_every_file_system(layout: &[&str]) -> Group {
    let attached = Attached::new(layout, SIZE_MIB);
    attached.holds_blocks();
    for kind in [EXT2, EXT3, EXT4, XFS, BTRFS] {
        attached.holds(&kind);
    }
    attached.group.detach("data");
    attached.group
}

/// ext4 on a linear volume grows with it, while its files are written: mounted, where the kernel
/// lets this process (`CAP_SYS_RESOURCE`), and else between two mounts.
#[test]
fn ext4_grows_with_its_volume() {
    let attached = Attached::new(LINEAR, SIZE_MIB);
    attached.grows(&EXT4, |mounted| {
        if effective_capabilities(std::process::id()) & CAP_SYS_RESOURCE != 0 {
            Tool::new("resize2fs").arg(&attached.node).succeed();
            return mounted;
        }
        println!("no CAP_SYS_RESOURCE: ext4 is resized while it is not mounted");
        mounted.unmount();
        let fsck = Tool::new("e2fsck").arg("-fp").arg(&attached.node);
        fsck.succeed();
        Tool::new("resize2fs").arg(&attached.node).succeed();
        attached.group.mount(&attached.node)
    });
    attached.group.detach("data");
}

/// Where every right is given, in a machine of its own, ext4 grows while it is mounted; and the
/// server of its volume is the last to be killed and starts no I/O to find memory.
#[test]
fn ext4_grows_while_it_is_mounted() {
    const SCRIPT: &str = "
        set -e
        export ASHLAR_DEVICES=/dev/vda
        modprobe -a fuse loop ext4
        ashlar pvcreate /dev/vda
        ashlar vgcreate vg0 /dev/vda
        ashlar lvcreate -n data -L 48m vg0
        node=$(ashlar attach vg0/data)
        mkfs.ext4 -q $node
        mkdir -p /mnt
        mount -t ext4 $node /mnt
        dd if=/dev/urandom of=/mnt/file bs=64k count=64
        sum=$(sha256sum /mnt/file)
        ashlar lvextend -L +48m vg0/data
        resize2fs $node
        [ \"$(sha256sum /mnt/file)\" = \"$sum\" ]
        echo grown $(stat -f -c %b /mnt) $(stat -f -c %S /mnt)
        pid=$(sed -n s/^pid=//p /run/ashlar/attached/vg0-data/record)
        echo adjusted $(cat /proc/$pid/oom_score_adj)
        echo flags $(cut -d ' ' -f 9 /proc/$pid/stat)
        umount /mnt
        e2fsck -fn $node
        ashlar detach vg0/data";
    /// `PF_MEMALLOC_NOIO` of the kernel: memory is found for it without I/O.
    const NO_IO: u64 = 1 << 19;
    let scratch = Scratch::new("filesystems");
    let disk = scratch.sparse("disk", 128 << 20);
    let mut kernel = Kernel::new("filesystems").disk(&disk);
    let ashlar = ashlar_path().to_str().expect("a path of text");
    for program in [ashlar, "mkfs.ext4", "resize2fs", "e2fsck"] {
        kernel = kernel.program(program);
    }
    let outcome = kernel.succeed(SCRIPT);
    let words = |key: &str| {
        let mut lines = outcome.text().lines();
        let line = lines.find_map(|line| line.strip_prefix(key));
        let words = line
            .unwrap_or_else(|| panic!("{outcome}"))
            .split_whitespace();
        let words: Vec<i64> = words.map(|word| word.parse().expect("a number")).collect();
        words
    };
    let size: i64 = words("grown").iter().product();
    assert!(size > 80 << 20, "{size} bytes: {outcome}");
    assert_eq!(words("adjusted"), [-1000], "{outcome}");
    assert!(words("flags")[0].cast_unsigned() & NO_IO != 0, "{outcome}");
}

/// XFS on stripes grows while its files are written.
#[test]
fn xfs_grows_with_its_volume() {
    let attached = Attached::new(STRIPED, SIZE_MIB);
    attached.grows(&XFS, |mounted| {
        Tool::new("xfs_growfs").arg(mounted.path()).succeed();
        mounted
    });
    attached.group.detach("data");
}

/// btrfs on a linear volume grows while its files are written.
#[test]
fn btrfs_grows_with_its_volume() {
    let attached = Attached::new(LINEAR, SIZE_MIB);
    attached.grows(&BTRFS, |mounted| {
        run(&["btrfs", "filesystem", "resize", "max"], mounted.path());
        mounted
    });
    attached.group.detach("data");
}

/// The server of a node that is written has all of its memory locked, where the system lets it.
#[test]
fn the_server_of_a_node_stays_in_memory() {
    let attached = Attached::new(LINEAR, 64);
    let pid = attached.group.server("data").as_raw_nonzero();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} in {status}")).trim()
    };
    let kib = |name: &str| -> u64 {
        let number = field(name).trim_end_matches(" kB");
        number.parse().expect("a number")
    };
    println!(
        "locked {} KiB, resident {} KiB",
        kib("VmLck:"),
        kib("VmRSS:")
    );
    if effective_capabilities(std::process::id()) & CAP_IPC_LOCK != 0 {
        assert!(kib("VmLck:") >= kib("VmRSS:") / 2, "{status}");
    }
    // 64 MiB are what a loaded server may take.
    assert!(kib("VmRSS:") < 64 << 10, "{status}");
    attached.group.detach("data");
}

/// The tools of btrfs, which look at every mount, work beside one whose server was killed: that is
/// about this bench, in which tests kill servers while others make file systems.
#[test]
fn a_killed_server_is_in_no_tools_way() {
    let (killed, other) = (Attached::new(LINEAR, 64), Attached::new(LINEAR, SIZE_MIB));
    run(&["mkfs.ext4", "-q", "-F"], &killed.node);
    let mounted = killed.group.mount(&killed.node);
    killed.group.kill("data");
    other.make(&BTRFS);
    other.check(&BTRFS);
    drop(mounted);
}
