//! Every command on few disks; the whole is `cargo xtask crash metadata`.

use std::collections::BTreeSet;

use lvm2::plan::initialise::AreaCount;

use super::cases::{CASES, Mishap};
use super::flushes::flushes;
use super::{Campaign, Case, Patience, Rings, explore_faults};
use crate::commit::{FlushPoint, FlushPolicy};

fn run(cases: Vec<Case>, flush_policy: FlushPolicy, patience: Patience) -> super::Report {
    let campaign = Campaign {
        cases,
        flush_policy,
        seed: 1,
        patience,
    };
    campaign.run().expect("commands succeed")
}

/// No cut of any command on one disk with one area, or on two with two, breaks a promise.
#[test]
fn cuts_keep_the_promises() {
    for (disks, areas) in [(1, AreaCount::One), (2, AreaCount::One)] {
        let report = run(Case::all(disks, areas), FlushPolicy::Strict, Patience::All);
        println!("{disks} disks: {report}");
        assert!(report.first.is_none(), "{:?}", report.first);
    }
}

/// Where physical blocks have 4 KiB and are lost as a whole, no text takes a header or another text
/// along.
#[test]
fn lost_physical_blocks_keep_the_promises() {
    for (disks, areas) in [(1, AreaCount::One), (2, AreaCount::One)] {
        let cases = Case::all(disks, areas).into_iter();
        let cases = cases.map(Case::on_large_blocks).collect();
        let report = run(cases, FlushPolicy::Strict, Patience::All);
        println!("{disks} disks, large blocks: {report}");
        assert!(report.first.is_none(), "{:?}", report.first);
    }
}

/// So do disks that write 4 KiB at once.
#[test]
fn large_logical_blocks_keep_the_promises() {
    let cases = Case::all(2, AreaCount::One).into_iter();
    let cases = cases.map(Case::on_large_logical_blocks).collect();
    let report = run(cases, FlushPolicy::Strict, Patience::All);
    println!("{report}");
    assert!(report.first.is_none(), "{:?}", report.first);
}

/// No cut breaks a promise where a text goes round the end of its ring, or fills its area to the
/// last block; and what does not fit is refused with nothing written.
#[test]
fn large_texts_keep_the_promises() {
    let rings = Rings::of(AreaCount::One).expect("what does not fit is refused");
    assert_eq!((rings.round, rings.split, rings.full), (9, 1, 4));
    let report = run(rings.cases, FlushPolicy::Strict, Patience::All);
    println!("{} go round, {} full: {report}", rings.round, rings.full);
    assert!(report.first.is_none(), "{:?}", report.first);
}

/// Repairs and removals keep the promises where one disk is lost and another one is outdated.
#[test]
fn two_mishaps_keep_the_promises() {
    let cases = Case::all(3, AreaCount::One).into_iter();
    let cases: Vec<Case> = cases
        .filter(|case| case.mishap == Mishap::FirstStaleLastLost)
        .collect();
    assert_eq!(cases.len(), 3);
    let report = run(cases, FlushPolicy::Strict, Patience::All);
    println!("{report}");
    assert!(report.first.is_none(), "{:?}", report.first);
}

/// A reshape that begins, checksums that come or go, or images with checksums that do, are there
/// with the metadata that says so, and with all data, or not at all.
#[test]
fn reshapes_and_checksums_begin_whole() {
    const COMMANDS: [&str; 4] = [
        "lvconvert --stripesize",
        "lvconvert --stripes",
        "lvchange --resetfaileddevices",
        "lvconvert --raidintegrity",
    ];
    let cases = Case::all(3, AreaCount::One).into_iter();
    let cases: Vec<Case> = cases
        .filter(|case| COMMANDS.contains(&case.command()) || case.has_checksums())
        .collect();
    assert_eq!(cases.len(), 10);
    let report = run(cases, FlushPolicy::Strict, Patience::All);
    println!("{report}");
    assert!(report.first.is_none(), "{:?}", report.first);
}

/// Each flush that is left out is missed somewhere.
#[test]
fn every_flush_is_needed() {
    let mut needless = Vec::new();
    for point in FlushPoint::ALL {
        let cases = Case::all(2, AreaCount::One).into_iter();
        let cases = cases.flat_map(|case| [case.clone(), case.on_large_blocks()]);
        let cases = cases.collect();
        let report = run(cases, FlushPolicy::Without(point), Patience::First);
        println!("without {point:?}: {report} {:?}", report.first);
        needless.extend((report.broken == 0).then_some(point));
    }
    assert_eq!(needless, [], "nothing is lost without these flushes");
}

/// Extents that move are durable before a text says that they moved; so are the zeros of what a
/// physical volume gives back, which nobody looks at.
#[test]
fn moved_extents_are_durable_before_the_commit() {
    let cases = || {
        let cases = Case::all(2, AreaCount::One).into_iter();
        let cases: Vec<Case> = cases
            .filter(|case| case.command() == "image minimise")
            .collect();
        assert_eq!(cases.len(), 3);
        cases
    };
    let report = run(cases(), FlushPolicy::Strict, Patience::All);
    println!("{report}");
    assert!(report.first.is_none(), "{:?}", report.first);
    let point = FlushPolicy::Without(FlushPoint::Contents);
    let report = run(cases(), point, Patience::First);
    println!("without: {report} {:?}", report.first);
    assert_eq!(report.broken, 1, "an extent that moved is lost");
}

