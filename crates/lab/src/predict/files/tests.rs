//! Each formula against a naive one, and all of them against the model.

use block::sim::Random;

use super::cache::{Crowd, characteristic_time, hit};
use super::cycle;
use super::emulated::emulate;
use super::journal::{distinct, log_blocks};
use super::pool::Pool;
use super::terms::Files;
use crate::component::Component;
use crate::disk::catalog;
use crate::disk::drive::Model;
use crate::filesystem::{Barrier, Costs, Elevator, FileSystem, Index, Journaling, Node, Options};
use crate::layout::{Area, Buses, Disk, DiskKind, Layout, Segment};
use crate::stack;
use crate::workload::postmark::{Counts, Location, Settings, Stream};

/// A list of what was used last, the newest at its end: hits of each of three crowds.
fn simulated(crowds: [(usize, usize); 3], capacity: usize, draws: usize) -> [f64; 3] {
    let weights: usize = crowds.iter().map(|(items, rate)| items * rate).sum();
    let mut used = vec![0_u64; crowds.iter().map(|crowd| crowd.0).sum()];
    let mut order = std::collections::BTreeSet::new();
    let mut random = Random::new(7);
    let (mut hits, mut asked) = ([0.0; 3], [0.0_f64; 3]);
    for now in 1..=draws as u64 {
        let mut draw = random.below(weights as u64) as usize;
        let (mut first, mut crowd) = (0, 0);
        for (index, (items, rate)) in crowds.into_iter().enumerate() {
            if draw < items * rate {
                crowd = index;
                break;
            }
            draw -= items * rate;
            first += items;
        }
        let item = first + draw / crowds[crowd].1;
        let known = order.remove(&(used[item], item));
        if now > draws as u64 / 4 {
            asked[crowd] += 1.0;
            hits[crowd] += f64::from(u8::from(known));
        }
        used[item] = now;
        order.insert((now, item));
        if order.len() > capacity {
            order.pop_first();
        }
    }
    [0, 1, 2].map(|crowd| hits[crowd] / asked[crowd])
}

/// Che's hits are those of a list of what was used last, within 1 % of all requests.
#[test]
fn che_is_a_simulated_cache() {
    let crowds = [(200, 20), (1000, 4), (4000, 1)];
    for capacity in [100, 600, 1500, 3000] {
        let seen = simulated(crowds, capacity, 400_000);
        let known = crowds.map(|(items, rate)| Crowd {
            items: items as f64,
            rate: rate as f64,
        });
        let time = characteristic_time(&known, capacity as f64);
        for (crowd, seen) in known.iter().zip(seen) {
            let found = hit(crowd.rate, time);
            assert!(
                (found - seen).abs() < 0.01,
                "{capacity}: {found}, simulated {seen}"
            );
        }
    }
}

/// Items that are used alike hit with the share that fits, and all that fits hits.
#[test]
fn che_in_closed_form() {
    let crowds = [Crowd {
        items: 1000.0,
        rate: 0.3,
    }];
    for capacity in [10.0, 250.0, 999.0] {
        let found = hit(0.3, characteristic_time(&crowds, capacity));
        assert!((found - capacity / 1000.0).abs() < 1e-9, "{found}");
    }
    let never = [Crowd {
        items: 1e9,
        rate: 0.0,
    }];
    for crowds in [&crowds[..], &never[..], &[]] {
        assert!(characteristic_time(crowds, 1000.0).is_infinite());
    }
    assert!((hit(0.3, f64::INFINITY) - 1.0).abs() < 1e-15);
}

/// Distinct blocks of random draws, against drawing.
#[test]
fn distinct_blocks_are_those_of_draws() {
    let mut random = Random::new(3);
    for (blocks, draws) in [(1, 5), (20, 10), (20, 100), (500, 300)] {
        let mut sum = 0;
        for _ in 0..2000 {
            let drawn: std::collections::BTreeSet<u64> =
                (0..draws).map(|_| random.below(blocks)).collect();
            sum += drawn.len();
        }
        let (mean, found) = (
            f64::from(sum as u32) / 2000.0,
            distinct(blocks as f64, f64::from(draws)),
        );
        assert!((found / mean - 1.0).abs() < 0.01, "{found}, drawn {mean}");
    }
    assert!(distinct(0.0, 3.0).abs() < 1e-15 && distinct(1.0, 0.0).abs() < 1e-15);
}

