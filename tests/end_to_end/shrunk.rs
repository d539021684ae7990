//! `image minimise --resizefs`: what is in an image gets small with it, whole at every moment.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::time::Instant;

use tests::{Access, DiskImage, LIMIT, LoopDevice, Stock, Tool, apart};

const MIB: u64 = 1 << 20;
/// Where the partition of the physical volume begins.
const PARTITION: u64 = 3 * MIB;

/// An image with a GPT and the volumes `sys/root`, with ext4 that holds a file, and `sys/raw`.
fn filled(name: &str) -> DiskImage {
    let image = DiskImage::new(name, 128 * MIB);
    let table = "label: gpt\nsize=2MiB, type=uefi\ntype=lvm\n";
    let sfdisk = Tool::new("sfdisk").arg("--quiet").arg(image.path());
    sfdisk.input(table).succeed();
    let pv = format!("{}:2", image.path().display());
    image.ashlar("vgcreate -s 1m sys").arg(pv).succeed();
    image.ashlar("lvcreate -L 80m -n root sys").succeed();
    image.ashlar("lvcreate -L 4m -n raw sys").succeed();
    let content = image.join("content");
    fs::create_dir_all(&content).expect("a directory");
    fs::write(content.join("data"), data()).expect("room for it");
    let made = image.sparse("root.img", 80 * MIB);
    let mkfs = Tool::new("mkfs.ext4").args(["-q", "-d"]).arg(&content);
    mkfs.arg(&made).succeed();
    image.ashlar("cp").arg(&made).arg("sys/root").succeed();
    let raw = image.join("raw");
    fs::write(&raw, &data()[..4 * MIB as usize]).expect("room for it");
    image.ashlar("cp").arg(&raw).arg("sys/raw").succeed();
    image
}

/// Bytes of which no block is like another.
fn data() -> Vec<u8> {
    let words = (0..9 * MIB / 16).map(|at| format!("data {at:>10}\n"));
    words.collect::<String>().into_bytes()
}

fn shrink(image: &DiskImage) -> Tool {
    image.ashlar("image minimise -r -y").arg(image.path())
}

/// Both volumes hold what they held, in a file system that is sound.
fn assert_whole(image: &DiskImage, when: &str) {
    let raw = image.ashlar("cat sys/raw").succeed().stdout;
    assert!(raw == data()[..4 * MIB as usize], "raw, {when}");
    let root = image.join("read.img");
    fs::write(&root, image.ashlar("cat sys/root").succeed().stdout).expect("room for it");
    // A killed e2fsck or resize2fs leaves a state that e2fsck mends by itself.
    let check = Tool::new("e2fsck").args(["-f", "-p"]).arg(&root).run();
    assert!(matches!(check.code, Some(0 | 1)), "{when}: {check}");
    let dump = Tool::new("debugfs").args(["-R", "cat data"]).arg(&root);
    assert!(dump.succeed().stdout == data(), "data, {when}");
}

/// The size of `sys/root`, in MiB.
fn size(image: &DiskImage) -> u64 {
    let fields = "lvs --noheadings --nosuffix --units m -o lv_size sys/root";
    let text = image.ashlar(fields).succeed().text();
    let whole = text.trim().split('.').next().expect("a number");
    whole.parse().expect("a size")
}

#[test]
fn file_systems_get_small_with_their_image() {
    // Proves: the plan writes nothing and promises no less than what comes; then the file system
    // is sound, holds what it held, and the image is short; stock accepts it, and a second time
    // nothing is done. What is not a file system keeps its size, and that is said.
    let image = filled("shrunk");
    let before = image.bytes();
    let plan = image.ashlar("plan --json image minimise -r");
    let plan = plan.arg(image.path()).succeed().text();
    assert!(before == image.bytes(), "only a look");
    assert!(plan.contains("\"lv_name\":\"root\", \"gets\""), "{plan}");
    let kept = "Logical volume sys/raw keeps its size: no file system was found on it.";
    assert!(plan.contains(kept), "{plan}");
    let promised = plan.split("\"bytes\":").nth(1).expect("a size");
    let promised = promised.split('}').next().expect("its end");
    let promised: u64 = promised.trim().parse().expect("a number");
    let done = shrink(&image).succeed();
    let said = format!("{}{}", done.text(), done.complaints());
    assert!(said.contains(kept), "{said}");
    assert!(size(&image) < 40, "{} MiB", size(&image));
    assert!(
        promised < 60 * MIB && image.size() <= promised,
        "{promised}"
    );
    let used = (size(&image) + 4) * MIB;
    assert_eq!(image.size(), PARTITION + MIB + used + MIB, "{said}");
    assert_whole(&image, "minimised");
    let root = image.join("read.img");
    fs::write(&root, image.ashlar("cat sys/root").succeed().stdout).expect("room for it");
    Tool::new("e2fsck").arg("-fn").arg(&root).succeed();
    let verify = Tool::new("sfdisk").arg("--verify").arg(image.path());
    verify.succeed();
    let cut = image.join("pv.img");
    fs::write(&cut, &image.bytes()[PARTITION as usize..]).expect("room for it");
    {
        let device = LoopDevice::attach(&cut, Access::ReadWrite);
        let stock = Stock::on([&device]);
        stock.without_driver("vgck").arg("sys").succeed();
    }
    let small = image.bytes();
    let again = shrink(&image).succeed().text();
    assert!(again.contains("is as short as it can be."), "{again}");
    assert!(small == image.bytes(), "nothing is left to do");
    let plan = image.ashlar("plan image minimise -r").arg(image.path());
    let plan = plan.succeed().text();
    assert!(plan.contains("is as short as it can be."), "{plan}");
}

