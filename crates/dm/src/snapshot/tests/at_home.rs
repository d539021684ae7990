//! An origin at home, on devices of its own.

use std::sync::Arc;
use std::time::Duration;

use block::sim::{Image, SimDevice};
use block::{BlockingDevice, Device, Range};

use super::hand::{CHUNK, SIZE, config, snapshot};
use crate::home::Home;
use crate::snapshot::{Origin, SnapshotState};

const LIMIT: Duration = Duration::from_secs(10);

fn open(home: &Home<Origin>, face: usize) -> BlockingDevice {
    BlockingDevice::open(&home.face(face).expect("it is there")).expect("opens")
}

fn device(size: u64) -> Arc<dyn Device> {
    Arc::new(SimDevice::of_image("disk", Image::new(size)))
}

/// Faces are devices; a snapshot is added while they are used, and merged back.
#[test]
fn faces_are_devices() {
    let legs: Vec<_> = [SIZE, 80 * CHUNK, 80 * CHUNK].map(device).into();
    let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
    let origin = Origin::new(config(1), &infos).unwrap();
    let home = Home::start("origin", origin, legs.clone(), LIMIT).unwrap();
    let (mut face, mut old) = (open(&home, 0), open(&home, 1));
    face.write_at(&[1; 4096], 0).unwrap();
    let mut two = config(2);
    two.snapshots[1] = Some(snapshot(2));
    let prepared = home.prepare(two.clone(), legs.clone(), LIMIT).unwrap();
    home.suspend(LIMIT).unwrap();
    let home = prepared.reload(LIMIT).unwrap();
    home.resume().unwrap();
    face.write_at(&[2; 4096], 2048).unwrap();
    let mut new = open(&home, 2);
    new.write_at(&[3; 512], 512).unwrap();
    let seen = |device: &mut BlockingDevice| {
        let bytes = device.read(Range::new(0, 8192)).unwrap();
        [0, 512, 2048, 4096].map(|at: usize| bytes[at])
    };
    assert_eq!(seen(&mut face), [1, 1, 2, 2]);
    assert_eq!(seen(&mut old), [0; 4]);
    assert_eq!(seen(&mut new), [1, 3, 1, 0]);
    two.snapshots[1].as_mut().unwrap().merging = true;
    let prepared = home.prepare(two, legs, LIMIT).unwrap();
    home.suspend(LIMIT).unwrap();
    let home = prepared.reload(LIMIT).unwrap();
    home.resume().unwrap();
    let begun = std::time::Instant::now();
    loop {
        let status = home.status(LIMIT).unwrap().snapshots[1].unwrap();
        assert_eq!(status.state, SnapshotState::Merging);
        assert!(begun.elapsed() < LIMIT, "it ends");
        if status.exceptions == 0 {
            break;
        }
    }
    assert_eq!(seen(&mut face), [1, 3, 1, 0]);
    assert_eq!(seen(&mut old), [0; 4]);
    assert!(
        new.read(Range::new(0, 512)).is_err(),
        "it has no face any more"
    );
}
