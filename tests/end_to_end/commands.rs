//! Commands that change metadata: ours on images, stock's on loop devices over twins of them.
//!
//! Both get the same words, with the names of their own devices in place of `{0}`, `{1}`, `{2}`.
//! They must end with the same status and the same results; then stock looks at both sets of disks
//! and must report the same of each.

use std::path::PathBuf;

use tests::{Access, Finished, LoopDevice, Scratch, Stock, Tool, ashlar};

const DISKS: usize = 3;
/// What stock only says because it is without a kernel driver, keeps no backups, or is started by
/// us.
const IRRELEVANT: &[&str] = &[
    "WARNING: Activation disabled",
    "WARNING: This metadata update is NOT backed up",
    "not zeroed.",
    "File descriptor ",
];

/// Ours and theirs.
struct Twins {
    scratch: Scratch,
    ours: Vec<PathBuf>,
    theirs: Vec<LoopDevice>,
    stock: Stock,
}

impl Twins {
    fn new() -> Self {
        let scratch = Scratch::new("commands");
        let images = |name: &str| -> Vec<PathBuf> {
            let image = |number| scratch.sparse(&format!("{name}{number}.img"), 64 << 20);
            (0..DISKS).map(image).collect()
        };
        let (ours, theirs) = (images("ours"), images("theirs"));
        let attach = |path: &PathBuf| LoopDevice::attach(path, Access::ReadWrite);
        let theirs: Vec<LoopDevice> = theirs.iter().map(attach).collect();
        let stock = Stock::on(&theirs);
        let locks = scratch.join("locks");
        let config = format!("global {{ locking_dir = \"{}\" }}\n", locks.display());
        std::fs::write(scratch.join("lvm.conf"), config).expect("a configuration");
        Self {
            scratch,
            ours,
            theirs,
            stock,
        }
    }

    fn our_name(&self, disk: usize) -> String {
        self.ours[disk].display().to_string()
    }

    fn their_name(&self, disk: usize) -> String {
        self.theirs[disk].path().display().to_string()
    }

    /// Our program on our disks.
    fn tool(&self) -> Tool {
        let devices: Vec<String> = (0..DISKS).map(|disk| self.our_name(disk)).collect();
        ashlar()
            .env("LVM_SYSTEM_DIR", self.scratch.path())
            .env("ASHLAR_DEVICES", devices.join(":"))
    }

    /// Our program with these words.
    fn ours(&self, line: &str) -> Finished {
        let words = line.split_whitespace();
        let words = words.map(|word| filled(word, |disk| self.our_name(disk)));
        self.tool().args(words).run()
    }

    fn theirs(&self, line: &str) -> Finished {
        let mut words = line.split_whitespace();
        let command = words.next().expect("there is a command");
        let words = words.map(|word| filled(word, |disk| self.their_name(disk)));
        self.stock.without_driver(command).args(words).run()
    }

