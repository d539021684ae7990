//! Measuring with subjects whose truth is known, through lines and back.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use block::Device;
use block::sim::Random;

use super::job::job;
use super::loader::{Asking, ask};
use super::sample::{Mark, Sample};
use super::source::Blocks;
use super::{
    Contestant, Load, Measuring, Medium, Recorded, Study, Subject, date, drive, evidence, pending,
    rounds, shipped, studies, study, tables,
};
use crate::error::Result;
use crate::experiment::read;
use crate::stats::real::{exp, normal_point};
use crate::stats::{Comparison, Histogram, Noise, Verdict};

const SMALL: &str = "kind = \"measured\"\ntitle = \"t\"\nsize = \"8M\"\nzone = 0.01\n\
    media = [\"memory\"]\n\
    [subject.native]\nway = \"direct\"\nover = \"file\"\n\
    [subject.linear]\nway = \"direct\"\nover = \"linear\"\n\
    [load.read]\noperation = \"read\"\norder = \"random\"\nsize = \"4K\"\n";

/// A machine that drifts, wavers by a share, and stumbles once in fifty times.
struct Machine {
    random: Random,
    drift: f64,
    noise: f64,
}

/// A request takes so many nanoseconds on a machine that never wavers.
struct Fake(Rc<RefCell<Machine>>, f64);

impl Subject for Fake {
    fn measure(&mut self, _load: &Load, _slice_ns: u64, _seed: u64) -> Result<Sample> {
        let mut machine = self.0.borrow_mut();
        let mut normal = || {
            let number = machine.random.below(1 << 52) as f64 + 0.5;
            normal_point(number / (1_u64 << 52) as f64)
        };
        let (drift, noise) = (normal(), normal());
        machine.drift += 0.003 * drift;
        let stumble = if machine.random.chance(1, 50) {
            0.2
        } else {
            0.0
        };
        let ns = self.1 * exp(machine.drift + machine.noise * noise + stumble);
        let mut latency = Histogram::new();
        latency.add(ns as u64);
        Ok(Sample {
            answers: 1000,
            elapsed_ns: (ns * 1000.0) as u64,
            cpu_ns: (ns * 500.0) as u64,
            workers_ns: 100.0,
            latency,
            cut_ns: 1000,
            is_steady: true,
        })
    }
}

fn measuring(study: &Study) -> Measuring {
    Measuring {
        experiment: study.name.clone(),
        config: study.hash,
        machine: "a \"machine\" \\ with\ttab".to_owned(),
        date: 1_772_323_200,
        absent: BTreeMap::from([("attach".to_owned(), "no root".to_owned())]),
        ..Measuring::default()
    }
}

/// Lines of rounds that `finished` does not have.
fn lines(
    study: &Study,
    times: &[(&str, f64)],
    (count, noise, seed): (u64, f64, u64),
    finished: &Recorded,
) -> String {
    let machine = Rc::new(RefCell::new(Machine {
        random: Random::new(seed),
        drift: 0.0,
        noise,
    }));
    let contestant = |(name, ns): &(&str, f64)| Contestant {
        name: (*name).to_owned(),
        subject: Box::new(Fake(Rc::clone(&machine), *ns)),
    };
    let mut contestants: Vec<Contestant> = times.iter().map(contestant).collect();
    let head = measuring(study);
    let mut text = head.to_line();
    for medium in &study.media {
        let todo = pending(study, *medium, (head.id(), count, seed), finished);
        let mut keep = |block: &super::Block| {
            text.push_str(&block.to_line());
            true
        };
        let about = (head.id(), *medium, study.slice_ns);
        rounds(&todo, about, &mut contestants, &mut keep).expect("they never fail");
    }
    text
}

fn recorded(text: &str) -> Recorded {
    read("r", text).expect("it was just written").measured
}

