//! The NBD server against a client that sends any bytes: the connection ends when the client's
//! bytes do, whatever they were; replies are well formed; and another client is served all along.
//!
//! The first byte says what comes before the others: nothing (they are the whole conversation), or
//! a good handshake for one of the three forms of replies. With its highest bit set, each request
//! is given the magic number that it must have, or little would get past that.
#![no_main]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use block::memory::MemoryDevice;
use libfuzzer_sys::fuzz_target;
use nbd::server::{Access, Export, Exports, Limits, Server};
use nbd::wire::constants::{
    BASE_ALLOCATION, CMD_WRITE, OPT_EXTENDED_HEADERS, OPT_GO, OPT_SET_META_CONTEXT,
    OPT_STRUCTURED_REPLY,
};
use nbd::wire::{
    InfoRequest, MetaRequest, OptionHeader, OptionReply, ReplyHeader, ReplyStyle, RequestStyle,
};

/// Small, so that replies to many requests stay within the memory that a fuzzer may use.
const SIZE: u64 = 64 << 10;
/// Longer than the server may need for anything that a few kilobytes can ask.
const PATIENCE: Duration = Duration::from_secs(10);

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let exports = Exports::new();
    for (name, access) in [("a", Access::ReadWrite), ("b", Access::ReadOnly)] {
        let export = Export {
            name: name.to_owned(),
            description: "a disk".to_owned(),
            access,
            device: Arc::new(MemoryDevice::new(name, SIZE)),
        };
        exports.add(export).expect("two names");
    }
    let limits = Limits {
        handshake: Duration::from_secs(5),
        ..Limits::default()
    };
    Server::with_limits(exports, limits).expect("a server")
});

fuzz_target!(|bytes: &[u8]| {
    let Some((&mode, bytes)) = bytes.split_first() else {
        return;
    };
    let style = [
        None,
        Some(ReplyStyle::Simple),
        Some(ReplyStyle::Structured),
        Some(ReplyStyle::Extended),
    ][usize::from(mode & 3)];
    let mut sent = Vec::new();
    let mut options = 0;
    if let Some(style) = style {
        options = shake_hands(style, &mut sent);
    }
    let start = sent.len();
    sent.extend_from_slice(bytes);
    if let Some(style) = style.filter(|_| mode & 0x80 != 0) {
        stamp(style, &mut sent[start..]);
    }
    let received = converse(&sent);
    assert_eq!(&received[..8], b"NBDMAGIC");
    if let Some(style) = style {
        let mut rest = &received[18..];
        while options > 0 {
            let header = rest.first_chunk().expect("a good option is answered");
            let header = OptionReply::decode(header).expect("a good answer");
            assert_eq!(header.kind & (1 << 31), 0, "a good option is granted");
            options -= usize::from(header.kind == 1);
            rest = &rest[OptionReply::LEN + header.len as usize..];
        }
        if style != ReplyStyle::Simple {
            check_replies(style, rest);
        }
    }
});

/// Sends everything, and returns all that comes back until the server hangs up.
fn converse(sent: &[u8]) -> Vec<u8> {
    let (mut ours, theirs) = UnixStream::pair().expect("a socket");
    SERVER.serve(theirs.into()).expect("another client");
    ours.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut writer = ours.try_clone().expect("a descriptor");
    let mut received = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The server may hang up before it has heard everything.
            let _ = writer.write_all(sent);
            let _ = writer.shutdown(Shutdown::Write);
        });
        if let Err(error) = ours.read_to_end(&mut received) {
            let gone = std::io::ErrorKind::ConnectionReset;
            assert_eq!(error.kind(), gone, "the server does not hang up");
        }
    });
    received
}

/// Appends a good handshake; the number of its options.
fn shake_hands(style: ReplyStyle, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&3_u32.to_be_bytes());
    let mut count = 1;
    if style != ReplyStyle::Simple {
        let option = match style {
            ReplyStyle::Extended => OPT_EXTENDED_HEADERS,
            _ => OPT_STRUCTURED_REPLY,
        };
        OptionHeader::encode(out, option, b"");
        let meta = MetaRequest {
            name: "a",
            queries: vec![BASE_ALLOCATION],
        };
        OptionHeader::encode(out, OPT_SET_META_CONTEXT, &meta.encode());
        count += 2;
    }
    let go = InfoRequest {
        name: "a",
        wanted: vec![],
    };
    OptionHeader::encode(out, OPT_GO, &go.encode());
    count
}

/// Gives each request its magic number, and writes a length that their data has.
fn stamp(style: ReplyStyle, mut requests: &mut [u8]) {
    let (requests_style, magic) = match style {
        ReplyStyle::Extended => (RequestStyle::Extended, 0x21e4_1c71_u32),
        _ => (RequestStyle::Compact, 0x2560_9513),
    };
    let len = requests_style.header_len();
    while requests.len() >= len {
        requests[..4].copy_from_slice(&magic.to_be_bytes());
        let command = u16::from_be_bytes([requests[6], requests[7]]);
        let mut next = len;
        if command == CMD_WRITE {
            // The low two bytes of the length, in either form.
            requests[24..len - 2].fill(0);
            next += usize::from(u16::from_be_bytes([requests[len - 2], requests[len - 1]]));
        }
        let Some(rest) = requests.get_mut(next..) else {
            return;
        };
        requests = rest;
    }
}

fn check_replies(style: ReplyStyle, mut replies: &[u8]) {
    // The last one may be cut off where a client broke the rules.
    while let Some((header, used)) = ReplyHeader::decode(style, replies).expect("a good reply") {
        let len = match header {
            ReplyHeader::Simple { .. } => 0,
            ReplyHeader::Chunk { len, .. } => len as usize,
        };
        let Some(rest) = replies.get(used + len..) else {
            return;
        };
        replies = rest;
    }
}
