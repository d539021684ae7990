//! Limits: what is too small, too large, too many or too long is refused as stock refuses it.
//!
//! Stock LVM2 runs the same commands on loop devices, Ashlar on images of the same sizes, and both
//! are asked for the same sentence and exit status.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use tests::{Access, Finished, LoopDevice, Scratch, Stock, Tool, ashlar};

const MIB: u64 = 1 << 20;
/// Disks smaller than 2 MiB are physical volumes, too.
const SETTINGS: &str = "devices { pv_min_size = 512 }";

/// The same disks twice: loop devices for stock, images for Ashlar.
struct Pair {
    scratch: Scratch,
    images: Vec<PathBuf>,
    loops: Vec<LoopDevice>,
    stock: Stock,
}

impl Pair {
    fn new(sizes: &[u64]) -> Self {
        let scratch = Scratch::new("limits");
        let files = |kind: &str| -> Vec<PathBuf> {
            fs::create_dir(scratch.join(kind)).expect("a directory");
            let sizes = sizes.iter().enumerate();
            sizes
                .map(|(number, size)| scratch.sparse(&format!("{kind}/{number}.img"), *size))
                .collect()
        };
        let (images, below) = (files("ashlar"), files("stock"));
        let attach = |file: &PathBuf| LoopDevice::attach(file, Access::ReadWrite);
        let loops: Vec<LoopDevice> = below.iter().map(attach).collect();
        let stock = Stock::with(&loops, SETTINGS);
        Self {
            scratch,
            images,
            loops,
            stock,
        }
    }

    /// Runs a command by both; `@0` stands for the first disk. Both end with `code`, after `said`.
    fn both(&self, words: &str, code: i32, said: &str) {
        let (by_stock, ours) = (self.by_stock(words), self.by_ashlar(words));
        for ended in [by_stock, ours] {
            assert_eq!(ended.code, Some(code), "{ended}");
            let all = format!("{}{}", ended.text(), ended.complaints());
            assert!(all.contains(said), "no {said:?} in {ended}");
        }
    }

    fn by_stock(&self, words: &str) -> Finished {
        let name = |number: usize| self.loops[number].path().display().to_string();
        let mut words = self.placed(words, &name).into_iter();
        let command = words.next().expect("a command");
        let tool = self.stock.without_driver(&command).args(words);
        tool.env("LVM_SUPPRESS_FD_WARNINGS", "1").run()
    }

    fn by_ashlar(&self, words: &str) -> Finished {
        self.ours(words).args(["--driverloaded", "n"]).run()
    }

    /// The same, and volumes can be active.
    fn ours(&self, words: &str) -> Tool {
        let name = |number: usize| self.images[number].display().to_string();
        let tool = ashlar()
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
            .env("DM_DEV_DIR", self.scratch.join("dev"))
            .env("LVM_SYSTEM_DIR", self.scratch.join("etc"))
            .env("LVM_LOCKING_DIR", self.scratch.join("locks"))
            .args(self.placed(words, &name));
        let tool = tool.args(["--config", SETTINGS, "--devices"]);
        tool.arg(self.scratch.join("ashlar"))
    }

    fn placed(&self, words: &str, name: &dyn Fn(usize) -> String) -> Vec<String> {
        let mut words = words.to_owned();
        for number in 0..self.images.len() {
            words = words.replace(&format!("@{number}"), &name(number));
        }
        words.split(' ').map(str::to_owned).collect()
    }
}

