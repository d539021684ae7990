//! Load files against a naive count; streams against a naive file system; the mix; the real file.

use std::collections::{BTreeMap, BTreeSet};

use super::{Dbench, Load, MIX, Operation, Requests, Writes, parse, stream, synthetic};
use crate::workload::program::{Call, Directory, File};

/// A file of the real one's shape.
const LOAD: &str = include_str!("fixtures/client.txt");

/// The words of a file counted without knowing what they mean.
fn naive(text: &str) -> (BTreeMap<String, u64>, [u64; 2]) {
    let (mut counts, mut bytes) = (BTreeMap::new(), [0, 0]);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(name) = words.first() else { continue };
        *counts.entry((*name).to_owned()).or_default() += 1;
        if let Some(which) = ["ReadX", "WriteX"].iter().position(|one| one == name) {
            bytes[which] += words[3].parse::<u64>().unwrap();
        }
    }
    (counts, bytes)
}

fn assert_counts(load: &Load, text: &str) {
    let (names, bytes) = naive(text);
    let counts = load.counts();
    let requests = counts.requests.iter();
    let requests: BTreeMap<String, u64> = requests
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect();
    assert_eq!(requests, names);
    assert_eq!([counts.read_bytes, counts.written_bytes], bytes);
}

/// A file system that knows names and sizes, and refuses what cannot be.
#[derive(Default)]
struct Naive {
    directories: BTreeMap<Directory, BTreeSet<String>>,
    sizes: BTreeMap<(Directory, String), u64>,
    open: BTreeMap<File, (Directory, String)>,
    moved: [u64; 2],
    phases: Vec<String>,
}

impl Naive {
    fn run(calls: impl Iterator<Item = Call>) -> Self {
        let mut naive = Self::default();
        naive.directories.insert(Directory::ROOT, BTreeSet::new());
        for call in calls {
            naive.call(call);
        }
        naive
    }

    fn names(&mut self, directory: Directory) -> &mut BTreeSet<String> {
        self.directories.get_mut(&directory).expect("a directory")
    }

    fn is_open(&self, place: &(Directory, String)) -> bool {
        self.open.values().any(|open| open == place)
    }

    fn call(&mut self, call: Call) {
        match call {
            Call::Mkdir {
                parent,
                name,
                directory,
            } => {
                assert!(self.names(parent).insert(name), "a new name");
                let before = self.directories.insert(directory, BTreeSet::new());
                assert!(before.is_none(), "a new number");
            }
            Call::Rmdir {
                parent,
                name,
                directory,
            } => {
                assert!(self.names(directory).is_empty(), "an empty directory");
                self.directories.remove(&directory);
                assert!(self.names(parent).remove(&name));
            }
            Call::Create { parent, name, file } => {
                assert!(self.names(parent).insert(name.clone()), "a new name");
                self.sizes.insert((parent, name.clone()), 0);
                assert!(self.open.insert(file, (parent, name)).is_none());
            }
            Call::Open { parent, name, file } => {
                assert!(self.sizes.contains_key(&(parent, name.clone())), "{name}");
                assert!(self.open.insert(file, (parent, name)).is_none());
            }
            Call::Read { file, at, bytes } => {
                let size = self.sizes[&self.open[&file]];
                self.moved[0] += bytes.min(size.saturating_sub(at));
            }
            Call::Write { file, at, bytes } => {
                let size = self.sizes.get_mut(&self.open[&file]).unwrap();
                assert!(at <= *size, "no gaps");
                *size = (*size).max(at + bytes);
                self.moved[1] += bytes;
            }
            Call::Close { file } => assert!(self.open.remove(&file).is_some()),
            Call::Fsync { file } => assert!(self.open.contains_key(&file)),
            Call::Delete { parent, name } => {
                assert!(!self.is_open(&(parent, name.clone())), "{name} is open");
                assert!(self.names(parent).remove(&name), "{name}");
                self.sizes.remove(&(parent, name)).expect("a file");
            }
            Call::Rename {
                parent,
                name,
                new_parent,
                new_name,
            } => {
                let old = (parent, name.clone());
                assert!(!self.is_open(&old), "{name} is open");
                let size = self.sizes.remove(&old).expect("a file");
                assert!(self.names(parent).remove(&name));
                self.names(new_parent).insert(new_name.clone());
                self.sizes.insert((new_parent, new_name), size);
            }
            Call::Stat { parent, name } => assert!(self.names(parent).contains(&name), "{name}"),
            Call::Miss { parent, name } => assert!(!self.names(parent).contains(&name), "{name}"),
            Call::List { directory } => drop(self.names(directory).len()),
            Call::Phase { name } => self.phases.push(name),
            other => panic!("dbench has no {other:?}"),
        }
    }
}

