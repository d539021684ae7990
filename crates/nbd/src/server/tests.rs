//! The server against a client that sends what it likes.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::wire::constants::{
    BASE_ALLOCATION, CMD_BLOCK_STATUS, CMD_CACHE, CMD_DISC, CMD_FLAG_FAST_ZERO, CMD_FLAG_FUA,
    CMD_FLAG_NO_HOLE, CMD_FLAG_PAYLOAD_LEN, CMD_FLAG_REQ_ONE, CMD_FLUSH, CMD_READ, CMD_TRIM,
    CMD_WRITE, CMD_WRITE_ZEROES, EINVAL, EIO, ENOMEM, ENOSPC, ENOTSUP, EPERM, FLAG_READ_ONLY,
    OPT_ABORT, OPT_EXPORT_NAME, OPT_EXTENDED_HEADERS, OPT_GO, OPT_INFO, OPT_LIST,
    OPT_SET_META_CONTEXT, OPT_STARTTLS, OPT_STRUCTURED_REPLY, REP_ACK, REP_ERR_INVALID,
    REP_ERR_POLICY, REP_ERR_TOO_BIG, REP_ERR_UNKNOWN, REP_ERR_UNSUP, REP_INFO, REP_META_CONTEXT,
    REP_SERVER, REPLY_TYPE_BLOCK_STATUS_EXT, REPLY_TYPE_ERROR, REPLY_TYPE_NONE,
    REPLY_TYPE_OFFSET_DATA,
};
use crate::wire::{
    ExportInfo, InfoRequest, MetaRequest, OptionHeader, OptionReply, ReplyHeader, ReplyStyle,
    RequestHeader, RequestStyle, StatusExtent, decode_extents,
};
use block::memory::MemoryDevice;
use block::{Device, Driver, Extent, Info, Queue, Range};
use proptest::prelude::{any, prop, proptest};
use rustix::net::{AddressFamily, SocketType, bind, connect, getsockname, socket};

use super::status::ANSWER_MAX;
use super::{
    Access, Context, Export, Exports, Handshake, Limits, Listener, NamedContext, Progress, Server,
    Tls,
};

const SIZE: u64 = 8 << 20;

fn export(name: &str, access: Access) -> Export {
    let bytes = (0..SIZE).map(|at| (at / 512 % 251) as u8).collect();
    Export {
        name: name.to_owned(),
        description: format!("the {name}"),
        access,
        device: Arc::new(MemoryDevice::from_bytes(name, bytes)),
    }
}

fn exports(names: &[&str]) -> Exports {
    let exports = Exports::new();
    for name in names {
        exports.add(export(name, Access::ReadWrite)).unwrap();
    }
    exports
}

fn limits() -> Limits {
    Limits {
        handshake: Duration::from_mins(1),
        ..Limits::default()
    }
}

/// A client that sends what it is told.
pub(super) struct Client {
    socket: UnixStream,
    requests: RequestStyle,
    replies: ReplyStyle,
}

