//! The process that holds a loop device for its server: this program again.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// What the program is called then: not as a command, of which the word could be a tag.
pub(crate) const NAME: &str = "ashlar";
/// The word that makes it a keeper.
pub(crate) const WORD: &str = "@keep";

/// What starts one. It leaves the terminal's group of processes and this one's folder, which may
/// be unmounted meanwhile.
pub(crate) fn command() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0(NAME)
        .arg(WORD)
        .env_clear()
        .current_dir("/")
        .process_group(0);
    command
}