/// An error at any single request leaves the old or the new state, and names what failed.
#[test]
fn errors_keep_the_promises() {
    let report = explore_faults(&Case::all(2, AreaCount::One)).expect("commands succeed");
    println!("{report}");
    assert!(report.broken.is_empty(), "{:#?}", report.broken);
}

/// Every plan that there is is explored: whoever adds one adds cases for it.
#[test]
fn every_plan_is_explored() {
    const EXPORTS: [&str; 4] = [
        include_str!("../../../lvm2/src/plan/mod.rs"),
        include_str!("../../../lvm2/src/plan/group/mod.rs"),
        include_str!("../../../lvm2/src/plan/logical/mod.rs"),
        include_str!("../../../lvm2/src/plan/physical/mod.rs"),
    ];
    // They plan nothing by themselves; `erase_label` is what `Planned::removed` does.
    const PARTS: [&str; 19] = [
        "already",
        "array_of",
        "balance",
        "unused",
        "pieces",
        "display_size",
        "erase_label",
        "has_first_image",
        "losses",
        "still_partial",
        "is_of_that_size",
        "is_partial",
        "movable_volumes",
        "refused_change",
        "room_needed",
        "require_chunk_size",
        "require_known_segments",
        "holds_all",
        "size_by_policy",
    ];
    let plans = concat!(include_str!("plans.rs"), include_str!("arrays.rs"));
    let mut forgotten = Vec::new();
    for line in EXPORTS.iter().flat_map(|source| source.split(';')) {
        let Some((_, names)) = line.split_once("pub use ") else {
            continue;
        };
        let names = names.rsplit("::").next().unwrap_or_default();
        for name in names.split([',', '{', '}']).map(str::trim) {
            let is_left_out = PARTS.contains(&name);
            let is_function = name.starts_with(char::is_lowercase) && !is_left_out;
            if is_function && !plans.contains(&format!("{name}(")) {
                forgotten.push(name);
            }
        }
    }
    assert_eq!(forgotten, [""; 0], "add them to plans.rs and cases.rs");
}

/// Every property that can be changed, and every kind of volume, has a case.
#[test]
fn every_property_is_explored() {
    const ENUMS: [(&str, &str); 7] = [
        ("pub(super) enum Command {", include_str!("command.rs")),
        ("pub(super) enum Shape {", include_str!("command.rs")),
        ("pub(super) enum ArrayStep {", include_str!("arrays.rs")),
        (
            "pub enum GroupAttribute<'a> {",
            include_str!("../../../lvm2/src/plan/group/change.rs"),
        ),
        (
            "pub enum PvAttribute<'a> {",
            include_str!("../../../lvm2/src/plan/physical/change.rs"),
        ),
        (
            "pub enum AttributeChange<'a> {",
            include_str!("../../../lvm2/src/plan/logical/change.rs"),
        ),
        (
            "pub enum MirrorLog {",
            include_str!("../../../lvm2/src/plan/logical/options.rs"),
        ),
    ];
    let mut cases: Vec<Case> = (1..=3)
        .flat_map(|disks| Case::all(disks, AreaCount::One))
        .collect();
    cases.extend(Rings::of(AreaCount::One).expect("are made").cases);
    let commands: Vec<String> = cases.iter().map(|c| format!("{:?}", c.command)).collect();
    let text = commands.join("\n");
    let seen: BTreeSet<&str> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .collect();
    for (start, source) in ENUMS {
        let lines = source.split_once(start).expect("it is there").1.lines();
        let lines = lines.take_while(|line| *line != "}");
        let variants = lines.filter_map(|line| {
            let rest = line.strip_prefix("    ")?;
            rest.starts_with(char::is_uppercase)
                .then(|| words_of(rest)[0])
        });
        for variant in variants {
            assert!(seen.contains(variant), "{start} {variant}: no case");
        }
    }
}

fn words_of(line: &str) -> Vec<&str> {
    line.split(|letter: char| !letter.is_alphanumeric())
        .collect()
}

/// A plan promises as many flushes as the disks see when it is carried out, for every command where
/// nothing has to be repaired on the way.
#[test]
fn plans_promise_the_flushes_that_are_made() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (disks, areas) in CASES {
        for case in Case::all(disks, areas) {
            let Some(flushes) = flushes(&case).expect("commands succeed") else {
                continue;
            };
            count += 1;
            if flushes.promised != flushes.seen {
                wrong.push(format!(
                    "{} {}: {flushes:?}: {:?}",
                    case.name(),
                    case.command(),
                    case.command
                ));
            }
        }
    }
    assert!(count > 300, "only {count} cases");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