impl Client {
    fn connect(server: &Server) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        server.serve(theirs.into()).unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut client = Self {
            socket: ours,
            requests: RequestStyle::Compact,
            replies: ReplyStyle::Simple,
        };
        let greeting: [u8; 18] = client.read();
        assert_eq!(&greeting[..8], b"NBDMAGIC");
        client.socket.write_all(&3_u32.to_be_bytes()).unwrap();
        client
    }

    pub(super) fn transmitting(server: &Server, replies: ReplyStyle) -> Self {
        let mut client = Self::connect(server);
        if replies != ReplyStyle::Simple {
            assert_eq!(client.option(OPT_STRUCTURED_REPLY, b"")[0].0, REP_ACK);
        }
        if replies == ReplyStyle::Extended {
            assert_eq!(client.option(OPT_EXTENDED_HEADERS, b"")[0].0, REP_ACK);
            client.requests = RequestStyle::Extended;
        }
        client.replies = replies;
        if replies != ReplyStyle::Simple {
            let meta = MetaRequest {
                name: "",
                queries: vec![BASE_ALLOCATION],
            };
            let answers = client.option(OPT_SET_META_CONTEXT, &meta.encode());
            assert_eq!(answers[0].0, REP_META_CONTEXT);
        }
        client.go("");
        client
    }

    fn go(&mut self, name: &str) -> Vec<(u32, Vec<u8>)> {
        let wanted = vec![];
        self.option(OPT_GO, &InfoRequest { name, wanted }.encode())
    }

    fn read<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.socket.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn read_vec(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.socket.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Sends an option and reads all answers, the last one included.
    fn option(&mut self, option: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let mut out = Vec::new();
        OptionHeader::encode(&mut out, option, data);
        self.socket.write_all(&out).unwrap();
        let mut answers = Vec::new();
        loop {
            let reply = OptionReply::decode(&self.read()).unwrap();
            assert_eq!(reply.option, option);
            let data = self.read_vec(reply.len as usize);
            answers.push((reply.kind, data));
            if reply.kind == REP_ACK || reply.kind & (1 << 31) != 0 {
                return answers;
            }
        }
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    pub(super) fn send(
        &mut self,
        command: u16,
        flags: u16,
        cookie: u64,
        offset: u64,
        len: u64,
        data: &[u8],
    ) {
        let header = RequestHeader {
            flags,
            command,
            cookie,
            offset,
            len,
        };
        let mut bytes = header.encode(self.requests)[..self.requests.header_len()].to_vec();
        bytes.extend_from_slice(data);
        self.socket.write_all(&bytes).unwrap();
    }

    /// The next reply: cookie, kind, error code and payload, whatever its form.
    pub(super) fn reply(&mut self, read_len: usize) -> (u64, u16, u32, Vec<u8>) {
        let mut bytes = Vec::new();
        let header = loop {
            if let Some((header, _)) = ReplyHeader::decode(self.replies, &bytes).unwrap() {
                break header;
            }
            let byte: [u8; 1] = self.read();
            bytes.extend_from_slice(&byte);
        };
        match header {
            ReplyHeader::Simple { error, cookie } => {
                let len = if error == 0 { read_len } else { 0 };
                (cookie, REPLY_TYPE_NONE, error, self.read_vec(len))
            }
            ReplyHeader::Chunk {
                kind, cookie, len, ..
            } => {
                let payload = self.read_vec(len as usize);
                let code = if kind == REPLY_TYPE_ERROR {
                    u32::from_be_bytes(payload[..4].try_into().unwrap())
                } else {
                    0
                };
                (cookie, kind, code, payload)
            }
        }
    }

    /// Sends a request without data and returns its error code.
    pub(super) fn code(&mut self, command: u16, flags: u16, offset: u64, len: u64) -> u32 {
        self.send(command, flags, 77, offset, len, b"");
        let (cookie, _, code, _) = self.reply(if command == CMD_READ { len as usize } else { 0 });
        assert_eq!(cookie, 77);
        code
    }

    fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.socket.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

#[test]
fn every_export_is_listed_and_described() {
    let names = exports(&["vg0/a", "vg0/b"]);
    names.add(export("vg0/ro", Access::ReadOnly)).unwrap();
    assert!(names.add(export("vg0/a", Access::ReadOnly)).is_err());
    let server = Server::with_limits(names, limits()).unwrap();
    let mut client = Client::connect(&server);
    let listed = client.option(OPT_LIST, b"");
    let kinds: Vec<u32> = listed.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [REP_SERVER, REP_SERVER, REP_SERVER, REP_ACK]);
    let ask = InfoRequest {
        name: "vg0/ro",
        wanted: vec![2, 3],
    };
    let answers = client.option(OPT_INFO, &ask.encode());
    let ExportInfo::Export { size, flags } = ExportInfo::decode(&answers[0].1).unwrap() else {
        panic!("the first answer describes the export")
    };
    assert_eq!((size, flags & FLAG_READ_ONLY), (SIZE, FLAG_READ_ONLY));
    assert_eq!(answers[2].1, b"\0\x02the vg0/ro");
    assert_eq!(
        answers.iter().filter(|(kind, _)| *kind == REP_INFO).count(),
        3
    );
    // Several exports: there is no default.
    assert_eq!(client.go("")[0].0, REP_ERR_UNKNOWN);
    assert_eq!(client.go("vg0/b").last().unwrap().0, REP_ACK);
    assert_eq!(client.code(CMD_READ, 0, 0, 512), 0);
}

#[test]
fn wrong_options_are_refused_and_haggling_goes_on() {
    let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.option(OPT_STARTTLS, b"")[0].0, REP_ERR_POLICY);
    assert_eq!(client.option(999, b"what")[0].0, REP_ERR_UNSUP);
    assert_eq!(client.option(OPT_LIST, b"x")[0].0, REP_ERR_INVALID);
    assert_eq!(
        client.option(OPT_GO, b"\0\0\0\x09short")[0].0,
        REP_ERR_INVALID
    );
    let meta = MetaRequest {
        name: "a",
        queries: vec![BASE_ALLOCATION],
    };
    let answers = client.option(OPT_SET_META_CONTEXT, &meta.encode());
    assert_eq!(
        answers[0].0, REP_ERR_INVALID,
        "structured replies come first"
    );
    assert_eq!(client.go("nothing")[0].0, REP_ERR_UNKNOWN);
    assert_eq!(client.option(OPT_ABORT, b"")[0].0, REP_ACK);
    assert!(client.is_closed());

    let mut client = Client::connect(&server);
    let mut huge = Vec::new();
    OptionHeader::encode(&mut huge, OPT_LIST, b"");
    huge[12..].copy_from_slice(&u32::MAX.to_be_bytes());
    client.socket.write_all(&huge).unwrap();
    let reply = OptionReply::decode(&client.read()).unwrap();
    assert_eq!(reply.kind, REP_ERR_TOO_BIG);
    assert!(client.is_closed());
}

