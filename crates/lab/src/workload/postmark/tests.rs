//! The model against recordings of the real program (Debian's 1.53-2+b1 on tmpfs).
//!
//! A fixture holds the configuration, the program's verbose and terse reports, and the number of
//! its operations with a digest (FNV-1a, 64 bits) over lines like `C /s1/7 512`, made from a trace
//! of its system calls: C create, R read, A append, D delete, path, bytes moved.

use super::free::Free;
use super::{
    Buffering, Counts, Ending, Operation, Phase, Report, Seconds, Settings, Short, Step, Stream,
};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use std::collections::HashMap;

const FIXTURES: [(&str, &str); 23] = [
    ("bias-both-off", include_str!("fixtures/bias-both-off.txt")),
    (
        "bias-create-off",
        include_str!("fixtures/bias-create-off.txt"),
    ),
    ("bias-empty", include_str!("fixtures/bias-empty.txt")),
    ("bias-full", include_str!("fixtures/bias-full.txt")),
    ("bias-mixed", include_str!("fixtures/bias-mixed.txt")),
    ("bias-read-off", include_str!("fixtures/bias-read-off.txt")),
    ("blocks", include_str!("fixtures/blocks.txt")),
    ("default", include_str!("fixtures/default.txt")),
    ("equal-sizes", include_str!("fixtures/equal-sizes.txt")),
    ("kilobyte", include_str!("fixtures/kilobyte.txt")),
    ("large-seed", include_str!("fixtures/large-seed.txt")),
    ("locations", include_str!("fixtures/locations.txt")),
    ("mebibyte", include_str!("fixtures/mebibyte.txt")),
    ("one-file", include_str!("fixtures/one-file.txt")),
    ("pm1", include_str!("fixtures/pm1.txt")),
    ("pm2", include_str!("fixtures/pm2.txt")),
    ("pm3", include_str!("fixtures/pm3.txt")),
    (
        "reversed-sizes",
        include_str!("fixtures/reversed-sizes.txt"),
    ),
    ("seed", include_str!("fixtures/seed.txt")),
    (
        "subdirectories",
        include_str!("fixtures/subdirectories.txt"),
    ),
    (
        "subdirectory-one",
        include_str!("fixtures/subdirectory-one.txt"),
    ),
    ("tiny", include_str!("fixtures/tiny.txt")),
    ("unbuffered", include_str!("fixtures/unbuffered.txt")),
];

/// A fixture: settings, reports, number of operations, digest, first operations.
struct Recording<'a> {
    settings: Settings,
    verbose: &'a str,
    terse: &'a str,
    count: usize,
    digest: u64,
    first: Vec<&'a str>,
}

fn recording(text: &str) -> Recording<'_> {
    let (config, rest) = text.split_once("=== verbose\n").expect("a verbose report");
    let (verbose, rest) = rest.split_once("=== terse\n").expect("a terse report");
    let (terse, rest) = rest.split_once("=== stream ").expect("a stream");
    let mut lines = rest.lines();
    let (count, digest) = lines.next().and_then(|l| l.split_once(' ')).expect("two");
    Recording {
        settings: Settings::parse(config).expect("settings"),
        verbose: &verbose[verbose.find("Time:").unwrap_or(verbose.len())..],
        terse: terse.lines().last().expect("a line"),
        count: count.parse().expect("a count"),
        digest: u64::from_str_radix(digest, 16).expect("a digest"),
        first: lines.collect(),
    }
}

fn line(settings: &Settings, step: &Step) -> String {
    let mut path = settings.path(&step.file);
    if settings.locations.is_empty() {
        path = format!("/{path}");
    }
    match step.operation {
        Operation::Create { bytes } => format!("C {path} {bytes}"),
        Operation::Read { bytes } => format!("R {path} {bytes}"),
        Operation::Append { bytes, .. } => format!("A {path} {bytes}"),
        Operation::Delete { .. } => format!("D {path} 0"),
    }
}

