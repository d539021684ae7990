//! Physical volumes on arrays of md's, of each level and metadata version: whole, without a leg,
//! with a leg that was away; found by their superblocks, which mdadm understands, too.

use std::fs;
use std::path::{Path, PathBuf};

use block::parity;
use dm::raid::md::{Feature, Features, Place, Superblock1, Zones};
use dm::raid::{Geometry, Scheme};
use tests::{Finished, Scratch, Tool, ashlar, sha256};

const MIB: usize = 1 << 20;
const CHUNK: u64 = 64 << 10;
/// Where data begin behind a superblock at the beginning, in sectors.
const DATA_AT: u64 = 2048;
const EVENTS: u64 = 40;
const UUID: [u8; 16] = *b"arrays in images";

/// An array to be.
#[derive(Debug, Clone, Copy)]
struct Plan {
    level: i32,
    layout: u32,
    legs: usize,
    place: Place,
}

impl Plan {
    fn new(level: i32, layout: u32, legs: usize, place: Place) -> Self {
        Self {
            level,
            layout,
            legs,
            place,
        }
    }

    /// Bytes of each leg's data, for so many bytes of the array.
    fn leg_len(self, size: usize) -> u64 {
        let size = size as u64;
        let (times, parts) = match self.level {
            1 => (1, 1),
            10 => (2, self.legs as u64),
            6 => (1, self.legs as u64 - 2),
            0 => (1, self.legs as u64),
            _ => (1, self.legs as u64 - 1),
        };
        (size * times).div_ceil(parts).next_multiple_of(CHUNK)
    }

    /// The data of each leg.
    fn data(self, content: &[u8]) -> Vec<Vec<u8>> {
        let len = self.leg_len(content.len());
        let mut legs = vec![vec![0_u8; len as usize]; self.legs];
        let spots: Box<dyn Fn(u64, usize) -> dm::raid::Spot>;
        let (mut copies, mut geometry) = (1, None);
        if self.level == 0 {
            let zones = Zones::new(&vec![len; self.legs], CHUNK, None).expect("stripes");
            spots = Box::new(move |at, _| zones.spot(at));
        } else {
            let scheme = Scheme::from_md(self.level as u32, self.layout).expect("a scheme");
            let array = Geometry::new(scheme, self.legs, CHUNK, len).expect("an array");
            (copies, geometry) = (array.copies(), Some(array));
            spots = Box::new(move |at, copy| array.spot(at, copy));
        }
        for (number, chunk) in content.chunks(CHUNK as usize).enumerate() {
            for copy in 0..copies {
                let spot = spots(number as u64 * CHUNK, copy);
                let start = spot.start as usize;
                legs[spot.leg][start..start + chunk.len()].copy_from_slice(chunk);
            }
        }
        if let Some(array) = geometry.filter(|_| matches!(self.level, 4..=6)) {
            add_parity(&array, &mut legs);
        }
        legs
    }

    /// What stands on a leg about it.
    fn superblock(self, leg: usize, leg_len: u64, events: u64) -> Superblock1 {
        let sectors = leg_len / 512;
        let is_striped = !matches!(self.level, 1 | -1);
        let (data_offset, super_offset) = match self.place {
            Place::Start => (DATA_AT, 0),
            Place::SecondBlock => (DATA_AT, 8),
            _ => (0, sectors + 16),
        };
        Superblock1 {
            place: self.place,
            features: Features::default(),
            uuid: UUID,
            name: {
                let mut name = [0; 32];
                name[..6].copy_from_slice(b"host:0");
                name
            },
            created: 1_700_000_000,
            level: self.level,
            layout: self.layout,
            size: if self.level == 0 { 0 } else { sectors },
            chunk_sectors: if is_striped { (CHUNK / 512) as u32 } else { 0 },
            device_count: self.legs as u32,
            bitmap_offset: 0,
            new_level: 0,
            reshape_position: 0,
            delta_disks: 0,
            new_layout: 0,
            new_chunk_sectors: 0,
            new_offset: 0,
            data_offset,
            data_size: sectors,
            super_offset,
            recovery_offset: 0,
            number: leg as u32,
            corrected_reads: 0,
            device_uuid: [leg as u8 + 1; 16],
            flags: 0,
            bad_blocks_shift: 0,
            bad_blocks_sectors: 0,
            bad_blocks_offset: 0,
            updated: 1_700_000_100,
            events,
            resync_offset: u64::MAX,
            logical_block: 0,
            roles: (0..self.legs as u16).collect(),
        }
    }

