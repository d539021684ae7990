//! Real loop devices over files of this test. They need root.
//!
//! The tests go one at a time, and not beside those of FUSE: some start programs.

use std::fs::{File, OpenOptions, read_to_string};
use std::io::{Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use block::Kind;

use super::{Access, LoopDevice, Use, clear, is_over, usage};
use crate::fuse::tests::{ALONE, until};

const SIZE: u64 = 1 << 20;

/// A file below loop devices, which goes with this.
struct Backing(PathBuf);

impl Backing {
    fn new(name: &str) -> Self {
        let name = format!("ashlar-loop-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = File::create(&path).expect("a file");
        file.set_len(SIZE).expect("it grows");
        // As the kernel names it, whatever links lead there.
        Self(path.canonicalize().expect("it is there"))
    }

    fn attach(&self, access: Access) -> LoopDevice {
        LoopDevice::attach(&self.0, access, 512).expect("a loop device: run the tests as root")
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Holds off the tests of FUSE, and those of loop devices.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What sysfs says of a loop device.
fn says(device: &Path, file: &str) -> String {
    let name = device.file_name().expect("a node has a name");
    let path = Path::new("/sys/block").join(name).join(file);
    read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn size(device: &Path) -> u64 {
    let mut file = File::open(device).expect("it is there");
    file.seek(SeekFrom::End(0)).expect("it has an end")
}

/// A device stands over its file and no other one, takes what its access says, and goes when its
/// last opener does.
#[test]
fn devices_stand_over_their_file() {
    let _alone = alone();
    let (one, other) = (Backing::new("one"), Backing::new("other"));
    for (access, read_only) in [(Access::ReadWrite, "0"), (Access::ReadOnly, "1")] {
        let device = one.attach(access);
        let path = device.path().to_owned();
        assert!(
            path.metadata()
                .expect("a node")
                .file_type()
                .is_block_device()
        );
        assert!(is_over(&path, &one.0));
        assert!(!is_over(&path, &other.0));
        assert_eq!(size(&path), SIZE);
        assert_eq!(
            (
                says(&path, "ro").as_str(),
                says(&path, "loop/autoclear").as_str()
            ),
            (read_only, "1")
        );
        drop(device);
        until("it goes with its opener", || !is_over(&path, &one.0));
    }
    assert!(!is_over(Path::new("/dev/no-such-device"), &one.0));
    assert!(!is_over(Path::new("/"), &one.0));
}

/// A number that somebody else took is left for the next one; what the kernel refuses is an error
/// that names the device.
#[test]
fn taken_devices_are_passed_over() {
    let _alone = alone();
    let (one, other) = (Backing::new("taken"), Backing::new("wants"));
    let device = one.attach(Access::ReadWrite);
    let number = device.path().display().to_string();
    let number = number
        .trim_start_matches("/dev/loop")
        .parse()
        .expect("a number");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&other.0)
        .expect("a file");
    let taken = LoopDevice::configure(number, &file, Access::ReadWrite, 512);
    assert!(taken.expect("no error").is_none());
    assert!(is_over(device.path(), &one.0), "it stays where it was");
    let error = LoopDevice::attach(&other.0, Access::ReadWrite, 3).expect_err("no size of blocks");
    assert!(
        error.to_string().contains("cannot configure /dev/loop"),
        "{error}"
    );
    let gone = Path::new("/no/such/file");
    let error = LoopDevice::attach(gone, Access::ReadWrite, 512).expect_err("no file");
    assert!(
        error.to_string().contains("cannot open /no/such/file"),
        "{error}"
    );
}

/// A device takes the new size of its file when it is told, and as long as somebody holds it.
#[test]
fn devices_take_the_size_of_their_file() {
    let _alone = alone();
    let backing = Backing::new("grows");
    let device = backing.attach(Access::ReadWrite);
    let resizer = device.handle();
    let file = OpenOptions::new()
        .write(true)
        .open(&backing.0)
        .expect("a file");
    for blocks in [4, 2] {
        file.set_len(blocks * SIZE).expect("it takes any size");
        assert_ne!(size(device.path()), blocks * SIZE, "nobody has told");
        resizer.refresh().expect("it is held");
        assert_eq!(size(device.path()), blocks * SIZE);
    }
    drop(device);
    resizer.refresh().expect("there is nothing to do");
}

/// A device that somebody claimed is held, one that is only open is free; a file is neither, and
/// what cannot be opened is an error. Whoever looks for a free number may claim any device for a
/// moment, so what is free may have to be waited for.
#[test]
fn claimed_devices_are_held() {
    let _alone = alone();
    let backing = Backing::new("claimed");
    let device = backing.attach(Access::ReadWrite);
    let used = |path: &Path| usage(path);
    let is_free = || used(device.path()).expect("it is looked at") == Use::Free;
    until("nobody has claimed it", is_free);
    let mut exclusive = OpenOptions::new();
    exclusive.read(true).custom_flags(libc::O_EXCL);
    let claimed = || exclusive.open(device.path()).ok();
    let mut claim = claimed();
    until("it can be claimed", || {
        claim = claim.take().or_else(claimed);
        claim.is_some()
    });
    assert_eq!(used(device.path()).expect("it is looked at"), Use::Held);
    drop(claim);
    until("it is free again", is_free);
    let error = used(&backing.0).expect_err("a file");
    assert_eq!(error.kind(), Kind::Open);
    assert!(error.to_string().contains("is no block device"), "{error}");
    let node = backing.0.with_extension("node");
    let made = std::process::Command::new("mknod")
        .arg(&node)
        .args(["b", "4095", "1"])
        .status();
    assert!(
        made.expect("mknod runs").success(),
        "a node: run the tests as root"
    );
    let error = used(&node);
    std::fs::remove_file(&node).expect("it goes");
    let error = error.expect_err("no driver serves it");
    assert!(error.to_string().contains("cannot look at"), "{error}");
}

/// Makes a loop device over `backing` that nobody has open, as a killed server leaves it.
fn left_over(backing: &Backing) -> PathBuf {
    let made = std::process::Command::new("losetup")
        .args(["--find", "--show"])
        .arg(&backing.0)
        .output();
    let made = made.expect("losetup runs");
    assert!(
        made.status.success(),
        "a loop device: run the tests as root"
    );
    let path = PathBuf::from(String::from_utf8(made.stdout).expect("a path").trim());
    assert!(is_over(&path, &backing.0));
    path
}

/// A device that loses its file is cleared already, whether or not it can be opened meanwhile.
#[test]
fn devices_that_go_are_cleared() {
    let _alone = alone();
    let backing = Backing::new("goes");
    let path = left_over(&backing);
    let holder = File::open(&path).expect("it is there");
    // SAFETY: this request takes no argument.
    let going = unsafe { libc::ioctl(holder.as_raw_fd(), super::LOOP_CLR_FD, 0) };
    let cleared = clear(&path, &backing.0);
    drop(holder);
    until("it is gone", || !is_over(&path, &backing.0));
    assert_eq!(going, 0);
    cleared.expect("it is no error");
}

/// What a killed server left is taken off its device; a device over another file is left alone.
#[test]
fn left_devices_are_cleared() {
    let _alone = alone();
    let (one, other) = (Backing::new("left"), Backing::new("alone"));
    let path = left_over(&one);
    let left = clear(&path, &other.0);
    let is_left = is_over(&path, &one.0);
    let cleared = clear(&path, &one.0);
    until("it is cleared", || !is_over(&path, &one.0));
    left.expect("it is no error");
    assert!(is_left, "it is over another file");
    cleared.expect("it is cleared");
    clear(&path, &one.0).expect("there is nothing to do");
    let error = clear(Path::new("/dev/no-such-device"), &one.0).expect_err("no device");
    assert!(
        error
            .to_string()
            .contains("cannot clear /dev/no-such-device"),
        "{error}"
    );
}
