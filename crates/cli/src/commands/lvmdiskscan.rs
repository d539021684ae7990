//! `lvmdiskscan`: one line for each device, with or without a label.
//!
//! As in stock a device whose name ends with a digit counts as a partition, and devices stand in
//! the order of their numbers.

use std::path::Path;

use ashlar::scan::{Content, FindingKind, FoundDevice};

use super::Session;
use super::display::Values;
use super::rows::label_of;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

/// `-l`
const LVM_PARTITION: Flag =
    Flag::switch("lvmpartition", "Only devices that hold physical volumes.").short('l');

/// `lvmdiskscan`
pub(super) const COMMAND: Command = Command {
    name: "lvmdiskscan",
    summary: "List devices that are or may become physical volumes",
    operands: "",
    description: "One line for each device, its size, and whether it holds a physical volume; then \
        how many there are. pvs -a says more.",
    flags: &[&[LVM_PARTITION, flags::READ_ONLY], flags::COMMON],
    examples: &[Example {
        line: "lvmdiskscan -l",
        does: "lists devices that hold physical volumes",
    }],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let only_labelled = arguments.has(&LVM_PARTITION);
    if only_labelled {
        session.tell("WARNING: only considering LVM devices");
    }
    let values = Values::of(arguments, session)?;
    let disks = session.quiet_disks(arguments)?;
    // It is about devices: what their groups lack is not asked, and a copy is a device like others.
    session.tell_found(&disks, arguments, |finding| {
        let is_of_device = finding.group.is_none() || finding.kind == FindingKind::Disagreement;
        is_of_device && finding.kind != FindingKind::DuplicatePv
    });
    let scan = disks.scan;
    let is_device = |device: &&FoundDevice| {
        !matches!(device.content, Content::Partitions | Content::Skipped(_))
    };
    let mut devices: Vec<&FoundDevice> = scan.devices.iter().filter(is_device).collect();
    devices.sort_by_key(|device| device.number);
    // Partitions for which the kernel has no nodes are not what others make room for.
    let is_shown = |device: &&&FoundDevice| {
        !only_labelled || label_of(device).is_some() || Path::new(&device.name).exists()
    };
    let shown = devices.iter().filter(is_shown);
    let width = shown.map(|device| device.name.chars().count()).max();
    let width = width.unwrap_or(0);
    // Without a label and with one; disks and partitions.
    let mut counts = [[0_u64; 2]; 2];
    for device in devices {
        let is_labelled = label_of(device).is_some();
        let is_partition = device.name.ends_with(|c: char| c.is_ascii_digit());
        if !is_labelled && only_labelled {
            continue;
        }
        counts[usize::from(is_labelled)][usize::from(is_partition)] += 1;
        let size = values.size(device.size.0 / 512);
        let what = if is_labelled {
            "LVM physical volume"
        } else {
            ""
        };
        session.line(&format!("{:width$} [{size:>15}] {what}", device.name))?;
    }
    let [[disks, partitions], [whole, labelled]] = counts;
    let mut counted = |count: u64, what: &str| {
        let s = if count == 1 { "" } else { "s" };
        session.line(&format!("{count} {what}{s}"))
    };
    if !only_labelled {
        counted(disks, "disk")?;
        counted(partitions, "partition")?;
    }
    counted(whole, "LVM physical volume whole disk")?;
    counted(labelled, "LVM physical volume")?;
    Ok(())
}
