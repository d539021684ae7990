//! `lvrename`: another name for a volume.

use lvm2::model::name::{NameOf, validate};
use lvm2::plan::logical::rename_volume;

use super::arguments::CHANGE;
use super::run::run;
use super::volumes::{ACCEPTED, default_group, path, require_name};
use super::work::{Work, planned};
use crate::args::{Arguments, Command, Error, Example, flags};

/// `lvrename`
pub(super) const COMMAND: Command = Command {
    name: "lvrename",
    summary: "Rename a logical volume",
    operands: "VG LV LV_new | LV LV_new",
    description: "Gives a volume another name, and its hidden parts with it.",
    flags: &[CHANGE, ACCEPTED, flags::COMMON],
    examples: &[Example {
        line: "lvrename vg0/data vg0/old",
        does: "calls the volume data old from now on",
    }],
    run,
};

/// Letters that the names of a group and a volume may have together.
const NAME_MAX: usize = 125;

/// Renames the volume.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let (group, from, to) = names(arguments.operands(), work)?;
    if from == to {
        return Err(Error::usage("Old and new logical volume names must differ"));
    }
    // The kernel's name is made of both.
    let most = NAME_MAX.saturating_sub(group.len());
    if to.len() > most {
        return Err(Error::usage(format!(
            "New logical volume name \"{to}\" may not exceed {most} characters."
        )));
    }
    if to.starts_with('-') {
        // Stock keeps volumes that are gone under such names.
        let what = "Old name references live LV while new name is for historical LV.";
        return Err(Error::usage(what));
    }
    require_name("New logical volume name", &to)?;
    let request = work.request_of(&[&group]);
    work.change(&request, |scan, author| {
        let found = scan.find_group(&group)?;
        planned(rename_volume(&found.model, &from, &to, author))
    })?;
    Ok(())
}

/// The group, the old name and the new one.
fn names(operands: &[String], work: &mut Work<'_>) -> Result<(String, String, String), Error> {
    let (group, from, to) = match operands {
        [from, to] => {
            let invalid = "Please provide a valid volume group name";
            let (group, lv) =
                path(from).map_err(|why| Error::usage(format!("{why}\n{invalid}")))?;
            let Some(group) = group.or_else(default_group) else {
                return Err(Error::usage(format!(
                    "Path required for Logical Volume \"{from}\".\n{invalid}"
                )));
            };
            validate(&group, NameOf::VolumeGroup).map_err(|_| Error::usage(invalid))?;
            (group, lv, to)
        }
        [group, from, to] => {
            let plain = group.strip_prefix("/dev/").unwrap_or(group);
            if let Ok((Some(other), _)) = path(from)
                && other != plain
            {
                return Err(Error::usage(format!(
                    "Please use a single volume group name (\"{plain}\" or \"{other}\")"
                )));
            }
            validate(plain, NameOf::VolumeGroup).map_err(|_| {
                let said = path(from).err().into_iter();
                let invalid = "Please provide a valid volume group name".to_owned();
                Error::usage(said.chain([invalid]).collect::<Vec<_>>().join("\n"))
            })?;
            (plain.to_owned(), within(plain, from, work)?, to)
        }
        _ => {
            return Err(Error::usage(
                "Old and new logical volume names required, as in: lvrename vg0/data vg0/old",
            ));
        }
    };
    let to = within(&group, to, work)?;
    if to.is_empty() {
        return Err(Error::usage("New logical volume name may not be blank"));
    }
    Ok((group, from, to))
}

/// The name of a volume of `group`, which may be written in front of it. Of what is no path that is
/// said, and its end taken for the name, as in stock.
fn within(group: &str, word: &str, work: &mut Work<'_>) -> Result<String, Error> {
    if !word.contains('/') {
        return Ok(word.to_owned());
    }
    match path(word) {
        Ok((Some(other), _)) if other != group => {
            return Err(Error::usage(format!(
                "Logical volume names must have the same volume group (\"{group}\" or \"{other}\")"
            )));
        }
        Ok(_) => {}
        Err(why) => work.error(&why),
    }
    Ok(word.rsplit('/').next().unwrap_or_default().to_owned())
}
