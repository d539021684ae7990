//! Scrubbing: what does not go together is named by sector, row, leg and disk, who is wrong
//! where it can be known, and nothing else is said.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use ashlar::apply::{Disks, HostDisks};
use ashlar::host::{Config, DeviceSource, DeviceSpec, Host, Sysfs};
use ashlar::scan::{Options, Scan};
use ashlar::scrub::{Subject, scrub};
use block::sim::Random;
use dm::raid::{Geometry, Scheme};
use lvm2::Bytes;
use lvm2::model::{LvId, SegmentType, VolumeGroup};
use lvm2::plan::pieces;
use tests::{Daemon, Golden, RAID_SETS, RaidSet, Scratch, Tool, ashlar};

const SECTOR: u64 = 512;
/// Where something was found.
const FOUND: i32 = 1;

/// What was damaged.
#[derive(Debug)]
struct Planted {
    volume: String,
    row: Option<u64>,
    leg: String,
    /// Whether it can be known that this leg is wrong.
    is_known: bool,
    /// The sector of the volume, unless it is parity.
    sector: Option<u64>,
    disk: String,
    byte: u64,
}

/// A line of the program's.
#[derive(Debug)]
struct Told {
    row: Option<u64>,
    sectors: u64,
    wrong: Vec<String>,
    legs: Vec<Leg>,
}

#[derive(Debug)]
struct Leg {
    name: String,
    sector: Option<u64>,
    standing: String,
    disk: String,
    byte: u64,
}

/// The program on these images, with nothing of the machine.
fn on(images: &[PathBuf], folder: &Path) -> Tool {
    let names: Vec<String> = images.iter().map(|i| i.display().to_string()).collect();
    ashlar()
        .env("ASHLAR_DEVICES", names.join(":"))
        .env("LVM_SYSTEM_DIR", folder)
        .env("XDG_STATE_HOME", folder)
}

/// A machine without settings.
fn host() -> Host {
    let empty = Scratch::new("settings");
    Host {
        config: Config::read(empty.path()).expect("a configuration"),
        sysfs: Sysfs::of_host(),
    }
}

fn scan(images: &[PathBuf]) -> Scan {
    let spec = |path: &PathBuf| DeviceSpec { path: path.clone() };
    let disks = HostDisks {
        source: DeviceSource::Listed(images.iter().map(spec).collect()),
        options: Options::default(),
    };
    disks.scan(&host()).expect("a scan")
}

/// What md calls a layout of LVM2's.
fn scheme(segment_type: &str) -> Scheme {
    let (level, layout) = match segment_type {
        "raid1" => (1, 0),
        "raid4" => (5, 4),
        "raid5_la" => (5, 0),
        "raid5_ra" => (5, 1),
        "raid5" | "raid5_ls" => (5, 2),
        "raid5_rs" => (5, 3),
        "raid5_n" => (5, 5),
        "raid6_n_6" => (6, 5),
        "raid6" | "raid6_zr" => (6, 8),
        "raid6_nr" => (6, 9),
        "raid6_nc" => (6, 10),
        "raid6_la_6" => (6, 16),
        "raid6_ra_6" => (6, 17),
        "raid6_ls_6" => (6, 18),
        "raid6_rs_6" => (6, 19),
        "raid10" => (10, 0x102),
        other => panic!("{other} is no layout that is compared"),
    };
    Scheme::from_md(level, layout).expect("a layout")
}

