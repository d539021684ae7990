//! LVM2 as the distribution ships it, the judge of our disks.
//!
//! It runs with a configuration folder of its own that lets it see the given devices and nothing
//! else of the machine: no devices file, no udev, no backups, no daemons. The machine need not have
//! device-mapper; `without_driver` keeps LVM2 from asking for it.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::loops::LoopDevice;
use crate::scratch::Scratch;
use crate::tool::{Tool, assert_root};

const CONFIGURATION: &str = r#"
devices {
  filter = FILTER
  global_filter = FILTER
  use_devicesfile = 0
  obtain_device_list_from_udev = 0
  external_device_info_source = "none"
  hints = "none"
}
global {
  locking_dir = "LOCK"
  use_lvmpolld = 0
  use_lvmlockd = 0
  event_activation = 0
}
activation {
  udev_sync = 0
  udev_rules = 0
  monitoring = 0
}
backup {
  backup = 0
  archive = 0
}
SETTINGS
"#;

/// Stock LVM2 on a closed list of devices.
#[derive(Debug)]
pub struct Stock {
    // Shared with every command: without its folder LVM2 would fall back to the machine's own
    // configuration and see every device.
    scratch: Arc<Scratch>,
}

impl Stock {
    /// Stock LVM2 that sees these loop devices only.
    pub fn on<'a>(devices: impl IntoIterator<Item = &'a LoopDevice>) -> Self {
        Self::with(devices, "")
    }

    /// The same, with more lines for its configuration file.
    pub fn with<'a>(devices: impl IntoIterator<Item = &'a LoopDevice>, settings: &str) -> Self {
        assert_root();
        let scratch = Arc::new(Scratch::new("stock"));
        let mut filter = String::new();
        for device in devices {
            write!(filter, "\"a|^{}$|\", ", device.path().display()).expect("a string takes all");
        }
        assert!(
            !filter.is_empty(),
            "stock LVM2 must never see all devices of the machine"
        );
        let list = format!("[ {filter}\"r|.*|\" ]");
        let lock = scratch.join("lock");
        let text = CONFIGURATION
            .replace("FILTER", &list)
            .replace("LOCK", &lock.display().to_string())
            .replace("SETTINGS", settings);
        fs::create_dir(&lock).expect("a directory for locks");
        fs::write(scratch.join("lvm.conf"), text).expect("a configuration");
        Stock { scratch }
    }

    /// An LVM2 command, such as `vgs`.
    pub fn command(&self, name: &str) -> Tool {
        let tool = Tool::new("lvm").arg(name).needing(&self.scratch);
        tool.env("LVM_SYSTEM_DIR", self.system_dir())
    }

    /// A command that does not ask for device-mapper: reports on machines that have none.
    pub fn without_driver(&self, name: &str) -> Tool {
        self.command(name).args(["--driverloaded", "n"])
    }

    /// Its configuration folder.
    pub fn system_dir(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }
}
