//! The commands on logical volumes, beside stock's.
//!
//! Two groups that are alike: Ashlar has one on images, stock has one on loop devices. Each line of
//! a table is run by both. Then the exit status has to be the same, stock's sentences have to be
//! among ours, and the two texts have to be the same but for identities and times. At the end stock
//! looks at our disks as well, and sees the same volumes, field by field.

use std::cmp::Reverse;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use ashlar::apply::{Disks, HostDisks};
use ashlar::host::{Config, DeviceSource, DeviceSpec, Host, Sysfs};
use ashlar::scan::Options;
use lvm2::model::{self, Header, VolumeGroup};
use lvm2::text::Style;
use tests::{Access, Finished, LIMIT, LoopDevice, Scratch, Stock, Tool, ashlar};

/// Lines of stock's that are about itself, about the machine, or about how to find help.
const NOISE: [&str; 12] = [
    "Activation disabled",
    "NOT backed up",
    "leaked on lvm invocation",
    "Run `",
    "Nearest similar command",
    "Correct command syntax",
    "No command with matching syntax",
    "Error during parsing of command line.",
    "Cannot process volume group",
    "Skipping zeroing",
    "does not accept option",
    "uses options that require",
];

/// Three disks with a group, twice, and one more disk each.
struct Twins {
    scratch: Scratch,
    ours: Vec<PathBuf>,
    theirs: Vec<LoopDevice>,
    stock: Stock,
    host: Host,
}

impl Twins {
    fn new() -> Self {
        let scratch = Scratch::new("logical");
        let disks = |name: &str| -> Vec<PathBuf> {
            let disk = |number| scratch.sparse(&format!("{name}{number}.img"), 256 << 20);
            (0..4).map(disk).collect()
        };
        let (ours, theirs) = (disks("ours"), disks("theirs"));
        let attach = |path: &PathBuf| LoopDevice::attach(path, Access::ReadWrite);
        let theirs: Vec<LoopDevice> = theirs.iter().map(attach).collect();
        let stock = Stock::on(&theirs);
        let twins = Self {
            scratch,
            ours,
            theirs,
            stock,
            host: Host {
                config: Config::empty(),
                sysfs: Sysfs::of_host(),
            },
        };
        for line in [
            "pvcreate disk0 disk1 disk2 disk3",
            "vgcreate vg disk0 disk1 disk2",
        ] {
            twins.by_stock(line).succeed();
            twins.by_us(line).succeed();
        }
        twins
    }

    fn by_us(&self, line: &str) -> Tool {
        let names: Vec<String> = self
            .ours
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        ashlar()
            .env("LVM_SYSTEM_DIR", self.scratch.join("system"))
            .arg("--devices")
            .arg(names.join(","))
            .args(words(line, &names))
    }

    fn by_stock(&self, line: &str) -> Tool {
        let names: Vec<String> = self
            .theirs
            .iter()
            .map(|device| device.path().display().to_string())
            .collect();
        let words = words(line, &names);
        self.stock.without_driver(&words[0]).args(&words[1..])
    }

    /// The group as it is on these disks. Stock's are looked at behind its loop devices.
    fn text(&self, disks: &str) -> String {
        let spec = |number| DeviceSpec {
            path: self.scratch.join(format!("{disks}{number}.img")),
        };
        let disks = HostDisks {
            source: DeviceSource::Listed((0..4).map(spec).collect()),
            options: Options::default(),
        };
        let scan = disks.scan(&self.host).expect("a scan");
        comparable(&scan.find_group("vg").expect("it is there").model)
    }