#[test]
fn devices_and_areas_have_a_least_size() {
    // Proves: a metadata area below 32 KiB is refused, also where the alignment cuts it; a device
    // of just the alignment becomes a physical volume; one that is named twice is labelled once.
    let pair = Pair::new(&[64 * MIB, MIB]);
    for (size, alignment, has) in [("16384b", "16384b", 28672), ("8k", "4k", 8192)] {
        let words = format!("pvcreate -y --metadatasize {size} --dataalignment {alignment} @0");
        let said = format!("area size too small: {has} bytes. It must be at least 32768 bytes.");
        pair.both(&words, 5, &said);
    }
    pair.both("pvcreate --metadatasize 32k --dataalignment 4k @0", 0, "");
    pair.both("pvcreate --metadatasize 8k @0", 0, "successfully created");
    pair.both("pvcreate @1", 0, "successfully created");
    pair.both("vgcreate one @1", 0, "successfully created");
    pair.both("vgremove one", 0, "successfully removed");
    let most = "Data alignment must not exceed device size";
    pair.both("pvcreate --dataalignment 2m @1", 5, most);
    let twice = pair.by_ashlar("pvcreate @0 @0");
    assert_eq!(twice.code, Some(0), "{twice}");
    assert_eq!(twice.text().matches("successfully").count(), 1, "{twice}");
    pair.both("pvresize @0 @0", 0, "1 physical volume(s) resized");
    pair.both("pvremove @0 @0", 0, "successfully wiped");
}

#[test]
fn physical_volumes_keep_room_in_front_of_their_extents() {
    // Proves: no physical volume becomes smaller than the place where its extents begin, in a group
    // by one extent less than that, and none smaller than the least.
    let pair = Pair::new(&[64 * MIB]);
    pair.both("pvcreate --dataalignment 3m @0", 0, "");
    let start = "Size must exceed physical extent start of 6144 sectors";
    let extent = "Size must leave space for at least one physical extent of 8192 sectors";
    let to = |size: &str| format!("pvresize -y --setphysicalvolumesize {size} @0");
    pair.both(&to("2m"), 5, start);
    pair.both(&to("256k"), 5, "Size must exceed minimum of 1024 sectors");
    pair.both(&to("3m"), 0, "1 physical volume(s) resized");
    pair.both(&to("60m"), 0, "1 physical volume(s) resized");
    pair.both("vgcreate vg @0", 0, "");
    pair.both(&to("2m"), 5, start);
    pair.both(&to("3m"), 5, extent);
    pair.both(&to("7167k"), 5, extent);
    pair.both(&to("7m"), 0, "1 physical volume(s) resized");
}

#[test]
fn groups_that_are_joined_keep_to_their_limits() {
    // Proves: vgmerge and vgsplit bring no more volumes into a group than its limits allow.
    let pair = Pair::new(&[16 * MIB; 3]);
    let create = "lvcreate -an -Zn -Wn -l1 -n";
    for words in [
        "vgcreate -l1 v1 @0".to_owned(),
        "vgcreate v2 @1 @2".to_owned(),
        format!("{create} a v1"),
        format!("{create} b v2 @1"),
        format!("{create} c v2 @2"),
    ] {
        pair.both(&words, 0, "");
    }
    let most = "Maximum number of logical volumes (1) exceeded";
    pair.both("vgmerge v1 v2", 5, most);
    pair.both("vgsplit v2 v1 @2", 5, most);
    pair.both("vgchange -l0 -p1 v1", 0, "");
    let most = "Maximum number of physical volumes (1) exceeded";
    pair.both("vgmerge v1 v2", 5, most);
    pair.both("vgsplit v2 v1 @2", 5, most);
    // Stock counts what stays in v2, too.
    pair.both("vgchange -p3 v1", 0, "");
    pair.both("vgsplit v2 v1 @2", 0, "successfully split");
}

