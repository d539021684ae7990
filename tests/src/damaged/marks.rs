//! Marks at the beginning of each extent of each disk, by which it is known what a volume holds and
//! what was written.
//!
//! ```text
//!   disk   head │ extent 0      │ extent 1      │ …
//!               │mark│ nothing  │mark│ nothing  │
//! ```
//!
//! A mark names its disk and extent, so no two hold the same, and data that changed places are
//! noticed. Where the log of a mirror begins, the mark is a log of the kernel in which all is in
//! sync: without it a repair had no image to keep. What is written behind a mark is not seen; all
//! that a command clears or begins, it clears or begins at the front of an extent.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::template::{EXTENTS, HEAD};

/// Bytes of a mark: the header of a mirror's log, its bits, and some more.
const MARK: usize = 2048;
/// Bytes of an extent.
const EXTENT: u64 = 1 << 20;
/// The kernel's header of a mirror's log: a magic number, a version, and the number of regions;
/// the bits begin at byte 1024.
const LOG_HEADER: [u8; 16] = *b"rRiM\x02\0\0\0\x02\0\0\0\0\0\0\0";
const LOG_BITS: usize = 1024;

/// What was written: by disk and extent, what stands there now.
pub(super) type Written = BTreeMap<(usize, u64), String>;

/// The marks of a row of disks.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Disk and extent of the logs of mirrors.
    logs: Vec<(usize, u64)>,
}

impl Marks {
    /// The marks of disks on which logs of mirrors begin at these extents.
    pub(super) fn with_logs(logs: Vec<(usize, u64)>) -> Self {
        Self { logs }
    }

    fn bytes(&self, disk: usize, extent: u64) -> Vec<u8> {
        if self.logs.contains(&(disk, extent)) {
            let mut log = vec![0; MARK];
            log[..LOG_HEADER.len()].copy_from_slice(&LOG_HEADER);
            log[LOG_BITS..].fill(0xff);
            return log;
        }
        let text = format!("disk {disk} extent {extent}\n");
        text.bytes().cycle().take(MARK).collect()
    }

    /// What is said of an extent that holds its mark.
    pub(super) fn name(disk: usize, extent: u64) -> String {
        format!("disk {disk} extent {extent}")
    }

    /// Marks all extents of a disk.
    pub(super) fn write(&self, disk: usize, path: &Path) {
        let file = OpenOptions::new().write(true).open(path).expect("a disk");
        for extent in 0..EXTENTS {
            let mark = self.bytes(disk, extent);
            file.write_all_at(&mark, at(extent))
                .expect("it takes a mark");
        }
    }

    /// What of a disk was written since it was marked; and marks it anew.
    pub(super) fn written(&self, disk: usize, path: &Path, written: &mut Written) {
        let file = File::open(path).expect("a disk");
        let mut found = vec![0; MARK];
        let mut any = false;
        for extent in 0..EXTENTS {
            let place = at(extent);
            file.read_exact_at(&mut found, place).expect("it is read");
            if found != self.bytes(disk, extent) {
                written.insert((disk, extent), shown(&found));
                any = true;
            }
        }
        if any {
            self.write(disk, path);
        }
    }
}

fn at(extent: u64) -> u64 {
    HEAD as u64 + extent * EXTENT
}

/// Bytes, short enough to be printed, and different where the bytes are.
fn shown(bytes: &[u8]) -> String {
    if bytes.iter().all(|byte| *byte == 0) {
        return "zeros".to_owned();
    }
    let mut parts: Vec<(u8, usize)> = Vec::new();
    for byte in bytes {
        match parts.last_mut() {
            Some((last, count)) if last == byte => *count += 1,
            _ => parts.push((*byte, 1)),
        }
    }
    let parts = parts
        .iter()
        .map(|(byte, count)| format!("{byte:02x}*{count}"));
    parts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