#[test]
fn planted_layers_are_judged_right_from_line_to_verdict() {
    // 3 % is called slower, nothing equivalent, each for 19 of 20 seeds at least; never the other.
    let study = Study::parse("measured-small", SMALL).expect("it is sound");
    for (layer, expected) in [(0.03, Comparison::Worse), (0.0, Comparison::Equivalent)] {
        let found: Vec<Option<Comparison>> = (1..=20)
            .map(|seed| {
                let times = [("native", 10_000.0), ("linear", 10_000.0 * (1.0 + layer))];
                let text = lines(&study, &times, (40, 0.008, seed), &Recorded::default());
                let recorded = recorded(&text);
                let tables = tables(&study, &recorded);
                tables[0].lines[1].comparison
            })
            .collect();
        let right = found.iter().filter(|one| **one == Some(expected)).count();
        assert!(right >= 19, "{layer}: {found:?}");
        let wrong = |one: &Option<Comparison>| {
            *one != Some(expected) && *one != Some(Comparison::Undecided)
        };
        assert!(!found.iter().any(wrong), "{layer}: {found:?}");
    }
}

#[test]
fn a_noisy_machine_decides_nothing_and_says_how_many_rounds_would() {
    // A control that wavers by 10 % cannot see 3 %.
    let study = Study::parse("measured-small", SMALL).expect("it is sound");
    let times = [("native", 10_000.0), ("linear", 10_300.0)];
    let recorded = recorded(&lines(&study, &times, (12, 0.10, 3), &Recorded::default()));
    let table = &tables(&study, &recorded)[0];
    assert_eq!(table.lines[1].comparison, Some(Comparison::Undecided));
    let Some(Noise::TooNoisy { more_pairs }) = table.noise else {
        panic!("{:?}", table.noise);
    };
    assert!(more_pairs > 20, "{more_pairs}");
}

#[test]
fn an_interrupted_measurement_goes_on_and_keeps_what_it_has() {
    // Cut within a line: that round is done again, the others are not.
    let study = Study::parse("measured-small", SMALL).expect("it is sound");
    let times = [("native", 10_000.0), ("linear", 10_000.0)];
    let text = lines(&study, &times, (8, 0.01, 5), &Recorded::default());
    assert_eq!(text.lines().count(), 9);
    let cut = read("r", &text[..text.len() * 2 / 3]).expect("only its end is damaged");
    assert_eq!(cut.notes.len(), 1);
    let rest = lines(&study, &times, (8, 0.01, 5), &cut.measured);
    assert_eq!(rest.lines().count() - 1 + cut.measured.blocks.len(), 8);
    // Another machine, or another study, begins anew.
    let other = Measuring {
        machine: "another".to_owned(),
        ..measuring(&study)
    };
    let todo = pending(&study, Medium::Memory, (other.id(), 8, 5), &cut.measured);
    assert_eq!(todo.len(), 8);
}

/// The verdicts of the study's rules about a claim.
fn verdicts(study: &Study, text: &str, claim: &str) -> Vec<Verdict> {
    let found = evidence(study, &recorded(text), &Recorded::default());
    let own = found.iter().filter(|one| one.rule.claim == claim);
    own.map(|one| one.verdict).collect()
}

#[test]
fn steady_steps_confirm_and_unequal_ones_refute() {
    // Loops that add 6, 6 and 6 µs to 30; then 6, 14 and 6.
    let study = study("loops").expect("it is part of the program");
    let times = |second: f64| {
        [
            ("native", 30_000.0),
            ("loop1", 36_000.0),
            ("loop2", 36_000.0 + second),
            ("loop3", 42_000.0 + second),
        ]
    };
    let none = Recorded::default();
    let steady = lines(&study, &times(6_000.0), (20, 0.01, 1), &none);
    let found = verdicts(&study, &steady, "C.9");
    assert_eq!(found, [Verdict::Confirmed; 5]);
    let uneven = lines(&study, &times(14_000.0), (20, 0.01, 2), &none);
    let found = verdicts(&study, &uneven, "C.9");
    assert_eq!(found[3], Verdict::Refuted, "{found:?}");
}