#[test]
fn the_oldest_way_to_choose_an_export_works() {
    let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
    let mut client = Client::connect(&server);
    let mut out = Vec::new();
    OptionHeader::encode(&mut out, OPT_EXPORT_NAME, b"a");
    client.socket.write_all(&out).unwrap();
    let size: [u8; 8] = client.read();
    assert_eq!(u64::from_be_bytes(size), SIZE);
    let _flags: [u8; 2] = client.read();
    assert_eq!(client.code(CMD_READ, 0, SIZE - 512, 512), 0);
}

#[test]
fn every_command_does_its_work_in_all_forms() {
    for style in [
        ReplyStyle::Simple,
        ReplyStyle::Structured,
        ReplyStyle::Extended,
    ] {
        let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
        let mut client = Client::transmitting(&server, style);
        let payload_flag = match style {
            ReplyStyle::Extended => CMD_FLAG_PAYLOAD_LEN,
            _ => 0,
        };
        client.send(
            CMD_WRITE,
            payload_flag | CMD_FLAG_FUA,
            1,
            4096,
            1024,
            &[7; 1024],
        );
        assert_eq!(client.reply(0).2, 0);
        client.send(CMD_READ, 0, 2, 4096, 1024, b"");
        let (cookie, kind, _, data) = client.reply(1024);
        assert_eq!(cookie, 2);
        assert!(data.ends_with(&[7; 1024]));
        if style != ReplyStyle::Simple {
            assert_eq!((kind, data.len()), (REPLY_TYPE_OFFSET_DATA, 1024 + 8));
        }
        let zeroes = CMD_FLAG_NO_HOLE | CMD_FLAG_FUA;
        assert_eq!(client.code(CMD_WRITE_ZEROES, zeroes, 4096, 512), 0);
        assert_eq!(client.code(CMD_WRITE_ZEROES, CMD_FLAG_FAST_ZERO, 0, 512), 0);
        let slow = CMD_FLAG_FAST_ZERO | CMD_FLAG_NO_HOLE;
        assert_eq!(client.code(CMD_WRITE_ZEROES, slow, 0, 512), ENOTSUP);
        assert_eq!(client.code(CMD_TRIM, CMD_FLAG_FUA, 8192, 4096), 0);
        assert_eq!(client.code(CMD_CACHE, 0, 100, 3 << 20), 0);
        assert_eq!(client.code(CMD_FLUSH, 0, 0, 0), 0);
        assert_eq!(client.code(CMD_READ, 0, 0, 0), 0);
        // Reads need no alignment; what was not zeroed is still there.
        client.send(CMD_READ, 0, 3, 4096 + 511, 2, b"");
        assert!(client.reply(2).3.ends_with(&[0, 7]));
        client.send(CMD_DISC, 0, 4, 0, 0, b"");
        assert!(client.is_closed());
    }
}

