//! Arrays whose legs do not go together are repaired, and nothing else of them is written.

use std::sync::Arc;
use std::time::{Duration, Instant};

use block::memory::MemoryDevice;
use block::sim::{Image, SimDevice};
use block::{Access, BlockingDevice, Device, Range};

use super::alive::assert_redundant;
use super::made::{CHUNK, Made, REGION};
use super::{LIMIT, assert_reads, losses, schemes};
use crate::raid::{ArrayConfig, Control, Parity, Scheme};

const SECTOR: u64 = 512;

fn writable(made: &Made) -> ArrayConfig {
    ArrayConfig {
        access: Access::ReadWrite,
        ..made.config()
    }
}

/// All that is kept in sync.
fn everything(made: &Made) -> Vec<Range> {
    let config = made.config();
    let geometry = config.geometry();
    let size = match geometry.scheme() {
        Scheme::Parity(..) => geometry.leg_size(),
        Scheme::Mirror | Scheme::Copies(_) => geometry.size(),
    };
    vec![Range::new(0, size)]
}

/// Where of a leg something is wrong: single bytes, whole sectors, and two in one chunk.
fn damage(made: &mut Made, leg: usize) {
    let chunk = CHUNK as usize;
    for at in [100, 3 * chunk + 7, 3 * chunk + 2048, 9 * chunk + 4095] {
        made.data[leg][at] ^= 0x41;
    }
    for byte in &mut made.data[leg][6 * chunk + 512..6 * chunk + 1536] {
        *byte ^= 0x2b;
    }
}

/// Where it can be known which leg is wrong nothing is lost; elsewhere what data say, or the first
/// copy, is what the array holds from then on, without any legs that it may lose.
#[test]
fn what_does_not_go_together_is_made_to() {
    for (scheme, legs) in schemes() {
        for leg in 0..legs {
            let what = format!("{scheme:?} of {legs}, leg {leg} is wrong");
            let mut made = Made::new(scheme, legs);
            damage(&mut made, leg);
            let devices = made.legs();
            let home = Made::start(&writable(&made), devices.clone()).expect("it starts");
            let order = Control::Repair(everything(&made));
            home.control(order, LIMIT)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let mut io = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
            io.flush().expect("it is durable");
            let size = made.content.len() as u64;
            let read = io.read(Range::new(0, size)).expect("it is read");
            let is_known = match scheme {
                Scheme::Parity(parity, _) => parity == Parity::Two,
                Scheme::Mirror => legs > 2,
                Scheme::Copies(copies) => copies.near * copies.far > 2,
            };
            if is_known {
                assert!(read == made.content, "{what}: something is lost");
            } else {
                // Data, or the first copy, are as they were: right, or wrong.
                let geometry = *made.config().geometry();
                for (at, byte) in read.iter().enumerate() {
                    let spot = geometry.spot(at as u64, 0);
                    assert_eq!(*byte, made.data[spot.leg][spot.start as usize], "{what}");
                }
            }
            drop((io, home));
            made.content = read;
            let lost = losses(legs, scheme.redundancy(legs).min(2));
            assert_redundant(&made, &devices, &lost, &what);
        }
    }
}

/// What goes together is read, and not written: the legs are as they were.
#[test]
fn what_goes_together_is_left_alone() {
    for (scheme, legs) in schemes() {
        let made = Made::new(scheme, legs);
        let devices = made.legs();
        let home = Made::start(&writable(&made), devices.clone()).expect("it starts");
        home.control(Control::Repair(everything(&made)), LIMIT)
            .expect("it is whole");
        drop(home);
        for (leg, device) in devices.iter().step_by(2).enumerate() {
            let mut io = BlockingDevice::open(&**device).expect("it opens");
            let bytes = io.read(Range::new(0, made.data[leg].len() as u64));
            assert!(
                bytes.expect("it is read") == made.data[leg],
                "{scheme:?}: leg {leg}"
            );
        }
    }
}

