//! Small campaigns, and each mistake.

use super::{Campaign, SeededFault, Subject};
use crate::explore;

fn explore(subject: Subject, states: u64, fault: Option<SeededFault>) -> explore::Report {
    let extent = explore::Campaign {
        seed: 1,
        states,
        histories: u64::MAX,
    };
    let campaign = Campaign {
        subject,
        extent,
        fault,
    };
    campaign.run()
}

/// Nothing is lost that was promised, whenever the power goes while snapshots come and go.
#[test]
fn snapshots_keep_their_promises() {
    let report = explore(Subject::Snapshots, 5_000, None);
    println!("{report}");
    assert_eq!(report.broken, None);
}

/// Nor while they are merged.
#[test]
fn merges_keep_their_promises() {
    let report = explore(Subject::Merges, 10_000, None);
    println!("{report}");
    assert_eq!(report.broken, None);
}

/// Each mistake is found, by what it leaves on the disks and not by a failure of the machine.
#[test]
fn mistakes_are_found() {
    for (name, fault, subject) in SeededFault::ALL {
        let report = explore(*subject, 30_000, Some(*fault));
        let Some((seed, what)) = &report.broken else {
            panic!("{name} is not found: {report}");
        };
        println!("{name}: seed {seed}: {what}, after {} cuts", report.cuts);
        if fault.mischief().is_some() {
            continue;
        }
        let of_disks = ["without a machine, face", "the store of snapshot"];
        let is_of_disks = of_disks.iter().any(|begin| what.starts_with(begin))
            || what.ends_with("was invalid, and is valid again");
        assert!(is_of_disks, "{name}: seed {seed}: {what}");
    }
}
