//! Our NBD client against a server that sends any bytes: no panic, no hang, and a read that
//! succeeds was answered with as many bytes as it asked for.
//!
//! The first byte says what comes before the others: nothing (they are the whole conversation), or
//! a good handshake for simple, structured or extended replies, of a disk of 64 KiB. With its
//! highest bit set, each run of bytes at the place of a reply is given the magic number and a
//! cookie that the client knows, or little would get past that. The bytes are sent at once; the
//! client is asked to read, write and flush meanwhile.
#![no_main]

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use block::{Buffer, Device, Driver, Durability, Request};
use libfuzzer_sys::fuzz_target;
use nbd::client::{Address, NbdDevice};
use nbd::wire::constants::{
    BASE_ALLOCATION, FLAG_HAS_FLAGS, FLAG_SEND_FLUSH, FLAG_SEND_FUA, OPT_EXTENDED_HEADERS, OPT_GO,
    OPT_SET_META_CONTEXT, OPT_STRUCTURED_REPLY, REP_ACK, REP_ERR_UNSUP, REP_INFO, REP_META_CONTEXT,
};
use nbd::wire::{ExportInfo, MetaContext, OptionReply, encode_greeting};

const SIZE: u64 = 64 << 10;
/// Longer than anything may take that a few kilobytes say.
const PATIENCE: Duration = Duration::from_secs(20);

static PLACE: LazyLock<(UnixListener, PathBuf)> = LazyLock::new(|| {
    let name = format!("ashlar-fuzz-client-{}.sock", std::process::id());
    let path = std::env::temp_dir().join(name);
    let _ = std::fs::remove_file(&path);
    (UnixListener::bind(&path).expect("a socket"), path)
});

fuzz_target!(|bytes: &[u8]| {
    let Some((&mode, bytes)) = bytes.split_first() else {
        return;
    };
    let mut sent = Vec::new();
    let style = mode & 3;
    if style > 0 {
        shake_hands(style, &mut sent);
    }
    let start = sent.len();
    sent.extend_from_slice(bytes);
    if style > 0 && mode & 0x80 != 0 {
        stamp(style, &mut sent[start..]);
    }
    let began = Instant::now();
    let (listener, path) = &*PLACE;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut socket, _) = listener.accept().expect("a client");
            socket.set_write_timeout(Some(PATIENCE)).expect("a timeout");
            // The client may hang up before it has heard everything.
            let _ = socket.write_all(&sent);
            let _ = socket.shutdown(Shutdown::Write);
            let _ = std::io::copy(&mut socket, &mut std::io::sink());
        });
        converse(path);
    });
    assert!(began.elapsed() < PATIENCE, "the client hangs");
});

fn converse(path: &PathBuf) {
    let Ok(device) = NbdDevice::connect(Address::unix(path, "")) else {
        return;
    };
    let info = device.info();
    let driver = Driver::new().expect("a driver");
    let Ok(mut queue) = device.open_queue(&driver) else {
        return;
    };
    let block = (info.logical_block as usize).clamp(512, 4096);
    queue.submit(Request::read(0, 0, Buffer::zeroed(block)));
    queue.submit(Request::read(1, block as u64, Buffer::zeroed(2 * block)));
    let data = Buffer::zeroed(block);
    queue.submit(Request::write(2, 0, Durability::Fua, data));
    queue.submit(Request::flush(3));
    let mut done = Vec::new();
    let end = Instant::now() + PATIENCE;
    let mut count = 0;
    while count < 4 {
        queue.poll(&mut done);
        for answer in done.drain(..) {
            let len = [block, 2 * block, block, 0][answer.tag as usize];
            assert_eq!(answer.buffer.len(), len, "the buffer comes back");
            count += 1;
        }
        assert!(Instant::now() < end, "requests are answered");
        if count < 4 {
            driver.wait(&mut [], Some(PATIENCE)).expect("a wait");
        }
    }
    assert_eq!(queue.in_flight(), 0);
}

/// What a good server says before the second phase.
fn shake_hands(style: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&encode_greeting(3));
    let answer = |out: &mut Vec<u8>, option, is_known| {
        let kind = if is_known { REP_ACK } else { REP_ERR_UNSUP };
        OptionReply::encode(out, option, kind, b"");
    };
    answer(out, OPT_EXTENDED_HEADERS, style == 3);
    if style < 3 {
        answer(out, OPT_STRUCTURED_REPLY, style == 2);
    }
    if style > 1 {
        let context = MetaContext {
            id: 1,
            name: BASE_ALLOCATION,
        };
        let data = context.encode();
        OptionReply::encode(out, OPT_SET_META_CONTEXT, REP_META_CONTEXT, &data);
        answer(out, OPT_SET_META_CONTEXT, true);
    }
    let flags = FLAG_HAS_FLAGS | FLAG_SEND_FLUSH | FLAG_SEND_FUA;
    let info = ExportInfo::Export { size: SIZE, flags }.encode();
    OptionReply::encode(out, OPT_GO, REP_INFO, &info);
    answer(out, OPT_GO, true);
}

/// Makes replies of what stands where replies begin: a magic number, and one of four cookies.
fn stamp(style: u8, mut replies: &mut [u8]) {
    loop {
        let is_simple =
            style == 1 || (style == 2 && replies.first().is_some_and(|byte| byte & 1 == 0));
        let (magic, cookie, len) = match (style, is_simple) {
            (_, true) => (0x6744_6698_u32, 8, 16),
            (2, _) => (0x668e_33ef, 8, 20),
            _ => (0x6e8a_278c, 8, 32),
        };
        if replies.len() < len {
            return;
        }
        replies[..4].copy_from_slice(&magic.to_be_bytes());
        // Slots are taken from 0 on, and none of these requests has a second piece.
        replies[cookie..cookie + 7].fill(0);
        replies[cookie + 7] &= 3;
        let mut next = len;
        if !is_simple {
            // The low two bytes of the length, in either form.
            replies[len - 4..len - 2].fill(0);
            if len == 32 {
                replies[24..28].fill(0);
            }
            next += usize::from(u16::from_be_bytes([replies[len - 2], replies[len - 1]]));
        } else if replies[cookie + 7] < 2 && replies[4..8] == [0; 4] {
            next += 512 * (usize::from(replies[cookie + 7]) + 1);
        }
        let Some(rest) = replies.get_mut(next..) else {
            return;
        };
        replies = rest;
    }
}
