//! Reading volumes: `cat`, `cp`; and what stands on disks: `pvck`, `history`, `vgcfgbackup`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use ashlar::lock::{LockByte, lock_pvs};
use block::file::LockMode;
use tests::{Access, Golden, LoopDevice, Scratch, Stock, Tool, ashlar, sha256};

/// The volumes whose types are served.
const SERVED: &[&str] = &[
    "linear1", "linear2", "stripe3", "stripe2x", "mirror2", "ext4",
];

/// The program on the golden disks.
fn on(golden: &Golden, words: &[&str]) -> Tool {
    ashlar().arg("--devices").arg(golden.folder()).args(words)
}

/// `cat` prints what the kernel read, with both I/O engines.
#[test]
fn cat_prints_what_the_kernel_read() {
    let golden = Golden::shared();
    for engine in ["threads", "uring"] {
        for name in SERVED {
            let volume = Golden::volume(name);
            let content = on(&golden, &["cat", &format!("vg0/{name}")])
                .env("ASHLAR_IO", engine)
                .succeed()
                .stdout;
            assert_eq!(content.len() as u64, volume.size, "{name} through {engine}");
            assert_eq!(sha256(&content), volume.sha256, "{name} through {engine}");
        }
    }
}

/// `cp` copies the same, with holes, and replaces what was there.
#[test]
fn cp_makes_a_sparse_copy() {
    let golden = Golden::shared();
    let scratch = Scratch::new("cp");
    let copy = scratch.join("ext4.img");
    fs::write(&copy, vec![0xff; 32 << 20]).expect("an older file");
    on(&golden, &["cp", "vg0/ext4"]).arg(&copy).succeed();
    let volume = Golden::volume("ext4");
    assert_eq!(sha256(&fs::read(&copy).expect("the copy")), volume.sha256);
    let known = fs::metadata(&copy).expect("the copy");
    assert_eq!(known.len(), volume.size);
    assert!(
        known.blocks() * 512 < volume.size,
        "{} blocks",
        known.blocks()
    );
}

/// `cp` fills volumes of every type from files and from each other, with holes, and leaves what
/// lies behind the file; stock finds nothing wrong with the disks.
#[test]
fn cp_fills_a_volume() {
    let golden = Golden::copy();
    let scratch = Scratch::new("cp-into");
    let file = scratch.join("content");
    let content = |name: &str| on(&golden, &["cat", name]).succeed().stdout;
    for name in ["linear2", "stripe3", "mirror2"] {
        let (name, size) = (format!("vg0/{name}"), Golden::volume(name).size as usize);
        let before = content(&name);
        // Data, a hole, data that ends in the middle of a block.
        let end = size - 5000;
        let mut expected: Vec<u8> = (0..end).map(|at| (at / 7) as u8 | 1).collect();
        expected[100_000..700_000].fill(0);
        fs::write(&file, &expected).expect("a file");
        Tool::new("fallocate").args(["-d"]).arg(&file).succeed();
        let copied = on(&golden, &["cp"]).arg(&file).arg(&name).succeed();
        assert_eq!(copied.text() + &copied.complaints(), "");
        expected.extend(&before[end..]);
        assert!(content(&name) == expected, "{name}");
    }
    let (small, large) = ("vg0/linear1", "vg0/linear2");
    on(&golden, &["cp", large, small]).exit(5);
    on(&golden, &["cp", small, "/dev/vg0/linear2"]).succeed();
    let (from, to) = (content(small), content(large));
    assert!(from == to[..from.len()], "a volume from another");
    let attach = |image: &std::path::PathBuf| LoopDevice::attach(image, Access::ReadOnly);
    let loops: Vec<LoopDevice> = golden.images().iter().map(attach).collect();
    Stock::on(&loops).without_driver("vgck").succeed();
}

