//! What a server says of its extents, as ours.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use super::{Agreed, Connection, extents, merge};
use crate::wire::constants::{STATE_HOLE, STATE_ZERO};
use crate::wire::{ChunkPlace, Extents, HeadBytes, ReplyStyle, RequestStyle, Sizes, StatusExtent};
use block::{ExtentKind, Kind, Range, Result};

/// The number of `base:allocation` in these tests.
const CONTEXT: u32 = 7;

/// What a client takes from `replies` when it asks for 8192 bytes.
fn ask(style: ReplyStyle, replies: &[u8]) -> Result<Vec<(u64, ExtentKind)>> {
    let (ours, mut theirs) = UnixStream::pair().expect("two sockets");
    theirs.write_all(replies).expect("fits into the socket");
    theirs.shutdown(Shutdown::Write).expect("is connected");
    let agreed = Agreed {
        size: 1 << 20,
        flags: 0,
        sizes: Sizes {
            minimum: 512,
            preferred: 4096,
            maximum: 1 << 20,
        },
        requests: match style {
            ReplyStyle::Extended => RequestStyle::Extended,
            ReplyStyle::Simple | ReplyStyle::Structured => RequestStyle::Compact,
        },
        replies: style,
        context: Some(CONTEXT),
    };
    let socket = ours.into();
    let found = extents(&Connection { socket, agreed }, Range::new(0, 8192), 9)?;
    Ok(found.iter().map(|one| (one.len, one.kind)).collect())
}

/// A chunk, the last one, that says of the whole what `status` is.
fn chunk(style: ReplyStyle, context: u32, status: u64) -> Vec<u8> {
    let said = [StatusExtent { len: 8192, status }];
    let payload = Extents::encode(style, context, &said);
    let head = HeadBytes::block_status((style, ChunkPlace::Last), 1, 0, &payload);
    [head.as_slice(), payload.as_slice()].concat()
}

/// Of all that a server says only what it says of `base:allocation` counts, in either style.
#[test]
fn the_context_that_was_chosen_counts() {
    for style in [ReplyStyle::Structured, ReplyStyle::Extended] {
        let zero = [(8192, ExtentKind::Zero)];
        let ours = chunk(style, CONTEXT, STATE_ZERO);
        assert_eq!(ask(style, &ours).expect("one chunk"), zero);
        let mut first = ours;
        first[5] = 0; // not the last one
        let both = [first.clone(), chunk(style, CONTEXT + 1, 0)].concat();
        assert_eq!(ask(style, &both).expect("two chunks"), zero);
        ask(style, &chunk(style, CONTEXT + 1, 0)).expect_err("another context alone");
        let error = ask(style, &first).expect_err("there is more to come");
        assert_eq!(error.kind(), Kind::Gone);
        let mut failed = HeadBytes::error(style, 1, 0, 28, 0).as_slice().to_vec();
        assert_eq!(
            ask(style, &failed).expect_err("fails").kind(),
            Kind::NoSpace
        );
        failed[..4].fill(0);
        ask(style, &failed).expect_err("no reply");
    }
    let simple = HeadBytes::done(ReplyStyle::Structured, 1, 0);
    let error = ask(ReplyStyle::Structured, simple.as_slice()).expect_err("says nothing");
    assert_eq!(error.kind(), Kind::Invalid);
}

/// Neighbours of one kind become one, no longer than what was asked, and as many as were asked.
#[test]
fn extents_are_merged_and_cut() {
    use ExtentKind::{Data, Hole, Zero};
    let both = STATE_HOLE | STATE_ZERO;
    // A hole that does not read as zeros is data; bits that nobody knows mean nothing.
    let said = [
        (512, both),
        (512, both | 1 << 40),
        (1024, STATE_ZERO),
        (512, STATE_HOLE),
        (512, 0),
        (4096, both),
    ];
    let said = said.map(|(len, status)| StatusExtent { len, status });
    let all = [(1024, Hole), (1024, Zero), (1024, Data), (4096, Hole)];
    for (len, count_max, wanted) in [
        (7168, 9, &all[..]),
        (1 << 40, 4, &all[..]),
        (7168, 3, &all[..3]),
        (7168, 1, &all[..1]),
        (7168, 0, &all[..1]),
        (1024, 9, &[(1024, Hole)]),
        (700, 9, &[(700, Hole)]),
        (
            3072 + 5,
            9,
            &[(1024, Hole), (1024, Zero), (1024, Data), (5, Hole)],
        ),
    ] {
        let found = merge(&said, len, count_max).expect("there are some");
        let found: Vec<_> = found.iter().map(|one| (one.len, one.kind)).collect();
        assert_eq!(found, wanted, "{len} {count_max}");
    }
    merge(&[], 512, 1).expect_err("a reply without extents");
    let empty = StatusExtent { len: 0, status: 0 };
    merge(&[empty], 512, 1).expect_err("a reply without a byte");
}
