//! Names and short forms.

use super::{NAMED, job_file, jobs};
use crate::workload::fio::{Distribution, Mix, Pattern};

/// Names and forms are jobs of the size of the volume.
#[test]
fn forms_are_jobs() {
    for named in NAMED {
        let found = jobs(named.name, 1 << 30).expect(named.name);
        assert_eq!(found, jobs(named.form, 1 << 30).expect(named.form));
        assert_eq!((found.len(), found[0].size), (1, 1 << 30));
    }
    let found = jobs("randrw:8k:reads=70:depth=16:jobs=2:hot=80/20", 1 << 30).expect("a form");
    let job = &found[0];
    assert_eq!((job.pattern, job.mix), (Pattern::Random, Mix::Both));
    assert_eq!((job.mix_percent, job.depth, job.processes), (70, 16, 2));
    assert_eq!(job.block, [8192; 2]);
    assert!(matches!(&job.distribution, Distribution::Zoned(zones) if zones.len() == 2));
    let found = jobs("read:1m:offset=1m", 1 << 30).expect("a form");
    assert_eq!(found[0].size, (1 << 30) - (1 << 20));
}

/// What is wrong is named.
#[test]
fn mistakes_are_named() {
    for (word, wanted) in [
        ("fast", "one of oltp"),
        ("randread:4k:deep=3", "deep: known are depth"),
        ("randread:4k:hot=80", "hot: ACCESSES/SIZE"),
        ("sideways:4k", "sideways"),
    ] {
        let refused = jobs(word, 1 << 30).expect_err(word).to_string();
        assert!(refused.contains(wanted), "{refused} says {wanted}");
    }
    assert!(job_file("log").expect("a name").contains("bs=16k"));
}