#[test]
fn wrong_requests_are_refused_and_the_connection_goes_on() {
    let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
    let mut client = Client::transmitting(&server, ReplyStyle::Structured);
    assert_eq!(client.code(CMD_READ, 0, SIZE, 512), EINVAL);
    assert_eq!(client.code(CMD_READ, 0, u64::MAX, 512), EINVAL);
    assert_eq!(client.code(CMD_READ, CMD_FLAG_NO_HOLE, 0, 512), EINVAL);
    assert_eq!(client.code(CMD_WRITE_ZEROES, 0, SIZE - 512, 1024), ENOSPC);
    assert_eq!(client.code(CMD_TRIM, 0, 1, 512), EINVAL);
    assert_eq!(client.code(99, 0, 0, 512), EINVAL);
    assert_eq!(client.code(CMD_BLOCK_STATUS, 0, 0, 0), EINVAL);
    // The data of a refused write is skipped.
    client.send(CMD_WRITE, 0, 5, 1, 700, &[9; 700]);
    assert_eq!(client.reply(0).2, EINVAL);
    assert_eq!(client.code(CMD_READ, 0, 0, 512), 0);

    let names = Exports::new();
    names.add(export("ro", Access::ReadOnly)).unwrap();
    let server = Server::with_limits(names, limits()).unwrap();
    let mut client = Client::transmitting(&server, ReplyStyle::Simple);
    client.send(CMD_WRITE, 0, 5, 0, 512, &[9; 512]);
    assert_eq!(client.reply(0).2, EPERM);
    assert_eq!(client.code(CMD_TRIM, 0, 0, 512), EPERM);
    assert_eq!(client.code(CMD_FLUSH, 0, 0, 0), 0);
    assert_eq!(client.code(CMD_BLOCK_STATUS, 0, 0, 512), EINVAL);
}

#[test]
fn block_status_covers_the_range() {
    let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
    let mut client = Client::transmitting(&server, ReplyStyle::Extended);
    client.send(CMD_BLOCK_STATUS, 0, 6, 512, 4096, b"");
    let (_, kind, _, payload) = client.reply(0);
    assert_eq!(kind, REPLY_TYPE_BLOCK_STATUS_EXT);
    let (_, extents) = decode_extents(kind, &payload).unwrap();
    assert_eq!(extents.iter().map(|extent| extent.len).sum::<u64>(), 4096);
}

/// Says that the first block of a range is marked, and of byte 4096 nothing.
struct Marks;

impl Context for Marks {
    fn extents(&self, range: Range, count_max: usize) -> block::Result<Vec<StatusExtent>> {
        if range.start() == 4096 {
            return Err(block::Error::new(block::Kind::Io, "on purpose"));
        }
        let marked = StatusExtent {
            len: 512,
            status: 1,
        };
        let rest = StatusExtent {
            len: range.len() - 512,
            status: 0,
        };
        Ok([marked, rest].into_iter().take(count_max).collect())
    }
}

/// Block status has a chunk for each context that was chosen, whatever form replies have; with
/// `REQ_ONE` each has one extent; where one of them fails, the request does.
#[test]
fn each_context_that_was_chosen_is_answered() {
    for style in [ReplyStyle::Structured, ReplyStyle::Extended] {
        let exports = Exports::new();
        let marks = NamedContext {
            name: "x:marks".to_owned(),
            context: Arc::new(Marks),
        };
        let export = export("a", Access::ReadWrite);
        exports.add_with(export, vec![marks]).unwrap();
        let server = Server::with_limits(exports, limits()).unwrap();
        let mut client = Client::connect(&server);
        client.option(OPT_STRUCTURED_REPLY, b"");
        if style == ReplyStyle::Extended {
            client.option(OPT_EXTENDED_HEADERS, b"");
            client.requests = RequestStyle::Extended;
        }
        client.replies = style;
        let meta = MetaRequest {
            name: "",
            queries: vec!["x:marks", BASE_ALLOCATION],
        };
        let chosen = client.option(OPT_SET_META_CONTEXT, &meta.encode());
        assert_eq!(chosen.len(), 3, "two contexts and the end");
        client.go("");
        for flags in [0, CMD_FLAG_REQ_ONE] {
            client.send(CMD_BLOCK_STATUS, flags, 6, 512, 8192, b"");
            let told = [(); 2].map(|()| {
                let (cookie, kind, code, payload) = client.reply(0);
                assert_eq!((cookie, code), (6, 0));
                decode_extents(kind, &payload).unwrap()
            });
            let [(base, _), (other, extents)] = &told;
            assert_eq!((*base, *other), (1, 2));
            let lengths: Vec<u64> = extents.iter().map(|extent| extent.len).collect();
            let wanted = if flags == 0 { &[512, 7680][..] } else { &[512] };
            assert_eq!(lengths, wanted);
            assert_eq!(extents[0].status, 1);
        }
        assert_eq!(client.code(CMD_BLOCK_STATUS, 0, 4096, 512), EIO);
        assert_eq!(client.code(CMD_READ, 0, 0, 512), 0);
    }
}

