//! FUSE connections of the kernel: which there are, and how to end one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const CONNECTIONS: &str = "/sys/fs/fuse/connections";

/// The connections that exist now, by the kernel's number. Shows them first where no init has.
pub(super) fn connections() -> BTreeSet<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    if !mounts.contains(CONNECTIONS) {
        let arguments = ["-t", "fusectl", "none", CONNECTIONS];
        if !Command::new("mount")
            .args(arguments)
            .status()
            .is_ok_and(|status| status.success())
        {
            eprintln!("watch: {CONNECTIONS} cannot be mounted: a stuck mount cannot be ended");
        }
    }
    let entries = fs::read_dir(CONNECTIONS).into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect()
}

/// Aborts every connection that was not there `before`: requests on them fail, waiters wake up.
pub(super) fn abort_newer_than(before: &BTreeSet<String>) -> Vec<String> {
    let newer: Vec<String> = connections().difference(before).cloned().collect();
    for connection in &newer {
        if let Err(error) = fs::write(Path::new(CONNECTIONS).join(connection).join("abort"), "1") {
            eprintln!("watch: FUSE connection {connection} cannot be aborted: {error}");
        }
    }
    newer
}
