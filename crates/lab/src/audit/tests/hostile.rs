//! Texts that are no results, cut short, or made to hurt.

use crate::audit::audit;
use block::sim::Random;

const RESULTS: [&str; 6] = [
    include_str!("../fixtures/fio-mix.json"),
    include_str!("../fixtures/fio-mixg.txt"),
    include_str!("../fixtures/bonnie.txt"),
    include_str!("../fixtures/seed000.txt"),
    include_str!("../fixtures/seed003.txt"),
    include_str!("../../workload/postmark/fixtures/blocks.txt"),
];

/// Nothing to audit is an error, not a clean result.
#[test]
fn nothing_is_no_result() {
    for text in ["", "hello", "{}", "{\"jobs\": []}", "1 2 3", "study"] {
        assert!(audit(text).is_err(), "{text}");
    }
}

/// Damage is named with its line and field.
#[test]
fn damage_is_named() {
    let at = |text: &str| {
        let error = audit(text).expect_err(text);
        (error.line(), error.field().to_owned())
    };
    assert_eq!(
        at("{\n \"jobs\": [\n {\"read\": {\"iops\": \"many\"}}]}"),
        (3, "iops".into())
    );
    assert_eq!(at("{\n\"jobs\" [").0, 2);
    assert_eq!(at("{\"jobs\": [").0, 1);
    assert_eq!(at(&"[".repeat(1000).replacen('[', "{\"a\":[", 1)).0, 1);
    assert_eq!(
        at("\nread : io=1467.8XB, bw=1KB/s, iops=1, runt= 1msec"),
        (2, "read".into())
    );
    assert_eq!(at("study x\ntest T: files=none"), (2, "files".into()));
    assert_eq!(at("study x\nread 1 2"), (2, "read".into()));
    assert_eq!(at("study x\nclaim A"), (2, "claim".into()));
    assert_eq!(at("1.98,2.00a,,,,,,,,,,,,,,,,,,,,,,"), (1, "csv".into()));
    assert_eq!(
        at("Time:\n1 seconds total\n1 seconds of transactions (x)").0,
        3
    );
}

/// Other versions' ways are read too: fio 2, JSON behind a warning, Bonnie++ 1.97's CSV.
#[test]
fn other_versions_are_read() {
    let clean = |text: &str| {
        let audit = audit(text).expect(text);
        for finding in audit.impossible() {
            println!("{finding}");
        }
        audit.is_possible() && audit.checks > 5
    };
    let fio2 = "randrw: (g=0): rw=randrw, bs=16K-16K/16K-16K/16K-16K, ioengine=libaio, iodepth=64\n\
                randrw: (groupid=0, jobs=10): err= 0: pid=1: Fri Apr 30 01:16:09 2021\n\
                \x20 read : io=1467.8MB, bw=24679KB/s, iops=1542, runt= 60903msec\n\
                \x20   slat (usec): min=3, max=1362.7K, avg=148.74, stdev=8772.92\n\
                \x20   clat (msec): min=2, max=6610, avg=206.47, stdev=356.86\n\
                \x20    lat (msec): min=2, max=6610, avg=206.62, stdev=357.65\n\
                \x20   bw (KB  /s): min=   32, max= 5376, per=10.00%, avg=2467.90, stdev=991.10\n";
    assert!(clean(fio2));
    assert!(!clean(&fio2.replace("bw=24679", "bw=54679")));
    assert!(!clean(&fio2.replace("avg=206.47", "avg=233.47")));
    let json = RESULTS[0];
    assert!(clean(&format!("fio: a warning\n{json}")));
    let broken = format!(
        "fio: a warning\n{}",
        json.replacen("\"iops\" : ", "\"iops\" : x", 1)
    );
    let line = json
        .lines()
        .position(|line| line.contains("\"iops\""))
        .expect("iops");
    assert_eq!(audit(&broken).expect_err("damage").line(), line + 2);
    let csv = RESULTS[2].lines().last().expect("a CSV line");
    let fields: Vec<&str> = csv.split(',').collect();
    let old = [&fields[..7], &fields[9..]].concat().join(",");
    assert!(clean(&old));
}

/// Cut at any place, or with any byte replaced, a result is answered.
#[test]
fn no_text_makes_it_panic() {
    let mut random = Random::new(11);
    for text in RESULTS {
        for _ in 0..150 {
            let mut bytes = text.as_bytes().to_vec();
            match random.below(3) {
                0 => bytes.truncate(random.index(bytes.len())),
                1 => {
                    let from = random.index(bytes.len());
                    let len = random.index(40).min(bytes.len() - from);
                    bytes.drain(from..from + len);
                }
                _ => {
                    for _ in 0..4 {
                        let at = random.index(bytes.len());
                        bytes[at] = b"0123456789.,:-=(){}[]\"% k\nM"[random.index(27)];
                    }
                }
            }
            let _ = audit(&String::from_utf8_lossy(&bytes));
        }
    }
}

/// Texts of 100,000 like lines are answered without comparing all with all: this test would take
/// many minutes if they were.
#[test]
fn long_texts_take_linear_time() {
    let terse = "Deleting files...Done\n1 1 1 1 1 1 1 1 1 1 1 1 1\n";
    let run = "set number 1000\nset transactions 90000\n".to_owned();
    let members: Vec<String> = (0..100_000).map(|n| format!("\"{n}\": 1")).collect();
    let members = members.join(",");
    for text in [
        "\n".repeat(100_000),
        run + &terse.repeat(50_000),
        "a: (g=0): rw=read, bs=(R) 4096B-4096B, iodepth=1\n".repeat(100_000),
        "a: (groupid=0, jobs=1): err= 0\n".repeat(100_000),
        "read : io=1MB, bw=1024KB/s, iops=1, runt= 1000msec\n".repeat(100_000),
        format!(
            "{{\"jobs\": [{{\"latency_us\": {{{members}}}, \"read\": {{\"clat_ns\": \
                 {{\"percentile\": {{{members}}}}}}}}}]}}"
        ),
        "Physical volume \"/dev/a\" successfully created\n".repeat(100_000),
        "K/sec %CPU K/sec %CPU\n".to_owned() + &"1 2 1 2 1 2 1 2 1 2 1 2\n".repeat(50_000),
        "study\ntable T\ncolumns a\n".to_owned() + &"row a 1\n".repeat(100_000),
        "study x\n".to_owned() + &"spindle 7200 turns, 1 GB, queue 1: 600\n".repeat(50_000),
    ] {
        let _ = audit(&text);
    }
}
