//! Groups of the golden disks, taken, written and given back.

use block::{BlockingDevice, Device, Range};
use target::volume::Access;

use super::Owner;
use crate::Kind;
use crate::activate::Options;
use crate::apply::HostDisks;
use crate::host::{DeviceSource, DeviceSpec, Host};
use crate::scan;
use crate::tests::fixture::Folder;

fn disks(folder: &Folder) -> HostDisks {
    let path = folder.path("");
    HostDisks {
        source: DeviceSource::Listed(vec![DeviceSpec { path }]),
        options: scan::Options::default(),
    }
}

fn writing() -> Options {
    Options {
        access: Access::ReadWrite,
        ..Options::default()
    }
}

/// One process owns a group at a time, and what it writes is there for the next.
#[test]
fn a_group_has_one_owner() {
    let (folder, host) = (Folder::golden_whole(), Host::without_config());
    let disks = disks(&folder);
    let mut owner = Owner::take(&host, &disks, "vg0").expect("is free");
    let error = Owner::take(&host, &disks, "vg0").expect_err("is taken");
    assert_eq!(error.kind(), Kind::Locked, "{error}");
    for name in ["linear1", "mirror2"] {
        let active = owner.activate(name, writing()).expect("is served");
        let mut io = BlockingDevice::open(&active.volume).expect("opens");
        io.write_at(&[7; 4096], 8192).expect("takes writes");
    }
    let error = owner
        .activate("nothing", writing())
        .expect_err("is not there");
    assert_eq!(error.kind(), Kind::NotFound, "{error}");
    owner.close().expect("flushes");
    let mut owner = Owner::take(&host, &disks, "vg0").expect("is free again");
    for name in ["linear1", "mirror2"] {
        let active = owner.activate(name, Options::default()).expect("is served");
        assert!(active.volume.info().read_only);
        let mut io = BlockingDevice::open(&active.volume).expect("opens");
        let read = io.read(Range::new(8192, 4096)).expect("reads");
        assert_eq!(read, [7; 4096]);
    }
    owner.close().expect("has nothing to flush");
}
