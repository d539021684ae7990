//! Attaches the volume with the file system, mounts it, and compares its files.
//!
//! Root gets a loop device over a FUSE file, and mounts it read-only. Everybody else gets the FUSE
//! file, where `fusermount3` is installed; it is compared as a whole. `ashlar attach` runs the
//! server in a process of its own, as for any user, so that a demo that is killed leaves no mount
//! without a server.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use export::fuse;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::disks::{GROUP, known_files, known_volume};
use super::interrupt::Interrupt;
use super::process;
use super::story::Story;
use super::volumes::{compare, hash_file};
use crate::args::Error;

/// The volume with a file system.
const NAME: &str = "ext4";
/// How long a node or a mount may stay busy: others look into new devices.
const BUSY_MAX: Duration = Duration::from_secs(30);
const PERIOD: Duration = Duration::from_millis(20);
/// Inside of the private folder: what is mounted on, and where attachments are recorded.
const MOUNT_POINT: &str = "mnt";
const RUNTIME: &str = "run";
/// Files that are shown.
const SHOWN: usize = 4;
/// The right to mount, as a bit of the capabilities.
const CAP_SYS_ADMIN: u32 = 21;

/// What the machine allows.
pub(super) enum Means {
    /// A block device, and mounting it.
    Node,
    /// A file.
    File,
    /// Nothing, for this reason.
    Nothing(&'static str),
}

/// Where the demo may work.
pub(super) struct Places<'a> {
    /// The disks.
    pub(super) disks: &'a Path,
    /// Its private folder.
    pub(super) folder: &'a Path,
}

impl Places<'_> {
    /// What is mounted on.
    fn mount_point(&self) -> PathBuf {
        mount_point(self.folder)
    }

    /// Where attachments are recorded.
    pub(super) fn runtime(&self) -> PathBuf {
        self.folder.join(RUNTIME)
    }
}

/// What is mounted on, in the private folder of a demo.
pub(super) fn mount_point(folder: &Path) -> PathBuf {
    folder.join(MOUNT_POINT)
}

/// Takes back what a killed demo mounted and attached in its private folder.
pub(super) fn clean_up(folder: &Path) -> Result<(), Error> {
    // Usually nothing is mounted there.
    let _ = unmount(mount_point(folder), UnmountFlags::empty());
    let runtime = folder.join(RUNTIME);
    if runtime.exists() {
        detach(&runtime)?;
    }
    Ok(())
}

/// Attaches and compares.
pub(super) fn attach_and_list(
    story: &mut Story<'_>,
    places: &Places<'_>,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    match means() {
        Means::Node => through_node(story, places, interrupt),
        Means::File => through_file(story, places, interrupt),
        Means::Nothing(why) => story.left_out(&format!("Left out: {why}.")),
    }
}

/// What the machine allows.
pub(super) fn means() -> Means {
    let can_open = |path: &str| File::options().read(true).write(true).open(path).is_ok();
    if !can_open("/dev/fuse") {
        return Means::Nothing("there is no /dev/fuse here that may be opened");
    }
    if may_mount() && can_open("/dev/loop-control") {
        return Means::Node;
    }
    if fuse::require_unmounting().is_err() {
        return Means::Nothing(
            "without root a file needs /etc/mtab to be taken away by fusermount3",
        );
    }
    if may_mount() || process::is_installed("fusermount3") {
        return Means::File;
    }
    Means::Nothing(
        "without root a file needs fusermount3, of the package fuse3, which is not installed",
    )
}

/// Whether this process is root and may mount; in a container it often may not.
fn may_mount() -> bool {
    rustix::process::geteuid().is_root() && has_capability(CAP_SYS_ADMIN)
}

/// Whether this process has the right with this bit.
pub(super) fn has_capability(bit: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    effective.is_some_and(|bits| bits >> bit & 1 == 1)
}

fn through_node(
    story: &mut Story<'_>,
    places: &Places<'_>,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    story.command(&format!("ashlar attach --readonly {GROUP}/{NAME}"))?;
    let (attached, node) = Attached::start(places, &[])?;
    story.say(&node.display().to_string())?;
    interrupt.check()?;
    let folder = places.mount_point();
    std::fs::create_dir(&folder)?;
    story.command(&format!(
        "mount -o ro {} {}",
        node.display(),
        folder.display()
    ))?;
    let flags = MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
    match Mounted::mount(&node, &folder, flags)? {
        Some(mounted) => {
            compare_files(story, &folder, interrupt)?;
            story.command(&format!("umount {}", folder.display()))?;
            mounted.close()?;
        }
        None => story.left_out("Left out: this kernel has no ext4.")?,
    }
    story.command(&format!("ashlar detach {GROUP}/{NAME}"))?;
    attached.close()
}

fn through_file(
    story: &mut Story<'_>,
    places: &Places<'_>,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    story.left_out(
        "A block device, and mounting it, needs root: left out. The same volume as a file:",
    )?;
    let file = places.folder.join("ext4.img");
    let name = file.display().to_string();
    story.command(&format!("ashlar attach --file {name} {GROUP}/{NAME}"))?;
    let (attached, file) = Attached::start(places, &["--file", &name])?;
    story.say(&name)?;
    compare(
        known_volume(NAME),
        &hash_file(&file, interrupt)?,
        "the file",
    )?;
    story.good("the file: same as the kernel saw")?;
    story.command(&format!("ashlar detach {GROUP}/{NAME}"))?;
    attached.close()
}

