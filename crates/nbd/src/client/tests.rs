//! Addresses, and servers that lie. The honest one is in `export`, whose tests use this client.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::fake::{Disk, Fake, SIZE, USUAL, finish};
use super::{Address, NbdDevice};
use crate::wire::constants::{
    FLAG_CAN_MULTI_CONN, FLAG_HAS_FLAGS, FLAG_READ_ONLY, FLAG_SEND_FLUSH, FLAG_SEND_FUA, OPT_GO,
    OPT_STRUCTURED_REPLY, REP_ACK, REP_ERR_TLS_REQD, REP_ERR_UNKNOWN, REP_ERR_UNSUP, REP_INFO,
};
use crate::wire::{
    ExportInfo, HeadBytes, OptionHeader, OptionReply, ReplyStyle, Sizes, encode_greeting,
};
use block::{BlockingDevice, Buffer, Device, Driver, Durability, Kind, Request};

#[test]
fn addresses_are_read_and_written() {
    // nbdkit's own form of an export without a name.
    let address = Address::parse("nbd+unix://?socket=/tmp/s").unwrap();
    assert_eq!(address, Address::unix("/tmp/s", ""));
    let address = Address::parse("nbd+unix:///vg0%2Fa?socket=/tmp/s").unwrap();
    assert_eq!(address, Address::unix("/tmp/s", "vg0/a"));
    assert_eq!(address.to_string(), "nbd+unix:///vg0/a?socket=/tmp/s");
    let address = Address::parse("nbd://example.org/vg0/a").unwrap();
    assert_eq!(address, Address::tcp("example.org", 10809, "vg0/a"));
    let address = Address::parse("nbd://[::1]:99").unwrap();
    assert_eq!(address, Address::tcp("::1", 99, ""));
    assert_eq!(address.to_string(), "nbd://[::1]:99/");
    for bad in [
        "",
        "nbd://",
        "nbd://host:port/",
        "nbd+unix:///a",
        "nbd+unix:///?socket=",
        "nbd://h/%f",
        "http://h/",
    ] {
        assert!(Address::parse(bad).is_err(), "{bad:?} is no address");
    }
}

/// A server for one client: shakes hands, then sends `replies` and hangs up once it has been
/// sent something more.
fn lying_server(style: ReplyStyle, replies: Vec<u8>) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("ashlar-liar-{}-{number}.sock", std::process::id());
    let path = std::env::temp_dir().join(name);
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        shake_hands(&mut socket, style);
        let mut request = [0; 28];
        socket.read_exact(&mut request).unwrap();
        socket.write_all(&replies).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    path
}

fn shake_hands(socket: &mut UnixStream, style: ReplyStyle) {
    socket.write_all(&encode_greeting(3)).unwrap();
    let mut flags = [0; 4];
    socket.read_exact(&mut flags).unwrap();
    loop {
        let mut header = [0; OptionHeader::LEN];
        socket.read_exact(&mut header).unwrap();
        let header = OptionHeader::decode(&header).unwrap();
        let mut data = vec![0; header.len as usize];
        socket.read_exact(&mut data).unwrap();
        let mut out = Vec::new();
        let known = match header.option {
            OPT_GO => {
                let flags = FLAG_HAS_FLAGS | FLAG_SEND_FLUSH;
                let info = ExportInfo::Export { size: 8192, flags }.encode();
                OptionReply::encode(&mut out, OPT_GO, REP_INFO, &info);
                true
            }
            OPT_STRUCTURED_REPLY => style == ReplyStyle::Structured,
            _ => false,
        };
        let last = if known { REP_ACK } else { REP_ERR_UNSUP };
        OptionReply::encode(&mut out, header.option, last, b"");
        socket.write_all(&out).unwrap();
        if header.option == OPT_GO {
            return;
        }
    }
}

