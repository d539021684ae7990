//! What tests of a mutant leave behind, and who takes it away.
//!
//! Every test program of a run works in one folder, the *world*: `TMPDIR` and the runtime folder
//! lie in it. So what belongs to the run is known by its path, and nobody else's is touched: FUSE
//! connections mounted there are ended (a mutant that answers nothing would hold whoever asks it
//! for ever), loop devices over files there are detached, what is mounted there is unmounted.
//!
//! Does not: find a loop device over a file that was unmounted before. The kernel lets go of those
//! by itself, since the server that made them has gone.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{UnmountFlags, unmount};

const CONNECTIONS: &str = "/sys/fs/fuse/connections";

/// Something that is mounted in a world.
#[derive(Debug, PartialEq, Eq)]
struct Mounted {
    path: PathBuf,
    /// The name of its FUSE connection, if it is one.
    connection: Option<String>,
}

/// Takes away what is left in `world`, and makes it anew, empty.
pub(super) fn clear(world: &Path) {
    // Before anything is unmounted: the kernel would no longer say where a device's file lies.
    let loops = loops(world);
    let mounted = mounted();
    for connection in within(&mounted, world).filter_map(|mount| mount.connection.as_ref()) {
        let abort = Path::new(CONNECTIONS).join(connection).join("abort");
        // It may have ended by itself; all the same below.
        let _ = fs::write(abort, "1");
    }
    for node in loops {
        let mut detach = Command::new("timeout");
        let _ = detach
            .args(["10", "losetup", "--detach"])
            .arg(node)
            .status();
    }
    for mount in within(&mounted, world).rev() {
        let path = CString::new(mount.path.to_string_lossy().as_bytes());
        let _ = path.map(|path| unmount(path.as_c_str(), UnmountFlags::DETACH));
    }
    // What is still mounted would be emptied as well.
    if within(&self::mounted(), world).next().is_none() {
        let _ = fs::remove_dir_all(world);
    }
    let _ = fs::create_dir_all(world);
}

fn within<'a>(
    mounted: &'a [Mounted],
    world: &'a Path,
) -> impl DoubleEndedIterator<Item = &'a Mounted> {
    mounted
        .iter()
        .filter(move |mount| mount.path.starts_with(world))
}

fn mounted() -> Vec<Mounted> {
    parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// Reads `/proc/self/mountinfo`.
fn parse(text: &str) -> Vec<Mounted> {
    let mount = |line: &str| {
        let (place, kind) = line.split_once(" - ")?;
        let place: Vec<&str> = place.split(' ').collect();
        let (device, path) = (place.get(2)?, place.get(4)?);
        let (_, minor) = device.split_once(':')?;
        let is_fuse = kind.starts_with("fuse.") || kind.starts_with("fuse ");
        Some(Mounted {
            path: PathBuf::from(path),
            connection: is_fuse.then(|| minor.to_owned()),
        })
    };
    text.lines().filter_map(mount).collect()
}

/// The nodes of loop devices over files in `world`.
fn loops(world: &Path) -> Vec<PathBuf> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let ours = devices.filter(|device| {
        let file = fs::read_to_string(device.path().join("loop/backing_file"));
        file.is_ok_and(|file| Path::new(file.trim_end()).starts_with(world))
    });
    ours.map(|device| Path::new("/dev").join(device.file_name()))
        .collect()
}

#[cfg(test)]
mod tests;
