//! What a scan decided, for the log: devices that were left out, and the metadata that is used.

use std::fmt::Write as _;

use super::finding::Severity;
use super::found::{AreaContent, Content, FoundDevice, FoundVg, Scan};
use crate::log::{self, Level};

/// Says it. The same lines are said once, however often a command looks.
pub(super) fn log_decisions(scan: &Scan) {
    let notes = scan.findings.iter();
    for note in notes.filter(|finding| finding.severity == Severity::Note) {
        log::once(Level::Verbose, || note.to_string());
    }
    for device in &scan.devices {
        log_device(scan, device);
    }
    log::once(Level::Verbose, || counts(scan));
    for group in &scan.groups {
        log::once(Level::Verbose, || choice(scan, group));
    }
}

fn log_device(scan: &Scan, device: &FoundDevice) {
    let name = &device.name;
    let is = match &device.content {
        Content::PhysicalVolume(index) => {
            let pv = scan.pv(*index);
            for (number, area) in pv.areas.iter().enumerate() {
                log::once(Level::Debug, || {
                    let start = area.span.offset.0;
                    let holds = holds(&area.content);
                    format!(
                        "{name}: metadata area {} at byte {start}: {holds}",
                        number + 1
                    )
                });
            }
            format!("physical volume {}", pv.uuid)
        }
        Content::Other => "no physical volume".to_owned(),
        Content::Partitions => "a partition table; its partitions are looked at".to_owned(),
        Content::Skipped(reason) => format!("not looked at: {reason}"),
        Content::Unreadable => "cannot be read".to_owned(),
    };
    log::once(Level::Debug, || {
        format!("{name} ({} bytes): {is}", device.size.0)
    });
}

fn holds(content: &AreaContent) -> String {
    match content {
        AreaContent::Empty => "no metadata".to_owned(),
        AreaContent::Ignored => "set aside".to_owned(),
        AreaContent::Version(version) => format!(
            "version {} of VG {} ({})",
            version.seqno, version.group_name, version.group
        ),
        AreaContent::Damaged(why) => format!("damaged: {why}"),
    }
}

fn counts(scan: &Scan) -> String {
    let count = |wanted: fn(&Content) -> bool| {
        let devices = scan.devices.iter();
        devices.filter(|device| wanted(&device.content)).count()
    };
    format!(
        "Looked at {} devices: {} physical volumes, {} without, {} left out, {} not readable; {} \
         volume groups.",
        scan.devices.len(),
        scan.physical_volumes.len(),
        count(|content| matches!(content, Content::Other | Content::Partitions)),
        count(|content| matches!(content, Content::Skipped(_))),
        count(|content| matches!(content, Content::Unreadable)),
        scan.groups.len()
    )
}

/// Which version of a group is used, and why.
fn choice(scan: &Scan, group: &FoundVg) -> String {
    let (mut newest, mut older) = (Vec::new(), Vec::new());
    for pv in &scan.physical_volumes {
        let name = &scan.device(pv.device).name;
        for area in &pv.areas {
            match &area.content {
                AreaContent::Version(version) if version.group == group.uuid => {
                    if version.seqno == group.seqno {
                        newest.push(name.clone());
                    } else {
                        older.push(format!("{} on {name}", version.seqno));
                    }
                }
                AreaContent::Damaged(_) if pv.group == Some(group.uuid) => {
                    older.push(format!("a damaged one on {name}"));
                }
                _ => {}
            }
        }
    }
    newest.dedup();
    let mut text = format!(
        "VG {}: metadata version {} is used, the newest, from {}",
        group.name,
        group.seqno,
        newest.join(", ")
    );
    if !older.is_empty() {
        let _ = write!(text, "; passed over: {}", older.join(", "));
    }
    text.push('.');
    text
}
