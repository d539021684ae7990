//! Experiments are read, run, resumed and judged.

use super::{
    Deciding, Evidence, Experiment, Missing, Options, Read, Record, Standing, claims, judge,
    library, read, rows, run, runs,
};
use crate::measure::studies;
use crate::stats::{Interval, Verdict};

const SMALL: &str = "title = \"t\"\nreplicates = 6\n[factors]\ndepth = [1, 8]\n\
    [disk.c]\nserver = { mean_us = 1000, size = \"1G\" }\n\
    [layout.one]\ndisks = \"c\"\nvolume = [{ linear = \"0\", size = \"1G\" }]\n\
    [layout.two]\ndisks = \"c*2\"\n\
    volume = [{ striped = \"0..1\", chunk = \"64K\", size = \"2G\" }]\n\
    [load.r]\nrw = \"randread\"\nbs = \"4k\"\nsize = \"all\"\niodepth = \"{depth}\"\n\
    norandommap = true\nrequests = 3000\nio_size = \"1T\"\n\
    [[rule]]\nclaim = \"D.1\"\nwhat = \"two over one\"\nother = \"two r\"\nbase = \"one r\"\n\
    metric = \"iops\"\nconfirm = [1.5, 2.1]\n";

fn lines(experiment: &Experiment, finished: &[Record]) -> String {
    let options = Options {
        seed: 1,
        replicates: None,
        threads: 2,
    };
    let experiments = [experiment.clone()];
    let pending = runs(&experiments, &options, finished);
    let mut lines = Vec::new();
    let mut keep = |record: &Record| {
        lines.push(record.to_line());
        true
    };
    run(&pending, &options, &mut keep).expect("it runs");
    lines.sort_unstable();
    lines.concat()
}

#[test]
fn one_seed_gives_the_same_lines_and_what_is_done_is_not_done_again() {
    // Twice the same; cut in the middle, the rest is run and the whole is the same.
    let experiment = Experiment::parse("small", SMALL).expect("it is sound");
    assert_eq!(experiment.arms.len(), 4);
    let text = lines(&experiment, &[]);
    assert_eq!(text, lines(&experiment, &[]));
    assert_eq!(text.lines().count(), 24);
    let cut = &text[..text.len() / 2];
    let found = read("r", cut).expect("only the last line is damaged");
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    let rest = lines(&experiment, &found.records);
    assert_eq!(rest.lines().count() + found.records.len(), 24);
    let damaged = format!("{{\"kind\":\"run\"}}\n{text}");
    let error = read("r", &damaged)
        .expect_err("not the last line")
        .to_string();
    assert!(error.starts_with("r line 1: config"), "{error}");
}

#[test]
fn a_rule_without_a_factor_is_judged_for_each_value() {
    // With one request at a time two disks are no faster; with eight they nearly double.
    let experiment = Experiment::parse("small", SMALL).expect("it is sound");
    let text = lines(&experiment, &[]);
    let records = read("r", &text).expect("it was just written").records;
    let evidence = judge(&experiment, &records);
    let verdicts: Vec<Verdict> = evidence.iter().map(|one| one.verdict).collect();
    assert_eq!(evidence[0].rule.other, "two r depth=1");
    assert_eq!(verdicts[1], Verdict::Confirmed, "{evidence:?}");
    assert!(
        matches!(verdicts[0], Verdict::Refuted | Verdict::Equivalent),
        "{evidence:?}"
    );
}

#[test]
fn what_is_wrong_in_an_experiment_is_named() {
    // Unknown options of fio, arms and fields, with their lines.
    let refused = |from: &str, to: &str, wanted: &str| {
        let error = Experiment::parse("x", &SMALL.replace(from, to)).expect_err("refused");
        assert!(error.to_string().contains(wanted), "{error} says {wanted}");
    };
    refused("rw = ", "wr = ", "x.toml line 14: load.r.wr");
    refused("two r\"", "three r\"", "no arm is called 'three r'");
    refused("metric", "metrics", "metric: is missing");
    refused("base = \"one r\"", "base = \"two\"\nzone = 2", "zone");
    refused("title", "titel", "title: is missing");
}

#[test]
fn the_library_is_sound_and_every_claim_has_a_row() {
    // 78 claims; those that an experiment decides have rules, and no rule names an unknown claim.
    let library = library().expect("all experiments are sound");
    let studies = studies().expect("all studies are sound");
    let claims = claims().expect("all rows are sound");
    assert_eq!(claims.len(), 78);
    for claim in &claims {
        let rules = library.iter().flat_map(|experiment| &experiment.rules);
        let has = rules.filter(|rule| rule.claim == claim.id).count() > 0;
        let decides = matches!(claim.deciding, Deciding::Experiment { .. });
        assert_eq!(has, decides, "{}", claim.id);
        let measured = studies
            .iter()
            .any(|study| study.claims().contains(&&*claim.id));
        let decides = matches!(claim.deciding, Deciding::Measured { .. });
        assert_eq!(measured, decides, "{}", claim.id);
    }
    let known = |id: &str| claims.iter().any(|claim| claim.id == id);
    for rule in library.iter().flat_map(|experiment| &experiment.rules) {
        assert!(known(&rule.claim), "{}", rule.claim);
    }
    let rows = rows(&library, &Read::default()).expect("rows");
    for row in rows {
        let audited = matches!(row.claim.deciding, Deciding::Audit { .. });
        let open = row.standing == Standing::Judged(Verdict::Undecided);
        assert!(!(audited && open), "{}: {}", row.claim.id, row.reason);
    }
}

