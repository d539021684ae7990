//! The journal against a plain array, and servers that crash, forget, change, and keep silent.

use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::{Strategy, any, prop, proptest};

use super::ReconnectingDevice;
use super::journal::{Content, Journal};
use crate::client::Address;
use crate::client::fake::{Disk, Fake, PATIENCE, SIZE, USUAL, finish};
use crate::wire::constants::{FLAG_CAN_MULTI_CONN, FLAG_READ_ONLY, FLAG_SEND_FLUSH};
use block::{
    BlockingDevice, Buffer, Device, Driver, Durability, Error, ExtentKind, Kind, Operation, Queue,
    Range, Request, Unmap,
};

/// For tests in which it passes: longer than a living server's thread waits for its turn on a
/// machine that has much else to do.
const AWAY_MAX: Duration = Duration::from_secs(2);

fn error_of(result: block::Result<()>, words: &str) -> Error {
    let error = result.expect_err(words);
    assert!(error.to_string().contains(words), "{error}");
    error
}

/// Writes `count` pieces of 1 MiB, each full of its number, and waits for all.
fn write_pieces(queue: &mut dyn Queue, driver: &Driver, count: u64) {
    for index in 0..count {
        let mut data = Buffer::zeroed(1 << 20);
        data.fill(index as u8);
        let (start, volatile) = (index << 20, Durability::Volatile);
        queue.submit(Request::write(index, start, volatile, data));
    }
    for answer in finish(queue, driver, count as usize) {
        answer.result.unwrap();
        assert_eq!(answer.buffer.len(), 1 << 20);
    }
}

/// The medium has all of them.
fn assert_pieces(fake: &Fake, count: u64) {
    let disk = fake.lock();
    assert_eq!(disk.medium.len() as u64, count << 20);
    for (index, piece) in disk.medium.chunks(1 << 20).enumerate() {
        assert!(
            piece.iter().all(|byte| *byte == index as u8),
            "piece {index}"
        );
    }
}

/// The next number of a sequence that looks random.
fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    *state >> 33
}

/// Whenever a server crashes and forgets its cache, each flush that succeeds finds everything
/// that was acknowledged before it on the medium, and reads give the newest data.
#[test]
fn no_acknowledged_write_is_lost_under_a_flush() {
    for seed in 1..=12_u64 {
        let fake = Fake::start(USUAL);
        let device = fake.open(PATIENCE);
        let driver = Driver::new().unwrap();
        let mut queue = device.open_queue(&driver).unwrap();
        let mut state = seed;
        let mut model = vec![0_u8; SIZE as usize];
        let mut losses = 0;
        for round in 0..40_u64 {
            if random(&mut state).is_multiple_of(3) {
                fake.lock().crash_after = Some(random(&mut state) % 24);
                losses += 1;
            }
            // Places that do not overlap, several in flight.
            let first = random(&mut state) % 1000;
            for index in 0..16_u64 {
                let at = (first + index * 17) % 1024 * 1024;
                let fill = (round * 16 + index) as u8 | 1;
                let kind = random(&mut state) % 8;
                let range = at as usize..at as usize + 1024;
                let mut request = Request::write(index, at, Durability::Volatile, {
                    let mut buffer = Buffer::zeroed(1024);
                    buffer.fill(fill);
                    buffer
                });
                match kind {
                    0 => request.durability = Durability::Fua,
                    1 => {
                        let zeroes = Operation::WriteZeroes(Unmap::Allowed);
                        request = Request::bare(index, zeroes, Range::new(at, 1024));
                    }
                    _ => {}
                }
                model[range].fill(if kind == 1 { 0 } else { fill });
                queue.submit(request);
            }
            for answer in finish(&mut *queue, &driver, 16) {
                answer.result.unwrap();
            }
            if random(&mut state).is_multiple_of(2) {
                queue.submit(Request::flush(0));
                finish(&mut *queue, &driver, 1).remove(0).result.unwrap();
                let disk = fake.lock();
                assert!(
                    disk.medium == model,
                    "seed {seed}, round {round}: a write is lost"
                );
            }
            let at = random(&mut state) % 1024 * 1024;
            queue.submit(Request::read(0, at, Buffer::zeroed(1024)));
            let read = finish(&mut *queue, &driver, 1).remove(0);
            read.result.unwrap();
            assert_eq!(read.buffer[..], model[at as usize..at as usize + 1024]);
        }
        assert!(losses > 3, "crashes were planned");
    }
}