    /// A leg as a disk.
    fn write(self, path: &Path, data: &[u8], superblock: &Superblock1) {
        let mut disk = Vec::new();
        let bytes = superblock.encode();
        if self.place == Place::End {
            disk.extend_from_slice(data);
            disk.resize(data.len() + 8192, 0);
            disk.extend_from_slice(&bytes);
            disk.resize(data.len() + 16384, 0);
        } else {
            disk.resize(DATA_AT as usize * 512, 0);
            let at = superblock.super_offset as usize * 512;
            disk[at..at + bytes.len()].copy_from_slice(&bytes);
            disk.extend_from_slice(data);
        }
        fs::write(path, disk).expect("a leg");
    }
}

fn add_parity(array: &Geometry, legs: &mut [Vec<u8>]) {
    for number in 0..array.leg_size() / CHUNK {
        let row = array.row(number);
        let at = (number * CHUNK) as usize..((number + 1) * CHUNK) as usize;
        let (mut p, mut q) = (vec![0; CHUNK as usize], vec![0; CHUNK as usize]);
        for leg in (0..row.data_count()).map(|index| row.leg(index)) {
            parity::xor_into(&mut p, &legs[leg][at.clone()]);
            if row.q.is_some() {
                parity::add_power(&mut q, &legs[leg][at.clone()], row.power(leg) as u8);
            }
        }
        legs[row.p][at.clone()].copy_from_slice(&p);
        if let Some(leg) = row.q {
            legs[leg][at].copy_from_slice(&q);
        }
    }
}

/// A group with a volume, on one disk: the disk's bytes, and the volume's.
fn made(folder: &Path) -> (Vec<u8>, Vec<u8>) {
    let disk = folder.join("disk.img");
    fs::File::create(&disk)
        .and_then(|file| file.set_len(12 * MIB as u64))
        .expect("a disk");
    let content: Vec<u8> = (0..6 * MIB)
        .map(|at| (at / 512 * 7 + at % 251) as u8)
        .collect();
    fs::write(folder.join("content"), &content).expect("a file");
    let on = |words: &[&str]| run(folder, std::slice::from_ref(&disk), words);
    on(&["vgcreate", "-s", "1m", "vg0", &disk.display().to_string()]);
    on(&["lvcreate", "-L", "6m", "-n", "data", "vg0"]);
    on(&[
        "cp",
        &folder.join("content").display().to_string(),
        "vg0/data",
    ]);
    (fs::read(&disk).expect("a disk"), content)
}

fn tool(folder: &Path, disks: &[PathBuf], words: &[&str]) -> Tool {
    let names: Vec<String> = disks
        .iter()
        .map(|disk| disk.display().to_string())
        .collect();
    ashlar()
        .env("ASHLAR_DEVICES", names.join(":"))
        .env("LVM_SYSTEM_DIR", folder)
        .env("XDG_STATE_HOME", folder)
        .args(words)
}

fn run(folder: &Path, disks: &[PathBuf], words: &[&str]) -> Finished {
    tool(folder, disks, words).succeed()
}

/// The legs of a plan, as disks in `folder`.
fn disks(plan: Plan, folder: &Path, content: &[u8]) -> Vec<PathBuf> {
    let leg_len = plan.leg_len(content.len());
    let write = |(leg, data): (usize, Vec<u8>)| {
        let path = folder.join(format!("leg{leg}.img"));
        plan.write(&path, &data, &plan.superblock(leg, leg_len, EVENTS));
        path
    };
    plan.data(content)
        .into_iter()
        .enumerate()
        .map(write)
        .collect()
}

