//! Volumes that are written while they are served and attached, and the process that owns them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tests::{Daemon, Golden, Scratch, Tool, ashlar, ashlar_path, assert_root, sha256};

/// Golden disks that may be written, a runtime folder of their own, and what runs there.
struct World {
    scratch: Scratch,
    golden: Golden,
}

/// `ashlar serve` on a unix socket.
struct Served {
    daemon: Daemon,
    socket: PathBuf,
}

impl World {
    fn new() -> Self {
        assert_root();
        Self {
            scratch: Scratch::new("owner"),
            golden: Golden::copy(),
        }
    }

    fn ashlar(&self) -> Tool {
        ashlar()
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
            .env("LVM_LOCKING_DIR", self.scratch.join("locks"))
            .arg("--devices")
            .arg(self.golden.folder())
    }

    fn serve(&self, name: &str, volumes: &[&str]) -> Served {
        let socket = self.scratch.join(name);
        let tool = self
            .ashlar()
            .arg("serve")
            .args(volumes)
            .arg(format!("--nbd=unix:{}", socket.display()));
        let daemon = Daemon::start(tool, || UnixStream::connect(&socket).is_ok());
        Served { daemon, socket }
    }

    /// The content of a volume, as it stands on the disks.
    fn cat(&self, volume: &str) -> Vec<u8> {
        self.ashlar().args(["cat", volume]).succeed().stdout
    }

    /// A file of `len` bytes that are not zeros.
    fn pattern(&self, name: &str, len: u64) -> PathBuf {
        let path = self.scratch.join(name);
        let bytes: Vec<u8> = (0..len).map(|at| (at / 7 % 251) as u8 + 1).collect();
        fs::write(&path, bytes).expect("a file");
        path
    }
}

impl Drop for World {
    /// Takes down what a failed test left, however it failed.
    fn drop(&mut self) {
        let _ = Tool::new("umount").arg(self.scratch.join("mnt")).run();
        let _ = self.ashlar().args(["detach", "--all"]).run();
    }
}

impl Served {
    fn uri(&self, volume: &str) -> String {
        format!("nbd+unix:///{volume}?socket={}", self.socket.display())
    }
}

fn hash(path: &Path) -> String {
    sha256(&fs::read(path).expect("what was written can be read"))
}

/// What clients write over NBD is on the disks, of every type that takes writes; mirrors are clean
/// afterwards, and read the same from each leg.
#[test]
fn served_volumes_are_written() {
    let world = World::new();
    let served = world.serve("s", &["vg0"]);
    let mut wanted = Vec::new();
    for name in ["linear2", "stripe3", "mirror2"] {
        let file = world.pattern(name, Golden::volume(name).size);
        let uri = served.uri(&format!("vg0/{name}"));
        let info = Tool::new("nbdinfo").args(["--json", &uri]).succeed().text();
        for can in ["can_flush", "can_fua", "can_zero", "can_multi_conn"] {
            assert!(info.contains(&format!("\"{can}\": true")), "{info}");
        }
        assert!(info.contains("\"is_read_only\": false"), "{info}");
        let copy = Tool::new("nbdcopy").args(["--flush", "--connections=2"]);
        copy.arg(&file).arg(&uri).succeed();
        wanted.push((name, hash(&file)));
    }
    let refused = world.ashlar().args(["serve", "vg0/linear1"]);
    let refused = refused.arg("--run=true").exit(5).complaints();
    assert!(refused.contains("by another ashlar"), "{refused}");
    // Who only reads is in nobody's way.
    world
        .ashlar()
        .args(["serve", "-r", "vg0/linear1", "--run=true"])
        .succeed();
    served.daemon.stop();
    for (name, sum) in &wanted {
        assert_eq!(sha256(&world.cat(&format!("vg0/{name}"))), *sum, "{name}");
    }
}

/// A file system is made on an attached node, mounted and filled; what was written is on the disks
/// when the node is gone.
#[test]
fn an_attached_node_takes_a_file_system() {
    let world = World::new();
    for volume in ["vg0/linear2", "vg0/mirror2"] {
        let node = world.ashlar().args(["attach", volume]).succeed().text();
        let node = Path::new(node.trim_end());
        Tool::new("mkfs.ext4").arg("-q").arg(node).succeed();
        let mount = world.scratch.join("mnt");
        fs::create_dir_all(&mount).expect("the mount point");
        Tool::new("mount").args([node, &mount]).succeed();
        let file = world.pattern("content", 1 << 20);
        let copy = Tool::new("cp").args([&file, &mount.join("file")]);
        copy.succeed();
        Tool::new("umount").arg(&mount).succeed();
        world.ashlar().args(["detach", volume]).succeed();
        let image = world.scratch.join("image");
        fs::write(&image, world.cat(volume)).expect("a copy");
        Tool::new("fsck.ext4")
            .args(["-f", "-n"])
            .arg(&image)
            .succeed();
        let dump = Tool::new("debugfs").args(["-R", "cat file"]).arg(&image);
        let found = dump.succeed().stdout;
        assert_eq!(sha256(&found), hash(&file), "{volume}");
    }
}

/// A volume whose group may only be read, or whose disks may, is not served for writing, and the
/// message says what to do; what may be written is written by an ordinary user too.
#[test]
fn an_ordinary_user_writes_a_file() {
    let world = World::new();
    let open = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    };
    open(world.golden.folder(), 0o755);
    let images = world.golden.images();
    for image in &images {
        open(image, 0o644);
    }
    let binary = world.scratch.join("ashlar");
    fs::copy(ashlar_path(), &binary).expect("a copy of the program");
    open(&binary, 0o755);
    open(world.scratch.path(), 0o755);
    let home = world.scratch.join("home");
    fs::create_dir(&home).expect("a folder");
    std::os::unix::fs::chown(&home, Some(65534), Some(65534)).expect("its owner");
    let user = || {
        Tool::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .env("ASHLAR_RUNTIME_DIR", home.join("run"))
            .env("ASHLAR_DEVICES", world.golden.folder())
    };
    let file = home.join("volume.img");
    let attach = || {
        let attach = user().arg(&binary).args(["attach", "vg0/stripe2x"]);
        attach.arg("--file").arg(&file)
    };
    let refused = attach().exit(5).complaints();
    assert!(refused.contains("--readonly only reads"), "{refused}");
    for image in &images {
        open(image, 0o666);
    }
    attach().succeed();
    let content = world.pattern("content", 1_000_000);
    open(&content, 0o644);
    let output = format!("of={}", file.display());
    let input = format!("if={}", content.display());
    let words = [
        "dd",
        &input,
        &output,
        "bs=10000",
        "seek=3",
        "conv=notrunc,fsync",
    ];
    user().args(words).succeed();
    user().arg(&binary).arg("detach").arg(&file).succeed();
    let found = world.cat("vg0/stripe2x");
    assert_eq!(sha256(&found[30_000..1_030_000]), hash(&content));
}
