//! Waiting against closed forms and against queues played through.

use block::sim::Random;

use super::{Branch, Spread, Station, closed, in_run, largest, last_of, open};

const ONE: Spread<'static> = Spread {
    width: &[1.0],
    excess: &[0.0],
};

fn branches(count: usize, variation: f64) -> Vec<Branch> {
    let branch = Branch {
        visits: 1.0 / count as f64,
        stations: vec![Station::once(1e6, variation)],
        ..Branch::default()
    };
    let mut branches = vec![branch; count];
    branches.push(Branch {
        visits: 1.0,
        ..Branch::default()
    });
    branches
}

/// Exponential service: exactly N·K / (K+N-1).
#[test]
fn balanced_networks_are_exact() {
    for (disks, population) in [(1, 5), (4, 3), (4, 16), (6, 16), (6, 640)] {
        let rate = closed(&branches(disks, 1.0), ONE, population).rate * 1e6;
        let (k, n) = (disks as f64, population as f64);
        assert!(
            (rate / (n * k / (k + n - 1.0)) - 1.0).abs() < 1e-9,
            "{k} {n}"
        );
    }
}

/// Requests that are answered when their work fits behind two exponential stations, one piece each:
/// the Markov chain of one request has two states, waiting with both at work and with one, of 1/3
/// and 2/3 of the time, so that 2/3 of both work on average. One station is never idle.
#[test]
fn requests_wait_for_room() {
    let kept = |disks, population| {
        let mut branches = branches(disks, 1.0);
        for branch in &mut branches[..disks] {
            branch.stations[0] = Station {
                background: 1e6,
                room: 1.0,
                ..Station::once(0.0, 1.0)
            };
        }
        closed(&branches, ONE, population).rate * 1e6 / disks as f64
    };
    assert!((kept(1, 1) - 1.0).abs() < 1e-6);
    assert!((kept(2, 1) / (2.0 / 3.0) - 1.0).abs() < 0.08);
    // Birthdays: of 400 stations about one in 20.
    assert!((kept(400, 1) * 20.0 - 1.0).abs() < 0.05);
}

/// Services per service time of `disks` constant servers with `population` random customers.
fn played(disks: usize, population: usize) -> f64 {
    let mut random = Random::new(7);
    let mut queues = vec![0; disks];
    for _ in 0..population {
        queues[random.index(disks)] += 1;
    }
    // Servers begin at different times, as those of real disks do.
    let mut ends: Vec<f64> = (0..disks).map(|at| at as f64 / disks as f64).collect();
    let mut done = 0;
    let mut now = 0.0;
    while done < 200_000 {
        let next = (0..disks)
            .filter(|&disk| queues[disk] > 0)
            .min_by(|&a, &b| ends[a].total_cmp(&ends[b]))
            .unwrap();
        now = ends[next];
        queues[next] -= 1;
        ends[next] = now + 1.0;
        let to = random.index(disks);
        if queues[to] == 0 {
            ends[to] = now + 1.0;
        }
        queues[to] += 1;
        done += 1;
    }
    f64::from(done) / now
}

/// Constant service: within 3 % of the queue played through.
#[test]
fn constant_service_is_close() {
    for (disks, population) in [(2, 3), (4, 4), (6, 16), (8, 64)] {
        let rate = closed(&branches(disks, 0.0), ONE, population).rate * 1e6;
        let expected = played(disks, population);
        assert!(
            (rate / expected - 1.0).abs() < 0.04,
            "{disks} {population} {rate} {expected}"
        );
    }
}

/// M/M/1 and M/D/1 at several loads, and bursts that wait as Allen and Cunneen say.
#[test]
fn open_queues_follow_the_formulas() {
    for load in [0.1, 0.5, 0.8] {
        let response =
            |variation, gaps| open(&branches(1, variation), ONE, load / 1e6, gaps).response / 1e6;
        assert!((response(1.0, 1.0) - 1.0 / (1.0 - load)).abs() < 1e-9);
        assert!((response(0.0, 1.0) - 1.0 - load / (2.0 * (1.0 - load))).abs() < 1e-9);
        let burst = 1.0 + load / (1.0 - load) * 2.0;
        assert!((response(1.0, 3.0) - burst).abs() < 1e-9);
    }
}