/// The group is found and its volume read on every level and in every version, whole and without
/// any leg that the array may lose; mdadm finds nothing wrong with what is on the legs.
#[test]
fn groups_on_arrays_are_read() {
    let folder = Scratch::new("md");
    let (disk, content) = made(folder.path());
    let sum = sha256(&content);
    for (plan, losses) in [
        (Plan::new(1, 0, 2, Place::SecondBlock), 1),
        (Plan::new(1, 0, 3, Place::End), 1),
        (Plan::new(0, 0, 3, Place::SecondBlock), 0),
        (Plan::new(4, 0, 3, Place::Start), 1),
        (Plan::new(5, 2, 4, Place::SecondBlock), 1),
        (Plan::new(5, 0, 3, Place::End), 1),
        (Plan::new(6, 2, 5, Place::SecondBlock), 1),
        (Plan::new(10, 0x102, 4, Place::Start), 1),
        (Plan::new(10, 0x201, 3, Place::SecondBlock), 1),
    ] {
        let legs = disks(plan, folder.path(), &disk);
        let examined = Tool::new("mdadm")
            .args(["--examine"])
            .args(&legs)
            .succeed()
            .text();
        assert!(
            examined.contains("host:0") && !examined.contains("expected"),
            "{examined}"
        );
        let read = |disks: &[PathBuf]| run(folder.path(), disks, &["cat", "vg0/data"]).stdout;
        assert_eq!(sha256(&read(&legs)), sum, "{plan:?}");
        let named = run(
            folder.path(),
            &legs,
            &["pvs", "--noheadings", "-o", "pv_name"],
        )
        .text();
        assert_eq!(named.trim(), "md:host:0", "{plan:?}");
        for lost in 0..if losses > 0 { plan.legs } else { 0 } {
            let mut left = legs.clone();
            left.remove(lost);
            assert_eq!(sha256(&read(&left)), sum, "{plan:?} without leg {lost}");
        }
    }
}

/// What md has listed as bad on a leg is read from another one: it was written there alone.
#[test]
fn listed_blocks_are_read_from_another_leg() {
    let folder = Scratch::new("md-bad");
    let (disk, content) = made(folder.path());
    let plan = Plan::new(1, 0, 2, Place::SecondBlock);
    let legs = disks(plan, folder.path(), &disk);
    let mut old = disk.clone();
    let mut list = vec![0xff; 4096];
    for (entry, mib) in [3, 5].into_iter().enumerate() {
        let (sector, count) = (mib * 2048_u64, 512_u64);
        let at = sector as usize * 512;
        old[at..at + count as usize * 512].fill(0xa5);
        list[entry * 8..entry * 8 + 8].copy_from_slice(&(sector << 10 | count).to_le_bytes());
    }
    let mut superblock = plan.superblock(1, plan.leg_len(disk.len()), EVENTS);
    old.resize(plan.leg_len(disk.len()) as usize, 0);
    let read = || sha256(&run(folder.path(), &legs, &["cat", "vg0/data"]).stdout);
    plan.write(&legs[1], &old, &superblock);
    assert_ne!(
        read(),
        sha256(&content),
        "the old bytes are where they are read"
    );
    superblock.features = superblock.features.with(Feature::BadBlocks);
    (superblock.bad_blocks_offset, superblock.bad_blocks_sectors) = (8, 8);
    plan.write(&legs[1], &old, &superblock);
    let mut leg = fs::read(&legs[1]).expect("a leg");
    leg[16 * 512..16 * 512 + list.len()].copy_from_slice(&list);
    fs::write(&legs[1], leg).expect("a leg");
    assert_eq!(read(), sha256(&content));
}