    /// Runs every line of a table on both sides, and compares.
    fn run(&self, table: &str) {
        let mut differences = Vec::new();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let (ours, theirs) = self.both(line);
            if ours.code != theirs.code {
                differences.push(format!("{line}: other statuses\n  {ours}\n  {theirs}"));
            }
            let said = lines(&(ours.text() + &ours.complaints()));
            // Why something is refused counts, not what was found out on the way.
            let results = if theirs.code == Some(0) {
                theirs.text()
            } else {
                String::new()
            };
            for sentence in lines(&(results + &theirs.complaints())) {
                let sentence = self.as_ours(&sentence);
                if !said.iter().any(|own| says(own, &sentence)) {
                    differences.push(format!("{line}: we do not say {sentence:?} but {said:?}"));
                }
            }
            let (ours, theirs) = (self.text("ours"), self.text("theirs"));
            if ours != theirs {
                let pairs = ours.lines().zip(theirs.lines());
                let other: Vec<_> = pairs.filter(|(one, other)| one != other).collect();
                let shown = &other[..other.len().min(6)];
                differences.push(format!("{line}: (ours, theirs) {shown:?}"));
                // What follows would differ, too.
                break;
            }
        }
        assert!(differences.is_empty(), "\n{}", differences.join("\n"));
        self.judge();
    }

    /// Both at once: the time of a line is that of the slower one.
    fn both(&self, line: &str) -> (Finished, Finished) {
        let (ours, theirs) = (self.by_us(line), self.by_stock(line));
        thread::scope(|scope| {
            let ours = scope.spawn(|| ours.run());
            let theirs = theirs.run();
            (ours.join().expect("it ran"), theirs)
        })
    }

    /// Stock's sentence with the names of our disks in it.
    fn as_ours(&self, sentence: &str) -> String {
        let mut pairs: Vec<_> = self.theirs.iter().zip(&self.ours).collect();
        // Longer names first: /dev/loop1 is also the beginning of /dev/loop10.
        pairs.sort_by_key(|(theirs, _)| Reverse(theirs.path().as_os_str().len()));
        pairs
            .into_iter()
            .fold(sentence.to_owned(), |sentence, (theirs, ours)| {
                let (theirs, ours) = (theirs.path().display(), ours.display());
                sentence.replace(&theirs.to_string(), &ours.to_string())
            })
    }

    /// Stock finds nothing wrong with our disks, and sees the same volumes on both.
    fn judge(&self) {
        const FIELDS: &str = "lv_name,lv_size,segtype,origin,origin_size,chunk_size,stripes,\
                              stripe_size,region_size,seg_start,seg_size,\
                              seg_pe_ranges,lv_tags,lv_allocation_policy,lv_read_ahead,\
                              lv_fixed_minor,lv_skip_activation,lv_autoactivation,lv_layout,\
                              lv_role,lv_parent,mirror_log,lv_when_full,vg_free_count,lv_count";
        let attach = |path: &PathBuf| LoopDevice::attach(path, Access::ReadOnly);
        let ours: Vec<LoopDevice> = self.ours.iter().map(attach).collect();
        let judge = Stock::on(&ours);
        judge.without_driver("vgck").arg("vg").succeed();
        for device in &ours {
            judge.without_driver("pvck").arg(device.path()).succeed();
        }
        let seen = |stock: &Stock, devices: &[LoopDevice]| {
            let lvs = stock.without_driver("lvs").args(["-a", "--noheadings"]);
            let lvs = lvs.args(["--separator", "|", "--units", "b", "-o", FIELDS]);
            let mut text = lvs.succeed().text();
            for (number, device) in devices.iter().enumerate() {
                // With what follows a name: /dev/loop1 is also the beginning of /dev/loop10.
                let name = format!("{}:", device.path().display());
                text = text.replace(&name, &format!("disk{number}:"));
            }
            text
        };
        assert_eq!(seen(&judge, &ours), seen(&self.stock, &self.theirs));
    }
}

/// Runs a line on our disks, which has to end like this.
fn ours(twins: &Twins, line: &str, status: i32) -> String {
    let finished = twins.by_us(line).exit(status);
    finished.text() + &finished.complaints()
}

/// The words of a line, with the names of disks in it.
fn words(line: &str, disks: &[String]) -> Vec<String> {
    let word = |word: &str| {
        let named = disks.iter().enumerate();
        named.fold(word.to_owned(), |word, (number, path)| {
            word.replace(&format!("disk{number}"), path)
        })
    };
    line.split_whitespace().map(word).collect()
}

/// What was said, without what only one of us can say.
fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !NOISE.iter().any(|noise| line.contains(noise)))
        .filter(|line| !line.starts_with("lv") && !line.starts_with("Create an LV"))
        .filter(|line| !line.starts_with("Extend an LV"))
        .map(str::to_owned)
        .collect()
}