/// Nothing is repaired without a leg, of an array that is only read, or behind its end; and what is
/// ordered of an array that becomes another one is refused or done, and not forgotten.
#[test]
fn what_cannot_be_repaired_is_refused() {
    let made = Made::new(Scheme::Mirror, 3);
    let devices = made.legs();
    let refused = |config: &ArrayConfig, places: Vec<Range>| {
        let home = Made::start(config, devices.clone()).expect("it starts");
        let error = home.control(Control::Repair(places), LIMIT);
        let error = error.expect_err("it is refused").to_string();
        assert_reads(&made, &home, &error);
        error
    };
    let error = refused(&made.config(), everything(&made));
    assert!(error.contains("only read"), "{error}");
    let error = refused(&writable(&made), vec![Range::new(0, 1 << 40)]);
    assert!(error.contains("behind its end"), "{error}");
    let mut without = writable(&made);
    without.legs[1].data = None;
    without.legs[1].meta = None;
    let error = refused(&without, everything(&made));
    assert!(error.contains("a leg is missing"), "{error}");
    let home = Made::start(&writable(&made), devices.clone()).expect("it starts");
    home.control(Control::Repair(Vec::new()), LIMIT)
        .expect("nothing is to be done");
}

/// A leg that holds nothing of it gets all that the first one says.
#[test]
fn an_empty_leg_is_written_anew() {
    let made = Made::new(Scheme::Mirror, 2);
    let devices: Vec<Arc<dyn Device>> = made.legs();
    let empty = vec![0; devices[2].info().size as usize];
    let mut devices = devices;
    devices[2] = Arc::new(MemoryDevice::from_bytes("empty", empty));
    let home = Made::start(&writable(&made), devices.clone()).expect("it starts");
    home.control(Control::Repair(everything(&made)), LIMIT)
        .expect("the first copy counts");
    drop(home);
    let all = losses(2, 1);
    assert_redundant(&made, &devices, &all, "a mirror with an empty leg");
}

/// Copies whose legs have places that cannot be read, each leg others.
fn with_bad_places(
    made: &Made,
    places: [&[u64]; 2],
) -> (Vec<Arc<dyn Device>>, Vec<Arc<SimDevice>>) {
    let (mut devices, mut disks) = (made.legs(), Vec::new());
    for (leg, places) in places.into_iter().enumerate() {
        let disk = SimDevice::of_image("leg", Image::from_bytes(&made.data[leg]));
        disk.disk().faults_mut().unreadable.extend(places);
        let disk = Arc::new(disk);
        devices[2 * leg] = Arc::clone(&disk) as Arc<dyn Device>;
        disks.push(disk);
    }
    (devices, disks)
}

fn left(disk: &SimDevice) -> usize {
    disk.disk().faults_mut().unreadable.len()
}

/// All that a leg could not give of a long read is written anew, not only its first piece.
#[test]
fn what_cannot_be_read_is_written_anew() {
    let made = Made::new(Scheme::Mirror, 2);
    let size = made.content.len() as u64;
    let last = size / SECTOR - 1;
    let (devices, disks) = with_bad_places(&made, [&[3, last / 2, last], &[]]);
    let home = Made::start(&writable(&made), devices).expect("it starts");
    assert!(size > 2 * REGION, "it is of several pieces");
    let mut io = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
    let end = Instant::now() + LIMIT;
    let read = io.read(Range::new(0, size)).expect("the other leg has it");
    assert!(read == made.content);
    while left(&disks[0]) > 0 {
        assert!(Instant::now() < end, "{} are left", left(&disks[0]));
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Where no leg can be read as a whole, each piece is repaired from the one that has it.
#[test]
fn bad_places_of_all_legs_are_repaired() {
    let made = Made::new(Scheme::Mirror, 2);
    let repair = |places: [&[u64]; 2]| {
        let (devices, disks) = with_bad_places(&made, places);
        let home = Made::start(&writable(&made), devices).expect("it starts");
        let repaired = home.control(Control::Repair(everything(&made)), LIMIT);
        if repaired.is_ok() {
            assert_reads(&made, &home, "repaired");
        }
        repaired.map(|()| [left(&disks[0]), left(&disks[1])])
    };
    let left = repair([&[3, 40], &[9, 17]]);
    assert_eq!(left.expect("each piece is on one leg"), [0, 0]);
    assert!(repair([&[3], &[3]]).is_err(), "nobody has it");
}