/// What md has listed as bad on a leg is off the list, for mdadm, too, when it has been written, or
/// read and written again; and the leg can be read without the others then.
#[test]
fn listed_blocks_are_written() {
    let folder = Scratch::new("md-bad-written");
    let (disk, content) = made(folder.path());
    let plan = Plan::new(1, 0, 2, Place::SecondBlock);
    let legs = disks(plan, folder.path(), &disk);
    let mut superblock = plan.superblock(1, plan.leg_len(disk.len()), EVENTS);
    superblock.features = superblock.features.with(Feature::BadBlocks);
    (superblock.bad_blocks_offset, superblock.bad_blocks_sectors) = (8, 8);
    let mut old = disk.clone();
    let mut list = vec![0xff; 4096];
    // The last one is where no volume is.
    let blocks: Vec<u64> = (0..70)
        .map(|block| 3 * 2048 + block * 16)
        .chain([11 * 2048])
        .collect();
    for (entry, sector) in blocks.iter().enumerate() {
        let at = *sector as usize * 512;
        old[at..at + 8 * 512].fill(0xa5);
        list[entry * 8..entry * 8 + 8].copy_from_slice(&(sector << 10 | 8).to_le_bytes());
    }
    old.resize(plan.leg_len(disk.len()) as usize, 0);
    plan.write(&legs[1], &old, &superblock);
    let mut leg = fs::read(&legs[1]).expect("a leg");
    leg[16 * 512..16 * 512 + list.len()].copy_from_slice(&list);
    fs::write(&legs[1], leg).expect("a leg");
    let listed = || {
        let examine = Tool::new("mdadm").arg("--examine-badblocks").arg(&legs[1]);
        let said = examine.succeed().text();
        said.lines().filter(|line| line.contains(" for ")).count()
    };
    assert_eq!(listed(), blocks.len());
    let on = |disks: &[PathBuf], words: &[&str]| run(folder.path(), disks, words);
    // Half of them are written, and the rest is read by somebody who may write.
    let half = vec![0x3c; 3 * MIB - MIB / 2];
    let path = folder.join("half");
    fs::write(&path, &half).expect("a file");
    let copy = ["cp", &path.display().to_string(), "vg0/data"];
    on(&legs, &copy);
    let left = listed();
    assert!((1..blocks.len()).contains(&left), "{left} are left");
    let wanted = [&half[..], &content[half.len()..]].concat();
    let read = [
        "serve",
        "vg0/data",
        "--run",
        "nbdcopy $uri - | sha256sum; sleep 0.5",
    ];
    for _ in 0..2 {
        let said = on(&legs, &read).text();
        assert!(said.contains(&sha256(&wanted)), "{said}");
    }
    assert_eq!(listed(), 1, "what nobody reads or writes is left");
    let alone = on(&legs[1..], &["cat", "vg0/data"]);
    assert_eq!(sha256(&alone.stdout), sha256(&wanted));
}

/// A group lies on an array and on a disk beside it: it is one group, of which nothing disagrees.
#[test]
fn a_group_is_on_an_array_and_beside_it() {
    let folder = Scratch::new("md-beside");
    let (disk, content) = made(folder.path());
    let beside = folder.join("beside.img");
    fs::write(&beside, vec![0; 4 * MIB]).expect("a disk");
    let whole = folder.join("disk.img");
    let both = [whole.clone(), beside.clone()];
    run(
        folder.path(),
        &both,
        &["vgextend", "vg0", &beside.display().to_string()],
    );
    let grown = fs::read(&whole).expect("a disk");
    assert_ne!(grown, disk);
    let mut named = disks(
        Plan::new(5, 2, 3, Place::SecondBlock),
        folder.path(),
        &grown,
    );
    named.push(beside);
    let read = run(folder.path(), &named, &["cat", "vg0/data"]);
    assert_eq!(sha256(&read.stdout), sha256(&content));
    assert_eq!(read.complaints(), "");
    let checked = run(folder.path(), &named, &["vgck", "vg0"]);
    assert_eq!(checked.complaints(), "");
}

/// A leg whose superblock is damaged is no disk of its own, though a label is at its start: it is
/// not written, and beside its twin it is no double.
#[test]
fn a_leg_with_a_damaged_superblock_is_no_disk() {
    let folder = Scratch::new("md-damaged");
    let (disk, content) = made(folder.path());
    let plan = Plan::new(1, 0, 2, Place::End);
    let legs = disks(plan, folder.path(), &disk);
    let mut bytes = fs::read(&legs[1]).expect("a leg");
    let at = bytes.len() - 8192 + 100;
    bytes[at] ^= 1;
    fs::write(&legs[1], &bytes).expect("a leg");
    tool(folder.path(), &legs[1..], &["lvcreate", "-L", "1m", "vg0"]).exit(5);
    let said = run(folder.path(), &legs[1..], &["pvs"]).complaints();
    assert!(
        said.contains("leg1.img is not used") && said.contains("superblock"),
        "{said}"
    );
    assert!(
        fs::read(&legs[1]).expect("a leg") == bytes,
        "nothing is written"
    );
    let read = run(folder.path(), &legs, &["cat", "vg0/data"]);
    assert_eq!(sha256(&read.stdout), sha256(&content));
    assert!(
        !read.complaints().contains("duplicate"),
        "{}",
        read.complaints()
    );
}