/// What a read of 512 bytes from byte 0 comes to.
fn read_from(style: ReplyStyle, replies: Vec<u8>) -> block::Result<Vec<u8>> {
    let path = lying_server(style, replies);
    let device = NbdDevice::connect(Address::unix(&path, ""))?;
    let driver = Driver::new()?;
    let mut queue = device.open_queue(&driver)?;
    queue.submit(Request::read(5, 0, Buffer::zeroed(512)));
    let mut done = Vec::new();
    loop {
        queue.poll(&mut done);
        if let Some(answer) = done.pop() {
            assert_eq!(answer.tag, 5);
            assert_eq!(answer.buffer.len(), 512, "the buffer comes back");
            let _ = std::fs::remove_file(&path);
            return answer.result.map(|()| answer.buffer.to_vec());
        }
        driver.wait(&mut [], None)?;
    }
}

fn data(offset: u64, len: usize) -> Vec<u8> {
    let head = HeadBytes::data(ReplyStyle::Structured, 0, offset, len as u32);
    let mut bytes = head.as_slice().to_vec();
    bytes.extend(vec![7; len]);
    bytes
}

#[test]
fn honest_replies_are_understood() {
    let mut simple = HeadBytes::data(ReplyStyle::Simple, 0, 0, 512)
        .as_slice()
        .to_vec();
    simple.extend([7; 512]);
    assert_eq!(read_from(ReplyStyle::Simple, simple).unwrap(), [7; 512]);
    assert_eq!(
        read_from(ReplyStyle::Structured, data(0, 512)).unwrap(),
        [7; 512]
    );
    // A hole and data, in two chunks.
    let mut chunks = data(256, 256);
    chunks[5] = 0; // not the last one
    chunks.extend_from_slice(&[0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 2]);
    chunks.extend_from_slice(&0_u64.to_be_bytes());
    chunks.extend_from_slice(&12_u32.to_be_bytes());
    chunks.extend_from_slice(&0_u64.to_be_bytes());
    chunks.extend_from_slice(&256_u32.to_be_bytes());
    let read = read_from(ReplyStyle::Structured, chunks).unwrap();
    assert_eq!((&read[..256], &read[256..]), (&[0; 256][..], &[7; 256][..]));
    // Data, and a chunk that says no more than that this was all.
    let mut chunks = data(0, 512);
    chunks[5] = 0;
    chunks.extend_from_slice(&data(0, 0));
    let read = read_from(ReplyStyle::Structured, chunks);
    assert_eq!(read.unwrap(), [7; 512]);
}

/// A long read comes in pieces, each of which goes where it belongs.
#[test]
fn long_reads_come_in_pieces() {
    let fake = Fake::start(USUAL);
    let bytes: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
    fake.lock().medium.clone_from(&bytes);
    let device = NbdDevice::connect(Address::unix(&fake.path, "")).unwrap();
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    queue.submit(Request::read(1, 0, Buffer::zeroed(bytes.len())));
    let answer = finish(&mut *queue, &driver, 1).remove(0);
    answer.result.unwrap();
    assert!(answer.buffer[..] == bytes);
}

#[test]
fn lies_end_the_connection_and_nothing_else() {
    let error = |code, words: &str| {
        let len = words.len() as u16;
        let head = HeadBytes::error(ReplyStyle::Structured, 0, 0, code, len);
        let mut bytes = head.as_slice().to_vec();
        bytes.extend_from_slice(words.as_bytes());
        bytes
    };
    let kind = |replies| {
        read_from(ReplyStyle::Structured, replies)
            .unwrap_err()
            .kind()
    };
    assert_eq!(kind(vec![]), Kind::Gone);
    assert_eq!(kind(vec![0xff; 64]), Kind::Gone);
    assert_eq!(kind(data(0, 512)[..300].to_vec()), Kind::Gone);
    assert_eq!(kind(data(256, 512)), Kind::Gone, "data outside the request");
    assert_eq!(kind(data(u64::MAX, 512)), Kind::Gone);
    assert_eq!(kind(data(0, 1024)), Kind::Gone);
    assert_eq!(kind(data(0, 256)), Kind::Io, "not all of the data");
    assert_eq!(kind(error(28, "full")), Kind::NoSpace);
    assert_eq!(kind(error(0, "")), Kind::Gone);
    let mut stranger = data(0, 512);
    stranger[15] = 9;
    assert_eq!(kind(stranger), Kind::Gone, "a cookie that nobody has");
    let mut unfinished = data(0, 0);
    unfinished[5] = 0;
    let error = read_from(ReplyStyle::Structured, unfinished).unwrap_err();
    assert!(error.to_string().contains("a chunk of kind 0"), "{error}");
    let none = HeadBytes::done(ReplyStyle::Extended, 0, 0);
    assert_eq!(kind(none.as_slice().to_vec()), Kind::Gone);
}

