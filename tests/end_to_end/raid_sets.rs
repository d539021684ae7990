//! The disks whose RAID arrays a stock kernel left in the middle of something, as fixtures: we read
//! their metadata, and they are what they are there for.
//!
//! Nothing here needs what will read arrays. The superblocks are decoded by hand, a few fields of
//! each; the contents that the manifests promise are computed from what the scripts wrote.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use ashlar::apply::{Disks, HostDisks};
use ashlar::host::{Config, DeviceSource, DeviceSpec, Host, Sysfs};
use ashlar::scan::{Options, Scan};
use lvm2::Bytes;
use lvm2::plan::pieces;
use tests::{RAID_SETS, RaidSet, RaidVolume, Scratch, Tool, ashlar, sha256};

const SECTOR: u64 = 512;
/// What a superblock says where nothing is left to be done.
const DONE: u64 = u64::MAX;
/// Where the bitmap lies behind a superblock, and its bits in it.
const BITMAP_AT: usize = 4096;
const BITS_AT: usize = BITMAP_AT + 256;
/// The disk that the set `degraded` lost is this leg of each of its arrays.
const LOST_LEG: usize = 1;

/// What a leg says of its array.
#[derive(Debug)]
struct Superblock {
    events: u64,
    failed: u64,
    /// How many sectors of this leg are rebuilt.
    recovered: u64,
    /// How many sectors of each leg are in sync.
    synced: u64,
    reshaped: u64,
    /// How many of the bitmap's bits are set, of those that have a meaning.
    dirty: usize,
}

impl Superblock {
    fn decode(bytes: &[u8]) -> Self {
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        assert_eq!(&bytes[..4], b"DmRd");
        let mut dirty = 0;
        if bytes[BITMAP_AT..].starts_with(b"bitm") {
            let sectors = long(BITMAP_AT + 40);
            let chunk = u64::from(word(BITMAP_AT + 52));
            let count = (sectors * SECTOR).div_ceil(chunk);
            let is_set = |bit: &u64| {
                let (at, shift) = ((bit / 8) as usize, bit % 8);
                bytes[BITS_AT + at] >> shift & 1 == 1
            };
            dirty = (0..count).filter(is_set).count();
        }
        Self {
            events: long(16),
            failed: long(24),
            recovered: long(32),
            synced: long(40),
            reshaped: long(64),
            dirty,
        }
    }
}

/// The program, seeing these disks only.
fn ashlar_on(images: &[PathBuf]) -> Tool {
    let devices: Vec<String> = images
        .iter()
        .map(|image| image.display().to_string())
        .collect();
    ashlar().args(["--devices", &devices.join(",")])
}

/// All that we know of a set's disks.
fn scan(set: &RaidSet) -> Scan {
    let empty = Scratch::new("settings");
    let host = Host {
        config: Config::read(empty.path()).expect("a configuration"),
        sysfs: Sysfs::of_host(),
    };
    let spec = |path: PathBuf| DeviceSpec { path };
    let disks = HostDisks {
        source: DeviceSource::Listed(set.images().into_iter().map(spec).collect()),
        options: Options::default(),
    };
    disks.scan(&host).expect("a scan")
}

/// What each leg of a volume says, in their order.
fn superblocks(scan: &Scan, volume: &str) -> Vec<Superblock> {
    let (group, name) = volume.split_once('/').expect("two names");
    let model = &scan.find_group(group).expect("the group").model;
    let leg = |number: usize| {
        let id = model.lv_by_name(&format!("{name}_rmeta_{number}"))?;
        let size = model.lv(id).size(model.extent_size).expect("a size");
        let size = size.to_bytes().expect("a size");
        let piece = pieces(model, id, Bytes::ZERO, size).expect("its extents");
        let piece = piece.first().expect("it has extents");
        let mut known = scan.physical_volumes.iter();
        let pv = known.find(|pv| pv.uuid == piece.pv).expect("a disk");
        let file = File::open(&scan.device(pv.device).name).expect("the image");
        let mut bytes = vec![0; 2 * BITMAP_AT];
        file.read_exact_at(&mut bytes, piece.start.0)
            .expect("it lies within");
        Some(Superblock::decode(&bytes))
    };
    let legs: Vec<Superblock> = (0..).map_while(leg).collect();
    assert!(!legs.is_empty(), "{volume} has legs");
    legs
}

/// Whether all legs say that nothing is left to be done, and that none is lost.
fn is_settled(legs: &[Superblock]) -> bool {
    is_done(legs) && legs.iter().all(|leg| leg.events == legs[0].events)
}

/// The same; the power may have been cut between two superblocks.
fn is_done(legs: &[Superblock]) -> bool {
    let all = |leg: &Superblock| {
        let done = [leg.recovered, leg.synced, leg.reshaped];
        done == [DONE; 3] && leg.failed == 0 && leg.events.abs_diff(legs[0].events) <= 1
    };
    legs.iter().all(all)
}