fn layout(bytes: u64) -> Layout {
    let profile = catalog::find("wd800bd-like").unwrap();
    Layout {
        name: "partition".to_owned(),
        disks: vec![Disk {
            name: profile.name.clone(),
            kind: DiskKind::Drive(Box::new(profile)),
            link: None,
        }],
        buses: Buses::Own,
        volume: vec![Segment::Linear {
            len: bytes,
            area: Area { disk: 0, start: 0 },
            cut: None,
        }],
        mapping_ns: 0,
        loops: Vec::new(),
        link: None,
    }
}

fn system(layout: &Layout, options: &Options) -> FileSystem {
    let sort = |disk| -> Box<dyn Model> { Box::new(Elevator::new(disk, 1)) };
    let volume = stack::build_behind(layout, 1, sort).unwrap();
    FileSystem::new(volume, options.clone()).unwrap()
}

/// The log of a transaction has the blocks that the model writes: of files that are made at once,
/// the superblock's descriptors, two bitmaps, the tables, the directory and the lists.
#[test]
fn log_is_that_of_the_model() {
    let layout = layout(1 << 30);
    for (files, listed) in [(1_u32, false), (40, false), (600, false), (600, true)] {
        let mut system = system(&layout, &Options::default());
        for number in 0..files {
            let name = format!("file{number:06}");
            let node = system.create(Node::ROOT, &name).unwrap();
            let bytes = if listed { 13 * 4096 } else { 4096 };
            system.write(node, 0, bytes).unwrap();
            system.close(node);
        }
        let before = system.account();
        assert_eq!(before.commits, 0, "all of it is one transaction");
        system.sync();
        let account = system.account();
        assert_eq!(account.commits, 1);
        let written = account.class(Component::Journal).written_bytes / 4096;
        // Inodes from 12 on, 16 in a block of the table; the root's is in the first.
        let tables = (11 + u64::from(files)).div_ceil(16);
        let names = system.readdir(Node::ROOT).unwrap().len();
        assert_eq!(names as u64, u64::from(files) + 1);
        let directory = system.blocks(Node::ROOT).len() as u64;
        let lists = if listed { u64::from(files) } else { 0 };
        let groups = u64::from(listed && files * 14 > 32_768 - 3000);
        let metadata = 3 + tables + directory + lists + groups;
        assert_eq!(
            log_blocks(metadata as f64, 0.0) as u64,
            written,
            "{files} files"
        );
    }
}

/// Counts are those of the program's report; sizes and numbers have the means that uniform draws
/// have.
#[test]
fn pool_is_counted() {
    let settings = Settings {
        number: 2000,
        transactions: 20_000,
        size: (4096, 40_960),
        ..Settings::default()
    };
    let pool = Pool::count(&settings, &Options::default().costs).unwrap();
    let counts = Counts::of(Stream::new(&settings).unwrap());
    let whole = |value: f64| value as u64;
    assert_eq!(whole(pool.made_first), counts.created_alone);
    assert_eq!(whole(pool.made), counts.created_mixed);
    assert_eq!(whole(pool.appends), counts.appended);
    assert_eq!(whole(pool.reads), counts.read);
    assert_eq!(whole(pool.deleted), counts.deleted_mixed);
    // A size is uniform over whole bytes, so that pages are over 1 to 10 but for the first.
    let mean = pool.pages_first / pool.made_first;
    assert!((mean - 6.0).abs() < 0.15, "{mean} pages");
    assert!((pool.files - 2000.0).abs() < 200.0, "{} files", pool.files);
    assert!(pool.new_pages <= pool.appended_pages);
    assert!(pool.appended_pages <= pool.new_pages + pool.appends);
}

/// What the processor computes is what the model lets it compute, within 3 %.
#[test]
fn processor_is_that_of_the_model() {
    let layout = layout(4 << 30);
    for size in [(1, 1000), (1000, 60_000)] {
        let settings = Settings {
            number: 1500,
            transactions: 3000,
            size,
            ..Settings::default()
        };
        let options = Options::default();
        let pool = Pool::count(&settings, &options.costs).unwrap();
        let run = emulate(&layout, &settings, &options, 1).unwrap();
        let error = pool.processor_ns / run.account.processor_ns as f64 - 1.0;
        assert!(error.abs() < 0.03, "{error}");
    }
    let free = Costs {
        call_ns: 0,
        page_ns: 0,
        allocate_ns: 0,
        create_ns: 0,
        delete_ns: 0,
        search_ns: 0,
    };
    let pool = Pool::count(&Settings::default(), &free).unwrap();
    assert!(pool.processor_ns.abs() < 1e-9);
}