#[test]
fn many_requests_in_one_send_are_all_answered() {
    let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
    let mut client = Client::transmitting(&server, ReplyStyle::Simple);
    let mut bytes = Vec::new();
    for cookie in 0..3000 {
        let header = RequestHeader {
            flags: 0,
            command: CMD_READ,
            cookie,
            offset: cookie * 512,
            len: 512,
        };
        bytes.extend_from_slice(&header.encode(RequestStyle::Compact)[..28]);
    }
    let mut sender = client.socket.try_clone().unwrap();
    let sending = std::thread::spawn(move || sender.write_all(&bytes).unwrap());
    for _ in 0..3000 {
        let (cookie, _, code, data) = client.reply(512);
        assert_eq!((code, data[0]), (0, (cookie % 251) as u8));
    }
    sending.join().unwrap();
}

/// Nothing hangs when a client reads no reply before its last request is out, although that takes
/// more sends than a socket holds.
#[test]
fn a_client_may_send_everything_before_it_reads() {
    const COUNT: u64 = 400;
    let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
    let mut client = Client::transmitting(&server, ReplyStyle::Simple);
    let patience = Some(Duration::from_secs(20));
    client.socket.set_write_timeout(patience).unwrap();
    for cookie in 0..COUNT {
        client.send(CMD_READ, 0, cookie, cookie * 512, 512, b"");
    }
    for _ in 0..COUNT {
        let (cookie, _, code, data) = client.reply(512);
        assert_eq!((code, data[0]), (0, (cookie % 251) as u8));
    }
}

/// A client that always has unread replies, and asks for another after each, gets them all.
#[test]
fn a_client_that_is_always_behind_gets_every_reply() {
    const DEPTH: u64 = 64;
    const COUNT: u64 = 1000;
    let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
    let mut client = Client::transmitting(&server, ReplyStyle::Simple);
    let ask = |client: &mut Client, cookie| {
        client.send(CMD_READ, 0, cookie, cookie * 4096, 4096, b"");
    };
    for cookie in 0..DEPTH {
        ask(&mut client, cookie);
    }
    for answered in 0..COUNT {
        let (cookie, _, code, data) = client.reply(4096);
        assert_eq!((code, data[0]), (0, (cookie * 8 % 251) as u8));
        if answered + DEPTH < COUNT {
            ask(&mut client, answered + DEPTH);
        }
    }
}

#[test]
fn bad_clients_harm_only_themselves() {
    let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
    let mut good = Client::transmitting(&server, ReplyStyle::Simple);

    let mut garbage = Client::connect(&server);
    garbage.socket.write_all(&[0xff; 100]).unwrap();
    assert!(garbage.is_closed());
    let mut garbage = Client::transmitting(&server, ReplyStyle::Simple);
    garbage.socket.write_all(&[0xff; 100]).unwrap();
    assert!(garbage.is_closed());

    let mut halfway = Client::transmitting(&server, ReplyStyle::Simple);
    halfway.send(CMD_WRITE, 0, 1, 0, 1 << 20, &[1; 1000]);
    drop(halfway);

    // Asks for 4 GiB of replies and never reads one: its sends stall, not its neighbours'.
    let mut greedy = Client::transmitting(&server, ReplyStyle::Simple);
    greedy
        .socket
        .set_write_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let header = RequestHeader {
        flags: 0,
        command: CMD_READ,
        cookie: 1,
        offset: 0,
        len: SIZE,
    };
    let request = header.encode(RequestStyle::Compact);
    let mut sent = 0;
    while sent < 10_000 && greedy.socket.write_all(&request[..28]).is_ok() {
        sent += 1;
    }
    assert!(sent < 10_000, "the server reads on and on");
    let mut liar = Client::transmitting(&server, ReplyStyle::Extended);
    liar.send(CMD_WRITE, CMD_FLAG_PAYLOAD_LEN, 1, 0, u64::MAX, b"");
    assert!(liar.is_closed());

    good.send(CMD_READ, 0, 9, 512, 512, b"");
    assert_eq!(
        good.reply(512).3,
        vec![1; 512],
        "the half write was not done"
    );
    server.stop(Duration::from_millis(200));
    assert_eq!(server.connection_count(), 0);
}

