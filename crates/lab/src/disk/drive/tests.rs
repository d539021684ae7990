//! The drive against sums by hand and a plain oracle.

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use super::{Answer, Command, Drive, Operation, Served, SharedBus};
use crate::disk::catalog::plain;
use crate::disk::profile::{
    Bus, Cache, Habit, Profile, Queue, ReadAhead, Release, Scheduler, WritePolicy, ZeroLatency,
};
use crate::disk::rotation::Angle;
use crate::disk::seek::SeekCurve;

mod destage;

const MS: u64 = 1_000_000;

fn drive(profile: Profile) -> Drive {
    Drive::new(profile, Angle::default()).unwrap()
}

fn read(start: u64, count: u32) -> Command {
    Command {
        tag: start,
        operation: Operation::Read,
        start,
        count,
    }
}

fn write(start: u64, count: u32) -> Command {
    Command {
        tag: start,
        operation: Operation::Write,
        start,
        count,
    }
}

/// All answers of a drive that is asked nothing more.
fn drain(drive: &mut Drive) -> Vec<Answer> {
    let mut answers = Vec::new();
    while let Some(wake) = drive.wake() {
        while let Some(answer) = drive.answer(wake) {
            answers.push(answer);
        }
        drive.check();
    }
    answers
}

fn one(drive: &mut Drive, now_ns: u64, command: Command) -> u64 {
    drive.submit(now_ns, command);
    let answers = drain(drive);
    assert_eq!(answers.len(), 1, "one command, one answer");
    answers[0].at_ns - now_ns
}

fn near(time: u64, wanted: u64) {
    assert!(
        time.abs_diff(wanted) <= 1000,
        "{time} ns, not {wanted} ns within 1 µs"
    );
}

/// Single requests are the sums of their parts, to the microsecond.
#[test]
fn single_requests_are_sums() {
    // Overhead 0.5; block 10 passes at 1.0 and has passed at 1.1; one block over the bus.
    near(
        one(&mut drive(plain()), 0, read(10, 1)),
        MS * 11 / 10 + 10_000,
    );
    // Five blocks: the bus is faster than the medium, so only the last one counts.
    near(
        one(&mut drive(plain()), 0, read(10, 5)),
        MS * 15 / 10 + 10_000,
    );
    // The sector passed during the overhead: a turn later.
    near(
        one(&mut drive(plain()), 0, read(0, 1)),
        MS * 101 / 10 + 10_000,
    );
    // Cylinder 10 after a seek: overhead 0.5, on track at 5.5. Its first sector is skewed by
    // 10 · (20 + 60) sectors, 0 of a turn, so it passes at 10.0.
    near(
        one(&mut drive(plain()), 0, read(2000, 1)),
        MS * 101 / 10 + 10_000,
    );
}

/// A transfer over the end of a track waits for the skewed first sector of the next.
#[test]
fn tracks_are_crossed_by_skew() {
    // Block 99 passes until 10.0; block 100 begins at angle 20 sectors, 12.0, and ends at 12.1.
    near(
        one(&mut drive(plain()), 0, read(99, 2)),
        MS * 121 / 10 + 10_000,
    );
}

/// Sequential throughput is that of tracks and skews: closed form.
#[test]
fn a_long_read_takes_turns_and_skews() {
    // From block 10: 90 sectors, then 9 tracks; each track is a turn after the switch before it:
    // 20 sectors for a head, 60 for a cylinder.
    let time = one(&mut drive(plain()), 0, read(10, 990));
    let switches = 5 * 20 + 4 * 60;
    near(time, (10 + 990 + switches) * MS / 10 + 10_000);
}

/// A write through is reported when it is on the medium, a write behind when it is in the cache.
#[test]
fn writes_are_reported_by_policy() {
    // Overhead 0.5; 1 block comes until 0.51; block 10 passes until 1.1.
    near(one(&mut drive(plain()), 0, write(10, 1)), MS * 11 / 10);
    let mut behind = plain();
    behind.cache = Cache {
        segments: 2,
        write_policy: WritePolicy::BehindWhenIdle,
        ..Cache::default()
    };
    near(
        one(&mut drive(behind.clone()), 0, write(10, 1)),
        MS / 2 + 10_000,
    );
    let through = Command {
        operation: Operation::WriteThrough,
        ..write(10, 1)
    };
    near(one(&mut drive(behind), 0, through), MS * 11 / 10);
}

