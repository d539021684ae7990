//! Streams against a naive copy of bytes, cut off, broken and made up; notes and tokens.

use block::Range;
use lvm2::Uuid;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};

use super::frame::Frame;
use super::{Chain, Header, Held, Note, Reader, Record, Token, Verdict, Writer};
use crate::activate::Permanence;
use crate::{Kind, Result};

const SIZE: usize = 300_000;

fn uuid(number: u8) -> Uuid {
    Uuid::from_random(&[number; 32])
}

/// A stream of the moment `moment` of one volume.
fn header(moment: u8, base: Option<u8>) -> Header {
    Header {
        name: format!("vg0/m{moment}"),
        volume: uuid(0),
        moment: uuid(moment),
        base: base.map(uuid),
        permanence: Permanence::Lasting,
        size: SIZE as u64,
        from: None,
    }
}

/// What a volume holds: runs of zeros and of other bytes, in turn.
fn content(lengths: &[usize]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, length) in lengths.iter().enumerate() {
        let byte = |at: usize| (at * 7 + index) as u8 | 1;
        if index % 2 == 0 {
            bytes.resize(bytes.len() + length, 0);
        } else {
            bytes.extend((0..*length).map(byte));
        }
    }
    bytes.resize(SIZE, 0);
    bytes
}

/// The stream of these ranges, with the zeros that the device knows said as such.
fn written(header: &Header, volume: &[u8], ranges: &[Range]) -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), header).expect("memory takes it");
    for range in ranges {
        let bytes = &volume[range.start() as usize..range.end() as usize];
        if range.start() % 3 == 0 && bytes.iter().all(|byte| *byte == 0) {
            writer.zeroes(*range).expect("memory takes it");
        } else {
            writer.bytes(range.start(), bytes).expect("memory takes it");
        }
    }
    writer.finish().expect("memory takes it")
}

/// Applies a stream; says how it ended, and where it stood then.
fn applied(stream: &[u8], target: &mut [u8]) -> (Result<()>, (u64, Chain)) {
    let mut reader = match Reader::begin(stream) {
        Ok(reader) => reader,
        Err(error) => return (Err(error), (0, Chain::of(b""))),
    };
    loop {
        match reader.record() {
            Ok(Record::Data(start, bytes)) => {
                target[start as usize..start as usize + bytes.len()].copy_from_slice(bytes);
            }
            Ok(Record::Zeroes(range)) => {
                target[range.start() as usize..range.end() as usize].fill(0);
            }
            Ok(Record::End) => return (Ok(()), reader.stand()),
            Err(error) => {
                let stand = reader.stand();
                return (Err(error), stand);
            }
        }
    }
}

/// Ranges of the volume, of gaps and lengths in turn.
fn ranges(lengths: &[u64]) -> Vec<Range> {
    let mut all = crate::tests::ranges::ranges(lengths);
    all.retain(|range| range.end() <= SIZE as u64);
    all
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1..90_000_usize, 0..8)
}

fn some_ranges() -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(1..60_000_u64, 0..16)
}