#[test]
fn an_ending_server_waits_for_its_clients() {
    // Proves: who has not read all of its answer when the server ends gets it all the same.
    let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
    let mut client = Client::transmitting(&server, ReplyStyle::Simple);
    client.send(CMD_READ, 0, 1, 0, SIZE, b"");
    let _: [u8; 1] = client.read();
    std::thread::scope(|scope| {
        let ending = scope.spawn(|| server.stop(limits().handshake));
        // A server that does not wait is over by then.
        std::thread::sleep(Duration::from_millis(50));
        assert!(!ending.is_finished());
        let rest = client.read_vec(15 + SIZE as usize);
        assert_eq!(rest[15 + 512], 1);
    });
    assert!(client.is_closed());
}

#[test]
fn a_client_that_says_nothing_is_dropped() {
    // Enough for a client that speaks, on a machine that has much else to do.
    const HANDSHAKE: Duration = Duration::from_secs(4);
    let short = Limits {
        handshake: HANDSHAKE,
        connections: 1,
        ..Limits::default()
    };
    let server = Server::with_limits(exports(&["a"]), short).unwrap();
    let start = Instant::now();
    let mut silent = Client::connect(&server);
    let (_, second) = UnixStream::pair().unwrap();
    assert!(server.serve(second.into()).is_err(), "one client is enough");
    assert!(silent.is_closed());
    assert!(start.elapsed() < Limits::default().handshake);
    while server.connection_count() > 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut client = Client::transmitting(&server, ReplyStyle::Simple);
    std::thread::sleep(HANDSHAKE + HANDSHAKE / 5);
    assert_eq!(
        client.code(CMD_READ, 0, 0, 512),
        0,
        "later there is no hurry"
    );
}

/// Tells what it is made of once the client has had its time.
struct Slow {
    inner: MemoryDevice,
    /// Something comes when the client has read.
    has_read: Mutex<Receiver<()>>,
    /// Whether that was before the first answer.
    was_first: OnceLock<bool>,
}

impl Device for Slow {
    fn info(&self) -> Info {
        self.inner.info()
    }

    fn open_queue(&self, driver: &Driver) -> block::Result<Box<dyn Queue>> {
        self.inner.open_queue(driver)
    }

    fn extents(&self, range: Range, count_max: usize) -> block::Result<Vec<Extent>> {
        self.was_first.get_or_init(|| {
            let has_read = self.has_read.lock().unwrap();
            has_read.recv_timeout(Duration::from_millis(300)).is_ok()
        });
        self.inner.extents(range, count_max)
    }
}

#[test]
fn answers_about_extents_count_for_what_a_client_may_hold() {
    // Proves: long answers that are on their way are charged, so that requests behind them wait.
    for (bytes, expected) in [(2 * ANSWER_MAX, false), (2 * ANSWER_MAX + 1, true)] {
        let (told, has_read) = channel();
        let device = Arc::new(Slow {
            inner: MemoryDevice::new("slow", SIZE),
            has_read: Mutex::new(has_read),
            was_first: OnceLock::new(),
        });
        let exports = Exports::new();
        let made = exports.add(Export {
            device: Arc::clone(&device) as _,
            ..export("slow", Access::ReadWrite)
        });
        made.unwrap();
        let limits = Limits { bytes, ..limits() };
        let server = Server::with_limits(exports, limits).unwrap();
        let mut client = Client::transmitting(&server, ReplyStyle::Structured);
        for cookie in [1, 2] {
            client.send(CMD_BLOCK_STATUS, 0, cookie, 0, SIZE, b"");
        }
        client.send(CMD_READ, 0, 3, 0, 512, b"");
        for _ in 0..3 {
            if client.reply(512).0 == 3 {
                let _ = told.send(());
            }
        }
        assert_eq!(device.was_first.get(), Some(&expected), "{bytes}");
    }
}

