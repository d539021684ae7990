//! RAID volumes that Ashlar makes and changes, as stock LVM2 sees them.
//!
//! Commands are run on images by Ashlar; behind each of them stock looks at the same images through
//! loop devices: the group is in order for it, and its reports of volumes, hidden ones too, are
//! ours, field by field. What a volume holds must be the same behind everything that only changes
//! how it is kept.

use std::path::{Path, PathBuf};

use tests::{Access, Finished, LoopDevice, RaidSet, Scratch, Stock, Tool, ashlar, sha256};

/// What both report of each segment.
const FIELDS: &str = "lv_name,lv_size,segtype,stripes,data_stripes,stripe_size,region_size,\
                      chunk_size,seg_size,seg_start,raid_min_recovery_rate,\
                      raid_max_recovery_rate,raid_write_behind,devices,metadata_devices,\
                      lv_role";
const DISKS: usize = 8;
pub(super) const MIB: usize = 1 << 20;

/// Disks with a group: eight with `vg`, of extents of 1 MiB, if nothing else is said.
pub(super) struct World {
    pub(super) scratch: Scratch,
    group: &'static str,
    pub(super) disks: Vec<PathBuf>,
}

impl World {
    pub(super) fn new() -> Self {
        let scratch = Scratch::new("raid-change");
        let disk = |number| scratch.sparse(&format!("disk{number}.img"), 64 << 20);
        let disks: Vec<PathBuf> = (0..DISKS).map(disk).collect();
        let world = Self {
            scratch,
            group: "vg",
            disks,
        };
        world.ours(
            "vgcreate -s 1m vg disk0 disk1 disk2 disk3 disk4 disk5 disk6 disk7",
            0,
        );
        world
    }

    /// The command line, with paths for the names of disks.
    fn words(&self, line: &str) -> Vec<String> {
        let word = |word: &str| {
            let (name, rest) = word.split_once(':').unwrap_or((word, ""));
            let number = name.strip_prefix("disk").and_then(|text| text.parse().ok());
            let path = number.and_then(|number: usize| self.disks.get(number));
            match path {
                None => word.to_owned(),
                Some(path) if rest.is_empty() => path.display().to_string(),
                Some(path) => format!("{}:{rest}", path.display()),
            }
        };
        line.split_whitespace().map(word).collect()
    }

    fn tool(&self, line: &str, disks: &[PathBuf]) -> Tool {
        let names: Vec<String> = disks
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        ashlar()
            .env("LVM_SYSTEM_DIR", self.scratch.join("system"))
            .env("XDG_STATE_HOME", self.scratch.path())
            .arg("--devices")
            .arg(names.join(","))
            .args(self.words(line))
    }

    /// Runs a command of ours that ends with this status, and gives all that it said.
    pub(super) fn ours(&self, line: &str, code: i32) -> String {
        let ended = self.tool(line, &self.disks).exit(code);
        ended.text() + &ended.complaints()
    }

    /// Runs a command of ours, however it ends.
    pub(super) fn tried(&self, line: &str) -> Finished {
        self.tool(line, &self.disks).run()
    }

    /// What serves a volume over a socket.
    pub(super) fn serve(&self, volume: &str, socket: &Path) -> Tool {
        let line = format!("serve vg/{volume} --nbd=unix:{}", socket.display());
        self.tool(&line, &self.disks)
    }

    /// The same as `ours`, and then stock must see what we see.
    pub(super) fn agreed(&self, line: &str) {
        self.ours(line, 0);
        self.assert_agreed(line);
    }

