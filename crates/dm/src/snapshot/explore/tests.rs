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
    let report = explore(Subject::Snapshots, 5000, None);
    println!("{report}");
    assert_eq!(report.broken, None);
}

/// Nor while they are merged.
#[test]
fn merges_keep_their_promises() {
    let report = explore(Subject::Merges, 5000, None);
    println!("{report}");
    assert_eq!(report.broken, None);
}

/// Each mistake is found.
#[test]
fn mistakes_are_found() {
    for (name, fault, subject) in SeededFault::ALL {
        let report = explore(*subject, 10_000, Some(*fault));
        println!("{name}: {report}: {:?}", report.broken);
        assert!(report.broken.is_some(), "{name} is found: {report}");
    }
}
