//! Devices that do not answer, and code that panics.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use block::memory::MemoryDevice;

use super::{Options, probe_all};
use crate::host::{Candidate, Location};
use crate::scan::probe::{Probed, ProbedContent};
use crate::scan::source::Source;
use crate::scan::stage::Stage;
use crate::scan::texts::Texts;

fn candidate(name: &str) -> Candidate {
    Candidate::named(name, Location::whole(name))
}

fn step(stage: Stage, candidate: &Candidate, _: &Texts) -> Stage {
    match (candidate.name.as_str(), stage) {
        ("late", Stage::New) => {
            let device = Arc::new(MemoryDevice::new("late", 4096));
            return Stage::Open(Source::of_device(device, "late"));
        }
        ("dead" | "late", _) => sleep(Duration::from_mins(1)),
        ("bug", _) => panic!("on purpose"),
        _ => {}
    }
    Stage::Done(vec![Probed::new(candidate, ProbedContent::Other)])
}

/// A dead device costs the limit once, at its first step or later, with one thread too, and the
/// others are looked at.
#[test]
fn dead_devices_do_not_hide_the_others() {
    for threads_max in [1, 16] {
        let options = Options {
            time_limit: Duration::from_secs(4),
            threads_max,
        };
        let names = ["dead", "a", "late", "bug", "b", "dead", "c"];
        let begun = Instant::now();
        let candidates = names.map(candidate).to_vec();
        let probed = probe_all(candidates, Texts::default(), &options, step).expect("ends");
        let probed: Vec<Probed> = probed.into_iter().flatten().collect();
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "no thread waits for the dead"
        );
        let found: Vec<_> = probed.iter().map(|probed| probed.name.as_str()).collect();
        assert_eq!(found, names, "in order");
        for probed in probed {
            let expected = match probed.name.as_str() {
                "dead" => Some("dead did not answer within 4 s"),
                "late" => Some("late did not answer within 4 s"),
                "bug" => Some("bug: looking at it failed, which is a bug"),
                _ => None,
            };
            let said = probed.findings.first().map(ToString::to_string);
            assert!(
                said.as_deref()
                    .unwrap_or("")
                    .starts_with(expected.unwrap_or("")),
                "{said:?}"
            );
            assert_eq!(said.is_some(), expected.is_some());
        }
    }
}
