//! What options are answered with, and what is said of an export, without any socket.

use std::sync::Arc;

use crate::wire::constants::{
    BASE_ALLOCATION, FLAG_CAN_MULTI_CONN, FLAG_HAS_FLAGS, FLAG_READ_ONLY, FLAG_ROTATIONAL,
    FLAG_SEND_CACHE, FLAG_SEND_DF, FLAG_SEND_FAST_ZERO, FLAG_SEND_FLUSH, FLAG_SEND_FUA,
    FLAG_SEND_TRIM, FLAG_SEND_WRITE_ZEROES, OPT_EXPORT_NAME, OPT_GO, OPT_LIST,
    OPT_LIST_META_CONTEXT, OPT_SET_META_CONTEXT, OPT_STRUCTURED_REPLY, OPTION_LEN_MAX, REP_ACK,
    REP_ERR_INVALID, REP_ERR_TOO_BIG, REP_ERR_UNKNOWN, REP_META_CONTEXT,
};
use crate::wire::{InfoRequest, MetaContext, MetaRequest, OptionHeader, OptionReply};
use crate::wire::{ReplyStyle, RequestStyle, StatusExtent};
use block::memory::MemoryDevice;
use block::{Info, Range, Result};

use super::{
    Access, Agreed, Export, Exports, Handshake, OPTION_COUNT_MAX, Progress, Tls, request_sizes,
    transmission_flags,
};
use crate::server::contexts::{ALLOCATION_ID, Context, NamedContext};

fn exports(names: &[&str]) -> Exports {
    let exports = Exports::new();
    for name in names {
        let export = Export {
            name: (*name).to_owned(),
            description: String::new(),
            access: Access::ReadWrite,
            device: Arc::new(MemoryDevice::new("small", 4096)),
        };
        exports.add(export).expect("a new name");
    }
    exports
}

fn begin(names: &[&str]) -> Handshake {
    let mut handshake = Handshake::begin(exports(names), Tls::Off, &mut Vec::new());
    let flags = handshake.advance(&3_u32.to_be_bytes(), &mut Vec::new());
    assert_eq!(flags.expect("known flags").0, 4);
    handshake
}

/// Each answer's kind and data.
type Answers = Vec<(u32, Vec<u8>)>;

fn ask(handshake: &mut Handshake, option: u32, data: &[u8]) -> (Answers, block::Result<Progress>) {
    let (mut input, mut out) = (Vec::new(), Vec::new());
    OptionHeader::encode(&mut input, option, data);
    let progress = handshake.advance(&input, &mut out);
    let mut answers = Vec::new();
    let mut rest = &out[..];
    while let Some((head, behind)) = rest.split_first_chunk() {
        let reply = OptionReply::decode(head).expect("a reply");
        let (data, next) = behind.split_at(reply.len as usize);
        answers.push((reply.kind, data.to_vec()));
        rest = next;
    }
    (answers, progress.map(|(_, progress)| progress))
}

fn kinds(handshake: &mut Handshake, option: u32, data: &[u8]) -> Vec<u32> {
    let (answers, _) = ask(handshake, option, data);
    answers.into_iter().map(|(kind, _)| kind).collect()
}

/// Clients are told what may be done with a device, bit by bit.
#[test]
fn flags_say_what_may_be_done() {
    let always =
        FLAG_HAS_FLAGS | FLAG_SEND_FLUSH | FLAG_SEND_FUA | FLAG_CAN_MULTI_CONN | FLAG_SEND_CACHE;
    let zeroes = FLAG_SEND_WRITE_ZEROES | FLAG_SEND_FAST_ZERO;
    let export = exports(&["a"]).find("a").expect("it is there");
    let (simple, structured) = (ReplyStyle::Simple, ReplyStyle::Structured);
    for (read_only, granularity, rotational, replies, more) in [
        (false, 0, false, simple, zeroes),
        (false, 1, false, simple, zeroes | FLAG_SEND_TRIM),
        (true, 1, false, simple, FLAG_READ_ONLY),
        (true, 0, true, simple, FLAG_READ_ONLY | FLAG_ROTATIONAL),
        (false, 0, false, structured, zeroes | FLAG_SEND_DF),
        (
            true,
            0,
            false,
            ReplyStyle::Extended,
            FLAG_READ_ONLY | FLAG_SEND_DF,
        ),
    ] {
        let mut info = Info::new("a", 4096);
        info.read_only = read_only;
        info.discard_granularity = granularity;
        info.rotational = rotational;
        let agreed = Agreed {
            export: Arc::clone(&export),
            info,
            requests: RequestStyle::Compact,
            replies,
            contexts: Vec::new(),
        };
        let flags = transmission_flags(&agreed);
        assert_eq!(flags, always | more, "{agreed:?}");
    }
}

