//! Block device nodes over FUSE files.
//!
//! Ours attaches a linear volume; the peer exports a plain file with its content over another file
//! and gets a loop device with the settings that ours has: direct I/O and blocks of 512 bytes. The
//! peer's file is opened past the page cache where ours is, which chooses by itself.

use std::fs;
use std::path::{Path, PathBuf};

use tests::{Access, Daemon, LoopDevice, Made, Scratch, Tool};

use super::super::super::run::Bench;

/// The peer. Debian has it in `qemu-system-common`.
pub(super) const PEER: &str = "qemu-storage-daemon";

/// How the peer opens its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caching {
    /// As it likes: the file is in memory.
    Cached,
    /// Past the page cache.
    Direct,
}

/// A node; it goes away with this.
pub(super) struct Node {
    pub(super) name: &'static str,
    kind: Kind,
}

enum Kind {
    Ours(Box<Attached>),
    Qemu(Box<Exported>),
}

/// A volume that `ashlar attach` serves: from a child of ours, so that its work is known as ours.
struct Attached {
    ashlar: PathBuf,
    node: PathBuf,
    _daemon: Daemon,
    runtime: Scratch,
}

/// A file that qemu-storage-daemon serves, under a loop device. In the order in which they go.
struct Exported {
    device: LoopDevice,
    _daemon: Daemon,
    _mount: MountPoint,
}

/// The file over which the peer mounts. A peer that was killed leaves its mount there.
struct MountPoint {
    path: PathBuf,
    _folder: Scratch,
}

impl Node {
    /// The volume of `made`, attached.
    pub(super) fn ours(bench: &Bench, made: &Made) -> Result<Self, String> {
        let runtime = Scratch::new("attached");
        let attach = ashlar(&bench.ashlar, &runtime)
            .args(["attach", "--foreground", "made/data", "--devices"])
            .arg(made.image());
        let daemon = Daemon::start(attach, || node_within(runtime.path()).is_some());
        let attached = Attached {
            ashlar: bench.ashlar.clone(),
            node: node_within(runtime.path()).ok_or("the volume's node is gone")?,
            _daemon: daemon,
            runtime,
        };
        check_direct(&attached.node)?;
        Ok(Node {
            name: "ashlar",
            kind: Kind::Ours(Box::new(attached)),
        })
    }

    /// The plain file, exported by the peer.
    pub(super) fn qemu(plain: &Path, caching: Caching) -> Result<Self, String> {
        let folder = Scratch::new("qemu-storage-daemon");
        let path = folder.join("file");
        fs::write(&path, "").map_err(|error| format!("{}: {error}", path.display()))?;
        let mount = MountPoint {
            path,
            _folder: folder,
        };
        let settings = match caching {
            Caching::Cached => "",
            Caching::Direct => ",cache.direct=on,aio=io_uring",
        };
        let place = plain.display();
        let file = format!("driver=file,node-name=plain,filename={place}{settings}");
        let place = mount.path.display();
        let export = format!("type=fuse,id=fuse,node-name=plain,mountpoint={place},writable=on");
        let tool = Tool::new(PEER).args(["--blockdev", &file, "--export", &export]);
        // Asking the file itself would wait for a server that may have gone.
        let daemon = Daemon::start(tool, || mount.is_mounted());
        let device = LoopDevice::attach(&mount.path, Access::ReadWrite);
        Tool::new("losetup")
            .arg("--direct-io=on")
            .arg(device.path())
            .succeed();
        check_direct(device.path())?;
        Ok(Node {
            name: PEER,
            kind: Kind::Qemu(Box::new(Exported {
                device,
                _daemon: daemon,
                _mount: mount,
            })),
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        match &self.kind {
            Kind::Ours(attached) => &attached.node,
            Kind::Qemu(exported) => exported.device.path(),
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Whoever still uses the node is told so, and the folder stays.
        let ashlar = ashlar(&self.ashlar, &self.runtime);
        ashlar.args(["detach", "--all"]).run();
    }
}

/// Our program, with its state in a folder of its own.
fn ashlar(program: &Path, runtime: &Scratch) -> Tool {
    Tool::new(program).env("ASHLAR_RUNTIME_DIR", runtime.path())
}

/// The loop device over a file in this folder.
fn node_within(folder: &Path) -> Option<PathBuf> {
    let devices = fs::read_dir("/sys/block").ok()?.flatten();
    let mut over = devices.filter(|device| {
        let file = fs::read_to_string(device.path().join("loop/backing_file"));
        file.is_ok_and(|file| Path::new(file.trim()).starts_with(folder))
    });
    Some(Path::new("/dev").join(over.next()?.file_name()))
}

impl MountPoint {
    fn is_mounted(&self) -> bool {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let path = self.path.display().to_string();
        mounts
            .lines()
            .any(|line| line.split(' ').nth(1) == Some(path.as_str()))
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        if self.is_mounted() {
            Tool::new("umount").args(["-f", "-l"]).arg(&self.path).run();
        }
    }
}

/// Fails unless the loop device goes past the page cache: then something else is measured.
fn check_direct(node: &Path) -> Result<(), String> {
    let name = node.file_name().unwrap_or_default();
    let file = Path::new("/sys/block").join(name).join("loop/dio");
    match fs::read_to_string(&file) {
        Ok(text) if text.trim() == "1" => Ok(()),
        _ => Err(format!("{} does not use direct I/O", node.display())),
    }
}
