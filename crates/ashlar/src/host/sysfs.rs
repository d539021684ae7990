//! What the kernel says about a block device, from `/sys`.
//!
//! ```text
//!   dev/block/8:1/        the device
//!     size partition      sectors; a partition has a number, and its disk is the folder above
//!     holders/            what is built on it: md arrays, device-mapper devices
//!     dm/ md/ loop/       what it is itself
//!     device/wwid …       what it is known by
//! ```
//!
//! Everything here is a hint about ownership: what is part of something larger must not be used
//! by itself. A file that is not there means that the fact is not known, never an error: containers
//! show anything from all of `/sys` to none of it.

use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use lvm2::Uuid;

use super::location::{DeviceId, DeviceNumber};

/// What the names of qemu's disks hold, which many machines have alike.
const ANONYMOUS: &str = "QEMU HARDDISK";

/// The kernel's folder of facts.
#[derive(Debug, Clone)]
pub struct Sysfs {
    root: PathBuf,
}

/// What is known about a block device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockFacts {
    /// The kernel's name: `sda1`, `dm-3`, `cciss!c0d0`.
    pub kernel_name: String,
    /// What it is known by.
    pub id: Option<DeviceId>,
    /// Its number on its disk, if it is a partition.
    pub partition: Option<u32>,
    /// What it is part of, if it must not be used by itself.
    pub part_of: Option<PartOf>,
    /// The kernel names of its partitions, by number.
    pub partitions: Vec<String>,
}

/// Why a block device is not to be used by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartOf {
    /// A component of a software RAID array with this name.
    Md(String),
    /// A path of a multipath device with this name.
    Multipath(String),
    /// It is a logical volume that device-mapper serves, with this name.
    LogicalVolume(String),
}

/// A logical volume that device-mapper serves at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelLv {
    /// The volume group.
    pub group: Uuid,
    /// The logical volume.
    pub volume: Uuid,
    /// Which of its devices: empty for the volume itself, else `real`, `cow`, `tpool`, ….
    pub layer: String,
    /// The kernel's name of the device: `dm-3`.
    pub kernel_name: String,
}

impl Sysfs {
    /// This machine's.
    pub fn of_host() -> Self {
        Self::at("/sys")
    }

    /// One below `root`, for tests.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The kernel names and numbers of all block devices with a size, sorted by name.
    pub fn block_devices(&self) -> Vec<(String, DeviceNumber)> {
        let class = self.root.join("class/block");
        let mut found: Vec<_> = names_in(&class)
            .into_iter()
            .filter_map(|name| {
                let dir = class.join(&name);
                let number = parse_number(&read(&dir.join("dev"))?)?;
                let size = read(&dir.join("size"))?.parse::<u64>().ok()?;
                (size > 0).then_some((name, number))
            })
            .collect();
        found.sort();
        found
    }

    /// The facts about the device with this number.
    pub fn facts(&self, number: DeviceNumber) -> BlockFacts {
        let Some(dir) = self.folder(number) else {
            return BlockFacts::default();
        };
        let name = dir
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        // What the folder does not list is not asked for: a machine may have a thousand devices.
        let entries = names_in(&dir);
        let has = |wanted: &str| entries.iter().any(|entry| entry == wanted);
        // A partition's disk is the folder above it.
        let partition = has("partition")
            .then(|| read(&dir.join("partition"))?.parse().ok())
            .flatten();
        let disk = if partition.is_some() {
            dir.parent()
        } else {
            None
        };
        let dm_uuid = has("dm").then(|| read(&dir.join("dm/uuid"))).flatten();
        let part_of = dm_uuid
            .as_ref()
            .and_then(|uuid| logical_volume(&dir, uuid))
            .or_else(|| self.held_by(&dir))
            .or_else(|| self.held_by(disk?));
        let id = if let Some(uuid) = dm_uuid {
            dm_id(uuid)
        } else {
            let md_uuid = has("md").then(|| read(&dir.join("md/uuid"))).flatten();
            let whole = partition.is_none();
            device_id(disk.unwrap_or(&dir), md_uuid.filter(|_| whole), whole)
        };
        BlockFacts {
            id,
            partition,
            part_of,
            partitions: partitions(&dir, &name, entries),
            kernel_name: name,
        }
    }

    /// The name under which device-mapper knows the device, if it is one of its.
    pub fn dm_name(&self, kernel_name: &str) -> Option<String> {
        read(&self.class(kernel_name).join("dm/name"))
    }

    /// Whether device-mapper holds back what is asked of it.
    pub fn is_suspended(&self, number: DeviceNumber) -> bool {
        let folder = self.folder(number);
        folder.and_then(|folder| read(&folder.join("dm/suspended"))) == Some("1".to_owned())
    }