/// Whether our sentence says what stock's says; ours may say more.
fn says(ours: &str, theirs: &str) -> bool {
    let plain = theirs.trim_end_matches('.');
    ours.contains(plain)
}

/// A text in which everything that must differ is the same.
fn comparable(vg: &VolumeGroup) -> String {
    let mut vg = vg.clone();
    vg.header = Header::default();
    let text = String::from_utf8(model::to_text(&vg, Style::Raw)).expect("it is ASCII");
    let differs = [
        "id = ",
        "seqno = ",
        "creation_",
        "description = ",
        "device = ",
    ];
    let is_shared = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !differs.iter().any(|start| line.starts_with(start))
    };
    let lines: Vec<&str> = text.lines().filter(is_shared).collect();
    lines.join("\n")
}

/// New volumes of every type that needs no driver, and everything that is refused.
#[test]
fn volumes_are_created_as_by_stock() {
    Twins::new().run(include_str!("logical/create.txt"));
}

/// More and fewer extents, by sizes, shares and places, in stripes.
#[test]
fn volumes_are_resized_as_by_stock() {
    Twins::new().run(include_str!("logical/resize.txt"));
}

/// Names, properties, tags, and the end.
#[test]
fn volumes_are_changed_as_by_stock() {
    Twins::new().run(include_str!("logical/change.txt"));
}

/// Mirrors without a log on disk: for that one stock needs its driver.
#[test]
fn volumes_are_converted_as_by_stock() {
    Twins::new().run(include_str!("logical/convert.txt"));
}

/// Snapshots that are joined and split off, their sizes and properties. What stock makes with its
/// driver only is made by a stock kernel (`kernel::snapshots`).
#[test]
fn snapshots_are_changed_as_by_stock() {
    Twins::new().run(include_str!("logical/snapshot.txt"));
}

/// A new snapshot has the text of a volume that stock made a store; stock finds nothing wrong with
/// it. What its extents held before is not in it.
#[test]
fn new_snapshots_are_those_of_stock() {
    let twins = Twins::new();
    let both = |line: &str| {
        twins.by_stock(line).succeed();
        twins.by_us(line).succeed();
    };
    both("lvcreate -an -Zn -l 10 -n o vg");
    for (name, size, chunk, options) in [
        ("one", "3", "4k", ""),
        ("two", "4", "16k", "-i 2 -I 8k"),
        ("three", "50%FREE", "512k", "--addtag t"),
    ] {
        // Stock is not told the share: without its driver it does not know of an origin.
        let extents = if name == "three" { "11" } else { size };
        let store = format!("lvcreate -an -Zn -l {extents} -n {name} {options} vg");
        twins.by_stock(&store).succeed();
        let join = format!("lvconvert -y -s -c {chunk} -Zn vg/o vg/{name}");
        twins.by_stock(&join).succeed();
        let create = format!("lvcreate -s -c {chunk} -l {size} -n {name} {options} vg/o");
        twins.by_us(&create).succeed();
        assert_eq!(twins.text("ours"), twins.text("theirs"), "{name}");
    }
    twins.judge();
    let origin = twins.by_us("cat vg/o").succeed().stdout;
    for name in ["one", "two", "three"] {
        let found = twins.by_us(&format!("cat vg/{name}")).succeed().stdout;
        assert!(found == origin, "{name}");
    }
    let refused = ours(&twins, "lvextend -r -l +1 vg/one", 5);
    assert!(
        refused.contains("its size is that of its store"),
        "{refused}"
    );
    let seen = ours(&twins, "lvs --noheadings -o lv_name,lv_attr,origin vg", 0);
    let words: Vec<&str> = seen.split_whitespace().collect();
    let wanted = "o owi---s--- one swi---s--- o three swi---s--- o two swi---s--- o";
    assert_eq!(words.join(" "), wanted);
}