#[test]
fn clients_share_their_memory() {
    // Proves: once clients that read nothing hold what clients share, requests of the usual sizes
    // are answered all the same; a larger one waits, and is refused alone when that takes too
    // long; it is answered when somebody has read.
    const LARGE: u64 = SIZE;
    for memory_wait in [Duration::from_millis(200), Duration::from_mins(5)] {
        let limits = Limits {
            shared_bytes: 32 << 20,
            memory_wait,
            ..limits()
        };
        let server = Server::with_limits(exports(&["a"]), limits).unwrap();
        let clients = |count| -> Vec<Client> {
            let ask = |_| {
                let mut client = Client::transmitting(&server, ReplyStyle::Simple);
                client.send(CMD_READ, 0, 1, 0, LARGE, b"");
                client
            };
            let mut asked: Vec<Client> = (0..count).map(ask).collect();
            for client in &mut asked {
                // The first byte says that the rest waits in the server.
                let _: [u8; 1] = client.read();
            }
            asked
        };
        let mut greedy = clients(5);
        let mut other = Client::transmitting(&server, ReplyStyle::Simple);
        other.send(CMD_READ, 0, 2, 512, 1 << 20, b"");
        let (.., code, read) = other.reply(1 << 20);
        assert_eq!((code, read[0]), (0, 1), "a usual request");
        if memory_wait < Duration::from_secs(1) {
            for (command, payload) in [(CMD_READ, vec![]), (CMD_WRITE, vec![7; LARGE as usize])] {
                other.send(command, 0, 3, 0, LARGE, &payload);
                assert_eq!(other.reply(0).2, ENOMEM);
            }
            assert_eq!(other.code(CMD_READ, 0, 0, 512), 0, "it goes on");
        } else {
            other.send(CMD_READ, 0, 4, 0, LARGE, b"");
            let mut first = greedy.remove(0);
            let mut rest = vec![0; 15 + LARGE as usize];
            first.socket.read_exact(&mut rest).unwrap();
            let (.., code, read) = other.reply(LARGE as usize);
            assert_eq!((code, read[512]), (0, 1), "it waited");
        }
    }
}

#[test]
fn one_machine_does_not_take_all_connections() {
    // Proves: of the connections only some may come from one address, and another one still gets
    // in; who leaves makes room.
    let few = Limits {
        connections: 4,
        connections_of_peer: 2,
        ..limits()
    };
    let server = Server::with_limits(exports(&["a"]), few).unwrap();
    let greeted = |from: [u8; 4], to: SocketAddr| {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from((from, 0))).unwrap();
        connect(&socket, &to).unwrap();
        let mut stream = std::net::TcpStream::from(socket);
        stream.read_exact(&mut [0; 18]).ok().map(|()| stream)
    };
    let tcp = Listener::tcp("127.0.0.1:0").unwrap();
    let to = getsockname(tcp.as_fd()).unwrap();
    let to = SocketAddr::try_from(to).unwrap();
    server.listen(tcp).unwrap();
    let (one, other) = ([127, 0, 0, 1], [127, 0, 0, 2]);
    let mut held: Vec<_> = (0..2).map(|_| greeted(one, to).unwrap()).collect();
    assert!(greeted(one, to).is_none(), "two are enough");
    held.push(greeted(other, to).expect("another machine is let in"));
    held.remove(0);
    let end = Instant::now() + limits().handshake * 2;
    while server.connection_count() > 2 {
        assert!(Instant::now() < end, "who left is gone");
        std::thread::sleep(Duration::from_millis(5));
    }
    held.push(greeted(one, to).expect("there is room again"));
}