/// What must not be overwritten is not: too small, read-only, a disk, held by somebody, unclear.
#[test]
fn cp_refuses_what_it_must_not_write() {
    let golden = Golden::copy();
    let scratch = Scratch::new("cp-refused");
    let large = scratch.sparse("large.img", 64 << 20);
    let complaints = |from: &str, to: &str| {
        on(&golden, &["cp", from, to])
            .exit(5)
            .complaints()
            .replace('\n', " ")
    };
    let large = large.display().to_string();
    assert!(complaints(&large, "vg0/linear1").contains("do not fit into vg0/linear1"));
    let disk = golden.image(0).display().to_string();
    assert!(complaints("vg0/linear1", &disk).contains("carries a physical volume"));
    assert!(complaints(&large, &disk).contains("names no logical volume"));
    assert!(complaints("/nonexistent", "vg0/linear1").contains("/nonexistent"));
    assert!(complaints(&large, "vg0/nosuch").contains("Failed to find logical volume"));
    assert!(complaints("vg0/linear1", "/dev/vg0/linear1").contains("into itself"));
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(golden.image(0));
    let file = file.expect("an image");
    let name = "another process";
    let held = lock_pvs(
        &[(name, file)],
        LockByte::Owner,
        LockMode::Shared,
        Duration::ZERO,
    );
    let held = held.expect("nobody else has it");
    let small = scratch.sparse("small.img", 1 << 20).display().to_string();
    assert!(complaints(&small, "vg0/linear1").contains("by another ashlar"));
    drop(held);
    on(&golden, &["lvchange", "-pr", "vg0/linear1"]).succeed();
    assert!(complaints(&small, "vg0/linear1").contains("read-only"));
    on(&golden, &["lvchange", "-prw", "vg0/linear1"]).succeed();
    on(&golden, &["--test", "cp", &large, "vg0/linear1"]).exit(5);
    on(&golden, &["cp", &small, "vg0/linear1"]).succeed();
}

/// A volume that does not exist, or cannot be read, or a file that cannot be written, is named.
#[test]
fn what_cannot_be_copied_is_named() {
    let golden = Golden::shared();
    let complaints = |words: &[&str]| on(&golden, words).exit(5).complaints();
    assert!(complaints(&["cat", "vg0/nosuch"]).contains("\"vg0/nosuch\""));
    assert!(complaints(&["cat", "nosuch/linear1"]).contains("\"nosuch\""));
    let file = "/nonexistent/copy.img";
    assert!(complaints(&["cp", "vg0/linear1", file]).contains(file));
    assert!(
        on(&golden, &["cat"])
            .exit(3)
            .complaints()
            .contains("vg0/root")
    );
}

/// `pvck --dump` prints what stock prints, byte by byte.
#[test]
fn dumps_are_stocks() {
    let golden = Golden::shared();
    let disk = LoopDevice::attach(&golden.image(0), Access::ReadOnly);
    let stock = Stock::on([&disk]);
    let path = disk.path().display().to_string();
    for words in [
        &["--dump", "headers"][..],
        &["--dump", "metadata"],
        &["--dump", "metadata_all"],
        &["--dump", "metadata_all", "-v"],
        &["--dump", "metadata_search"],
        &["--dump", "metadata_search", "--settings", "seqno=40"],
        &[
            "--dump",
            "metadata_search",
            "--settings",
            "metadata_offset=592896",
        ],
        &["--dump", "nonsense"],
        &[],
    ] {
        let expected = stock.without_driver("pvck").args(words).arg(&path).run();
        let found = ashlar().arg("pvck").args(words).arg(&path).run();
        assert_eq!(found.text(), expected.text(), "pvck {words:?}");
        assert_eq!(found.code, expected.code, "pvck {words:?}");
    }
}