#[test]
fn a_large_effect_is_seen_on_a_noisy_machine() {
    // The control wavers by more than 5 %, and NBD makes ten times of the time.
    let study = study("nbd").expect("it is part of the program");
    let times = [("native", 2_000.0), ("unix", 20_000.0), ("tcp", 25_000.0)];
    let text = lines(&study, &times, (12, 0.12, 4), &Recorded::default());
    let found = verdicts(&study, &text, "C.14");
    assert_eq!(found, [Verdict::Confirmed; 3]);
    let recorded = recorded(&text);
    assert_ne!(tables(&study, &recorded)[0].noise, Some(Noise::Quiet));
    // Without any measurement there is no evidence, and no verdict.
    let none = Recorded::default();
    let found = evidence(&study, &none, &none);
    assert!(found.iter().all(|one| one.interval.is_none()));
}

#[test]
fn the_beginning_is_cut_off_by_rule() {
    // Five windows at half the speed, then fifteen at full.
    let mut marks = vec![Mark::default()];
    let (mut at_ns, mut answers) = (0, 0);
    for window in 0..20 {
        at_ns += 1_000_000;
        answers += if window < 5 { 50 } else { 100 };
        marks.push(Mark {
            at_ns,
            cpu_ns: at_ns / 2,
            answers,
        });
    }
    let sample = Sample::cut(&marks, &vec![10_000; answers], 175_000);
    assert_eq!((sample.cut_ns, sample.is_steady), (5_000_000, true));
    assert_eq!((sample.answers, sample.elapsed_ns), (1500, 15_000_000));
    let values = sample.values();
    assert!((values["iops"] - 100_000.0).abs() < 1e-6);
    assert!((values["cpu_us"] - 5.0).abs() < 1e-9);
    assert!((values["workers_us"] - 0.1).abs() < 1e-9);
}

#[test]
fn the_loader_asks_what_the_load_says() {
    // Memory answers at once: all bytes are inside, and the numbers agree with each other.
    let device = block::memory::MemoryDevice::new("memory", 1 << 20);
    let driver = block::Driver::new().expect("a driver");
    let mut queue = device.open_queue(&driver).expect("a queue");
    for load in study("path").expect("it is part of the program").loads {
        let asking = Asking {
            size: load.size,
            depth: load.depth,
            slice_ns: 2_000_000,
            loops: &[],
        };
        let mut source = Blocks::new(&load, (1 << 19, 1 << 19), 1);
        let mut shares = Vec::new();
        let mut told = |share: f64| shares.push(share);
        let sample = ask(&mut *queue, &driver, &asking, &mut source, &mut told);
        let sample = sample.expect("memory answers");
        assert!(
            shares.is_sorted() && shares.last() <= Some(&1.0),
            "{shares:?}"
        );
        assert!(sample.answers > 0, "{sample:?}");
        assert_eq!(sample.answers, sample.latency.count());
        assert!(sample.elapsed_ns > 0 && sample.cut_ns < 1_000_000_000);
    }
}