/// A volume on an array is made and filled on every level, whole and without a leg; its copies and
/// parity are right then, its superblocks are those of an array that rests, which mdadm finds
/// right, and what was written without a leg is not taken from that leg when it is back.
#[test]
fn groups_on_arrays_are_written() {
    let folder = Scratch::new("md-written");
    let (disk, content) = made(folder.path());
    let file = folder.path().join("more");
    let file_name = file.display().to_string();
    for (plan, has_copies) in [
        (Plan::new(1, 0, 2, Place::SecondBlock), true),
        (Plan::new(1, 0, 3, Place::End), true),
        (Plan::new(0, 0, 3, Place::SecondBlock), false),
        (Plan::new(4, 0, 3, Place::Start), true),
        (Plan::new(5, 2, 4, Place::SecondBlock), true),
        (Plan::new(5, 0, 3, Place::End), true),
        (Plan::new(6, 2, 5, Place::SecondBlock), true),
        (Plan::new(10, 0x102, 4, Place::Start), true),
        (Plan::new(10, 0x201, 3, Place::SecondBlock), true),
    ] {
        let legs = disks(plan, folder.path(), &disk);
        let on = |disks: &[PathBuf], words: &[&str]| run(folder.path(), disks, words);
        let read = |disks: &[PathBuf], name: &str| sha256(&on(disks, &["cat", name]).stdout);
        let fill = |disks: &[PathBuf], byte: u8| {
            let more: Vec<u8> = (0..2 * MIB).map(|at| (at / 300) as u8 ^ byte).collect();
            fs::write(&file, &more).expect("a file");
            on(disks, &["cp", &file_name, "vg0/more"]);
            sha256(&more)
        };
        on(&legs, &["lvcreate", "-L", "2m", "-n", "more", "vg0"]);
        let more = fill(&legs, 0);
        let sums = |disks: &[PathBuf]| (read(disks, "vg0/data"), read(disks, "vg0/more"));
        assert_eq!(sums(&legs), (sha256(&content), more.clone()), "{plan:?}");
        let examined = Tool::new("mdadm").args(["--examine"]).args(&legs).succeed();
        let examined = examined.text();
        let count = |what: &str| examined.matches(what).count();
        assert_eq!(count("State : clean"), plan.legs, "{examined}");
        assert!(!examined.contains("expected"), "{examined}");
        if !has_copies {
            continue;
        }
        let clean = on(&legs, &["scrub", "md:host:0"]).text();
        assert!(clean.contains("no mismatches in "), "{plan:?}: {clean}");
        for lost in 0..plan.legs {
            let mut left = legs.clone();
            left.remove(lost);
            assert_eq!(sums(&left), (sha256(&content), more.clone()), "{plan:?}");
        }
        let later = fill(&legs[1..], 7);
        for disks in [&legs[1..], &legs[..]] {
            assert_eq!(sums(disks), (sha256(&content), later.clone()), "{plan:?}");
        }
        let back = on(&legs, &["lvs"]).complaints();
        assert!(back.contains("leg0.img is not used"), "{plan:?}: {back}");
    }
}

