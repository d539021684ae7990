//! The three tables.

use super::super::super::contest::Row;
use super::super::super::run::{Bench, Table};
use super::{arrays, doors, library, overlays, timed};

pub(in super::super) const TABLE: Table = Table {
    name: "states",
    about: "mirrors, origins and snapshots with a linear volume on the same files",
    peers: &[],
    run,
};

pub(in super::super) const OVERLAY_TABLE: Table = Table {
    name: "overlays",
    about: "a snapshot with qcow2 over a file and nbdkit's cow, 4 KiB over NBD",
    peers: &["qemu-storage-daemon", "qemu-img", "nbdkit"],
    run: overlays::run,
};

pub(in super::super) const ARRAY_TABLE: Table = Table {
    name: "arrays",
    about: "arrays with linear and striped volumes on the same files, and with QEMU's quorum",
    peers: &["qemu-storage-daemon"],
    run: arrays::run,
};

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let mut rows = timed::rows(bench)?;
    rows.extend(library::rows(bench)?);
    rows.extend(doors::rows(bench)?);
    Ok(rows)
}
