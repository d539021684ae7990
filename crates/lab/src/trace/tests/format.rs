//! The file format: round trips, and damage that is found.

use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};

use crate::trace::{
    Certainty, Class, Header, Label, Operation, Record, TimeSource, Trace, find_dependencies, read,
    read_whole_part, write,
};

const OPERATIONS: [Operation; 5] = [
    Operation::Read,
    Operation::Write,
    Operation::WriteZeroes,
    Operation::Discard,
    Operation::Flush,
];

fn record() -> impl Strategy<Value = Record> {
    let numbers = (
        any::<u32>(),
        any::<Option<u64>>(),
        any::<u32>(),
        0..1_u64 << 40,
        0..5000_u64,
    );
    (numbers, any::<u8>()).prop_map(|((gap, duration_ns, more, start, count), choice)| Record {
        time_ns: u64::from(gap),
        duration_ns,
        operation: OPERATIONS[choice as usize % 5],
        preflush: more & 1 != 0,
        fua: more & 2 != 0,
        failed: more & 4 != 0,
        start,
        count,
        label: Label {
            class: Class::ALL[choice as usize % Class::ALL.len()],
            certainty: [Certainty::Always, Certainty::Sometimes, Certainty::Mixed]
                [more as usize % 3],
        },
        after: None,
    })
}

fn trace() -> impl Strategy<Value = Trace> {
    (
        proptest::collection::vec(record(), 0..40),
        any::<Option<[u8; 16]>>(),
        ".{0,20}",
    )
        .prop_map(|(mut records, file_system, device)| {
            let mut time_ns = 0;
            for record in &mut records {
                time_ns += record.time_ns;
                record.time_ns = time_ns;
            }
            find_dependencies(&mut records);
            let header = Header {
                device,
                blocks: 1 << 41,
                file_system,
                clock: TimeSource::Virtual,
                begun_unix_ns: 7,
            };
            Trace { header, records }
        })
}

proptest! {
    #[test]
    fn traces_come_back_as_they_were(trace in trace()) {
        // What is written is read again, whatever the fields are.
        prop_assert_eq!(read("t", &write(&trace).unwrap()).unwrap(), trace);
    }

    #[test]
    fn a_cut_file_is_found_out(trace in trace(), at in any::<proptest::sample::Index>()) {
        // Cut anywhere: an error with an offset, and what came before on request.
        let bytes = write(&trace).unwrap();
        let cut = &bytes[..at.index(bytes.len())];
        let error = read("t", cut).unwrap_err().to_string();
        prop_assert!(error.contains("cut short") && error.contains("byte"), "{}", error);
        if let Ok(partial) = read_whole_part("t", cut) {
            prop_assert!(partial.damage.is_some());
            prop_assert!(trace.records.starts_with(&partial.trace.records));
        }
    }

    #[test]
    fn a_changed_byte_is_found_out(
        trace in trace(),
        at in any::<proptest::sample::Index>(),
        by in 1..=255_u8,
    ) {
        // The checksums cover every byte.
        let mut bytes = write(&trace).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= by;
        prop_assert!(read("t", &bytes).is_err());
    }
}

#[test]
fn many_parts_make_a_file() {
    // Records go on over the seams of parts; a file that ends at a seam is cut short too.
    let count = 40_000;
    let records: Vec<Record> = (0..count)
        .map(|index| Record::new(index * 1000, Operation::Write, index * 8, 8))
        .collect();
    let trace = Trace {
        header: Header::default(),
        records,
    };
    let bytes = write(&trace).unwrap();
    assert!(bytes.len() < 10 * count as usize, "{} bytes", bytes.len());
    assert_eq!(read("t", &bytes).unwrap(), trace);
    let seam = bytes.len() - 9 - 8 - 4;
    let partial = read_whole_part("t", &bytes[..seam]).unwrap();
    assert_eq!(partial.trace.records.len(), 40_000);
    let damage = partial.damage.unwrap().to_string();
    assert_eq!(
        damage,
        format!("t at byte {seam}: the file is cut short; 40000 records stand before it")
    );
}

#[test]
fn who_waited_for_whom() {
    // A read waits for the read before it, a flush for the write before it, a write for the read.
    let timed = |time_ns, duration, operation| Record {
        duration_ns: Some(duration),
        ..Record::new(time_ns, operation, 0, 8)
    };
    let mut records = vec![
        timed(0, 10, Operation::Read),
        timed(15, 10, Operation::Read),
        timed(16, 4, Operation::Write),
        timed(21, 5, Operation::Flush),
        timed(25, 1, Operation::Write),
        timed(30, 1, Operation::Write),
    ];
    find_dependencies(&mut records);
    let after: Vec<_> = records.iter().map(|record| record.after).collect();
    assert_eq!(after, [None, Some(1), Some(2), Some(1), Some(3), Some(2)]);
}
