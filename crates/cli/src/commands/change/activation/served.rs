//! Which volumes of a group are in use, whoever serves them.

use ashlar::live::{Client, VolumeStatus};
use ashlar::scan::FoundVg;
use lvm2::Uuid;

use super::super::work::{Work, failed};
use crate::args::Error;

/// The volumes of a group that are served, and by whom.
#[derive(Debug, Default)]
pub(in crate::commands::change) struct Served {
    /// The process.
    pid: u32,
    volumes: Vec<VolumeStatus>,
}

impl Served {
    /// Whether this volume is active.
    pub(in crate::commands::change) fn has(&self, lv: Uuid) -> bool {
        self.volumes.iter().any(|volume| volume.uuid == Some(lv))
    }

    /// Whether any is.
    pub(in crate::commands::change) fn is_any(&self) -> bool {
        !self.volumes.is_empty()
    }

    /// Why `volume` (`vg0/data`) is not made inactive, if more than `nodes` use it.
    pub(super) fn in_use(&self, lv: Uuid, volume: &str, nodes: u64) -> Option<String> {
        let mut all = self.volumes.iter();
        let found = all.find(|volume| volume.uuid == Some(lv))?;
        let group = volume.split('/').next().unwrap_or_default();
        let pid = self.pid;
        (found.users > nodes).then(|| {
            format!(
                "Logical volume {volume} in use: process {pid} serves it; `ashlar stop {group}' \
                 ends that"
            )
        })
    }
}

/// Asks the owner of a group, if it has one.
pub(in crate::commands::change) fn served(
    group: &FoundVg,
    work: &Work<'_>,
) -> Result<Served, Error> {
    if let Some((live, _)) = work.active(group.uuid) {
        return Ok(Served {
            pid: std::process::id(),
            volumes: live.status(),
        });
    }
    let client = Client::find(group.uuid).map_err(|error| failed(&error))?;
    let Some(mut client) = client else {
        return Ok(Served::default());
    };
    let volumes = client.status().map_err(|error| failed(&error))?;
    Ok(Served {
        pid: client.pid(),
        volumes: volumes.unwrap_or_default(),
    })
}