/// Damages `count` sectors of a volume, no two of which are compared with one another or lie side
/// by side.
fn plant(scan: &Scan, (volume, kind): (&str, &str), count: usize, seed: u64) -> Vec<Planted> {
    let mut random = Random::new(seed);
    let (group, name) = volume.split_once('/').expect("two names");
    let model = &scan.find_group(group).expect("the group").model;
    let lv = model.lv(model.lv_by_name(name).expect("the volume"));
    let SegmentType::Raid(raid) = &lv.segments[0].kind else {
        panic!("{volume} is an array");
    };
    let in_bytes = |size: lvm2::Sectors| size.to_bytes().expect("a size").0;
    let size = model.lv(raid.images[0].data).size(model.extent_size);
    let (legs, chunk) = (raid.images.len(), in_bytes(raid.stripe_size));
    let size = in_bytes(size.expect("a size"));
    let geometry = Geometry::new(scheme(kind), legs, chunk, size).expect("an array");
    let has_parity = matches!(geometry.scheme(), Scheme::Parity(..));
    let all = if has_parity { size } else { geometry.size() } / SECTOR;
    let mut chosen = BTreeSet::new();
    while chosen.len() < count {
        chosen.insert(2 * random.below(all / 2));
    }
    let mut planted = Vec::new();
    for sector in chosen {
        let at = sector * SECTOR;
        let (leg, start, row, held);
        if has_parity {
            let who = geometry.row(at / chunk);
            (leg, start, row) = (random.index(legs), at, Some(at / chunk));
            held = who.index(leg).map(|index| {
                let chunks = at / chunk * who.data_count() as u64 + index as u64;
                chunks * chunk + at % chunk
            });
        } else {
            let spot = geometry.spot(at, random.index(geometry.copies()));
            (leg, start, held) = (spot.leg, spot.start, Some(at));
            let is_mirror = geometry.scheme() == Scheme::Mirror;
            row = (!is_mirror).then(|| geometry.spot(at, 0).start / chunk);
        }
        let image = raid.images[leg].data;
        let (disk, byte) = place(scan, (model, image), start);
        damage(Path::new(&disk), byte, &mut random);
        planted.push(Planted {
            volume: volume.to_owned(),
            row,
            leg: model.lv(image).name().to_owned(),
            is_known: kind.starts_with("raid6") || geometry.copies() > 2,
            sector: held.map(|at| at / SECTOR),
            disk,
            byte,
        });
    }
    planted
}

/// The disk that a sector of a volume is on, and its byte there.
fn place(scan: &Scan, (model, lv): (&VolumeGroup, LvId), start: u64) -> (String, u64) {
    let piece = pieces(model, lv, Bytes(start), Bytes(SECTOR)).expect("its extents")[0];
    let mut known = scan.physical_volumes.iter();
    let pv = known.find(|pv| pv.uuid == piece.pv).expect("a disk");
    (scan.device(pv.device).name.clone(), piece.start.0)
}

/// Changes 1 to 20 bytes of a sector.
fn damage(disk: &Path, byte: u64, random: &mut Random) {
    let file = File::options().read(true).write(true).open(disk);
    let file = file.expect("the image");
    let mut sector = [0; SECTOR as usize];
    file.read_exact_at(&mut sector, byte).expect("it is there");
    let places: BTreeSet<usize> = (0..=random.index(20))
        .map(|_| random.index(sector.len()))
        .collect();
    for place in places {
        sector[place] ^= 1 + random.below(255) as u8;
    }
    file.write_all_at(&sector, byte).expect("it is written");
}

/// What stands behind `"key":` in a line of JSON, up to the end of the value.
fn value<'a>(line: &'a str, key: &str) -> &'a str {
    let key = format!("\"{key}\":");
    let at = line.find(&key).unwrap_or_else(|| panic!("{key} {line}"));
    let rest = &line[at + key.len()..];
    let end = rest.find([',', '}']).expect("values end");
    rest[..end].trim_matches('"')
}

fn number(text: &str) -> Option<u64> {
    (text != "null").then(|| text.parse().expect("a number"))
}