    fn assert_agreed(&self, what: &str) {
        let devices: Vec<LoopDevice> = self
            .disks
            .iter()
            .map(|path| LoopDevice::attach(path, Access::ReadOnly))
            .collect();
        let stock = Stock::on(&devices);
        let checked = stock.without_driver("vgck").arg(self.group).run();
        assert_eq!(checked.code, Some(0), "{what}: {checked}");
        let options = [
            "-a",
            "--noheadings",
            "--separator",
            "|",
            "--units",
            "b",
            "-o",
            FIELDS,
        ];
        let theirs = stock
            .without_driver("lvs")
            .args(options)
            .arg(self.group)
            .succeed();
        let mut theirs = theirs.text();
        for (device, disk) in devices.iter().zip(&self.disks) {
            let (from, to) = (device.path().display(), disk.display());
            theirs = theirs.replace(&format!("{from}("), &format!("{to}("));
        }
        let ours = format!(
            "lvs -a --noheadings --separator | --units b -o {FIELDS} {}",
            self.group
        );
        let ours = self.tool(&ours, &self.disks).succeed().text();
        let lines = |text: &str| -> Vec<String> {
            let mut lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&ours), lines(&theirs), "{what}");
    }

    pub(super) fn fill(&self, volume: &str, content: &[u8]) {
        let file = self.scratch.join("content");
        std::fs::write(&file, content).expect("a file");
        self.ours(&format!("cp {} /dev/vg/{volume}", file.display()), 0);
    }

    pub(super) fn read(&self, volume: &str) -> Vec<u8> {
        let cat = self.tool(&format!("cat vg/{volume}"), &self.disks);
        cat.succeed().stdout
    }
}

pub(super) fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at / 7) as u8 ^ (at >> 12) as u8)
        .collect()
}

/// Arrays of every family are made, and read as zeros where they were zeroed.
#[test]
fn stock_sees_arrays_as_we_make_them() {
    let world = World::new();
    for line in [
        "lvcreate -m 1 -l 4 -n one vg",
        "lvcreate --type raid1 -m 2 -l 3 -R 64k --nosync -n three vg",
        "lvcreate -i 2 -m 1 -l 4 -n ten vg",
        "lvcreate --type raid0 -i 3 -I 16k -l 6 -n zero vg",
        "lvcreate --type raid0_meta -l 4 -n zerometa vg",
        "lvcreate --type raid4 -i 3 -l 3 -n four vg",
        "lvcreate --type raid5 -l 4 --minrecoveryrate 128 --maxrecoveryrate 1m -n five vg",
        "lvcreate --type raid5_ra -i 2 -l 2 -n fivera vg disk4 disk5 disk6",
        "lvcreate --type raid6 -i 3 -l 6 -I 8k -n six vg",
        "lvcreate --type raid6_nr -i 4 -l 4 -n sixnr vg",
        "lvcreate --type raid10 -i 4 -l 4 -n ten8 vg",
        "lvcreate --type raid1 -m 1 --alloc anywhere -l 2 -n near vg disk7",
    ] {
        world.agreed(line);
    }
    for name in ["one", "five", "six", "ten"] {
        let content = world.read(name);
        assert!(content[..4096].iter().all(|byte| *byte == 0), "{name}");
    }
    let few = world.ours("lvcreate --type raid5 -i 8 -l 8 -n much vg", 5);
    assert!(
        few.contains("Insufficient suitable allocatable extents"),
        "{few}"
    );
    for (line, said) in [
        (
            "lvcreate --type raid1 -m 0 -l 2 -n x vg",
            "--mirrors must be at least 1",
        ),
        (
            "lvcreate --type raid6 -i 2 -l 2 -n x vg",
            "Minimum of 3 stripes required for raid6.",
        ),
        (
            "lvcreate --type raid6 --nosync -l 3 -n x vg",
            "nosync option prohibited on RAID6.",
        ),
        (
            "lvcreate -m 1 --mirrorlog core -l 2 -n x vg",
            "supported only with mirrors.",
        ),
        (
            "lvcreate --type raid1 -m 1 --corelog -l 2 -n x vg",
            "does not accept option",
        ),
        (
            "lvcreate -l 2 --minrecoveryrate 1 -n x vg",
            "does not accept option",
        ),
    ] {
        let refused = world.ours(line, 3);
        assert!(refused.contains(said), "{line}: {refused}");
    }
    world.agreed("lvremove -y vg");
}

/// Signatures of what was there before are wiped through the layout of the array.
#[test]
fn old_signatures_are_wiped_from_arrays() {
    let world = World::new();
    let line = "lvcreate --type raid5 -i 3 -I 16k -l 6 -n a vg";
    world.ours(line, 0);
    // btrfs's, at 64 KiB: chunk 4, which is in the second row on the first image. That one begins
    // behind a metadata area of 1 MiB and an extent of metadata.
    let magic = b"_BHRfS_M";
    let at = 2 * MIB + 16384 + 0x40;
    let mut bytes = std::fs::read(&world.disks[0]).expect("an image");
    bytes[at..at + magic.len()].copy_from_slice(magic);
    std::fs::write(&world.disks[0], &bytes).expect("it is ours");
    assert_eq!(&world.read("a")[0x10040..0x10048], magic);
    world.ours("lvremove -y vg/a", 0);
    let said = world.ours(&format!("{line} -y"), 0);
    assert!(said.contains("Wiping btrfs signature"), "{said}");
    assert_eq!(&world.read("a")[0x10040..0x10048], &[0; 8]);
}