/// Compares every file below `folder` with what is known, and shows some.
fn compare_files(story: &mut Story<'_>, folder: &Path, interrupt: &Interrupt) -> Result<(), Error> {
    let mut found = Vec::new();
    list(folder, folder, &mut found)?;
    // The largest first: they are the interesting ones.
    found.sort_by(|(a, a_size), (b, b_size)| b_size.cmp(a_size).then(a.cmp(b)));
    for (path, size) in found.iter().take(SHOWN) {
        story.say(&format!("{size:>9}  {}", path.display()))?;
    }
    if found.len() > SHOWN {
        let more = found.len() - SHOWN;
        story.say(&format!("{:>9}  and {more} more", "…"))?;
    }
    let mut count = 0;
    for (sum, name) in known_files() {
        let path = folder.join(name);
        if hash_file(&path, interrupt)? != sum {
            let what = format!(
                "{name} in the file system on {GROUP}/{NAME} does not hold what was \
                 written to it; please report this"
            );
            return Err(Error::failed(what));
        }
        count += 1;
    }
    if count != found.len() {
        let what = format!(
            "the file system on {GROUP}/{NAME} has {} files, not {count}; please report this",
            found.len()
        );
        return Err(Error::failed(what));
    }
    story.good(&format!("all {count} files hold what was written to them"))
}

/// All files below `folder`: their path from `root`, and their size in bytes.
fn list(root: &Path, folder: &Path, found: &mut Vec<(PathBuf, u64)>) -> Result<(), Error> {
    let failed = |error| Error::failed(format!("Cannot list {}", folder.display())).because(error);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let about = std::fs::symlink_metadata(&path).map_err(failed)?;
        if about.is_dir() {
            list(root, &path, found)?;
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path);
            found.push((name.to_owned(), about.len()));
        }
    }
    Ok(())
}

/// An attached volume. Dropped, it is detached.
pub(super) struct Attached {
    /// `None`: it is detached already.
    runtime: Option<PathBuf>,
}

impl Attached {
    /// Whatever will be recorded in `runtime`.
    pub(super) fn guard(runtime: PathBuf) -> Self {
        let runtime = Some(runtime);
        Self { runtime }
    }

    /// Attaches the volume, with `options`; gives its node or file, too.
    fn start(places: &Places<'_>, options: &[&str]) -> Result<(Self, PathBuf), Error> {
        let attached = Self::guard(places.runtime());
        let disks = places.disks.display().to_string();
        let name = format!("{GROUP}/{NAME}");
        let mut words = vec!["--devices", &disks, "attach", "--readonly", &name];
        words.extend(options);
        let place = process::ashlar(&places.runtime(), &words)?;
        Ok((attached, PathBuf::from(place.trim())))
    }

    /// Detaches it.
    pub(super) fn close(mut self) -> Result<(), Error> {
        let runtime = self.runtime.take();
        runtime.map_or(Ok(()), |runtime| detach(&runtime))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take()
            && let Err(error) = detach(&runtime)
        {
            eprintln!("  {error}");
        }
    }
}

/// Detaches all that is recorded in `runtime`.
fn detach(runtime: &Path) -> Result<(), Error> {
    let deadline = Instant::now() + BUSY_MAX;
    loop {
        match process::ashlar(runtime, &["detach", "--all"]) {
            Err(_) if Instant::now() < deadline => std::thread::sleep(PERIOD),
            outcome => return outcome.map(drop),
        }
    }
}

/// A mounted file system. Dropped, it is unmounted.
pub(super) struct Mounted {
    /// `None`: it is unmounted already.
    folder: Option<PathBuf>,
}

impl Mounted {
    /// Mounts `node`; `None` if the kernel does not know the file system.
    pub(super) fn mount(
        node: &Path,
        folder: &Path,
        flags: MountFlags,
    ) -> Result<Option<Self>, Error> {
        match mount(node, folder, "ext4", flags, None) {
            Ok(()) => Ok(Some(Self {
                folder: Some(folder.to_owned()),
            })),
            Err(Errno::NODEV) => Ok(None),
            Err(errno) => {
                let what = format!("Cannot mount {}", node.display());
                Err(Error::failed(what).because(std::io::Error::from(errno)))
            }
        }
    }

    /// Unmounts it.
    pub(super) fn close(mut self) -> Result<(), Error> {
        self.folder
            .take()
            .map_or(Ok(()), |folder| unmount_soon(&folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take()
            && let Err(error) = unmount_soon(&folder)
        {
            eprintln!("  {error}");
            // Whoever is still in there keeps it; nobody finds it any more.
            let _ = unmount(&folder, UnmountFlags::DETACH);
        }
    }
}

/// Unmounts, as soon as nobody else looks into it.
fn unmount_soon(folder: &Path) -> Result<(), Error> {
    let deadline = Instant::now() + BUSY_MAX;
    loop {
        match unmount(folder, UnmountFlags::empty()) {
            Ok(()) => return Ok(()),
            Err(Errno::BUSY) if Instant::now() < deadline => std::thread::sleep(PERIOD),
            Err(errno) => {
                let what = format!("Cannot unmount {}", folder.display());
                return Err(Error::failed(what).because(std::io::Error::from(errno)));
            }
        }
    }
}
