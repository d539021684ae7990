//! A volume group on sparse files, made, served and attached by the program under test.
//!
//! It has a runtime folder and a folder of locks of its own, so that tests do not meet. Dropped, it
//! unmounts, detaches and kills whatever a failed test left: nothing waits for a mount of its own.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::loops::backing_file;
use crate::scratch::Scratch;
use crate::tool::{LIMIT, Tool, ashlar, assert_root};

/// How long a killed process may take to be gone.
const DEATH_MAX: Duration = Duration::from_mins(2);
const PERIOD: Duration = Duration::from_millis(2);

/// The group `vg0`, on files `d0.img`, `d1.img`, …
#[derive(Debug)]
pub struct Group {
    scratch: Scratch,
    disks: PathBuf,
}

impl Group {
    /// A group on `count` disks of `size` bytes each.
    pub fn new(name: &str, count: usize, size: u64) -> Self {
        Self::with(name, count, size, &[])
    }

    /// The same, made with more options of `vgcreate`.
    pub fn with(name: &str, count: usize, size: u64, options: &[&str]) -> Self {
        let group = Self::without_disks(name);
        fs::create_dir(&group.disks).expect("a directory for disks");
        let images: Vec<PathBuf> = (0..count)
            .map(|number| group.scratch.sparse(&format!("disks/d{number}.img"), size))
            .collect();
        group.ashlar().arg("pvcreate").args(&images).succeed();
        let create = group.ashlar().arg("vgcreate").args(options).arg("vg0");
        create.args(&images).succeed();
        group
    }

    /// The group `vg0` of somebody else's disks, which all lie in the folder `disks`.
    pub fn on(name: &str, disks: &Path) -> Self {
        let mut group = Self::without_disks(name);
        disks.clone_into(&mut group.disks);
        group
    }

    fn without_disks(name: &str) -> Self {
        assert_root();
        let scratch = Scratch::new(name);
        let disks = scratch.join("disks");
        Group { scratch, disks }
    }

    /// The program, seeing these disks only.
    pub fn ashlar(&self) -> Tool {
        ashlar()
            .env("ASHLAR_RUNTIME_DIR", self.join("run"))
            .env("DM_DEV_DIR", self.join("dev"))
            .env("LVM_LOCKING_DIR", self.join("locks"))
            .arg("--devices")
            .arg(&self.disks)
    }

    /// A path in the group's own folder, beside the disks.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.scratch.join(name)
    }

    /// The disk with this number, of those that the group made.
    pub fn disk(&self, number: usize) -> PathBuf {
        self.disks.join(format!("d{number}.img"))
    }

    /// Makes a volume.
    pub fn create(&self, name: &str, arguments: &[&str]) {
        let create = self.ashlar().args(["lvcreate", "-y", "-n", name]);
        create.args(arguments).arg("vg0").succeed();
    }

    /// Attaches a volume for reading and writing, and returns its node.
    pub fn attach(&self, volume: &str) -> PathBuf {
        let place = self.ashlar().arg("attach").arg(format!("vg0/{volume}"));
        PathBuf::from(place.succeed().text().trim_end())
    }

    /// Detaches a volume.
    pub fn detach(&self, volume: &str) {
        let detach = self.ashlar().arg("detach").arg(format!("vg0/{volume}"));
        detach.succeed();
    }

    /// The process that serves an attached volume.
    pub fn server(&self, volume: &str) -> Pid {
        let attachment = self.join(format!("run/attached/vg0-{volume}"));
        server_of(&attachment).expect("what is attached has a record, which names its process")
    }

    /// Kills the server of an attached volume, and returns when it is gone.
    pub fn kill(&self, volume: &str) {
        kill_server(self.server(volume));
    }

    /// Mounts a node on the folder `mnt`, until this is dropped.
    pub fn mount(&self, node: &Path) -> Mounted {
        Mounted::new(node, &self.join("mnt"), &[])
    }

    /// Where the bytes of the only piece of a volume begin: the disk's file, and the byte.
    pub fn place(&self, volume: &str) -> (PathBuf, u64) {
        let fields = ["--noheadings", "--nosuffix", "--units", "b", "-o"];
        let report = |command: &[&str], what| {
            let report = self.ashlar().args(command).args(fields).arg(what);
            report.succeed().text()
        };
        let all = report(&["lvs", "-a"], "lv_name,devices,vg_extent_size");
        let is_it = |line: &&str| {
            let name = line.split_whitespace().next().unwrap_or_default();
            name.trim_matches(['[', ']']) == volume
        };
        let line = all.lines().find(is_it);
        let line = line.unwrap_or_else(|| panic!("no {volume} in {all}"));
        let words: Vec<&str> = line.split_whitespace().collect();
        let (disk, extent) = words[1].split_once('(').expect("a device and an extent");
        let extent: u64 = extent.trim_end_matches(')').parse().expect("an extent");
        let size: u64 = words[2].parse().expect("a size");
        let starts = report(&["pvs"], "pv_name,pe_start");
        let start = starts.lines().find_map(|line| {
            let (name, start) = line.trim().split_once(' ')?;
            (name == disk).then(|| start.trim().parse::<u64>().expect("a number"))
        });
        let start = start.expect("the disk is listed");
        (PathBuf::from(disk), start + extent * size)
    }
}

