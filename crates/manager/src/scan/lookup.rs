//! Finding what people name: a volume group, a logical volume, a physical volume.
//!
//! | written | means |
//! |---|---|
//! | `vg0`, `/dev/vg0`, a VG's UUID | a volume group |
//! | `vg0/data`, `/dev/vg0/data`, `/dev/mapper/vg0-data` | a logical volume |

use lvm::Uuid;
use lvm::model::{LvId, split_dm_name};

use super::found::{FoundVg, Scan};
use crate::{Error, Kind, Result};

impl Scan {
    /// The volume group called `name`, or with that UUID. Fails where there is none, or several.
    pub fn find_group(&self, name: &str) -> Result<&FoundVg> {
        let plain = name.strip_prefix("/dev/").unwrap_or(name);
        let named: Vec<_> = self.groups_named(plain).collect();
        match named[..] {
            [group] => Ok(group),
            [] => plain
                .parse::<Uuid>()
                .ok()
                .and_then(|uuid| self.group(uuid))
                .ok_or_else(|| {
                    let what = format!(
                        "Volume group \"{plain}\" not found; see vgs, and name its devices with \
                     --devices if it is in images"
                    );
                    Error::new(Kind::NotFound, what)
                }),
            _ => {
                let uuids: Vec<_> = named.iter().map(|group| group.uuid.to_string()).collect();
                let what = format!(
                    "{} volume groups have the name {plain}; use one of their UUIDs instead: {}",
                    uuids.len(),
                    uuids.join(", ")
                );
                Err(Error::new(Kind::Ambiguous, what))
            }
        }
    }

    /// The logical volume called `name`, with its group in front.
    pub fn find_volume(&self, name: &str) -> Result<(&FoundVg, LvId)> {
        let (group, volume) = split_name(name).ok_or_else(|| {
            let what = format!("\"{name}\" names no logical volume; write it as VG/LV");
            Error::new(Kind::NotFound, what)
        })?;
        let group = self.find_group(&group)?;
        let id = group.model.lv_by_name(&volume).ok_or_else(|| {
            let what = format!(
                "Failed to find logical volume \"{}/{volume}\"; see lvs -a {}",
                group.name, group.name
            );
            Error::new(Kind::NotFound, what)
        })?;
        Ok((group, id))
    }
}

/// Group and volume of a logical volume's name in one of its forms.
fn split_name(name: &str) -> Option<(String, String)> {
    if let Some(mapped) = name.strip_prefix("/dev/mapper/") {
        let parts = split_dm_name(mapped)?;
        return Some((parts.0, parts.1));
    }
    let plain = name.strip_prefix("/dev/").unwrap_or(name);
    let (group, volume) = plain.split_once('/')?;
    let whole = !group.is_empty() && !volume.is_empty() && !volume.contains('/');
    whole.then(|| (group.to_owned(), volume.to_owned()))
}