/// Requests suit the largest of page, block and stripe, if the stripe is a power of two.
#[test]
fn sizes_suit_the_device() {
    for (physical, stripe, preferred) in [
        (512, 0, 4096),
        (8192, 0, 8192),
        (512, 65536, 65536),
        (8192, 4096, 8192),
        (512, 3 << 16, 4096),
    ] {
        let mut info = Info::new("a", 4096);
        (info.physical_block, info.minimum_io) = (physical, stripe);
        let sizes = request_sizes(&info);
        assert_eq!((sizes.minimum, sizes.preferred), (512, preferred));
    }
}

/// An option may be as long as 64 KiB, which is refused as any other wrong one; a longer one ends
/// the connection. Nobody haggles without end.
#[test]
fn options_have_bounds() {
    let mut handshake = begin(&["a"]);
    let longest = vec![0; OPTION_LEN_MAX as usize];
    let (answers, progress) = ask(&mut handshake, OPT_LIST, &longest);
    assert_eq!(answers[0].0, REP_ERR_INVALID);
    progress.expect("the next option may be right");
    let longer = vec![0; OPTION_LEN_MAX as usize + 1];
    let (answers, progress) = ask(&mut handshake, OPT_LIST, &longer);
    assert_eq!(answers[0].0, REP_ERR_TOO_BIG);
    progress.expect_err("it ends");
    let mut handshake = begin(&["a"]);
    for _ in 0..OPTION_COUNT_MAX {
        ask(&mut handshake, OPT_LIST, b"")
            .1
            .expect("enough is allowed");
    }
    ask(&mut handshake, OPT_LIST, b"").1.expect_err("it ends");
}

/// The one context is listed for whoever asks for all, for its family or for itself, and set only
/// by its name.
#[test]
fn contexts_are_listed_and_set() {
    for (query, listed, set) in [
        (None, true, false),
        (Some(BASE_ALLOCATION), true, true),
        (Some("base:"), true, false),
        (Some("qemu:"), false, false),
    ] {
        let mut handshake = begin(&["a"]);
        assert_eq!(kinds(&mut handshake, OPT_STRUCTURED_REPLY, b""), [REP_ACK]);
        let queries = query.into_iter().collect();
        let data = MetaRequest { name: "a", queries }.encode();
        for (option, is_there, id) in [
            (OPT_LIST_META_CONTEXT, listed, 0),
            (OPT_SET_META_CONTEXT, set, ALLOCATION_ID),
        ] {
            let (answers, _) = ask(&mut handshake, option, &data);
            let name = BASE_ALLOCATION;
            let context = (REP_META_CONTEXT, MetaContext { id, name }.encode());
            let mut wanted: Answers = is_there.then_some(context).into_iter().collect();
            wanted.push((REP_ACK, Vec::new()));
            assert_eq!(answers, wanted, "{query:?}");
        }
    }
}

struct Nothing;

impl Context for Nothing {
    fn extents(&self, _: Range, _: usize) -> Result<Vec<StatusExtent>> {
        unreachable!("nobody asks")
    }
}

