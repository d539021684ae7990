//! Threads that ask a mirror, or an origin and its snapshot, all at once, while another one
//! suspends them, exchanges their legs, and takes legs away.
//!
//! Each block has one writer, which counts up. So whoever reads a block knows what it may hold: no
//! less than the last version that was answered before, no more than the last one that was asked
//! for.

mod blocks;
mod leg;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ashlar_dm::home::Home;
use ashlar_dm::mirror::{Mirror, MirrorConfig, MirrorImage, Sync};
use ashlar_dm::snapshot::{Origin, OriginConfig, Overflow, SnapshotConfig, Stored};
use ashlar_dm::volume::Access;
use block::{Device, Kind};

use blocks::{BLOCK, Blocks, Writer, read_and_judge, run};
use leg::TestLeg;

const LIMIT: Duration = Duration::from_secs(20);
const THREADS: usize = 4;

fn devices(legs: &[Arc<TestLeg>]) -> Vec<Arc<dyn Device>> {
    let device = |leg: &Arc<TestLeg>| Arc::clone(leg) as Arc<dyn Device>;
    legs.iter().map(device).collect()
}

/// Nothing is asked of legs from here on until they are thawed.
fn freeze(legs: &[Arc<TestLeg>]) {
    for leg in legs {
        assert_eq!(leg.in_flight(), 0, "a suspended home has nothing in flight");
        leg.freeze(true);
    }
    std::thread::sleep(Duration::from_micros(300));
}

fn thaw(legs: &[Arc<TestLeg>]) {
    for leg in legs {
        leg.freeze(false);
    }
}

fn mirror_config(blocks: u64) -> MirrorConfig {
    let images = (0..2).map(|leg| MirrorImage::present(leg as u64, leg));
    let mut config = MirrorConfig::new("mirror", blocks * BLOCK, 4 * BLOCK, images.collect());
    config.sync = Sync::Assumed;
    // Regions are dirty for a moment only.
    config.clean_after = Duration::from_millis(2);
    config
}

fn start_mirror(legs: &[Arc<TestLeg>], blocks: u64) -> Home<Mirror> {
    let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
    let mirror = Mirror::new(mirror_config(blocks), &infos).expect("well formed");
    Home::start("mirror", mirror, devices(legs), LIMIT).expect("it starts")
}

/// Reads never see what is older than what was answered, or than what was read before; images are
/// the same when nobody writes; and while a mirror is suspended its legs are asked nothing, also
/// not those that it had before an exchange.
#[test]
fn a_mirror_is_exchanged_under_threads() {
    const BLOCKS: u64 = 64;
    let blocks = Blocks::new(BLOCKS);
    let mut legs = vec![
        TestLeg::new("a", BLOCKS * BLOCK),
        TestLeg::new("b", BLOCKS * BLOCK),
    ];
    let home = start_mirror(&legs, BLOCKS);
    let mut gone = Vec::new();
    let face = home.face(0).expect("its only one");
    run(
        THREADS,
        |thread, stop| {
            let mut writer = Writer::new(&face, &blocks, (thread, THREADS));
            writer.work(stop, true);
        },
        || {
            for round in 0..60 {
                std::thread::sleep(Duration::from_millis(4));
                home.suspend(LIMIT).expect("it is suspended");
                freeze(&legs);
                if round % 2 == 0 {
                    assert!(legs[0].bytes() == legs[1].bytes(), "nobody writes");
                }
                if round % 3 == 0 {
                    let next: Vec<_> = legs.iter().map(|leg| leg.successor()).collect();
                    let prepared = home.prepare(mirror_config(BLOCKS), devices(&next), LIMIT);
                    let reloaded = prepared.expect("it can be").reload(LIMIT);
                    reloaded.expect("it is suspended");
                    // The old ones stay frozen.
                    gone.append(&mut std::mem::replace(&mut legs, next));
                }
                thaw(&legs);
                home.resume().expect("it goes on");
            }
        },
    );
    for leg in gone.iter().chain(&legs) {
        assert_eq!(leg.violations(), 0, "it was asked while it rested");
    }
    let asked: usize = gone
        .iter()
        .chain(&legs)
        .map(|leg| leg.asked_past_home())
        .sum();
    assert!(asked > 1000, "{asked} requests went past the home");
    home.suspend(LIMIT).expect("it is suspended");
    assert!(legs[0].bytes() == legs[1].bytes(), "all is written");
    blocks.judge_all(&legs[1].bytes());
}