proptest! {
    /// A whole stream makes the volume of anything, and an incremental one changes its ranges and
    /// no other byte; zeros are not carried.
    #[test]
    fn streams_carry_bytes(one in lengths(), list in some_ranges(), seed in any::<u8>()) {
        let volume = content(&one);
        let mut target = vec![seed; SIZE];
        let whole = written(&header(1, None), &volume, &[Range::new(0, SIZE as u64)]);
        applied(&whole, &mut target).0.expect("it is whole");
        prop_assert!(target == volume);
        let data = volume.chunks(64 << 10).filter(|piece| piece.iter().any(|byte| *byte != 0));
        let data: usize = data.map(<[u8]>::len).sum();
        prop_assert!(whole.len() < data + 2000, "{} for {data}", whole.len());

        let mut target = vec![seed; SIZE];
        let mut wanted = target.clone();
        let list = ranges(&list);
        for range in &list {
            let span = range.start() as usize..range.end() as usize;
            wanted[span.clone()].copy_from_slice(&volume[span]);
        }
        let stream = written(&header(2, Some(1)), &volume, &list);
        applied(&stream, &mut target).0.expect("it is whole");
        prop_assert!(target == wanted);
    }

    /// A stream that is cut off anywhere is told as one that ends early, and the rest of it, sent
    /// from where it stood, makes the same of the target and ends in the same chain; nothing is
    /// sent twice.
    #[test]
    fn a_cut_stream_is_gone_on_with(
        one in lengths(),
        list in some_ranges(),
        is_whole in any::<bool>(),
        cut in any::<proptest::sample::Index>(),
    ) {
        let volume = content(&one);
        let (head, list) = if is_whole {
            (header(1, None), vec![Range::new(0, SIZE as u64)])
        } else {
            (header(2, Some(1)), ranges(&list))
        };
        let stream = written(&head, &volume, &list);
        let (mut wanted, mut target) = (vec![9; SIZE], vec![9; SIZE]);
        let (ended, last) = applied(&stream, &mut wanted);
        ended.expect("it is whole");
        let cut = cut.index(stream.len());
        let (ended, stand) = applied(&stream[..cut], &mut target);
        prop_assert_eq!(ended.expect_err("it is cut").kind(), Kind::Incomplete);
        // Before the head is there nothing is known.
        if stand.1 == Chain::of(b"") {
            return Ok(());
        }
        let rest = Header { from: Some(stand), ..head.clone() };
        prop_assert!(rest.is_same_stream(&head));
        let all = list.iter().filter_map(|range| {
            range.intersection(Range::new(stand.0, SIZE as u64 - stand.0))
        });
        let rest = written(&rest, &volume, &all.collect::<Vec<_>>());
        // A second head is all that is sent more.
        let before = list.iter().filter_map(|range| range.intersection(Range::new(0, stand.0)));
        let before = written(&head, &volume, &before.collect::<Vec<_>>());
        let end = Frame::LEN + Chain::LEN;
        prop_assert!(before.len() - end + rest.len() <= stream.len() + 16 + Frame::LEN + 160);
        let (ended, _) = applied(&rest, &mut target);
        ended.expect("it is whole");
        prop_assert!(target == wanted);
        prop_assert!(last.0 <= SIZE as u64);
    }

    /// A stream of which one byte is another is refused, and what it did before that was right.
    #[test]
    fn a_broken_stream_is_refused(
        one in lengths(),
        at in any::<proptest::sample::Index>(),
        flip in 1_u8..,
    ) {
        let volume = content(&one);
        let mut stream = written(&header(1, None), &volume, &[Range::new(0, SIZE as u64)]);
        let at = at.index(stream.len());
        stream[at] ^= flip;
        let mut target = vec![0; SIZE];
        let (ended, stand) = applied(&stream, &mut target);
        prop_assert!(ended.is_err());
        let done = stand.0 as usize;
        prop_assert!(target[..done] == volume[..done]);
        prop_assert!(target[done..].iter().all(|byte| *byte == 0));
    }

    /// Any bytes are understood or refused.
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut target = vec![0; SIZE];
        let _ = applied(&bytes, &mut target);
        let text = String::from_utf8_lossy(&bytes);
        let _ = Note::parse(&text);
        let _ = text.parse::<Token>();
    }
}

#[test]
fn records_that_are_missing_or_doubled_are_noticed() {
    // Every record of a good stream left out, or put in twice, is noticed before anything behind
    // it is used, though each is whole by itself.
    let volume = content(&[10, 70_000, 66_000, 70_000, 10]);
    let list: Vec<Range> = (0..8).map(|n| Range::new(n * 20_000 + 11, 9_000)).collect();
    let stream = written(&header(2, Some(1)), &volume, &list);
    let mut places = vec![16];
    while let Some(frame) = stream[places[places.len() - 1]..].first_chunk::<{ Frame::LEN }>() {
        let payload = u32::from_le_bytes(frame[4..8].try_into().expect("4 bytes"));
        places.push(places[places.len() - 1] + Frame::LEN + payload as usize);
    }
    assert!(places.len() > 8, "{} records", places.len());
    for pair in places.windows(2).skip(1) {
        let record = &stream[pair[0]..pair[1]];
        let without = [&stream[..pair[0]], &stream[pair[1]..]].concat();
        let twice = [&stream[..pair[1]], record, &stream[pair[1]..]].concat();
        for (changed, done) in [(without, pair[0]), (twice, pair[1])] {
            let (mut target, mut wanted) = (vec![9; SIZE], vec![9; SIZE]);
            let (ended, _) = applied(&changed, &mut target);
            let is_last = pair[1] == stream.len();
            if is_last && done == pair[1] {
                ended.expect("what is behind the end is not read");
                continue;
            }
            ended.expect_err("it is noticed");
            let _ = applied(&stream[..done], &mut wanted);
            assert!(target == wanted, "nothing behind it was used");
        }
    }
}