const COPY: &str = "title = \"t\"\nreplicates = 6\n\
    [disk.c]\nserver = { mean_us = 1000, size = \"1G\" }\n\
    [layout.two]\ndisks = \"c*2\"\n\
    volume = [{ striped = \"0..1\", chunk = \"64K\", size = \"1G\" }]\n\
    [load.copy]\nprogram = \"dd\"\nsize = \"4M\"\nbs = \"64K\"\nmemory = \"8M\"\n\
    [load.grid]\nprogram = \"iozone\"\nfiles = [\"64K\", \"128K\"]\nrecords = \"4K\"\n\
    [load.bonnie]\nprogram = \"bonnie++\"\nfile = \"1M\"\nempty_files = 10\n";

#[test]
fn programs_are_loads() {
    // Phases are measured, shares add up, and the same seed gives the same lines.
    let experiment = Experiment::parse("copy", COPY).expect("it is sound");
    let text = lines(&experiment, &[]);
    assert_eq!(text, lines(&experiment, &[]));
    for record in read("r", &text).expect("it was just written").records {
        let value = |name: &str| record.values[name];
        let both = value("area1_percent") + value("area2_percent");
        assert!((99.99..100.01).contains(&both), "{both}");
        match record.arm.as_str() {
            "two copy" => {
                assert!(value("write_kps") > 0.0 && value("read_s") > 0.0);
                assert!(value("read_device") >= 100.0, "from a cold memory");
            }
            "two grid" => {
                assert!(value("reread-64K-4K_device") < 0.1, "from a warm one");
                let seconds = |file, kib| kib / value(&format!("write-{file}-4K_kps"));
                let both = 192.0 / (seconds("64K", 64.0) + seconds("128K", 128.0));
                let found = value("write_kps");
                assert!((0.999..1.001).contains(&(found / both)), "{found}: {both}");
            }
            _ => assert!(value("seeks_ps") > 0.0 && value("ran_stat_ps") > 0.0),
        }
    }
    let refused = |from: &str, to: &str, wanted: &str| {
        let error = Experiment::parse("x", &COPY.replace(from, to)).expect_err("refused");
        assert!(error.to_string().contains(wanted), "{error} says {wanted}");
    };
    refused(
        "\"dd\"",
        "\"cp\"",
        "load.copy.program: one of postmark, bonnie",
    );
    refused(
        "bs = \"64K\"",
        "bs = 0",
        "load.copy.size: at least one block",
    );
    refused("records", "record", "cells; 1 to 1024");
    refused(
        "empty_files",
        "emtpy",
        "load.bonnie.emtpy: this program has no such setting",
    );
}

#[test]
fn what_rules_leave_open_is_not_confirmed() {
    // Equal reads of two file systems do not confirm five; unequal ones would refute.
    let library = library().expect("all experiments are sound");
    let found = library.iter().find(|one| one.name == "file-systems");
    let experiment = found.expect("it is there");
    let standing = |ext3: f64| {
        let mut records = Vec::new();
        for arm in &experiment.arms {
            let rate = if arm.load_name == "ext3" { ext3 } else { 1.0 };
            records.extend((0..6).map(|replicate| Record {
                experiment: experiment.name.clone(),
                arm: arm.key(),
                replicate,
                seed: replicate,
                config: arm.hash,
                values: [("block_in_kps".to_owned(), rate)].into(),
            }));
        }
        let results = Read {
            records,
            ..Read::default()
        };
        let rows = rows(std::slice::from_ref(experiment), &results).expect("rows");
        let row = rows.into_iter().find(|row| row.claim.id == "C.6");
        let row = row.expect("a claim");
        (row.standing, row.reason)
    };
    let (word, reason) = standing(1.01);
    assert_eq!(word, Standing::Judged(Verdict::Undecided));
    assert!(reason.contains("XFS"), "{reason}");
    assert_eq!(standing(0.5).0, Standing::Judged(Verdict::Refuted));
}

#[test]
fn what_is_undecided_says_what_would_decide_it() {
    let experiment = Experiment::parse("small", SMALL).expect("sound");
    let mut rule = experiment.rules[0].clone();
    (rule.confirm, rule.refute) = ((1.5, 2.1), Some((0.97, 1.05)));
    let missing = |low, estimate, high, verdict| {
        let interval = Interval {
            low,
            estimate,
            high,
        };
        let evidence = Evidence {
            experiment: "small".to_owned(),
            rule: rule.clone(),
            interval: Some(interval),
            verdict,
            count: 10,
        };
        evidence.missing()
    };
    // 0.04 either way has to become 0.02: a quarter of the square.
    let undecided = Verdict::Undecided;
    let found = missing(0.99, 1.03, 1.07, undecided);
    assert!(matches!(found, Some(Missing::Runs(40 | 41))), "{found:?}");
    assert_eq!(missing(1.2, 1.3, 1.4, undecided), Some(Missing::Sharper));
    let Some(Missing::Runs(most)) = missing(1.0, 1.05, 1.1, undecided) else {
        panic!("it is on a limit");
    };
    assert_eq!(most, 100_000);
    assert_eq!(missing(1.6, 1.7, 1.8, Verdict::Confirmed), None);
}