/// What is not written is refused by name, and read all the same.
#[test]
fn what_is_not_written_is_refused() {
    let folder = Scratch::new("md-refused");
    let (disk, content) = made(folder.path());
    let plan = Plan::new(4, 0, 3, Place::SecondBlock);
    let legs = disks(plan, folder.path(), &disk);
    let leg_len = plan.leg_len(disk.len());
    for (leg, data) in plan.data(&disk).iter().enumerate() {
        let superblock = Superblock1 {
            features: Features::default().with(Feature::PartialParity),
            // 512 sectors, from 24 sectors behind the superblock on.
            bitmap_offset: 0x0200_0018,
            ..plan.superblock(leg, leg_len, EVENTS)
        };
        plan.write(&legs[leg], data, &superblock);
    }
    let read = run(folder.path(), &legs, &["cat", "vg0/data"]);
    assert_eq!(sha256(&read.stdout), sha256(&content));
    let refused = tool(folder.path(), &legs, &["lvcreate", "-L", "1m", "vg0"]).exit(5);
    let said = refused.complaints();
    assert!(
        said.contains("has a log of partial parity") && said.contains("mdadm"),
        "{said}"
    );
}

/// A leg that was away is not read, and said to be; too few legs are refused by name; who reads
/// writes nothing.
#[test]
fn what_an_array_lacks_is_told() {
    let folder = Scratch::new("md-lacks");
    let (disk, content) = made(folder.path());
    let plan = Plan::new(5, 2, 3, Place::SecondBlock);
    let legs = disks(plan, folder.path(), &disk);
    let leg_len = plan.leg_len(disk.len());
    let noise = vec![0xa5; leg_len as usize];
    plan.write(&legs[1], &noise, &plan.superblock(1, leg_len, EVENTS - 5));
    let read = run(folder.path(), &legs, &["cat", "vg0/data"]);
    assert_eq!(sha256(&read.stdout), sha256(&content));
    let said = read.complaints();
    assert!(
        said.contains("leg1.img") && said.contains("was away"),
        "{said}"
    );
    let alone = tool(folder.path(), &legs[..1], &["cat", "vg0/data"]).exit(5);
    let said = alone.complaints();
    assert!(
        said.contains("md:host:0") && said.contains("too many of its legs"),
        "{said}"
    );
    let before: Vec<_> = legs
        .iter()
        .map(|leg| fs::read(leg).expect("a leg"))
        .collect();
    run(folder.path(), &legs, &["lvs"]);
    let after: Vec<_> = legs
        .iter()
        .map(|leg| fs::read(leg).expect("a leg"))
        .collect();
    assert!(before == after, "nothing is written");
}

/// Proves: the legs of an array are compared by its name, on any level; of a damaged leg the disk
/// and its byte are told, and that it is the wrong one with two sums or three copies.
#[test]
fn damaged_legs_are_named() {
    let folder = Scratch::new("md-scrub");
    let content: Vec<u8> = (0..3 * MIB)
        .map(|at| (at / 512 * 7 + at % 251) as u8)
        .collect();
    for (plan, is_known) in [
        (Plan::new(6, 2, 5, Place::SecondBlock), true),
        (Plan::new(1, 0, 3, Place::SecondBlock), true),
        (Plan::new(1, 0, 2, Place::SecondBlock), false),
        (Plan::new(5, 2, 4, Place::SecondBlock), false),
        (Plan::new(10, 0x201, 4, Place::SecondBlock), false),
    ] {
        let legs = disks(plan, folder.path(), &content);
        let clean = run(folder.path(), &legs, &["scrub", "md:host:0"]).text();
        assert!(clean.contains("no mismatches in "), "{plan:?}: {clean}");
        let at = DATA_AT * 512 + 5 * CHUNK + 1024;
        let mut leg = fs::read(&legs[1]).expect("a leg");
        leg[at as usize + 17] ^= 0x40;
        fs::write(&legs[1], leg).expect("a leg");
        let found = tool(folder.path(), &legs, &["scrub", "md:host:0"]).exit(1);
        let text = found.text();
        let place = format!("{} byte {at}", legs[1].display());
        assert!(text.contains(&place), "{plan:?}: {text}");
        assert_eq!(text.contains("sector wrong on "), is_known, "{plan:?}");
        assert!(text.contains("1 sector mismatched in "), "{plan:?}: {text}");
    }
    let striped = disks(
        Plan::new(0, 0, 2, Place::SecondBlock),
        folder.path(),
        &content,
    );
    let said = tool(folder.path(), &striped, &["scrub", "md:host:0"]).exit(5);
    assert!(
        said.complaints().contains("neither copies nor parity"),
        "{said}"
    );
}