/// Pieces of files in a pool that is filled first fit, against doing that.
#[test]
fn pieces_are_those_of_first_fit() {
    const FILES: usize = 400;
    const PAGES: usize = 24;
    const LEAST: u64 = 4;
    let mut random = Random::new(5);
    for cycle in [10, 40, 120] {
        let mut used = vec![false; FILES * PAGES * 4];
        let mut files: Vec<Vec<usize>> = Vec::new();
        let mut held: Vec<usize> = Vec::new();
        let pieces = |file: &[usize]| 1 + file.windows(2).filter(|at| at[0] + 1 != at[1]).count();
        let take = |used: &mut Vec<bool>, held: &[usize], random: &mut Random| {
            let pages = (LEAST + random.below(2 * (PAGES as u64 - LEAST))) as usize;
            let mut file = Vec::new();
            for (at, used) in used.iter_mut().enumerate() {
                if file.len() == pages {
                    break;
                }
                if !*used && held.binary_search(&at).is_err() {
                    *used = true;
                    file.push(at);
                }
            }
            file
        };
        for _ in 0..FILES {
            files.push(take(&mut used, &held, &mut random));
        }
        let (mut sum, mut count, mut waiting) = (0, 0, Vec::new());
        for transaction in 0..FILES * 6 {
            let file = files.swap_remove(random.below(files.len() as u64) as usize);
            for at in file {
                used[at] = false;
                waiting.push(at);
            }
            files.push(take(&mut used, &sorted(&held, &waiting), &mut random));
            if transaction % cycle == cycle - 1 {
                held = std::mem::take(&mut waiting);
            }
            sum += pieces(files.last().unwrap());
            count += 1;
        }
        let seen = f64::from(sum as u32) / f64::from(count as u32);
        let found = cycle::pieces_of(1.0, cycle as f64 / FILES as f64, 6.0);
        let found = found.min(PAGES as f64);
        assert!(
            (found / seen - 1.0).abs() < 0.1,
            "cycle {cycle}: {found}, seen {seen}"
        );
    }
}

fn sorted(held: &[usize], waiting: &[usize]) -> Vec<usize> {
    let mut all = [held, waiting].concat();
    all.sort_unstable();
    all
}

/// All of it against the model, small: the whole time within a half, at a memory that everything
/// fits into and at one that does not hold the pool; a run that fits into memory takes what the
/// processor takes.
#[test]
fn small_runs_are_predicted() {
    let layout = layout(4 << 30);
    let settings = Settings {
        number: 1000,
        transactions: 8000,
        size: (1000, 60_000),
        ..Settings::default()
    };
    for memory in [24 << 20, 128 << 20] {
        let options = Options {
            memory_bytes: memory,
            ..Options::default()
        };
        let found = Files::new(&layout, &settings, &options, 1)
            .unwrap()
            .predict()
            .unwrap();
        let run = emulate(&layout, &settings, &options, 1).unwrap();
        let ratio = found.elapsed_ns.value / run.elapsed_ns as f64;
        assert!((0.6..1.5).contains(&ratio), "{memory}: {ratio}");
        let terms: f64 = found.terms.iter().map(|term| term.value).sum();
        let all = terms + found.processor_ns;
        assert!((all / found.elapsed_ns.value - 1.0).abs() < 0.01, "{all}");
    }
    let small = Settings {
        number: 500,
        transactions: 500,
        ..Settings::default()
    };
    let options = Options::default();
    let found = Files::new(&layout, &small, &options, 1).unwrap();
    let found = found.predict().unwrap();
    let run = emulate(&layout, &small, &options, 1).unwrap();
    assert!(found.data_written.abs() < 1e-9);
    let ratio = found.elapsed_ns.value / run.elapsed_ns as f64;
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}

/// What has no formula is refused by its name.
#[test]
fn what_has_no_formula_is_refused() {
    let layout = layout(4 << 30);
    let default = Options::default;
    let refused = |settings: &Settings, options: &Options, word: &str| {
        let error = Files::new(&layout, settings, options, 1).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    };
    let settings = Settings::default();
    let no_log = Options {
        journaling: Journaling::None,
        ..default()
    };
    refused(&settings, &no_log, "without a log");
    let barrier = Options {
        barrier: Barrier::On,
        ..default()
    };
    refused(&settings, &barrier, "barriers");
    let linear = Options {
        index: Index::Linear,
        ..default()
    };
    refused(&settings, &linear, "index");
    let place = Location {
        directory: "a".to_owned(),
        weight: 1,
    };
    let spread = Settings {
        locations: vec![place],
        ..Settings::default()
    };
    refused(&spread, &default(), "several directories");
    let reads = Settings {
        bias_read: None,
        ..Settings::default()
    };
    refused(&reads, &default(), "without appends");
    let wrong = Settings {
        number: 0,
        ..Settings::default()
    };
    refused(&wrong, &default(), "number");
}
