//! Finding what people name: a volume group, a logical volume, a physical volume.
//!
//! | written | means |
//! |---|---|
//! | `vg0`, `/dev/vg0`, a VG's UUID | a volume group |
//! | `vg0/data`, `/dev/vg0/data`, `/dev/mapper/vg0-data` | a logical volume |
//! | `/dev/sdb`, `disk.img`, any other path to the same file or node | a device |
//! | `disk.img:2` | partition 2 of an image |

use std::path::{Path, PathBuf};

use lvm2::Uuid;
use lvm2::model::{LvId, split_dm_name};

use super::found::{DeviceIndex, FoundDevice, FoundVg, Restriction, Scan};
use crate::host::{DeviceNumber, block_number};
use crate::{Error, Kind, Result};

impl Scan {
    /// The volume group called `name`, or with that UUID. Fails where there is none, or several.
    pub fn find_group(&self, name: &str) -> Result<&FoundVg> {
        let plain = name.strip_prefix("/dev/").unwrap_or(name);
        let named: Vec<_> = self.groups_named(plain).collect();
        // As by stock, this machine's own is meant if others have groups of its name.
        let mut own = named.iter().filter(|group| !is_foreign(group));
        if let (Some(group), None) = (own.next(), own.next()) {
            return Ok(group);
        }
        match named[..] {
            [group] => Ok(group),
            [] => self.find_group_by_uuid(plain)?.ok_or_else(|| {
                let what = format!(
                    "Volume group \"{plain}\" not found; see vgs, and name its devices with \
                     --devices if it is in images"
                );
                Error::new(Kind::NotFound, what)
            }),
            _ => {
                let uuids: Vec<_> = named.iter().map(|group| group.uuid.to_string()).collect();
                let what = format!(
                    "Multiple VGs found with the same name: skipping {plain}\nUse --select \
                     vg_uuid=<uuid> in place of the VG name, with one of: {}",
                    uuids.join(", ")
                );
                Err(Error::new(Kind::Ambiguous, what))
            }
        }
    }

    /// The device that is called `name`, or that the path `name` leads to, from `folder` if it is
    /// relative and there is one. Partitions of images are written behind a colon.
    pub fn find_device(&self, name: &str, folder: Option<&Path>) -> Option<DeviceIndex> {
        let found = |is_it: &dyn Fn(&FoundDevice) -> bool| {
            self.devices.iter().position(is_it).map(DeviceIndex)
        };
        found(&|device| device.name == name).or_else(|| {
            let path = |text: &str| match folder {
                Some(folder) => folder.join(text),
                None => PathBuf::from(text),
            };
            if let Some(same) = SamePath::of(&path(name)) {
                return found(&|device| device.location.window.is_none() && same.is(device));
            }
            let (image, number) = name.rsplit_once(':')?;
            let number: u32 = number.parse().ok()?;
            let same = SamePath::of(&path(image))?;
            found(&|device| {
                let window = device.location.window;
                window.is_some_and(|window| window.partition == number) && same.is(device)
            })
        })
    }

    fn find_group_by_uuid(&self, text: &str) -> Result<Option<&FoundVg>> {
        let Ok(uuid) = text.parse::<Uuid>() else {
            return Ok(None);
        };
        let names: Vec<_> = self
            .groups_of_uuid(uuid)
            .map(|group| group.name.as_str())
            .collect();
        if names.len() > 1 {
            let what = format!(
                "{} volume groups have the UUID {uuid}; use one of their names instead: {}",
                names.len(),
                names.join(", ")
            );
            return Err(Error::new(Kind::Ambiguous, what));
        }
        Ok(self.group(uuid))
    }

    /// The logical volume called `name`, with its group in front.
    pub fn find_volume(&self, name: &str) -> Result<(&FoundVg, LvId)> {
        let (group, volume) = split_name(name).ok_or_else(|| {
            let what = format!("\"{name}\" names no logical volume; write it as VG/LV");
            Error::new(Kind::NotFound, what)
        })?;
        let group = self.find_group(&group)?;
        Ok((group, group.find_lv(&volume)?))
    }
}

impl FoundVg {
    /// The volume of this name, without the group's.
    pub fn find_lv(&self, name: &str) -> Result<LvId> {
        self.model.lv_by_name(name).ok_or_else(|| {
            let group = &self.name;
            let what =
                format!("Failed to find logical volume \"{group}/{name}\"; see lvs -a {group}");
            Error::new(Kind::NotFound, what)
        })
    }
}

/// Whether a group belongs to another machine, by its system ID.
fn is_foreign(group: &FoundVg) -> bool {
    let mut restrictions = group.restrictions.iter();
    restrictions.any(|restriction| matches!(restriction, Restriction::Foreign { .. }))
}

/// What a path leads to.
enum SamePath {
    Node(DeviceNumber),
    File(PathBuf),
}

impl SamePath {
    fn of(path: &Path) -> Option<Self> {
        match block_number(path) {
            Some(number) => Some(Self::Node(number)),
            None => path.canonicalize().ok().map(Self::File),
        }
    }

    fn is(&self, device: &FoundDevice) -> bool {
        match self {
            Self::Node(number) => device.number == Some(*number),
            Self::File(path) => {
                let own = device
                    .location
                    .path()
                    .and_then(|own| own.canonicalize().ok());
                own.as_ref() == Some(path)
            }
        }
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