/// A cache that is written at once takes no more than a segment beyond what is on the medium.
#[test]
fn a_segment_is_all_that_is_held() {
    let mut small = plain();
    small.cache = Cache {
        segments: 2,
        segment_blocks: 20,
        write_policy: WritePolicy::BehindWhenIdle,
        ..Cache::default()
    };
    // The first of 60 blocks passes from 1.0 on, the fortieth until 5.0.
    near(one(&mut drive(small), 0, write(10, 60)), MS * 5);
}

/// Blocks that have not come when their sector passes are written a turn later.
#[test]
fn late_blocks_lose_a_turn() {
    let mut slow = plain();
    slow.bus.write_block_ns = MS / 5;
    // The first block comes at 0.7 and passes at 1.0; the second comes at 0.9 and passes at 1.1;
    // each takes 0.2 to come and 0.1 to pass, so that the sixth (1.7, passes at 1.5) is late.
    near(one(&mut drive(slow), 0, write(10, 6)), MS * 116 / 10);
}

/// What was read ahead is in the cache as soon as it has passed, and not before.
#[test]
fn read_ahead_is_hit() {
    let mut profile = plain();
    profile.cache = Cache {
        segments: 1,
        segment_blocks: 200,
        read_ahead: ReadAhead::TrackEnd,
        ..Cache::default()
    };
    let mut long = drive(profile.clone());
    one(&mut long, 0, read(10, 1));
    long.submit(20 * MS, read(50, 10));
    let answer = drain(&mut long)[0];
    assert_eq!(answer.served(), Served::Cache);
    near(answer.at_ns - 20 * MS, MS / 2 + 100_000);

    // Asked at 1.2, block 11 has passed, and the bus waits for no later one.
    let mut short = drive(profile.clone());
    one(&mut short, 0, read(10, 1));
    near(one(&mut short, MS * 12 / 10, read(11, 4)), MS / 2 + 40_000);

    // Asked at 1.2 for up to block 30, the last passes at 3.1.
    let mut stream = drive(profile);
    one(&mut stream, 0, read(10, 1));
    near(
        one(&mut stream, MS * 12 / 10, read(11, 20)),
        MS * 19 / 10 + 10_000,
    );
}

/// A zero-latency read of a whole track takes one turn wherever the head lands.
#[test]
fn a_whole_track_takes_a_turn() {
    let mut profile = plain();
    profile.cache.zero_latency_read = ZeroLatency::Yes;
    for start in [0, 7 * MS / 3, 19 * MS / 4] {
        let time = one(&mut drive(profile.clone()), start, read(0, 100));
        assert!(time < MS * 21 / 2 + 1_100_000, "{time} ns");
        assert!(time > MS * 10, "{time} ns");
    }
}

/// A flush is answered when all that was reported is on the medium.
#[test]
fn a_flush_waits_for_the_medium() {
    let mut profile = plain();
    profile.cache = Cache {
        segments: 8,
        write_segments: 8,
        write_policy: WritePolicy::Behind,
        ..Cache::default()
    };
    let mut drive = drive(profile);
    for index in 0..5 {
        drive.submit(0, write(20_000 * index, 8));
    }
    drive.submit(
        0,
        Command {
            tag: 99,
            operation: Operation::Flush,
            start: 0,
            count: 0,
        },
    );
    let answers = drain(&mut drive);
    assert_eq!(answers.len(), 6);
    assert!(answers[4].at_ns < 4 * MS, "five writes go into the cache");
    assert_eq!(answers[5].tag, 99);
    assert!(
        answers[5].at_ns > 20 * MS,
        "but take four seeks to the medium"
    );
}

/// A full write cache lets no more in than the medium takes out.
#[test]
fn a_full_write_cache_waits() {
    let mut profile = plain();
    profile.cache = Cache {
        segments: 8,
        write_segments: 2,
        write_policy: WritePolicy::Behind,
        ..Cache::default()
    };
    let mut drive = drive(profile);
    for index in 0..20 {
        drive.submit(0, write(10_000 * (index * 7 % 20), 8));
    }
    let answers = drain(&mut drive);
    assert_eq!(answers.len(), 20);
    let last = answers[19].at_ns;
    assert!(
        last > 17 * 5 * MS,
        "all but two waited for a seek each, until {last}"
    );
}