/// Whether a volume is in the state that its manifest says it is in.
fn is_as_said(volume: &RaidVolume, legs: &[Superblock]) -> bool {
    let is_under_way = |done: u64| done > 0 && done != DONE;
    let is_dirty = || legs.iter().any(|leg| leg.dirty > 0);
    match volume.state.as_str() {
        "in-sync" => is_settled(legs) && !is_dirty(),
        "answered" => is_done(legs) && is_dirty(),
        "torn" | "split" => is_settled(legs) && is_dirty(),
        "resync" => legs.iter().all(|leg| is_under_way(leg.synced)),
        "failed" | "away" | "cut" => {
            let (lost, first) = (&legs[LOST_LEG], &legs[0]);
            lost.failed == 0 && first.failed == 1 << LOST_LEG && lost.events < first.events
        }
        "blind" => is_dirty(),
        "rebuild" | "replace" => legs.iter().any(|leg| is_under_way(leg.recovered)),
        "reshape" => legs.iter().all(|leg| is_under_way(leg.reshaped)),
        other => panic!("{} has the state {other}, which nobody knows", volume.name),
    }
}

/// Sectors that each say what they are.
fn pattern(name: &str, seed: u32, sectors: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for sector in 0..sectors {
        let line = format!("{name}.{seed}.{sector:012}\n");
        bytes.extend(line.bytes().cycle().take(SECTOR as usize));
    }
    bytes
}

/// What the scripts wrote to a volume; none where what was there before shows through.
fn written(set: &str, volume: &RaidVolume) -> Option<Vec<u8>> {
    let (_, name) = volume.name.split_once('/').expect("two names");
    let mut bytes = pattern(name, 0, volume.bytes / SECTOR);
    let mut change = |first: u64, sectors: u64| {
        let piece = pattern(name, 1, sectors);
        bytes[(first * SECTOR) as usize..][..piece.len()].copy_from_slice(&piece);
    };
    match (set, volume.state.as_str()) {
        ("dirty" | "integrity", "answered") => {
            change(384, 384);
            change(1920, 384);
        }
        ("degraded", _) => change(384, 768),
        ("resync", _) if name.starts_with("half") => return None,
        ("dirty", _) => return None,
        _ => {}
    }
    Some(bytes)
}

/// What we have to say against the group of a set.
fn complaint(set: &str) -> Option<&'static str> {
    match set {
        // Stock marked them so when it put others in their place.
        "rebuild" => Some("is missing 2 physical volumes"),
        _ => None,
    }
}

#[test]
fn metadata_of_every_set_is_read() {
    // Proves: of every set we find the group sound with all of its disks, or complain of what there
    // is; and each volume with the segment type that stock made.
    for name in RAID_SETS {
        let set = RaidSet::shared(name);
        let images = set.images();
        let check = ashlar_on(&images).args(["vgck", name]).run();
        let complaint = complaint(name);
        assert_eq!(check.code, Some(complaint.map_or(0, |_| 5)), "{check:?}");
        let said = check.complaints();
        assert!(said.contains(complaint.unwrap_or_default()), "{said}");
        let lvs = ashlar_on(&images).args(["lvs", "-a", "--noheadings", "-o"]);
        let report = lvs.arg("lv_full_name,segtype").succeed().text();
        let mut rows = BTreeSet::new();
        for line in report.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            rows.insert(words.join(" "));
        }
        for volume in set.volumes() {
            let row = format!("{} {}", volume.name, volume.segment_type);
            assert!(rows.contains(&row), "{row} is not in {report}");
        }
    }
}

#[test]
fn every_array_was_left_as_its_set_says() {
    // Proves: what the superblocks on the disks hold is the state for which a set is there, such as
    // a rebuild that is neither at its start nor at its end.
    for name in RAID_SETS {
        let set = RaidSet::shared(name);
        let scan = scan(&set);
        for volume in set.volumes() {
            let legs = superblocks(&scan, &volume.name);
            assert!(is_as_said(&volume, &legs), "{volume:?}: {legs:#?}");
        }
    }
}

#[test]
fn manifests_tell_what_was_written() {
    // Proves: the content that a manifest promises, which the kernel read, is what the scripts
    // wrote, computed here.
    let mut count = 0;
    for name in RAID_SETS {
        for volume in RaidSet::shared(name).volumes() {
            let Some(bytes) = written(name, &volume) else {
                continue;
            };
            assert_eq!(sha256(&bytes), volume.sha256, "{volume:?}");
            count += 1;
        }
    }
    assert!(count > RAID_SETS.len(), "most of them are computed");
}
