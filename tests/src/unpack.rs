//! Archives of sparse images, as the fixtures hold them: tar within zstd.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Unpacks an archive into a folder.
///
/// # Panics
/// When it cannot be read, or a tool is missing.
pub(crate) fn unpack(archive: &Path, folder: &Path) {
    let mut zstd = Command::new("zstd");
    zstd.args(["-q", "-d", "-c"]).arg(archive);
    let mut zstd = zstd.stdout(Stdio::piped()).spawn().expect("zstd starts");
    let pipe = zstd.stdout.take().expect("its output is piped");
    let tar = Command::new("tar")
        .args(["--sparse", "-x", "-C"])
        .arg(folder)
        .stdin(pipe)
        .status()
        .expect("tar starts");
    let zstd = zstd.wait().expect("zstd ends");
    assert!(
        tar.success() && zstd.success(),
        "{} cannot be unpacked",
        archive.display()
    );
}

/// Lets nobody write to these files, so that tests can share them.
///
/// # Panics
/// When one of them is not there.
pub(crate) fn protect(files: &[PathBuf]) {
    for file in files {
        let about = fs::metadata(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut permissions = about.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(file, permissions).expect("a file of ours can be protected");
    }
}