/// The server of these tests does lose what was not flushed: without the journal, the test above
/// would find it.
#[test]
fn the_server_of_these_tests_forgets() {
    let fake = Fake::start(USUAL);
    let device = fake.open(PATIENCE);
    let mut io = BlockingDevice::open(&device).unwrap();
    io.write_at(&[7; 512], 0).unwrap();
    assert_eq!(fake.lock().read(0, 1), [7]);
    fake.kill();
    assert_eq!(fake.lock().read(0, 1), [0], "forgotten");
    fake.listen();
    io.flush().unwrap();
    assert_eq!(fake.lock().medium[..512], [7; 512], "written again");
    assert_eq!(fake.lock().write_count, 2);
}

/// Where no second connection is to be had, everything counts as data, and can be read.
#[test]
fn extents_are_no_reason_to_fail() {
    let fake = Fake::start(USUAL | FLAG_CAN_MULTI_CONN);
    let device = fake.open(PATIENCE);
    std::fs::remove_file(&fake.path).unwrap();
    let extents = device.extents(Range::new(0, 8192), 9).unwrap();
    let kinds: Vec<_> = extents.iter().map(|one| (one.len, one.kind)).collect();
    assert_eq!(kinds, [(8192, ExtentKind::Data)]);
    let mut io = BlockingDevice::open(&device).unwrap();
    io.read_at(&mut [0; 512], 0).unwrap();
}

