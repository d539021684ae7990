//! Trials against closed forms.

use super::trial;
use crate::layout::parse;
use crate::workload::short;

/// A disk of 600 requests per second does 600, whatever was expected of it; a stream too.
#[test]
fn a_capped_disk_does_what_it_may() {
    let text = "[disk.c]\ncap = { iops = 600, size = \"100G\" }\n\
                [layout.x]\ndisks = \"c\"\nvolume = [{ linear = \"0\", size = \"10G\" }]\n";
    let layout = &parse("t.toml", text).expect("it is sound")[0];
    for (form, expected) in [
        ("randread:4k:depth=8", 600.0),
        ("read:64k:depth=2", 500.0),
        ("randread:4k:depth=8", 3.0),
        ("randread:4k:depth=8", 60_000.0),
    ] {
        let jobs = short::jobs(form, layout.size()).expect("a form");
        let found = trial(layout, &jobs[0], expected, 1).expect("it runs");
        assert!((found.per_second / 600.0 - 1.0).abs() < 0.01, "{found:?}");
        let response = f64::from(jobs[0].depth) / 600.0 * 1e9;
        assert!(
            (found.response_ns / response - 1.0).abs() < 0.01,
            "{found:?}"
        );
        assert!(found.counted > 5000, "{found:?}");
    }
}
