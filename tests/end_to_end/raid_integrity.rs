//! RAID volumes whose images have checksums, made by stock: what lies on a disk is not believed
//! unless its checksum says so, and the other images have it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Instant;

use ashlar::apply::{Disks, HostDisks};
use ashlar::host::{Config, DeviceSource, DeviceSpec, Host, Sysfs};
use ashlar::scan::{Options, Scan};
use lvm2::Bytes;
use lvm2::plan::pieces;
use tests::verifier::{Command, Link, NbdLink, Work};
use tests::{Daemon, LIMIT, RaidSet, RaidVolume, Scratch, sha256};

use super::raid::on;

const SECTOR: u64 = 512;
/// What a test writes over: a block of the largest size.
const BLOCK: u64 = 4096;

/// A copy of the set, and what it is.
struct Bench {
    set: RaidSet,
    scan: Scan,
    folder: Scratch,
}

impl Bench {
    fn new() -> Self {
        let set = RaidSet::copy("integrity");
        let folder = Scratch::new("raid-integrity");
        let host = Host {
            config: Config::read(folder.path()).expect("a configuration"),
            sysfs: Sysfs::of_host(),
        };
        let spec = |path: PathBuf| DeviceSpec { path };
        let disks = HostDisks {
            source: DeviceSource::Listed(set.images().into_iter().map(spec).collect()),
            options: Options::default(),
        };
        let scan = disks.scan(&host).expect("a scan");
        Self { set, scan, folder }
    }

    fn cat(&self, volume: &RaidVolume) -> tests::Finished {
        on(&self.set.images(), self.folder.path())
            .args(["cat", &volume.name])
            .run()
    }

    /// The image, and the byte of it, where this byte of a part of a leg is.
    fn place(&self, volume: &RaidVolume, (leg, part): (usize, &str), byte: u64) -> (File, u64) {
        let (group, name) = volume.name.split_once('/').expect("two names");
        let model = &self.scan.find_group(group).expect("the group").model;
        let part = model.lv_by_name(&format!("{name}_rimage_{leg}_{part}"));
        let part = part.expect("it has checksums");
        let piece = pieces(model, part, Bytes(byte), Bytes(BLOCK)).expect("its extents");
        let piece = piece.first().expect("it is somewhere");
        let mut known = self.scan.physical_volumes.iter();
        let pv = known.find(|pv| pv.uuid == piece.pv).expect("a disk");
        let name = &self.scan.device(pv.device).name;
        let file = File::options().read(true).write(true).open(name);
        let file = file.expect("the image");
        (file, piece.start.0)
    }

    /// Writes over some bytes of a part of a leg.
    fn spoil(&self, volume: &RaidVolume, place: (usize, &str), byte: u64, len: u64) {
        let (file, at) = self.place(volume, place, byte);
        let noise: Vec<u8> = (0..len).map(|at| (at * 7 + 3) as u8).collect();
        file.write_all_at(&noise, at).expect("it is written");
    }

    fn legs(&self, volume: &RaidVolume) -> usize {
        let (group, name) = volume.name.split_once('/').expect("two names");
        let model = &self.scan.find_group(group).expect("the group").model;
        let is_there = |leg: &usize| model.lv_by_name(&format!("{name}_rimage_{leg}")).is_some();
        (0..16).take_while(is_there).count()
    }
}

/// What has a checksum for all that lies on its images: a bitmap says nothing of what it marks.
fn is_checked(volume: &RaidVolume) -> bool {
    let (_, name) = volume.name.split_once('_').expect("a kind and a mode");
    volume.state == "in-sync" || name.starts_with('j')
}

/// Proves: with something written over on every disk, at another place on each, every volume reads
/// as the kernel presented it; a rest of its journal included, which nobody has put in its place.
#[test]
fn images_make_up_for_what_is_wrong_on_others() {
    let bench = Bench::new();
    let mut count = 0;
    for volume in bench
        .set
        .volumes()
        .iter()
        .filter(|volume| is_checked(volume))
    {
        for leg in 0..bench.legs(volume) {
            for round in 0..3 {
                // Blocks of one row are wrong on one leg only.
                let block = 1 + leg as u64 + 16 * round;
                bench.spoil(volume, (leg, "iorig"), 2 * block * BLOCK, BLOCK);
                count += 1;
            }
        }
        let read = bench.cat(volume);
        assert_eq!(read.code, Some(0), "{}: {read}", volume.name);
        assert_eq!(sha256(&read.stdout), volume.sha256, "{}", volume.name);
    }
    assert!(count > 30, "{count} places were written over");
}

