//! What the tests need of the machine: root, and commands that Debian packages bring.
//!
//! As root on a machine with `apt-get` missing packages are installed, and it is said; so are the
//! rights that udev would have given to `/dev/fuse`, without which ordinary users cannot attach a
//! volume, and `/etc/mtab`, without which they cannot detach it. Otherwise the run ends before it
//! begins, naming what is missing.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A command that some step runs, and the package that brings it.
const COMMANDS: &[(&str, &str)] = &[
    ("cc", "gcc"),
    ("c++", "g++"),
    ("git", "git"),
    ("zstd", "zstd"),
    ("tar", "tar"),
    ("lvm", "lvm2"),
    ("losetup", "mount"),
    ("mount", "mount"),
    ("blockdev", "util-linux"),
    ("setpriv", "util-linux"),
    ("sfdisk", "fdisk"),
    ("fusermount3", "fuse3"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("strace", "strace"),
    ("fio", "fio"),
    ("dbench", "dbench"),
    ("nbdinfo", "libnbd-bin"),
    ("nbdcopy", "libnbd-bin"),
    ("nbdkit", "nbdkit"),
    ("certtool", "gnutls-bin"),
    ("nbd-server", "nbd-server"),
    ("qemu-img", "qemu-utils"),
    ("qemu-io", "qemu-utils"),
    ("qemu-nbd", "qemu-utils"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("dmsetup", "dmsetup"),
    ("mdadm", "mdadm"),
    ("depmod", "kmod"),
    ("dpkg-deb", "dpkg"),
    ("gzip", "gzip"),
    ("xz", "xz-utils"),
    ("ddrescuelog", "gddrescue"),
    ("faketime", "faketime"),
    ("unshare", "util-linux"),
    ("kill", "procps"),
    ("mkfs.vfat", "dosfstools"),
    ("mcopy", "mtools"),
    ("zsh", "zsh"),
    ("fish", "fish"),
    ("systemd-analyze", "systemd"),
];

/// Names the distribution's kernel, which the tests boot in a machine of their own. They download
/// and unpack it once, below the target folder; it is not installed.
const KERNEL: &str = "linux-image-amd64";
/// A mirror that does not answer at once is no reason to fail.
const RETRIES: [&str; 2] = ["-o", "Acquire::Retries=5"];
const UPDATE: &[&str] = &["update", "-q"];

/// The device through which ordinary users mount files, and the rights that udev gives it.
const FUSE: &str = "/dev/fuse";
const FUSE_RIGHTS: u32 = 0o666;

/// The list in which `fusermount3` looks mounts up, and where it is in truth.
const LIST: &str = "/etc/mtab";
const MOUNTS: &str = "/proc/self/mounts";

/// Where commands of the system stand that an ordinary `PATH` may leave out.
const SYSTEM_FOLDERS: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";

/// `PATH` for every step: the caller's, then the system's folders.
pub(super) fn search_path() -> String {
    match env::var("PATH") {
        Ok(path) => format!("{path}:{SYSTEM_FOLDERS}"),
        Err(_) => SYSTEM_FOLDERS.to_owned(),
    }
}

/// Makes sure that everything is there, or says what is not.
pub(super) fn ensure() -> Result<(), String> {
    let missing = missing_packages(COMMANDS, &search_path());
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        let mut message = "the tests need root (loop devices, mounts): run them as root".to_owned();
        if !missing.is_empty() {
            message.push_str("; packages are missing too: ");
            message.push_str(&missing.join(" "));
        }
        return Err(message);
    }
    ensure_fuse(Path::new(FUSE))?;
    ensure_list(Path::new(LIST))?;
    if missing.is_empty() {
        return ensure_kernel();
    }
    let named = missing.join(" ");
    if find("apt-get", &search_path()).is_none() {
        return Err(format!(
            "packages are missing and there is no apt-get to install them: {named}"
        ));
    }
    println!("test: installing what is missing: {named}");
    let mut install = vec!["install", "-q", "-y", "--no-install-recommends"];
    install.extend(&missing);
    apt_get(UPDATE, &named)?;
    apt_get(&install, &named)?;
    match missing_packages(COMMANDS, &search_path()) {
        still if still.is_empty() => ensure_kernel(),
        still => Err(format!(
            "still missing after the installation: {}",
            still.join(" ")
        )),
    }
}

/// Makes sure that everybody may open the device, as where udev runs.
fn ensure_fuse(device: &Path) -> Result<(), String> {
    let name = device.display();
    let found = std::fs::metadata(device)
        .map_err(|error| format!("{name} is not there ({error}); load the kernel module fuse"))?;
    let rights = found.permissions().mode();
    if rights & FUSE_RIGHTS == FUSE_RIGHTS {
        return Ok(());
    }
    println!("test: letting every user open {name}, as udev does");
    let wanted = std::fs::Permissions::from_mode(rights | FUSE_RIGHTS);
    std::fs::set_permissions(device, wanted).map_err(|error| {
        format!(
            "ordinary users may not open {name}, and that cannot be changed ({error}): \
             run chmod 0666 {name}"
        )
    })
}

/// Makes sure that there is a list of mounts, which a minimal root leaves out.
fn ensure_list(list: &Path) -> Result<(), String> {
    if list.exists() {
        return Ok(());
    }
    let name = list.display();
    println!("test: making {name} a link to {MOUNTS}, as Debian's installer does");
    std::os::unix::fs::symlink(MOUNTS, list).map_err(|error| {
        format!(
            "fusermount3 unmounts nothing without {name}, and that cannot be made ({error}): \
             run ln -sf {MOUNTS} {name}"
        )
    })
}

/// Makes sure that the kernel is there or can be downloaded.
fn ensure_kernel() -> Result<(), String> {
    let is_known = || {
        let mut show = Command::new("apt-cache");
        let shown = show.args(["show", KERNEL]).env("PATH", search_path());
        shown.output().is_ok_and(|output| output.status.success())
    };
    if crate::target_folder().join("kernel/stock").is_dir() || is_known() {
        return Ok(());
    }
    apt_get(UPDATE, KERNEL)?;
    if is_known() {
        return Ok(());
    }
    Err(format!("apt knows no package {KERNEL}"))
}

fn apt_get(arguments: &[&str], wanted: &str) -> Result<(), String> {
    let status = Command::new("apt-get")
        .args(RETRIES)
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("PATH", search_path())
        .status()
        .map_err(|error| format!("apt-get cannot be run ({error}); missing: {wanted}"))?;
    if status.success() {
        return Ok(());
    }
    let what = arguments[0];
    Err(format!(
        "apt-get {what} failed; install these packages: {wanted}"
    ))
}

fn missing_packages<'a>(commands: &[(&str, &'a str)], path: &str) -> Vec<&'a str> {
    let absent = commands
        .iter()
        .filter(|(command, _)| find(command, path).is_none());
    let mut packages: Vec<&str> = absent.map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn find<'a>(command: &str, path: &'a str) -> Option<&'a str> {
    path.split(':')
        .find(|folder| Path::new(folder).join(command).is_file())
}

#[cfg(test)]
mod tests;
