//! The names of a volume in a folder of devices, as device-mapper's udev rules make them:
//!
//! ```text
//!   DIR/VG/LV           ─▸ its node
//!   DIR/mapper/VG-LV    ─▸ its node      a hyphen of a name is doubled there
//! ```
//!
//! Both are symbolic links. One that is there already is replaced, as in LVM2: it is what somebody
//! who was killed left, or whoever made it meant this volume. Anything else is left alone.

use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use block::{Error, Kind, Result};
use lvm2::model::dm_name;

/// The folder for the names that all groups have in one.
const MAPPER: &str = "mapper";

/// The links of `volume` (`vg0/data`) in the folder `dir`: under its group, and among all.
pub(crate) fn paths(dir: &Path, volume: &str) -> Option<[PathBuf; 2]> {
    let (vg, lv) = volume.split_once('/')?;
    let is_one_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('/');
    let are_names = is_one_name(vg) && is_one_name(lv);
    are_names.then(|| {
        let mapped = dir.join(MAPPER).join(dm_name(vg, lv, None));
        [dir.join(vg).join(lv), mapped]
    })
}

/// Makes the links of `volume`, which lead to `target`.
pub(super) fn make(dir: &Path, volume: &str, target: &Path) -> Result<()> {
    let paths = paths(dir, volume).ok_or_else(|| {
        let what = format!("{volume} is no name of a volume");
        Error::new(Kind::Open, what)
    })?;
    for path in paths {
        let failed = |error| Error::io(format!("cannot make the link {}", path.display()), error);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => std::fs::remove_file(&path).map_err(failed)?,
            Ok(_) => {
                let what = format!(
                    "Symbolic link {} not created: file exists; move it away",
                    path.display()
                );
                return Err(Error::new(Kind::Open, what));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        symlink(target, &path).map_err(failed)?;
    }
    Ok(())
}

/// Takes away those links of `volume` that lead to `target`, and the folder of a group that has
/// none any more.
pub(super) fn remove(dir: &Path, volume: &str, target: &Path) {
    for path in paths(dir, volume).into_iter().flatten() {
        // What leads elsewhere is another one's by now.
        if std::fs::read_link(&path).is_ok_and(|to| to == target) {
            let _ = std::fs::remove_file(&path);
        }
        let folder = path.parent().filter(|folder| !folder.ends_with(MAPPER));
        // It stays as long as something is in it.
        let _ = folder.map(std::fs::remove_dir);
    }
}

#[cfg(test)]
mod tests;
