//! A loop device over a file, which goes away with the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

pub use block::Access;

use crate::scratch;
use crate::tool::{Tool, assert_root};

/// The kernel detaches a device only when the last one to hold it lets go.
const DETACH_MAX: Duration = Duration::from_secs(30);

/// An attached loop device.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    /// What it stands over, as the kernel writes it.
    file: String,
}

impl LoopDevice {
    /// Attaches a file to a free loop device.
    pub fn attach(file: &Path, access: Access) -> Self {
        static SWEEP: Once = Once::new();
        assert_root();
        SWEEP.call_once(sweep);
        let mut tool = Tool::new("losetup").args(["--find", "--show"]);
        if access == Access::ReadOnly {
            tool = tool.arg("--read-only");
        }
        let finished = tool.arg(file).succeed();
        let path = PathBuf::from(finished.text().trim());
        let file = fs::read_to_string(backing_file(&path)).expect("it is attached");
        let file = file.trim_end().to_owned();
        LoopDevice { path, file }
    }

    /// Its node, `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The N in its node's name.
    pub fn number(&self) -> u32 {
        let name = self.path.to_string_lossy();
        let number = name.strip_prefix("/dev/loop").map(str::parse);
        number.and_then(Result::ok).expect("a loop device's node")
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        Tool::new("losetup").arg("--detach").arg(&self.path).run();
        let deadline = Instant::now() + DETACH_MAX;
        while is_over(&self.path, &self.file) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether a loop device stands over `file`. Another test may have its number by now; of a removed
/// file the kernel says so behind its name.
pub fn is_over(node: &Path, file: &str) -> bool {
    fs::read_to_string(backing_file(node)).is_ok_and(|found| found.starts_with(file))
}

/// Where the kernel says what a loop device stands over.
pub(crate) fn backing_file(node: &Path) -> PathBuf {
    let name = node.file_name().expect("a node has a name");
    Path::new("/sys/block").join(name).join("loop/backing_file")
}

/// Detaches the devices that killed runs left behind, known by the folder of their file.
fn sweep() {
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let file = fs::read_to_string(entry.path().join("loop/backing_file"));
        if file.is_ok_and(|file| is_left(file.trim_end())) {
            Tool::new("losetup")
                .arg("-d")
                .arg(Path::new("/dev").join(entry.file_name()))
                .run();
        }
    }
}

/// Whether a loop device over this file, as the kernel writes it, was left by a run that is over. A
/// file that is not to be found belongs to another root, in which its process may well live.
fn is_left(file: &str) -> bool {
    let is_here = file.ends_with(" (deleted)") || Path::new(file).exists();
    is_here && scratch::is_stale(Path::new(file))
}

#[cfg(test)]
mod tests;
