//! Prints `PostMark`'s Tests 1 to 3 of the first study on an emulated disk: a partition, an LV on
//! it, an LV over two partitions of the same disk, linear and striped; and beside it what the study
//! measured.
//!
//! `cargo run --release -p lab --example postmark -- [OPTION=VALUE]…`
//!
//! memory=MIB, read-ahead=KIB, barrier=on|off, journal=on|off, index=tree|linear, atime=on|off,
//! log=middle|start, depth=N (requests the drive holds), disk=NAME, seed=N (the platter's phase),
//! mapping=NS (a lookup of the LV's), start=MS (after mounting), tests=123, account=yes.

use std::collections::BTreeMap;

use ashlar_lab::component::Component;
use ashlar_lab::disk::catalog;
use ashlar_lab::disk::drive::Model;
use ashlar_lab::filesystem::postmark::{self, Outcome};
use ashlar_lab::filesystem::{
    AccessTime, BLOCK, Barrier, Elevator, FileSystem, Index, Journaling, LogPlace, Options,
};
use ashlar_lab::layout::{Area, Buses, Disk, DiskKind, Layout, Segment};
use ashlar_lab::stack;
use ashlar_lab::workload::postmark::Settings;

const GIB: u64 = 1 << 30;
/// Where an LV's first extent begins on its PV, as lvm2 of 2008 had it.
const DATA_START: u64 = 192 << 10;
/// Bytes of a stripe.
const STRIPE: u64 = 64 << 10;

/// What the file system is on.
#[derive(Debug, Clone, Copy)]
enum Stack {
    Partition,
    Linear,
    LinearTwo,
    StripedTwo,
}

impl Stack {
    const ALL: [Self; 4] = [
        Self::Partition,
        Self::Linear,
        Self::LinearTwo,
        Self::StripedTwo,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Partition => "partition",
            Self::Linear => "LV, 1 PV",
            Self::LinearTwo => "LV, 2 PVs linear",
            Self::StripedTwo => "LV, 2 PVs striped",
        }
    }

    /// The volume at the end of the disk; extents of 4 MiB.
    fn layout(self, disk: &Disk, mapping_ns: u64) -> Layout {
        let end = disk.size().expect("a possible disk");
        let (start, half) = (end - 20 * GIB, 10 * GIB);
        let extents = |bytes: u64| (bytes - DATA_START) >> 22 << 22;
        let area = |start: u64| Area { disk: 0, start };
        let linear = |start: u64, len: u64| Segment::Linear {
            len,
            area: area(start),
            cut: None,
        };
        let two = [start + DATA_START, start + half + DATA_START];
        let volume = match self {
            Self::Partition => vec![linear(start, 20 * GIB)],
            Self::Linear => vec![linear(two[0], extents(20 * GIB))],
            Self::LinearTwo => vec![linear(two[0], extents(half)), linear(two[1], extents(half))],
            Self::StripedTwo => vec![Segment::Striped {
                len: 2 * extents(half),
                chunk: STRIPE,
                areas: two.map(area).to_vec(),
            }],
        };
        Layout {
            name: self.name().to_owned(),
            disks: vec![disk.clone()],
            buses: Buses::Own,
            volume,
            mapping_ns: if matches!(self, Self::Partition) {
                0
            } else {
                mapping_ns
            },
            loops: Vec::new(),
            link: None,
        }
    }
}

/// Options of the command line over the defaults.
struct Arguments(BTreeMap<String, String>);

impl Arguments {
    fn parse() -> Self {
        let words = std::env::args().skip(1);
        let pairs = words.map(|word| match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (word, String::new()),
        });
        Self(pairs.collect())
    }

    fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.0.get(name).map_or(default, String::as_str)
    }

    fn number(&self, name: &str, default: u64) -> u64 {
        let value = self.0.get(name);
        value.map_or(default, |value| value.parse().expect("a number"))
    }

    fn options(&self) -> Options {
        let default = Options::default();
        let choose = |name: &str, default: &str, is: &str| self.text(name, default) == is;
        Options {
            memory_bytes: self.number("memory", default.memory_bytes >> 20) << 20,
            read_ahead_bytes: self.number("read-ahead", default.read_ahead_bytes >> 10) << 10,
            barrier: if choose("barrier", "off", "on") {
                Barrier::On
            } else {
                Barrier::Off
            },
            journaling: if choose("journal", "on", "off") {
                Journaling::None
            } else {
                Journaling::Ordered
            },
            index: if choose("index", "tree", "linear") {
                Index::Linear
            } else {
                Index::Tree
            },
            access_time: if choose("atime", "on", "off") {
                AccessTime::Ignored
            } else {
                AccessTime::Kept
            },
            log_place: if choose("log", "middle", "start") {
                LogPlace::Start
            } else {
                LogPlace::Middle
            },
            ..default
        }
    }
}