/// Damaged headers are printed all the same, with a mark, as stock does.
#[test]
fn damaged_headers_are_dumped() {
    let golden = Golden::shared();
    let scratch = Scratch::new("pvck");
    let image = scratch.join("damaged.img");
    golden.copy_image(0, &image);
    let mut bytes = fs::read(&image).expect("the image");
    bytes[720] ^= 0xff;
    bytes[4200] ^= 0xff;
    fs::write(&image, bytes).expect("the image");
    let disk = LoopDevice::attach(&image, Access::ReadOnly);
    let stock = Stock::on([&disk]);
    let words = ["--dump", "headers"];
    let expected = stock
        .without_driver("pvck")
        .args(words)
        .arg(disk.path())
        .run();
    let found = ashlar().arg("pvck").args(words).arg(disk.path()).run();
    assert_eq!(found.text(), expected.text());
    assert!(found.text().contains("CHECK: label_header.crc expected"));
    assert_eq!(found.code, expected.code);
}

/// `history` lists all 44 versions, and gives the text of one.
#[test]
fn history_lists_and_prints_versions() {
    let golden = Golden::shared();
    let list = on(&golden, &["history", "vg0"]).succeed().text();
    assert_eq!(list.lines().count(), 45, "{list}");
    let newest = list.lines().nth(1).expect("a version");
    assert!(
        newest.starts_with("  *   44 2026-11-21 02:35:29"),
        "{newest}"
    );
    assert!(newest.ends_with("vgchange --addtag set.a vg0."), "{newest}");
    let old = on(&golden, &["history", "vg0", "--seqno", "2"])
        .succeed()
        .text();
    assert!(
        old.starts_with("vg0 {\n") && old.contains("\nseqno = 2\n"),
        "{old}"
    );
    assert!(
        on(&golden, &["history", "vg0", "--seqno", "99"])
            .exit(5)
            .complaints()
            .contains("99")
    );
}

/// `vgcfgbackup` writes what stock writes, but for the remarks about who wrote it, and when.
#[test]
fn backups_are_stocks() {
    let scratch = Scratch::new("backup");
    let golden = Golden::shared();
    let attach = |image: &std::path::PathBuf| LoopDevice::attach(image, Access::ReadOnly);
    let loops: Vec<LoopDevice> = golden.images().iter().map(attach).collect();
    let stock = Stock::on(&loops);
    let (theirs, ours) = (scratch.join("%s.stock"), scratch.join("%s.ashlar"));
    stock
        .without_driver("vgcfgbackup")
        .arg("-f")
        .arg(&theirs)
        .succeed();
    let devices: Vec<String> = loops
        .iter()
        .map(|device| device.path().display().to_string())
        .collect();
    let report = ashlar()
        .args(["--devices", &devices.join(","), "vgcfgbackup", "-f"])
        .arg(&ours)
        .succeed();
    assert_eq!(
        report.text(),
        "  Volume group \"vg0\" successfully backed up.\n"
    );
    let read = |name: &str| {
        let text = fs::read_to_string(scratch.join(name)).expect("a backup");
        let remark = |line: &&str| {
            ["# Generated", "description"]
                .iter()
                .all(|start| !line.starts_with(start))
        };
        let lines: Vec<&str> = text.lines().filter(remark).collect();
        // The time of the backup is the only one that is not indented.
        let time = |line: &&str| !line.starts_with("creation_time");
        lines
            .into_iter()
            .filter(time)
            .map(|line| line.to_owned() + "\n")
            .collect::<String>()
    };
    assert_eq!(read("vg0.ashlar"), read("vg0.stock"));
}

/// A healthy group is in order; one with missing disks is not.
#[test]
fn vgck_speaks_up_where_something_is_wrong() {
    let golden = Golden::shared();
    assert_eq!(on(&golden, &["vgck"]).succeed().text(), "");
    let complaints = ashlar()
        .arg("--devices")
        .arg(golden.image(0))
        .args(["vgck", "vg0"])
        .exit(5)
        .complaints();
    assert!(
        complaints.contains("missing 4 physical volumes"),
        "{complaints}"
    );
}