/// Requests wait for a server that is away, fail after the limit, and go on when it is back; what
/// was acknowledged before is not forgotten meanwhile.
#[test]
fn a_server_may_be_away_for_a_time() {
    let fake = Fake::start(USUAL);
    let device = fake.open(AWAY_MAX);
    let mut io = BlockingDevice::open(&device).unwrap();
    io.write_at(&[9; 512], 512).unwrap();
    fake.kill();
    let began = Instant::now();
    let error = error_of(io.flush(), "has been away for");
    assert_eq!(error.kind(), Kind::Gone);
    assert!(error.to_string().contains("start it again"), "{error}");
    assert!(began.elapsed() >= AWAY_MAX);
    // At once now.
    error_of(io.read_at(&mut [0; 512], 0), "has been away for");
    fake.listen();
    let end = Instant::now() + PATIENCE;
    while io.flush().is_err() {
        assert!(Instant::now() < end, "the server is asked again");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(fake.lock().medium[512..1024], [9; 512]);
}

/// What comes back changed is not used.
#[test]
fn a_changed_export_is_refused() {
    type Change = fn(&mut Disk);
    let changes: [(Change, &str); 4] = [
        (
            |disk| disk.medium.resize(SIZE as usize / 2, 0),
            "its size was 1048576 bytes and is",
        ),
        (
            |disk| disk.medium.resize(SIZE as usize * 2, 0),
            "its size was 1048576 bytes and is",
        ),
        (|disk| disk.flags |= FLAG_READ_ONLY, "it is read-only now"),
        (
            |disk| disk.flags &= !FLAG_SEND_FLUSH,
            "it no longer flushes",
        ),
    ];
    for (change, words) in changes {
        let fake = Fake::start(USUAL);
        let device = fake.open(PATIENCE);
        let mut io = BlockingDevice::open(&device).unwrap();
        io.read_at(&mut [0; 512], 0).unwrap();
        fake.kill();
        change(&mut fake.lock());
        fake.listen();
        for _ in 0..2 {
            let error = error_of(io.read_at(&mut [0; 512], 0), words);
            assert!(
                error.to_string().contains(fake.path.to_str().unwrap()),
                "{error}"
            );
        }
    }
}

/// A server that hangs fails its requests in time, and is not used again: what it was asked may
/// still happen.
#[test]
fn another_disk_is_not_written_to() {
    // Whether it is another disk or an older copy of the same: nothing is repeated there, nothing
    // new is written, and the error says how the two differ.
    for is_older in [false, true] {
        let fake = Fake::start(USUAL);
        fake.lock().medium[512..516].copy_from_slice(b"mine");
        let device = fake.open(PATIENCE);
        device.mark(512, b"mine".to_vec(), "it has another name");
        device.mark(4096, vec![0; 512], "it is an older copy");
        let mut io = BlockingDevice::open(&device).unwrap();
        let before = fake.lock().medium.clone();
        io.write_at(&[5; 512], 4096).unwrap();
        io.flush().unwrap();
        io.write_at(&[6; 512], 8192).unwrap();
        assert!(device.is_usable());
        fake.kill();
        let other = if is_older {
            before
        } else {
            vec![0xee; SIZE as usize]
        };
        fake.lock().medium.clone_from(&other);
        let count = fake.lock().write_count;
        fake.listen();
        let words = if is_older {
            "it is an older copy"
        } else {
            "it has another name"
        };
        for _ in 0..2 {
            error_of(io.write_at(&[7; 512], 12_288), words);
        }
        assert!(!device.is_usable());
        let disk = fake.lock();
        assert!(disk.medium == other && disk.write_count == count);
    }
}

#[test]
fn marks_follow_what_is_written() {
    // However a server crashes in the middle of writes over a mark, with FUA, without, or as zeros,
    // it is known again when it comes back.
    for seed in 1..=20_u64 {
        let fake = Fake::start(USUAL);
        let device = fake.open(PATIENCE);
        device.mark(1000, vec![0; 48], "it is not known again");
        let mut io = BlockingDevice::open(&device).unwrap();
        let mut state = seed;
        for round in 0..60_u8 {
            if random(&mut state).is_multiple_of(3) {
                fake.lock().crash_after = Some(random(&mut state) % 4);
            }
            let start = random(&mut state) % 3 * 512;
            match random(&mut state) % 5 {
                0 => io.flush(),
                1 => io.write_zeroes(Range::new(start, 1024), Unmap::Allowed),
                2 => {
                    let driver = Driver::new().unwrap();
                    let mut queue = device.open_queue(&driver).unwrap();
                    let data = Buffer::copy_of(&[round; 512]);
                    queue.submit(Request::write(0, start, Durability::Fua, data));
                    finish(&mut *queue, &driver, 1).remove(0).result
                }
                _ => io.write_at(&[round; 1024], start),
            }
            .unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
        }
    }
}

#[test]
fn silence_ends() {
    let fake = Fake::start(USUAL);
    let device = fake.open(AWAY_MAX);
    let mut io = BlockingDevice::open(&device).unwrap();
    fake.lock().silent = true;
    let error = error_of(io.write_at(&[1; 512], 0), "has not answered for 2 s");
    assert_eq!(error.kind(), Kind::TimedOut);
    fake.lock().silent = false;
    error_of(io.flush(), "has not answered");
    // One that hangs before it has greeted.
    let quiet = std::env::temp_dir().join(format!("ashlar-quiet-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&quiet).unwrap();
    let address = Address::unix(&quiet, "");
    let error = ReconnectingDevice::open(address, Duration::from_millis(100)).unwrap_err();
    assert!(
        error.to_string().contains("does not answer; it hangs"),
        "{error}"
    );
    drop(listener);
    std::fs::remove_file(&quiet).unwrap();
}

/// A server that says goodbye is left, and one that hangs up on every request is given up.
#[test]
fn goodbyes_are_understood_and_repetition_ends() {
    let fake = Fake::start(USUAL);
    let device = fake.open(AWAY_MAX);
    let mut io = BlockingDevice::open(&device).unwrap();
    io.write_at(&[3; 512], 0).unwrap();
    fake.lock().shutting_down = true;
    error_of(io.read_at(&mut [0; 512], 0), "has been away for");
    fake.lock().shutting_down = false;
    let end = Instant::now() + PATIENCE;
    while io.flush().is_err() {
        assert!(Instant::now() < end, "the server is asked again");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(fake.lock().medium[..512], [3; 512]);
}

/// What was sent and never answered may have been done: a server that comes back with it is known
/// again.
#[test]
fn unanswered_writes_may_be_there() {
    let fake = Fake::start(USUAL);
    let device = fake.open(Duration::from_millis(300));
    device.mark(0, vec![0; 512], "it is not known again");
    let mut io = BlockingDevice::open(&device).unwrap();
    fake.lock().shutting_down = true;
    error_of(io.write_at(&[3; 512], 0), "has been away for");
    let mut disk = fake.lock();
    disk.medium[..512].fill(3);
    disk.shutting_down = false;
    drop(disk);
    let end = Instant::now() + PATIENCE;
    let mut bytes = [0; 512];
    while let Err(error) = io.read_at(&mut bytes, 0) {
        let text = error.to_string();
        assert!(text.contains("away") && Instant::now() < end, "{text}");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(bytes, [3; 512]);
}

/// A loss during the flush that makes room in the journal is a loss like any other: the writes
/// are repeated and the flush, too.
#[test]
fn lost_flushes_of_its_own_are_repeated() {
    const COUNT: u64 = 16;
    let fake = Fake::start(USUAL);
    fake.lock().medium.resize((COUNT as usize) << 20, 0);
    let device = fake.open(PATIENCE);
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    // So many make it a flush, which is not answered.
    fake.lock().crash_after = Some(COUNT);
    write_pieces(&mut *queue, &driver, COUNT);
    let end = Instant::now() + PATIENCE;
    while fake.lock().crash_after.is_some() {
        assert!(Instant::now() < end, "a flush is made");
        thread::sleep(Duration::from_millis(1));
    }
    queue.submit(Request::flush(COUNT));
    finish(&mut *queue, &driver, 1).remove(0).result.unwrap();
    assert_pieces(&fake, COUNT);
}

/// What cannot be repeated fails the flush, and every later one.
#[test]
fn a_replay_that_fails_fails_the_flush() {
    let fake = Fake::start(USUAL);
    let device = fake.open(PATIENCE);
    let mut io = BlockingDevice::open(&device).unwrap();
    io.write_at(&[3; 512], 0).unwrap();
    fake.kill();
    fake.lock().full = true;
    fake.listen();
    for _ in 0..2 {
        let error = error_of(
            io.flush(),
            "refused the replay of writes that it had acknowledged",
        );
        assert_eq!(error.kind(), Kind::FlushFailed);
    }
}

/// A server without flush promises nothing that could be repeated: after a write, its loss is
/// final.
#[test]
fn without_flush_a_loss_after_writes_is_final() {
    let fake = Fake::start(0);
    let device = fake.open(PATIENCE);
    let mut io = BlockingDevice::open(&device).unwrap();
    io.read_at(&mut [0; 512], 0).unwrap();
    fake.kill();
    fake.listen();
    io.write_at(&[1; 512], 0).unwrap();
    fake.kill();
    fake.listen();
    error_of(io.flush(), "knows no flush");
    error_of(io.read_at(&mut [0; 512], 0), "knows no flush");
}

/// The journal is bounded: long before it would hold everything, flushes are made.
#[test]
fn memory_is_bounded() {
    let fake = Fake::start(USUAL);
    fake.lock().medium.resize(80 << 20, 0);
    let device = fake.open(PATIENCE);
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    write_pieces(&mut *queue, &driver, 80);
    assert!(fake.lock().flush_count >= 2, "the journal holds 32 MiB");
    fake.kill();
    fake.listen();
    queue.submit(Request::flush(0));
    finish(&mut *queue, &driver, 1).remove(0).result.unwrap();
    assert_pieces(&fake, 80);
}

/// Several threads share one connection; each gets its own answers.
#[test]
fn queues_share_a_connection() {
    let fake = Fake::start(USUAL);
    let device = fake.open(PATIENCE);
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let device = &device;
            scope.spawn(move || {
                let mut io = BlockingDevice::open(device).unwrap();
                for round in 0..50 {
                    let at = (thread * 50 + round) * 4096;
                    io.write_at(&[thread as u8 + 1; 4096], at).unwrap();
                    let read = io.read(Range::new(at, 4096)).unwrap();
                    assert_eq!(read, [thread as u8 + 1; 4096]);
                }
            });
        }
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(5));
            fake.lock().crash_after = Some(20);
        });
    });
    // Dropping a queue waits for its requests.
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    queue.submit(Request::write(
        1,
        0,
        Durability::Volatile,
        Buffer::copy_of(&[8; 512]),
    ));
    drop(queue);
    assert_eq!(fake.lock().read(0, 1), [8]);
}

