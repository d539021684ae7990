//! Which devices a devices file lists.

use super::DevicesFile;
use crate::host::DeviceId;

const TEXT: &str = "# LVM uses devices listed in this file.\nVERSION=1.1.3\n\
    IDTYPE=sys_wwid IDNAME=naa.1 DEVNAME=/dev/sda PVID=x PART=2\n\
    IDTYPE=devname IDNAME=/dev/vdb DEVNAME=/dev/vdb PVID=.\n";

#[test]
fn devices_are_listed_by_id_and_partition_or_by_name() {
    let file = DevicesFile::parse(TEXT);
    let id = DeviceId {
        kind: "sys_wwid".into(),
        name: "naa.1".into(),
    };
    assert!(file.lists(Some(&id), Some(2), &["/dev/sdx2"]));
    assert!(
        !file.lists(Some(&id), None, &["/dev/sdx"]),
        "the disk is not its partition"
    );
    assert!(file.lists(None, None, &["/dev/disk/x", "/dev/vdb"]));
    assert!(!file.lists(None, None, &["/dev/vdc"]));
}

#[test]
fn a_file_that_is_not_there_allows_everything() {
    let none = DevicesFile::read("/nonexistent/system.devices".as_ref());
    assert!(none.expect("not an error").is_none());
}
