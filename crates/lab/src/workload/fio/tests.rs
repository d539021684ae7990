//! Job files are read or refused, and requests follow them.

use super::distribution::{Permutation, Zipf};
use super::{Arrival, Direction, Distribution, Job, Mix, Pattern, Request, Requests, parse};
use block::sim::Random;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

const SEED_003: &str = "
; the job of the guide on striping
[global]
ioengine=libaio
direct=1
bs=16k
iodepth=64
runtime=60
time_based

[randrw]
rw=randrw
numjobs=10
size=512M
randrepeat=1
group_reporting
";

fn one(text: &str) -> Job {
    parse(text).expect("jobs").remove(0)
}

fn requests(job: &Job, count: usize) -> Vec<Request> {
    Requests::new(job, 0)
        .expect("requests")
        .take(count)
        .collect()
}

/// The job of seed 003 is what it says, with the globals in it.
#[test]
fn job_of_the_guide_is_read() {
    let job = one(SEED_003);
    assert_eq!((job.name.as_str(), job.line), ("randrw", 11));
    assert_eq!(
        (job.pattern, job.mix, job.mix_percent),
        (Pattern::Random, Mix::Both, 50)
    );
    assert_eq!((job.block, job.depth, job.processes), ([16384; 2], 64, 10));
    assert_eq!((job.size, job.runtime), (512 << 20, Some(60_000_000_000)));
    let reads = requests(&job, 20_000)
        .iter()
        .filter(|r| r.direction == Direction::Read)
        .count();
    assert!((9_600..10_400).contains(&reads), "{reads}");
}

/// Options that are not known, and values that cannot be, are named with their lines.
#[test]
fn bad_files_are_named() {
    for (text, line, field) in [
        ("[a]\nsize=1M\nzonemode=zbd", 3, "zonemode"),
        ("bs=4k", 1, "bs"),
        ("[a\nrw=read", 1, "a"),
        ("[a]\nrw=backwards", 2, "rw"),
        ("[a]\nbs=0", 2, "bs"),
        ("[a]\nsize=99999999T", 2, "size"),
        ("[a]\nsize=50%", 2, "size"),
        ("[a]\niodepth=0", 2, "iodepth"),
        ("[a]\nrandom_distribution=zipf:x", 2, "random_distribution"),
        (
            "[a]\nrandom_distribution=zoned:50/50",
            2,
            "random_distribution",
        ),
        (
            "[a]\nrandom_distribution=pareto:1",
            2,
            "random_distribution",
        ),
        ("[a]\nruntime=1y", 2, "runtime"),
        ("[global]\n\n[a]\nrw=read", 3, "size"),
        ("[a]\nsize=1k", 1, "size"),
        ("[a]\nsize=1M\ntime_based", 1, "time_based"),
        ("[a]\nsize=1E", 2, "size"),
        (
            "[a]\nsize=1M\nnumjobs=9\noffset_increment=1048576T",
            1,
            "offset",
        ),
        ("", 0, "jobs"),
        ("[global]\nbs=4k", 0, "jobs"),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(
            (error.line(), error.field()),
            (line, field),
            "{text}: {error}"
        );
    }
}

/// Random requests take every block once in each pass; sequential ones in order.
#[test]
fn every_block_is_taken_once() {
    let job = one("[a]\nrw=randread\nbs=4k\nsize=400k\nruntime=1\ntime_based\noffset=1M");
    let found = requests(&job, 200);
    for pass in found.chunks(100) {
        let mut places: Vec<u64> = pass.iter().map(|r| (r.offset - (1 << 20)) / 4096).collect();
        places.sort_unstable();
        assert_eq!(places, (0..100).collect::<Vec<u64>>());
    }
    assert_ne!(found[..100], found[100..], "passes differ");
    let job = one("[a]\nrw=write\nbs=4k\nsize=16k\nfsync=2");
    let found: Vec<(u64, bool)> = requests(&job, 9)
        .iter()
        .map(|r| (r.offset, r.flush))
        .collect();
    assert_eq!(
        found,
        [(0, false), (4096, true), (8192, false), (12288, true)]
    );
}

/// Zones get their shares; the rest of the region gets the rest.
#[test]
fn zones_get_their_shares() {
    let job = one(
        "[a]\nrw=randread\nbs=4k\nsize=4000k\nrandom_distribution=zoned:60/10:30/20:8/30:2/40\n\
         runtime=1\ntime_based",
    );
    let mut counts = [0_u32; 4];
    for request in requests(&job, 50_000) {
        counts[match request.offset / 4096 {
            0..100 => 0,
            100..300 => 1,
            300..600 => 2,
            _ => 3,
        }] += 1;
    }
    for (count, percent) in counts.into_iter().zip([60, 30, 8, 2]) {
        assert!(count.abs_diff(percent * 500) < 600, "{counts:?}");
    }
}