#[test]
fn what_is_lost_stays_lost() {
    let path = lying_server(ReplyStyle::Simple, vec![]);
    let device = NbdDevice::connect(Address::unix(&path, "")).unwrap();
    assert_eq!(device.info().size, 8192);
    let mut blocking = BlockingDevice::open(&device).unwrap();
    for _ in 0..2 {
        let error = blocking.read_at(&mut [0; 512], 0).unwrap_err();
        assert_eq!(error.kind(), Kind::Gone);
    }
    let _ = std::fs::remove_file(&path);
    assert!(NbdDevice::connect(Address::unix(&path, "")).is_err());
}

/// Who is refused because of TLS is told how to ask for it; of any other reason that is no part.
#[test]
fn refusals_of_the_export_name_their_remedy() {
    for (code, wants_tls) in [(REP_ERR_TLS_REQD, true), (REP_ERR_UNKNOWN, false)] {
        let fake = Fake::start(USUAL);
        fake.lock().refusal = Some(code);
        let error = NbdDevice::connect(Address::unix(&fake.path, "")).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("the server refuses"), "{text}");
        assert_eq!(text.contains("write nbds://"), wants_tls, "{text}");
    }
}

/// Only one queue writes, unless a flush covers what came over all connections.
#[test]
fn queues_are_as_many_as_flushes_cover() {
    for (flags, is_alone) in [
        (USUAL, true),
        (USUAL | FLAG_CAN_MULTI_CONN, false),
        (USUAL | FLAG_READ_ONLY, false),
    ] {
        let fake = Fake::start(flags);
        let device = NbdDevice::connect(Address::unix(&fake.path, "")).unwrap();
        let driver = Driver::new().unwrap();
        let _first = device.open_queue(&driver).unwrap();
        let second = device.open_queue(&driver).map(drop);
        assert_eq!(second.is_err(), is_alone, "{flags:#x}");
    }
}

/// No request is longer than the server takes, nor ends within one of its blocks.
#[test]
fn requests_are_cut_for_the_server() {
    let fake = Fake::start(USUAL);
    fake.lock().sizes = Some(Sizes {
        minimum: 512,
        preferred: 4096,
        maximum: 4096 + 100,
    });
    let device = NbdDevice::connect(Address::unix(&fake.path, "")).unwrap();
    let mut io = BlockingDevice::open(&device).unwrap();
    io.write_at(&[4; 10_240], 512).unwrap();
    let seen = |disk: &Disk| (disk.longest, disk.write_count);
    assert_eq!(seen(&fake.lock()), (4096, 3));
    let mut bytes = vec![0; 10_240];
    io.read_at(&mut bytes, 512).unwrap();
    assert_eq!(bytes, [4; 10_240]);
}

/// Writes that have to be durable are, also where the server knows only flushes.
#[test]
fn durable_writes_are_flushed_where_they_must_be() {
    for (flags, flushes) in [(USUAL, 0), (USUAL & !FLAG_SEND_FUA, 1)] {
        let fake = Fake::start(flags);
        let device = NbdDevice::connect(Address::unix(&fake.path, "")).unwrap();
        let driver = Driver::new().unwrap();
        let mut queue = device.open_queue(&driver).unwrap();
        for (round, durability) in [(1, Durability::Volatile), (2, Durability::Fua)] {
            let data = Buffer::copy_of(&[round; 512]);
            queue.submit(Request::write(0, 0, durability, data));
            finish(&mut *queue, &driver, 1).remove(0).result.unwrap();
        }
        let disk = fake.lock();
        assert_eq!((disk.flush_count, disk.medium[0]), (flushes, 2));
    }
}
