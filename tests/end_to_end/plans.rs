//! Plans against stock: the same commands, one after the other, on the same volume group.
//!
//! Before each command the group is read from stock's backup; stock runs the command, and we plan
//! it. Then either both refuse, with the same sentence, or both leave the same volumes on the same
//! extents, with the same flags, and say the same about sizes.
//!
//! No driver is needed, so mirrors cannot be compared here. One difference is on purpose, and not
//! in the table: where a volume fills several holes of a physical volume that it is already on,
//! stock takes the smallest first, and we the largest.

mod words;

use std::fs;

use lvm2::model::{self, Header, VolumeGroup};
use lvm2::text::{Style, parse};
use tests::{Access, LoopDevice, Scratch, Stock};

use words::{Machine, Said};

/// Lines of stock's that are about itself or about the machine.
const NOISE: [&str; 6] = [
    "Activation disabled",
    "NOT backed up",
    "leaked on lvm invocation",
    "Run `",
    "physical volume changed /",
    "physical volume(s) resized",
];

/// Device `0` to `3` stand for the four disks.
const COMMANDS: &str = include_str!("plans/commands.txt");

struct Pair {
    stock: Stock,
    scratch: Scratch,
    devices: Vec<LoopDevice>,
}

impl Pair {
    fn new() -> Self {
        let scratch = Scratch::new("plans");
        let devices: Vec<LoopDevice> = (0..4)
            .map(|number| {
                let image = scratch.sparse(&format!("disk{number}"), 256 << 20);
                LoopDevice::attach(&image, Access::ReadWrite)
            })
            .collect();
        let stock = Stock::on(&devices);
        let mut create = stock.without_driver("pvcreate");
        for device in &devices {
            create = create.arg(device.path());
        }
        create.succeed();
        Self {
            stock,
            scratch,
            devices,
        }
    }

    /// The group as stock has it.
    fn group(&self) -> VolumeGroup {
        let file = self.scratch.join("vg.txt");
        let backup = self.stock.without_driver("vgcfgbackup");
        backup.arg("-f").arg(&file).arg("vg").succeed();
        let text = fs::read(&file).expect("the backup");
        fs::remove_file(&file).expect("it is ours");
        model::from_text(&parse(&text).expect("it parses")).expect("it is a group")
    }

    /// What stock says: whether it did it, and its lines.
    fn run(&self, words: &[String]) -> (bool, Vec<String>) {
        let mut tool = self.stock.without_driver(&words[0]);
        if matches!(words[0].as_str(), "lvcreate") {
            tool = tool.args(["-an", "-Zn", "-Wn"]);
        }
        if matches!(words[0].as_str(), "lvremove" | "pvresize") {
            tool = tool.arg("-y");
        }
        if matches!(words[0].as_str(), "lvreduce" | "lvresize") {
            tool = tool.arg("-f");
        }
        let finished = tool.args(&words[1..]).run();
        let bytes = [finished.stdout, finished.stderr].concat();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !NOISE.iter().any(|noise| line.contains(noise)));
        (finished.code == Some(0), lines.map(str::to_owned).collect())
    }
}

/// A text in which everything that must differ is the same.
fn comparable(vg: &VolumeGroup) -> String {
    let mut vg = vg.clone();
    vg.header = Header::default();
    let text = String::from_utf8(model::to_text(&vg, Style::Raw)).expect("it is ASCII");
    let is_own = |line: &&str| {
        let skipped = [
            "id = ",
            "seqno = ",
            "creation_",
            "description = ",
            "device = ",
        ];
        !line.trim().is_empty() && !skipped.iter().any(|start| line.trim().starts_with(start))
    };
    let lines: Vec<&str> = text.lines().filter(is_own).collect();
    lines.join("\n")
}

#[test]
fn plans_are_what_stock_does() {
    // Proves: the same extents, flags, refusals and sentences as stock for a table of commands.
    let pair = Pair::new();
    let create = pair.stock.without_driver("vgcreate").arg("vg");
    let create = pair.devices[..3]
        .iter()
        .fold(create, |tool, device| tool.arg(device.path()));
    create.succeed();
    let machine = Machine::new(&pair.devices);
    let mut differences = Vec::new();
    for line in COMMANDS
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
    {
        let words = machine.words(line);
        let before = pair.group();
        let ours = words::plan(&before, &words);
        let (is_done, lines) = pair.run(&words);
        match (is_done, ours) {
            (true, Ok(change)) => {
                let vg = change.vg().unwrap_or(&before);
                let (ours, theirs) = (comparable(vg), comparable(&pair.group()));
                if ours != theirs {
                    let pairs = ours.lines().zip(theirs.lines());
                    let other = pairs.filter(|(ours, theirs)| ours != theirs).take(6);
                    differences.push(format!(
                        "{line}: (ours, theirs) {:?}",
                        other.collect::<Vec<_>>()
                    ));
                }
                for said in words::notes(&change) {
                    if !lines.iter().any(|line| said.is_in(line)) {
                        differences.push(format!("{line}: we say {said:?}, stock {lines:?}"));
                    }
                }
            }
            (false, Err(error)) => {
                for said in error.context.lines().map(|text| Said(text.to_owned())) {
                    if !lines.iter().any(|line| said.is_in(line)) {
                        differences.push(format!("{line}: we say {said:?}, stock {lines:?}"));
                    }
                }
            }
            (true, Err(error)) => differences.push(format!("{line}: only we refuse: {error}")),
            (false, Ok(_)) => differences.push(format!("{line}: only stock refuses: {lines:?}")),
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}
