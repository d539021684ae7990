//! Jobs as loads, layouts as runs of segments.

use super::{Question, Uncertainty, load_of};
use crate::layout::{Layout, parse};
use crate::predict::{Arrivals, Pattern};
use crate::workload::fio;

const DISKS: &str = "[disk.c]\ncap = { iops = 600, size = \"100G\" }\n\
                     [disk.s]\ncap = { iops = 300, size = \"100G\" }\n";

fn layout(text: &str) -> Layout {
    let text = format!("{DISKS}[layout.x]\n{text}");
    parse("t.toml", &text).expect("it is sound").remove(0)
}

fn ask(on: &Layout, options: &str) -> crate::error::Result<Question> {
    let text = format!("[job]\n{options}");
    let jobs = fio::parse(&text).expect("a job");
    Question::new(on, &jobs, None, 1)
}

fn rate(on: &Layout, options: &str) -> f64 {
    let question = ask(on, options).expect("a question");
    question.predict().expect("an answer").per_second
}

/// A job's options become the load that they mean.
#[test]
fn jobs_are_loads() {
    let text = "[j]\nrw=randrw\nrwmixread=70\nbs=8k\nsize=10G\noffset=1G\niodepth=4\nnumjobs=3\n\
                random_distribution=zoned:80/20:20/80\n";
    let jobs = fio::parse(text).expect("a job");
    let (load, offered) = load_of(&jobs[0], 1 << 30, None).expect("a load");
    assert_eq!((load.region_start, load.region_blocks), (2 << 20, 20 << 20));
    assert_eq!((load.reads, load.blocks, load.grain), (700, 16, 16));
    assert_eq!(load.arrivals, Arrivals::Closed { depth: 12 });
    assert_eq!(offered, None);
    // 80 % to a fifth: three quarters go there alone, and a fifth of the others too.
    let Pattern::Random {
        hot_share,
        hot_blocks,
    } = load.pattern
    else {
        panic!("it is random");
    };
    assert_eq!((hot_share, hot_blocks), (750, 4 << 20));
}

/// What no formula is there for is refused by its name, and what cannot be by its size.
#[test]
fn what_cannot_be_predicted_is_named() {
    let one = layout("disks = \"c\"\nvolume = [{ linear = \"0\", size = \"2G\" }]\n");
    for (options, wanted) in [
        ("rw=randread\nsize=1G\nrandom_distribution=zipf:1.1", "Zipf"),
        ("rw=randread\nsize=1G\nthinktime=10", "thinktime"),
        ("rw=write\nsize=1G\nfsync=1", "fsync"),
        ("rw=read\nsize=1G\nnumjobs=2", "streams"),
        ("rw=randrw\nsize=1G\nbs=4k,8k", "different sizes"),
        ("rw=randread\nsize=3G", "the volume has 2147483648"),
    ] {
        let error = ask(&one, options).expect_err("it is refused").to_string();
        assert!(error.contains(wanted), "{error} says {wanted}");
    }
}

/// Capped disks: one, the region on one of two, both in turn, and two kinds of segments.
#[test]
fn regions_decide_which_disks_work() {
    let linear =
        layout("disks = [\"c\", \"s\"]\nvolume = [{ linear = \"0..1\", size = \"20G\" }]\n");
    let near = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 0.02, "{found}");
    near(rate(&linear, "rw=randread\nsize=10G\niodepth=8"), 600.0);
    near(
        rate(&linear, "rw=randread\noffset=10G\nsize=10G\niodepth=8"),
        300.0,
    );
    // One request at a time meets either disk half of the time: 2 / (1/600 + 1/300).
    near(rate(&linear, "rw=randread\nsize=20G"), 400.0);
    // A mirror before a linear part: reads of one at a time are those of one leg and of the other.
    let mixed = layout(
        "disks = [\"c*2\", \"s\"]\nvolume = [{ mirror = \"0..1\", size = \"10G\" },\n\
         { linear = \"2\", size = \"10G\" }]\n",
    );
    let question = ask(&mixed, "rw=randread\nsize=20G").expect("a question");
    assert_eq!(question.runs(), 2);
    near(question.predict().expect("an answer").per_second, 400.0);
    let told = question.explain(&Uncertainty::default()).expect("told");
    near(told.per_second.value, 400.0);
    assert!((told.account.total() / told.response_ns.value - 1.0).abs() < 1e-6);
}

/// Striped segments that go on where the last one ended are one.
#[test]
fn extended_stripes_are_one_run() {
    let text = "disks = \"c*2\"\nvolume = [\n\
                { striped = \"0..1\", chunk = \"64K\", size = \"2G\" },\n\
                { striped = \"0..1+1G\", chunk = \"64K\", size = \"2G\" }]\n";
    let question = ask(&layout(text), "rw=randread\nsize=4G\niodepth=64").expect("a question");
    assert_eq!(question.runs(), 1);
    let found = question.predict().expect("an answer").per_second;
    assert!((1170.0..1201.0).contains(&found), "{found}");
}

/// A rate below what the volume can do is kept, one above is not.
#[test]
fn rates_are_kept_or_not() {
    let one = layout("disks = \"c\"\nvolume = [{ linear = \"0\", size = \"2G\" }]\n");
    let job = |rate: u64, how: &str| {
        let size = "rw=randread\nsize=1G\niodepth=1000";
        format!("{size}\nrate_iops={rate}\nrate_process={how}")
    };
    let few = ask(&one, &job(300, "poisson")).expect("a question");
    assert!(few.is_open().expect("known"));
    let answer = few.predict().expect("an answer");
    assert!((answer.per_second - 300.0).abs() < 1.0);
    // Constant service of 1/600 s, half busy: Pollaczek and Khinchine add half a service.
    assert!((answer.response_ns / 2.5e6 - 1.0).abs() < 0.02);
    // At even times nobody waits.
    let even = ask(&one, &job(300, "linear")).expect("a question");
    let answer = even.predict().expect("an answer");
    assert!((answer.response_ns / 1.6667e6 - 1.0).abs() < 0.02);
    let many = ask(&one, &job(900, "poisson")).expect("a question");
    assert!(!many.is_open().expect("known"));
    assert!((many.predict().expect("an answer").per_second - 600.0).abs() < 6.0);
}

/// Reads of a mirror: unequal legs do what they can together, and a stream stays on one leg.
#[test]
fn mirrors_read_by_their_legs() {
    let mirror =
        layout("disks = [\"s\", \"c\"]\nvolume = [{ mirror = \"0..1\", size = \"8G\" }]\n");
    let found = rate(&mirror, "rw=randread\nsize=8G\niodepth=16");
    assert!((found / 900.0 - 1.0).abs() < 0.03, "{found}");
    let equal = layout("disks = \"c*2\"\nvolume = [{ mirror = \"0..1\", size = \"8G\" }]\n");
    let found = rate(&equal, "rw=randread\nsize=8G\niodepth=16");
    assert!((found / 1200.0 - 1.0).abs() < 0.03, "{found}");
    let found = rate(&equal, "rw=read\nbs=16k\nsize=8G\niodepth=4");
    assert!((found / 600.0 - 1.0).abs() < 0.05, "{found}");
    let found = rate(&equal, "rw=write\nbs=16k\nsize=8G\niodepth=4");
    assert!((found / 600.0 - 1.0).abs() < 0.05, "{found}");
}
