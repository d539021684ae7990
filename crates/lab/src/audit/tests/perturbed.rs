//! Clean outputs pass; of 200 seeded perturbations of them at least 95 % are found.
//!
//! Clean are outputs of fio 3.33 (JSON and text), Bonnie++ 2.00a and `PostMark` 1.53 of Debian 12.
//! A perturbation changes the numbers that people quote (rates, volumes, times, counts, means and
//! percentiles of latency):
//!
//! - a digit: one of the two leading ones becomes another;
//! - a unit: a suffix is exchanged or dropped, or in JSON a number converted once too often;
//! - swapped columns: two numbers of a line (in JSON of an object) that differ by 2 % or more.
//!
//! Not perturbed are numbers that nothing else in an output depends on (use of the processor,
//! context switches, page faults, deviations, extremes of latency, rates of files in Bonnie++'s CSV
//! line); `PostMark`'s reports have their configuration before them; a second figure is printed for
//! any digit of any number in the same lines.

use crate::audit::{Audit, audit};
use block::sim::Random;

const CLEAN: &[(&str, &str)] = &[
    ("fio-mix.json", include_str!("../fixtures/fio-mix.json")),
    ("fio-mixg.json", include_str!("../fixtures/fio-mixg.json")),
    ("fio-rr.json", include_str!("../fixtures/fio-rr.json")),
    ("fio-sw.json", include_str!("../fixtures/fio-sw.json")),
    ("fio-mix.txt", include_str!("../fixtures/fio-mix.txt")),
    ("fio-mixg.txt", include_str!("../fixtures/fio-mixg.txt")),
    ("fio-rr.txt", include_str!("../fixtures/fio-rr.txt")),
    ("fio-sw.txt", include_str!("../fixtures/fio-sw.txt")),
    ("fio-two.txt", include_str!("../fixtures/fio-two.txt")),
    ("bonnie.txt", include_str!("../fixtures/bonnie.txt")),
    (
        "bonnie-large.txt",
        include_str!("../fixtures/bonnie-large.txt"),
    ),
    (
        "bonnie-files.txt",
        include_str!("../fixtures/bonnie-files.txt"),
    ),
    (
        "pm1",
        include_str!("../../workload/postmark/fixtures/pm1.txt"),
    ),
    (
        "pm2",
        include_str!("../../workload/postmark/fixtures/pm2.txt"),
    ),
    (
        "blocks",
        include_str!("../../workload/postmark/fixtures/blocks.txt"),
    ),
    (
        "seed",
        include_str!("../../workload/postmark/fixtures/seed.txt"),
    ),
];

/// A number in a text: where its digits are.
#[derive(Debug, Clone, Copy)]
struct Number {
    line: usize,
    start: usize,
    end: usize,
}

fn of(text: &str) -> Option<Audit> {
    audit(text).ok()
}

/// Whether the numbers of a line are quoted by people.
fn is_result(name: &str, line: &str) -> bool {
    let line = line.trim();
    let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    if name.ends_with("json") {
        let keys = [
            "io_bytes",
            "bw_bytes",
            "bw\"",
            "iops\"",
            "runtime",
            "total_ios",
            "mean\"",
        ];
        let keys = keys.iter().any(|key| line.starts_with(&format!("\"{key}")));
        let percentile = line.starts_with('"') && line.contains(".000000\" : ");
        return (keys || percentile) && !line.contains(": 0") && !line.contains(": \"");
    }
    if name.starts_with("fio") {
        return starts(&["read:", "write:", "READ:", "WRITE:", "iops  ", "bw ("])
            || line.contains("lat (") && line.contains("avg=")
            || line.starts_with('|');
    }
    if name.starts_with("bonnie") {
        return starts(&["here ", "1.98,", "Latency"]);
    }
    let report = line.contains("per second") || line.contains("seconds total");
    let terse = line.split(' ').count() == 13 && !line.contains('=');
    report || terse
}

/// The numbers of a text that may be perturbed.
fn numbers(name: &str, text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let mut offset = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let mut skip_to = 0;
        if is_result(name, line) {
            // Names of fields and what stands before the first value are no results.
            if name.ends_with("json") {
                skip_to = line.find(" : ").map_or(0, |at| at + 2);
            } else if line.starts_with("1.98,") {
                skip_to = line.match_indices(',').nth(8).map_or(0, |(at, _)| at);
            } else if line.starts_with("here ") {
                skip_to = 20;
            }
        }
        let bytes = line.as_bytes();
        let mut at = skip_to;
        while is_result(name, line) && at < bytes.len() {
            if !bytes[at].is_ascii_digit() {
                at += 1;
                continue;
            }
            let digit = |b: &&u8| b.is_ascii_digit() || **b == b'.';
            let len = bytes[at..].iter().take_while(digit).count();
            let number = Number {
                line: index,
                start: offset + at,
                end: offset + at + len,
            };
            if quoted(name, line, at, len) {
                found.push(number);
            }
            at += len;
        }
        offset += line.len();
    }
    found
}

