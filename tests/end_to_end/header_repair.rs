//! `pvck --repair`: disks whose first sectors were overwritten become members of their group again,
//! for us and for stock LVM2, and nothing behind the headers changes.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use tests::{Access, Finished, Group, LoopDevice, Stock, killing, was_killed};

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;
/// What writes, and what makes it durable.
const CALLS: &str = "pwrite64,fdatasync,fsync";
/// More calls than a repair makes.
const CALLS_MAX: usize = 200;

/// A group on two disks, its backup, and how the first disk was.
struct Bench {
    group: Group,
    backup: PathBuf,
    good: Vec<u8>,
}

impl Bench {
    fn new(name: &str) -> Self {
        let group = Group::new(name, 2, 32 * MIB);
        group.create("data", &["-l", "10"]);
        let backup = group.join("backup.vg");
        let saved = group.ashlar().args(["vgcfgbackup", "-f"]).arg(&backup);
        saved.arg("vg0").succeed();
        let good = fs::read(group.disk(0)).expect("a disk");
        Self {
            group,
            backup,
            good,
        }
    }

    /// The first disk as it was, but for `count` sectors from `first` on.
    fn damage(&self, first: u64, count: u64) {
        let path = self.group.disk(0);
        fs::write(&path, &self.good).expect("a disk");
        let disk = fs::File::options().write(true).open(&path);
        let nothing = vec![0; (count * SECTOR) as usize];
        let written = disk.and_then(|disk| disk.write_all_at(&nothing, first * SECTOR));
        written.expect("a disk");
    }

    fn repair(&self, words: &[&str]) -> Finished {
        let tool = self.group.ashlar().arg("pvck").args(words);
        tool.arg("-f")
            .arg(&self.backup)
            .arg(self.group.disk(0))
            .run()
    }

    fn lists(&self) -> String {
        let lists = self.group.ashlar().args(["lvs", "-o+devices", "vg0"]).run();
        let checked = self.group.ashlar().args(["vgck", "vg0"]).run();
        format!(
            "{}{}{}",
            lists.text(),
            lists.complaints(),
            checked.complaints()
        )
    }

    fn disk(&self) -> Vec<u8> {
        fs::read(self.group.disk(0)).expect("a disk")
    }
}

#[test]
fn overwritten_headers_are_made_again() {
    let bench = Bench::new("header_repair_all");
    let whole = bench.lists();
    for (first, count, words) in [
        (0, 2048, vec!["--repair"]),
        (0, 4, vec!["--repairtype", "pv_header"]),
        (8, 2040, vec!["--repairtype", "metadata"]),
        (8, 1, vec!["--repair"]),
        (9, 2039, vec!["--repair"]),
    ] {
        bench.damage(first, count);
        let asked = bench.repair(&words);
        assert_eq!(asked.code, Some(5), "nobody said yes");
        // The first question may be about the areas.
        let complaints = asked.complaints();
        let refusals = ["Command failed with status code 5", "To repair with zero"];
        let is_refused = refusals.iter().any(|one| complaints.contains(one));
        assert!(is_refused, "{complaints}");
        let words = [&words[..], &["-y"]].concat();
        let done = bench.repair(&words);
        assert_eq!(done.code, Some(0), "{words:?}: {}", done.complaints());
        assert_eq!(bench.lists(), whole, "{words:?}");
        let behind = MIB as usize..;
        assert_eq!(
            bench.disk()[behind.clone()],
            bench.good[behind],
            "{words:?}"
        );
        // As stock sees them.
        let loops =
            [0, 1].map(|number| LoopDevice::attach(&bench.group.disk(number), Access::ReadOnly));
        let stock = Stock::on(&loops);
        let listed = stock
            .command("pvs")
            .args(["--noheadings", "-o", "vg_name,pv_attr"])
            .run();
        assert_eq!(
            listed.text().matches("vg0 a--").count(),
            2,
            "{words:?}: {}",
            listed.text()
        );
        let checked = stock.command("pvck").arg(loops[0].path()).run();
        assert!(
            !checked.complaints().contains("CHECK"),
            "{}",
            checked.complaints()
        );
    }
}

