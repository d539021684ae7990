//! `image minimise` beside others: who goes back over it, who reads meanwhile.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use tests::{DiskImage, ashlar_path};

const MIB: u64 = 1 << 20;
/// The size of the volume `b`.
const SIZE: u64 = MIB;

/// An image with the group `sys` in it: a volume `b` behind a hole. The versions of the group are
/// 1: empty, 2 and 3: with `a` and `b`, 4: without `a`.
fn image(name: &str) -> DiskImage {
    let image = DiskImage::new(name, 8 * MIB);
    image.ashlar("pvcreate").arg(image.path()).succeed();
    let create = image.ashlar("vgcreate -s 256k sys").arg(image.path());
    create.succeed();
    image.ashlar("lvcreate -l 8 -n a sys").succeed();
    image.ashlar("lvcreate -l 4 -n b sys").succeed();
    let file = image.join("b");
    fs::write(&file, content()).expect("room for it");
    image.ashlar("cp").arg(&file).arg("sys/b").succeed();
    image.ashlar("lvremove -y sys/a").succeed();
    image
}

fn assert_whole(image: &DiskImage, when: &str) {
    let read = image.ashlar("cat sys/b").succeed();
    assert!(read.stdout == content(), "b, {when}");
}

/// Bytes that no other place of the volume holds.
fn content() -> Vec<u8> {
    let words = (0..SIZE / 16).map(|at| format!("b {at:>13}\n"));
    words.collect::<String>().into_bytes()
}

#[test]
fn nobody_goes_back_over_a_move() {
    // Proves: when the file has grown again, undo refuses the version in which `b` was elsewhere,
    // and `b` stays what it is.
    let image = image("image-back");
    image.minimise().succeed();
    image.grow("+8M");
    image.ashlar("pvresize").arg(image.path()).succeed();
    let undo = image.ashlar("undo -y sys --to 4").exit(5);
    let said = undo.complaints();
    assert!(said.contains("Logical volume b was moved away"), "{undo}");
    assert!(said.contains("no further than to version 5"), "{undo}");
    assert_whole(&image, "after undo was refused");
}

#[test]
fn undo_after_a_kill_keeps_what_volumes_hold() {
    // Proves: killed at each of its flushes, and taken back by undo where that does it, the command
    // leaves `b` with what it held; once `b` has moved, undo refuses.
    let image = image("image-undo-killed");
    let before = image.bytes();
    let (mut kills, mut refused) = (0, 0);
    while image.killed("fdatasync,fsync", kills + 1) {
        kills += 1;
        assert!(kills < 100, "it never ended");
        let undo = image.ashlar("undo -y sys").run();
        refused += usize::from(undo.complaints().contains("b was moved away"));
        assert_whole(&image, &format!("killed at flush {kills}, then {undo}"));
        fs::write(image.path(), &before).expect("our own image");
    }
    assert!(kills > refused && refused > 0, "{refused} of {kills}");
}

#[test]
fn nobody_reads_while_volumes_move() {
    // Proves: while somebody reads a volume, the command is refused with nothing written, and the
    // reader gets what the volume holds; afterwards it is done.
    let image = image("image-read");
    let before = image.bytes();
    let mut cat = Command::new(ashlar_path());
    cat.args(["cat", "sys/b"])
        .envs(image.environment())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut cat = cat.spawn().expect("is started");
    let mut output = cat.stdout.take().expect("is a pipe");
    // It has the image open then, and does not end before the pipe is emptied.
    let mut read = vec![0; 16];
    output.read_exact(&mut read).expect("it reads");
    let finished = image.minimise().run();
    output.read_to_end(&mut read).expect("it reads on");
    assert!(cat.wait().expect("it ends").success());
    assert_eq!(finished.code, Some(5), "{finished}");
    let said = finished.complaints();
    assert!(said.contains("may not even read it meanwhile"), "{said}");
    assert!(read == content(), "what was read, after {finished}");
    let after = image.bytes();
    assert!(before == after, "something was written");
    image.minimise().succeed();
    assert_whole(&image, "afterwards");
}