/// Whether the number at `at` of a line is one that others depend on.
fn quoted(name: &str, line: &str, at: usize, len: usize) -> bool {
    let before = &line[..at];
    let digits = line[at..at + len]
        .bytes()
        .filter(u8::is_ascii_digit)
        .count();
    let after = |label: &str| before.ends_with(label);
    if name.ends_with("txt") && name.starts_with("fio") {
        if line.trim().starts_with('|') {
            return after("[") || before.trim_end().ends_with('[') && digits > 1;
        }
        let latency = line.contains("lat (");
        if latency {
            return after("avg=");
        }
        let sampled = line.contains("samples=");
        if sampled {
            let value = before.trim_end();
            return value.ends_with("min=") || value.ends_with("max=") || value.ends_with("avg=");
        }
        return digits > 1
            && !line[at..]
                .trim_start_matches(|c: char| c != ' ')
                .starts_with(" zone");
    }
    if name.starts_with("bonnie") && line.starts_with("1.98,") {
        // The number of files and the sizes are settings; rates of files stand here alone, since
        // the table of 2.00a has the number of files in their place.
        let field = before.matches(',').count();
        return field != 21 && !((26..38).contains(&field) && field.is_multiple_of(2));
    }
    if name.starts_with("bonnie") && line.starts_with("   ") {
        return false;
    }
    digits > 0
}

fn value(text: &str, number: Number) -> f64 {
    text[number.start..number.end].parse().unwrap_or(0.0)
}

fn replaced(text: &str, number: Number, by: &str) -> String {
    format!("{}{by}{}", &text[..number.start], &text[number.end..])
}

/// Another digit in place of one of the first `leading` ones.
fn digit(text: &str, number: Number, leading: usize, random: &mut Random) -> Option<String> {
    let old = &text[number.start..number.end];
    let first = old.find(|c: char| c.is_ascii_digit() && c != '0')?;
    let places: Vec<usize> = old
        .match_indices(|c: char| c.is_ascii_digit())
        .map(|(at, _)| at)
        .filter(|at| *at >= first)
        .take(leading)
        .collect();
    let place = places[random.index(places.len())];
    let mut bytes = old.as_bytes().to_vec();
    let lowest = u64::from(place == first);
    let new = b'0' + (lowest + random.below(10 - lowest)) as u8;
    if bytes[place] == new {
        return None;
    }
    bytes[place] = new;
    Some(replaced(text, number, std::str::from_utf8(&bytes).ok()?))
}

/// Units, and what they are mistaken for.
const UNITS: [(&str, &str); 14] = [
    ("MiB", "KiB"),
    ("KiB", "MiB"),
    ("MB", "kB"),
    ("msec", "sec"),
    ("megabytes", "kilobytes"),
    ("kilobytes", "megabytes"),
    ("k,", ","),
    ("k ", "m "),
    ("m ", "k "),
    ("us", "ms"),
    ("ms", "us"),
    ("GiB", "MiB"),
    ("kB", "MB"),
    ("g ", "m "),
];

/// Units that stand before the numbers of a line, and what they are mistaken for.
const HEADS: [(&str, &str); 5] = [
    ("(usec)", "(msec)"),
    ("(nsec)", "(usec)"),
    ("(msec)", "(usec)"),
    ("(  KiB/s)", "(  MiB/s)"),
    ("(  MiB/s)", "(  KiB/s)"),
];

/// Another unit behind a number, or at the head of its line; in JSON the number itself converted.
fn unit(name: &str, text: &str, number: Number, random: &mut Random) -> Option<String> {
    if name.ends_with("json") {
        let old = value(text, number);
        let factor = [1000.0, 1024.0, 0.001][random.index(3)];
        let new = old * factor;
        let new = if text[number.start..number.end].contains('.') {
            format!("{new:.6}")
        } else {
            format!("{new:.0}")
        };
        return (old > 1000.0).then(|| replaced(text, number, &new));
    }
    let rest = &text[number.end..];
    let rest = rest
        .strip_prefix(' ')
        .filter(|_| !name.starts_with("bonnie"))
        .unwrap_or(rest);
    let at = text.len() - rest.len();
    let Some((old, new)) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit)) else {
        let start = text[..number.start].rfind('\n').map_or(0, |at| at + 1);
        let head = &text[start..number.start];
        let (old, new) = HEADS.iter().find(|(unit, _)| head.contains(unit))?;
        let head = head.replacen(old, new, 1);
        return Some(format!("{}{head}{}", &text[..start], &text[number.start..]));
    };
    Some(format!("{}{new}{}", &text[..at], &text[at + old.len()..]))
}