#[test]
fn listeners_listen_and_clean_up() {
    let path = std::env::temp_dir().join(format!("ashlar-nbd-{}.sock", std::process::id()));
    let server = Server::with_limits(exports(&["a"]), limits()).unwrap();
    server.listen(Listener::unix(&path).unwrap()).unwrap();
    assert!(Listener::unix(&path).is_err(), "somebody listens there");
    let tcp = Listener::tcp("127.0.0.1:0").unwrap();
    let address = tcp.uri("");
    let address = address
        .strip_prefix("nbd://")
        .and_then(|rest| rest.strip_suffix('/'))
        .unwrap()
        .to_owned();
    server.listen(tcp).unwrap();
    let mut greeting = [0; 18];
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.read_exact(&mut greeting).unwrap();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.read_exact(&mut greeting).unwrap();
    server.stop(Duration::from_secs(1));
    assert!(!path.exists());
    // What a killed server left behind is replaced.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    drop(Listener::unix(&path).unwrap());
    assert!(!path.exists());
}

proptest! {
    #[test]
    fn no_bytes_confuse_the_handshake(data in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut out = Vec::new();
        let mut handshake = Handshake::begin(exports_once(), Tls::Off, &mut out);
        let mut input = 3_u32.to_be_bytes().to_vec();
        OptionHeader::encode(&mut input, u32::from(data.len() as u8 % 12), &data);
        input.extend_from_slice(&data);
        let mut rest = input.as_slice();
        while let Ok((used, Progress::More)) = handshake.advance(rest, &mut out) {
            if used == 0 {
                break;
            }
            rest = &rest[used..];
        }
    }
}

fn exports_once() -> Exports {
    let exports = Exports::new();
    let device = Arc::new(MemoryDevice::new("small", 4096));
    let export = Export {
        name: "a".to_owned(),
        description: String::new(),
        access: Access::ReadOnly,
        device,
    };
    exports.add(export).unwrap();
    exports
}

/// Before TLS a server that requires it answers nothing but STARTTLS and ABORT, forgets what was
/// agreed on before, and takes the option once.
#[test]
fn tls_comes_before_everything_that_it_protects() {
    use crate::wire::constants::{
        OPT_ABORT, OPT_EXPORT_NAME, OPT_LIST, OPT_STARTTLS, OPT_STRUCTURED_REPLY, REP_ACK,
        REP_ERR_INVALID, REP_ERR_POLICY, REP_ERR_TLS_REQD,
    };
    let begin = |tls| {
        let mut handshake = Handshake::begin(exports_once(), tls, &mut Vec::new());
        handshake
            .advance(&3_u32.to_be_bytes(), &mut Vec::new())
            .unwrap();
        handshake
    };
    let ask = |handshake: &mut Handshake, option, data: &[u8]| {
        let (mut input, mut out) = (Vec::new(), Vec::new());
        OptionHeader::encode(&mut input, option, data);
        let (_, progress) = handshake.advance(&input, &mut out)?;
        let reply = OptionReply::decode(out.first_chunk().expect("an answer"))?;
        Ok::<_, block::Error>((reply.kind, matches!(progress, Progress::Secure)))
    };
    let mut required = begin(Tls::Required);
    for option in [OPT_LIST, OPT_STRUCTURED_REPLY, 99] {
        let (kind, _) = ask(&mut required, option, b"").unwrap();
        assert_eq!(kind, REP_ERR_TLS_REQD);
    }
    assert_eq!(
        ask(&mut required, OPT_STARTTLS, b"x").unwrap(),
        (REP_ERR_INVALID, false)
    );
    assert_eq!(
        ask(&mut required, OPT_STARTTLS, b"").unwrap(),
        (REP_ACK, true)
    );
    required.secured();
    assert_eq!(
        ask(&mut required, OPT_STARTTLS, b"").unwrap(),
        (REP_ERR_INVALID, false)
    );
    assert_eq!(
        ask(&mut required, OPT_STRUCTURED_REPLY, b"").unwrap().0,
        REP_ACK
    );
    assert!(ask(&mut begin(Tls::Required), OPT_EXPORT_NAME, b"").is_err());
    assert_eq!(
        ask(&mut begin(Tls::Required), OPT_ABORT, b"").unwrap().0,
        REP_ACK
    );
    assert_eq!(
        ask(&mut begin(Tls::Off), OPT_STARTTLS, b"").unwrap(),
        (REP_ERR_POLICY, false)
    );
    assert_eq!(
        ask(&mut begin(Tls::Offered), OPT_LIST, b"").unwrap().0 & (1 << 31),
        0
    );
}