/// Findings, by their volumes; summaries, by theirs.
fn read(lines: &str) -> (BTreeMap<String, Vec<Told>>, BTreeMap<String, String>) {
    let (mut told, mut summaries) = (BTreeMap::new(), BTreeMap::new());
    for line in lines.lines() {
        let volume = value(line, "volume").to_owned();
        if line.starts_with("{\"summary\":") {
            summaries.insert(volume, line.to_owned());
            continue;
        }
        assert!(line.starts_with("{\"mismatch\":"), "{line}");
        let (_, wrong) = line.split_once("\"wrong\":[").expect("a list");
        let (wrong, rest) = wrong.split_once(']').expect("its end");
        let wrong = wrong.split(',').map(|name| name.trim_matches('"'));
        let legs = rest.split("{\"number\":").skip(1).map(|leg| {
            let (own, disks) = leg.split_once("\"disks\":").expect("disks");
            Leg {
                name: value(own, "name").to_owned(),
                sector: number(value(own, "volume_sector")),
                standing: value(own, "standing").to_owned(),
                disk: value(disks, "device").to_owned(),
                byte: number(value(disks, "byte")).expect("a byte"),
            }
        });
        let one = Told {
            row: number(value(line, "row")),
            sectors: number(value(line, "sectors")).expect("sectors"),
            wrong: wrong
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            legs: legs.collect(),
        };
        told.entry(volume).or_insert_with(Vec::new).push(one);
    }
    (told, summaries)
}

/// Whether all that was planted in a volume was found where it is, and nothing else was.
fn assert_found(planted: &[Planted], told: &[Told], what: &str) {
    assert_eq!(told.len(), planted.len(), "{what}");
    for one in planted {
        let is_it = |leg: &Leg| leg.disk == one.disk && leg.byte == one.byte;
        let mut found = told.iter().filter(|told| told.legs.iter().any(is_it));
        let finding = found.next().unwrap_or_else(|| panic!("{one:?}"));
        assert!(found.next().is_none(), "{one:?} is found once");
        assert_eq!(finding.row, one.row, "{one:?}");
        assert_eq!(finding.sectors, 1, "{one:?}");
        let leg = finding.legs.iter().find(|leg| is_it(leg));
        let leg = leg.expect("it has the leg");
        assert_eq!((&leg.name, leg.sector), (&one.leg, one.sector), "{one:?}");
        if one.is_known {
            assert_eq!(finding.wrong, [&*one.leg], "{one:?}");
            let wrong = |leg: &&Leg| leg.standing == "wrong";
            assert_eq!(finding.legs.iter().filter(wrong).count(), 1, "{one:?}");
            assert_eq!(leg.standing, "wrong", "{one:?}");
        } else {
            assert_eq!(finding.wrong, Vec::<String>::new(), "{one:?}");
            let is_open = |leg: &Leg| leg.standing == "unknown";
            assert!(finding.legs.iter().all(is_open), "{finding:?}");
        }
    }
}

/// Sectors in which two contents differ.
fn differing(before: &[u8], after: &[u8]) -> BTreeSet<u64> {
    let sectors = before
        .chunks(SECTOR as usize)
        .zip(after.chunks(SECTOR as usize));
    let changed = sectors.enumerate().filter(|(_, (old, new))| old != new);
    changed.map(|(sector, _)| sector as u64).collect()
}