/// Contexts that an export offers are listed and set beside the one that all have, each under a
/// number of its own; names that are none, doubled or of the base are not offered.
#[test]
fn exports_offer_contexts() {
    let named = |name: &str| NamedContext {
        name: name.to_owned(),
        context: Arc::new(Nothing),
    };
    let export = |name: &str| Export {
        name: name.to_owned(),
        description: String::new(),
        access: Access::ReadOnly,
        device: Arc::new(MemoryDevice::new("small", 4096)),
    };
    let exports = Exports::new();
    for names in [
        &["leaf"][..],
        &["base:other"],
        &["a:b", "a:b"],
        &["a:\0"],
        &[
            "a:1", "a:2", "a:3", "a:4", "a:5", "a:6", "a:7", "a:8", "a:9",
        ],
    ] {
        let contexts = names.iter().map(|name| named(name)).collect();
        assert!(
            exports.add_with(export("a"), contexts).is_err(),
            "{names:?}"
        );
    }
    let contexts = vec![named("x:one"), named("y:two")];
    exports.add_with(export("a"), contexts).expect("names");
    let mut handshake = Handshake::begin(exports, Tls::Off, &mut Vec::new());
    let flags = handshake.advance(&1_u32.to_be_bytes(), &mut Vec::new());
    flags.expect("known flags");
    kinds(&mut handshake, OPT_STRUCTURED_REPLY, b"");
    let mut told = |option, queries: &[&'static str]| {
        let queries = queries.to_vec();
        let data = MetaRequest { name: "a", queries }.encode();
        let (answers, _) = ask(&mut handshake, option, &data);
        let contexts = answers.iter().filter(|(kind, _)| *kind == REP_META_CONTEXT);
        let read = contexts.map(|(_, data)| {
            let context = MetaContext::decode(data).expect("a context");
            (context.id, context.name.to_owned())
        });
        read.collect::<Vec<_>>()
    };
    let pair = |id: u32, name: &str| (id, name.to_owned());
    assert_eq!(told(OPT_LIST_META_CONTEXT, &[]).len(), 3);
    let listed = told(OPT_LIST_META_CONTEXT, &["y:"]);
    assert_eq!(listed, [pair(0, "y:two")]);
    let set = told(OPT_SET_META_CONTEXT, &["y:two", BASE_ALLOCATION, "z:"]);
    let wanted = [
        pair(ALLOCATION_ID, BASE_ALLOCATION),
        pair(ALLOCATION_ID + 2, "y:two"),
    ];
    assert_eq!(set, wanted);
}

/// Block status is agreed on for the export that was named, and by the last word.
#[test]
fn block_status_is_for_one_export() {
    let set = |handshake: &mut Handshake, name, queries| {
        let data = MetaRequest { name, queries }.encode();
        kinds(handshake, OPT_SET_META_CONTEXT, &data)
    };
    let chosen = vec![BASE_ALLOCATION];
    for (second, name, wanted) in [
        (None, "a", 1),
        (None, "b", 0),
        (Some(("a", vec![])), "a", 0),
        (Some(("none", chosen.clone())), "a", 0),
    ] {
        let mut handshake = begin(&["a", "b"]);
        let before = set(&mut handshake, "a", chosen.clone());
        assert_eq!(before, [REP_ERR_INVALID], "structured replies come first");
        kinds(&mut handshake, OPT_STRUCTURED_REPLY, b"");
        set(&mut handshake, "a", chosen.clone());
        if let Some((name, queries)) = second {
            let refused = set(&mut handshake, name, queries) == [REP_ERR_UNKNOWN];
            assert_eq!(refused, name == "none");
        }
        let wanted_of = InfoRequest {
            name,
            wanted: vec![],
        };
        let (_, progress) = ask(&mut handshake, OPT_GO, &wanted_of.encode());
        let Ok(Progress::Transmit(agreed)) = progress else {
            panic!("it is there")
        };
        assert_eq!(agreed.contexts.len(), wanted);
        assert_eq!(agreed.replies, ReplyStyle::Structured);
    }
}

/// The oldest way to choose an export ends with zeros, unless the client asks to be spared.
#[test]
fn zeros_follow_where_they_are_wanted() {
    for (flags, len) in [(1_u32, 8 + 2 + 124), (3, 8 + 2)] {
        let mut handshake = Handshake::begin(exports(&["a"]), Tls::Off, &mut Vec::new());
        let (mut input, mut out) = (Vec::new(), Vec::new());
        let used = handshake.advance(&flags.to_be_bytes(), &mut out);
        used.expect("known flags");
        OptionHeader::encode(&mut input, OPT_EXPORT_NAME, b"a");
        let (_, progress) = handshake.advance(&input, &mut out).expect("it is there");
        assert!(matches!(progress, Progress::Transmit(_)));
        assert_eq!(out.len(), len, "{flags}");
    }
}
