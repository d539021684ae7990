//! The partitions in an image, and in block devices into which the kernel does not look.
//!
//! A partition of `disk.img` is the device `disk.img:1`, with the number that the kernel would
//! give it. Tables inside partitions are not looked for.

use block::Range;
use block::partition::read_table;

use super::finding::{Finding, FindingKind, Severity};
use super::source::Source;
use crate::host::Window;

/// The partitions of `source`, and what is wrong with the table.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) windows: Vec<Window>,
    pub(super) findings: Vec<Finding>,
}

/// Looks for a table on `source`, known as `name`, whose first bytes are `head`.
pub(super) fn find(source: &Source, name: &str, head: &[u8]) -> Found {
    if head.get(510..512) != Some(&[0x55, 0xaa]) {
        return Found::default();
    }
    let read = |range: Range| {
        source
            .read(range.start(), range.len() as usize)
            .map_err(|error| block::Error::new(block::Kind::Io, error.to_string()))
    };
    let table = match read_table(source.size(), 512, read) {
        Ok(Some(table)) => table,
        Ok(None) => return Found::default(),
        Err(error) => {
            let finding = Finding::new(
                FindingKind::DamagedTable,
                Severity::Warning,
                format!("{name}: the partition table cannot be used: {error}"),
            );
            let findings =
                vec![finding.remedy("name the partitions as files or devices of their own")];
            return Found {
                windows: Vec::new(),
                findings,
            };
        }
    };
    let remarks = table.remarks.iter().map(|remark| {
        let message = format!("{name}: {remark}");
        Finding::new(FindingKind::DamagedTable, Severity::Warning, message)
            .remedy("check the table with sfdisk --verify")
    });
    let windows = table.partitions.iter().map(|partition| Window {
        partition: partition.number,
        start: partition.range.start(),
        len: partition.range.len(),
    });
    Found {
        windows: windows.collect(),
        findings: remarks.collect(),
    }
}