/// Proves: of more than 1,000 damaged sectors in arrays of all levels each is found by disk, byte,
/// row and sector of the volume, and nothing else is; the leg is named with two parities and
/// with three copies or more, and with none else. That the sectors of volumes are those, reading
/// the volumes says.
#[test]
fn planted_corruptions_are_named_where_they_are() {
    let (set, folder) = (RaidSet::copy("levels"), Scratch::new("scrub"));
    let golden = Golden::copy();
    let golden_volumes = [
        ("vg0/raid1", "raid1"),
        ("vg0/raid1x3", "raid1"),
        ("vg0/raid4", "raid4"),
        ("vg0/raid5", "raid5"),
        ("vg0/raid5_ra", "raid5_ra"),
        ("vg0/raid6", "raid6"),
        ("vg0/raid10", "raid10"),
    ];
    let volumes = set.volumes();
    let of_set: Vec<(&str, &str)> = volumes
        .iter()
        .filter(|volume| volume.segment_type != "raid0_meta")
        .map(|volume| (volume.name.as_str(), volume.segment_type.as_str()))
        .collect();
    let mut all = 0;
    let benches = [
        (set.images(), &of_set[..]),
        (golden.images(), &golden_volumes[..]),
    ];
    for (images, volumes) in benches {
        let cat = |name: &str| on(&images, folder.path()).args(["cat", name]).succeed();
        let scan = scan(&images);
        let (mut planted, mut before) = (Vec::new(), BTreeMap::new());
        for (number, (name, kind)) in volumes.iter().enumerate() {
            before.insert(*name, cat(name).stdout);
            planted.push(plant(&scan, (name, kind), 48, 1000 + number as u64));
        }
        let scrub = on(&images, folder.path()).args(["scrub", "--json"]);
        let output = scrub.args(volumes.iter().map(|(name, _)| name)).exit(FOUND);
        let (told, summaries) = read(&output.text());
        for (planted, (name, kind)) in planted.iter().zip(volumes) {
            assert!(planted.iter().all(|one| one.volume == *name));
            assert_found(planted, &told[*name], name);
            let summary = &summaries[*name];
            let count = planted.len().to_string();
            assert_eq!(value(summary, "mismatched_sectors"), count, "{summary}");
            assert_eq!(value(summary, "compared_bytes"), value(summary, "bytes"));
            let known = planted.iter().filter(|one| one.is_known).count();
            assert_eq!(value(summary, "known_sectors"), known.to_string());
            all += planted.len();
            // Where data have one leg, that is what is read.
            if matches!(scheme(kind), Scheme::Parity(..)) {
                let wrong: BTreeSet<u64> = planted.iter().filter_map(|one| one.sector).collect();
                assert_eq!(
                    differing(&before[*name], &cat(name).stdout),
                    wrong,
                    "{name}"
                );
            }
        }
        assert_eq!(told.len(), volumes.len());
    }
    assert!(all > 1000, "{all} corruptions");
}

/// Proves: in whatever state a stock kernel left an array, with all disks and without those that
/// were lost, nothing is called a mismatch; of what is in sync all is compared, and of the rest it
/// is said why it is not.
#[test]
fn arrays_that_a_stock_kernel_left_are_not_accused() {
    let folder = Scratch::new("scrub-left");
    for name in RAID_SETS {
        let set = RaidSet::shared(name);
        let volumes = set.volumes();
        let volumes: Vec<_> = volumes
            .iter()
            .filter(|volume| volume.segment_type != "raid0_meta")
            .collect();
        for images in [set.images(), set.present()] {
            let scrub = on(&images, folder.path()).args(["scrub", "--json"]);
            let output = scrub.args(volumes.iter().map(|volume| &volume.name)).run();
            let (told, summaries) = read(&output.text());
            assert!(told.is_empty(), "{name}: {told:?}");
            let is_nothing = |one: &String| value(one, "compared_bytes") == "0";
            let code = if summaries.values().any(is_nothing) {
                5
            } else {
                0
            };
            assert_eq!(output.code, Some(code), "{name}: {output}");
            for volume in &volumes {
                let summary = &summaries[&volume.name];
                let all = value(summary, "compared_bytes") == value(summary, "bytes");
                let has_more = volume.segment_type.starts_with("raid6");
                let why = match volume.state.as_str() {
                    "in-sync" => "",
                    "answered" | "torn" | "split" | "blind" => "\"dirty\"",
                    "resync" => "\"never_synced\"",
                    "reshape" => "\"reshape\"",
                    // The others of its row suffice, or do not.
                    _ if has_more => continue,
                    _ => "not_compared\":[{",
                };
                assert_eq!(all, why.is_empty(), "{} {summary}", volume.state);
                assert!(summary.contains(why), "{} {summary}", volume.state);
            }
        }
    }
}