/// Proves: where all images are wrong the read fails and names the volume, and no byte that has not
/// its checksum comes out.
#[test]
fn what_is_wrong_everywhere_is_an_error() {
    let bench = Bench::new();
    for volume in bench
        .set
        .volumes()
        .iter()
        .filter(|volume| volume.state == "in-sync")
    {
        for leg in 0..bench.legs(volume) {
            bench.spoil(volume, (leg, "iorig"), 4 * BLOCK, 8);
        }
        let read = bench.cat(volume);
        assert_eq!(read.code, Some(5), "{}: {read}", volume.name);
        assert!(read.complaints().contains(&volume.name), "{read}");
        let whole = RaidSet::shared("integrity");
        let whole = on(&whole.images(), bench.folder.path()).args(["cat", &volume.name]);
        let whole = whole.succeed().stdout;
        assert!(
            whole.starts_with(&read.stdout),
            "{}: other bytes came out",
            volume.name
        );
    }
}

/// Proves: an image whose checksums are damaged is like one that is missing: its array says so, and
/// reads from the others.
#[test]
fn damaged_checksums_are_a_missing_image() {
    let bench = Bench::new();
    for volume in &bench.set.volumes() {
        // The superblock, of a leg that is not the first.
        bench.spoil(volume, (1, "imeta"), 0, SECTOR);
        let read = bench.cat(volume);
        assert_eq!(
            sha256(&read.stdout),
            volume.sha256,
            "{}: {read}",
            volume.name
        );
        let name = format!("{}_rimage_1", volume.name);
        let said = read.complaints();
        assert!(said.contains(&name) && said.contains("checksums"), "{said}");
    }
}

/// Proves: a scrub names the leg whose block is not what its checksum says, where without checksums
/// nobody could know which one is wrong.
#[test]
fn a_scrub_names_what_is_wrong() {
    let bench = Bench::new();
    let volumes = bench.set.volumes();
    for name in [
        "integrity/clean_j1",
        "integrity/clean_b4k",
        "integrity/clean_j5",
    ] {
        let volume = volumes
            .iter()
            .find(|volume| volume.name == name)
            .expect("it is there");
        bench.spoil(volume, (1, "iorig"), 6 * BLOCK, 8);
        let scrub = on(&bench.set.images(), bench.folder.path())
            .args(["scrub", name])
            .run();
        assert_eq!(scrub.code, Some(1), "{scrub}");
        let (said, leg) = (scrub.text(), |leg: usize| {
            format!("{}_rimage_{leg}", &name[10..])
        });
        assert!(said.contains(&leg(1)) && !said.contains(&leg(0)), "{scrub}");
    }
}

/// Proves: reading changes nothing; and an image is not grown or replaced without its checksums,
/// nor do these go.
#[test]
fn what_has_checksums_is_not_changed() {
    let bench = Bench::new();
    let sums = |bench: &Bench| -> Vec<String> {
        let images = bench.set.images();
        images
            .iter()
            .map(|image| sha256(&fs::read(image).expect("an image")))
            .collect()
    };
    let before = sums(&bench);
    for volume in bench.set.volumes() {
        assert_eq!(bench.cat(&volume).code, Some(0));
    }
    for line in [
        "lvreduce -y -l -1 integrity/clean_j1",
        "lvconvert -y -m 0 integrity/clean_j1",
        "lvconvert -y --splitmirrors 1 -n split integrity/clean_j1",
        "lvcreate -s -l 1 -n snapshot integrity/clean_j1",
        "lvconvert -y --stripes 3 integrity/clean_j5",
        "lvconvert -y --replace /dev/none integrity/clean_j5",
    ] {
        let tool = on(&bench.set.images(), bench.folder.path());
        let refused = tool.args(line.split(' ')).run();
        assert_ne!(refused.code, Some(0), "{line}: {refused}");
    }
    assert!(sums(&bench) == before, "a disk has changed");
}