fn print_account(outcome: &Outcome) {
    let account = &outcome.account;
    let ms = |ns: u64| ns as f64 / 1e6;
    println!(
        "    processor {:.0} ms, device idle {:.0} ms, {} commits, {} checkpoints, \
         {} of {} pages in memory",
        ms(account.processor_ns),
        ms(account.idle_ns),
        account.commits,
        account.checkpoints,
        account.hits,
        account.hits + account.misses,
    );
    for class in Component::ALL {
        let tally = account.class(class);
        println!(
            "    {:5} {:10} reads {:8} {:9} blocks, writes {:8} {:9} blocks, \
             waited {:9.0} ms, busy {:9.0} ms",
            class.term(),
            class.name(),
            tally.reads,
            tally.read_bytes / BLOCK,
            tally.writes,
            tally.written_bytes / BLOCK,
            ms(tally.waited_ns),
            ms(tally.busy_ns),
        );
    }
}

/// One line of a test: the run, and how it compares with the partition.
fn print_run(stack: Stack, outcome: &Outcome, first_ns: u64, study: &str) {
    let counts = &outcome.report.counts;
    let seconds = outcome.report.seconds.total as f64;
    let rate = |bytes: u64| bytes as f64 / 1_048_576.0 / seconds;
    println!(
        "  {:18} {:10.3}     {:7.4}     {:8.2} {:8.2} {:>7}",
        stack.name(),
        outcome.elapsed_ns as f64 / 1e9,
        outcome.elapsed_ns as f64 / first_ns as f64,
        rate(counts.bytes_read),
        rate(counts.bytes_written),
        study,
    );
}

fn main() {
    let arguments = Arguments::parse();
    let options = arguments.options();
    let profile = catalog::find(arguments.text("disk", "wd800bd-like")).expect("a disk");
    let depth = arguments.number("depth", 1) as usize;
    let disk = Disk {
        name: profile.name.clone(),
        kind: DiskKind::Drive(Box::new(profile)),
        link: None,
    };
    let seed = arguments.number("seed", 1);
    let mapping_ns = arguments.number("mapping", 1000);
    println!(
        "memory {} MiB, read-ahead {} KiB, barriers {:?}, journal {:?}, log {:?}, depth {depth}",
        options.memory_bytes >> 20,
        options.read_ahead_bytes >> 10,
        options.barrier,
        options.journaling,
        options.log_place,
    );
    let tests = [
        ("1", Settings::pm1(), [520, 850, 1280, 1280]),
        ("2", Settings::pm2(), [93, 170, 605, 605]),
        ("3", Settings::pm3(), [1668, 1943, 5260, 5260]),
    ];
    for (number, settings, study) in tests {
        if !arguments.text("tests", "123").contains(number) {
            continue;
        }
        println!(
            "\nTest {number}                seconds  to partition   MB/s read  written   study"
        );
        let mut first_ns = 0;
        for (stack, study) in Stack::ALL.into_iter().zip(study) {
            let layout = stack.layout(&disk, mapping_ns);
            let sort = |disk| -> Box<dyn Model> { Box::new(Elevator::new(disk, depth)) };
            let volume = stack::build_behind(&layout, seed, sort).expect("a possible stack");
            let mut system = FileSystem::new(volume, options.clone()).expect("it fits");
            system.sleep(arguments.number("start", 0) * 1_000_000);
            let outcome = postmark::run(&mut system, &settings).expect("a run");
            outcome.account.check();
            if first_ns == 0 {
                first_ns = outcome.elapsed_ns;
            }
            print_run(stack, &outcome, first_ns, &study.to_string());
            if arguments.text("account", "no") == "yes" {
                print_account(&outcome);
            }
        }
    }
}
