//! Replacing a small file as a whole, so that a power cut leaves the old one or the new one.
//!
//! ```text
//!   write beside ─▶ fsync ─▶ rename ─▶ fsync of the directory
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Who may use a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone.
    Owner,
    /// Whoever the umask lets.
    Everybody,
}

/// Puts what `write` writes in the place of the file at `path`, whose directory has to be there.
///
/// It is written to `beside` first, a name in the same directory: what lies there is a rest of an
/// earlier try, and goes. An error leaves the file at `path` as it was, but for one of the
/// directory's fsync, after which either may be found once power was lost.
pub fn replace_file(
    path: &Path,
    beside: &Path,
    readers: Readers,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    assert_ne!(path, beside, "a file is written beside its old one");
    assert_eq!(
        path.parent(),
        beside.parent(),
        "a rename stays in its folder"
    );
    let mode = match readers {
        Readers::Owner => 0o600,
        Readers::Everybody => 0o666,
    };
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = dir.unwrap_or(Path::new("."));
    match fs::remove_file(beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    // Whoever puts a symbolic link there in between gets an error, not our bytes.
    options.write(true).create_new(true).mode(mode);
    let mut out = BufWriter::new(options.open(beside)?);
    let renamed = write(&mut out)
        .and_then(|()| out.flush())
        .and_then(|()| out.get_ref().sync_all())
        .and_then(|()| fs::rename(beside, path));
    if renamed.is_err() {
        let _ = fs::remove_file(beside);
    }
    renamed?;
    match File::open(dir)?.sync_all() {
        // Some file systems know no fsync of a directory.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests;
