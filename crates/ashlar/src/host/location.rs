//! Where a device is: enough to open it again.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lvm2::text::Value;
use nbd::client::Address;

use super::array::ArrayPlace;
use super::config::Config;
use crate::{Error, Kind, Result};

/// How long an NBD server may keep us waiting, if nothing else is said.
const PV_TIMEOUT: Duration = Duration::from_mins(1);
/// The longest that may be said: a day.
const PV_TIMEOUT_MAX: Duration = Duration::from_hours(24);

/// A block device's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// The major number: which driver.
    pub major: u32,
    /// The minor number: which of its devices.
    pub minor: u32,
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// How to open a device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// The whole of it.
    pub place: Place,
    /// The part of it that is the device; all of it if `None`.
    pub window: Option<Window>,
}

/// Where the whole of a device is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// A file or a block device.
    File(PathBuf),
    /// An export of an NBD server.
    Nbd(Remote),
    /// An array of md's.
    Array(Arc<ArrayPlace>),
}

/// An export of an NBD server, and on what terms it is used.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Remote {
    /// The server and the export.
    pub address: Address,
    /// How long requests wait for the server (`--pv-timeout`, `ashlar/pv_timeout`).
    pub timeout: Duration,
    /// Who else may write.
    pub sharing: Sharing,
}

/// Who else may write to what cannot be locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Nobody, as a person has said (`--assume-exclusive`, `ashlar/assume_exclusive`).
    Exclusive,
    /// That is not known: it is only read.
    Unknown,
}

impl Remote {
    /// The export at `address`, on the terms of the configuration.
    pub fn new(address: Address, config: &Config) -> Result<Self> {
        let said = match config.value("ashlar/pv_timeout") {
            Some(Value::Integer(number)) => Some(number.to_string()),
            Some(Value::Float(text) | Value::String(text)) => Some(text.clone().into_owned()),
            Some(Value::Array(_)) => Some(String::new()),
            None => None,
        };
        let timeout = match (config.overrides.pv_timeout, said) {
            (Some(timeout), _) => timeout,
            (None, Some(text)) => pv_timeout(&text)?,
            (None, None) => PV_TIMEOUT,
        };
        let address = match config.tls_certificates() {
            Some(folder) => address.with_certificates(folder),
            None => address,
        };
        Ok(Self {
            address,
            timeout,
            sharing: config.sharing(),
        })
    }
}

/// The time limit that a text of people's means (`--pv-timeout`, `ashlar/pv_timeout`).
pub fn pv_timeout(text: &str) -> Result<Duration> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0);
    let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let timeout = timeout.filter(|timeout| *timeout <= PV_TIMEOUT_MAX);
    timeout.ok_or_else(|| {
        let what = format!(
            "{text:?} is no time limit for --pv-timeout (ashlar/pv_timeout); it is a number of \
             seconds, at most a day"
        );
        Error::new(Kind::Config, what)
    })
}

/// A partition of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// The partition's number, from 1, as the kernel would count.
    pub partition: u32,
    /// Its first byte.
    pub start: u64,
    /// Its length in bytes.
    pub len: u64,
}

impl Location {
    /// All of the file or block device at `path`.
    pub fn whole(path: impl Into<PathBuf>) -> Self {
        Self {
            place: Place::File(path.into()),
            window: None,
        }
    }

    /// The file or block device, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Nbd(_) | Place::Array(_) => None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File(path) => write!(f, "{}", path.display())?,
            Place::Nbd(remote) => write!(f, "{}", remote.address)?,
            Place::Array(array) => f.write_str(&array.name)?,
        }
        match self.window {
            Some(window) => write!(f, ":{}", window.partition),
            None => Ok(()),
        }
    }
}

/// A stable name of a device, as stock keeps in its devices file and in the metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceId {
    /// `sys_wwid`, `sys_serial`, `mpath_uuid`, `crypt_uuid`, `lvmlv_uuid`, `md_uuid`, `loop_file`.
    pub kind: String,
    /// The name itself.
    pub name: String,
}
