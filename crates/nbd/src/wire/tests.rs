//! What is encoded is decoded again, and arbitrary bytes never panic.

use proptest::prelude::{Strategy, any, prop, proptest};

use super::constants::{
    REPLY_TYPE_BLOCK_STATUS, REPLY_TYPE_BLOCK_STATUS_EXT, REPLY_TYPE_ERROR, REPLY_TYPE_OFFSET_DATA,
    STATE_HOLE, STATE_ZERO,
};
use super::{
    ExportInfo, Extents, HeadBytes, InfoRequest, MetaContext, MetaRequest, OptionHeader,
    OptionReply, ReplyHeader, ReplyStyle, RequestHeader, RequestStyle, StatusExtent, decode_error,
    decode_extents, decode_greeting, decode_listed, encode_greeting, encode_listed,
};

fn chunk(style: ReplyStyle, head: &HeadBytes) -> (u16, u64, u64) {
    let (header, used) = ReplyHeader::decode(style, head.as_slice())
        .unwrap()
        .unwrap();
    let ReplyHeader::Chunk {
        flags,
        kind,
        cookie,
        len,
    } = header
    else {
        panic!("a chunk, not {header:?}")
    };
    assert_eq!(flags, 1, "each reply is one chunk");
    assert!(used <= head.as_slice().len());
    (kind, cookie, len)
}

#[test]
fn requests_are_28_or_32_bytes_and_come_back_as_they_were() {
    let request = RequestHeader {
        flags: 1,
        command: 6,
        cookie: 0x0123_4567_89ab_cdef,
        offset: 1 << 40,
        len: 4096,
    };
    for style in [RequestStyle::Compact, RequestStyle::Extended] {
        let bytes = request.encode(style);
        let len = style.header_len();
        assert_eq!(
            RequestHeader::decode(style, &bytes[..len]).unwrap(),
            Some(request)
        );
        assert_eq!(
            RequestHeader::decode(style, &bytes[..len - 1]).unwrap(),
            None
        );
    }
    let bytes = request.encode(RequestStyle::Compact);
    assert!(RequestHeader::decode(RequestStyle::Extended, &bytes).is_err());
    assert_eq!(bytes[..8], [0x25, 0x60, 0x95, 0x13, 0, 1, 0, 6]);
}

#[test]
fn replies_say_how_much_follows() {
    for style in [ReplyStyle::Structured, ReplyStyle::Extended] {
        let head = HeadBytes::data(style, 7, 512, 4096);
        assert_eq!(chunk(style, &head), (REPLY_TYPE_OFFSET_DATA, 7, 8 + 4096));
        assert!(head.as_slice().ends_with(&512_u64.to_be_bytes()));
        let head = HeadBytes::data(style, 7, 512, 0);
        assert_eq!(chunk(style, &head), (0, 7, 0));
        let head = HeadBytes::error(style, 9, 0, 22, 3);
        assert_eq!(chunk(style, &head), (REPLY_TYPE_ERROR, 9, 9));
    }
    let done = HeadBytes::done(ReplyStyle::Extended, 5, 0);
    assert_eq!(chunk(ReplyStyle::Extended, &done), (0, 5, 0));
    for style in [ReplyStyle::Simple, ReplyStyle::Structured] {
        let head = HeadBytes::done(style, 5, 0);
        let simple = ReplyHeader::Simple {
            error: 0,
            cookie: 5,
        };
        assert_eq!(
            ReplyHeader::decode(style, head.as_slice()).unwrap(),
            Some((simple, 16))
        );
    }
}

#[test]
fn extents_that_do_not_fit_32_bits_end_the_list() {
    let extents = [
        StatusExtent {
            len: 4096,
            status: 0,
        },
        StatusExtent {
            len: 1 << 40,
            status: STATE_HOLE | STATE_ZERO,
        },
        StatusExtent {
            len: 512,
            status: 0,
        },
    ];
    let payload = Extents::encode(ReplyStyle::Extended, 1, &extents);
    let decoded = decode_extents(REPLY_TYPE_BLOCK_STATUS_EXT, payload.as_slice()).unwrap();
    assert_eq!(decoded, (1, extents.to_vec()));
    let payload = Extents::encode(ReplyStyle::Structured, 1, &extents);
    let (_, decoded) = decode_extents(REPLY_TYPE_BLOCK_STATUS, payload.as_slice()).unwrap();
    assert_eq!(decoded.len(), 2);
    assert_eq!(decoded[1].len, 1 << 31);
}

#[test]
fn options_come_back_as_they_were() {
    let info = InfoRequest {
        name: "vg0/data",
        wanted: vec![3, 1],
    };
    assert_eq!(InfoRequest::decode(&info.encode()).unwrap(), info);
    let meta = MetaRequest {
        name: "",
        queries: vec!["base:allocation", "base:"],
    };
    assert_eq!(MetaRequest::decode(&meta.encode()).unwrap(), meta);
    let context = MetaContext {
        id: 1,
        name: "base:allocation",
    };
    assert_eq!(MetaContext::decode(&context.encode()).unwrap(), context);
    let listed = encode_listed("a", "a volume");
    assert_eq!(decode_listed(&listed).unwrap(), ("a", "a volume"));
    assert_eq!(decode_greeting(&encode_greeting(3)).unwrap(), 3);
}

#[test]
fn counts_and_lengths_are_limited() {
    let mut data = 0_u32.to_be_bytes().to_vec();
    data.extend_from_slice(&u32::MAX.to_be_bytes());
    assert!(MetaRequest::decode(&data).is_err());
    assert!(InfoRequest::decode(&u32::MAX.to_be_bytes()).is_err());
    let nul = [0, 0, 0, 1, 0, 0, 0];
    assert!(InfoRequest::decode(&nul).is_err());
    let sizes = [0, 3, 0, 0, 0, 3, 0, 0, 16, 0, 0, 0, 16, 0];
    assert!(ExportInfo::decode(&sizes).is_err());
    let mut payload = 1_u32.to_be_bytes().to_vec();
    payload.extend_from_slice(&u32::MAX.to_be_bytes());
    assert!(decode_extents(REPLY_TYPE_BLOCK_STATUS_EXT, &payload).is_err());
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..128)
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(data in bytes(), kind in any::<u16>()) {
        for style in [ReplyStyle::Simple, ReplyStyle::Structured, ReplyStyle::Extended] {
            let _ = ReplyHeader::decode(style, &data);
        }
        for style in [RequestStyle::Compact, RequestStyle::Extended] {
            let _ = RequestHeader::decode(style, &data);
        }
        let _ = InfoRequest::decode(&data);
        let _ = MetaRequest::decode(&data);
        let _ = MetaContext::decode(&data);
        let _ = ExportInfo::decode(&data);
        let _ = decode_listed(&data);
        let _ = decode_extents(kind, &data);
        let _ = decode_error(kind, &data);
        if let Some(header) = data.first_chunk() {
            let _ = OptionHeader::decode(header);
        }
        if let Some(header) = data.first_chunk() {
            let _ = OptionReply::decode(header);
        }
    }
}