/// A job of fio on a device: its numbers agree by Little's law, writes arrive, and what the loader
/// does not do is refused.
#[test]
fn jobs_are_measured() {
    let device = block::memory::MemoryDevice::new("memory", 1 << 20);
    let parsed = |text: &str| {
        let jobs = crate::workload::fio::parse_on(&format!("[x]\n{text}\n"), 1 << 20);
        jobs.expect("a job").remove(0)
    };
    let reads = parsed("rw=randread\niodepth=4\nnumjobs=2\nbs=8k");
    let found = job(&device, &reads, 20_000_000, &mut |_| {}).expect("memory answers");
    assert!(found.per_second > 0.0 && found.sample.answers > 0);
    assert!((1.0..8.5).contains(&found.outstanding), "{found:?}");
    let writes = parsed("rw=write\nbs=4k\noffset=512k\nsize=256k");
    job(&device, &writes, 5_000_000, &mut |_| {}).expect("memory answers");
    let mut io = block::BlockingDevice::open(&device).expect("a device");
    let mut bytes = vec![0; 1 << 20];
    io.read_at(&mut bytes, 0).expect("bytes");
    assert!(bytes[..512 << 10].iter().all(|byte| *byte == 0));
    assert!(bytes[512 << 10..768 << 10].iter().any(|byte| *byte != 0));
    assert!(bytes[768 << 10..].iter().all(|byte| *byte == 0));
    for (text, wanted) in [
        ("rw=read\nrate_iops=100", "keeps a rate"),
        ("rw=read\nthinktime=100", "thinks"),
        ("rw=write\nfsync=4", "flushes"),
        ("rw=randrw\nbs=4k,8k", "different sizes"),
        ("rw=read\nbs=100", "whole blocks"),
    ] {
        let error = job(&device, &parsed(text), 1_000_000, &mut |_| {});
        let error = error.expect_err(text).to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
    let mut beyond = reads;
    beyond.offset = 1 << 19;
    let error = job(&device, &beyond, 1_000_000, &mut |_| {}).expect_err("too far");
    assert!(error.to_string().contains("ends behind"), "{error}");
}

#[test]
fn what_is_wrong_in_a_study_is_named() {
    // Fields, words and subjects that are not there, with their lines.
    let refused = |from: &str, to: &str, wanted: &str| {
        let error = Study::parse("x", &SMALL.replacen(from, to, 1)).expect_err("refused");
        assert!(error.to_string().contains(wanted), "{error} says {wanted}");
    };
    refused(
        "way = \"direct\"",
        "way = \"tape\"",
        "x.toml line 7: subject.native.way",
    );
    refused("8M", "9M", "8 MiB");
    refused("native", "natural", "native");
    refused("\"read\"", "\"reed\"", "read or write");
    refused("title", "titel", "title: is missing");
    refused("memory", "paper", "memory, file or both");
}

#[test]
fn days_are_those_of_the_calendar() {
    // The first day, leap days, and the end of a century.
    let days = [
        (0, "1970-01-01"),
        (951_782_400, "2000-02-29"),
        (1_709_164_800, "2024-02-29"),
        (1_772_323_200, "2026-03-01"),
        (4_107_542_399, "2100-02-28"),
        (4_107_542_400, "2100-03-01"),
    ];
    for (seconds, day) in days {
        assert_eq!(date(seconds), day);
    }
}

#[test]
fn the_recording_that_comes_with_the_program_fits_its_studies() {
    // Whoever changes what a study measures has to measure again, or the page would say nothing.
    let shipped = shipped();
    for study in studies().expect("all are sound") {
        let tables = tables(&study, &shipped);
        let count = study.media.len() * study.loads.len();
        assert_eq!(tables.len(), count, "{}", study.name);
        for table in tables {
            assert!(table.rounds >= 6 && table.lines.len() == study.subjects.len());
        }
    }
}

#[test]
fn what_a_program_printed_is_kept_and_checked() {
    // Through its line and back, with everything that needs escapes; then a program that fails.
    let folder = std::env::temp_dir();
    let words = ["-c".to_owned(), "printf 'a\\t\"b\"\\\\\\n'".to_owned()];
    let found = drive(&folder, ("sh", &words)).expect("sh runs");
    assert_eq!(found.output, "a\t\"b\"\\\n");
    assert!(found.about["formats"].starts_with("none"), "{found:?}");
    let recorded = recorded(&found.to_line());
    assert_eq!(recorded.driven, [found]);
    let error = drive(&folder, ("false", &[]))
        .expect_err("it fails")
        .to_string();
    assert!(error.contains("false ended with"), "{error}");
}