#[test]
fn a_kill_between_the_steps_leaves_what_works() {
    // Proves: killed in front of and behind the file system's own step, the command leaves what the
    // volumes held; run again, it ends where one that was not killed does.
    let image = filled("shrunk-killed");
    let before = image.bytes();
    shrink(&image).succeed();
    let least = image.size();
    let bin = image.join("bin");
    fs::create_dir_all(&bin).expect("a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", bin.display());
    let tool = bin.join("resize2fs");
    for steps in [
        "kill -KILL $PPID",
        "/usr/sbin/resize2fs $@; kill -KILL $PPID",
    ] {
        fs::write(image.path(), &before).expect("room for it");
        let look = "[ $1 != -P ] || exec /usr/sbin/resize2fs $@";
        fs::write(&tool, format!("#!/bin/sh\n{look}\n{steps}\n")).expect("is written");
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("is ours");
        let killed = shrink(&image).env("PATH", &path).run();
        assert_eq!(killed.code, None, "{steps}: {killed}");
        let end = Instant::now() + LIMIT;
        while !image.ashlar("owners").succeed().text().is_empty() {
            // The server of the killed command detaches the volume by itself.
            assert!(Instant::now() < end, "still served");
            std::thread::yield_now();
        }
        assert_eq!(size(&image), 80, "{steps}");
        assert_whole(&image, steps);
        if steps.starts_with("/usr") {
            // Nothing says any more that what lies behind the file system is a rest of it.
            let said = shrink(&image).succeed();
            assert!(said.to_string().contains("ends before it does"), "{said}");
            assert_eq!(size(&image), 80, "{steps}");
            image.ashlar("lvreduce -y -r -L 24m sys/root").succeed();
            shrink(&image).succeed();
            assert!(size(&image) <= 24, "{steps}");
            assert_whole(&image, steps);
            continue;
        }
        shrink(&image).succeed();
        assert_eq!(image.size(), least, "{steps}, and done again");
        assert_whole(&image, "done again");
    }
}

#[test]
fn what_lies_behind_a_file_system_is_kept() {
    // Proves: a volume whose file system ends before it does keeps its size and what is behind,
    // as the superblock of an array is.
    let image = filled("shrunk-behind");
    let made = image.sparse("small.img", 40 * MIB);
    Tool::new("mkfs.ext4").arg("-q").arg(&made).succeed();
    let file = fs::File::options().write(true).open(&made);
    let file = file.expect("our own image");
    file.set_len(80 * MIB).expect("room for it");
    file.write_all_at(b"precious", 80 * MIB - 4096)
        .expect("room for it");
    image.ashlar("cp -y").arg(&made).arg("sys/root").succeed();
    let said = shrink(&image).succeed();
    assert!(said.to_string().contains("ends before it does"), "{said}");
    assert_eq!(size(&image), 80);
    let held = image.ashlar("cat sys/root").succeed().stdout;
    assert!(held == fs::read(&made).expect("our own image"));
}

#[test]
fn what_cannot_get_small_is_kept_alone() {
    // Proves: a file system that resize2fs refuses, or a volume that may not be written, keeps its
    // size with a note that names the volume, and the rest of the image gets small all the same.
    let image = filled("shrunk-kept");
    let made = image.sparse("made.img", 80 * MIB);
    let fill = |mkfs: &str, after: &str| {
        let script = format!("mkfs.ext4 -q -F {mkfs} \"$1\"; {after}");
        let tool = Tool::new("sh").args(["-ec", &script, "sh"]).arg(&made);
        tool.succeed();
        image.ashlar("cp -y").arg(&made).arg("sys/root").succeed();
    };
    let assert_kept = |why: &str| {
        let said = shrink(&image).succeed().to_string();
        let note = "Logical volume sys/root keeps its size: ";
        assert!(said.contains(note) && said.contains(why), "{said}");
        assert_eq!(size(&image), 80, "{why}");
        let held = image.ashlar("cat sys/root").succeed().stdout;
        assert!(held == fs::read(&made).expect("our own image"), "{why}");
    };
    fill("-O bigalloc", "");
    assert_kept("bigalloc");
    assert!(image.size() < 128 * MIB, "the rest got small");
    fill("", "debugfs -w -R 'ssv state 2' \"$1\"");
    assert_kept("resize2fs failed");
    fill("", "");
    image.ashlar("lvchange -pr sys/root").succeed();
    assert_kept("it is read-only");
}

#[test]
fn a_missing_tool_is_named_before_anything_is_written() {
    // Proves: without resize2fs the command says what to install, and writes nothing; nor does it
    // without an answer, nor with -t.
    let image = filled("shrunk-missing");
    let before = image.bytes();
    let program = tests::ashlar_path();
    // Hidden below a file that nobody can run, where nobody else sees it.
    let line = format!(
        "mount --bind /dev/null /usr/sbin/resize2fs; exec {} image minimise -r -y {}",
        program.display(),
        image.path().display()
    );
    let missing = image.on_image(apart(&image.join("."), &line)).exit(5);
    let words = "not installed: resize2fs (Debian's package e2fsprogs). Nothing was changed.";
    assert!(missing.complaints().contains(words), "{missing}");
    let asked = image.ashlar("image minimise -r").arg(image.path());
    let asked = asked.input("n\n").exit(5);
    assert!(asked.complaints().contains("was not changed."), "{asked}");
    shrink(&image).arg("-t").succeed();
    assert!(before == image.bytes(), "nothing was written");
}
