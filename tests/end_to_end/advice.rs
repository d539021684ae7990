//! Predictions for users: what a volume does under a load, and which layout to take.

use std::fs;

use tests::{Golden, Group, Scratch, Tool, ashlar};

/// `explain` on the golden disks.
fn explain(golden: &Golden, volume: &str, words: &[&str]) -> Tool {
    let tool = ashlar().arg("--devices").arg(golden.folder());
    tool.args(["explain", volume, "--workload"]).args(words)
}

/// The number behind a key of JSON text, from the first place where `after` stands.
fn number(json: &str, after: &str, key: &str) -> f64 {
    let rest = &json[json.find(after).expect(after)..];
    let key = format!("\"{key}\":");
    let rest = &rest[rest.find(&key).expect(&key) + key.len()..];
    let end = rest.find([',', '}', ']']).expect("an end");
    rest[..end].parse().expect("a number")
}

/// Volumes of several shapes are read from their metadata, predicted and emulated: three stripes on
/// disks of 100 requests per second do nearly 300 of them, one after the other 100.
#[test]
fn volumes_are_explained() {
    let golden = Golden::shared();
    let cap = [
        "randread:4k:depth=64",
        "--disk",
        "cap:iops=100",
        "--emulate",
    ];
    for (volume, low, high, shape) in [
        ("linear1", 99.0, 100.5, "linear on"),
        ("stripe3", 280.0, 301.0, "in 3 stripes of 4 KiB on"),
        ("mirror2", 190.0, 201.0, "in 2 copies on"),
    ] {
        let name = format!("vg0/{volume}");
        let said = explain(&golden, &name, &cap).succeed().text();
        for wanted in [
            shape,
            "requests per second",
            "95 % interval",
            "emulated",
            "limits",
        ] {
            assert!(said.contains(wanted), "{said} says {wanted}");
        }
        let json = explain(&golden, &name, &cap).arg("--json").succeed().text();
        let predicted = number(&json, "per_second", "value");
        assert!((low..=high).contains(&predicted), "{name}: {json}");
        let error = number(&json, "\"emulated\":{", "error");
        assert!(error.abs() < 0.1, "{name}: {json}");
    }
    // Two kinds of stripes: predicted run by run, and said to be.
    let said = explain(&golden, "vg0/stripe2x", &cap).succeed().text();
    assert!(said.contains("2 runs of segments"), "{said}");
}

/// A job file's jobs are explained one by one; disks are named by their physical volumes; what
/// nobody named is assumed, aloud.
#[test]
fn jobs_and_disks_are_named() {
    let (golden, scratch) = (Golden::shared(), Scratch::new("explain"));
    let file = scratch.join("jobs.fio");
    let text = "[global]\nbs=4k\n[one]\nrw=randread\n[two]\nstonewall\nrw=read\niodepth=4\n";
    fs::write(&file, text).expect("a file");
    let path = file.to_str().expect("a path");
    let one = ["--disk", "a0.img=cap:iops=50", "--disk", "flash"];
    let words = [&[path], &one[..]].concat();
    let told = explain(&golden, "vg0/linear2", &words).succeed().text();
    assert_eq!(told.matches("where the time of a request goes").count(), 2);
    assert!(told.contains("a1.img: flash"), "{told}");
    let bare = explain(&golden, "vg0/linear1", &["lookup"]).succeed();
    let complaint = bare.complaints();
    assert!(complaint.contains("no --disk says what"), "{complaint}");
    assert!(bare.text().contains("rotation"), "{}", bare.text());
}

/// A load that reads is measured on the volume, beside what is predicted and emulated; one that
/// writes only where that is agreed to, and then the volume holds what was written.
#[test]
fn loads_are_measured() {
    let group = Group::new("explain-measured", 3, 64 << 20);
    group.create("data", &["-L", "48m", "-i", "3", "-I", "64k"]);
    let words = |load: &str, more: &[&str]| {
        let tool = group
            .ashlar()
            .args(["explain", "vg0/data", "--workload", load]);
        let tool = tool
            .args(["--measure", "--disk", "cap:iops=100"])
            .args(more);
        if more.contains(&"--seconds") {
            tool
        } else {
            tool.args(["--seconds", "1"])
        }
    };
    let content = || group.ashlar().args(["cat", "vg0/data"]).succeed().stdout;
    let before = content();
    let reads = "randread:4k:depth=4";
    let said = words(reads, &["--emulate"]).succeed().text();
    for wanted in [
        "emulated      error    measured",
        "requests outstanding",
        "may not be the one",
    ] {
        assert!(said.contains(wanted), "{said} says {wanted}");
    }
    let json = words(reads, &["--json"]).succeed().text();
    let of = |key: &str| number(&json, "\"measured\":{", key);
    assert!(of("per_second") > 0.0 && of("requests") > 0.0, "{json}");
    assert!((0.5..4.5).contains(&of("outstanding")), "{json}");
    // Files on this machine are not disks of 100 requests per second.
    let seen = of("per_second");
    let predicted = number(&json, "per_second", "value");
    let error = number(&json, "\"measured\":{", "measured_error");
    assert!((error - (predicted / seen - 1.0)).abs() < 0.001, "{json}");
    assert!(content() == before, "reading changes nothing");
    for (load, more, code, wanted) in [
        ("randwrite:4k", &[][..], 3, "--yes"),
        ("randread:4k:rate=50", &[], 5, "keeps a rate"),
        ("randread:4k", &["--seconds", "0"], 3, "1 to 3600"),
        ("postmark", &[], 3, "lab drive"),
    ] {
        let refused = words(load, more).exit(code).complaints();
        assert!(refused.contains(wanted), "{refused} says {wanted}");
        assert!(content() == before, "{load} changes nothing");
    }
    words("write:64k", &["--yes"]).succeed();
    assert!(content() != before, "what was agreed to is done");
}