#[test]
fn a_whole_stream_has_no_gaps() {
    // A stream that says that it is whole and leaves bytes out is refused where they are missing,
    // also at its end.
    let volume = content(&[10, 1000]);
    for list in [
        vec![Range::new(0, 4096), Range::new(8192, 4096)],
        vec![Range::new(4096, 8192)],
        vec![Range::new(0, SIZE as u64 - 1)],
        vec![],
    ] {
        let stream = written(&header(1, None), &volume, &list);
        let (ended, _) = applied(&stream, &mut vec![0; SIZE]);
        let error = ended.expect_err("bytes are missing");
        assert_eq!(error.kind(), Kind::Damaged);
        assert!(error.to_string().contains("is not in it"), "{error}");
    }
}

#[test]
fn heads_are_checked() {
    // A head that says what no sender would, in a frame that is sound, is refused.
    let good = header(1, None);
    let whole = written(&good, &content(&[]), &[Range::new(0, SIZE as u64)]);
    Reader::begin(&whole[..]).expect("it is good");
    let head = good.to_bytes();
    for (at, bytes) in [
        (0, &u64::MAX.to_le_bytes()[..]),
        (8, b" "),
        (40, &[0]),
        (72, b"x"),
        (104, &[2]),
        (105, &[1]),
        (112, &u64::MAX.to_le_bytes()),
        (152, b"\n"),
        (152, &[0xff]),
    ] {
        let mut head = head.clone();
        head[at..at + bytes.len()].copy_from_slice(bytes);
        let error = Header::from_bytes(&head).expect_err("it is refused");
        assert_eq!(error.kind(), Kind::Damaged, "byte {at}");
    }
    assert!(Header::from_bytes(&head[..151]).is_err());
    assert!(Header::from_bytes(&[&head[..], &[b'x'; 250]].concat()).is_err());
}

/// What may follow what; the letters are moments of one volume, V the volume itself.
#[test]
fn only_what_fits_is_taken() {
    // The rules of the essay in `note.rs`, one row each: what the target has, what comes, and
    // whether it is taken.
    const V: u8 = 0;
    let all = |moment, base| Some((header(moment, base), true));
    let part = |moment, base| Some((header(moment, base), false));
    let rows = [
        // Nothing known.
        (None, header(1, None), Some(Verdict::Anew)),
        (None, header(2, Some(1)), None),
        // A whole stream replaces anything.
        (all(2, Some(1)), header(3, None), Some(Verdict::Anew)),
        (part(2, Some(1)), header(2, None), Some(Verdict::Anew)),
        // The base is there, or not, or only a part of it.
        (all(1, None), header(2, Some(1)), Some(Verdict::Onto)),
        (all(2, Some(1)), header(3, Some(2)), Some(Verdict::Onto)),
        (all(2, Some(1)), header(4, Some(3)), None),
        (all(1, None), header(3, Some(2)), None),
        (part(1, None), header(2, Some(1)), None),
        // The same again, from its beginning, whether it was interrupted or not.
        (part(2, Some(1)), header(2, Some(1)), Some(Verdict::Onto)),
        (all(2, Some(1)), header(2, Some(1)), Some(Verdict::Onto)),
        // Another one since the same base: a snapshot that was written may differ elsewhere, the
        // volume itself may not.
        (part(2, Some(1)), header(3, Some(1)), None),
        (all(2, Some(1)), header(3, Some(1)), None),
        (all(V, Some(1)), header(3, Some(1)), Some(Verdict::Onto)),
        (part(V, Some(1)), header(V, Some(1)), Some(Verdict::Onto)),
        (all(V, None), header(2, Some(1)), None),
    ];
    for (number, (had, comes, wanted)) in rows.into_iter().enumerate() {
        let note = had.map(|(header, is_all)| Note {
            target: None,
            held: if is_all {
                Held::All(Chain::of(b"print"))
            } else {
                Held::UpTo(4096, Chain::of(b"stand"))
            },
            header,
        });
        let verdict = Note::permit(note.as_ref(), &comes);
        let refused = verdict.as_ref().err().map(crate::Error::kind);
        assert_eq!(verdict.as_ref().ok(), wanted.as_ref(), "row {number}");
        assert!(
            refused.is_none_or(|kind| kind == Kind::Refused),
            "row {number}"
        );
    }
}

