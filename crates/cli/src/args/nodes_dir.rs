//! Where active volumes have their names.

use std::path::{Path, PathBuf};

use ashlar::host::Config;
use ashlar::live::runtime_folder;

use super::Error;
use super::parse::Arguments;

/// The variable that LVM2's tests and chroots set.
const VARIABLE: &str = "DM_DEV_DIR";
const SETTING: &str = "devices/dir";

fn variable() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|dir| !dir.is_empty())
}

/// What the environment says, as text of a configuration.
pub(crate) fn of_environment() -> Option<String> {
    let dir = variable()?;
    let quoted = dir.replace('\\', "\\\\").replace('"', "\\\"");
    Some(format!("{SETTING}=\"{quoted}\""))
}

/// The folder that whoever typed a command calls volumes by, if the environment or the
/// configuration says one.
pub(crate) fn of_caller(config: &Config) -> Option<PathBuf> {
    variable().map(PathBuf::from).or_else(|| configured(config))
}

fn configured(config: &Config) -> Option<PathBuf> {
    let dir = config.string(SETTING).filter(|dir| !dir.is_empty());
    dir.map(PathBuf::from)
}

/// The folder: what the configuration says, or `/dev`; of an ordinary user, one of his own.
pub(crate) fn nodes_dir(config: &Config) -> Result<PathBuf, Error> {
    let dir = match configured(config) {
        Some(dir) => dir,
        None if rustix::process::geteuid().is_root() => PathBuf::from("/dev"),
        None => {
            let folder = runtime_folder().map_err(|error| Error::failed(error.to_string()))?;
            folder.join("dev")
        }
    };
    if !dir.is_absolute() {
        let what = format!(
            "{SETTING} (${VARIABLE}) must be absolute, which {} is not",
            dir.display()
        );
        return Err(Error::failed(what));
    }
    Ok(dir)
}

/// Makes `DIR/VG/LV`, `DIR/mapper/VG-LV` and `DIR/VG` what `/dev/VG/LV` and its like are: names of
/// volumes and groups. Only where `command` takes these: elsewhere a path is one of a device.
pub(crate) fn apply(command: &str, arguments: &mut Arguments, dir: &Path) {
    if dir == Path::new("/dev") {
        return;
    }
    let names = match (command, arguments.operands().len()) {
        (
            "lvs" | "lvdisplay" | "lvchange" | "lvremove" | "lvrename" | "vgs" | "vgdisplay"
            | "vgchange" | "vgck" | "vgremove" | "vgexport" | "vgimport" | "vgmknodes"
            | "vgcfgbackup" | "vgcfgrestore" | "vgrename" | "vgmerge" | "nodes",
            count,
        ) => count,
        (
            "lvconvert" | "lvcreate" | "lvextend" | "lvreduce" | "lvresize" | "vgcreate"
            | "vgextend" | "vgreduce",
            count,
        ) => count.min(1),
        ("vgsplit", count) => count.min(2),
        _ => 0,
    };
    arguments.rename_operands(names, |word| {
        let name = Path::new(word).strip_prefix(dir).ok()?;
        let name = name.to_str().filter(|name| !name.is_empty())?;
        Some(format!("/dev/{name}"))
    });
}

#[cfg(test)]
mod tests;