    /// All logical volumes that device-mapper serves now.
    pub fn kernel_lvs(&self) -> Vec<KernelLv> {
        let names = names_in(&self.root.join("class/block"));
        let dm = names.into_iter().filter(|name| name.starts_with("dm-"));
        dm.filter_map(|kernel_name| {
            let uuid = read(&self.class(&kernel_name).join("dm/uuid"))?;
            let ids = uuid.strip_prefix("LVM-")?;
            let volume_end = ids.find('-').unwrap_or(ids.len());
            let (group, volume) = ids[..volume_end].split_at_checked(32)?;
            let layer = ids[volume_end..].trim_start_matches('-').to_owned();
            let (group, volume) = (group.parse().ok()?, volume.parse().ok()?);
            Some(KernelLv {
                group,
                volume,
                layer,
                kernel_name,
            })
        })
        .collect()
    }

    /// Whether a logical volume that device-mapper serves is built directly on the device.
    pub fn holds_logical_volume(&self, number: DeviceNumber) -> bool {
        let dir = self
            .root
            .join("dev/block")
            .join(number.to_string())
            .join("holders");
        let is_volume = |holder: &String| {
            read(&self.class(holder).join("dm/uuid")).is_some_and(|uuid| uuid.starts_with("LVM-"))
        };
        names_in(&dir).iter().any(is_volume)
    }

    /// The folder of the device with this number. The kernel's links go from folder to folder
    /// without further links on their way, so one step resolves them.
    pub(super) fn folder(&self, number: DeviceNumber) -> Option<PathBuf> {
        let links = self.root.join("dev/block");
        let target = fs::read_link(links.join(number.to_string())).ok()?;
        let mut folder = links;
        for part in target.components() {
            match part {
                Component::ParentDir => {
                    folder.pop();
                }
                other => folder.push(other),
            }
        }
        Some(folder)
    }

    fn class(&self, kernel_name: &str) -> PathBuf {
        self.root.join("class/block").join(kernel_name)
    }

    fn held_by(&self, dir: &Path) -> Option<PartOf> {
        names_in(&dir.join("holders"))
            .into_iter()
            .find_map(|holder| {
                let above = self.class(&holder);
                if above.join("md").exists() {
                    return Some(PartOf::Md(holder));
                }
                let uuid = read(&above.join("dm/uuid"))?;
                let name = read(&above.join("dm/name")).unwrap_or(holder);
                uuid.starts_with("mpath-")
                    .then_some(PartOf::Multipath(name))
            })
    }
}

/// Says so if the device-mapper device with this UUID is a logical volume.
fn logical_volume(dir: &Path, uuid: &str) -> Option<PartOf> {
    uuid.starts_with("LVM-").then(|| {
        let name = read(&dir.join("dm/name"));
        PartOf::LogicalVolume(name.unwrap_or_default())
    })
}

/// What a device-mapper device is known by.
fn dm_id(uuid: String) -> Option<DeviceId> {
    let kinds = [
        ("mpath-", "mpath_uuid"),
        ("CRYPT-", "crypt_uuid"),
        ("LVM-", "lvmlv_uuid"),
    ];
    let kind = kinds.iter().find(|(prefix, _)| uuid.starts_with(prefix))?.1;
    Some(DeviceId {
        kind: kind.to_owned(),
        name: uuid,
    })
}

/// What any other device is known by, in stock's order of preference. Partitions of arrays and of
/// loop devices are known by nothing, as with stock.
fn device_id(disk: &Path, md_uuid: Option<String>, whole: bool) -> Option<DeviceId> {
    let id = |kind: &str, name: &str| {
        Some(DeviceId {
            kind: kind.to_owned(),
            // As stock writes it into its devices file, where blanks divide.
            name: name.replace(
                |c: char| c.is_ascii_whitespace() || c.is_ascii_control(),
                "_",
            ),
        })
    };
    if let Some(uuid) = md_uuid {
        return id("md_uuid", &uuid);
    }
    if let Some(file) = read(&disk.join("loop/backing_file")) {
        // Of a file that was removed the name says nothing.
        let is_known = whole && !file.contains("(deleted)");
        return is_known.then(|| id("loop_file", &file)).flatten();
    }
    let wwid = |path| read(&disk.join(path)).filter(|name| !name.contains(ANONYMOUS));
    if let Some(name) = wwid("device/wwid").or_else(|| wwid("wwid")) {
        return id("sys_wwid", &name);
    }
    id("sys_serial", &read(&disk.join("device/serial"))?)
}

/// The partitions' kernel names, by number. The kernel names them after their disk.
fn partitions(dir: &Path, disk: &str, entries: Vec<String>) -> Vec<String> {
    let of_disk = entries.into_iter().filter(|name| name.starts_with(disk));
    let mut found: Vec<(u32, String)> = of_disk
        .filter_map(|name| {
            let number = read(&dir.join(&name).join("partition"))?.parse().ok()?;
            Some((number, name))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}

fn names_in(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.collect()
}

/// A file's content without surrounding white space; `None` if there is none.
pub(super) fn read(path: &Path) -> Option<String> {
    // The kernel hands out a fact whole, in one page at most.
    let mut page = [0; 4096];
    let length = fs::File::open(path).ok()?.read(&mut page).ok()?;
    let text = str::from_utf8(&page[..length]).ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn parse_number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    Some(DeviceNumber {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

#[cfg(test)]
pub(super) mod tests;
