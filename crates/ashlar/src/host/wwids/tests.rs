//! Names of disks as multipath writes them.

use super::{DeviceId, Wwids};

fn id(kind: &str, name: &str) -> DeviceId {
    DeviceId {
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

#[test]
fn a_disk_of_multipath_is_known_by_each_kind_of_name() {
    // Proves: a path is found by the name in the file, and nothing else is.
    let text = "# Multipath wwids, Version : 1.0\n/3600a0b80001/\n/1ATA_DISK_7/\n/2002538/\n\n//\n";
    let wwids = Wwids::parse(text);
    assert!(wwids.has(&id("sys_wwid", "naa.600a0b80001")));
    assert!(wwids.has(&id("sys_wwid", "t10.ATA___DISK_____7_")));
    assert!(wwids.has(&id("sys_wwid", "eui.002538")));
    assert!(!wwids.has(&id("sys_wwid", "naa.600a0b80002")));
    assert!(!wwids.has(&id("sys_serial", "naa.600a0b80001")));
    assert!(!wwids.has(&id("sys_wwid", "")));
    assert!(!Wwids::parse("").has(&id("sys_wwid", "naa.1")));
}
