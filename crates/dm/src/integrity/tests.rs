//! Devices with checksums in memory, made naively; then whatever may be wrong with them.

mod made;

use block::sim::Random;
use block::{BlockingDevice, Range};

use super::tests::made::{BLOCKS, Made, State};
use super::{Discards, Superblock};

const SIZES: [u32; 4] = [512, 1024, 2048, 4096];

fn open(made: &Made) -> BlockingDevice {
    let home = made.home().expect("it starts");
    BlockingDevice::open(&home.face(0).expect("its only one")).expect("it opens")
}

/// What is right is read, in any pieces, in each state that a device can be left in: at rest, with
/// blocks in its journal, with bits set, with checksums half computed, never used.
#[test]
fn what_is_right_is_read() {
    for block in SIZES {
        for state in Made::states() {
            let made = Made::new(block, state);
            let mut device = open(&made);
            assert_eq!(device.info().logical_block, block);
            let mut random = Random::new(u64::from(block));
            let mut ranges = vec![(0, BLOCKS)];
            ranges.extend((0..40).map(|_| {
                let first = random.below(BLOCKS);
                (first, 1 + random.below(BLOCKS - first))
            }));
            for (first, count) in ranges {
                let range = Range::new(first * u64::from(block), count * u64::from(block));
                let read = device
                    .read(range)
                    .unwrap_or_else(|error| panic!("{state:?}: {error}"));
                let expected = &made.content[range.start() as usize..range.end() as usize];
                assert!(read == expected, "{state:?}: {range:?} of {block}");
            }
        }
    }
}

/// Each block that is not what its checksum says is an error that names it, alone and among others,
/// and no other one is; nothing is said where there is no checksum.
#[test]
fn what_is_wrong_is_an_error() {
    for state in Made::states() {
        let mut made = Made::new(1024, state);
        let wrong = [0, 7, 30, BLOCKS - 1];
        for block in wrong {
            made.data[(block * 1024 + 5) as usize] ^= 4;
        }
        let home = made.home().expect("it starts");
        let mut device = BlockingDevice::open(&home.face(0).expect("one")).expect("it opens");
        let mut told = 0;
        for block in 0..BLOCKS {
            let read = device.read(Range::new(block * 1024, 1024));
            let is_expected = wrong.contains(&block) && made.has_checksum(block);
            assert_eq!(read.is_err(), is_expected, "{state:?}: block {block}");
            let Err(error) = read else {
                continue;
            };
            told += 1;
            let place = format!("the first at byte {}", block * 1024);
            assert!(error.to_string().contains(&place), "{error}");
        }
        let status = home.status(made::LIMIT).expect("it runs");
        assert_eq!(status.mismatches, told, "{state:?}");
        let lacking = (0..BLOCKS).filter(|block| !made.is_checked(*block)).count() as u64;
        assert_eq!(status.unchecked, lacking * 1024, "{state:?}");
        if told > 1 {
            assert!(device.read(Range::new(0, BLOCKS * 1024)).is_err());
        }
    }
}

/// A checksum that is wrong itself, one of another place, and data of another place are errors,
/// too; filler is one unless blocks may be discarded.
#[test]
fn checksums_are_of_their_place() {
    let change = |change: fn(&mut Made)| {
        let mut made = Made::new(512, State::Clean);
        change(&mut made);
        open(&made).read(Range::new(1024, 512)).is_ok()
    };
    assert!(change(|_| {}));
    assert!(!change(|made| {
        let at = made.tag_start(2);
        made.metadata[at] ^= 1;
    }));
    assert!(!change(|made| {
        let (from, to) = (made.tag_start(3), made.tag_start(2));
        made.metadata.copy_within(from..from + 4, to);
    }));
    assert!(!change(|made| {
        let (from, to) = (made.tag_start(3), made.tag_start(2));
        made.metadata.copy_within(from..from + 4, to);
        made.data.copy_within(1536..2048, 1024);
    }));
    assert!(!change(|made| {
        let at = made.tag_start(2);
        made.metadata[at..at + 4].fill(0xf6);
    }));
    assert!(change(|made| {
        let at = made.tag_start(2);
        made.metadata[at..at + 4].fill(0xf6);
        made.discards = Discards::Allowed;
    }));
}

/// It is only read: writes are refused, and nothing on its legs has changed afterwards.
#[test]
fn nothing_is_changed() {
    for state in Made::states() {
        let made = Made::new(512, state);
        let (home, legs) = made.home_and_legs();
        let mut device = BlockingDevice::open(&home.face(0).expect("one")).expect("it opens");
        assert!(device.info().read_only);
        assert!(device.write_at(&[1; 512], 0).is_err());
        assert!(device.read(Range::new(0, 512 * BLOCKS)).is_ok());
        assert!(device.flush().is_ok());
        drop((device, home));
        assert!(legs[0].snapshot() == made.data && legs[1].snapshot() == made.metadata);
    }
}

/// Metadata of which any bytes are others: it starts or says why not, every block is what it was,
/// an error, or what lies on its place; and nothing else happens.
#[test]
fn hostile_metadata_are_survived() {
    let mut random = Random::new(99);
    let (mut started, mut refused) = (0, 0);
    for round in 0..300 {
        let states = Made::states();
        let state = states[random.below(states.len() as u64) as usize];
        let mut made = Made::new(SIZES[round % 4], state);
        for _ in 0..=random.below(3) {
            let near = [
                64,
                Superblock::LEN as u64 + 4096,
                made.metadata.len() as u64,
            ];
            let near = near[random.below(3) as usize];
            let at = random.below(near) as usize;
            made.metadata[at] = random.number() as u8;
        }
        let Ok(home) = made.home() else {
            refused += 1;
            continue;
        };
        started += 1;
        let mut device = BlockingDevice::open(&home.face(0).expect("one")).expect("it opens");
        let len = u64::from(made.block);
        for block in 0..BLOCKS {
            let bytes = block as usize * len as usize..(block + 1) as usize * len as usize;
            if let Ok(read) = device.read(Range::new(block * len, len)) {
                let is_known = read == made.content[bytes.clone()] || read == made.data[bytes];
                assert!(is_known, "{state:?}: block {block}");
            }
        }
    }
    assert!(
        started > 50 && refused > 50,
        "{started} started, {refused} did not"
    );
}

/// Legs that cannot hold it are refused before anything is read.
#[test]
fn legs_have_to_suffice() {
    let made = Made::new(4096, State::Clean);
    for change in [
        (|made: &mut Made| made.data.truncate(2048)) as fn(&mut Made),
        |made| made.metadata.truncate(2048),
        |made| made.block = 8192,
        |made| made.block = 768,
    ] {
        let mut other = made.clone();
        change(&mut other);
        assert!(other.home().is_err());
    }
    let mut other = made;
    // The superblock says 4096.
    other.block = 512;
    let error = other.home().err().expect("it does not fit").to_string();
    assert!(error.contains("4096 bytes, and 512"), "{error}");
}
