//! `cargo xtask compare damaged`: what commands leave of damaged groups, beside stock LVM2.
//!
//! ```text
//!   cargo xtask compare damaged [--cases N] [--seed S]
//! ```
//!
//! Each case damages a group in one way and runs one command on it, in stock and here; see
//! `tests::damaged`. It fails where stock keeps what we do not.

use tests::damaged::Campaign;

use crate::Outcome;

/// All that there are, and some room.
const CASES: usize = 10_000;
/// How often the number of cases done is told.
const TOLD: usize = 100;

pub(super) fn run(arguments: &[String]) -> Outcome {
    let mut campaign = Campaign {
        cases: CASES,
        seed: 1,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let number = rest.next().and_then(|text| text.parse().ok());
        match (argument.as_str(), number) {
            ("--cases", Some(number)) => campaign.cases = number,
            ("--seed", Some(number)) => campaign.seed = number,
            _ => {
                return Outcome::Unusable(
                    "usage: cargo xtask compare damaged [--cases N] [--seed S]".into(),
                );
            }
        }
    }
    let report = campaign.run(|done| {
        if done.is_multiple_of(TOLD) {
            eprintln!("{done} cases");
        }
    });
    print!("{report}");
    if report.worse.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Failed
    }
}
