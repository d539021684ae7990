//! Stacks against closed forms, and against the naive map of a layout.

use super::{Outcome, Plan, build, run};
use crate::disk::drive::{Command, Operation};
use crate::layout::{Layout, parse};
use crate::workload::fio;

mod raid;

/// The job of the fifth seed document.
const SEED_JOB: &str = "[randrw]\nrw=randrw\ndirect=1\nioengine=libaio\nbs=16k\nnumjobs=10\n\
    size=512M\noffset_increment=512M\nruntime=20\ntime_based\niodepth=64\ngroup_reporting\n";

fn layout(text: &str) -> Layout {
    parse("test", text).expect("it is sound").remove(0)
}

fn load(layout: &Layout, jobs: &str, seed: u64) -> Outcome {
    let jobs = fio::parse(jobs).expect("the jobs are sound");
    let mut model = build(layout, seed).expect("it can be built");
    let plan = Plan {
        jobs: &jobs,
        seed,
        requests_max: None,
    };
    run(model.as_mut(), &plan).expect("it runs")
}

fn servers(count: u64, law: &str) -> Layout {
    let size = count * 1024;
    layout(&format!(
        "[disk.s]\nserver = {{ mean_us = 1000, law = \"{law}\", size = \"1G\" }}\n\
         [layout.x]\ndisks = \"s*{count}\"\n\
         volume = [{{ striped = \"0..{}\", chunk = \"64K\", size = \"{size}M\" }}]\n",
        count - 1
    ))
}

#[test]
fn balanced_closed_networks_have_the_throughput_of_the_formula() {
    // N K / (K + N - 1) of one disk, for exponential service, within 2 %.
    for (disks, depth) in [(1, 1), (2, 1), (4, 3), (4, 16), (6, 16), (6, 64)] {
        let layout = servers(disks, "exponential");
        let jobs = format!(
            "[j]\nrw=randread\nbs=4k\nsize={}M\niodepth={depth}\nnorandommap\nruntime=60\n\
             time_based\n",
            disks * 1024
        );
        let seen = load(&layout, &jobs, 7).per_second() / 1000.0;
        let (n, k) = (f64::from(depth), disks as f64);
        let formula = n * k / (k + n - 1.0);
        let off = seen / formula - 1.0;
        assert!(
            off.abs() < 0.02,
            "K={disks} N={depth}: {seen} for {formula}"
        );
    }
}

#[test]
fn constant_service_exceeds_the_formula() {
    // By about a tenth with 6 disks and 16 outstanding.
    let jobs =
        "[j]\nrw=randread\nbs=4k\nsize=6G\niodepth=16\nnorandommap\nruntime=60\ntime_based\n";
    let constant = load(&servers(6, "constant"), jobs, 7).per_second() / 1000.0;
    let formula = 16.0 * 6.0 / 21.0;
    assert!(
        (1.05..1.15).contains(&(constant / formula)),
        "{constant} for {formula}"
    );
}

#[test]
fn the_seeds_job_on_capped_disks_has_the_iops_of_the_seed() {
    // Six disks of 600 IOPS: 3,400 to 3,600 striped, 590 to 610 linear; 640 are outstanding.
    let disks = "[disk.c]\ncap = { iops = 600, size = \"1900G\" }\n[layout.x]\ndisks = \"c*6\"\n";
    let striped = "volume = [{ striped = \"0..5+1M\", chunk = \"128K\", size = \"11100G\" }]\n";
    let seen = load(&layout(&format!("{disks}{striped}")), SEED_JOB, 1);
    assert!(
        (3400.0..3600.0).contains(&seen.per_second()),
        "{}",
        seen.per_second()
    );
    assert!(
        (630.0..641.0).contains(&seen.outstanding()),
        "{}",
        seen.outstanding()
    );
    let linear = "volume = [{ linear = \"0..5+1M\", size = \"11100G\" }]\n";
    let seen = load(&layout(&format!("{disks}{linear}")), SEED_JOB, 1);
    assert!(
        (590.0..610.0).contains(&seen.per_second()),
        "{}",
        seen.per_second()
    );
}

#[test]
fn one_seed_gives_the_same_nanoseconds() {
    // Twice the same, and another seed something else.
    let text = "[disk.w]\nprofile = \"wd800bd-like\"\n[layout.x]\ndisks = \"w*2\"\n\
        mapping_ns = 20\nloops = [{ request_us = 6.2, kib_ns = 50 }]\nlink = { megabits = 1000 }\n\
        volume = [{ striped = \"0..1\", chunk = \"64K\", size = \"20G\" }]\n";
    let jobs = "[j]\nrw=randrw\nbs=16k\nsize=1G\niodepth=8\nruntime=5\ntime_based\nfsync=32\n";
    let text_of = |seed| {
        let seen = load(&layout(text), jobs, seed);
        (seen.all().to_text(), seen.spent)
    };
    assert_eq!(text_of(3), text_of(3));
    assert_ne!(text_of(3), text_of(4));
    let (_, spent) = text_of(3);
    for layer in [
        spent.link_ns,
        spent.loop_ns,
        spent.mapping_ns,
        spent.seek_ns,
    ] {
        assert!(layer > 0, "every layer took time: {spent:?}");
    }
}

#[test]
fn mirrors_write_to_all_legs_and_read_from_the_least_busy() {
    // Two legs of 100 IOPS: reads have 200, writes 100.
    let layout = layout(
        "[disk.c]\ncap = { iops = 100, size = \"2G\" }\n[layout.x]\ndisks = \"c*2\"\n\
         volume = [{ mirror = [\"0\", \"1+1M\"], size = \"1G\" }]\n",
    );
    let jobs = |rw: &str| {
        format!("[j]\nrw={rw}\nbs=4k\nsize=1G\niodepth=8\nnorandommap\nruntime=20\ntime_based\n")
    };
    let reads = load(&layout, &jobs("randread"), 1).per_second();
    assert!((196.0..204.0).contains(&reads), "{reads}");
    let writes = load(&layout, &jobs("randwrite"), 1).per_second();
    assert!((97.0..103.0).contains(&writes), "{writes}");
}

