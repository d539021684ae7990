//! What reaches the device of a request, and what keeps a connection going.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::wire::constants::{
    CMD_BLOCK_STATUS, CMD_CACHE, CMD_FLAG_DF, CMD_FLAG_FUA, CMD_FLAG_NO_HOLE, CMD_FLAG_REQ_ONE,
    CMD_READ, CMD_TRIM, CMD_WRITE, CMD_WRITE_ZEROES, EINVAL,
};
use crate::wire::{ReplyStyle, RequestHeader, RequestStyle};
use block::{
    Completion, Device, Driver, Durability, Extent, ExtentKind, Info, Operation, Queue, Range,
    Request, Result, Unmap, Waker,
};

use block::memory::MemoryDevice;

use crate::server::tests::Client;
use crate::server::{Access, Export, Exports, Limits, Server};

const SIZE: u64 = 1 << 20;

/// What a device was asked to do.
type Asked = Arc<Mutex<Vec<(Operation, Durability)>>>;

/// A device that grows when it is told to, is data and holes by turns, and notes what it is asked;
/// answers wait while they are held.
struct Noting {
    inner: MemoryDevice,
    size: AtomicU64,
    asked: Asked,
    holds: Arc<AtomicBool>,
    wakers: Mutex<Vec<Waker>>,
}

struct NotingQueue {
    inner: Box<dyn Queue>,
    asked: Asked,
    holds: Arc<AtomicBool>,
}

impl Noting {
    fn hold(&self, holds: bool) {
        self.holds.store(holds, Ordering::Relaxed);
        self.wakers.lock().unwrap().iter().for_each(Waker::wake);
    }
}

impl Device for Noting {
    fn info(&self) -> Info {
        Info {
            size: self.size.load(Ordering::Relaxed),
            ..self.inner.info()
        }
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        self.wakers.lock().unwrap().push(driver.waker());
        Ok(Box::new(NotingQueue {
            inner: self.inner.open_queue(driver)?,
            asked: Arc::clone(&self.asked),
            holds: Arc::clone(&self.holds),
        }))
    }

    /// The last extent goes on behind the range.
    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        let kinds = [ExtentKind::Data, ExtentKind::Hole].into_iter().cycle();
        let extents = kinds.map(|kind| Extent { len: 512, kind });
        Ok(extents
            .take(count_max.min((range.len() / 512) as usize + 1))
            .collect())
    }
}

impl Queue for NotingQueue {
    fn submit(&mut self, request: Request) {
        let mut asked = self.asked.lock().unwrap();
        asked.push((request.operation, request.durability));
        drop(asked);
        self.inner.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if !self.holds.load(Ordering::Relaxed) {
            self.inner.poll(done);
        }
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }
}

fn serve(limits: Limits) -> (Server, Arc<Noting>) {
    let device = Arc::new(Noting {
        inner: MemoryDevice::new("noting", 2 * SIZE),
        size: AtomicU64::new(SIZE),
        asked: Asked::default(),
        holds: Arc::default(),
        wakers: Mutex::default(),
    });
    let exports = Exports::new();
    let added = exports.add(Export {
        name: "noting".to_owned(),
        description: String::new(),
        access: Access::ReadWrite,
        device: Arc::clone(&device) as _,
    });
    added.unwrap();
    (Server::with_limits(exports, limits).unwrap(), device)
}

#[test]
fn only_what_is_to_be_durable_is() {
    // Proves: the device sees FUA where the client says it, and nowhere else; a discard, which has
    // none, is followed by a flush.
    let (server, device) = serve(Limits::default());
    let mut client = Client::transmitting(&server, ReplyStyle::Simple);
    let mut asked = |command, flags, data: &[u8]| {
        client.send(command, flags, 1, 0, 512, data);
        assert_eq!(client.reply(0).2, 0);
        std::mem::take(&mut *device.asked.lock().unwrap())
    };
    let (volatile, fua) = (Durability::Volatile, Durability::Fua);
    let block = [7; 512];
    assert_eq!(asked(CMD_WRITE, 0, &block), [(Operation::Write, volatile)]);
    let flags = CMD_FLAG_FUA;
    assert_eq!(asked(CMD_WRITE, flags, &block), [(Operation::Write, fua)]);
    assert_eq!(asked(CMD_TRIM, 0, b""), [(Operation::Discard, volatile)]);
    let discarded = asked(CMD_TRIM, flags, b"");
    let operations: Vec<_> = discarded.iter().map(|(operation, _)| *operation).collect();
    assert_eq!(operations, [Operation::Discard, Operation::Flush]);
}

