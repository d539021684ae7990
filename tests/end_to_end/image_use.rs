//! `image minimise` beside others: who goes back over it, who reads meanwhile.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tests::{Finished, Scratch, Tool, ashlar, ashlar_path};

const MIB: u64 = 1 << 20;
/// The size of the volume `b`.
const SIZE: u64 = MIB;

/// `disk.img`, with the group `sys` in it: a volume `b` behind a hole.
struct Image {
    scratch: Scratch,
}

impl Image {
    /// The versions of the group are 1: empty, 2 and 3: with `a` and `b`, 4: without `a`.
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        scratch.sparse("disk.img", 8 * MIB);
        let image = Self { scratch };
        image.ashlar("pvcreate").arg(image.path()).succeed();
        let create = image.ashlar("vgcreate -s 256k sys").arg(image.path());
        create.succeed();
        image.ashlar("lvcreate -l 8 -n a sys").succeed();
        image.ashlar("lvcreate -l 4 -n b sys").succeed();
        let file = image.scratch.join("b");
        fs::write(&file, content()).expect("room for it");
        image.ashlar("cp").arg(&file).arg("sys/b").succeed();
        image.ashlar("lvremove -y sys/a").succeed();
        image
    }

    fn path(&self) -> PathBuf {
        self.scratch.join("disk.img")
    }

    fn on_image(&self, tool: Tool) -> Tool {
        tool.env("ASHLAR_DEVICES", self.path())
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
            .env("LVM_LOCKING_DIR", self.scratch.join("locks"))
            .env("LVM_SYSTEM_DIR", self.scratch.join("lvm"))
            .env("ASHLAR_IO", "threads")
    }

    fn ashlar(&self, line: &str) -> Tool {
        self.on_image(ashlar()).args(line.split_whitespace())
    }

    fn minimise(&self) -> Tool {
        self.ashlar("image minimise -y").arg(self.path())
    }

    fn is_whole(&self, when: &str) {
        let read = self.ashlar("cat sys/b").succeed();
        assert!(read.stdout == content(), "b, {when}");
    }
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
    let image = Image::new("image-back");
    image.minimise().succeed();
    let grow = Tool::new("truncate").args(["-s", "+8M"]);
    grow.arg(image.path()).succeed();
    image.ashlar("pvresize").arg(image.path()).succeed();
    let undo = image.ashlar("undo -y sys --to 4").exit(5);
    let said = undo.complaints();
    assert!(said.contains("Logical volume b was moved away"), "{undo}");
    assert!(said.contains("no further than to version 5"), "{undo}");
    image.is_whole("after undo was refused");
}

#[test]
fn undo_after_a_kill_keeps_what_volumes_hold() {
    // Proves: killed at each of its flushes, and taken back by undo where that does it, the command
    // leaves `b` with what it held; once `b` has moved, undo refuses.
    let image = Image::new("image-undo-killed");
    let before = fs::read(image.path()).expect("our own image");
    let (mut kills, mut refused) = (0, 0);
    while killed(&image, kills + 1) {
        kills += 1;
        assert!(kills < 100, "it never ended");
        let undo = image.ashlar("undo -y sys").run();
        refused += usize::from(undo.complaints().contains("b was moved away"));
        image.is_whole(&format!("killed at flush {kills}, then {undo}"));
        fs::write(image.path(), &before).expect("our own image");
    }
    assert!(kills > refused && refused > 0, "{refused} of {kills}");
}

#[test]
fn nobody_reads_while_volumes_move() {
    // Proves: while somebody reads a volume, the command is refused with nothing written, and the
    // reader gets what the volume holds; afterwards it is done.
    let image = Image::new("image-read");
    let before = fs::read(image.path()).expect("our own image");
    let mut cat = Command::new(ashlar_path());
    cat.args(["cat", "sys/b"])
        .env("ASHLAR_DEVICES", image.path())
        .env("ASHLAR_RUNTIME_DIR", image.scratch.join("run"))
        .env("LVM_LOCKING_DIR", image.scratch.join("locks"))
        .env("LVM_SYSTEM_DIR", image.scratch.join("lvm"))
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
    let after = fs::read(image.path()).expect("our own image");
    assert!(before == after, "something was written");
    image.minimise().succeed();
    image.is_whole("afterwards");
}

/// Whether the command was killed as it flushed for this time.
fn killed(image: &Image, call: usize) -> bool {
    let strace = Tool::new("strace")
        .args(["-f", "-qqq", "-e", "trace=fdatasync,fsync", "-e"])
        .arg(format!("inject=fdatasync,fsync:signal=KILL:when={call}"))
        .arg("-o")
        .arg(image.scratch.join("calls"))
        .arg(ashlar_path());
    let strace = image.on_image(strace);
    let finished = strace.args(["image", "minimise", "-y"]).arg(image.path());
    match finished.run() {
        Finished { code: Some(0), .. } => false,
        Finished {
            code: None | Some(137),
            ..
        } => true,
        finished => panic!("{finished}"),
    }
}
