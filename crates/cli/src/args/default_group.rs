//! `LVM_VG_NAME`: the volume group of volumes that are named alone.
//!
//! `lvchange -pr root` is `lvchange -pr vg0/root` then, and `lvcreate -L 1g` makes a volume there.
//! What has a slash, tags and groups named beside it stay what they are.

use lvm2::model::name::{NameOf, validate};

use super::error::Error;
use super::parse::Arguments;
use super::table::Flag;

/// The variable.
const VARIABLE: &str = "LVM_VG_NAME";
/// `lvcreate -s`, whose operand is a volume.
const SNAPSHOT: Flag = Flag::switch("snapshot", "");

/// Puts the group of the environment where the words of `command` leave it out.
///
/// # Errors
///
/// It is needed, and is no name of a group.
pub(super) fn apply(command: &str, arguments: &mut Arguments) -> Result<(), Error> {
    let said = std::env::var(VARIABLE).unwrap_or_default();
    let group = said.strip_prefix("/dev/").unwrap_or(&said);
    if group.is_empty() {
        return Ok(());
    }
    let is_snapshot = arguments.has(&SNAPSHOT);
    let operands = arguments.operands_mut();
    // How many of the operands may be volumes.
    let volumes = match (command, operands.len()) {
        ("lvs" | "lvdisplay" | "lvchange" | "lvremove", count) => count,
        ("lvconvert" | "lvextend" | "lvreduce" | "lvresize", count) => count.min(1),
        // `lvrename VG LV LV_new` says it.
        ("lvrename", 2) => 1,
        ("lvcreate", 0) => {
            operands.push(checked(group)?);
            0
        }
        ("lvcreate", _) if is_snapshot => 1,
        _ => 0,
    };
    for word in &mut operands[..volumes] {
        if !word.contains('/') && !word.starts_with('@') {
            *word = format!("{}/{word}", checked(group)?);
        }
    }
    Ok(())
}

fn checked(group: &str) -> Result<String, Error> {
    if validate(group, NameOf::VolumeGroup).is_err() {
        return Err(Error::failed(format!(
            "Environment Volume Group in {VARIABLE} invalid: \"{group}\""
        )));
    }
    Ok(group.to_owned())
}
