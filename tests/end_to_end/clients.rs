//! The clients of others write volumes of an ordinary user, and find what they wrote: fio verifies
//! every block, and qemu-img compares the whole with what it copied there.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tests::{Daemon, Group, Tool, copy_ashlar};

const NOBODY: u32 = 65534;
const SIZE: &str = "24m";

/// Disks that belong to an ordinary user, who may run the program.
struct User {
    group: Group,
    home: PathBuf,
}

impl User {
    /// A user with one volume `data`.
    fn new(layout: &[&str]) -> Self {
        let group = Group::new("clients", 3, 64 << 20);
        group.create("data", &[layout, &["-L", SIZE]].concat());
        let home = group.join("home");
        fs::create_dir(&home).expect("a directory");
        fs::set_permissions(group.join("."), fs::Permissions::from_mode(0o755)).expect("ours");
        for path in [home.clone(), group.disk(0), group.disk(1), group.disk(2)] {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("its owner");
        }
        copy_ashlar(&group.join("ashlar"));
        Self { group, home }
    }

    fn tool(&self, program: impl AsRef<std::ffi::OsStr>) -> Tool {
        Tool::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .env("ASHLAR_RUNTIME_DIR", self.home.join("run"))
            .env("LVM_LOCKING_DIR", self.home.join("locks"))
            .env("HOME", &self.home)
            .arg(program)
    }

    fn ashlar(&self) -> Tool {
        let disks = self.group.disk(0);
        let disks = disks.parent().expect("a directory").to_owned();
        let tool = self.tool(self.group.join("ashlar"));
        tool.arg("--devices").arg(disks)
    }

    /// fio writes everything in random order, with many requests in flight, and reads it again.
    fn fio(&self, engine: &[&str]) {
        for (size, order) in [("4k", "randwrite"), ("96k", "write")] {
            self.tool("fio")
                .args(["--name=verify", "--size=6m", "--iodepth=16"])
                .args([
                    "--verify=crc32c",
                    "--verify_fatal=1",
                    "--verify_state_save=0",
                ])
                .args(["--fsync=400", "--randseed=3"])
                .args([format!("--bs={size}"), format!("--rw={order}")])
                .args(engine)
                .succeed();
        }
    }

    /// qemu copies an image of the volume's size there, and finds both the same.
    fn qemu(&self, place: &str) {
        let image = self.home.join("image");
        let bytes: Vec<u8> = (0..24 << 20_u32)
            .map(|at| {
                if at >> 20 & 3 == 1 {
                    0
                } else {
                    (at / 11 % 255) as u8
                }
            })
            .collect();
        fs::write(&image, bytes).expect("an image");
        let convert = ["qemu-img", "convert", "-n", "-f", "raw", "-O", "raw"];
        self.qemu_tool(&convert, &image, place);
        self.qemu_tool(
            &["qemu-img", "compare", "-f", "raw", "-F", "raw"],
            &image,
            place,
        );
    }

    fn qemu_tool(&self, words: &[&str], image: &Path, place: &str) {
        let tool = self.tool(words[0]).args(&words[1..]);
        tool.arg(image).arg(place).succeed();
    }
}

/// Over NBD, on a mirror.
#[test]
fn fio_and_qemu_verify_what_they_write_over_nbd() {
    let user = User::new(&["--type", "mirror", "-m", "1", "--nosync"]);
    let socket = user.home.join("s");
    let serve = user.ashlar().args(["serve", "vg0/data"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let uri = format!("nbd+unix:///vg0/data?socket={}", socket.display());
    user.fio(&["--ioengine=nbd", &format!("--uri={uri}")]);
    user.qemu(&uri);
    assert_eq!(server.stop(), "");
}

/// Through the file of FUSE, on stripes.
#[test]
fn fio_and_qemu_verify_what_they_write_to_a_file() {
    let user = User::new(&["-i", "3", "-I", "16"]);
    let file = user.home.join("volume.img");
    let attach = user.ashlar().args(["attach", "vg0/data", "--file"]);
    attach.arg(&file).succeed();
    let place = format!("--filename={}", file.display());
    user.fio(&["--ioengine=libaio", "--direct=1", &place]);
    user.qemu(&file.display().to_string());
    user.ashlar().arg("detach").arg(&file).succeed();
}