/// Of queued reads, each scheduler takes the order it is named for; all are answered once.
#[test]
fn schedulers_choose() {
    let order = |scheduler| {
        let mut profile = plain();
        profile.queue = Queue {
            scheduler,
            depth: 32,
            age_limit_ns: None,
            release: Release::AtMediumDone,
        };
        profile.mechanics.seek = SeekCurve::Table(vec![(1, MS), (1000, 10 * MS)]);
        let mut drive = drive(profile);
        for start in [100_000, 60_000, 150_000, 20_000, 120_000] {
            drive.submit(0, read(start, 1));
        }
        drain(&mut drive)
            .iter()
            .map(|answer| answer.tag)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        order(Scheduler::Fcfs),
        [100_000, 60_000, 150_000, 20_000, 120_000]
    );
    // The first was alone when it came.
    assert_eq!(
        order(Scheduler::Look),
        [100_000, 120_000, 150_000, 60_000, 20_000]
    );
    let mut nearest = order(Scheduler::Sptf);
    nearest.sort_unstable();
    assert_eq!(nearest, [20_000, 60_000, 100_000, 120_000, 150_000]);
}

/// SPTF serves random reads faster than LOOK, and LOOK faster than FCFS.
#[test]
fn better_schedulers_are_faster() {
    let time = |scheduler| {
        let mut profile = plain();
        profile.mechanics.seek = SeekCurve::Table(vec![(1, MS), (1000, 10 * MS)]);
        profile.queue = Queue {
            scheduler,
            ..Queue::default()
        };
        let mut drive = drive(profile);
        for index in 0..300_u64 {
            drive.submit(0, read(index * 7_919_777 % 199_000, 4));
        }
        drain(&mut drive).last().map_or(0, |answer| answer.at_ns)
    };
    let (fcfs, look, sptf) = (
        time(Scheduler::Fcfs),
        time(Scheduler::Look),
        time(Scheduler::Sptf),
    );
    assert!(fcfs > look * 5 / 4, "{fcfs} {look}");
    assert!(look > sptf, "{look} {sptf}");
}

/// SPTF leaves a far command waiting for ever, unless there is an age limit.
#[test]
fn the_age_limit_ends_starvation() {
    let wait = |age_limit_ns| {
        let mut profile = plain();
        profile.mechanics.seek = SeekCurve::Table(vec![(1, MS), (1000, 40 * MS)]);
        profile.queue = Queue {
            scheduler: Scheduler::Sptf,
            age_limit_ns,
            ..Queue::default()
        };
        let mut drive = drive(profile);
        drive.submit(0, read(1, 1));
        drive.submit(
            0,
            Command {
                tag: u64::MAX,
                ..read(199_000, 1)
            },
        );
        drive.submit(0, read(300, 1));
        let mut state = 1_u64;
        loop {
            let now = drive.wake().expect("something is outstanding");
            while let Some(answer) = drive.answer(now) {
                if answer.tag == u64::MAX {
                    return now;
                }
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                drive.submit(now, read((state >> 33) % 400, 1));
            }
            if now > 5_000 * MS {
                return now;
            }
        }
    };
    assert!(
        wait(None) > 5_000 * MS,
        "near commands keep the far one waiting"
    );
    assert!(wait(Some(300 * MS)) < 400 * MS, "until it is old");
}

/// The model against a plain oracle: random reads of one block, no cache, one outstanding, are
/// overhead, seek, wait and transfer, computed here with floating point from the geometry alone.
#[test]
fn random_reads_match_a_plain_oracle() {
    let mut drive = drive(plain());
    let (mut at, mut now, mut state) = ((0_u64, 0_u64), 0_u64, 7_u64);
    for _ in 0..500 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let block = (state >> 20) % 200_000;
        let (cylinder, head, sector) = (block / 200, block / 100 % 2, block % 100);
        let seek = match (cylinder == at.0, head == at.1) {
            (true, true) => 0.0,
            (true, false) => 1.0,
            _ => 5.0,
        };
        let settled = now as f64 / 1e6 + 0.5 + seek;
        let angle = ((sector + 20 * (head + cylinder) + 60 * cylinder) % 100) as f64 / 10.0;
        let wait = (angle - settled).rem_euclid(10.0);
        let done = settled + wait + 0.1 + 0.01;
        drive.submit(now, read(block, 1));
        let answer = drain(&mut drive)[0];
        let modelled = answer.at_ns as f64 / 1e6;
        let off = (modelled - done).abs();
        assert!(
            off < 0.001 || (off - 10.0).abs() < 0.001,
            "block {block}: {modelled}, not {done}"
        );
        assert!(
            off < 0.001 || !(1e-4..=9.9999).contains(&wait),
            "only rounding may cost a turn"
        );
        at = (cylinder, head);
        now = answer.at_ns + state % 5_000_000;
    }
}