/// A leg dies under writers: what was answered is on the other one, and reads go on.
#[test]
fn a_mirror_loses_a_leg_under_threads() {
    const BLOCKS: u64 = 64;
    for dead in [0, 1, 0, 1] {
        let blocks = Blocks::new(BLOCKS);
        let legs = [
            TestLeg::new("a", BLOCKS * BLOCK),
            TestLeg::new("b", BLOCKS * BLOCK),
        ];
        let home = start_mirror(&legs, BLOCKS);
        let face = home.face(0).expect("its only one");
        run(
            THREADS,
            |thread, stop| {
                // Another leg is read from then on, which may not have what was in flight.
                let mut writer = Writer::new(&face, &blocks, (thread, THREADS));
                writer.work(stop, false);
            },
            || {
                std::thread::sleep(Duration::from_millis(40));
                legs[dead].die();
                std::thread::sleep(Duration::from_millis(40));
                home.suspend(LIMIT).expect("it is suspended");
                home.resume().expect("it goes on");
                std::thread::sleep(Duration::from_millis(10));
            },
        );
        home.suspend(LIMIT).expect("it is suspended");
        blocks.judge_all(&legs[1 - dead].bytes());
    }
}

/// A queue that is dropped with writes in flight leaves images that are the same again soon.
#[test]
fn queues_are_dropped_under_way() {
    const BLOCKS: u64 = 64;
    let blocks = Blocks::new(BLOCKS);
    let legs = [
        TestLeg::new("a", BLOCKS * BLOCK),
        TestLeg::new("b", BLOCKS * BLOCK),
    ];
    let home = start_mirror(&legs, BLOCKS);
    let face = home.face(0).expect("its only one");
    for _ in 0..100 {
        let mut writer = Writer::new(&face, &blocks, (0, 1));
        writer.begin(6);
        writer.poll_once();
        writer.begin(3);
    }
    let until = Instant::now() + LIMIT;
    loop {
        let status = home.status(LIMIT).expect("it says");
        if status.in_sync == status.regions && status.dirty == 0 {
            break;
        }
        assert!(Instant::now() < until, "{status:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
    home.suspend(LIMIT).expect("it is suspended");
    assert!(legs[0].bytes() == legs[1].bytes(), "all is written");
}

fn origin_config(blocks: u64) -> OriginConfig {
    let snapshot = SnapshotConfig {
        id: 1,
        name: "snapshot".into(),
        size: blocks * BLOCK,
        store: 1,
        store_size: 3 * blocks * BLOCK,
        chunk: 2 * BLOCK,
        stored: Stored::Fresh,
        access: Access::ReadWrite,
        merging: false,
        overflow: Overflow::FailWrite,
        notify_at: None,
    };
    OriginConfig {
        name: "origin".into(),
        size: blocks * BLOCK,
        origin: 0,
        access: Access::ReadWrite,
        snapshots: vec![Some(snapshot)],
    }
}

/// A snapshot shows what it was made of, whoever overwrites the origin, and however often both are
/// suspended and get other legs; or fails, once its store is gone.
#[test]
fn a_snapshot_stays_under_threads() {
    const BLOCKS: u64 = 2048;
    for (round, dies) in [(0, false), (1, false), (2, true), (3, true)] {
        let blocks = Blocks::new(BLOCKS);
        let mut legs = vec![
            TestLeg::new("origin", BLOCKS * BLOCK),
            TestLeg::new("store", 3 * BLOCKS * BLOCK),
        ];
        let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
        let origin = Origin::new(origin_config(BLOCKS), &infos).expect("well formed");
        let home = Home::start("origin", origin, devices(&legs), LIMIT).expect("it starts");
        let (face, snapshot) = (home.face(0).expect("there"), home.face(1).expect("there"));
        let mut gone = Vec::new();
        run(
            THREADS,
            |thread, stop| {
                if thread % 2 == 0 {
                    let writer = Writer::new(&face, &blocks, (thread / 2, THREADS / 2));
                    let mut writer = writer.in_order();
                    return writer.work(stop, true);
                }
                let result =
                    read_and_judge(&snapshot, &blocks, (stop, dies), (thread + round) as u64);
                let is_dead = result.is_err_and(|error| {
                    let is_known = matches!(error.kind(), Kind::Gone | Kind::Io);
                    assert!(is_known, "{error}");
                    true
                });
                assert_eq!(is_dead, dies, "it fails if its store does");
            },
            || {
                for step in 0..12 {
                    std::thread::sleep(Duration::from_millis(5));
                    home.suspend(LIMIT).expect("it is suspended");
                    freeze(&legs);
                    if step % 3 == 0 {
                        let next: Vec<_> = legs.iter().map(|leg| leg.successor()).collect();
                        let prepared = home.prepare(origin_config(BLOCKS), devices(&next), LIMIT);
                        let reloaded = prepared.expect("it can be").reload(LIMIT);
                        reloaded.expect("it is suspended");
                        gone.append(&mut std::mem::replace(&mut legs, next));
                    }
                    thaw(&legs);
                    home.resume().expect("it goes on");
                    if dies && step == 6 {
                        legs[1].die();
                    }
                }
                std::thread::sleep(Duration::from_millis(20));
            },
        );
        let all = || gone.iter().chain(&legs);
        assert!(all().all(|leg| leg.violations() == 0));
        let asked: usize = all().map(|leg| leg.asked_past_home()).sum();
        assert!(asked > 1000, "{asked} requests went past the home");
        home.suspend(LIMIT).expect("it is suspended");
        blocks.judge_all(&legs[0].bytes());
    }
}