/// Proves: what an owner reads of an array and is not what its checksum says is written anew, of
/// both modes, both sizes of blocks, mirrors and parity; and is counted where it was wrong.
#[test]
fn what_is_wrong_is_put_right_where_it_is_written() {
    // Of the first image: data there, also where there is parity.
    const PLACES: [u64; 3] = [1, 9, 42];
    let bench = Bench::new();
    let folder = bench.folder.path();
    let tool = || on(&bench.set.images(), folder).env("ASHLAR_RUNTIME_DIR", folder.join("run"));
    for name in ["clean_j1", "clean_b4k", "clean_j5"] {
        let volume = bench.set.volume(&format!("integrity/{name}"));
        let held = |place: &u64| {
            let (file, at) = bench.place(&volume, (0, "iorig"), place * BLOCK);
            let mut bytes = vec![0; BLOCK as usize];
            file.read_exact_at(&mut bytes, at).expect("it is read");
            bytes
        };
        let before: Vec<Vec<u8>> = PLACES.iter().map(held).collect();
        for place in PLACES {
            bench.spoil(&volume, (0, "iorig"), place * BLOCK, BLOCK);
        }
        let wrong: Vec<Vec<u8>> = PLACES.iter().map(held).collect();
        assert!(
            wrong
                .iter()
                .zip(&before)
                .all(|(wrong, right)| wrong != right)
        );
        let socket = folder.join(name);
        let serve = tool().args(["serve", &volume.name]);
        let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
        let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
        let mut link = NbdLink::connect(&socket, &volume.name).expect("it is served");
        let end = Instant::now() + LIMIT;
        while PLACES.iter().map(held).ne(before.iter().cloned()) {
            assert!(Instant::now() < end, "{name} is never put right");
            let (first, count) = (0, volume.bytes / BLOCK);
            let work = Work::Read { first, count };
            link.send(Command { id: 1, work }).expect("it is asked");
            let read = link.receive().expect("it is read");
            assert_eq!(sha256(&read.bytes), volume.sha256, "{name}");
        }
        let counted = |lv: &str| {
            let lvs = tool().args(["lvs", "-a", "--noheadings", "-o", "integritymismatches"]);
            lvs.arg(format!("integrity/{lv}")).succeed().text()
        };
        let counted = |lv: &str| counted(lv).trim().parse::<u64>().expect("it is counted");
        let (leg, other) = (
            counted(&format!("{name}_rimage_0")),
            counted(&format!("{name}_rimage_1")),
        );
        assert!(
            leg >= PLACES.len() as u64 && other == 0,
            "{name}: {leg}, {other}"
        );
        assert_eq!(counted(name), leg, "{name}");
        drop(link);
        assert_eq!(server.stop(), "");
        tool().arg("scrub").arg(&volume.name).succeed();
        let read = bench.cat(&volume);
        assert_eq!(sha256(&read.stdout), volume.sha256, "{name}: {read}");
    }
}

/// Proves: what is written has checksums, whatever state a stock kernel has left the volume in:
/// with something written over on every disk afterwards, at another place on each, it reads as
/// written; and what was written over is put right by a repair, so that nothing is wrong any more.
#[test]
fn what_is_written_has_checksums() {
    let bench = Bench::new();
    for volume in bench.set.volumes() {
        let mut content = bench.cat(&volume).stdout;
        for (at, byte) in content.iter_mut().enumerate() {
            *byte = byte.wrapping_add((at / 3 * 5) as u8);
        }
        let file = bench.folder.join("content");
        fs::write(&file, &content).expect("a file");
        let tool = on(&bench.set.images(), bench.folder.path());
        tool.arg("cp").arg(&file).arg(&volume.name).succeed();
        for leg in 0..bench.legs(&volume) {
            for round in 0..3 {
                // Blocks of one row are wrong on one leg only.
                let block = 1 + leg as u64 + 16 * round;
                bench.spoil(&volume, (leg, "iorig"), 2 * block * BLOCK, BLOCK);
            }
        }
        let read = bench.cat(&volume);
        assert!(
            read.stdout == content,
            "{}: {}",
            volume.name,
            read.complaints()
        );
        let scrub = |code: i32, options: &[&str]| {
            let tool = on(&bench.set.images(), bench.folder.path());
            tool.arg("scrub").args(options).arg(&volume.name).exit(code)
        };
        scrub(1, &[]);
        scrub(0, &["--repair", "-y"]);
        scrub(0, &[]);
        assert!(bench.cat(&volume).stdout == content, "{}", volume.name);
    }
}