#[test]
fn names_fit_into_device_mapper() {
    // Proves: no command makes a volume whose name with that of its group no kernel takes; what is
    // one byte shorter is made.
    let pair = Pair::new(&[16 * MIB; 2]);
    pair.both("vgcreate v @0", 0, "");
    let create = "lvcreate -an -Zn -Wn -l1 -n";
    let name = |length: usize| "a".repeat(length);
    let said = "length 128 is not supported";
    pair.both(&format!("{create} {} v", name(124)), 5, said);
    pair.both(&format!("{create} {} v", name(123)), 0, "created");
    pair.both(&format!("lvremove -y v/{}", name(123)), 0, "");
    pair.both(&format!("{create} {} v", name(100)), 0, "created");
    let said = "length 143 is not supported";
    let group = "b".repeat(40);
    pair.both(&format!("vgcreate {group} @1"), 0, "");
    pair.both(&format!("vgmerge {group} v"), 5, said);
    pair.both(&format!("vgsplit v {group} @0"), 5, said);
    // Stock says so, renames nothing, and ends with 0.
    let renamed = pair.by_ashlar(&format!("vgrename v {}", "c".repeat(40)));
    assert_eq!(renamed.code, Some(5), "{renamed}");
    assert!(renamed.complaints().contains(said), "{renamed}");
    // Hyphens are doubled, which stock does not see and the kernel does.
    let hyphens = pair.by_ashlar(&format!("{create} {}a v", "a-".repeat(60)));
    assert_eq!(hyphens.code, Some(5), "{hyphens}");
}

#[test]
fn what_no_kernel_takes_is_refused() {
    // Proves: regions of mirrors are whole pages and powers of two, minor numbers have 20 bits, and
    // -Mn contradicts them: the same words and the same status as stock's, in every command that
    // takes them.
    let pair = Pair::new(&[16 * MIB; 2]);
    pair.both("vgcreate -s 1k vg @0 @1", 0, "");
    let create = "lvcreate -an -Zn -Wn -L4m -n";
    pair.both(&format!("{create} a vg"), 0, "created");
    for (size, said) in [
        ("0", "Region size may not be zero."),
        ("1k", "multiple of machine memory page size (4096 bytes)."),
        ("11k", "multiple of machine memory page size (4096 bytes)."),
        ("3m", "Region size must be a power of 2."),
        ("4t", "Region size is too big (max 4294967295)."),
        ("-1", "Region size may not be negative."),
        ("x", "Invalid argument for --regionsize: x"),
    ] {
        for command in [
            format!("{create} m --type mirror -m1 -R {size} vg"),
            format!("{create} m --type linear -R {size} vg"),
            format!("lvconvert --type mirror -m1 -R {size} vg/a"),
        ] {
            pair.both(&command, 3, said);
        }
    }
    let odd = "lvcreate -y --type mirror -m1 --mirrorlog core -L 2049k -n odd vg";
    let refused = pair.by_ashlar(odd);
    assert_eq!(refused.code, Some(5), "{refused}");
    assert!(refused.complaints().contains("than a page"), "{refused}");
    let (range, no) = ("outside range 0-1048575.", "incompatible with -Mn.");
    pair.both(&format!("{create} b -My --minor 9999999 vg"), 5, range);
    pair.both(&format!("{create} b -Mn --minor 234 vg"), 5, no);
    pair.both(&format!("{create} b -Mn --major 253 vg"), 5, no);
    pair.both(&format!("{create} b -My vg"), 5, "Please specify minor");
    pair.both(&format!("{create} b --minor 1048575 vg"), 0, "created");
    pair.both("lvs -o lv_minor vg/b", 0, "1048575");
    pair.both("lvchange -My --minor 1048576 vg/b", 5, range);
    pair.both("lvchange -Mn --minor 1 vg/b", 3, "option: --minor.");
    pair.both("lvchange --minor 1 vg/b", 3, "");
    pair.both("lvchange -My vg/b", 3, "");
    pair.both("lvchange -Mn vg/b", 0, "");
    pair.both("lvs -o lv_minor vg/b", 0, "-1");
}

