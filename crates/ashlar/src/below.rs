//! What lies below a loop device: the file that others reach by another path.
//!
//! Locks belong to a file, and a loop device is none of its own: who uses `/dev/loop0` and who uses
//! the image under it must meet at the image.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};

/// How many loop devices may lie over each other; more is a mistake of sysfs.
const LOOPS_MAX: usize = 8;

/// The files of the loop device at `node`, of the one under that, and so on: what is locked through
/// one of them is locked for those who use the others. One that cannot be opened (it was removed,
/// or is another container's) has no other path that leads to it.
pub(crate) fn files_below(node: &Path) -> Vec<OwnedFd> {
    let mut files = Vec::new();
    let mut place = node.to_owned();
    while let Some(file) = loop_file(&place).filter(|_| files.len() < LOOPS_MAX) {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let Ok(open) = rustix::fs::open(&file, flags, Mode::empty()) else {
            break;
        };
        debug_assert!(files.len() < LOOPS_MAX, "loops over loops have a limit");
        files.push(open);
        place = file;
    }
    files
}

/// The file that the loop device at `node`, or the disk of the partition at `node`, stands over.
pub(crate) fn loop_file(node: &Path) -> Option<PathBuf> {
    let stat = rustix::fs::stat(node).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
        return None;
    }
    let (major, minor) = (
        rustix::fs::major(stat.st_rdev),
        rustix::fs::minor(stat.st_rdev),
    );
    let folder = format!("/sys/dev/block/{major}:{minor}");
    let read = |path: String| std::fs::read_to_string(path).ok();
    let text = read(format!("{folder}/loop/backing_file"))
        .or_else(|| read(format!("{folder}/../loop/backing_file")))?;
    Some(PathBuf::from(text.strip_suffix('\n').unwrap_or(&text)))
}