#[test]
fn the_rest_follows_only_its_beginning() {
    // The rest of a stream is taken at the byte and the chain at which the target stands, and by
    // nobody who holds all of it, or another one.
    let stand = (4096, Chain::of(b"stand"));
    let note = |held| Note {
        target: Some(uuid(9)),
        header: header(2, Some(1)),
        held,
    };
    let rest = |moment, from| Header {
        from: Some(from),
        ..header(moment, Some(1))
    };
    let (byte, chain) = stand;
    let there = note(Held::UpTo(byte, chain));
    assert!(Note::permit(Some(&there), &rest(2, stand)).is_ok());
    for (note, rest) in [
        (Some(&there), rest(3, stand)),
        (Some(&there), rest(2, (byte + 512, chain))),
        (Some(&there), rest(2, (byte, Chain::of(b"other")))),
        (Some(&note(Held::All(chain))), rest(2, stand)),
        (None, rest(2, stand)),
    ] {
        assert!(Note::permit(note, &rest).is_err());
    }
    let token = there.token().expect("it can be gone on with");
    assert_eq!((token.position, token.chain), stand);
    let mut passing = there.clone();
    passing.header.permanence = Permanence::Passing;
    assert_eq!(passing.token(), None, "nobody can send it again as it was");
    assert_eq!(note(Held::All(chain)).token(), None);
}

#[test]
fn notes_and_tokens_are_read_as_written() {
    // What is printed is read as the same; a letter more, less or another is refused.
    for (target, base, held) in [
        (None, None, Held::All(Chain::of(b"a"))),
        (Some(uuid(7)), Some(1), Held::UpTo(4096, Chain::of(b"b"))),
    ] {
        let header = header(2, base);
        let note = Note {
            target,
            header,
            held,
        };
        let text = note.to_text();
        assert_eq!(Note::parse(&text).expect("it was written here"), note);
        for line in text.lines().skip(1) {
            let without = text.replace(&format!("{line}\n"), "");
            assert!(Note::parse(&without).is_err(), "without {line}");
        }
        assert!(Note::parse(&format!("{text}more 1\n")).is_err());
    }
    let token = Token {
        moment: uuid(2),
        base: Some(uuid(1)),
        position: 1 << 40,
        chain: Chain::of(b"c"),
    };
    let text = token.to_string();
    assert_eq!(text.parse::<Token>().expect("it was written here"), token);
    for at in 0..text.len() {
        let without = [&text[..at], &text[at + 1..]].concat();
        let error = without.parse::<Token>().expect_err("a letter is missing");
        assert_eq!(error.kind(), Kind::Request);
    }
}

#[test]
fn a_fingerprint_sees_what_a_mount_changes() {
    // A byte in the first MiB, the last piece or a piece between makes another fingerprint; the
    // pieces are read within the target, however small that is.
    for size in [0_u64, 1, 4096, 5000, 1 << 20, (8 << 20) + 512] {
        let print = |bytes: &[u8]| {
            let read = |at: u64, into: &mut [u8]| {
                into.copy_from_slice(&bytes[at as usize..at as usize + into.len()]);
                Ok::<_, ()>(())
            };
            Held::fingerprint(size, read).expect("memory is read")
        };
        let mut bytes = vec![3; size as usize];
        let before = print(&bytes);
        assert_eq!(before, print(&bytes));
        for at in [1024, size.saturating_sub(1)] {
            let Some(byte) = bytes.get_mut(at as usize) else {
                continue;
            };
            *byte = 4;
            assert!(before != print(&bytes), "byte {at} of {size}");
            bytes[at as usize] = 3;
        }
    }
}