/// Kills a server in the background, and returns when it is gone.
pub fn kill_server(pid: Pid) {
    kill_process(pid, Signal::KILL).expect("it was alive");
    let deadline = Instant::now() + DEATH_MAX;
    // It belongs to whoever adopts it, and is gone when that looks.
    while is_alive(pid) {
        assert!(Instant::now() < deadline, "a killed server is still there");
        thread::sleep(PERIOD);
    }
}

/// The process that the record of an attachment names.
fn server_of(attachment: &Path) -> Option<Pid> {
    let text = fs::read_to_string(attachment.join("record")).ok()?;
    let pid = text.lines().find_map(|line| line.strip_prefix("pid="))?;
    Pid::from_raw(pid.parse().ok()?)
}

/// Whether a process is there and not just waiting for its parent to look. One whose first thread
/// has ended has its files until the others have.
fn is_alive(pid: Pid) -> bool {
    let folder = format!("/proc/{}", pid.as_raw_nonzero());
    let threads = fs::read_dir(format!("{folder}/task"));
    if threads.is_ok_and(|threads| threads.count() > 1) {
        return true;
    }
    let stat = fs::read_to_string(format!("{folder}/stat"));
    let is_zombie = |stat: &str| {
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        state.is_some_and(|rest| rest.starts_with('Z'))
    };
    test_kill_process(pid).is_ok() && !stat.is_ok_and(|stat| is_zombie(&stat))
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = Tool::new("umount").arg("-f").arg(self.join("mnt")).run();
        let _ = self.ashlar().args(["detach", "--all"]).run();
        for entry in fs::read_dir(self.join("run/attached"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            eprintln!("{} was left attached; its server is killed", name.display());
            if let Some(pid) = server_of(&entry.path()) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let _ = self.ashlar().args(["detach", "--all"]).run();
    }
}

/// A mounted file system. Dropped, it is unmounted, whatever state it is in.
#[derive(Debug)]
pub struct Mounted {
    node: PathBuf,
    /// What the node stood over when it was mounted, if it is a loop device.
    backing: Option<String>,
    path: Option<PathBuf>,
}

impl Mounted {
    /// Mounts a node on a folder, which is made, with more arguments of `mount`.
    pub fn new(node: &Path, folder: &Path, arguments: &[&str]) -> Self {
        fs::create_dir_all(folder).expect("a mount point");
        let mount = Tool::new("mount").args(arguments).args([node, folder]);
        mount.succeed();
        Mounted {
            node: node.to_owned(),
            backing: fs::read_to_string(backing_file(node)).ok(),
            path: Some(folder.to_owned()),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.path.as_deref().expect("it is mounted")
    }

    /// Unmounts it, and returns when it is mounted nowhere; the test fails if that fails.
    ///
    /// Any process that made itself a mount namespace before has a copy of the mount, and keeps
    /// the node busy until it ends.
    pub fn unmount(mut self) {
        if let Some(path) = self.path.take() {
            Tool::new("umount").arg(path).succeed();
        }
        let deadline = Instant::now() + LIMIT;
        while self.is_held() {
            let node = self.node.display();
            assert!(Instant::now() < deadline, "{node} is mounted elsewhere");
            thread::sleep(PERIOD);
        }
    }

    /// Whether somebody has the node for himself. Once it is free, its number may be another
    /// test's.
    fn is_held(&self) -> bool {
        let exclusively = fs::File::options()
            .read(true)
            .custom_flags(OFlags::EXCL.bits().cast_signed())
            .open(&self.node);
        exclusively.is_err_and(|error| error.kind() == ErrorKind::ResourceBusy)
            && fs::read_to_string(backing_file(&self.node)).ok() == self.backing
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let _ = Tool::new("umount").arg("-f").arg(path).run();
        }
    }
}
