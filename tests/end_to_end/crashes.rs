//! What a power cut may leave, in the eyes of stock: each kind of state that the format lists.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use ashlar::explore::{Example, examples};
use block::sim::Image;
use tests::{Access, Finished, LoopDevice, Scratch, Stock};

/// Kinds of findings that stock has a word for; the others are not wrong in its eyes.
const NAMED: [&str; 4] = ["UsedFlag", "OutdatedPv", "StaleArea", "MissingPv"];

#[test]
fn stock_reports_what_cuts_leave() {
    // Proves: in every state between old and new, stock shows versions that somebody wrote and no
    // others, and warns or shows the mark; after our next command it finds nothing wrong.
    let scratch = Scratch::new("crashes");
    let mut devices: Vec<LoopDevice> = (0..2)
        .map(|disk| {
            let image = scratch.sparse(&format!("disk{disk}"), 2 << 20);
            LoopDevice::attach(&image, Access::ReadWrite)
        })
        .collect();
    // Stock goes through disks by number, whoever gave them in which order, and where the texts of
    // two disks disagree it may believe the first: with the disks of a half done vgsplit exchanged
    // it shows the old group and says nothing.
    devices.sort_by_key(LoopDevice::number);
    let stock = Stock::on(&devices);
    let examples = examples().expect("all commands run");
    let mut seen = BTreeSet::new();
    for example in &examples {
        seen.insert(format!("{} {}", example.command, example.verdict));
        store(&devices, &example.disks);
        let report = Report::of(&stock);
        report.check(example);
        store(&devices, &example.settled);
        let report = Report::of(&stock);
        let complaints = report.complaints();
        let what = format!("{} {}", example.command, example.verdict);
        assert!(
            complaints.is_empty(),
            "after the next command: {what}: {complaints}"
        );
        for (group, _) in report.rows() {
            stock.without_driver("vgck").arg(group).succeed();
        }
    }
    println!("{} states: {seen:#?}", examples.len());
    for command in ["vgsplit", "vgmerge", "vgchange", "pvchange"] {
        assert!(seen.contains(&format!("{command} half done")), "{seen:?}");
    }
}

fn store(devices: &[LoopDevice], images: &[Image]) {
    for (device, image) in devices.iter().zip(images) {
        write(device.path(), image);
    }
}

fn write(path: &Path, image: &Image) {
    let file = File::options()
        .write(true)
        .open(path)
        .expect("the device opens");
    let bytes = image.bytes(block::Range::new(0, image.size()));
    file.write_all_at(&bytes, 0).expect("it can be written");
    file.sync_all().expect("it can be flushed");
}

/// What stock says of the disks.
struct Report {
    groups: Finished,
    volumes: Finished,
}

impl Report {
    fn of(stock: &Stock) -> Self {
        let fields = ["--noheadings", "--separator", "|", "-o"];
        let vgs = stock.without_driver("vgs").args(fields);
        let pvs = stock.without_driver("pvs").args(fields);
        Self {
            groups: vgs.arg("vg_name,vg_seqno,vg_tags").run(),
            volumes: pvs.arg("pv_name,vg_name,pv_tags").run(),
        }
    }

    /// The groups and their versions.
    fn rows(&self) -> Vec<(String, u32)> {
        let text = self.groups.text();
        let row = |line: &str| {
            let mut cells = line.trim().split('|');
            let name = cells.next()?.to_owned();
            Some((name, cells.next()?.parse().ok()?))
        };
        text.lines().filter_map(row).collect()
    }

    /// Whether there is one group, which has all disks. Where a text that lists all of them lies
    /// behind one that lists fewer, in the order of the devices, stock goes by that one alone: of a
    /// group that is being split it sees what was there before.
    fn is_one_whole(&self) -> bool {
        let groups = self.rows();
        let volumes = self.volumes.text();
        let owners = volumes.lines().map(|line| line.split('|').nth(1));
        let mut owners = owners.map(Option::unwrap_or_default);
        let mut is_whole = |name: &str| owners.all(|owner| owner == name);
        matches!(&groups[..], [(name, _)] if is_whole(name))
    }

    /// What is wrong with the disks; not what it says of the machine that it runs on.
    fn complaints(&self) -> String {
        let all = self.groups.complaints() + &self.volumes.complaints();
        let is_other = |line: &&str| {
            let others = ["leaked on", "Activation disabled"];
            others.iter().all(|other| !line.contains(other))
        };
        let lines: Vec<&str> = all.lines().filter(is_other).collect();
        lines.join("\n").trim().to_owned()
    }

    fn check(&self, example: &Example) {
        let (command, verdict) = (example.command, example.verdict);
        let what = format!(
            "{command}, {verdict}, {:?}:\n{}\n{}",
            example.complaints, self.groups, self.volumes
        );
        println!("{what}");
        for row in self.rows() {
            assert!(
                example.versions.contains(&row),
                "nobody wrote {row:?}: {what}"
            );
        }
        let shown = self.groups.text() + &self.volumes.text();
        let is_marked = shown.contains("ashlar:");
        let mut kinds = example.complaints.iter();
        let is_named = kinds.any(|kind| NAMED.contains(&kind.as_str()));
        if example.is_unfinished {
            let is_told = is_marked || !self.complaints().is_empty();
            assert!(is_told || self.is_one_whole(), "not a word: {what}");
        } else if is_named {
            assert!(!self.complaints().is_empty(), "not a word: {what}");
        }
    }
}
