//! Fields of types of block devices, and those types: names, as in /proc/devices, that LVM2 knows.

use super::catalogue::fields;
use crate::output::Row;
use crate::output::report::{FieldKind, Value};

const TEXT: FieldKind = FieldKind::Text;

/// A type of block devices.
#[derive(Debug)]
pub(crate) struct DeviceType {
    name: &'static str,
    partitions_max: u8,
    what: &'static str,
}

fields! { FIELDS of DeviceType {
    "devtype_name" "DevType" TEXT, 0,
        |row, _| text(row, |kind| kind.name), "The name in /proc/devices.";
    "devtype_max_partitions" "MaxParts" FieldKind::Number, 0,
        |row, _| Value::number(row.device_type.map_or(0, |kind| u64::from(kind.partitions_max))),
        "The number of device numbers that are set aside for each device.";
    "devtype_description" "Description" TEXT, 0,
        |row, _| text(row, |kind| kind.what), "What such devices are.";
} }

fn text(row: &Row<'_>, read: fn(&DeviceType) -> &'static str) -> Value {
    Value::text(row.device_type.map_or("", read))
}

const fn of(name: &'static str, partitions_max: u8, what: &'static str) -> DeviceType {
    DeviceType {
        name,
        partitions_max,
        what,
    }
}

/// All of them, in stock's order.
pub(crate) const DEVICE_TYPES: &[DeviceType] = &[
    of("sd", 16, "SCSI disk"),
    of("ide", 64, "IDE disk"),
    of("md", 1, "Multiple Disk (MD/SoftRAID)"),
    of("loop", 1, "Loop device"),
    of("ramdisk", 1, "RAM disk"),
    of("device-mapper", 1, "Mapped device"),
    of("mdp", 1, "Partitionable MD"),
    of("dasd", 4, "DASD disk (IBM S/390, zSeries)"),
    of("dac960", 8, "DAC960"),
    of("nbd", 16, "Network Block Device"),
    of("ida", 16, "Compaq SMART2"),
    of("cciss", 16, "Compaq CCISS array"),
    of("ubd", 16, "User-mode virtual block device"),
    of("ataraid", 16, "ATA Raid"),
    of("drbd", 16, "Distributed Replicated Block Device (DRBD)"),
    of("rbd", 16, "Ceph rados object as a Linux block device"),
    of("emcpower", 16, "EMC Powerpath"),
    of("power2", 16, "EMC Powerpath"),
    of("i2o_block", 16, "i2o Block Disk"),
    of("iseries/vd", 8, "iSeries disks"),
    of("gnbd", 1, "Network block device"),
    of("aoe", 16, "ATA over Ethernet"),
    of("xvd", 16, "Xen virtual block device"),
    of("vdisk", 8, "SUN's LDOM virtual block device"),
    of("ps3disk", 16, "PlayStation 3 internal disk"),
    of("virtblk", 8, "VirtIO disk"),
    of("mmc", 16, "MMC block device"),
    of("blkext", 1, "Extended device partitions"),
    of("fio", 16, "Fusion IO"),
    of("mtip32xx", 16, "Micron PCIe SSD"),
    of("vtms", 16, "Violin Memory"),
    of("skd", 16, "STEC"),
    of("scm", 8, "Storage Class Memory (IBM S/390)"),
    of("bcache", 1, "bcache block device cache"),
    of("nvme", 64, "NVM Express"),
    of("zvol", 16, "ZFS Zvols"),
    of("VxDMP", 16, "Veritas Dynamic Multipathing"),
];
