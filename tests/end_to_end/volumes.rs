//! Reading volumes: `cat`, `cp`; and what stands on disks: `pvck`, `history`, `vgcfgbackup`.

use std::fs;
use std::os::unix::fs::MetadataExt;

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