/// A copy that is split off holds what the mirror held; copies that were never made equal are made
/// equal after all.
#[test]
fn copies_are_split_off_and_made_equal() {
    let twins = Twins::new();
    let file = twins.scratch.join("content");
    let content: Vec<u8> = (0..4 << 20).map(|at| (at / 5) as u8 | 1).collect();
    fs::write(&file, &content).expect("a file");
    let cp = format!("cp {} /dev/vg/m", file.display());
    let split = "lvconvert --splitmirrors 1 --name n vg/m";
    ours(&twins, "lvcreate --type mirror -m 1 -l 1 -n m vg", 0);
    let refused = ours(&twins, split, 5);
    assert!(refused.contains("not in-sync"), "{refused}");
    let deadline = Instant::now() + LIMIT;
    while twins.by_us(split).run().code != Some(0) {
        assert!(Instant::now() < deadline, "it is in sync at last");
        ours(&twins, &cp, 0);
    }
    for volume in ["m", "n"] {
        let found = twins.by_us(&format!("cat vg/{volume}")).succeed().stdout;
        assert!(found == content, "{volume}");
    }
    let names = ours(&twins, "lvs -a --noheadings -o lv_name vg", 0);
    assert_eq!(names.split_whitespace().collect::<Vec<_>>(), ["m", "n"]);
    ours(&twins, "lvremove -y vg/n", 0);
    let mirror = "lvconvert --type mirror -m 1 --nosync vg/m disk1 disk2";
    ours(&twins, mirror, 0);
    let attr = || ours(&twins, "lvs --noheadings -o lv_attr vg/m", 0);
    assert!(attr().trim().starts_with('M'));
    ours(&twins, "lvchange --resync vg/m", 0);
    assert!(attr().trim().starts_with('m'));
    let refused = ours(&twins, "lvconvert -m 0 vg/m disk0", 5);
    assert!(refused.contains("Unable to remove primary"), "{refused}");
    assert!(twins.by_us("cat vg/m").succeed().stdout == content);
}

/// Mirrors with every kind of log: what is written is on all copies, whichever of them go.
#[test]
fn mirrors_keep_what_they_hold() {
    let twins = Twins::new();
    let file = twins.scratch.join("content");
    let content: Vec<u8> = (0..4 << 20).map(|at| (at / 3) as u8 | 1).collect();
    fs::write(&file, &content).expect("a file");
    let cp = format!("cp {} /dev/vg/m", file.display());
    for (create, log) in [
        ("lvcreate --type mirror -m 1 -l 1 -n m vg", "[m_mlog]"),
        (
            "lvcreate --type mirror -m 2 --mirrorlog core -l 1 -n m vg",
            "",
        ),
        (
            "lvcreate --type mirror -m 1 --mirrorlog mirrored -l 1 --alloc anywhere -n m vg",
            "[m_mlog]",
        ),
    ] {
        ours(&twins, create, 0);
        let seen = ours(&twins, "lvs --noheadings -o mirror_log vg/m", 0);
        assert_eq!(seen.trim(), log, "{create}");
        ours(&twins, &cp, 0);
        assert!(ours(&twins, "lvconvert -m 0 vg/m", 0).contains("vg/m converted"));
        assert!(
            twins.by_us("cat vg/m").succeed().stdout == content,
            "{create}"
        );
        // From a linear volume to two copies, and then only to the second.
        ours(&twins, "lvconvert --type mirror -m 1 vg/m disk1 disk2", 0);
        let first = "lvconvert -m 0 vg/m disk0";
        let refused = ours(&twins, first, 5);
        assert!(
            refused.contains("Unable to remove primary mirror image"),
            "{refused}"
        );
        ours(&twins, &cp, 0);
        let mut seen = String::new();
        let deadline = Instant::now() + LIMIT;
        // A copy that was cut off goes on when the volume is used next.
        while Instant::now() < deadline {
            seen = ours(
                &twins,
                "lvs -a --noheadings -o seg_pe_ranges vg/m_mimage_0",
                0,
            );
            if twins.by_us(first).run().code == Some(0) {
                break;
            }
            ours(&twins, &cp, 0);
        }
        assert!(seen.contains("ours0.img"), "{seen}");
        let seen = ours(&twins, "lvs -a --noheadings -o seg_pe_ranges vg", 0);
        assert!(!seen.contains("ours0.img"), "{seen}");
        assert!(
            twins.by_us("cat vg/m").succeed().stdout == content,
            "{create}"
        );
        ours(&twins, "lvremove -y vg/m", 0);
    }
}
