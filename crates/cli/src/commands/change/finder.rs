//! Devices by what people call them.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use ashlar::scan::{DeviceIndex, FoundVg, Member, PvIndex, Scan};
use lvm2::model::PvId;

use super::pvcreate::require_allowed;

/// Why a device cannot be used that `--devices` does not name.
pub(super) const NOT_LISTED: &str = "device is not in devices list";

/// Finds devices by what people call them.
#[derive(Debug, Clone)]
pub(super) struct Finder {
    folder: Option<PathBuf>,
    /// Whether `--devices` says which devices there are.
    is_listed: bool,
}

impl Finder {
    /// One that takes paths to be meant from this folder; the process's own if `None`.
    pub(super) fn new(folder: Option<PathBuf>, is_listed: bool) -> Self {
        Self { folder, is_listed }
    }

    /// The device that `name` means.
    pub(super) fn device(&self, scan: &Scan, name: &str) -> ashlar::Result<DeviceIndex> {
        let found = find_device(scan, self.folder.as_deref(), name);
        found.map_err(|error| match self.unlisted(name) {
            Some(why) => ashlar::Error::new(error.kind(), why),
            None => error,
        })
    }

    /// Why a block device cannot be used that is left out by `--devices`.
    fn unlisted(&self, name: &str) -> Option<String> {
        let found = std::fs::metadata(name).ok()?;
        let is_left_out = self.is_listed && found.file_type().is_block_device();
        is_left_out.then(|| format!("Cannot use {name}: {NOT_LISTED}"))
    }

    /// The physical volume on the device that `name` means.
    pub(super) fn pv(&self, scan: &Scan, name: &str) -> ashlar::Result<PvIndex> {
        find_pv(scan, self.folder.as_deref(), name)
    }

    /// The names without those that mean the same device as an earlier one.
    pub(super) fn distinct(&self, scan: &Scan, names: &[String]) -> Vec<String> {
        let mut seen = Vec::new();
        let is_new = |name: &&String| match self.device(scan, name) {
            Ok(device) if seen.contains(&device) => false,
            Ok(device) => {
                seen.push(device);
                true
            }
            // What is wrong with it, its turn will show.
            Err(_) => true,
        };
        names.iter().filter(is_new).cloned().collect()
    }

    /// The same, with those that carry a tag in the place of `@TAG`.
    pub(super) fn tagged(&self, scan: &Scan, names: &[String]) -> Vec<String> {
        let mut all = Vec::new();
        for name in names {
            let Some(tag) = name.strip_prefix('@').filter(|tag| !tag.is_empty()) else {
                all.push(name.clone());
                continue;
            };
            for group in &scan.groups {
                let carries = |member: &&Member| {
                    let tags = &group.model.pv(member.id).tags;
                    tags.iter().any(|own| own == tag)
                };
                let members = group.members.iter().filter(carries);
                let found = members.filter_map(|member| member.presence.found());
                all.extend(found.map(|pv| scan.device(scan.pv(pv).device).name.clone()));
            }
        }
        self.distinct(scan, &all)
    }

    /// Why there is no physical volume called `name`.
    pub(super) fn lack(&self, scan: &Scan, name: &str) -> String {
        match self.device(scan, name) {
            Err(_) => self
                .unlisted(name)
                .unwrap_or_else(|| format!("Cannot use {name}: device not found")),
            Ok(device) => match require_allowed(scan, device) {
                Err(error) => error.to_string(),
                Ok(()) => format!("Failed to find physical volume \"{name}\"."),
            },
        }
    }

    /// The member of `group` on the device that `name` means.
    pub(super) fn member(&self, scan: &Scan, group: &FoundVg, name: &str) -> Option<PvId> {
        let index = self.pv(scan, name).ok()?;
        let is_it = |member: &&Member| member.presence.found() == Some(index);
        group.members.iter().find(is_it).map(|member| member.id)
    }
}

fn find_device(scan: &Scan, folder: Option<&Path>, name: &str) -> ashlar::Result<DeviceIndex> {
    scan.find_device(name, folder).ok_or_else(|| {
        let what = format!(
            "No device found for {name}. Name it with --devices if it is an image, and see \
             whether a filter hides it."
        );
        ashlar::Error::new(ashlar::Kind::NotFound, what)
    })
}

fn find_pv(scan: &Scan, folder: Option<&Path>, name: &str) -> ashlar::Result<PvIndex> {
    let missing = || {
        let what = format!("Failed to find physical volume \"{name}\".");
        ashlar::Error::new(ashlar::Kind::NotFound, what)
    };
    let device = find_device(scan, folder, name).map_err(|_| missing())?;
    require_allowed(scan, device)?;
    let mut all = scan.physical_volumes.iter();
    let index = all.position(|pv| pv.device == device).ok_or_else(missing)?;
    Ok(PvIndex(index))
}