#[test]
fn lines_that_are_no_form_are_refused() {
    // Proves: options and names that do not go together, and values that are none, are refused in
    // stock's words and with its status, before anything else is wrong.
    let pair = Pair::new(&[16 * MIB; 2]);
    pair.both("vgcreate -s 1m vg @0 @1", 0, "");
    pair.both("lvcreate -an -Zn -Wn -l2 -n a vg", 0, "created");
    let none = "No command with matching syntax recognised.";
    for (line, said) in [
        ("lvcreate -n b vg", none),
        ("lvcreate -l1 -n b", none),
        ("lvcreate --type linear -m1 -l1 vg", "option: --mirrors 1."),
        ("lvcreate -s -m1 -l1 vg/a", "option: --snapshot."),
        ("lvcreate --type error -l1 vg x", "argument: x."),
        ("lvcreate -l1 vg/b", "Volume group name expected (no slash)"),
        ("lvcreate -l1 --nosync vg", "only with mirrors or raids."),
        ("lvcreate -l1 -i0 vg", "--stripes may not be zero."),
        ("lvcreate -L 513b vg", "Try using 512 or 1024."),
        ("lvextend -L 4x vg/a", "Can't parse size argument."),
        ("lvextend -L +-1 vg/a", "Multiple sign symbols detected."),
        ("lvextend -l1 a", "Please specify a logical volume path."),
        ("lvextend -l1 vg/a/b", "Invalid path for Logical Volume."),
        ("lvreduce -l1 -L1 vg/a", "size or extents but not both."),
        ("lvrename vg/a", none),
        ("lvrename a b", "Path required for Logical Volume \"a\"."),
        ("lvrename vg two/a b", "(\"vg\" or \"two\")"),
        ("lvchange vg/a", none),
        ("lvchange --addtag t --resync vg/a", "option: --resync."),
        ("lvremove", none),
    ] {
        pair.both(line, 3, said);
    }
    let denied = "Command not permitted on LV vg/a.";
    for (line, said) in [
        ("lvconvert -m1 a", "Cannot find VG name for LV a."),
        ("lvconvert --stripes 2 vg/a", denied),
        ("lvconvert -s vg/x vg/a", "Couldn't find origin volume x"),
        ("lvchange --resync vg/a", denied),
        ("lvchange -pr vg/a/b", "Invalid path for Logical Volume."),
        (
            "lvchange -My --minor 1 --minor 2 vg/a",
            "Option --minor may not be repeated.",
        ),
        ("lvextend -l3 vg/x x", "Logical volume x not found in"),
        (
            "lvextend --poolmetadatasize 4m vg/x",
            "Logical volume x not found in",
        ),
        ("lvextend -l+1 -I32m vg/a @", "Skipping invalid tag ."),
        ("lvextend -l+100%VG vg/a", "Insufficient free space: "),
        ("lvconvert -m1 @", "Skipping invalid tag @."),
        ("lvconvert -s -c1 vg/a vg/a", "as both snapshot and origin."),
        (
            "lvreduce -y -l-5 vg/a",
            "Unable to reduce vg/a below 1 extent",
        ),
        ("lvextend -L 1500k vg/a", "physical extents: 2.00 MiB."),
    ] {
        pair.both(line, 5, said);
    }
    pair.both("lvchange --resync vg", 0, "not accept LV type linear.");
    pair.both("lvchange --addtag t two/a @t", 0, "");
    pair.both("lvchange --addtag t @", 0, "Skipping invalid tag @.");
}

