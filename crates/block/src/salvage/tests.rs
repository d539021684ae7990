//! Salvages of simulated disks with blocks that cannot be read, beside what the disk holds.

use std::collections::BTreeSet;

use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use super::{Direction, Map, OnError, Options, Rescuer, Status, salvage, salvage_in_order};
use crate::sim::{Image, Random, SimDevice};
use crate::{Device, Error, Kind, Piece, Range};

const SECTOR: u64 = 512;
/// Sectors of a disk of which anything may be bad: some large reads, and room to skip.
const SECTORS: u64 = 6144;

fn nothing_lost(_: Range) -> Vec<Range> {
    Vec::new()
}

fn go_on(retries: u32) -> Options<'static> {
    Options {
        on_error: OnError::GoOn { retries },
        direction: Direction::Forward,
        lost: &nothing_lost,
    }
}

/// A copy in memory that is interrupted when it was looked at so many times.
struct Copy {
    bytes: Vec<u8>,
    looks_left: u64,
    /// The next byte of what must come in order.
    next: Option<u64>,
}

impl Copy {
    /// What is never written stays as it is here.
    fn new(size: u64) -> Self {
        Self {
            bytes: vec![0xee; size as usize],
            looks_left: u64::MAX,
            next: None,
        }
    }
}

#[derive(Debug)]
enum Ended {
    Interrupted,
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Rescuer for Copy {
    type Error = Ended;

    fn store(&mut self, start: u64, piece: Piece<'_>) -> Result<(), Ended> {
        let len = match piece {
            Piece::Data(bytes) => {
                self.bytes[start as usize..][..bytes.len()].copy_from_slice(bytes);
                bytes.len() as u64
            }
            Piece::Zeroes(len) => {
                self.bytes[start as usize..][..len as usize].fill(0);
                len
            }
        };
        if let Some(next) = &mut self.next {
            assert_eq!(*next, start, "in order");
            *next += len;
        }
        Ok(())
    }

    fn look(&mut self, _: &Map) -> Result<(), Ended> {
        self.looks_left = self.looks_left.checked_sub(1).ok_or(Ended::Interrupted)?;
        Ok(())
    }
}

/// A disk of so many sectors without zeros, of which these cannot be read.
fn disk(sectors: u64, physical: u64, bad: &BTreeSet<u64>) -> (SimDevice, Vec<u8>) {
    let size = sectors * SECTOR;
    let bytes: Vec<u8> = (0..size).map(|at| (at % 239) as u8 + 1).collect();
    let image = Image::from_bytes(&bytes);
    let device = SimDevice::with_blocks(image, SECTOR as u32, physical as u32);
    device.disk().faults_mut().unreadable =
        bad.iter().copied().filter(|at| *at < sectors).collect();
    (device, bytes)
}

/// What a map has to say in the end, and the bytes, with `else_` for what cannot be read.
fn expected(bytes: &[u8], physical: u64, bad: &BTreeSet<u64>, else_: u8) -> (Map, Vec<u8>) {
    let size = bytes.len() as u64;
    let mut map = Map::new(size);
    map.set(Range::new(0, size), Status::Finished);
    let mut bytes = bytes.to_vec();
    for sector in bad {
        let start = sector * SECTOR / physical * physical;
        let end = (start + physical).min(size);
        if start < end {
            map.set(Range::new(start, end - start), Status::Bad);
            bytes[start as usize..end as usize].fill(else_);
        }
    }
    map.phase = Status::Finished;
    (map, bytes)
}

/// Sets of bad sectors: runs near each other and far from each other, on a disk of 3 MiB.
fn bad_sectors() -> impl Strategy<Value = BTreeSet<u64>> {
    let runs = proptest::collection::vec((0..SECTORS, 1..30_u64), 0..8);
    runs.prop_map(|runs| {
        let sectors = runs
            .into_iter()
            .flat_map(|(first, count)| first..first + count);
        sectors.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Whatever cannot be read, everything else is copied, and the map says exactly what is not;
    /// interrupted anywhere and gone on with from the map's text, the same comes out.
    #[test]
    fn everything_readable_is_read(
        bad in bad_sectors(),
        physical in prop_oneof![Just(512_u64), Just(4096)],
        reverse in any::<bool>(),
        retries in 0..3_u32,
        seed in any::<u64>(),
    ) {
        let (device, bytes) = disk(SECTORS, physical, &bad);
        let (wanted, content) = expected(&bytes, physical, &bad, 0xee);
        let direction = if reverse { Direction::Reverse } else { Direction::Forward };
        let options = Options { direction, ..go_on(retries) };
        let (mut map, mut copy) = (Map::new(device.info().size), Copy::new(device.info().size));
        salvage(&device, &mut map, options, &mut copy).expect("goes on");
        prop_assert_eq!(&map, &wanted);
        prop_assert!(copy.bytes == content);

        // Blocks that failed are not tried again, which would take longer than an interruption.
        let options = Options { direction, ..go_on(0) };
        let mut random = Random::new(seed);
        let (mut map, mut copy) = (Map::new(device.info().size), Copy::new(device.info().size));
        loop {
            copy.looks_left = 1 + random.below(200);
            let ended = salvage(&device, &mut map, options, &mut copy);
            let mut text = Vec::new();
            map.write(&["a comment".to_owned()], &mut text).expect("memory");
            map = Map::parse(std::str::from_utf8(&text).expect("text")).expect("a map");
            match ended {
                Ok(()) => break,
                Err(Ended::Interrupted) => {}
                Err(Ended::Failed(error)) => panic!("{error}"),
            }
        }
        prop_assert_eq!(&map, &wanted);
        prop_assert!(copy.bytes == content);
    }

    /// In order the same is read, and what is not are zeros.
    #[test]
    fn a_stream_has_zeros_for_what_is_not(bad in bad_sectors(), retries in 0..2_u32) {
        let (device, bytes) = disk(SECTORS, SECTOR, &bad);
        let (wanted, content) = expected(&bytes, SECTOR, &bad, 0);
        let (mut map, mut copy) = (Map::new(device.info().size), Copy::new(device.info().size));
        copy.next = Some(0);
        salvage_in_order(&device, &mut map, go_on(retries), &mut copy).expect("goes on");
        prop_assert_eq!(&map, &wanted);
        prop_assert!(copy.bytes == content);
        prop_assert_eq!(copy.next, Some(device.info().size));
    }

}

#[test]
fn what_is_lost_is_not_tried() {
    // Proves: ranges that are known to be lost stay untried, cost no read, are zeros in a stream,
    // and are read by the next salvage, when they are there again.
    let (device, bytes) = disk(16_384, SECTOR, &BTreeSet::from([3, 9000]));
    let size = device.info().size;
    let gone = Range::new(4 << 20, 1 << 20);
    let lost = move |range: Range| gone.intersection(range).into_iter().collect();
    let options = Options {
        lost: &lost,
        ..go_on(0)
    };
    device.disk().faults_mut().unreadable.extend(8192..10_240);
    let (mut map, mut copy) = (Map::new(size), Copy::new(size));
    salvage(&device, &mut map, options, &mut copy).expect("goes on");
    assert_eq!(map.next(Status::NonTried, 0), Some(gone));
    assert_eq!(map.bytes(Status::NonTried), gone.len());
    assert_eq!(map.bytes(Status::Bad), SECTOR);
    let (mut streamed, mut stream) = (Map::new(size), Copy::new(size));
    stream.next = Some(0);
    salvage_in_order(&device, &mut streamed, options, &mut stream).expect("goes on");
    assert_eq!(streamed, map);
    assert!(stream.bytes[4 << 20..5 << 20].iter().all(|byte| *byte == 0));

    let bad = BTreeSet::from([3, 9000]);
    device.disk().faults_mut().unreadable = bad.clone();
    salvage(&device, &mut map, go_on(0), &mut copy).expect("goes on");
    let (wanted, content) = expected(&bytes, SECTOR, &bad, 0xee);
    assert_eq!(map, wanted);
    assert!(copy.bytes == content);
}

#[test]
fn sectors_that_come_back_are_read_by_a_retry() {
    // Proves: without a retry what failed stays as it is, with one it is read again.
    let (device, bytes) = disk(4096, SECTOR, &BTreeSet::from([100, 101, 500]));
    let size = device.info().size;
    let (mut map, mut copy) = (Map::new(size), Copy::new(size));
    salvage(&device, &mut map, go_on(1), &mut copy).expect("goes on");
    assert_eq!(map.bytes(Status::Bad), 3 * SECTOR);
    device.disk().faults_mut().unreadable.clear();
    salvage(&device, &mut map, go_on(0), &mut copy).expect("goes on");
    assert_eq!(map.bytes(Status::Bad), 3 * SECTOR);
    salvage(&device, &mut map, go_on(1), &mut copy).expect("goes on");
    assert_eq!(map.bytes(Status::Finished), size);
    assert!(copy.bytes == bytes);
}

/// A copy that is interrupted as soon as the last byte is there.
struct UntilLast<'a>(&'a mut Copy);

impl Rescuer for UntilLast<'_> {
    type Error = Ended;

    fn store(&mut self, start: u64, piece: Piece<'_>) -> Result<(), Ended> {
        self.0.store(start, piece)
    }

    fn look(&mut self, map: &Map) -> Result<(), Ended> {
        let last = map.previous(Status::Finished, map.size());
        if last.is_some_and(|run| run.end() == map.size()) {
            return Err(Ended::Interrupted);
        }
        Ok(())
    }
}

#[test]
fn bad_places_are_left_for_later() {
    // Proves: behind a failure the rest of the disk is read before what is near it; bad places all
    // over a disk leave nothing untried in the end.
    let bad: BTreeSet<u64> = (2048..16_384).collect();
    let (device, _) = disk(65_536, SECTOR, &bad);
    let size = device.info().size;
    let (mut map, mut copy) = (Map::new(size), Copy::new(size));
    let ended = salvage(&device, &mut map, go_on(0), &mut UntilLast(&mut copy));
    assert!(matches!(ended, Err(Ended::Interrupted)));
    assert!(map.bytes(Status::NonTrimmed) > 0);
    assert_eq!(map.bytes(Status::Bad), 0);
    // What lies behind the failure was skipped, and another pass reads all of it.
    assert!(map.bytes(Status::NonTried) > 0, "{map:?}");
    let everywhere: BTreeSet<u64> = (0..65_536).step_by(512).collect();
    let (device, bytes) = disk(65_536, SECTOR, &everywhere);
    let (mut map, mut copy) = (Map::new(size), Copy::new(size));
    salvage(&device, &mut map, go_on(0), &mut copy).expect("goes on");
    assert_eq!(map, expected(&bytes, SECTOR, &everywhere, 0xee).0);
}

#[test]
fn an_error_that_is_not_the_mediums_ends_it() {
    // Proves: a disk that is gone is not taken for unreadable, and without going on the first
    // sector that cannot be read ends it; the map knows what was read before.
    let (device, _) = disk(16_384, SECTOR, &BTreeSet::from([12_000]));
    let size = device.info().size;
    let (mut map, mut copy) = (Map::new(size), Copy::new(size));
    let stop = Options {
        on_error: OnError::Stop,
        ..go_on(0)
    };
    let ended = salvage(&device, &mut map, stop, &mut copy);
    assert!(matches!(ended, Err(Ended::Failed(error)) if error.kind() == Kind::Io));
    assert!(map.bytes(Status::Finished) > 0);
    device.disk().vanish();
    let ended = salvage(&device, &mut map, go_on(0), &mut copy);
    assert!(matches!(ended, Err(Ended::Failed(error)) if error.kind() == Kind::Gone));
    assert_eq!(map.bytes(Status::Bad), 0);
}