fn digest(settings: &Settings, steps: &[Step]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for step in steps {
        for byte in (line(settings, step) + "\n").bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// For every recorded setting the operations are the program's, in its order, with its names.
#[test]
fn streams_are_the_real_program_s() {
    for (name, text) in FIXTURES {
        let real = recording(text);
        let steps: Vec<Step> = Stream::new(&real.settings).expect("settings").collect();
        for (step, expected) in steps.iter().zip(&real.first) {
            assert_eq!(line(&real.settings, step), *expected, "{name}");
        }
        assert_eq!(steps.len(), real.count, "{name}");
        assert_eq!(digest(&real.settings, &steps), real.digest, "{name}");
    }
}

/// The seconds that a report mentions, with the candidates for those it does not.
fn reports(settings: &Settings, total: u64, mixed: u64) -> Vec<Report> {
    let counts = Counts::of(Stream::new(settings).expect("settings"));
    let mut found = Vec::new();
    for creation in 1..=4 {
        for deletion in 1..=4 {
            let seconds = Seconds {
                total,
                creation,
                transactions: mixed,
                deletion,
            };
            let transactions = u64::from(settings.transactions);
            found.push(Report {
                transactions,
                counts,
                seconds,
            });
        }
    }
    found
}

/// Both reports come out as the program printed them, byte by byte, from its seconds.
#[test]
fn reports_are_the_real_program_s() {
    for (name, text) in FIXTURES {
        let real = recording(text);
        let mut stream = Stream::new(&real.settings).expect("settings");
        stream.by_ref().for_each(drop);
        if stream.ending() == Ending::OutOfFiles {
            assert_eq!((name, real.verbose), ("bias-empty", ""));
            continue;
        }
        let word = |line: usize| {
            let line = real.verbose.lines().nth(line).expect("a line");
            line.trim().split(' ').next().and_then(|w| w.parse().ok())
        };
        let (total, mixed) = (word(1).expect("total"), word(2).expect("transactions"));
        let verbose: Vec<String> = reports(&real.settings, total, mixed)
            .iter()
            .map(Report::verbose)
            .collect();
        assert!(
            verbose.iter().any(|text| text == real.verbose),
            "{name}: {}",
            verbose[0]
        );

        let fields: Vec<&str> = real.terse.split(' ').collect();
        let (total, mixed) = (fields[0].parse(), fields[1].parse());
        let terse: Vec<String> = reports(&real.settings, total.expect("s"), mixed.expect("s"))
            .iter()
            .map(Report::terse)
            .collect();
        assert!(
            terse.iter().any(|text| text.trim_end() == real.terse),
            "{name}: {}",
            terse[0]
        );
    }
}

/// The three tests of seed 000 move the volumes that its paper prints.
#[test]
fn volumes_of_the_study_are_its_own() {
    let volumes = |settings: &Settings| {
        let counts = Counts::of(Stream::new(settings).expect("settings"));
        let hundredths = |bytes: u64| (bytes as f64 / 1048576.0 * 100.0).round() / 100.0;
        (
            hundredths(counts.bytes_read),
            hundredths(counts.bytes_written),
        )
    };
    assert_eq!(volumes(&Settings::pm1()), (1554.04, 1817.21));
    assert_eq!(volumes(&Settings::pm2()), (13.61, 31.35));
    assert_eq!(volumes(&Settings::pm3()), (4668.08, 5420.03));
}

/// Calls are those of traces of the program: a file of 30,000 bytes, blocks of several sizes.
#[test]
fn calls_are_the_traced_ones() {
    let of = |block: u32, buffering: Buffering| {
        let settings = Settings {
            read_block: block,
            write_block: block,
            buffering,
            ..Settings::default()
        };
        let reads: Vec<u64> = settings.reads(30_000).collect();
        (settings.writes(30_000).collect::<Vec<u64>>(), reads)
    };
    let buffers = vec![4096, 4096, 4096, 4096, 4096, 4096, 4096, 1328];
    for block in [512, 1500, 4096] {
        assert_eq!(
            of(block, Buffering::Stdio),
            (buffers.clone(), buffers.clone()),
            "{block}"
        );
    }
    assert_eq!(of(5000, Buffering::Stdio).0, buffers);
    let large = vec![8192, 4096, 4096, 4096, 4096, 4096, 1328];
    assert_eq!(
        of(8192, Buffering::Stdio),
        (large, vec![8192, 8192, 8192, 4096, 1328])
    );
    let larger = vec![16384, 4096, 8192, 1328];
    assert_eq!(of(20_000, Buffering::Stdio), (larger.clone(), larger));
    let blocks = vec![20_000, 10_000];
    assert_eq!(of(20_000, Buffering::None), (blocks.clone(), blocks));
}

/// A clock of whole seconds: differences of its readings, and never 0.
#[test]
fn seconds_are_those_of_a_coarse_clock() {
    let second = 1_000_000_000;
    let found = Seconds::of_instants(second - 1, second, second + 5, 3 * second);
    let expected = Seconds {
        total: 3,
        creation: 1,
        transactions: 1,
        deletion: 2,
    };
    assert_eq!(found, expected);
}

/// Settings that the program refuses, or dies of, are refused with line and field.
#[test]
fn bad_settings_are_named() {
    for (text, line, field) in [
        ("set number x", 1, "number"),
        ("set number 0", 0, "number"),
        ("\nset size 5", 2, "size"),
        ("set size 0 5", 0, "size"),
        ("set transactions 9", 0, "transactions"),
        ("set bias read 11", 1, "bias"),
        ("set bias other 1", 1, "bias"),
        ("set buffering maybe", 1, "buffering"),
        ("set colour red", 1, "colour"),
        ("set location /a x", 1, "location"),
        ("set location /a 0", 0, "location"),
        ("set read 0", 0, "block"),
        ("set seed 0", 0, "seed"),
        ("set seed 2147483648", 0, "seed"),
        ("load other", 1, "load"),
        ("!rm", 1, "!rm"),
    ] {
        let error = Settings::parse(text).expect_err(text);
        assert_eq!((error.line(), error.field()), (line, field), "{text}");
    }
    assert!(
        Settings::parse("set number 7\nrun\n???").is_ok(),
        "run ends it"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the settings: files exist when used, sizes add up, all is deleted in the end.
    #[test]
    fn streams_are_consistent(
        number in 1_u32..60,
        transactions in 10_u32..300,
        low in 1_u32..400,
        high in 1_u32..400,
        bias in 0_u32..=10,
        seed in 1_u32..=i32::MAX as u32,
        subdirectories in 0_u32..4,
    ) {
        let settings = Settings {
            number, transactions, size: (low, high), seed, subdirectories,
            bias_create: Some(bias), ..Settings::default()
        };
        let mut sizes: HashMap<u32, u64> = HashMap::new();
        let mut phase = Phase::Creation;
        for step in Stream::new(&settings).expect("settings") {
            prop_assert!(step.phase >= phase);
            phase = step.phase;
            let known = sizes.get(&step.file.number).copied();
            match step.operation {
                Operation::Create { bytes } => {
                    prop_assert!(known.is_none() && bytes >= u64::from(low));
                    sizes.insert(step.file.number, bytes);
                }
                Operation::Read { bytes } => prop_assert_eq!(known, Some(bytes)),
                Operation::Append { at, bytes } => {
                    prop_assert_eq!(known, Some(at));
                    prop_assert!(bytes > 0 && at + bytes <= u64::from(high));
                    sizes.insert(step.file.number, at + bytes);
                }
                Operation::Delete { bytes } => {
                    prop_assert_eq!(known, Some(bytes));
                    sizes.remove(&step.file.number);
                }
            }
            prop_assert!(sizes.len() <= 2 * number as usize);
        }
        prop_assert!(sizes.is_empty());
    }

    /// The first free slot is the one that looking through all of them finds.
    #[test]
    fn first_free_slot_is_found(
        limit in 1_usize..5000,
        changes in vec((any::<usize>(), any::<bool>()), 0..200),
    ) {
        let mut free = Free::all(limit);
        let mut naive = vec![true; limit];
        for (number, insert) in changes {
            // Half of the changes take the first, so that whole words become empty.
            let number = match free.first() {
                Some(first) if number % 2 == 0 && !insert => first,
                _ => number % limit,
            };
            naive[number] = insert;
            if insert { free.insert(number) } else { free.remove(number) }
            prop_assert_eq!(free.first(), naive.iter().position(|free| *free));
        }
    }

    /// Calls move all bytes, whatever the blocks.
    #[test]
    fn calls_move_everything(block in 1_u32..20_000, bytes in 0_u64..100_000, stdio: bool) {
        let buffering = if stdio { Buffering::Stdio } else { Buffering::None };
        let settings = Settings {
            read_block: block, write_block: block, buffering, ..Settings::default()
        };
        prop_assert_eq!(settings.reads(bytes).sum::<u64>(), bytes);
        prop_assert_eq!(settings.writes(bytes).sum::<u64>(), bytes);
        prop_assert!(settings.reads(bytes).chain(settings.writes(bytes)).all(|call| call > 0));
    }

    /// No configuration file makes the parser panic.
    #[test]
    fn hostile_settings_are_answered(
        text in "(set (size|number|bias|location|read)[ a-z0-9+-]{0,20}\n){0,6}",
    ) {
        if let Ok(settings) = Settings::parse(&text) {
            prop_assert!(settings.check().is_ok());
        }
    }
}

/// Short forms set what they name, and what is not one is refused by its key.
#[test]
fn short_forms_are_read() {
    assert!(Short::is_meant("postmark") && Short::is_meant("postmark:test=1"));
    assert!(!Short::is_meant("postmarks") && !Short::is_meant("oltp"));
    let plain = Short::parse("postmark").unwrap();
    assert_eq!(plain.settings, Settings::default());
    let short = Short::parse("postmark:test=1:transactions=900,reads=7:memory=1G").unwrap();
    let wanted = Settings {
        transactions: 900,
        bias_read: Some(7),
        ..Settings::pm1()
    };
    assert_eq!((short.settings, short.memory), (wanted, 1 << 30));
    let own = Short::parse("postmark:files=70:size=1K-2K:seed=9:creations=4").unwrap();
    let wanted = Settings {
        number: 70,
        size: (1024, 2048),
        seed: 9,
        bias_create: Some(4),
        ..Settings::default()
    };
    assert_eq!(own.settings, wanted);
    for (word, field) in [
        ("postmark:test=4", "test"),
        ("postmark:files=many", "files"),
        ("postmark:size=5", "size"),
        ("postmark:size=1-99999999999", "size"),
        ("postmark:reads=11", "reads"),
        ("postmark:memory=much", "memory"),
        ("postmark:colour=red", "colour"),
        ("postmark:transactions=1", "transactions"),
    ] {
        let error = Short::parse(word).unwrap_err().to_string();
        assert!(error.contains(field), "{word}: {error}");
    }
}
