//! What must not be used is not, whatever people agree to.

use dm::raid::FirstSync;
use dm::raid::md::Place;
use lvm2::Bytes;

use super::{Held, NewArray, NewBitmap, Shape, create, held};
use crate::Kind;
use crate::host::Location;
use crate::scan::{Content, DeviceIndex, FoundDevice, Scan};

const SIZE: u64 = 8 << 20;

/// A disk of zeros, of which a scan said this.
fn scan(name: &str, content: Content) -> (Scan, std::path::PathBuf) {
    let name = format!("ashlar-md-{name}-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, vec![0; SIZE as usize]).expect("a file");
    let mut scan = Scan::default();
    scan.devices.push(FoundDevice {
        name: path.display().to_string(),
        location: Location::whole(&path),
        size: Bytes(SIZE),
        number: None,
        id: None,
        content,
    });
    (scan, path)
}

fn new() -> NewArray {
    NewArray {
        place: Place::SecondBlock,
        uuid: [3; 16],
        name: "new".into(),
        created: 1_800_000_000,
        shape: Shape {
            level: 1,
            layout: None,
            chunk: 0,
        },
        legs: 1,
        first: FirstSync::Assumed,
        bitmap: NewBitmap::Internal(None),
    }
}

/// A leg of an array that the kernel runs is skipped by scans; it is not written, also by force.
#[test]
fn what_the_kernel_runs_is_left_alone() {
    let running = "it is part of the running array /dev/md0".to_owned();
    let (found, path) = scan("running", Content::Skipped(running.clone()));
    let device = DeviceIndex(0);
    assert_eq!(
        held(&found, device).expect("it is known"),
        Held::Unusable(running)
    );
    let error = create(&found, &[device], &new()).expect_err("it is in use");
    assert_eq!(error.kind(), Kind::Refused);
    assert!(error.to_string().contains("/dev/md0"), "{error}");
    let bytes = std::fs::read(&path).expect("a file");
    assert!(bytes.iter().all(|byte| *byte == 0), "nothing was written");
    std::fs::remove_file(path).expect("a file");
}

/// A device that holds nothing is used, and then holds something.
#[test]
fn what_devices_hold_is_known() {
    let (found, path) = scan("known", Content::Other);
    let device = DeviceIndex(0);
    assert_eq!(held(&found, device).expect("it can be read"), Held::Nothing);
    create(&found, &[device], &new()).expect("it is free");
    let what = held(&found, device).expect("it can be read");
    assert_eq!(
        what,
        Held::Something("linux_raid_member at byte 4096".into())
    );
    std::fs::remove_file(path).expect("a file");
}