/// Two drives that are asked the same give the same nanoseconds, whatever the policies.
#[test]
fn the_same_commands_give_the_same_times() {
    let mut profile = plain();
    profile.cache = Cache {
        segments: 4,
        segment_blocks: 64,
        write_segments: 4,
        read_ahead: ReadAhead::Segment,
        write_policy: WritePolicy::Behind,
        keep_free_blocks: Habit::Yes,
        zero_latency_read: ZeroLatency::Yes,
        zero_latency_write: ZeroLatency::Yes,
        ..Cache::default()
    };
    profile.queue.scheduler = Scheduler::Sptf;
    let mut first = drive(profile);
    let mut second = first.sibling(Angle::default());
    let mut state = 3_u64;
    let mut now = 0;
    let mut count = [0, 0];
    for tag in 0..3000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        now += (state >> 40) % (3 * MS);
        let operation = match state >> 61 {
            0..=3 => Operation::Read,
            4..=5 => Operation::Write,
            6 => Operation::WriteThrough,
            _ => Operation::Flush,
        };
        let start = (state >> 25) % 2000;
        let command = Command {
            tag,
            operation,
            start,
            count: 1 + (state >> 50) as u32 % 150,
        };
        for (drive, count) in [&mut first, &mut second].into_iter().zip(&mut count) {
            drive.submit(now, command);
            drive.check();
            while drive.answer(now).is_some() {
                *count += 1;
            }
        }
    }
    assert_eq!(drain(&mut first), drain(&mut second));
    assert_eq!(count[0], count[1]);
    assert_eq!(first.outstanding(), 0, "every command is answered once");
}

/// Averages of many requests are the closed forms: overhead, the average seek over the distances
/// that were asked for, half a turn, one sector.
#[test]
fn averages_are_closed_forms() {
    let mut profile = plain();
    profile.mechanics.seek = SeekCurve::Table(vec![(1, MS), (1000, 11 * MS)]);
    let mut disk = drive(profile);
    let (mut now, mut state, mut sum) = (0, 11_u64, 0);
    let count = 20_000;
    for _ in 0..count {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let time = one(&mut disk, now, read((state >> 30) % 200_000, 1));
        now += time + (state >> 44);
        sum += time;
    }
    let average = sum / count;
    let expected = MS / 2 + disk.arm().average_seek_ns() + 5 * MS + MS / 10 + 10_000;
    let error = average as f64 / expected as f64 - 1.0;
    assert!(error.abs() < 0.01, "{average} ns, not {expected} ns");
}

/// Each zone gives the rate of its sectors, less the switches: A / (B + C + D) of data sheets.
#[test]
fn zones_have_their_rates() {
    let mut disk = drive(crate::disk::catalog::wd800bd_like());
    let zones = disk.geometry().zones().to_vec();
    let mut begin = 0;
    let mut now = 0;
    for zone in zones.iter().step_by(7) {
        while disk.geometry().locate(begin).cylinder < zone.first_cylinder {
            begin += u64::from(zone.per_track);
        }
        let count = zone.per_track * 2 * 20;
        let time = one(&mut disk, now, read(begin, count));
        now += time + 1_000 * MS;
        let turn_ns = 60_000 * MS / 7200;
        let skew = |millisectors: u64| {
            millisectors as f64 / 1000.0 / f64::from(zone.per_track) * turn_ns as f64
        };
        let switches = 20.0 * skew(zone.track_skew_millisectors)
            + 19.0 * skew(zone.cylinder_skew_millisectors);
        let expected = 40.0 * turn_ns as f64 + switches;
        // What comes before the first block is up to a seek and a turn.
        let extra = time as f64 - expected;
        assert!(
            extra > 0.0 && extra < 32.0 * MS as f64,
            "{extra} ns for {zone:?}"
        );
    }
}

/// Disks on one bus transfer one after the other, and position at the same time.
#[test]
fn a_shared_bus_is_shared() {
    let mut slow = plain();
    slow.bus.read_block_ns = MS;
    let bus = SharedBus::new();
    let mut disks: Vec<Drive> = (0..3).map(|_| drive(slow.clone()).on_bus(&bus)).collect();
    for disk in &mut disks {
        disk.submit(0, read(10, 4));
    }
    let done: Vec<u64> = disks.iter_mut().map(|disk| drain(disk)[0].at_ns).collect();
    // Alone: block 10 is read at 1.1, then four transfers of 1 ms.
    near(done[0], MS * 51 / 10);
    near(done[1], MS * 91 / 10);
    near(done[2], MS * 131 / 10);
}

fn habits() -> impl Strategy<Value = Habit> {
    prop_oneof![Just(Habit::No), Just(Habit::Yes)]
}

