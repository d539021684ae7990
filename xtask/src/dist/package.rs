//! The Debian package, made by `dpkg-deb` of the tree.
//!
//! It has no scripts: systemd finds units without being told, and nothing else has to be set up. So
//! what was installed is what is removed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The block of `Installed-Size`, in bytes.
const KIB: u64 = 1024;

/// Makes the package in `out`, with files as old as `time`. Gives its path.
pub(super) fn pack(tree: &Path, out: &Path, version: &str, time: u64) -> Result<PathBuf, String> {
    let size = open_to_all(tree)?;
    let folder = tree.join("DEBIAN");
    let text = control(version, size.div_ceil(KIB));
    let written = fs::create_dir(&folder)
        .and_then(|()| fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::write(folder.join("control"), text));
    written.map_err(|error| format!("{}: {error}", folder.display()))?;
    let package = out.join(format!("ashlar_{version}_amd64.deb"));
    // Times that are newer are set back to it.
    let status = Command::new("dpkg-deb")
        .args(["--build", "--root-owner-group", "-Zxz"])
        .args([tree, &package])
        .env("SOURCE_DATE_EPOCH", time.to_string())
        .stdout(std::process::Stdio::null())
        .status()
        .map_err(|error| format!("dpkg-deb cannot be run: {error}"))?;
    if status.success() {
        Ok(package)
    } else {
        Err(format!("dpkg-deb ended with {status}"))
    }
}

fn control(version: &str, kib: u64) -> String {
    format!(
        "Package: ashlar\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: The Ashlar developers <ashlar@localhost>\n\
         Installed-Size: {kib}\n\
         Recommends: fuse3\n\
         Suggests: lvm2, nbdkit, qemu-utils\n\
         Section: admin\n\
         Priority: optional\n\
         Description: logical volumes in user space, in LVM2's format\n \
         Reads, makes, changes and serves LVM2's volume groups without a kernel\n \
         module, without root and without udev: in containers, CI and rescue work.\n"
    )
}

/// Lets everybody read what is below `folder`, whatever the umask was. Gives its size in bytes.
fn open_to_all(folder: &Path) -> Result<u64, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    let mut size = 0;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let metadata = fs::symlink_metadata(&path).map_err(failed)?;
        if metadata.is_dir() {
            size += open_to_all(&path)?;
            continue;
        }
        let is_program = metadata.permissions().mode() & 0o100 != 0;
        let mode = if is_program { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(failed)?;
        size += metadata.len();
    }
    Ok(size)
}