/// Draws of Zipf's law have its exact probabilities, for exponents below, at and above 1.
#[test]
fn zipf_has_its_probabilities() {
    for theta in [0.5, 1.0, 1.2, 3.0] {
        let zipf = Zipf::new(50, theta);
        let mut random = Random::new(3);
        let mut counts = [0_u32; 50];
        for _ in 0..100_000 {
            counts[zipf.draw(&mut random) as usize - 1] += 1;
        }
        let weights: Vec<f64> = (1..=50).map(|rank| f64::from(rank).powf(-theta)).collect();
        let sum: f64 = weights.iter().sum();
        for (count, weight) in counts.iter().zip(&weights) {
            let expected = weight / sum * 1e5;
            let off = (f64::from(*count) - expected).abs();
            assert!(
                off < 5.0 * expected.sqrt() + 5.0,
                "{theta}: {count} for {expected}"
            );
        }
    }
    let mut random = Random::new(4);
    assert_eq!(Zipf::new(1, 1.1).draw(&mut random), 1);
    assert!(Zipf::new(1 << 50, 0.8).draw(&mut random) <= 1 << 50);
}

/// A rate of 1,000 has gaps of a millisecond, even or on average.
#[test]
fn rates_set_arrivals() {
    let text = "[a]\nrw=randread\nsize=400M\nrate_iops=1000\n";
    let even = requests(&one(text), 3);
    let times: Vec<u64> = even.iter().map(|request| request.not_before).collect();
    assert_eq!(times, [0, 1_000_000, 2_000_000]);
    let job = one(&format!("{text}rate_process=poisson"));
    assert_eq!(job.arrival, Arrival::Poisson);
    let last = requests(&job, 10_001)[10_000].not_before;
    assert!((9_700_000_000..10_300_000_000).contains(&last), "{last}");
}

/// One seed gives the same requests twice; processes and seeds differ.
#[test]
fn requests_repeat_with_their_seed() {
    let job = one("[a]\nrw=randrw\nsize=64M\nnumjobs=2\nrandom_distribution=zipf:1.1");
    assert_eq!(requests(&job, 100), requests(&job, 100));
    let other: Vec<Request> = Requests::new(&job, 1)
        .expect("requests")
        .take(100)
        .collect();
    assert_ne!(requests(&job, 100), other);
    assert!(Requests::new(&job, 2).is_err());
    let seeded = Job {
        seed: 5,
        ..job.clone()
    };
    assert_ne!(requests(&job, 100), requests(&seeded, 100));
}

proptest! {
    /// The permutation takes every number once.
    #[test]
    fn permutation_is_one(limit in 1_u64..300, key: u64) {
        let permutation = Permutation::new(limit, key);
        let mut found: Vec<u64> = (0..limit).map(|number| permutation.of(number)).collect();
        found.sort_unstable();
        prop_assert_eq!(found, (0..limit).collect::<Vec<u64>>());
    }

    /// Whatever the job: requests stay inside its region, and move its volume.
    #[test]
    fn requests_stay_inside(
        size in 8192_u64..1_000_000,
        read in 1_u64..8192,
        write in 1_u64..8192,
        percent in 0_u32..=100,
        sequential: bool,
        random_percent in 0_u32..=100,
        repeats: bool,
        kind in 0_u32..3,
        seed: u64,
    ) {
        let distribution = match kind {
            0 => Distribution::Uniform,
            1 => Distribution::Zipf(1.3),
            _ => one("[a]\nsize=1M\nrandom_distribution=zoned:90/1:10/99").distribution,
        };
        let pattern = if sequential { Pattern::Sequential } else { Pattern::Random };
        let job = Job {
            size, block: [read, write], mix: Mix::Both,
            mix_percent: percent, pattern, random_percent, repeats,
            distribution, seed, offset: 77, ..Job::default()
        };
        let mut moved = 0;
        for request in Requests::new(&job, 0).expect("requests").take(500) {
            prop_assert!(request.offset >= 77 && request.offset + request.bytes <= 77 + size);
            moved += request.bytes;
        }
        prop_assert!(moved > 0);
    }

    /// No job file makes the parser panic.
    #[test]
    fn hostile_files_are_answered(
        text in "(\\[[a-z]{0,3}\\]?\n|(bs|size|rw|runtime|offset|numjobs)=[0-9a-z,:%]{0,8}\n){0,8}",
    ) {
        if let Ok(jobs) = parse(&text) {
            for job in jobs {
                let _ = Requests::new(&job, 0).map(|requests| requests.take(10).count());
            }
        }
    }
}
