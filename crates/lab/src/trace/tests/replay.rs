//! Replays keep what waited for what.

use crate::component::Component;
use crate::disk::catalog;
use crate::disk::drive::Drive;
use crate::disk::rotation::Angle;
use crate::trace::{Class, Label, Operation, Record, Trace, find_dependencies, replay};

fn timed(time_ns: u64, duration_ns: u64, operation: Operation, start: u64) -> Record {
    let count = if operation == Operation::Flush { 0 } else { 8 };
    Record {
        duration_ns: Some(duration_ns),
        ..Record::new(time_ns, operation, start, count)
    }
}

fn trace(mut records: Vec<Record>) -> Trace {
    find_dependencies(&mut records);
    for record in &mut records {
        record.label.class = match record.operation {
            Operation::Read => Class::Directory,
            Operation::Write => Class::Journal,
            _ => Class::Unknown,
        };
    }
    Trace {
        records,
        ..Trace::default()
    }
}

#[test]
fn thinking_is_kept_and_barriers_hold() {
    // On a slower disk reads go on waiting for each other, with the same time between, and a flush
    // goes out after the writes that it went out after.
    let ms = 1_000_000;
    let trace = trace(vec![
        timed(0, ms, Operation::Read, 800),
        timed(3 * ms, ms, Operation::Read, 80_000),
        timed(5 * ms, ms / 10, Operation::Write, 4_000_000),
        timed(5 * ms, ms / 10, Operation::Write, 8_000_000),
        timed(7 * ms, ms, Operation::Flush, 0),
        timed(9 * ms, ms, Operation::Read, 8),
    ]);
    let profile = catalog::find("wd800bd-like").unwrap();
    let mut drive = Drive::new(profile, Angle::new(0)).unwrap();
    let outcome = replay(&trace, &mut drive).unwrap();
    let moments = &outcome.moments;
    assert_eq!(moments[1].submitted_ns, moments[0].answered_ns + 2 * ms);
    assert_eq!(moments[2].submitted_ns, moments[1].answered_ns + ms);
    let written = moments[2].answered_ns.max(moments[3].answered_ns);
    assert!(moments[4].submitted_ns >= written);
    assert_eq!(moments[5].submitted_ns, moments[4].answered_ns + ms);
    assert!(outcome.elapsed_ns > outcome.recorded_ns, "it is slower");
    assert_eq!(outcome.component(Component::Directory).count, 3);
    assert_eq!(outcome.component(Component::Journal).blocks, 16);
    assert!(outcome.component(Component::Directory).busy_ns > 3 * ms);
    assert!(outcome.comparison.unwrap().demerit_ns > 0.0);
    assert!(
        outcome
            .limits
            .iter()
            .any(|limit| limit.contains("which is 0 journal commits"))
    );
    let label = Label::default();
    assert!(trace.records[0].label != label);

    let mut again = Drive::new(catalog::find("wd800bd-like").unwrap(), Angle::new(0)).unwrap();
    assert_eq!(replay(&trace, &mut again).unwrap().moments, *moments);
    let mut far = trace.clone();
    far.records[0].start = u64::MAX / 2;
    let error = replay(&far, &mut again).unwrap_err().to_string();
    assert!(error.contains("request 1"), "{error}");
}