#[test]
fn holes_are_made_where_they_may_be() {
    // Proves: zeros may become holes unless the client says no, whatever else it says.
    let (server, device) = serve(Limits::default());
    let mut client = Client::transmitting(&server, ReplyStyle::Simple);
    for (flags, unmap) in [
        (0, Unmap::Allowed),
        (CMD_FLAG_FUA, Unmap::Allowed),
        (CMD_FLAG_NO_HOLE, Unmap::Forbidden),
        (CMD_FLAG_NO_HOLE | CMD_FLAG_FUA, Unmap::Forbidden),
    ] {
        assert_eq!(client.code(CMD_WRITE_ZEROES, flags, 0, 512), 0);
        let asked = device.asked.lock().unwrap().pop().map(|(what, _)| what);
        assert_eq!(asked, Some(Operation::WriteZeroes(unmap)), "{flags}");
    }
}

#[test]
fn reads_may_be_wanted_in_one_piece() {
    // Proves: the flag for that is taken where replies could come in pieces, and nowhere else.
    let (server, _device) = serve(Limits::default());
    for (style, code) in [
        (ReplyStyle::Simple, EINVAL),
        (ReplyStyle::Structured, 0),
        (ReplyStyle::Extended, 0),
    ] {
        let mut client = Client::transmitting(&server, style);
        assert_eq!(client.code(CMD_READ, CMD_FLAG_DF, 0, 512), code);
    }
}

#[test]
fn what_has_grown_is_served_whole() {
    // Proves: what lies behind the old end is refused before the device grows, and served as soon
    // as it has grown, to a client that is connected already.
    let (server, device) = serve(Limits::default());
    let mut client = Client::transmitting(&server, ReplyStyle::Simple);
    assert_eq!(client.code(CMD_READ, 0, SIZE, 512), EINVAL);
    device.size.store(2 * SIZE, Ordering::Relaxed);
    assert_eq!(client.code(CMD_READ, 0, SIZE + 512, 512), 0);
}

#[test]
fn as_many_extents_come_as_are_wanted() {
    // Proves: a client that wants one extent gets one, and others get all of the range, and nothing
    // behind it though the device says more.
    let (server, _device) = serve(Limits::default());
    let mut client = Client::transmitting(&server, ReplyStyle::Structured);
    for (flags, count) in [(0, 4), (CMD_FLAG_REQ_ONE, 1)] {
        client.send(CMD_BLOCK_STATUS, flags, 1, 0, 2048, b"");
        // The number of the context, then length and flags of each.
        assert_eq!(client.reply(0).3.len(), 4 + 8 * count, "{flags}");
    }
}

#[test]
fn a_limit_that_is_reached_at_once_stops_nobody() {
    // Proves: requests that come together and are more than may be in flight are all answered.
    let (server, _device) = serve(Limits {
        requests: 2,
        ..Limits::default()
    });
    let mut client = Client::transmitting(&server, ReplyStyle::Simple);
    let requests = (0..100).flat_map(|cookie| {
        let header = RequestHeader {
            flags: 0,
            command: CMD_READ,
            cookie,
            offset: 0,
            len: 512,
        };
        header.encode(RequestStyle::Compact)[..28].to_vec()
    });
    client.send_bytes(&requests.collect::<Vec<_>>());
    for cookie in 0..100 {
        let (answered, _, code, _) = client.reply(512);
        assert_eq!((answered, code), (cookie, 0));
    }
}

#[test]
fn a_client_has_what_it_may_have_and_no_more() {
    // Proves: what the device has not answered counts, so the request that would be too much waits
    // for it, a read-ahead like a read; then it is answered.
    const HALF: u64 = SIZE / 2;
    for command in [CMD_READ, CMD_CACHE] {
        let (server, device) = serve(Limits {
            shared_bytes: 0,
            ..Limits::default()
        });
        let asked = || device.asked.lock().unwrap().len();
        let mut client = Client::transmitting(&server, ReplyStyle::Structured);
        device.hold(true);
        // Of the 4 MiB that each client has, half a one is left.
        for cookie in 0..7 {
            client.send(CMD_READ, 0, cookie, 0, HALF, b"");
        }
        client.send(command, 0, 7, 0, SIZE, b"");
        let start = Instant::now();
        while asked() < 7 && start.elapsed() < Duration::from_secs(20) {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(50));
        let at_first = asked();
        device.hold(false);
        assert_eq!(at_first, 7, "{command}");
        let answered = (0..8).map(|_| client.reply(0));
        let answered: Vec<_> = answered
            .map(|(cookie, _, code, _)| (cookie, code))
            .collect();
        assert!(answered.iter().all(|(_, code)| *code == 0));
        assert_eq!(answered[7].0, 7);
    }
}
