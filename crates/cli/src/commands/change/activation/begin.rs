//! The owner of a group, which is started where there is none.

use std::os::unix::process::CommandExt;
use std::process::Command;

use ashlar::live::Client;
use lvm2::Uuid;

use super::super::work::{Work, failed};
use super::{Activation, asked};
use crate::args::{Arguments, Error, flags};
use crate::attachment::keeper::NAME;
use crate::commands::background::started;
use crate::commands::dispatch::is_called_as_lvm2;
use crate::commands::own;

/// Whether `lvcreate` with these arguments makes what it makes active: as LVM2 where it is called
/// so, or the configuration wants it; by the name of this program where that is asked for.
pub(in crate::commands::change) fn activates(
    arguments: &Arguments,
    work: &Work<'_>,
) -> Result<bool, Error> {
    if work.is_test() || work.is_shown() || !work.may_activate() {
        return Ok(false);
    }
    if let Some(asked) = asked(arguments)? {
        return Ok(asked != Activation::No);
    }
    let is_root = rustix::process::geteuid().is_root();
    Ok(is_root
        && work
            .host()
            .config
            .flag("ashlar/activate", is_called_as_lvm2()))
}

/// The process that owns the group `uuid`; one is started in the background if none does.
pub(in crate::commands::change) fn begin_for(
    uuid: Uuid,
    arguments: &Arguments,
    work: &Work<'_>,
) -> Result<Client, Error> {
    let find = || Client::find(uuid).map_err(|error| failed(&error));
    if let Some(client) = find()? {
        return Ok(client);
    }
    let mut process = Command::new("/proc/self/exe");
    let devices = arguments.values(&flags::DEVICES);
    let devices = devices.map(|path| {
        let path = work.path(path);
        format!("--{}={}", flags::DEVICES.long, path.display())
    });
    process
        .arg0(NAME)
        .args([own::WORD, "-q"])
        .args(devices)
        .args(arguments.words_of(flags::OF_DISKS))
        .args(arguments.words_of(&[&flags::CONSISTENCY]))
        .arg(uuid.to_string());
    started(
        process,
        "Cannot start the process that is to own the volume group",
    )?;
    find()?.ok_or_else(|| {
        Error::failed("The process that was to own the volume group has ended; see `ashlar owners'")
    })
}