fn latencies() -> impl Strategy<Value = ZeroLatency> {
    prop_oneof![Just(ZeroLatency::No), Just(ZeroLatency::Yes)]
}

fn caches() -> impl Strategy<Value = Cache> {
    let read_ahead = prop_oneof![
        Just(ReadAhead::None),
        Just(ReadAhead::TrackEnd),
        Just(ReadAhead::CylinderEnd),
        Just(ReadAhead::Segment),
        Just(ReadAhead::WholeTracks),
    ];
    let write_policy = prop_oneof![
        Just(WritePolicy::Through),
        Just(WritePolicy::BehindWhenIdle),
        Just(WritePolicy::Behind),
    ];
    let sizes = (
        0_usize..5,
        1_u32..300,
        1_usize..6,
        0_u32..400,
        0_u32..20,
        0_u32..1001,
    );
    let reads = (
        read_ahead,
        habits(),
        habits(),
        habits(),
        habits(),
        habits(),
        latencies(),
    );
    let writes = (write_policy, habits(), habits(), habits(), latencies());
    (sizes, reads, writes).prop_map(|(sizes, reads, writes)| Cache {
        segments: sizes.0,
        segment_blocks: sizes.1,
        write_segments: sizes.2,
        read_ahead_max: sizes.3,
        read_ahead_min: sizes.4,
        read_watermark_thousandths: sizes.5,
        read_ahead: reads.0,
        resume_on_hit: reads.1,
        keep_free_blocks: reads.2,
        discard_delivered: reads.3,
        almost_hits: reads.4,
        stop_in_sector: reads.5,
        zero_latency_read: reads.6,
        write_policy: writes.0,
        separate_write_segment: if sizes.0 < 2 { Habit::No } else { writes.1 },
        read_hits_on_written: writes.2,
        combine_writes: writes.3,
        zero_latency_write: writes.4,
    })
}

fn queues() -> impl Strategy<Value = Queue> {
    let scheduler = prop_oneof![
        Just(Scheduler::Fcfs),
        Just(Scheduler::Look),
        Just(Scheduler::Sptf)
    ];
    let release = prop_oneof![Just(Release::AtCompletion), Just(Release::AtMediumDone)];
    (
        scheduler,
        release,
        1_usize..9,
        proptest::option::of(0_u64..100),
    )
        .prop_map(|(scheduler, release, depth, age_ms)| Queue {
            scheduler,
            depth,
            age_limit_ns: age_ms.map(|age| age * MS),
            release,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Whatever the drive and the commands, each is answered once, after it came, and within the
    /// time that all of them could take one after the other.
    #[test]
    fn every_command_is_answered_once(
        cache in caches(),
        queue in queues(),
        block_ns in 0_u64..300_000,
        hold in habits(),
        commands in proptest::collection::vec(
            (0_u64..30, 0_u8..8, 0_u64..3, 0_u64..150, 1_u32..150, any::<bool>()),
            1..60,
        ),
    ) {
        let mut profile = plain();
        profile.cache = cache;
        profile.queue = queue;
        profile.bus =
            Bus { read_block_ns: block_ns, write_block_ns: block_ns, hold_for_read: hold };
        let mut drive = drive(profile);
        let (mut now, mut next) = (0, 0);
        let mut answered = vec![None; commands.len()];
        let mut sent = Vec::new();
        let mut take = |drive: &mut Drive, now: u64, sent: &[u64]| {
            while let Some(answer) = drive.answer(now) {
                let index = answer.tag as usize;
                assert!(answered[index].replace(answer.at_ns).is_none(), "answered twice");
                assert!(answer.at_ns >= sent[index], "answered before it came");
            }
        };
        for (tag, &(gap_ms, kind, region, at, count, goes_on)) in commands.iter().enumerate() {
            now += gap_ms * MS;
            take(&mut drive, now, &sent);
            let operation = match kind {
                0..=3 => Operation::Read,
                4..=5 => Operation::Write,
                6 => Operation::WriteThrough,
                _ => Operation::Flush,
            };
            let start = if goes_on { next } else { region * 90_000 + at };
            next = (start + u64::from(count)).min(199_000);
            sent.push(now);
            drive.submit(now, Command { tag: tag as u64, operation, start, count });
            drive.check();
        }
        let deadline = now + commands.len() as u64 * 200 * MS;
        while let Some(wake) = drive.wake() {
            assert!(wake <= deadline, "the drive hangs");
            take(&mut drive, wake, &sent);
        }
        assert!(answered.iter().all(Option::is_some), "every command is answered");
    }
}
