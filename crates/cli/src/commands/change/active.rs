//! `-a`, where nothing is activated by a command: which volumes are active is up to those that
//! serve them, and scripts are told so.

use manager::live::Client;
use manager::scan::FoundVg;

use super::arguments::{Choice, invalid};
use super::work::{Work, failed};
use crate::args::{Arguments, Error, Flag};

/// `-a`, in all its forms.
pub(super) fn active(arguments: &Arguments, flag: &Flag) -> Result<Option<Choice>, Error> {
    match arguments.value(flag) {
        None => Ok(None),
        Some("y" | "ay" | "ey" | "ly" | "sy" | "e" | "l" | "s") => Ok(Some(Choice::Yes)),
        Some("n" | "en" | "ln" | "an") => Ok(Some(Choice::No)),
        Some(other) => Err(invalid(flag, other)),
    }
}

/// The volumes of a group that are served, and by whom.
pub(super) struct Served {
    /// The process.
    pub(super) pid: u32,
    /// The volumes' names: `vg0/data`.
    pub(super) volumes: Vec<String>,
}

/// Asks the owner of a group, if it has one.
pub(super) fn served(group: &FoundVg, work: &Work<'_>) -> Result<Served, Error> {
    if work.is_owner_of(group.uuid) {
        let uuids = work.served();
        let volumes = group.model.lvs().map(|(_, volume)| volume);
        let volumes = volumes.filter(|volume| uuids.contains(&volume.uuid));
        let names = volumes.map(|volume| format!("{}/{}", group.name, volume.name()));
        return Ok(Served {
            pid: std::process::id(),
            volumes: names.collect(),
        });
    }
    let mut served = Served {
        pid: 0,
        volumes: Vec::new(),
    };
    let client = Client::find(group.uuid).map_err(|error| failed(&error))?;
    let Some(mut client) = client else {
        return Ok(served);
    };
    if let Some(volumes) = client.status().map_err(|error| failed(&error))? {
        served.pid = client.pid();
        served.volumes = volumes.into_iter().map(|volume| volume.name).collect();
    }
    Ok(served)
}

/// Why a volume is not made inactive.
pub(super) fn in_use(served: &Served, volume: &str) -> String {
    let group = volume.split('/').next().unwrap_or_default();
    format!(
        "Logical volume {volume} in use: process {} serves it; `ashlar stop {group}' ends that",
        served.pid
    )
}