/// Two numbers of a line, or of an object, in each other's place.
fn swapped(
    name: &str,
    text: &str,
    all: &[Number],
    number: Number,
    random: &mut Random,
) -> Option<String> {
    let near = if name.ends_with("json") { 8 } else { 0 };
    let candidates: Vec<Number> = all
        .iter()
        .copied()
        .filter(|other| other.line.abs_diff(number.line) <= near && other.start != number.start)
        .filter(|other| (value(text, *other) / value(text, number).max(1e-9) - 1.0).abs() > 0.02)
        .collect();
    if candidates.is_empty() {
        return None;
    }
    let other = candidates[random.index(candidates.len())];
    let (first, second) = if number.start < other.start {
        (number, other)
    } else {
        (other, number)
    };
    let (a, b) = (
        &text[first.start..first.end],
        &text[second.start..second.end],
    );
    let between = &text[first.end..second.start];
    Some(format!(
        "{}{b}{between}{a}{}",
        &text[..first.start],
        &text[second.end..]
    ))
}

/// Clean outputs have nothing impossible in them.
#[test]
fn clean_outputs_pass() {
    let (mut checks, mut alarms) = (0, 0);
    let small = [
        ("bonnie.csv", include_str!("../fixtures/bonnie.csv")),
        (
            "pm3",
            include_str!("../../workload/postmark/fixtures/pm3.txt"),
        ),
        (
            "tiny",
            include_str!("../../workload/postmark/fixtures/tiny.txt"),
        ),
        (
            "kilobyte",
            include_str!("../../workload/postmark/fixtures/kilobyte.txt"),
        ),
        (
            "bias-full",
            include_str!("../../workload/postmark/fixtures/bias-full.txt"),
        ),
        (
            "one-file",
            include_str!("../../workload/postmark/fixtures/one-file.txt"),
        ),
    ];
    for (name, text) in CLEAN.iter().copied().chain(small) {
        let audit = audit(text).expect(name);
        checks += audit.checks;
        alarms += audit.impossible().count();
        for finding in audit.impossible() {
            println!("{name}: {finding}");
        }
        assert!(audit.checks > 5, "{name}: {} checks", audit.checks);
    }
    println!(
        "clean: {alarms} false alarms in {checks} checks of {} outputs",
        CLEAN.len() + 6
    );
    assert_eq!(alarms, 0);
}

/// At least 95 % of 200 perturbations are found.
#[test]
fn perturbations_are_found() {
    let mut random = Random::new(2026);
    let (mut made, mut found) = ([0; 3], [0; 3]);
    let (mut any, mut any_found, mut refused) = (0, 0, 0);
    while made.iter().sum::<usize>() < 200 {
        let (name, text) = CLEAN[random.index(CLEAN.len())];
        let all = numbers(name, text);
        let number = all[random.index(all.len())];
        let kind = random.index(3);
        let perturbed = match kind {
            0 => digit(text, number, 2, &mut random),
            1 => unit(name, text, number, &mut random),
            _ => swapped(name, text, &all, number, &mut random),
        };
        let Some(perturbed) = perturbed.filter(|perturbed| perturbed != text) else {
            continue;
        };
        let flagged = |text: &str| of(text).is_none_or(|audit| !audit.is_possible());
        made[kind] += 1;
        refused += usize::from(audit(&perturbed).is_err());
        if flagged(&perturbed) {
            found[kind] += 1;
        } else {
            let line = perturbed.lines().nth(number.line).unwrap_or_default();
            println!("missed, {name}, kind {kind}: {line}");
        }
        if let Some(other) = digit(text, number, 30, &mut random).filter(|_| any < 200) {
            any += 1;
            any_found += usize::from(flagged(&other));
        }
    }
    let (all, all_found) = (made.iter().sum::<usize>(), found.iter().sum::<usize>());
    println!(
        "found {all_found} of {all}: digits {} of {}, units {} of {}, swaps {} of {}",
        found[0], made[0], found[1], made[1], found[2], made[2]
    );
    println!("{refused} of them were refused as damaged");
    println!("of {any} single digits at any place: {any_found}");
    assert!(all_found * 100 >= all * 95, "{all_found} of {all}");
}