/// Sizes, names, properties, and the end of arrays.
#[test]
fn stock_sees_arrays_as_we_change_them() {
    let world = World::new();
    for line in [
        "lvcreate -m 1 -l 8 -n a vg",
        "lvextend -l +3 vg/a",
        "lvextend -l +3 vg/a disk2 disk3",
        "lvreduce -y --fs ignore -l -2 vg/a",
        "lvcreate --type raid5 -i 2 -l 8 -n b vg",
        "lvextend -l +3 vg/b",
        "lvreduce -y --fs ignore -l 8 vg/b",
        "lvextend --type raid5 -l +20%LV vg/b",
        "lvcreate --type raid10 -i 2 -l 8 -n d vg",
        "lvextend -l +100%FREE vg/d",
        "lvreduce -y --fs ignore -l 8 vg/d",
        "lvrename vg/a vg/aa",
        "lvchange --writemostly disk1 vg/aa",
        "lvchange --writebehind 512 vg/aa",
        "lvchange --minrecoveryrate 100 --maxrecoveryrate 2m vg/aa",
        "lvchange --writemostly disk1:t vg/aa",
        "lvchange --resync vg/aa",
        "lvchange --resync vg/b",
        "lvremove -y vg/aa",
    ] {
        world.agreed(line);
    }
    for (line, said) in [
        (
            "lvextend -i 3 -l +3 vg/b",
            "with different number of stripes",
        ),
        (
            "lvextend --type raid6 -l +3 vg/b",
            "VolumeType does not match (raid6).",
        ),
        (
            "lvrename vg/b_rimage_0 vg/x",
            "Cannot rename a RAID image directly",
        ),
        ("lvremove -y vg/b_rmeta_0", "used as RAID device"),
        (
            "lvchange --writemostly disk0 vg/b",
            "require LV types raid1",
        ),
        (
            "lvchange -y --rebuild disk7 vg/b",
            "does not contain devices specified",
        ),
        ("lvchange -y --rebuild disk1 vg/b", "not in-sync"),
        ("lvconvert -m +1 vg/b", "is of type raid5"),
        ("lvconvert -y --type raid6 vg/b", "has to have 4 images"),
    ] {
        let refused = world.ours(line, 5);
        assert!(refused.contains(said), "{line}: {refused}");
    }
}

/// Types that become each other hold what they held.
#[test]
fn data_stays_where_types_become_each_other() {
    let world = World::new();
    let content = pattern(6 * MIB);
    world.agreed("lvcreate -l 6 -n a vg");
    world.fill("a", &content);
    for line in [
        "lvconvert -m 1 vg/a",
        "lvconvert -y -m 0 vg/a",
        "lvconvert --type raid1 -m 2 vg/a disk4 disk5",
        "lvconvert -y -m 0 vg/a",
        "lvconvert --type mirror -m 1 --mirrorlog core vg/a",
        "lvconvert --type raid1 vg/a",
        "lvconvert --type mirror --mirrorlog core vg/a",
        "lvconvert -y -m 0 vg/a",
    ] {
        world.agreed(line);
        assert!(world.read("a") == content, "{line}");
    }
    world.agreed("lvcreate -i 3 -l 6 -n s vg");
    world.fill("s", &content);
    for line in [
        "lvextend -l +3 vg/s",
        "lvconvert --type raid0 vg/s",
        "lvconvert --type raid0_meta vg/s",
        "lvextend -l +3 vg/s",
        "lvconvert --type raid0 vg/s",
        "lvconvert --type striped vg/s",
    ] {
        world.agreed(line);
        assert!(world.read("s")[..content.len()] == content[..], "{line}");
    }
}

