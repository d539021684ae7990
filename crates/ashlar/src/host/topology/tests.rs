//! Topologies from an imitation of `/sys`.

use lvm2::Sectors;
use lvm2::plan::initialise::Topology;

use crate::host::DeviceNumber;
use crate::host::sysfs::tests::FakeSysfs;

#[test]
fn a_partition_has_what_its_disk_says() {
    // Proves: what stock aligns data to is read of disks, of partitions from the folder above.
    let fake = FakeSysfs::new("topology");
    let queue = [
        ("queue/minimum_io_size", "4096"),
        ("queue/optimal_io_size", "196608"),
        ("queue/logical_block_size", "4096"),
        ("alignment_offset", "-1"),
    ];
    fake.add("sda", "8:0", &queue);
    fake.add("sda/sda1", "8:1", &[("alignment_offset", "3584")]);
    let sysfs = fake.sysfs();
    let disk = sysfs.topology(DeviceNumber { major: 8, minor: 0 });
    let expected = (Sectors(8), Sectors(384), Sectors(0), Sectors(0));
    let all = |t: Topology| {
        (
            t.minimum_io,
            t.optimal_io,
            t.alignment_offset,
            t.md_stripe_width,
        )
    };
    assert_eq!(all(disk), expected);
    let number = DeviceNumber { major: 8, minor: 1 };
    let part = sysfs.topology(number);
    assert_eq!(
        all(part),
        (Sectors(8), Sectors(384), Sectors(7), Sectors(0))
    );
    assert_eq!(sysfs.logical_block(number), 4096);
    let nobody = DeviceNumber { major: 9, minor: 9 };
    assert_eq!(sysfs.topology(nobody), Topology::default());
    assert_eq!(sysfs.logical_block(nobody), 512);
}

#[test]
fn a_stripe_of_an_array_is_its_chunks_of_data() {
    // Proves: disks that hold parity and copies do not count.
    let fake = FakeSysfs::new("stripes");
    let width = |minor: u32, level: &str, disks: &str, layout: &str| {
        let files = [
            ("md/level", level),
            ("md/raid_disks", disks),
            ("md/chunk_size", "65536"),
            ("md/layout", layout),
        ];
        fake.add(&format!("md{minor}"), &format!("9:{minor}"), &files);
        let number = DeviceNumber { major: 9, minor };
        fake.sysfs().topology(number).md_stripe_width.0 / 128
    };
    assert_eq!(width(0, "raid0", "3", "0"), 3);
    assert_eq!(width(1, "raid5", "4", "2"), 3);
    assert_eq!(width(2, "raid6", "6", "2"), 4);
    assert_eq!(width(3, "raid10", "4", "258"), 2);
    assert_eq!(width(4, "raid1", "2", "0"), 0);
    assert_eq!(width(5, "raid6", "1", "0"), 0);
}
