//! Facts from an imitation of `/sys`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{PartOf, Sysfs};
use crate::host::{DeviceId, DeviceNumber};

pub(in crate::host) struct FakeSysfs(PathBuf);

impl FakeSysfs {
    pub(in crate::host) fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("ashlar-sysfs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for dir in ["class/block", "dev/block", "devices"] {
            fs::create_dir_all(root.join(dir)).expect("makes directories");
        }
        Self(root)
    }

    /// Adds a device at `devices/PATH` with its files and the links to it.
    pub(in crate::host) fn add(&self, path: &str, number: &str, files: &[(&str, &str)]) {
        let dir = self.0.join("devices").join(path);
        fs::create_dir_all(dir.join("holders")).expect("makes directories");
        fs::write(dir.join("dev"), number).expect("writes");
        for (name, content) in files {
            let file = dir.join(name);
            fs::create_dir_all(file.parent().expect("has a directory")).expect("makes directories");
            fs::write(file, format!("{content}\n")).expect("writes");
        }
        let name = Path::new(path).file_name().expect("has a name");
        symlink(&dir, self.0.join("class/block").join(name)).expect("links");
        symlink(&dir, self.0.join("dev/block").join(number)).expect("links");
    }

    fn hold(&self, path: &str, holder: &str) {
        fs::write(
            self.0
                .join("devices")
                .join(path)
                .join("holders")
                .join(holder),
            "",
        )
        .expect("writes");
    }
}

impl FakeSysfs {
    pub(in crate::host) fn sysfs(&self) -> Sysfs {
        Sysfs::at(&self.0)
    }
}

impl Drop for FakeSysfs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn number(major: u32, minor: u32) -> DeviceNumber {
    DeviceNumber { major, minor }
}

#[test]
fn facts_come_from_the_device_and_its_disk() {
    let fake = FakeSysfs::new("facts");
    fake.add(
        "sda",
        "8:0",
        &[("size", "4096"), ("device/wwid", "t10.ATA  DISK 1")],
    );
    fake.add("sda/sda2", "8:2", &[("size", "1024"), ("partition", "2")]);
    fake.add("sda/sda1", "8:1", &[("size", "2048"), ("partition", "1")]);
    fake.add("sr0", "11:0", &[("size", "0")]);
    let sysfs = fake.sysfs();
    let names: Vec<_> = sysfs
        .block_devices()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        ["sda", "sda1", "sda2"],
        "devices without a medium are left out"
    );
    let disk = sysfs.facts(number(8, 0));
    assert_eq!(disk.partitions, ["sda1", "sda2"]);
    let id = DeviceId {
        kind: "sys_wwid".into(),
        name: "t10.ATA__DISK_1".into(),
    };
    assert_eq!(disk.id, Some(id.clone()));
    assert_eq!(
        sysfs.facts(number(8, 2)).id,
        Some(id),
        "a partition has its disk's"
    );
    assert_eq!(sysfs.facts(number(9, 9)), super::BlockFacts::default());
}

#[test]
fn names_are_those_of_the_devices_file() {
    // Proves: blanks become one underline each; qemu's common name, a file that was removed, and
    // partitions of loop devices and arrays name nothing.
    let fake = FakeSysfs::new("names");
    let qemu = "t10.ATA     QEMU HARDDISK   QM00001";
    fake.add(
        "sda",
        "8:0",
        &[("device/wwid", qemu), ("device/serial", "a\tb")],
    );
    fake.add("sdb", "8:16", &[("wwid", "naa.5")]);
    fake.add("loop0", "7:0", &[("loop/backing_file", "/a  b/c'\".img")]);
    fake.add("loop0/loop0p1", "259:0", &[("partition", "1")]);
    fake.add("loop1", "7:1", &[("loop/backing_file", "/a (deleted)")]);
    fake.add("md0", "9:0", &[("md/uuid", "1:2")]);
    let sysfs = fake.sysfs();
    let id = |major, minor| {
        let id = sysfs.facts(number(major, minor)).id?;
        Some(format!("{} {}", id.kind, id.name))
    };
    assert_eq!(id(8, 0).as_deref(), Some("sys_serial a_b"));
    assert_eq!(id(8, 16).as_deref(), Some("sys_wwid naa.5"));
    assert_eq!(id(7, 0).as_deref(), Some("loop_file /a__b/c'\".img"));
    assert_eq!(id(259, 0), None);
    assert_eq!(id(7, 1), None);
    assert_eq!(id(9, 0).as_deref(), Some("md_uuid 1:2"));
}

#[test]
fn parts_of_arrays_and_multipath_devices_are_recognised() {
    let fake = FakeSysfs::new("parts");
    fake.add("sda", "8:0", &[("size", "1")]);
    fake.add("sda/sda1", "8:1", &[("size", "1"), ("partition", "1")]);
    fake.add("sdb", "8:16", &[("size", "1")]);
    fake.add("md0", "9:0", &[("size", "1"), ("md/uuid", "x")]);
    let mpath = [
        ("size", "1"),
        ("dm/uuid", "mpath-36"),
        ("dm/name", "mpatha"),
    ];
    fake.add("dm-0", "253:0", &mpath);
    fake.hold("sda", "dm-0");
    fake.hold("sdb", "md0");
    let sysfs = fake.sysfs();
    let multipath = Some(PartOf::Multipath("mpatha".into()));
    assert_eq!(sysfs.facts(number(8, 0)).part_of, multipath);
    assert_eq!(
        sysfs.facts(number(8, 1)).part_of,
        multipath,
        "its partitions are too"
    );
    assert_eq!(
        sysfs.facts(number(8, 16)).part_of,
        Some(PartOf::Md("md0".into()))
    );
    assert_eq!(sysfs.facts(number(253, 0)).part_of, None);
}

#[test]
fn logical_volumes_of_the_kernel_are_listed() {
    let fake = FakeSysfs::new("lvs");
    let (group, volume) = ("a".repeat(32), "b".repeat(32));
    let uuid = format!("LVM-{group}{volume}-real");
    fake.add(
        "dm-1",
        "253:1",
        &[("size", "1"), ("dm/uuid", &uuid), ("dm/name", "vg-lv-real")],
    );
    fake.add(
        "dm-2",
        "253:2",
        &[("size", "1"), ("dm/uuid", "LVM-short"), ("dm/name", "x")],
    );
    let sysfs = fake.sysfs();
    let lvs = sysfs.kernel_lvs();
    assert_eq!(lvs.len(), 1, "a damaged name is no volume");
    assert_eq!(lvs[0].group.as_str(), group);
    assert_eq!(lvs[0].volume.as_str(), volume);
    assert_eq!(lvs[0].layer, "real");
    let facts = sysfs.facts(number(253, 1));
    assert_eq!(
        facts.part_of,
        Some(PartOf::LogicalVolume("vg-lv-real".into()))
    );
}
