//! Where a device is: enough to open it again.

use std::fmt;
use std::path::PathBuf;

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
    /// A file or a block device.
    pub path: PathBuf,
    /// The part of it that is the device; all of it if `None`.
    pub window: Option<Window>,
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
            path: path.into(),
            window: None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
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
