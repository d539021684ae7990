//! Arrays are counted beside the ranks, and as the books do.

use crate::advise::{Advice, Counted, Wish, advise};
use crate::layout::Disk;
use crate::workload::short;

const SIZE: u64 = 1 << 30;

fn ask(disks: usize, load: &str) -> Advice {
    emulated(disks, load, 0)
}

fn emulated(disks: usize, load: &str, count: usize) -> Advice {
    let disk = Disk::from_word("cap:iops=600:size=4G", None).expect("a disk");
    let wish = Wish {
        disks: vec![disk; disks],
        size: SIZE,
        job: short::jobs(load, SIZE).expect(load).remove(0),
    };
    advise(&wish, count, 1).expect("advice")
}

fn level<'a>(advice: &'a Advice, name: &str) -> &'a Counted {
    let found = advice.counted.iter().find(|one| one.level == name);
    found.unwrap_or_else(|| panic!("{name} is not counted"))
}

/// Small writes cost a RAID 5 four requests, a RAID 6 six and a RAID 10 two; reads cost one; the
/// rate is the striped volume's over that, and room and safety are the level's.
#[test]
fn levels_are_counted() {
    let writes = ask(6, "randwrite:4k:depth=64");
    let reads = ask(6, "randread:4k:depth=64");
    for (name, write, survives, share) in [
        ("raid5", 4.0, 1, 5),
        ("raid6", 6.0, 2, 4),
        ("raid10", 2.0, 1, 3),
    ] {
        let (written, read) = (level(&writes, name), level(&reads, name));
        assert!((written.requests - write).abs() < 1e-9, "{written:?}");
        assert!((read.requests - 1.0).abs() < 1e-9, "{read:?}");
        assert_eq!((written.survives, written.disks), (survives, 6));
        let one = level(&writes, "raid5").capacity / 5;
        assert_eq!(written.capacity, one * share, "{name}");
        let ratio = read.per_second / written.per_second;
        assert!((ratio / write - 1.0).abs() < 0.05, "{name}: {ratio}");
    }
    assert!(level(&reads, "raid5").requests_degraded > 1.5);
    let said = writes.words().join("\n");
    assert!(
        said.contains("raid6 over 6") && said.contains("not predicted"),
        "{said}"
    );
}

/// Where requests keep all disks busy an array does what is counted of it, and has a place behind
/// what does more and before what does less; without emulations it has none. With one request at a
/// time a small write of a RAID 5 waits for two rounds, and does less than a RAID 10,
/// and less than anything without redundancy.
#[test]
fn levels_are_emulated_and_have_a_place() {
    let reads = emulated(6, "randread:4k:depth=256", 1);
    for one in &reads.counted {
        let ranked = one.emulated.expect("it was emulated");
        let off = ranked.trial.per_second / one.per_second - 1.0;
        assert!(off.abs() < 0.05, "{}: {off}", one.level);
        let more = reads.choices.iter().filter(|choice| {
            let seen = choice
                .emulated
                .map_or(choice.per_second.value, |seen| seen.per_second);
            seen > ranked.trial.per_second
        });
        assert_eq!(ranked.place, more.count() + 1, "{}", one.level);
    }
    assert!(
        ask(6, "randread:4k:depth=256").counted[0]
            .emulated
            .is_none()
    );
    let writes = emulated(6, "randwrite:4k:depth=1", 1);
    let rate = |name: &str| {
        level(&writes, name)
            .emulated
            .expect("it was")
            .trial
            .per_second
    };
    let (five, ten) = (rate("raid5"), rate("raid10"));
    assert!(five < 0.9 * ten, "{five} for {ten}");
    let ranked = level(&writes, "raid5").emulated.expect("it was");
    assert_eq!(ranked.place, writes.choices.len() + 1, "behind all");
    let said = writes.words().join("\n");
    assert!(
        said.contains("number") && said.contains("requests per second"),
        "{said}"
    );
}

/// Where there are too few disks for a level it is not spoken of.
#[test]
fn few_disks_have_fewer_levels() {
    let names = |disks| -> Vec<&str> {
        let advice = ask(disks, "oltp");
        advice.counted.iter().map(|one| one.level).collect()
    };
    assert!(names(2).is_empty());
    assert_eq!(names(3), ["raid5"]);
    assert_eq!(names(4), ["raid5", "raid10"]);
    assert_eq!(names(5), ["raid5", "raid6"]);
}