    /// What was printed, with the names of devices as `{0}` and so on, without what is told only
    /// because of where stock runs.
    fn shown(bytes: &[u8], name: impl Fn(usize) -> String) -> String {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        // A name may be the beginning of a longer one.
        let mut names: Vec<(usize, String)> = (0..DISKS).map(|disk| (disk, name(disk))).collect();
        names.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
        for (disk, name) in names {
            text = text.replace(&name, &format!("{{{disk}}}"));
        }
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !IRRELEVANT.iter().any(|other| line.contains(other)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Both do it, and end alike; what is a result is the same.
    fn both(&self, line: &str) -> String {
        let (ours, theirs) = (self.ours(line), self.theirs(line));
        assert_eq!(ours.code, theirs.code, "{ours}\n{theirs}");
        let our_results = Self::shown(&ours.stdout, |disk| self.our_name(disk));
        let their_results = Self::shown(&theirs.stdout, |disk| self.their_name(disk));
        // All groups come in the order of their devices' numbers, which are other ones there.
        let in_order = |results: &str| {
            let mut lines: Vec<String> = results.lines().map(str::to_owned).collect();
            if line.ends_with(" -a") {
                lines.sort();
            }
            lines
        };
        let (here, there) = (in_order(&our_results), in_order(&their_results));
        assert_eq!(here, there, "{ours}\n{theirs}");
        our_results
    }

    /// Both refuse it with the same status, and say this.
    fn refused(&self, line: &str, phrases: &[&str]) {
        let (ours, theirs) = (self.ours(line), self.theirs(line));
        assert_ne!(ours.code, Some(0), "{ours}");
        assert_eq!(ours.code, theirs.code, "{ours}\n{theirs}");
        let our_words = Self::shown(&ours.stderr, |disk| self.our_name(disk));
        let their_words = Self::shown(&theirs.stderr, |disk| self.their_name(disk));
        for phrase in phrases {
            assert!(our_words.contains(phrase), "{phrase}: {ours}");
            assert!(their_words.contains(phrase), "{phrase}: {theirs}");
        }
    }

    /// Stock finds nothing wrong on our disks, and the same as on its own.
    fn judged(&self) {
        let attach = |path: &PathBuf| LoopDevice::attach(path, Access::ReadWrite);
        let loops: Vec<LoopDevice> = self.ours.iter().map(attach).collect();
        let judge = Stock::on(&loops);
        judge.without_driver("vgck").succeed();
        for (report, fields) in REPORTS {
            let of = |stock: &Stock| {
                let fields = ["--noheadings", "-a", "--units", "s", "-o", fields];
                let skip = usize::from(*report == "vgs");
                let fields = fields.iter().enumerate();
                let fields = fields.filter(|(at, _)| skip == 0 || *at != 1);
                let tool = stock
                    .without_driver(report)
                    .args(fields.map(|(_, field)| field));
                tool.succeed()
            };
            let name = |disk: usize| loops[disk].path().display().to_string();
            let (ours, theirs) = (of(&judge), of(&self.stock));
            let our_report = sorted(&Self::shown(&ours.stdout, name));
            let their_report = sorted(&Self::shown(&theirs.stdout, |disk| self.their_name(disk)));
            assert_eq!(our_report, their_report, "{report}");
            let complaints = Self::shown(&ours.stderr, name);
            assert_eq!(complaints, "", "{ours}");
        }
        for device in &loops {
            let listed = judge.without_driver("pvs").arg(device.path()).run();
            if listed.code == Some(0) {
                judge.without_driver("pvck").arg(device.path()).succeed();
            }
        }
    }
}

const REPORTS: &[(&str, &str)] = &[
    (
        "vgs",
        "vg_name,vg_attr,vg_extent_size,vg_extent_count,vg_free_count,pv_count,lv_count,max_lv,\
         max_pv,vg_tags,vg_mda_count,vg_mda_used_count,vg_systemid",
    ),
    (
        "pvs",
        "pv_name,vg_name,pv_attr,pv_size,pv_free,dev_size,pe_start,pv_pe_count,pv_tags,\
         pv_mda_count,pv_mda_used_count,pv_ba_size,pv_in_use",
    ),
    (
        "lvs",
        "lv_name,vg_name,lv_attr,lv_size,seg_count,segtype,seg_pe_ranges,lv_tags",
    ),
];

fn filled(word: &str, name: impl Fn(usize) -> String) -> String {
    let mut word = word.to_owned();
    for disk in 0..DISKS {
        word = word.replace(&format!("{{{disk}}}"), &name(disk));
    }
    word
}

fn sorted(text: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines: Vec<String> = text.lines().map(words).collect();
    lines.sort();
    lines
}

/// Physical volumes are made, changed, resized and removed as stock does it.
#[test]
fn physical_volumes_are_changed_as_by_stock() {
    let twins = Twins::new();
    twins.both("pvcreate {0} {1}");
    twins.both("pvcreate --metadatacopies 2 --metadatasize 2m --dataalignment 512k {2}");
    twins.judged();
    twins.both("pvremove {2}");
    twins.both("pvcreate --bootloaderareasize 1m --setphysicalvolumesize 40m -y {2}");
    twins.both("pvresize {2}");
    twins.both("pvchange -u {2}");
    twins.refused(
        "pvchange --addtag x {2}",
        &["Can't change tag on Physical Volume {2}"],
    );
    // Only of what is a physical volume already it is asked whether it is to be smaller.
    twins.both("pvremove {2}");
    twins.both("pvcreate --setphysicalvolumesize 40m {2}");
    twins.refused(
        "pvcreate --setphysicalvolumesize 32m {2}",
        &["WARNING: {2}: device size 64.00 MiB does not match requested size 32.00 MiB."],
    );
    twins.refused(
        "pvchange -S (pv_size>1 -xn {2}",
        &["Failed to find physical volume \"{2}\"."],
    );
    twins.refused(
        "pvcreate --uuid x --labelsector 9 {2}",
        &["--restorefile is required with --uuid"],
    );
    twins.both("pvresize {2}");
    twins.refused(
        "pvcreate {0}/nothing",
        &["No device found for {0}/nothing."],
    );
    twins.refused(
        "pvresize {0}/nothing",
        &["Cannot use {0}/nothing: device not found"],
    );
    twins.both("vgcreate vg0 {0} {1}");
    twins.both("lvcreate -an -Zn -Wn -n a -L 8m vg0");
    twins.judged();
    twins.refused(
        "pvcreate {0}",
        &[
            "Can't initialize physical volume \"{0}\" of volume group \"vg0\" without -ff",
            "{0}: physical volume not initialized.",
        ],
    );
    twins.refused(
        "pvremove {0}",
        &[
            "PV {0} is used by VG vg0 so please use vgreduce first.",
            "(If you are certain you need pvremove, then confirm by using --force twice.)",
            "{0}: physical volume label not removed.",
        ],
    );
    twins.refused(
        "pvremove -ff {0}",
        &[
            "WARNING: PV {0} is used by VG vg0.",
            "Really WIPE LABELS from physical volume \"{0}\" of volume group \"vg0\" [y/n]? [n]",
        ],
    );
    twins.refused(
        "pvresize --setphysicalvolumesize 48m {1}",
        &["{1}: Requested size 48.00 MiB is less than real size 64.00 MiB. Proceed?  [y/n]: [n]"],
    );
    twins.both("pvresize -y --setphysicalvolumesize 48m {1}");
    twins.judged();
    twins.both("pvresize {1}");
    twins.both("pvchange --addtag t --addtag u {0} {1}");
    twins.both("pvchange --deltag t {0}");
    twins.both("pvchange -xn {1}");
    twins.both("pvchange -u {1}");
    twins.both("pvchange --metadataignore y {1}");
    twins.judged();
    twins.refused("pvmove {0}:1-x", &["Physical extent parsing error at x."]);
    twins.refused("pvmove @ {0}", &["Skipping invalid tag ."]);
    twins.refused(
        "pvchange --metadataignore y {0}",
        &[
            "Cannot disable all metadata areas in volume group vg0.",
            "Physical volume {0} not changed",
        ],
    );
    twins.both("pvchange --metadataignore n {1}");
    twins.both("pvchange -t -xy {1}");
    twins.refused("pvchange {0}", &[]);
    twins.judged();
    twins.both("vgremove -f vg0");
    twins.both("pvremove {0} {1} {2}");
    twins.judged();
}

/// Groups are made, grown, shrunk, changed and removed as stock does it.
#[test]
fn groups_are_changed_as_by_stock() {
    let twins = Twins::new();
    twins.refused(
        "vgcreate v@g {0}",
        &["New volume group name \"v@g\" is invalid."],
    );
    twins.refused(
        "vgcreate -s 3k vg0 {0}",
        &["Physical Extent size must be a multiple of"],
    );
    twins.refused(
        "vgcreate -s 0 vg0 {0}",
        &["Physical extent size may not be zero"],
    );
    twins.refused(
        "vgcreate -l x vg0 {0}",
        &["Invalid argument for --maxlogicalvolumes: x"],
    );
    twins.refused("vgcreate vg0", &[]);
    twins.both("pvcreate {0} {1}");
    twins.both("vgcreate -t vg0 {0} {1}");
    twins.both("vgcreate -s 1m -l 9 -p 3 --addtag t --alloc cling vg0 {0} {1}");
    twins.judged();
    twins.refused(
        "vgcreate vg0 {2}",
        &["A volume group called vg0 already exists."],
    );
    twins.refused(
        "lvcreate -an -Zn -Wn -L 4m nope",
        &["Volume group \"nope\" not found"],
    );
    twins.both("lvcreate -an -Zn -Wn -n a -L 8m vg0");
    twins.both("lvcreate -an -Zn -Wn -n b -l 3 vg0 {1}");
    twins.refused(
        "lvcreate -an -Zn -Wn -n a -L 6m vg0",
        &["\"a\" already exists"],
    );
    twins.refused(
        "lvcreate -an -Zn -Wn -L 6g vg0",
        &["Volume group \"vg0\" has insufficient free space"],
    );
    twins.judged();
    twins.both("vgextend vg0 {2}");
    twins.refused(
        "vgextend vg0 {2}",
        &["Physical volume '{2}' is already in volume group 'vg0'"],
    );
    twins.refused(
        "vgreduce vg0 {0}",
        &["Physical volume \"{0}\" still in use"],
    );
    twins.both("vgreduce vg0 {2}");
    twins.refused(
        "vgreduce vg0 {2}",
        &["Failed to find physical volume \"{2}\"."],
    );
    twins.both("vgextend vg0 {2}");
    twins.judged();
    for line in [
        "vgchange -xn vg0",
        "vgchange -xy vg0",
        "vgchange -s 2m vg0",
        "vgchange -l 20 -p 7 vg0",
        "vgchange -u vg0",
        "vgchange --alloc normal vg0",
        "vgchange --vgmetadatacopies 1 vg0",
        "vgchange --vgmetadatacopies all vg0",
        "vgchange --addtag u --deltag t @t",
        "vgchange --setautoactivation n vg0",
        "vgchange -an vg0",
        "vgreduce --removemissing vg0",
        "vgremove -t -f vg0",
    ] {
        twins.both(line);
    }
    twins.judged();
    twins.refused(
        "vgchange -p 1 vg0",
        &["MaxPhysicalVolumes is less than the current number 3"],
    );
    twins.refused(
        "vgchange --alloc normal vg0",
        &["allocation policy is already normal"],
    );
    twins.refused(
        "vgchange --systemid other vg0",
        &["Set foreign system ID other on volume group vg0? [y/n]: [n]"],
    );
    twins.refused(
        "vgremove vg0 vg9",
        &[
            "Do you really want to remove volume group \"vg0\" containing 2 logical volumes? \
             [y/n]: [n]",
            "Volume group \"vg0\" not removed",
            "Volume group \"vg9\" not found",
            "Cannot process volume group vg9",
        ],
    );
    twins.both("vgremove -y vg0");
    twins.judged();
}

/// Groups are split, merged, renamed, exported and imported as stock does it.
#[test]
fn groups_are_moved_as_by_stock() {
    let twins = Twins::new();
    twins.both("vgcreate vg0 {0} {1} {2}");
    twins.both("lvcreate -an -Zn -Wn -n a -L 8m vg0 {0}");
    twins.both("lvcreate -an -Zn -Wn -n b -L 12m vg0 {1}");
    twins.both("vgsplit vg0 vg1 {1}");
    twins.judged();
    twins.both("vgsplit vg0 vg1 {2}");
    twins.refused(
        "vgsplit vg0 vg2 {2}",
        &["Physical volume {2} not in volume group vg0"],
    );
    twins.judged();
    twins.refused("vgmerge vg0 vg0", &["Duplicate volume group name \"vg0\""]);
    twins.both("vgmerge vg0 vg1");
    twins.judged();
    twins.both("vgsplit -n b vg0 vg1");
    twins.refused("vgrename vg0 vg1", &["New VG name \"vg1\" already exists"]);
    twins.refused(
        "vgrename vg0 vg0",
        &["Old and new volume group names must differ"],
    );
    twins.refused("vgrename nope vg3", &["Volume group \"nope\" not found"]);
    twins.both("vgrename vg0 vg3");
    twins.judged();
    twins.both("vgexport vg3");
    twins.refused("vgexport vg3", &["Volume group vg3 is exported"]);
    twins.refused(
        "lvcreate -an -Zn -Wn -L 4m vg3",
        &["Volume group vg3 is exported"],
    );
    twins.judged();
    twins.both("vgimport vg3");
    twins.refused("vgimport vg3", &["Volume group \"vg3\" is not exported"]);
    twins.both("vgexport -a");
    twins.both("vgimport -a");
    twins.judged();
}

/// What is lost is taken out, made anew, and restored as by stock.
#[test]
fn lost_disks_are_replaced_as_by_stock() {
    let twins = Twins::new();
    twins.both("vgcreate vg0 {0} {1}");
    twins.both("lvcreate -an -Zn -Wn -n a -L 8m vg0 {0}");
    let file = twins.scratch.join("kept").display().to_string();
    // Each of them writes, and reads, a file of its own.
    let on = |line: &str| {
        twins.ours(&line.replace("FILE", &format!("{file}.ours")));
        twins.theirs(&line.replace("FILE", &format!("{file}.theirs")));
    };
    on("vgcfgbackup -f FILE vg0");
    twins.both("lvcreate -an -Zn -Wn -n b -L 8m vg0");
    let restored = twins.ours(&format!("vgcfgrestore -f {file}.ours vg0"));
    assert_eq!(restored.text().trim(), "Restored volume group vg0.");
    on("vgcfgrestore -f FILE vg0");
    twins.judged();
    twins.refused("vgcfgrestore -f /nowhere/x vg0", &["Restore failed."]);
    let uuids = ["ours", "theirs"].map(|whose| {
        let text = std::fs::read_to_string(format!("{file}.{whose}")).expect("a backup");
        let pv1 = text.split("pv1 {").nth(1).expect("a second volume");
        pv1.split('"').nth(1).expect("its identity").to_owned()
    });
    // The second disk comes back empty.
    let zeros = vec![0; 1 << 20];
    for path in [twins.ours[1].as_path(), twins.theirs[1].path()] {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::options().write(true).open(path);
        let file = file.expect("it can be opened");
        file.write_all_at(&zeros, 0).expect("it can be written");
        file.sync_all().expect("it is durable");
    }
    twins.refused(
        "vgreduce vg0 {0}",
        &["Cannot change VG vg0 while PVs are missing"],
    );
    let lines = uuids.map(|uuid| format!("pvcreate --uuid {uuid} --restorefile {file}"));
    let made = twins.ours(&format!("{}.ours {{1}}", lines[0]));
    assert_eq!(made.code, Some(0), "{made}");
    let made = twins.theirs(&format!("{}.theirs {{1}}", lines[1]));
    assert_eq!(made.code, Some(0), "{made}");
    on("vgcfgrestore -f FILE vg0");
    twins.judged();
    twins.refused("pvcreate --uuid nonsense {2}", &[]);
}

/// A disk that was away while the group was changed comes back as it does by stock.
#[test]
fn disks_that_were_away_come_back_as_by_stock() {
    let twins = Twins::new();
    twins.both("vgcreate vg0 {0} {1}");
    twins.both("lvcreate -an -Zn -Wn -n a -L 8m vg0 {1}");
    {
        // Stock, with only the first disk, notes that the second is missing.
        let first = LoopDevice::attach(&twins.ours[0], Access::ReadWrite);
        for stock in [Stock::on([&first]), Stock::on([&twins.theirs[0]])] {
            let tag = stock.without_driver("vgchange");
            tag.args(["--addtag", "away", "vg0"]).succeed();
        }
    }
    twins.both("vgextend --restoremissing vg0 {1}");
    twins.both("vgextend vg0 {2}");
    twins.judged();
}

/// Undo takes changes back, and refuses where somebody else has used the extents.
#[test]
fn undo_goes_back() {
    let twins = Twins::new();
    twins.both("vgcreate vg0 {0}");
    twins.both("lvcreate -an -Zn -Wn -n a -L 8m vg0");
    twins.both("vgchange --addtag t vg0");
    let undone = twins.ours("undo vg0");
    assert_eq!(undone.code, Some(0), "{undone}");
    twins.both("vgchange --deltag t vg0");
    twins.judged();
    let planned = twins.ours("plan undo vg0 --to 2");
    assert!(
        planned.text().contains("vg0/a gives back") || planned.code == Some(0),
        "{planned}"
    );
    let back = twins.ours("undo vg0 --to 1");
    assert_eq!(back.code, Some(0), "{back}");
    twins.ours("lvcreate -n c -L 4m vg0");
    let refused = twins.ours("undo -y vg0 --to 3");
    assert_eq!(refused.code, Some(5), "{refused}");
    let words = refused.complaints();
    assert!(
        words.contains("logical volume a") && words.contains("Extents 0-"),
        "{refused}"
    );
    let gone = twins.ours("undo vg0 --to 99");
    assert_eq!(gone.code, Some(5), "{gone}");
}

/// A plan says what would be done, does not do it, and does not wait for anybody.
#[test]
fn plans_are_shown_and_change_nothing() {
    let twins = Twins::new();
    twins.both("vgcreate vg0 {0} {1}");
    twins.both("lvcreate -an -Zn -Wn -n a -L 8m vg0");
    let before: Vec<Vec<u8>> = twins
        .ours
        .iter()
        .map(|path| std::fs::read(path).expect("is read"))
        .collect();
    let planned = twins.ours("plan lvcreate -n b -L 8m vg0");
    assert_eq!(planned.code, Some(0), "{planned}");
    let name = twins.our_name(0);
    let extents = format!("vg0/b gets 2 extents, {name}:2-3");
    assert!(planned.text().contains(&extents), "{planned}");
    assert!(planned.text().contains("version 2 -> 3"), "{planned}");
    assert!(planned.text().contains("zeros of 4096 bytes"), "{planned}");
    let removed = twins.ours("plan vgremove vg0");
    assert!(
        removed.text().contains("Do you really want to remove"),
        "{removed}"
    );
    assert!(
        removed
            .text()
            .contains(&format!("vg0/a gives back 2 extents, {name}:0-1")),
        "{removed}"
    );
    let json = twins.ours("plan --json vgextend vg0 {2}");
    assert!(json.text().contains("\"new_pvs\":["), "{json}");
    assert!(json.text().contains("\"flushes\":"), "{json}");
    let mirrored = "lvconvert --type mirror -m 1 --mirrorlog core vg0/a";
    let copied = twins.ours(&format!("plan {mirrored}"));
    let what = "vg0/a: 8388608 bytes would be copied to 1 copy when it is used next";
    assert!(copied.text().contains(what), "{copied}");
    let json = twins.ours(&format!("plan --json {mirrored}"));
    let what = "\"copies\":1, \"bytes\":8388608, \"seconds\":null}";
    assert!(json.text().contains(what), "{json}");
    let kept = twins.ours("plan lvcreate -s -L 4m -n s vg0/a");
    let what = "vg0/s takes 4.00 MiB and holds 49% of vg0/a; the first write to each 4.00 KiB of \
                vg0/a costs a read, a write of the chunk and a write of its entry more\n";
    assert!(kept.text().contains(what), "{kept}");
    let json = twins.ours("plan --json lvcreate -s -L 4m -n s vg0/a");
    let what = "\"bytes\":4194304, \"chunk_bytes\":4096, \"chunks\":1019, \"percent\":49, ";
    assert!(json.text().contains(what), "{json}");
    let refused = twins.ours("plan lvcreate -L 6g vg0");
    assert_eq!(refused.code, Some(5), "{refused}");
    for (path, bytes) in twins.ours.iter().zip(&before) {
        assert!(
            std::fs::read(path).expect("is read") == *bytes,
            "{}",
            path.display()
        );
    }
    twins.judged();
}

/// Profiles are kept with groups and volumes, and checked, as by stock.
#[test]
fn profiles_are_kept_as_by_stock() {
    let twins = Twins::new();
    for folder in [twins.scratch.path().to_owned(), twins.stock.system_dir()] {
        let folder = folder.join("profile");
        std::fs::create_dir(&folder).expect("a folder");
        let file = |name: &str, text: &str| {
            std::fs::write(folder.join(format!("{name}.profile")), text).expect("a profile");
        };
        file("m", "allocation { thin_pool_zero=0 }");
        file("n", "allocation/thin_pool_chunk_size=64");
        file("c", "report/separator=\";\"");
        file(
            "wild",
            "devices/dir=\"x\"\nreport/aligned=0\nallocation/thin_pool_zero=0",
        );
    }
    let kept = || {
        let groups = "vgs --noheadings -o vg_name,vg_profile";
        let volumes = "lvs --noheadings -o lv_name,lv_profile";
        [groups, volumes].map(|line| {
            let shown = twins.both(line);
            shown.split_whitespace().collect::<Vec<_>>().join(" ")
        })
    };
    twins.both("vgcreate --profile m vg0 {0}");
    twins.both("vgcreate --metadataprofile n vg1 {1}");
    twins.both("lvcreate -an -Zn -Wn -L4m -n a --metadataprofile m vg0");
    twins.both("lvcreate -an -Zn -Wn -L4m -n b --profile n vg0");
    assert_eq!(kept(), ["vg0 m vg1 n", "a m b n"]);
    twins.judged();
    twins.both("vgchange --detachprofile vg1");
    twins.both("vgchange --profile n vg0");
    twins.both("lvchange --detachprofile vg0/a");
    twins.both("lvchange --metadataprofile m vg0/b");
    assert_eq!(kept(), ["vg0 n vg1", "a b m"]);
    twins.judged();
    for (line, words) in [
        (
            "vgchange --metadataprofile c vg0",
            "by command profile only, not metadata profile.",
        ),
        (
            "vgchange --metadataprofile nosuch vg0",
            "Failed to apply metadata profile nosuch.",
        ),
        (
            "lvchange --profile nosuch vg0/a",
            "nosuch.profile: stat failed: No such file",
        ),
        (
            "vgchange --profile m --detachprofile vg0",
            "Only one of --metadataprofile and",
        ),
        (
            "vgcreate --metadataprofile m --profile m vg2 {2}",
            "Only one of --profile or",
        ),
        (
            "vgs --profile nosuch",
            "Failed to apply command profile nosuch.",
        ),
        (
            "vgs --commandprofile m",
            "by metadata profile only, not command profile.",
        ),
        (
            "vgs --profile wild",
            "section \"devices\" is not customizable by a profile.",
        ),
        (
            "vgs --profile wild",
            "Ignoring invalid command profile wild.",
        ),
        (
            "vgs --profile ../c",
            "../c: bad profile name, it contains '/'.",
        ),
    ] {
        twins.refused(line, &[words]);
    }
    assert_eq!(
        twins
            .both("vgs --commandprofile c -o vg_name,vg_profile")
            .lines()
            .count(),
        3
    );
    twins.both("vgs --profile c --config report/aligned=0 -o vg_name,vg_size");
}

/// Of several changes of a volume those are made that can be made, and the command fails for the
/// others; a group that wants a number of texts is asked before one of its areas is set aside by
/// name. Tags name nothing to pvremove.
#[test]
fn of_several_changes_those_that_can_be_made_are_made() {
    let twins = Twins::new();
    twins.both("vgcreate vg0 {0} {1}");
    twins.both("lvcreate -an -Zn -L 4m -n a vg0");
    let fixed = "Minor number is already not persistent for vg0/a.";
    twins.refused("lvchange --addtag t -pr --persistent n vg0/a", &[fixed]);
    let shown = twins.both("lvs --noheadings -o lv_tags,lv_permissions");
    assert!(shown.split_whitespace().eq(["t", "read-only"]), "{shown}");
    twins.both("vgchange --vgmetadatacopies 2 vg0");
    twins.refused("pvchange --metadataignore y {1}", &["not changed"]);
    twins.both("pvchange --addtag t {1}");
    twins.refused("pvremove -ff -y @t", &["No device found for @t"]);
    twins.judged();
}

/// What needs a lock manager is refused as by stock, or does nothing.
#[test]
fn lock_managers_are_asked_for_as_of_stock() {
    let twins = Twins::new();
    let shared = "Using a shared lock type requires lvmlockd";
    twins.refused("vgcreate --shared vg0 {0}", &[shared]);
    twins.refused("vgcreate --locktype sanlock vg0 {0}", &[shared]);
    twins.refused(
        "vgcreate -c y vg0 {0}",
        &["The clustered option is deprecated"],
    );
    twins.both("vgcreate --locktype none vg0 {0}");
    twins.both("vgchange --lockstart vg0");
    twins.both("vgchange --locktype none vg0");
    twins.refused(
        "vgchange --locktype bogus vg0",
        &["Invalid argument for --locktype"],
    );
    twins.judged();
}

/// Options of groups and physical volumes take the values that stock takes, and refuse the others
/// with its status and words.
#[test]
fn options_have_the_values_of_stock() {
    let twins = Twins::new();
    let localhost = "system ID may not begin with the string \"localhost\"";
    twins.refused("vgcreate --systemid localhost vg0 {0}", &[localhost]);
    twins.both("pvcreate {2}");
    twins.both("pvchange --metadataignore y {2}");
    twins.refused("pvchange --metadataignore y {2}", &["already ignored."]);
    twins.both("pvchange --metadataignore n {2}");
    twins.both("vgcreate vg0 {0} {1} {2}");
    twins.refused(
        "vgchange --systemid localhost vg0",
        &["Unable to set system ID."],
    );
    twins.refused(
        "vgchange --addtag t --systemid other vg0",
        &["Command does not accept option: --systemid other."],
    );
    twins.both("vgchange --logicalvolume 7 vg0");
    twins.refused(
        "vgchange --maxlogicalvolumes 7 vg0",
        &["unrecognized option"],
    );
    twins.refused(
        "vgchange --pvmetadatacopies 1 vg0",
        &["Need one or more command options."],
    );
    twins.both("vgchange --pvmetadatacopies 1 --addtag t vg0");
    twins.refused(
        "vgchange -s +4m vg0",
        &[
            "Size may not be relative/signed.",
            "Invalid argument for --physicalextentsize: +4m",
        ],
    );
    twins.refused("vgchange -s x vg0", &["Size requires number argument."]);
    twins.refused(
        "vgchange vg0",
        &["No command with matching syntax recognised."],
    );
    twins.refused(
        "vgchange --addtag t vg0/a",
        &["Invalid volume group name vg0/a."],
    );
    twins.refused(
        "pvchange --metadataignore n {0}",
        &["already marked as in-use."],
    );
    twins.both("vgsplit -l 5 -p 4 --alloc cling vg0 vg1 {1}");
    twins.refused(
        "vgsplit -l 5 vg0 vg1 {2}",
        &["Volume group \"vg1\" exists, but new VG option specified"],
    );
    twins.both("pvresize -y --setphysicalvolumesize 32m {2}");
    twins.refused(
        "vgremove -S vg_name=vg0 nope",
        &["Volume group \"nope\" not found"],
    );
    twins.refused(
        "vgexport -S vg_name=vg0 nope",
        &["Volume group \"nope\" not found"],
    );
    twins.judged();
    let answered = twins
        .tool()
        .args(["pvcreate", "-qq", "-ff", "-y"])
        .arg(&twins.ours[0]);
    assert_eq!(answered.run().code, Some(0), "there is nothing to be asked");
}

/// Words that came from elsewhere give the terminal no orders: an escape or a bell in what a
/// message names is shown as `?`.
#[test]
fn messages_give_the_terminal_no_orders() {
    let hostile = "/nowhere/\u{1b}[31mred\u{7}";
    let device = ashlar().args(["--devices", hostile, "pvs"]).run();
    let command = ashlar().arg("x\u{1b}]0;title\u{7}").run();
    for (told, shown) in [(device, "?[31mred?"), (command, "x?]0;title?")] {
        let complaints = told.complaints();
        assert!(complaints.contains(shown), "{complaints:?}");
        let is_order = |c: char| c.is_control() && c != '\n';
        assert!(!complaints.contains(is_order), "{complaints:?}");
    }
}