/// The first write to a chunk of an origin costs what the format asks for: the old chunk is read
/// and written to the store, flushed, noted there, and only then the write goes on; a later one
/// goes straight. A mirror's log is written when a region is dirtied, and not again while it stays
/// so.
#[test]
fn first_writes_pay_for_snapshots_and_logs() {
    const WRITES: u64 = 64;
    let on = |volume: &str, passes: u64| {
        let text = format!(
            "[disk.s]\nserver = {{ mean_us = 1000, law = \"constant\", size = \"1G\" }}\n\
             [layout.x]\ndisks = \"s*3\"\nvolume = [{volume}]\n"
        );
        let (size, all) = (WRITES * 4, passes * WRITES * 4);
        let jobs = format!("[j]\nrw=write\nbs=4k\nsize={size}k\nio_size={all}k\n");
        let seen = load(&layout(&text), &jobs, 1);
        (seen.elapsed_ns / 1_000_000, seen.spent)
    };
    let origin = "{ origin = \"0\", size = \"512M\", chunk = \"4K\", stores = [\"1\"], \
                  store_size = \"64M\" }";
    let ((once, spent), (twice, again)) = (on(origin, 1), on(origin, 2));
    // One request after the other, a millisecond each; a new store gets an empty area and its
    // header first.
    assert_eq!(once, 5 * WRITES + 2);
    assert_eq!(spent.parts, once, "none of them at once with another");
    assert_eq!(spent.state_writes, 2 * WRITES + 2, "a copy, an exception");
    assert_eq!(twice, once + WRITES, "what is copied is only written");
    assert_eq!(again.state_writes, spent.state_writes);

    let mirror = "{ mirror = [\"0\", \"1\"], size = \"512M\", log = \"2\" }";
    let ((once, spent), (twice, again)) = (on(mirror, 1), on(mirror, 2));
    assert!(once <= WRITES + 5, "both copies at once: {once} ms");
    assert!((1..=3).contains(&spent.state_writes), "{spent:?}");
    assert_eq!(twice, once + WRITES);
    assert_eq!(again.state_writes, spent.state_writes);
}

#[test]
fn a_stream_stays_one_on_a_mirror() {
    // Legs that read ahead: a stream that changed between them at each read would wait for the
    // platters. Two streams are read from a leg each.
    let on = |volume: &str, depth: u32, streams: u32| {
        let text = format!(
            "[disk.d]\nprofile = \"wd800bd-like\"\n[layout.x]\n\
             disks = \"d*2\"\nvolume = [{volume}]\n"
        );
        let jobs = format!(
            "[j]\nrw=read\nbs=16k\nsize=1G\noffset_increment=2G\nnumjobs={streams}\n\
             iodepth={depth}\nruntime=10\ntime_based\n"
        );
        load(&layout(&text), &jobs, 1).megabytes()
    };
    let one = "{ linear = \"0\", size = \"8G\" }";
    let mirror = "{ mirror = [\"0\", \"1\"], size = \"8G\" }";
    for depth in [1, 4, 16] {
        let (single, both) = (on(one, depth, 1), on(mirror, depth, 1));
        assert!(both > 0.9 * single, "depth {depth}: {both} for {single}");
    }
    let (single, both) = (on(one, 4, 1), on(mirror, 4, 2));
    assert!(both > 1.8 * single, "{both} for {single}");
}

#[test]
fn a_request_over_several_chunks_is_answered_once_when_all_parts_are() {
    // Four parts on two constant servers: two rounds.
    let text = "[disk.s]\nserver = { mean_us = 1000, law = \"constant\", size = \"1G\" }\n\
        [layout.x]\ndisks = \"s*2\"\n\
        volume = [{ striped = \"0..1\", chunk = \"64K\", size = \"2G\" }]\n";
    let mut model = build(&layout(text), 0).expect("it can be built");
    let command = Command {
        tag: 9,
        operation: Operation::Read,
        start: 0,
        count: 512,
    };
    model.submit(0, command);
    let mut answers = Vec::new();
    while let Some(wake) = model.wake() {
        answers.extend(model.answer(wake).map(|answer| (answer.tag, answer.at_ns)));
    }
    assert_eq!(answers, [(9, 2_000_000)]);
}

#[test]
fn a_network_and_loops_limit_what_disks_could_do() {
    // 100 Mbit/s carry 11.75 MB/s; a loop of 1 ms takes 1000 requests a second.
    let disk = "[disk.c]\ncap = { megabytes = 1000, size = \"4G\" }\n[layout.x]\ndisks = \"c\"\n\
        volume = [{ linear = \"0\", size = \"4G\" }]\n";
    let jobs = "[j]\nrw=read\nbs=64k\nsize=4G\niodepth=8\nruntime=10\ntime_based\n";
    let linked = load(
        &layout(&format!("{disk}link = {{ megabits = 100 }}\n")),
        jobs,
        1,
    );
    assert!(
        (11.5..11.8).contains(&linked.megabytes()),
        "{}",
        linked.megabytes()
    );
    let looped = format!("{disk}loops = [{{ request_us = 1000 }}]\n");
    let seen = load(&layout(&looped), jobs, 1).per_second();
    assert!((999.0..1001.0).contains(&seen), "{seen}");
}
