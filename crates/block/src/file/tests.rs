//! Files do what the contract says, on disk file systems and in memory, through each engine.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{Access, Caching, FileDevice};
use crate::{
    Buffer, Completion, Device, Driver, Durability, EngineKind, Extent, ExtentKind, Kind,
    Operation, Queue, Range, Request, Unmap,
};

const SIZE: u64 = 1 << 20;
/// Far more than anything takes on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A file that is gone from its folder, and so from the machine when it is closed.
fn scratch(folder: &str, len: u64) -> OwnedFd {
    let folder = if folder.is_empty() {
        std::env::temp_dir()
    } else {
        PathBuf::from(folder)
    };
    let path = folder.join(format!(
        "ashlar-block-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    file.set_len(len).unwrap();
    file.into()
}

/// A file with a name, which goes with this.
pub(super) struct Named {
    pub(super) path: PathBuf,
}

impl Named {
    pub(super) fn new(name: &str, len: u64) -> Self {
        let name = format!("ashlar-block-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = File::create(&path).unwrap();
        file.set_len(len).unwrap();
        Self { path }
    }

    pub(super) fn open(&self) -> File {
        let mut options = File::options();
        options.read(true).write(true).open(&self.path).unwrap()
    }

    /// Whether the file system that holds it lets calls go past the page cache.
    pub(super) fn takes_direct(&self) -> bool {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        let file = self.open();
        let flags = fcntl_getfl(&file).unwrap();
        fcntl_setfl(&file, flags | OFlags::DIRECT).is_ok()
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn drivers() -> Vec<Driver> {
    let mut drivers = vec![
        Driver::with_engine(EngineKind::Threads).unwrap(),
        Driver::new().unwrap(),
    ];
    // Containers may forbid io_uring; then there is nothing to test.
    drivers.extend(Driver::with_engine(EngineKind::Uring));
    drivers
}

fn devices(len: u64) -> Vec<FileDevice> {
    let open = |folder, caching| {
        let file = scratch(folder, len);
        FileDevice::from_fd(file, "scratch", Access::ReadWrite, caching).unwrap()
    };
    vec![
        open("", Caching::Probe),
        open("", Caching::PageCache),
        open("/dev/shm", Caching::Probe),
    ]
}

fn answers(driver: &Driver, queue: &mut dyn Queue) -> Vec<Completion> {
    let mut done = Vec::new();
    while queue.in_flight() > 0 {
        queue.poll(&mut done);
        if queue.in_flight() > 0 {
            driver.wait(&mut [], Some(PATIENCE)).unwrap();
        }
    }
    done
}

fn ask(driver: &Driver, queue: &mut dyn Queue, request: Request) -> Completion {
    queue.submit(request);
    let mut done = answers(driver, queue);
    assert_eq!(done.len(), 1);
    done.remove(0)
}

/// Bytes that differ from block to block.
fn pattern(len: usize, seed: u8) -> Buffer {
    let bytes: Vec<u8> = (0..len)
        .map(|index| (index / 512) as u8 ^ (index as u8).wrapping_add(seed))
        .collect();
    Buffer::copy_of(&bytes)
}

#[test]
fn what_is_written_is_read() {
    // Every kind of file, through every engine, gives back what it was given.
    for driver in drivers() {
        for device in devices(SIZE) {
            let mut queue = device.open_queue(&driver).unwrap();
            for (tag, durability) in [Durability::Volatile, Durability::Fua]
                .into_iter()
                .enumerate()
            {
                let written = pattern(64 << 10, tag as u8);
                let offset = 4096 + 512 * tag as u64;
                let request =
                    Request::write(tag as u64, offset, durability, Buffer::copy_of(&written));
                let done = ask(&driver, &mut *queue, request);
                done.result.unwrap();
                assert_eq!(done.tag, tag as u64);
                let read = Request::read(7, offset, Buffer::zeroed(written.len()));
                let done = ask(&driver, &mut *queue, read);
                done.result.unwrap();
                assert!(*done.buffer == *written);
            }
            ask(&driver, &mut *queue, Request::flush(1)).result.unwrap();
        }
    }
}

#[test]
fn many_requests_are_answered_once_each() {
    // More requests in flight than a ring has entries; all answers come, each to its request.
    for driver in drivers() {
        for device in devices(SIZE) {
            let mut queue = device.open_queue(&driver).unwrap();
            let blocks = SIZE / 512;
            for block in 0..blocks {
                let mut buffer = Buffer::zeroed(512);
                buffer.fill(block as u8);
                let offset = block * 512;
                queue.submit(Request::write(block, offset, Durability::Volatile, buffer));
            }
            let mut tags: Vec<u64> = answers(&driver, &mut *queue)
                .into_iter()
                .map(|done| done.result.map(|()| done.tag).unwrap())
                .collect();
            tags.sort_unstable();
            assert!(tags.into_iter().eq(0..blocks));
            let done = ask(
                &driver,
                &mut *queue,
                Request::read(0, 0, Buffer::zeroed(SIZE as usize)),
            );
            let bytes = done.buffer.chunks(512).enumerate();
            assert!(
                bytes
                    .flat_map(|(block, bytes)| bytes.iter().map(move |byte| (block, byte)))
                    .all(|(block, &byte)| byte == block as u8)
            );
        }
    }
}

#[test]
fn memory_need_not_be_aligned() {
    // A buffer that begins anywhere works with direct I/O too.
    for driver in drivers() {
        for device in devices(SIZE) {
            let mut queue = device.open_queue(&driver).unwrap();
            let mut whole = pattern(1024 + 3, 9);
            let odd = whole.split_off(3);
            let expected = odd.to_vec();
            let write = Request::write(0, 512, Durability::Volatile, odd);
            ask(&driver, &mut *queue, write).result.unwrap();
            let into = Buffer::zeroed(1024 + 5).split_off(5);
            let done = ask(&driver, &mut *queue, Request::read(0, 512, into));
            done.result.unwrap();
            assert_eq!(&*done.buffer, &expected[..]);
        }
    }
}

#[test]
fn zeros_read_as_zeros_and_discards_are_taken() {
    // Writing zeros zeroes, with and without holes, durably or not, at any sector.
    for driver in drivers() {
        for device in devices(SIZE) {
            let mut queue = device.open_queue(&driver).unwrap();
            let mut full = pattern(SIZE as usize, 1);
            full.iter_mut().for_each(|byte| *byte |= 1);
            let write = Request::write(0, 0, Durability::Volatile, full);
            ask(&driver, &mut *queue, write).result.unwrap();
            let (allowed, forbidden) = (Unmap::Allowed, Unmap::Forbidden);
            for (start, len, unmap) in [(512, 1024, allowed), (8192, 131_072, forbidden)] {
                let operation = Operation::WriteZeroes(unmap);
                let mut zero = Request::bare(0, operation, Range::new(start, len));
                zero.durability = Durability::Fua;
                ask(&driver, &mut *queue, zero).result.unwrap();
                let around = Buffer::zeroed(len as usize + 1024);
                let done = ask(&driver, &mut *queue, Request::read(0, start - 512, around));
                let bytes = &done.buffer[512..512 + len as usize];
                assert!(bytes.iter().all(|&byte| byte == 0));
                assert!(done.buffer[..512].iter().all(|&byte| byte != 0));
                let behind = &done.buffer[512 + len as usize..];
                assert!(behind.iter().all(|&byte| byte != 0));
            }
            let discard = Request::bare(0, Operation::Discard, Range::new(0, SIZE));
            ask(&driver, &mut *queue, discard).result.unwrap();
            if device.info().discard_zeroes {
                let read = Request::read(0, 0, Buffer::zeroed(SIZE as usize));
                let done = ask(&driver, &mut *queue, read);
                assert!(done.buffer.iter().all(|&byte| byte == 0));
            }
        }
    }
}

#[test]
fn a_truncated_file_is_named() {
    // A file that became shorter answers with an error that says so, wherever it ends.
    for driver in drivers() {
        for device in devices(SIZE) {
            let mut queue = device.open_queue(&driver).unwrap();
            for end in [SIZE / 2, SIZE / 2 - 100] {
                rustix::fs::ftruncate(device.as_fd(), end).unwrap();
                let read = Request::read(0, SIZE / 2 - 4096, Buffer::zeroed(8192));
                let error = ask(&driver, &mut *queue, read).result.unwrap_err();
                assert_eq!(error.kind(), Kind::Io);
                assert!(error.to_string().contains("truncated"), "{error}");
                assert!(error.to_string().contains("scratch"), "{error}");
            }
        }
    }
}

#[test]
fn a_truncated_file_does_not_grow_again() {
    // Proves: behind the end of a file that became shorter nothing is written, in no way of
    // writing, the file stays as long as it is, and what was lost is not read as zeros afterwards,
    // even if somebody else makes the file longer; in front of the end all goes on.
    for driver in drivers() {
        for device in devices(SIZE) {
            let mut queue = device.open_queue(&driver).unwrap();
            rustix::fs::ftruncate(device.as_fd(), SIZE / 2).unwrap();
            let behind = Range::new(SIZE / 2 + 4096, 4096);
            let straddling = Range::new(SIZE / 2 - 4096, 8192);
            let durability = Durability::Volatile;
            let requests = [
                Request::write(0, behind.start(), durability, pattern(4096, 1)),
                Request::write(0, straddling.start(), durability, pattern(8192, 1)),
                Request::bare(0, Operation::WriteZeroes(Unmap::Allowed), behind),
                Request::bare(0, Operation::WriteZeroes(Unmap::Forbidden), behind),
            ];
            for request in requests {
                let error = ask(&driver, &mut *queue, request).result.unwrap_err();
                assert_eq!(error.kind(), Kind::Io);
                assert!(error.to_string().contains("truncated"), "{error}");
            }
            let size = rustix::fs::fstat(device.as_fd()).unwrap().st_size;
            assert_eq!(size as u64, SIZE / 2);
            let write = Request::write(0, SIZE / 2 - 4096, durability, pattern(4096, 1));
            ask(&driver, &mut *queue, write).result.unwrap();
            rustix::fs::ftruncate(device.as_fd(), SIZE).unwrap();
            let read = Request::read(0, behind.start(), Buffer::zeroed(4096));
            ask(&driver, &mut *queue, read).result.unwrap_err();
        }
    }
}

#[test]
fn holes_are_found() {
    // Extents tell data from holes, from any start, and never more than asked for.
    for device in devices(SIZE) {
        rustix::io::pwrite(device.as_fd(), &[1; 4096], 0).ok();
        let driver = Driver::new().unwrap();
        let mut queue = device.open_queue(&driver).unwrap();
        let write = Request::write(0, 64 << 10, Durability::Fua, pattern(64 << 10, 3));
        ask(&driver, &mut *queue, write).result.unwrap();
        let extents = device.extents(Range::new(32 << 10, SIZE - (32 << 10)), 10);
        let extent = |len, kind| Extent { len, kind };
        let expected = vec![
            extent(32 << 10, ExtentKind::Hole),
            extent(64 << 10, ExtentKind::Data),
            extent(SIZE - (128 << 10), ExtentKind::Hole),
        ];
        assert_eq!(extents.unwrap(), expected);
        let first = device.extents(Range::new(32 << 10, SIZE / 2), 1).unwrap();
        assert_eq!(first, expected[..1]);
    }
}

#[test]
fn odd_sizes_are_rounded_down_and_said() {
    // Half a sector at the end of an image is not part of the device.
    let file = scratch("", 10_000);
    let device = FileDevice::from_fd(file, "odd", Access::ReadOnly, Caching::Probe).unwrap();
    assert_eq!(device.info().size, 9728);
    assert_eq!(device.unused_tail(), 272);
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    let read = Request::read(0, 9216, Buffer::zeroed(512));
    ask(&driver, &mut *queue, read).result.unwrap();
    let write = Request::write(0, 0, Durability::Volatile, Buffer::zeroed(512));
    let refused = ask(&driver, &mut *queue, write).result.unwrap_err();
    assert_eq!(refused.kind(), Kind::ReadOnly);
}

#[test]
fn what_is_no_disk_is_refused() {
    // Folders, pipes and missing files are told apart, and nothing waits for a pipe's writer.
    let folder = std::env::temp_dir();
    let error = FileDevice::open(&folder, Access::ReadOnly).unwrap_err();
    assert!(error.to_string().contains("a directory"), "{error}");
    let pipe = folder.join(format!("ashlar-pipe-{}", std::process::id()));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let error = FileDevice::open(&pipe, Access::ReadOnly).unwrap_err();
    std::fs::remove_file(&pipe).unwrap();
    assert!(error.to_string().contains("a pipe"), "{error}");
    let error = FileDevice::open(&pipe, Access::ReadOnly).unwrap_err();
    assert_eq!(error.kind(), Kind::Open);
    let error = FileDevice::open("/dev/null", Access::ReadOnly).unwrap_err();
    assert!(error.to_string().contains("a character device"), "{error}");
}

#[test]
fn a_dropped_queue_waits() {
    // Memory of requests in flight is not given back before the kernel is done with it.
    for driver in drivers() {
        for device in devices(SIZE) {
            let mut queue = device.open_queue(&driver).unwrap();
            for block in 0..64 {
                queue.submit(Request::read(block, block * 4096, Buffer::zeroed(4096)));
            }
            queue.poll(&mut Vec::new());
            drop(queue);
        }
    }
}

#[test]
fn wakers_and_timeouts_end_a_wait() {
    // A wait ends when its time is over, or at once when another thread wakes it.
    for driver in drivers() {
        let device = &devices(SIZE)[0];
        let mut queue = device.open_queue(&driver).unwrap();
        ask(&driver, &mut *queue, Request::flush(0)).result.unwrap();
        let soon = Some(Duration::from_millis(20));
        let start = std::time::Instant::now();
        driver.wait(&mut [], soon).unwrap();
        // One early return is left over from the flush at most.
        driver.wait(&mut [], soon).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(19));
        let waker = driver.waker();
        let thread = std::thread::spawn(move || waker.wake());
        driver.wait(&mut [], None).unwrap();
        thread.join().unwrap();
        driver.waker().wake();
        driver.wait(&mut [], None).unwrap();
    }
}

#[test]
fn waiting_watches_sockets_beside_the_engine() {
    // With a socket to watch, both the socket and an answer end the wait.
    for driver in drivers() {
        let device = &devices(SIZE)[0];
        let mut queue = device.open_queue(&driver).unwrap();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        queue.submit(Request::read(0, 0, Buffer::zeroed(4096)));
        let mut done = Vec::new();
        while done.is_empty() {
            let mut others = [crate::Interest::new(
                ours.as_fd(),
                crate::Readiness::Readable,
            )];
            driver.wait(&mut others, None).unwrap();
            assert!(!others[0].ready);
            queue.poll(&mut done);
        }
        std::io::Write::write_all(&mut &theirs, b"x").unwrap();
        let mut others = [crate::Interest::new(
            ours.as_fd(),
            crate::Readiness::Readable,
        )];
        while !others[0].ready {
            driver.wait(&mut others, None).unwrap();
        }
    }
}

#[test]
fn a_quiet_socket_hides_no_answer() {
    // Answers to requests that the kernel has already end a wait beside a socket, each time, also
    // when the same descriptor is another socket by then; and the wait does sleep.
    for driver in drivers() {
        let device = &devices(SIZE)[0];
        let mut queue = device.open_queue(&driver).unwrap();
        let mut done = Vec::new();
        let mut waits = 0;
        for round in 0..200 {
            let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
            let watch = |readiness| crate::Interest::new(ours.as_fd(), readiness);
            for tag in 0..4 {
                queue.submit(Request::read(tag, tag * 4096, Buffer::zeroed(4096)));
            }
            done.clear();
            loop {
                queue.poll(&mut done);
                if done.len() == 4 {
                    break;
                }
                let mut others = [watch(crate::Readiness::Readable)];
                let start = std::time::Instant::now();
                driver.wait(&mut others, Some(PATIENCE)).unwrap();
                assert!(start.elapsed() < PATIENCE, "nothing came");
                assert!(!others[0].ready);
                waits += 1;
            }
            if round % 50 == 0 {
                std::io::Write::write_all(&mut &theirs, b"x").unwrap();
                queue.submit(Request::read(9, 0, Buffer::zeroed(4096)));
                let mut others = [watch(crate::Readiness::Readable)];
                while !others[0].ready {
                    queue.poll(&mut done);
                    driver.wait(&mut others, None).unwrap();
                }
                while queue.in_flight() > 0 {
                    queue.poll(&mut done);
                }
            }
        }
        assert!(waits <= 200 * 8, "{waits} waits for 800 answers");
    }
}

#[test]
fn a_ring_begins_before_it_is_asked_for_answers() {
    // Of many requests the first ones reach the disk while the others are still being made.
    let Ok(driver) = Driver::with_engine(EngineKind::Uring) else {
        return;
    };
    let file = scratch("", SIZE);
    let seen = File::from(file.as_fd().try_clone_to_owned().unwrap());
    let device =
        FileDevice::from_fd(file, "scratch", Access::ReadWrite, Caching::PageCache).unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    let written = pattern(4096, 1);
    for tag in 0..8 {
        let (start, buffer) = (tag * 4096, Buffer::copy_of(&written));
        queue.submit(Request::write(tag, start, Durability::Volatile, buffer));
    }
    let until = Instant::now() + PATIENCE;
    let mut read = vec![0; written.len()];
    while read != *written {
        assert!(Instant::now() < until, "nothing began by itself");
        seen.read_exact_at(&mut read, 0).unwrap();
    }
    assert_eq!(answers(&driver, &mut *queue).len(), 8);
}