#[test]
fn a_load_file_has_the_requests_that_its_lines_say() {
    // Counts and bytes equal those of a count that knows nothing of dbench.
    assert_counts(&parse(LOAD).unwrap(), LOAD);
}

#[test]
fn what_is_wrong_in_a_load_file_is_named_with_its_line_and_field() {
    let refused = |text: &str, wanted: &str| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error} says {wanted}");
    };
    refused("", "requests: the file has none");
    refused(
        "\nSleep 5 SUCCESS",
        "line 2: operation: 'Sleep' is no operation",
    );
    refused("Close 7 SUCCESS", "line 1: handle: 7 is not open here");
    refused("ReadX x 0 4 4 SUCCESS", "line 1: handle: 'x' is no number");
    refused("NTCreateX \"\\a 0x0 0x2 5", "line 1: path: a quote");
    refused(
        "NTCreateX \"\\a\" 0x0 0x9 5 NT_STATUS_OK",
        "create disposition",
    );
    refused("NTCreateX \"\\a\" 0x0 0x2", "line 1: handle: is missing");
    refused("Unlink \"\\a\\..\\b\" 0x6 SUCCESS", "'..' is no name");
    let open = "NTCreateX \"\\a\" 0x0 0x2 5 NT_STATUS_OK\n";
    refused(
        &format!("{open}{open}"),
        "line 2: handle: 5 is open already",
    );
    let write = format!("{open}WriteX 5 4294967295 2 2 NT_STATUS_OK");
    refused(&write, "line 2: size");
    // Any bytes are an error or a load, never a panic.
    for cut in 0..LOAD.len() {
        if LOAD.is_char_boundary(cut) {
            let _ = parse(&LOAD[..cut.min(2000)]);
        }
        if cut > 2000 {
            break;
        }
    }
    let missing = parse("NTCreateX \"\\a\" 0x0 0x1 5 NT_STATUS_OK").unwrap();
    let error = stream(missing, 1).err().unwrap().to_string();
    assert!(
        error.starts_with("line 1: path: 'a' is not there"),
        "{error}"
    );
}

#[test]
fn streams_make_only_calls_that_can_be_made() {
    // On a naive file system, with one client and with three; bytes are the load's.
    for clients in [1, 3] {
        let load = parse(LOAD).unwrap();
        let counts = load.counts();
        let naive = Naive::run(stream(load, clients).unwrap());
        assert_eq!(naive.phases, ["execute"]);
        // One byte behind the end only makes room.
        let written = u64::from(clients) * (counts.written_bytes - 1);
        assert_eq!(
            naive.moved,
            [u64::from(clients) * counts.read_bytes, written]
        );
        let load = synthetic(3000, 5);
        let sum = |load: &Load, from: usize| {
            let (mut read, mut written) = (0, 0);
            for request in &load.requests[from..] {
                match request.operation {
                    Operation::Read { bytes, .. } => read += bytes,
                    Operation::Write { bytes, .. } => written += bytes,
                    _ => {}
                }
            }
            [read * u64::from(clients), written * u64::from(clients)]
        };
        let all = sum(&load, 0);
        let naive = Naive::run(stream(load, clients).unwrap());
        assert_eq!(naive.moved, all, "every read finds its bytes");
        assert!(naive.open.is_empty(), "all is closed");
    }
}