/// A program on a file system has the terms of Eq. 1, predicted and emulated; what has no formula
/// and what is no setting is named.
#[test]
fn programs_are_explained() {
    let group = Group::new("explain-files", 1, 2 << 30);
    group.create("mail", &["-L", "1g"]);
    group.create("small", &["-L", "64m"]);
    let load = "postmark:files=1000:transactions=3000:size=1K-60K:memory=64M";
    let on = |volume: &str, load: &str| {
        let tool = group.ashlar().args(["explain", volume, "--workload", load]);
        tool.arg("--emulate")
    };
    for (volume, load, wanted) in [
        ("vg0/small", load, "a log of 32768 blocks"),
        ("vg0/mail", "postmark:colour=red", "colour"),
        ("vg0/mail", "postmark:size=8M-9M:files=500", "do not fit"),
    ] {
        let refused = on(volume, load).exit(5).complaints();
        assert!(refused.contains(wanted), "{refused} says {wanted}");
    }
    let told = on("vg0/mail", load).succeed().text();
    for wanted in ["T_DO, s", "T_DFA, s", "T_J, s", "commits", "emulated"] {
        assert!(told.contains(wanted), "{told} says {wanted}");
    }
    let json = on("vg0/mail", load).arg("--json").succeed().text();
    let whole = number(&json, "\"seconds\"", "value");
    let seen = number(&json, "\"seconds\"", "emulated");
    assert!((0.3..3.0).contains(&(whole / seen)), "{json}");
}

/// What cannot be is said by name, with what to do.
#[test]
fn mistakes_are_named() {
    let golden = Golden::shared();
    for (volume, words, code, wanted) in [
        (
            "vg0/raid5",
            &["oltp", "--emulate"][..],
            3,
            "of an array requests are counted, and no time is predicted",
        ),
        ("vg0/linear1", &["sideways"], 5, "one of oltp"),
        (
            "vg0/linear1",
            &["oltp", "--disk", "sdz=flash"],
            5,
            "no such physical volume; it has",
        ),
        (
            "vg0/linear1",
            &["oltp", "--disk", "nothing"],
            5,
            "there is no disk 'nothing'",
        ),
        ("vg0/linear1", &["randread:4k:size=1g"], 5, "give a size"),
        ("vg0/nothing", &["oltp"], 5, "vg0/nothing"),
    ] {
        let refused = explain(&golden, volume, words).exit(code).complaints();
        assert!(refused.contains(wanted), "{refused} says {wanted}");
    }
    let refused = ashlar().args(["explain", "vg0/linear1"]).exit(3);
    assert!(refused.complaints().contains("--workload"));
}

/// Layouts of four disks are ranked, checked, and drawn; a wish that no disk holds is refused.
#[test]
fn layouts_are_advised() {
    let scratch = Scratch::new("advise");
    let (page, chart) = (scratch.join("a.html"), scratch.join("a.svg"));
    let advise = |words: &[&str]| {
        let tool = ashlar().args(["lab", "advise", "--workload", "randread:4k:depth=32"]);
        tool.args(["--disks", "cap:iops=600:size=50Gx4"])
            .args(words)
    };
    let said = advise(&["--output"]).arg(&page).succeed().text();
    for wanted in [
        "striped over 4",
        "tied",
        "front",
        "does not survive",
        "lvcreate -n LV",
    ] {
        assert!(said.contains(wanted), "{said} says {wanted}");
    }
    let text = fs::read_to_string(&page).expect("a page");
    assert!(text.starts_with("<!DOCTYPE html>") && text.contains("<svg"));
    let json = advise(&["--json", "--output"]).arg(&chart).succeed().text();
    let best = json.lines().next().expect("a line");
    let rate = number(best, "per_second", "value");
    assert!((2100.0..2401.0).contains(&rate), "{best}");
    assert!(number(best, "emulated", "error").abs() < 0.1, "{best}");
    assert!(
        fs::read_to_string(&chart)
            .expect("a chart")
            .starts_with("<svg")
    );
    let refused = advise(&["--size", "1T"]).exit(5).complaints();
    assert!(refused.contains("does not fit"), "{refused}");
    let refused = advise(&["--output", "a.png"]).exit(3).complaints();
    assert!(refused.contains(".html"), "{refused}");
}
