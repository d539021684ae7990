//! What a program says itself: values that are stronger than every file and every text.
//!
//! Options of a command line go in here as they are. Nothing in them is parsed as a configuration,
//! so a path with a quote in it is a path, and a name never becomes another setting.

use std::path::PathBuf;
use std::time::Duration;

use dm::raid::Consistency;

use super::Config;
use crate::host::Sharing;

/// Settings as values; what is `None` is as the files say, or has its default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Which devices file counts (`devices/use_devicesfile`, `devices/devicesfile`).
    pub devices_file: Option<DevicesFileChoice>,
    /// How long requests to a server wait (`ashlar/pv_timeout`).
    pub pv_timeout: Option<Duration>,
    /// The folder of TLS certificates (`ashlar/tls_certificates`).
    pub tls_certificates: Option<PathBuf>,
    /// Who else may write to what cannot be locked (`ashlar/assume_exclusive`).
    pub sharing: Option<Sharing>,
    /// What UUIDs are drawn from (`ashlar/uuid_seed`).
    pub uuid_seed: Option<String>,
    /// Seconds since 1970 began that new texts carry (`ashlar/source_date_epoch`).
    pub source_date: Option<u64>,
    /// How arrays with parity stay consistent (`ashlar/raid_consistency`).
    pub raid_consistency: Option<Consistency>,
    /// Whether backups and archives are kept (`backup/backup`, `backup/archive`).
    pub keeping: Option<Keeping>,
}

/// Which devices file counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DevicesFileChoice {
    /// None.
    Nothing,
    /// The one of this name in the folder of such files.
    Named(String),
}

/// Whether texts of changed groups are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// They are.
    On,
    /// They are not.
    Off,
}

impl Config {
    /// What new UUIDs are drawn from, unless they are random (`ashlar/uuid_seed`).
    pub fn uuid_seed(&self) -> Option<&str> {
        let said = self.overrides.uuid_seed.as_deref();
        said.or_else(|| self.string("ashlar/uuid_seed"))
    }

    /// The time that new texts carry instead of the machine's (`ashlar/source_date_epoch`).
    pub fn source_date(&self) -> Option<u64> {
        let set = || u64::try_from(self.integer("ashlar/source_date_epoch")?).ok();
        self.overrides.source_date.or_else(set)
    }

    /// Whether backups are kept (`backup/backup`).
    pub fn keeps_backups(&self) -> bool {
        self.keeps("backup/backup")
    }

    /// Whether archives are kept (`backup/archive`).
    pub fn keeps_archives(&self) -> bool {
        self.keeps("backup/archive")
    }

    /// The folder of TLS certificates (`ashlar/tls_certificates`).
    pub fn tls_certificates(&self) -> Option<PathBuf> {
        let set = || self.string("ashlar/tls_certificates").map(PathBuf::from);
        self.overrides.tls_certificates.clone().or_else(set)
    }

    /// Who else may write to what cannot be locked (`ashlar/assume_exclusive`).
    pub fn sharing(&self) -> Sharing {
        let set = || {
            if self.flag("ashlar/assume_exclusive", false) {
                Sharing::Exclusive
            } else {
                Sharing::Unknown
            }
        };
        self.overrides.sharing.unwrap_or_else(set)
    }

    fn keeps(&self, path: &str) -> bool {
        match self.overrides.keeping {
            Some(keeping) => keeping == Keeping::On,
            None => self.flag(path, true),
        }
    }
}
