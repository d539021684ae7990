//! Streams of `ashlar send`: any bytes are records in order within the volume, or refused; what is
//! understood is written again as a stream that says the same and ends in the same chain. Notes and
//! tokens: what is read prints and reads as the same.
//!
//! The first byte says what the others are: a text, a stream, or records whose checksums are put
//! right first, which no mutation would hit.
#![no_main]

use ashlar::stream::{Header, MAGIC, Note, Reader, Record, Token, Writer};
use block::Range;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};

fuzz_target!(|bytes: &[u8]| {
    match bytes.split_first() {
        Some((0, text)) => texts(&String::from_utf8_lossy(text)),
        Some((1, stream)) => read(stream),
        Some((_, stream)) => read(&with_checksums(stream)),
        None => {}
    }
});

/// The same with the magic number, the lengths of payloads that are there, and the checksums and
/// digests that `docs/format.md` demands.
fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    const FRAME: usize = 32;
    let mut stream = bytes.to_vec();
    let Some(magic) = stream.get_mut(..MAGIC.len()) else {
        return stream;
    };
    magic.copy_from_slice(MAGIC);
    let (mut at, mut chain) = (MAGIC.len(), [0; 32]);
    while at + FRAME <= stream.len() {
        let (frame, rest) = stream[at..].split_at_mut(FRAME);
        let said = u32::from_le_bytes(frame[4..8].try_into().expect("4 bytes")) as usize;
        let length = said.min(rest.len());
        frame[4..8].copy_from_slice(&(length as u32).to_le_bytes());
        let payload = &mut rest[..length];
        if frame[..4] == *b"end." && length == chain.len() {
            payload.copy_from_slice(&chain);
        }
        frame[24..28].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
        let own = crc32fast::hash(&[&chain[..], &frame[..28]].concat());
        frame[28..].copy_from_slice(&own.to_le_bytes());
        let is_head = at == MAGIC.len();
        let is_rest = is_head && length >= 152 && payload[112..152] != [0; 40];
        let digest = if is_head {
            Sha256::digest(&*payload)
        } else {
            Sha256::digest([&chain[..], frame, payload].concat())
        };
        chain = if is_rest {
            payload[120..152].try_into().expect("32 bytes")
        } else {
            digest.into()
        };
        at += FRAME + length;
    }
    stream
}

fn texts(text: &str) {
    if let Ok(note) = Note::parse(text) {
        assert_eq!(
            Note::parse(&note.to_text()).expect("it was said here"),
            note
        );
    }
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!(token.to_string(), text);
    }
}

fn read(stream: &[u8]) {
    let Ok(mut reader) = Reader::begin(stream) else {
        return;
    };
    let header: Header = reader.header().clone();
    let mut writer = Writer::begin(Vec::new(), &header).expect("memory takes it");
    let (mut at, mut carried) = (header.position(), 0);
    loop {
        match reader.record() {
            Ok(Record::Data(start, bytes)) => {
                let range = Range::new(start, bytes.len() as u64);
                assert!(
                    range.start() >= at && range.end() <= header.size,
                    "{range:?}"
                );
                at = range.end();
                carried += bytes.len();
                assert!(carried <= stream.len());
                writer.bytes(start, bytes).expect("memory takes it");
            }
            Ok(Record::Zeroes(range)) => {
                assert!(
                    range.start() >= at && range.end() <= header.size,
                    "{range:?}"
                );
                at = range.end();
                writer.zeroes(range).expect("memory takes it");
            }
            Ok(Record::End) => break,
            Err(_) => return,
        }
    }
    assert!(
        header.base.is_some() || at == header.size,
        "a part is missing"
    );
    let again = writer.finish().expect("memory takes it");
    let mut again = Reader::begin(&again[..]).expect("it was written here");
    assert_eq!(*again.header(), header);
    while again.record().expect("it was written here") != Record::End {}
}
