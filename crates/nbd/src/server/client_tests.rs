//! The server and our own client, end to end over a socket.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::client::{Address, NbdDevice};
use block::memory::MemoryDevice;
use block::{
    BlockingDevice, Buffer, Completion, Device, Driver, Durability, Error, Extent, ExtentKind,
    Info, Kind, Operation, Queue, Range, Request, Result, Unmap,
};

use super::{Access, Export, Exports, Listener, Server};

const SIZE: u64 = 80 << 20;

/// A server on a socket of its own.
struct Served {
    server: Server,
    path: PathBuf,
}

impl Served {
    fn new(device: Arc<dyn Device>, access: Access) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ashlar-served-{}-{number}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let exports = Exports::new();
        let export = Export {
            name: "vg0/a volume".to_owned(),
            description: String::new(),
            access,
            device,
        };
        exports.add(export).unwrap();
        let server = Server::new(exports).unwrap();
        server.listen(Listener::unix(&path).unwrap()).unwrap();
        Self { server, path }
    }

    fn device(&self) -> NbdDevice {
        let uri = Address::unix(&self.path, "vg0/a volume").to_string();
        NbdDevice::open(&uri).unwrap()
    }
}

/// Answers `count` requests, whatever happens first.
fn finish(queue: &mut dyn Queue, driver: &Driver, count: usize) -> Vec<Completion> {
    let mut done = Vec::new();
    while done.len() < count {
        queue.poll(&mut done);
        if done.len() < count {
            driver.wait(&mut [], Some(Duration::from_secs(20))).unwrap();
        }
    }
    done
}

#[test]
fn many_requests_of_all_sizes_come_back_right() {
    let memory = Arc::new(MemoryDevice::new("memory", SIZE));
    let served = Served::new(memory.clone(), Access::ReadWrite);
    let device = served.device();
    assert_eq!(device.info().size, SIZE);
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    // The last is longer than the server takes at once.
    let sizes = [512, 4096, 10 * 512, 128 << 10, 1 << 20, 40 << 20];
    let mut at = 0;
    let mut places = Vec::new();
    for round in 0..20_u8 {
        for (index, size) in sizes.into_iter().enumerate() {
            if size > 1 << 20 && round > 0 {
                continue;
            }
            let fill = round.wrapping_mul(7).wrapping_add(index as u8 + 1);
            let mut buffer = Buffer::zeroed(size);
            buffer.fill(fill);
            let tag = places.len() as u64;
            queue.submit(Request::write(tag, at, Durability::Volatile, buffer));
            places.push((at, size, fill));
            at += size as u64;
        }
    }
    assert!(at <= SIZE);
    for answer in finish(&mut *queue, &driver, places.len()) {
        answer.result.unwrap();
        let (_, size, fill) = places[answer.tag as usize];
        assert_eq!((answer.buffer.len(), answer.buffer[size - 1]), (size, fill));
    }
    for (tag, (at, size, _)) in places.iter().enumerate() {
        queue.submit(Request::read(tag as u64, *at, Buffer::zeroed(*size)));
    }
    for answer in finish(&mut *queue, &driver, places.len()) {
        answer.result.unwrap();
        let (_, size, fill) = places[answer.tag as usize];
        assert_eq!(answer.buffer.len(), size);
        assert!(answer.buffer.iter().all(|byte| *byte == fill));
    }
    assert_eq!(queue.in_flight(), 0);
}

#[test]
fn zeros_discards_flushes_and_errors_arrive() {
    let bytes = vec![5; 1 << 20];
    let memory = Arc::new(MemoryDevice::from_bytes("memory", bytes));
    let served = Served::new(memory.clone(), Access::ReadWrite);
    let device = served.device();
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    let zero = Operation::WriteZeroes(Unmap::Allowed);
    queue.submit(Request::bare(1, zero, Range::new(512, 512)));
    queue.submit(Request::bare(2, Operation::Discard, Range::new(2048, 512)));
    queue.submit(Request::flush(3));
    queue.submit(Request::read(4, 1 << 20, Buffer::zeroed(512)));
    for answer in finish(&mut *queue, &driver, 4) {
        match answer.tag {
            4 => assert_eq!(answer.result.unwrap_err().kind(), Kind::InvalidRequest),
            _ => answer.result.unwrap(),
        }
    }
    let now = memory.snapshot();
    assert_eq!((now[511], now[512], now[1024], now[2048]), (5, 0, 5, 0));

    let served = Served::new(memory, Access::ReadOnly);
    let device = served.device();
    assert!(device.info().read_only);
    let mut queue = device.open_queue(&driver).unwrap();
    let write = Request::write(1, 0, Durability::Fua, Buffer::zeroed(512));
    queue.submit(write);
    let refused = finish(&mut *queue, &driver, 1).remove(0);
    assert_eq!(refused.result.unwrap_err().kind(), Kind::ReadOnly);
    assert_eq!(refused.buffer.len(), 512);
}