/// The largest of some numbers, and of some normals, by trying.
#[test]
fn the_last_of_several() {
    let times = [5.0, 1.0, 3.0, 2.0];
    let mut sum = 0.0;
    let mut count = 0.0;
    for first in 0..4 {
        for second in (0..4).filter(|&second| second != first) {
            sum += f64::max(times[first], times[second]);
            count += 1.0;
        }
    }
    assert!((last_of(&times, 2) - sum / count).abs() < 1e-9);
    let mut random = Random::new(3);
    let mut normal = || {
        (0..12)
            .map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20))
            .sum::<f64>()
            - 6.0
    };
    for count in 1..=8 {
        let tries = 40_000;
        let mean = (0..tries)
            .map(|_| (0..count).map(|_| normal()).fold(f64::MIN, f64::max))
            .sum::<f64>()
            / f64::from(tries);
        assert!((mean - largest(count)).abs() < 0.02, "{count} {mean}");
    }
}

/// A queue whose busy periods begin with a longer service, against one played through.
#[test]
fn a_first_service_of_its_own_is_waited_for() {
    let (usual, first, gap) = (1e6, 4e6, 3e6);
    let mut random = Random::new(3);
    let (mut at, mut free, mut sum) = (0.0, 0.0, 0.0);
    let count = 400_000;
    for _ in 0..count {
        let number = ((random.number() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        at -= number.ln() * gap;
        let service = if at >= free { first } else { usual };
        free = at.max(free) + service;
        sum += free - at;
    }
    let played = sum / f64::from(count);
    let branch = Branch {
        visits: 1.0,
        stations: vec![Station {
            first: Some((first, first * first)),
            ..Station::once(usual, 0.0)
        }],
        ..Branch::default()
    };
    let above = Branch {
        visits: 1.0,
        ..Branch::default()
    };
    let told = open(&[branch, above], ONE, 1.0 / gap, 1.0).response;
    assert!((told / played - 1.0).abs() < 0.01, "{told} for {played}");
}

/// What the parts of runs find, played through one by one, for disks that are half busy, nearly
/// full, and get too much while a run lasts; and where runs are long, as Pollaczek and Khinchine.
#[test]
fn runs_are_as_played_through() {
    let mut random = Random::new(11);
    let runs = 20_000;
    for (busy, parts) in [(0.5, 16), (0.95, 8), (0.95, 64), (1.3, 16), (3.0, 8)] {
        let (mut waits, mut idles) = (0.0, 0.0);
        for _ in 0..runs {
            let mut wait = 0.0_f64;
            for _ in 0..parts {
                waits += wait;
                idles += f64::from(u8::from(wait <= 0.0));
                let uniform = ((random.number() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                let gap = -crate::stats::real::ln(uniform);
                wait = (wait + busy - gap).max(0.0);
            }
        }
        let all = f64::from(runs * parts);
        let found = in_run(busy, f64::from(parts));
        assert!((found.wait / (waits / all) - 1.0).abs() < 0.02, "{busy}");
        assert!((found.idle / (idles / all) - 1.0).abs() < 0.02, "{busy}");
    }
    let endless = in_run(0.5, 1e6);
    assert!((endless.wait - 0.25).abs() < 2e-3);
    assert!((endless.idle - 0.5).abs() < 2e-3);
    // A queue that grows by half a gap with each part.
    let crowded = in_run(1.5, 1e12);
    assert!((crowded.wait / 0.25e12 - 1.0).abs() < 1e-3, "{crowded:?}");
    assert!(crowded.idle < 1e-3);
}
