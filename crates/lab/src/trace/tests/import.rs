//! What other programs recorded.

use crate::trace::import::{blktrace, iolog};
use crate::trace::{Operation, Record, to_iolog};

fn asked(records: &[Record]) -> Vec<(u64, Operation, u64, u64)> {
    let fields = |one: &Record| (one.time_ns, one.operation, one.start, one.count);
    records.iter().map(fields).collect()
}

#[test]
fn logs_of_fio_are_read() {
    // Both versions; version 3 as fio 3.33 wrote it.
    let three = "fio version 3 iolog\n25 x add\n147 x open\n151 x read 0 4096\n\
                 563 x write 28672 4096\n718 x sync 61440 0\n900 x trim 1000 24\n990 x close\n";
    let trace = iolog("log", three, None).unwrap();
    let expected = [
        (151_000, Operation::Read, 0, 8),
        (563_000, Operation::Write, 56, 8),
        (718_000, Operation::Flush, 0, 0),
        (900_000, Operation::Discard, 1, 1),
    ];
    assert_eq!(asked(&trace.records), expected);
    assert_eq!(
        (trace.header.device.as_str(), trace.header.blocks),
        ("x", 64)
    );

    let again = iolog("log", &to_iolog(&trace, "/dev/x"), None).unwrap();
    let places = |records: &[Record]| -> Vec<_> {
        asked(records)
            .into_iter()
            .map(|(_, what, at, count)| (what, at, count))
            .collect()
    };
    assert_eq!(places(&again.records), places(&trace.records));
    let apart = again.records[1].time_ns - again.records[0].time_ns;
    assert_eq!(apart, 412_000);
}

#[test]
fn wrong_logs_are_named_by_line() {
    for (text, expected) in [
        ("fio version 1", "log line 1"),
        ("fio version 2 iolog\nx read a 5", "log line 2: the offset"),
        ("fio version 2 iolog\nx read 5", "log line 2: the length"),
        (
            "fio version 2 iolog\nx hop 0 5",
            "log line 2: an unknown action",
        ),
        (
            "fio version 2 iolog\nx wait 18446744073709551615",
            "log line 2: the time",
        ),
        ("fio version 3 iolog\n1 x wait 3", "version 3 has no 'wait'"),
        (
            "fio version 2 iolog\nx read 18446744073709551615 9",
            "too large",
        ),
        (
            "fio version 2 iolog\nx read 0 9\ny read 0 9",
            "choose one of x, y",
        ),
        ("fio version 2 iolog\nx add", "asks for nothing"),
    ] {
        let error = iolog("log", text, None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// A record of blktrace.
struct Step {
    little: bool,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
}

fn encode(steps: &[Step]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (sequence, step) in (0_u32..).zip(steps) {
        let follow = 3_u16;
        let mut put = |field: &[u8]| {
            let mut field = field.to_vec();
            if !step.little {
                field.reverse();
            }
            bytes.extend(field);
        };
        put(&0x6561_7407_u32.to_le_bytes());
        put(&sequence.to_le_bytes());
        put(&step.time_ns.to_le_bytes());
        put(&step.sector.to_le_bytes());
        put(&step.bytes.to_le_bytes());
        put(&step.action.to_le_bytes());
        put(&7_u32.to_le_bytes());
        put(&step.device.to_le_bytes());
        put(&0_u32.to_le_bytes());
        put(&0_u16.to_le_bytes());
        put(&follow.to_le_bytes());
        bytes.extend([9; 3]);
    }
    bytes
}

const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const FUA: u32 = 1 << 31;

fn step(time_ns: u64, sector: u64, action: u32) -> Step {
    Step {
        little: true,
        time_ns,
        sector,
        bytes: 4096,
        action,
        device: 8 << 20 | 1,
    }
}

#[test]
fn records_of_blktrace_are_read() {
    // Two processors of different byte order; queueing is left out where issuing is known.
    let first = [
        step(1000, 80, READ | 1),
        step(1100, 80, READ | 7),
        step(5000, 160, WRITE | FUA | 7),
        Step {
            device: 5,
            ..step(5500, 0, READ | 7)
        },
        Step {
            bytes: 0,
            ..step(9000, 0, WRITE | FLUSH | 7)
        },
        step(9500, 7, 1 << 26),
    ];
    let second = [
        Step {
            little: false,
            ..step(4000, 80, READ | 8)
        },
        Step {
            little: false,
            ..step(8000, 160, WRITE | FUA | 8)
        },
        Step {
            little: false,
            ..step(8100, 999, WRITE | 8)
        },
    ];
    let (first, second) = (encode(&first), encode(&second));
    let imported = blktrace(&[("a.0", &first), ("a.1", &second)]).unwrap();
    let records = &imported.trace.records;
    let expected = [
        (100, Operation::Read, 80, 8),
        (4000, Operation::Write, 160, 8),
        (8000, Operation::Flush, 0, 0),
    ];
    assert_eq!(asked(records), expected);
    let durations: Vec<_> = records.iter().map(|one| one.duration_ns).collect();
    assert_eq!(durations, [Some(2900), Some(3000), None]);
    assert!(records[1].fua && !records[1].preflush);
    assert_eq!(records[2].after, Some(1));
    assert_eq!(imported.trace.header.device, "8:1");
    assert_eq!(imported.remarks.len(), 3, "{:?}", imported.remarks);

    for cut in [1, 47, 50, 52] {
        let error = blktrace(&[("a.0", &first[..cut])]).unwrap_err().to_string();
        assert!(
            error.starts_with("a.0 at byte 0") || error.starts_with("a.0 at byte 51"),
            "{error}"
        );
    }
    assert!(blktrace(&[("a.0", &[0; 48])]).is_err());
}
