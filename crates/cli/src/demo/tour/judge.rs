//! Stock LVM2, where it is installed, looks at the disks.
//!
//! It sees loop devices over the tour's own files and nothing else of the machine: a configuration
//! folder of its own rejects all other devices, and it neither asks for device-mapper nor keeps
//! backups. The kernel takes the loop devices away when this process ends, however it ends.

use std::fmt::Write as _;
use std::fs::File;
use std::process::Command;

use export::fuse::Access;
use export::loop_device::LoopDevice;

use super::world::{GROUP, World};
use crate::args::Error;
use crate::demo::process;
use crate::demo::story::Story;

/// What both are asked for; not the devices, whose names differ.
const COMPARED: &str = "lv_name,lv_uuid,lv_size,segtype,seg_start_pe,seg_size_pe,stripes";

const BLOCK: u32 = 512;

/// Lets it judge, or says why it cannot.
pub(super) fn judge(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    if let Some(why) = obstacle() {
        return story.left_out(&format!("Left out: {why}."));
    }
    let mut loops = Vec::new();
    for name in World::disk_names() {
        let path = world.disks.join(name);
        match LoopDevice::attach(&path, Access::ReadOnly, BLOCK) {
            Ok(device) => loops.push(device),
            Err(error) => return story.left_out(&format!("Left out: {error}.")),
        }
    }
    let stock = Stock::new(world, &loops)?;
    let version = stock.run(&["version"])?;
    story.say(version.lines().next().unwrap_or_default().trim())?;
    for words in [
        &["vgck", GROUP][..],
        &["vgs", GROUP],
        &["lvs", "-a", "-o", "lv_name,lv_attr,lv_size,devices", GROUP],
    ] {
        world.interrupt.check()?;
        story.command(&format!("lvm {}", words.join(" ")))?;
        story.say(stock.run(words)?.trim_end())?;
    }
    let words = [
        "lvs",
        "-a",
        "--noheadings",
        "--units",
        "b",
        "-o",
        COMPARED,
        GROUP,
    ];
    let (theirs, ours) = (sorted(&stock.run(&words)?), sorted(&world.run(&words)?));
    if theirs != ours {
        let what = format!("stock LVM2 sees {theirs:?} where Ashlar sees {ours:?}");
        return Err(Error::failed(what));
    }
    story.good("vgck has no complaints, and both see the same volumes, field by field")
}

/// Why it cannot be asked.
fn obstacle() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("stock LVM2 needs loop devices here, and those need root");
    }
    if !process::is_installed("lvm") {
        return Some("stock LVM2 (the package lvm2) is not installed");
    }
    let control = File::options()
        .read(true)
        .write(true)
        .open("/dev/loop-control");
    control.err().map(|_| "this machine has no loop devices")
}

/// LVM2 on a closed list of devices.
struct Stock {
    folder: std::path::PathBuf,
}

impl Stock {
    fn new(world: &World<'_>, loops: &[LoopDevice]) -> Result<Self, Error> {
        assert!(!loops.is_empty(), "it must never see the machine's disks");
        let mut filter = String::new();
        for device in loops {
            write!(filter, "\"a|^{}$|\", ", device.path().display()).expect("a string takes all");
        }
        let folder = world.private.join("stock");
        let lock = folder.join("lock");
        std::fs::create_dir_all(&lock)?;
        let text = format!(
            "devices {{\n filter = [ {filter}\"r|.*|\" ]\n global_filter = [ {filter}\"r|.*|\" ]\n \
             use_devicesfile = 0\n obtain_device_list_from_udev = 0\n \
             external_device_info_source = \"none\"\n hints = \"none\"\n}}\n\
             global {{\n locking_dir = \"{}\"\n use_lvmpolld = 0\n use_lvmlockd = 0\n \
             event_activation = 0\n}}\n\
             activation {{\n udev_sync = 0\n udev_rules = 0\n monitoring = 0\n}}\n\
             backup {{\n backup = 0\n archive = 0\n}}\n",
            lock.display()
        );
        std::fs::write(folder.join("lvm.conf"), text)?;
        Ok(Self { folder })
    }

    fn run(&self, words: &[&str]) -> Result<String, Error> {
        let mut command = Command::new("lvm");
        command.args(words).env("LVM_SYSTEM_DIR", &self.folder);
        if words != ["version"] {
            command.args(["--driverloaded", "n"]);
        }
        process::run(&mut command, &format!("lvm {}", words.join(" ")))
    }
}

/// The lines of a report, without blanks around them, in order.
fn sorted(report: &str) -> Vec<String> {
    let lines = report.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ")
    });
    let mut lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines.sort();
    lines
}