#[test]
fn a_label_is_mended_by_its_own_header() {
    let bench = Bench::new("header_repair_label");
    let mut damaged = bench.good.clone();
    // Its checksum, and where its contents begin.
    damaged[512 + 16..512 + 24].fill(0x58);
    fs::write(bench.group.disk(0), &damaged).expect("a disk");
    let words = ["--repairtype", "label_header", "-y"];
    assert_eq!(bench.repair(&words).code, Some(0));
    assert_eq!(bench.disk(), bench.good);
    bench.damage(1, 1);
    let refused = bench.repair(&words);
    assert_eq!(refused.code, Some(5));
    assert!(
        refused.complaints().contains("is damaged, too"),
        "{}",
        refused.complaints()
    );
}

#[test]
fn what_would_do_harm_is_refused() {
    let bench = Bench::new("header_repair_refused");
    bench.damage(0, 2048);
    let damaged = bench.disk();
    let refused = |words: &[&str], says: &str| {
        let done = bench.repair(&[&["--repair", "-y"], words].concat());
        assert_eq!(done.code, Some(5), "{words:?}: {}", done.text());
        assert!(
            done.complaints().contains(says),
            "{words:?}: {}",
            done.complaints()
        );
        assert_eq!(bench.disk(), damaged, "{words:?}");
    };
    let area = |text| ["--settings", text];
    refused(
        &area("mda_offset=1048576 mda_size=1048576"),
        "meets the extents",
    );
    refused(&area("mda_offset=0 mda_size=1048576"), "meets the label");
    refused(
        &area("mda_offset=33553408 mda_size=1048576"),
        "does not lie on the device",
    );
    refused(&area("mda_offset=4096 mda_size=512"), "has no room");
    refused(&area("mda_offset=4096 mda_size=1536"), "takes at most");
    let listed = bench
        .group
        .ashlar()
        .args(["pvs", "--noheadings", "-o", "pv_uuid"]);
    let listed = listed
        .args(["-S", &format!("pv_name={}", bench.group.disk(1).display())])
        .run();
    let other = format!("pv_uuid={}", listed.text().trim());
    refused(&area(&other), "which exists on");
    refused(
        &area("pv_uuid=AAAAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA"),
        "not found in metadata file",
    );
}

/// Killed at any write the same command makes the disk right, and nothing else is lost by it.
#[test]
fn a_killed_repair_is_repeated() {
    let bench = Bench::new("header_repair_killed");
    let whole = bench.lists();
    let mut kills = 0;
    for call in 1..=CALLS_MAX {
        bench.damage(8, 2040);
        let record = bench.group.join("record");
        let tool = killing(CALLS, call, &record).args(["pvck", "--repair", "-y", "-f"]);
        let tool = tool.arg(&bench.backup).arg(bench.group.disk(0));
        let tool = tool
            .env("ASHLAR_DEVICES", bench.group.join("disks"))
            .env("LVM_LOCKING_DIR", bench.group.join("locks"))
            .env("ASHLAR_RUNTIME_DIR", bench.group.join("run"))
            .env("ASHLAR_IO", "threads");
        let is_whole = !was_killed(&tool.run());
        kills += usize::from(!is_whole);
        let behind = MIB as usize..;
        assert_eq!(
            bench.disk()[behind.clone()],
            bench.good[behind],
            "call {call}"
        );
        if is_whole {
            assert_eq!(bench.lists(), whole);
            assert!(kills > 3, "{kills} calls are not all that it makes");
            return;
        }
        let again = bench.repair(&["--repair", "-y"]);
        assert_eq!(again.code, Some(0), "call {call}: {}", again.complaints());
        assert_eq!(bench.lists(), whole, "call {call}");
    }
    panic!("it makes more than {CALLS_MAX} calls");
}