#[test]
fn the_synthetic_load_has_the_published_mix() {
    // A whole pass has each number to within the rounding of its sums.
    let load = synthetic(MIX.requests, 1);
    let counts = load.counts();
    let close = |name: &str, wanted: u64| {
        let found = counts.requests[name];
        assert!(found.abs_diff(wanted) <= 2, "{name}: {found}, not {wanted}");
    };
    close("ReadX", MIX.reads);
    close("WriteX", MIX.writes);
    close("NTCreateX", MIX.creates);
    close("Close", MIX.closes);
    close("Unlink", MIX.unlinks);
    close("Flush", MIX.flushes);
    close("Rename", MIX.renames);
    close("QUERY_PATH_INFORMATION", MIX.queries);
    close("FIND_FIRST", MIX.finds);
    let share = |found: u64, wanted: u64| found as f64 / wanted as f64;
    assert!((share(counts.read_bytes, MIX.read_bytes) - 1.0).abs() < 1e-3);
    assert!((share(counts.written_bytes, MIX.written_bytes) - 1.0).abs() < 1e-3);
    let total: u64 = counts.requests.values().sum();
    assert!(total.abs_diff(MIX.requests) < 20, "{total}");
    // A part of a pass has its part of them.
    let part = synthetic(MIX.requests / 20, 2).counts();
    assert!(part.requests["ReadX"].abs_diff(MIX.reads / 20) <= 4);
}

#[test]
fn one_seed_gives_one_load() {
    assert_eq!(synthetic(2000, 7), synthetic(2000, 7));
    assert_ne!(synthetic(2000, 7), synthetic(2000, 8));
    let settings = Dbench {
        requests: Requests::Synthetic(500),
        clients: 2,
        writes: Writes::Cached,
    };
    let calls = |seed| settings.stream(seed).unwrap().collect::<Vec<Call>>();
    assert_eq!(calls(1), calls(1));
    assert!(settings.clone().stream(1).is_ok());
    let none = Dbench {
        clients: 0,
        ..settings
    };
    assert!(none.stream(1).is_err());
}

#[test]
fn names_fit_patterns_as_in_dos() {
    let text = "NTCreateX \"\\d\" 0x1 0x2 1 SUCCESS\nClose 1 SUCCESS\n\
        NTCreateX \"\\d\\AB.TMP\" 0x40 0x2 2 SUCCESS\nClose 2 SUCCESS\n\
        NTCreateX \"\\d\\AC.TXT\" 0x40 0x2 3 SUCCESS\nClose 3 SUCCESS\n\
        Unlink \"\\d\\A?.T*P\" 0x6 SUCCESS\nQUERY_PATH_INFORMATION \"\\d\\AB.TMP\" 1004 \
        NT_STATUS_OBJECT_NAME_NOT_FOUND\nDeltree \"\\d\" SUCCESS\n";
    let calls = stream(parse(text).unwrap(), 1).unwrap().collect::<Vec<_>>();
    let deleted = calls.iter().filter_map(|call| match call {
        Call::Delete { name, .. } => Some(name.as_str()),
        _ => None,
    });
    assert_eq!(deleted.collect::<Vec<_>>(), ["AB.TMP", "AC.TXT"]);
    Naive::run(calls.into_iter());
}

#[test]
fn the_real_load_file_is_understood() {
    // The package's own load: its counts, and a run of it on the naive file system.
    let text = std::fs::read_to_string("/usr/share/dbench/client.txt")
        .expect("the load of Debian's package dbench, which has to be installed");
    let load = parse(&text).unwrap();
    assert_counts(&load, &text);
    let counts = load.counts();
    assert_eq!(counts.requests["ReadX"], MIX.reads);
    let requests: u64 = counts.requests.values().sum();
    assert_eq!(requests, MIX.requests);
    assert_eq!(
        [counts.read_bytes, counts.written_bytes],
        [MIX.read_bytes, MIX.written_bytes]
    );
    let naive = Naive::run(stream(load, 1).unwrap());
    assert!(
        naive.moved[0] > MIX.read_bytes / 100 * 95,
        "{:?}",
        naive.moved
    );
}
