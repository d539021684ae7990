//! `vgrename`: another name for a group.

use ashlar::apply::{Request, Tolerated};
use lvm2::plan::group::rename_group;

use super::arguments::{CHANGE, FORCE};
use super::groups::{plain, require_free_path, require_new_name};
use super::run::run;
use super::work::{Work, inactive, planned};
use crate::args::{Arguments, Command, Error, Example, flags};

/// `vgrename`
pub(super) const COMMAND: Command = Command {
    name: "vgrename",
    summary: "Rename a volume group",
    operands: "VG|UUID VG",
    description: "Gives a group another name. Of two with the same name, one is named by its UUID.",
    flags: &[&[FORCE], CHANGE, flags::COMMON],
    examples: &[Example {
        line: "vgrename vg0 backup",
        does: "renames a group",
    }],
    run,
};

/// What stock makes of names has room for `/dev/`, the name, a slash and an end.
const LENGTH_MAX: usize = 128 - "/dev/".len() - 2;

/// What is wrong with the names, whatever groups there are. `is_taken` says why something else may
/// have the new one.
fn wrong(old: &str, new: &str, is_taken: impl FnOnce() -> Option<String>) -> Option<String> {
    if new.len() > LENGTH_MAX {
        return Some(format!(
            "New volume group path exceeds maximum length of {LENGTH_MAX}!"
        ));
    }
    let differ = || (old == new).then(|| "Old and new volume group names must differ".to_owned());
    let wrong = require_new_name(new).err();
    wrong.or_else(is_taken).or_else(differ)
}

/// Renames it.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let (old, new) = match arguments.operands() {
        [old, new] => (plain(old), plain(new)),
        [_, _, third, ..] => {
            let what = format!("Command does not accept argument: {third}.");
            return Err(Error::form(what));
        }
        _ => {
            let what = "Old and new volume group names need specifying";
            return Err(Error::lacking(arguments.command(), what));
        }
    };
    let is_taken = || require_free_path(new, work).err();
    if let Some(why) = wrong(old, new, is_taken) {
        // Before anything is looked at, so that there is no report either.
        work.error(&why);
        return Err(Error::unbegun());
    }
    let scan = work.scan()?;
    if scan.find_group(old).is_ok() && scan.groups_named(new).next().is_some() {
        let what = format!("New VG name \"{new}\" already exists");
        return Err(Error::failed(what));
    }
    let request = Request {
        new_group: Some(new.to_owned()),
        tolerated: vec![Tolerated::Exported],
        ..work.request_of(&[old])
    };
    let sysfs = work.host().sysfs.clone();
    work.change(&request, |scan, author| {
        let found = scan.find_group(old)?;
        inactive(&sysfs, found)?;
        planned(rename_group(&found.model, new, author))
    })?;
    Ok(())
}

#[cfg(test)]
mod tests;
