//! Where active volumes have their names.

use std::path::PathBuf;

use ashlar::host::Config;
use ashlar::live::runtime_folder;

use super::Error;

/// The variable that LVM2's tests and chroots set.
const VARIABLE: &str = "DM_DEV_DIR";
const SETTING: &str = "devices/dir";

/// What the environment says, as text of a configuration.
pub(crate) fn of_environment() -> Option<String> {
    let dir = std::env::var(VARIABLE).ok().filter(|dir| !dir.is_empty())?;
    let quoted = dir.replace('\\', "\\\\").replace('"', "\\\"");
    Some(format!("{SETTING}=\"{quoted}\""))
}

/// The folder: what the configuration says, or `/dev`; of an ordinary user, one of his own.
pub(crate) fn nodes_dir(config: &Config) -> Result<PathBuf, Error> {
    let dir = match config.string(SETTING).filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir),
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
