//! Every command on few disks; the whole is `cargo xtask crash metadata`.

use lvm::plan::initialise::AreaCount;

use super::{Campaign, Case, Patience, explore_faults};
use crate::commit::{Discipline, FlushPoint};

fn run(cases: Vec<Case>, discipline: Discipline, patience: Patience) -> super::Report {
    let campaign = Campaign {
        cases,
        discipline,
        seed: 1,
        patience,
    };
    campaign.run().expect("commands succeed")
}

/// No cut of any command on one disk with one area, or on two with two, breaks a promise.
#[test]
fn cuts_keep_the_promises() {
    for (disks, areas) in [(1, AreaCount::One), (2, AreaCount::One)] {
        let report = run(Case::all(disks, areas), Discipline::Strict, Patience::All);
        println!("{disks} disks: {report}");
        assert!(report.first.is_none(), "{:?}", report.first);
    }
}

/// Each flush that is left out is missed somewhere.
#[test]
fn every_flush_is_needed() {
    let mut needless = Vec::new();
    for point in FlushPoint::ALL {
        let cases = Case::all(2, AreaCount::One);
        let report = run(cases, Discipline::Without(point), Patience::First);
        println!("without {point:?}: {report} {:?}", report.first);
        needless.extend((report.broken == 0).then_some(point));
    }
    assert_eq!(needless, [], "nothing is lost without these flushes");
}

/// An error at any single request leaves the old or the new state, and names what failed.
#[test]
fn errors_keep_the_promises() {
    let report = explore_faults(&Case::all(2, AreaCount::One)).expect("commands succeed");
    println!("{report}");
    assert!(report.broken.is_empty(), "{:#?}", report.broken);
}