#[test]
fn groups_that_are_not_used_here_are_refused() {
    // Proves: of exported groups, groups of other hosts and groups that are not there nothing is
    // activated, refreshed or checked, with stock's status, where they are named; of all groups
    // they are left out. A name beside --all is an error.
    let pair = Pair::new(&[16 * MIB; 2]);
    for words in [
        "vgcreate vg @0",
        "vgcreate other @1",
        "lvcreate -an -Zn -Wn -l1 -n a vg",
        "lvcreate -an -Zn -Wn -l1 -n a other",
        "vgexport vg",
    ] {
        pair.both(words, 0, "");
    }
    let named = |words: &str, said: &str| pair.both(words, 5, said);
    let exported = "Volume group vg is exported";
    for words in [
        "vgchange -ay vg",
        "vgchange -an vg",
        "vgchange --refresh vg",
        "vgchange --monitor y vg",
        "lvchange -ay vg/a",
        "lvchange -ay vg/a other/a",
        "lvchange --refresh vg/a",
        "vgck vg",
        "vgck vg other",
    ] {
        named(words, exported);
    }
    for words in ["-ay", "-an", "--refresh", "--poll n", "--monitor y"] {
        named(&format!("vgchange {words} nosuch"), "\"nosuch\" not found");
    }
    for words in ["vgchange -ay", "vgchange --refresh", "vgck"] {
        pair.both(words, 0, "");
    }
    for words in ["vgexport -a other", "vgimport -a vg", "pvchange -a -xn vg"] {
        pair.both(words, 3, "Command does not accept argument: ");
    }
    pair.both("vgimport vg", 0, "");
    pair.both("vgchange -y --systemid elsewhere vg", 0, "");
    let foreign = "Cannot access VG vg with system ID elsewhere";
    for words in ["vgchange -ay vg", "lvchange -ay vg/a", "vgck vg"] {
        named(words, foreign);
    }
    pair.both("vgchange -ay", 0, "");
}

#[test]
fn partial_volumes_are_not_said_to_be_active() {
    // Proves: -ay and --refresh of a volume that lost extents fail in stock's words; of the others
    // in its group, and with --activationmode partial, they do not.
    let pair = Pair::new(&[16 * MIB; 2]);
    for words in [
        "vgcreate vg @0 @1",
        "lvcreate -an -Zn -Wn -l1 -n whole vg @0",
        "lvcreate -an -Zn -Wn -l1 -n lost vg @1",
    ] {
        pair.both(words, 0, "");
    }
    fs::remove_file(&pair.images[1]).expect("it was there");
    for (words, code) in [
        ("lvchange -ay vg/lost", 5),
        ("lvchange -ay vg/whole", 0),
        ("lvchange -ay --activationmode partial vg/lost", 0),
        ("lvchange --refresh vg/lost", 5),
        ("vgchange -ay vg", 5),
        ("vgchange -ay -P vg", 0),
        ("vgchange --refresh vg", 5),
    ] {
        let ended = pair.ours(words).run();
        assert_eq!(ended.code, Some(code), "{ended}");
        let refused = ended.complaints().contains("of partial LV vg/lost.");
        assert_eq!(refused, code == 5, "{ended}");
    }
    pair.ours("vgchange -an vg").succeed();
}

#[test]
fn reports_of_many_segments_take_time_in_proportion() {
    // Proves: a line for each of sixty thousand segments of one volume comes within the time limit
    // of a test, which a look at all segments for each line would exceed many times over.
    const SEGMENTS: usize = 60_000;
    let pair = Pair::new(&[256 * MIB]);
    let done = |words: &str| {
        let ended = pair.by_ashlar(words);
        assert_eq!(ended.code, Some(0), "{ended}");
        ended
    };
    done("pvcreate --metadatasize 64m @0");
    done("vgcreate -s 4k vg @0");
    done("lvcreate -y --type error -l 1 -n a vg");
    let file = pair.scratch.join("vg.text");
    done(&format!("vgcfgbackup -f {} vg", file.display()));
    let text = fs::read_to_string(&file).expect("the backup");
    let from = text.find("segment_count = 1").expect("a volume");
    let mut segments = format!("segment_count = {SEGMENTS}\n");
    for number in 0..SEGMENTS {
        writeln!(
            segments,
            "segment{} {{\nstart_extent = {number}\nextent_count = 1\ntype = \"error\"\n}}",
            number + 1
        )
        .expect("a string takes all");
    }
    fs::write(&file, format!("{}{segments}}}\n}}\n}}\n", &text[..from])).expect("a file");
    done(&format!("vgcfgrestore -y -f {} vg", file.display()));
    let rows = done("lvs --segments --noheadings -o+lv_size,lv_layout,seg_start vg");
    assert_eq!(rows.text().lines().count(), SEGMENTS);
}