fn steps() -> impl Strategy<Value = Vec<(u8, u16, u16)>> {
    prop::collection::vec((any::<u8>(), 0..512_u16, 1..64_u16), 0..60)
}

proptest! {
    /// The journal holds what a plain array of bytes and stamps would.
    #[test]
    fn the_journal_is_an_array(steps in steps()) {
        let mut journal = Journal::default();
        let mut model: Vec<Option<(u64, u8)>> = vec![None; 600];
        for (stamp, (kind, start, len)) in (1_u64..).zip(steps) {
            let range = Range::new(start.into(), len.into());
            let places = usize::from(start)..usize::from(start + len);
            match kind % 8 {
                0 => {
                    journal.forget(range);
                    model[places].fill(None);
                }
                1 => {
                    let before = stamp.saturating_sub(u64::from(len % 8));
                    journal.settle(before);
                    for place in &mut model {
                        *place = place.filter(|(stamp, _)| *stamp > before);
                    }
                }
                2 => {
                    journal.record(range, Content::Zeros(Unmap::Allowed), stamp);
                    model[places].fill(Some((stamp, 0)));
                }
                _ => {
                    let data = vec![kind; usize::from(len)];
                    journal.record(range, Content::Data(data.into()), stamp);
                    model[places].fill(Some((stamp, kind)));
                }
            }
            journal.check();
        }
        let mut bytes = vec![None; 600];
        for request in journal.requests() {
            let start = request.range.start() as usize;
            for at in 0..request.range.len() as usize {
                let byte = request.buffer.get(at).copied().unwrap_or(0);
                assert_eq!(bytes[start + at].replace(byte), None, "no overlaps");
            }
        }
        let expected: Vec<_> = model.iter().map(|place| place.map(|(_, byte)| byte)).collect();
        assert_eq!(bytes, expected);
    }
}
