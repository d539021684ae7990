//! What reaches the device of a request, and what keeps a connection going.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use block::nbd::constants::{
    CMD_BLOCK_STATUS, CMD_FLAG_FUA, CMD_FLAG_REQ_ONE, CMD_READ, CMD_TRIM, CMD_WRITE, EINVAL,
};
use block::nbd::{ReplyStyle, RequestHeader, RequestStyle};
use block::{
    Completion, Device, Driver, Durability, Extent, ExtentKind, Info, Operation, Queue, Range,
    Request, Result,
};

use block::memory::MemoryDevice;

use crate::nbd::tests::Client;
use crate::nbd::{Access, Export, Exports, Limits, Server};

const SIZE: u64 = 1 << 20;

/// What a device was asked to do.
type Asked = Arc<Mutex<Vec<(Operation, Durability)>>>;

/// A device that grows when it is told to, is data and holes by turns, and notes what it is asked.
struct Noting {
    inner: MemoryDevice,
    size: AtomicU64,
    asked: Asked,
}

struct NotingQueue {
    inner: Box<dyn Queue>,
    asked: Asked,
}

impl Device for Noting {
    fn info(&self) -> Info {
        Info {
            size: self.size.load(Ordering::Relaxed),
            ..self.inner.info()
        }
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        Ok(Box::new(NotingQueue {
            inner: self.inner.open_queue(driver)?,
            asked: Arc::clone(&self.asked),
        }))
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        let kinds = [ExtentKind::Data, ExtentKind::Hole].into_iter().cycle();
        let extents = kinds.map(|kind| Extent { len: 512, kind });
        Ok(extents
            .take(count_max.min((range.len() / 512) as usize))
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
        self.inner.poll(done);
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
    // Proves: a client that wants one extent gets one, and others get all.
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