/// A device that takes its time: answers come with the second poll, in reverse, and extents are
/// slow.
struct Slow {
    memory: MemoryDevice,
}

struct SlowQueue {
    inner: Box<dyn Queue>,
    waiting: Vec<Request>,
    waker: block::Waker,
}

impl Device for Slow {
    fn info(&self) -> Info {
        self.memory.info()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        Ok(Box::new(SlowQueue {
            inner: self.memory.open_queue(driver)?,
            waiting: Vec::new(),
            waker: driver.waker(),
        }))
    }

    fn extents(&self, range: Range, _count_max: usize) -> Result<Vec<Extent>> {
        std::thread::sleep(Duration::from_millis(300));
        if range.start() == 4096 {
            return Err(Error::new(Kind::Io, "a bad place"));
        }
        let extent = |len, kind| Extent { len, kind };
        Ok(vec![
            extent(512, ExtentKind::Hole),
            extent(512, ExtentKind::Data),
            extent(range.len() - 1024, ExtentKind::Zero),
        ])
    }
}

impl Queue for SlowQueue {
    fn submit(&mut self, request: Request) {
        self.waiting.push(request);
        self.waker.wake();
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.inner.poll(done);
        while let Some(request) = self.waiting.pop() {
            self.inner.submit(request);
        }
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.waiting.len()
    }
}

fn slow() -> Slow {
    let bytes = (0..SIZE).map(|at| (at >> 9) as u8).collect();
    Slow {
        memory: MemoryDevice::from_bytes("slow", bytes),
    }
}

#[test]
fn answers_may_come_late_and_in_any_order() {
    let served = Served::new(Arc::new(slow()), Access::ReadWrite);
    let device = served.device();
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    for tag in 0..2000 {
        queue.submit(Request::read(tag, tag * 512, Buffer::zeroed(512)));
    }
    for answer in finish(&mut *queue, &driver, 2000) {
        answer.result.unwrap();
        assert_eq!(answer.buffer[0], answer.tag as u8);
    }
    // A queue that is dropped waits for its writes.
    let mut buffer = Buffer::zeroed(1 << 20);
    buffer.fill(9);
    queue.submit(Request::write(1, 0, Durability::Volatile, buffer));
    drop(queue);
    let mut blocking = BlockingDevice::open(&device).unwrap();
    let mut read = [0; 3];
    blocking.read_at(&mut read, (1 << 20) - 2).unwrap();
    assert_eq!(read, [9, 9, (1_u64 << 11) as u8]);
}

#[test]
fn extents_arrive_and_do_not_hold_up_reads() {
    let served = Served::new(Arc::new(slow()), Access::ReadOnly);
    let device = Arc::new(served.device());
    let extents = device.extents(Range::new(0, 8192), 100).unwrap();
    let kinds: Vec<_> = extents.iter().map(|one| (one.len, one.kind)).collect();
    let expected = [
        (512, ExtentKind::Hole),
        (512, ExtentKind::Data),
        (7168, ExtentKind::Zero),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(device.extents(Range::new(0, 8192), 1).unwrap().len(), 1);
    let error = device.extents(Range::new(4096, 4096), 9).unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
}

#[test]
fn an_ending_server_answers_first() {
    let served = Served::new(Arc::new(slow()), Access::ReadWrite);
    let device = served.device();
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    queue.submit(Request::read(1, 512, Buffer::zeroed(512)));
    let answer = finish(&mut *queue, &driver, 1).remove(0);
    assert_eq!(answer.buffer[0], 1);
    served.server.stop(Duration::from_secs(5));
    queue.submit(Request::read(2, 0, Buffer::zeroed(512)));
    let lost = finish(&mut *queue, &driver, 1).remove(0);
    assert_eq!(lost.result.unwrap_err().kind(), Kind::Gone);
}