/// What a stock kernel left in sync holds the same with images replaced, taken away, added, and
/// lost with a disk; stock sees what we see behind each step.
#[test]
fn arrays_in_sync_keep_what_they_hold() {
    let set = RaidSet::copy("levels");
    let mut world = World {
        scratch: Scratch::new("raid-levels"),
        group: "levels",
        disks: set.images(),
    };
    let assert_holds = |world: &World, what: &str| {
        for volume in set.volumes() {
            let cat = world.tool(&format!("cat {}", volume.name), &world.disks);
            let content = cat.succeed().stdout;
            assert_eq!(sha256(&content), volume.sha256, "{} {what}", volume.name);
        }
    };
    for line in [
        "vgextend levels disk6 disk7",
        "lvconvert -y -m -1 levels/raid1x4 disk0",
        "lvconvert -m +1 levels/raid1_grown",
        "lvconvert --replace disk1 levels/raid5_n",
        "lvconvert --replace disk0 --replace disk2 levels/raid6_nr disk6 disk7 disk5",
        "lvconvert --replace disk3 levels/raid10x6",
        "lvchange -y --rebuild disk1 levels/raid4x5",
    ] {
        world.agreed(line);
        assert_holds(&world, line);
    }
    for (line, said) in [
        (
            "lvconvert --replace disk0 --replace disk1 levels/raid5_grown",
            "more than 1 PVs",
        ),
        (
            "lvconvert --replace disk7 levels/raid5_grown",
            "does not contain devices specified",
        ),
        ("lvconvert -m +1 levels/raid1_grown", "not in-sync"),
    ] {
        let refused = world.ours(line, 5);
        assert!(refused.contains(said), "{line}: {refused}");
    }
    let whole = world.ours("lvconvert -y --repair levels/raid6_zr", 0);
    assert!(
        whole.contains("is consistent. Nothing to repair."),
        "{whole}"
    );
    // With a disk gone, what had an image there gets another one. Its raid0 is lost.
    world.agreed("lvremove -y levels/raid0_meta");
    let all = world.disks.clone();
    world.disks.remove(1);
    for name in ["raid6_zr", "raid5_grown", "raid6_wide"] {
        world.ours(&format!("lvconvert -y --repair levels/{name}"), 0);
        let read = world
            .tool(&format!("cat levels/{name}"), &world.disks)
            .succeed();
        assert_eq!(
            sha256(&read.stdout),
            set.volume(&format!("levels/{name}")).sha256
        );
    }
    let devices = "lvs -a --noheadings -o lv_name,devices levels";
    let shown = world.tool(devices, &world.disks).succeed().text();
    for name in ["raid6_zr", "raid5_grown", "raid6_wide"] {
        let mut parts = shown.lines().filter(|line| line.contains(name));
        assert!(parts.all(|line| !line.contains("unknown")), "{shown}");
    }
    assert_eq!(all.len(), world.disks.len() + 1);
}

/// A copy that is split off holds what the array holds, and so does what is left of it.
#[test]
fn a_copy_is_split_off() {
    let set = RaidSet::copy("levels");
    let world = World {
        scratch: Scratch::new("raid-split"),
        group: "levels",
        disks: set.images(),
    };
    for (array, name) in [("raid1x4", "fourth"), ("raid1_grown", "half")] {
        let line = format!("lvconvert -y --splitmirrors 1 -n {name} levels/{array}");
        world.agreed(&line);
        let expected = set.volume(&format!("levels/{array}")).sha256;
        for volume in [array, name] {
            let cat = world.tool(&format!("cat levels/{volume}"), &world.disks);
            assert_eq!(sha256(&cat.succeed().stdout), expected, "{volume}");
        }
    }
}

/// A copy that is split off, of an array that nobody has used yet, is refused as stock refuses it.
#[test]
fn what_is_not_in_sync_is_kept_together() {
    let world = World::new();
    world.agreed("lvcreate -m 2 -l 4 -n a vg");
    for line in [
        "lvconvert -y --splitmirrors 1 -n b vg/a",
        "lvconvert -y -m 1 vg/a disk0",
    ] {
        let refused = world.ours(line, 5);
        assert!(refused.contains("not in-sync"), "{line}: {refused}");
    }
    let one = world.ours("lvconvert -y --splitmirrors 3 -n b vg/a", 5);
    assert!(
        one.contains("Unable to split images by specified amount."),
        "{one}"
    );
    let same = world.ours("lvconvert -y -m 2 vg/a", 0);
    assert!(same.contains("already has image count of 3"), "{same}");
    world.agreed("lvconvert -y -m -1 vg/a");
}