/// Proves: an array whose bitmap says something else in the end was written meanwhile, and nothing
/// that was found of it counts.
#[test]
fn what_is_written_meanwhile_is_an_error() {
    let golden = Golden::copy();
    let (host, scan) = (host(), scan(&golden.images()));
    let model = &scan.find_group("vg0").expect("the group").model;
    let meta = model.lv_by_name("raid5_rmeta_1").expect("metadata");
    // Bits begin 256 bytes behind the bitmap's beginning.
    let (disk, byte) = place(&scan, (model, meta), 4096);
    let subject = Subject::volume(&scan, &host, "vg0/raid5").expect("an array");
    let mut file = None;
    let ended = scrub(&subject, ashlar::scrub::Options::default(), &mut |_| {
        let file = file.get_or_insert_with(|| File::options().write(true).open(&disk));
        let file = file.as_ref().expect("the image");
        file.write_all_at(&[1], byte + 256).expect("it is written");
        Ok::<_, ashlar::Error>(())
    });
    let error = ended.expect_err("it was written");
    assert_eq!(error.kind(), ashlar::Kind::Refused);
    assert!(
        error.to_string().contains("vg0/raid5 was written while"),
        "{error}"
    );
}

/// Proves: what is served, has no redundancy or is not there is refused with a reason; a scrub in
/// stock's words says the same as in ours, and fails where it finds something.
#[test]
fn refusals_and_words() {
    let (golden, folder) = (Golden::copy(), Scratch::new("scrub-words"));
    let images = golden.images();
    let tool = || on(&images, folder.path()).env("ASHLAR_RUNTIME_DIR", folder.join("run"));
    let clean = tool().args(["scrub", "vg0/raid6", "vg0/raid1"]).succeed();
    let text = clean.text();
    assert!(text.contains("vg0/raid6: no mismatches in "), "{text}");
    let stock = tool().args(["lvchange", "--syncaction", "check", "vg0/raid6"]);
    assert!(stock.succeed().text().contains("vg0/raid6: no mismatches"));
    for (name, reason) in [
        ("vg0/raid0", "only the legs of raid1"),
        ("vg0/linear1", "only the legs of raid1"),
        ("vg0/nothing", "Failed to find"),
    ] {
        let said = tool().args(["scrub", name]).exit(5).complaints();
        assert!(said.contains(reason), "{name}: {said}");
    }
    let repair = tool().args(["lvchange", "--syncaction", "repair", "vg0/raid6"]);
    let said = repair.succeed().text();
    assert!(said.contains("vg0/raid6: no mismatches"), "{said}");

    let scan = scan(&images);
    let planted = [
        &plant(&scan, ("vg0/raid6", "raid6"), 1, 5)[0],
        &plant(&scan, ("vg0/raid5", "raid5"), 1, 6)[0],
    ]
    .map(|one| (one.leg.clone(), one.disk.clone(), one.byte));
    let found = tool().args(["scrub", "vg0/raid6", "vg0/raid5"]).exit(FOUND);
    let text = found.text();
    for (leg, disk, byte) in &planted {
        assert!(text.contains(&format!("{leg}: ")), "{text}");
        assert!(text.contains(&format!("{disk} byte {byte} (PE ")), "{text}");
    }
    let named = format!("1 sector wrong on {}: ", planted[0].0);
    assert!(text.contains(&named), "{text}");
    assert!(
        text.contains("nobody can know which leg is wrong"),
        "{text}"
    );
    let stock = tool().args(["lvchange", "--syncaction", "check", "vg0/raid6"]);
    let stock = stock.exit(5);
    assert!(stock.text().contains(&named), "{stock}");

    let socket = folder.join("socket");
    let serve = tool().args(["serve", "vg0/linear1"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let _served = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let said = tool().args(["scrub", "vg0/raid6"]).exit(5).complaints();
    assert!(said.contains("served by another ashlar"), "{said}");
}
