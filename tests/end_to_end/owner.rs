//! Volumes that are written while they are served and attached, and the process that owns them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use block::{BlockingDevice, Range};
use nbd::client::NbdDevice;
use tests::{
    Daemon, Golden, LIMIT, Mounted, Scratch, Tool, ashlar, assert_fuse_for_all, assert_root,
    copy_ashlar, sha256,
};

/// Golden disks that may be written, a runtime folder of their own, and what runs there.
pub(crate) struct World {
    pub(crate) scratch: Scratch,
    golden: Golden,
}

/// `ashlar serve` on a unix socket.
pub(crate) struct Served {
    pub(crate) daemon: Daemon,
    socket: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        assert_root();
        Self {
            scratch: Scratch::new("owner"),
            golden: Golden::copy(),
        }
    }

    pub(crate) fn ashlar(&self) -> Tool {
        ashlar()
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
            .env("LVM_LOCKING_DIR", self.scratch.join("locks"))
            .arg("--devices")
            .arg(self.golden.folder())
    }

    pub(crate) fn serve(&self, name: &str, volumes: &[&str]) -> Served {
        self.serve_with(name, volumes, &[])
    }

    pub(crate) fn serve_with(&self, name: &str, volumes: &[&str], options: &[&str]) -> Served {
        let socket = self.scratch.join(name);
        let tool = self
            .ashlar()
            .arg("serve")
            .args(volumes)
            .args(options)
            .arg(format!("--nbd=unix:{}", socket.display()));
        let daemon = Daemon::start(tool, || UnixStream::connect(&socket).is_ok());
        Served { daemon, socket }
    }

    /// The content of a volume, as it stands on the disks.
    pub(crate) fn cat(&self, volume: &str) -> Vec<u8> {
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
    pub(crate) fn uri(&self, volume: &str) -> String {
        format!("nbd+unix:///{volume}?socket={}", self.socket.display())
    }

    /// A client that stays.
    pub(crate) fn device(&self, volume: &str) -> NbdDevice {
        NbdDevice::open(&self.uri(volume)).expect("it is served")
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
    // Somebody who cannot find the owner is refused, and told who it is.
    let elsewhere = world
        .ashlar()
        .env("ASHLAR_RUNTIME_DIR", world.scratch.join("elsewhere"));
    let refused = elsewhere.args(["serve", "vg0/linear1", "--run=true"]);
    let refused = refused.exit(5).complaints();
    let owner = format!("by another ashlar (process {})", served.daemon.pid());
    assert!(refused.contains(&owner), "{refused}");
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
        let mounted = Mounted::new(node, &mount, &[]);
        let file = world.pattern("content", 1 << 20);
        let copy = Tool::new("cp").args([&file, &mount.join("file")]);
        copy.succeed();
        mounted.unmount();
        world.ashlar().args(["detach", volume]).succeed();
        let image = world.scratch.join("image");
        fs::write(&image, world.cat(volume)).expect("a copy");
        check_files(&image);
        let dump = Tool::new("debugfs").args(["-R", "cat file"]).arg(&image);
        let found = dump.succeed().stdout;
        assert_eq!(sha256(&found), hash(&file), "{volume}");
    }
}

/// Whether the file system on a node or in an image is sound.
fn check_files(on: impl AsRef<Path>) {
    Tool::new("fsck.ext4")
        .args(["-f", "-n"])
        .arg(on.as_ref())
        .succeed();
}

/// A volume whose group may only be read, or whose disks may, is not served for writing, and the
/// message says what to do; what may be written is written by an ordinary user too.
#[test]
fn an_ordinary_user_writes_a_file() {
    assert_fuse_for_all();
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
    copy_ashlar(&binary);
    open(world.scratch.path(), 0o755);
    let home = world.scratch.join("home");
    fs::create_dir(&home).expect("a directory");
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

/// A served volume is extended by a command of its own process, which the owner runs: the client
/// that is connected goes on, and those that ask are told the new size. A second serve adds its
/// volume in the owner, and what is served cannot be removed.
#[test]
fn a_served_volume_is_extended_and_shared() {
    let world = World::new();
    let served = world.serve("s", &["vg0/linear1"]);
    let size = |uri: &str| {
        let size = Tool::new("nbdinfo").args(["--size", uri]).succeed().text();
        size.trim().parse::<u64>().expect("a size")
    };
    let uri = served.uri("vg0/linear1");
    let before = size(&uri);
    let extend = world.ashlar().args(["lvextend", "-l", "+2", "vg0/linear1"]);
    let said = extend.succeed().text();
    assert!(said.contains("successfully resized"), "{said}");
    let after = size(&uri);
    assert!(after > before, "{before} became {after}");
    let file = world.pattern("whole", after);
    let copy = Tool::new("nbdcopy").arg("--flush");
    copy.arg(&file).arg(&uri).succeed();
    let second = world.serve("t", &["vg0/stripe3"]);
    let other = world.pattern("other", Golden::volume("stripe3").size);
    let copy = Tool::new("nbdcopy").arg("--flush").arg(&other);
    copy.arg(second.uri("vg0/stripe3")).succeed();
    for volume in ["vg0/linear1", "vg0/stripe3"] {
        let remove = world.ashlar().args(["lvremove", "-y", volume]);
        let refused = remove.exit(5).complaints();
        assert!(refused.contains("in use"), "{refused}");
    }
    second.daemon.stop();
    let remove = world.ashlar().args(["lvremove", "-y", "vg0/stripe3"]);
    remove.succeed();
    let rename = world
        .ashlar()
        .args(["lvrename", "vg0/linear1", "vg0/renamed"]);
    rename.succeed();
    assert_eq!(size(&served.uri("vg0/renamed")), after);
    served.daemon.stop();
    assert_eq!(sha256(&world.cat("vg0/renamed")), hash(&file));
    assert_eq!(
        fs::read_dir(world.scratch.join("run/groups"))
            .unwrap()
            .count(),
        0
    );
}

/// A command runs as a whole where the first group has its owner that its operands name, whatever
/// comes before it: nothing is done before it is known where.
#[test]
fn a_command_runs_in_one_process() {
    let world = World::new();
    let image = world.golden.folder().join("free.img");
    let file = fs::File::create(&image).expect("a file");
    file.set_len(32 << 20).expect("a size");
    let image = image.display().to_string();
    for words in [
        &["vgcreate", "free", &image][..],
        &["lvcreate", "-y", "-L4m", "-n", "data", "free"],
    ] {
        world.ashlar().args(words).succeed();
    }
    let served = world.serve("s", &["vg0/linear1"]);
    let remove = world.ashlar().args(["lvremove", "-y"]);
    let removed = remove.args(["free/data", "vg0/stripe3"]).succeed();
    let said = removed.text();
    for volume in ["\"data\"", "\"stripe3\""] {
        assert_eq!(said.matches(volume).count(), 1, "{removed}");
    }
    served.daemon.stop();
    let left = world
        .ashlar()
        .args(["lvs", "--noheadings", "-o", "lv_name"]);
    let left = left.succeed().text();
    assert!(
        !left.contains("data") && !left.contains("stripe3"),
        "{left}"
    );
}

/// A line that is too long for an owner is refused with what to do, and the owner goes on.
#[test]
fn lines_that_are_too_long_for_an_owner_are_refused() {
    let world = World::new();
    let served = world.serve("nbd.sock", &["vg0/linear1"]);
    let names = vec!["vg0/linear1"; 8000];
    let tool = world.ashlar().args(["lvchange", "--addtag", "x"]);
    let refused = tool.args(names).exit(5).complaints();
    assert!(refused.contains("name fewer at once"), "{refused}");
    world
        .ashlar()
        .args(["lvchange", "--addtag", "x", "vg0/linear1"])
        .succeed();
    drop(served);
}

/// Attached nodes, the second of them served by the first one's process, grow with their volumes;
/// the second goes away by itself, and the first one's process stays for it.
#[test]
fn attached_nodes_grow() {
    let world = World::new();
    let attach = |volume: &str| {
        let node = world.ashlar().args(["attach", volume]).succeed().text();
        PathBuf::from(node.trim_end())
    };
    let (first, second) = (attach("vg0/linear1"), attach("vg0/linear2"));
    for (volume, node) in [("vg0/linear1", &first), ("vg0/linear2", &second)] {
        let size = || {
            let size = Tool::new("blockdev").arg("--getsize64").arg(node).succeed();
            size.text().trim().parse::<u64>().expect("a size")
        };
        Tool::new("mkfs.ext4").arg("-q").arg(node).succeed();
        let before = size();
        let extend = world.ashlar().args(["lvextend", "-l", "+1", volume]);
        extend.succeed();
        assert!(size() > before, "{volume} grows under its users");
        Tool::new("resize2fs").arg(node).succeed();
        check_files(node);
    }
    // The owner's own volume goes; the other one stays.
    world.ashlar().args(["detach", "vg0/linear1"]).succeed();
    check_files(&second);
    world.ashlar().args(["detach", "vg0/linear2"]).succeed();
    for volume in ["vg0/linear1", "vg0/linear2"] {
        let image = world.scratch.join("image");
        fs::write(&image, world.cat(volume)).expect("a copy");
        check_files(&image);
    }
}

/// A volume becomes a mirror and one volume again while it is written, and nothing is lost.
#[test]
fn a_served_volume_becomes_a_mirror_and_back() {
    let world = World::new();
    let served = world.serve("s", &["vg0/linear1"]);
    let uri = served.uri("vg0/linear1");
    let content = |name: &str, seed: u64| {
        let path = world.scratch.join(name);
        let size = Golden::volume("linear1").size;
        let bytes: Vec<u8> = (0..size).map(|at| ((at / 11 + seed) % 251) as u8).collect();
        fs::write(&path, bytes).expect("a file");
        path
    };
    for (seed, change) in [(1, "-m1"), (2, "-m0")] {
        let convert = world
            .ashlar()
            .args(["lvconvert", "-y", change, "--type", "mirror"]);
        let convert = if change == "-m0" {
            world.ashlar().args(["lvconvert", "-y", change])
        } else {
            convert
        };
        convert
            .args(["--mirrorlog", "core", "vg0/linear1"])
            .succeed();
        let file = content("content", seed);
        let copy = Tool::new("nbdcopy").arg("--flush");
        copy.arg(&file).arg(&uri).succeed();
        assert_eq!(sha256(&world.cat("vg0/linear1")), hash(&file), "{change}");
    }
    served.daemon.stop();
    assert_eq!(
        sha256(&world.cat("vg0/linear1")),
        hash(&world.scratch.join("content"))
    );
}

/// A mirror is extended and reduced while it is written: clients go on and see its new size, what
/// is new is copied, what they wrote stands on both legs, and who reads behind the new end gets an
/// error.
#[test]
fn a_served_mirror_gets_another_size() {
    let world = World::new();
    let served = world.serve("s", &["vg0/mirror2"]);
    let uri = served.uri("vg0/mirror2");
    let size = || {
        let size = Tool::new("nbdinfo").args(["--size", &uri]).succeed().text();
        size.trim().parse::<u64>().expect("a size")
    };
    let extent = 1 << 20;
    let before = size();
    let device = served.device("vg0/mirror2");
    let mut client = BlockingDevice::open(&device).expect("a queue");
    let last = before - 8192;
    client.write_at(&[0x11; 8192], last).expect("is written");
    let extend = world.ashlar().args(["lvextend", "-l", "+3", "vg0/mirror2"]);
    let said = extend.succeed().text();
    assert!(said.contains("Extending 2 mirror images."), "{said}");
    let after = size();
    assert_eq!(after - before, 3 * extent);
    let read = client.read(Range::new(last, 8192)).expect("is read");
    assert_eq!(read, [0x11; 8192]);
    let file = world.pattern("whole", after);
    let copy = Tool::new("nbdcopy").arg("--flush");
    copy.arg(&file).arg(&uri).succeed();
    assert_eq!(sha256(&world.cat("vg0/mirror2")), hash(&file));

    let reduce = world.ashlar().args(["lvreduce", "-y", "-l", "-4"]);
    reduce.arg("vg0/mirror2").succeed();
    assert_eq!(size(), before - extent);
    let behind = client.read(Range::new(last, 8192));
    behind.expect_err("nothing is there");
    let behind = client.write_at(&[0x33; 8192], last);
    behind.expect_err("nothing is there");
    client.write_at(&[0x22; 8192], 0).expect("the rest goes on");
    let extend = world.ashlar().args(["lvextend", "-l", "+4", "vg0/mirror2"]);
    extend.succeed();
    drop((client, device));
    // What is new is copied.
    let end = Instant::now() + LIMIT;
    let leg = |name: &str| sha256(&world.cat(name));
    while leg("vg0/mirror2_mimage_0") != leg("vg0/mirror2_mimage_1") {
        assert!(Instant::now() < end, "both legs hold the same at last");
        std::thread::sleep(Duration::from_millis(50));
    }
    served.daemon.stop();
    let whole = world.cat("vg0/mirror2");
    assert_eq!(whole.len() as u64, after);
    assert!(whole[..8192] == [0x22; 8192]);
    let kept = (before - extent) as usize;
    let wanted = fs::read(&file).expect("what was written");
    assert!(whole[8192..kept] == wanted[8192..kept]);
}

/// A volume is reduced while it is served after a question, as by stock; who reads or writes behind
/// the new end gets an error, and the rest is what it was.
#[test]
fn a_served_volume_is_reduced() {
    let world = World::new();
    let served = world.serve("s", &["vg0/linear2"]);
    let size = Golden::volume("linear2").size;
    let file = world.pattern("content", size);
    let copy = Tool::new("nbdcopy").arg("--flush").arg(&file);
    copy.arg(served.uri("vg0/linear2")).succeed();
    let device = served.device("vg0/linear2");
    let mut client = BlockingDevice::open(&device).expect("a queue");
    let reduce = || world.ashlar().args(["lvreduce", "-l", "-2", "vg0/linear2"]);
    let asked = reduce().exit(5).complaints();
    for part in [
        "WARNING: Reducing active and open logical volume to ",
        "THIS MAY DESTROY YOUR DATA (filesystem etc.)",
        "Do you really want to reduce vg0/linear2? [y/n]: ",
        "Logical volume vg0/linear2 NOT reduced.",
    ] {
        assert!(asked.contains(part), "{asked}");
    }
    let last = Range::new(size - 4096, 4096);
    client.read(last).expect("nothing was changed");
    let said = reduce().arg("-y").succeed();
    assert!(said.text().contains("successfully resized"));
    let after = size - (2 << 20);
    for range in [
        last,
        Range::new(after - 4096, 8192),
        Range::new(after, 4096),
    ] {
        client.read(range).expect_err("nothing is there");
    }
    client
        .write_at(&[9; 4096], after)
        .expect_err("nothing is there");
    client.write_at(&[9; 4096], 0).expect("the rest goes on");
    drop((client, device));
    served.daemon.stop();
    let found = world.cat("vg0/linear2");
    let mut wanted = fs::read(&file).expect("what was written");
    wanted[..4096].fill(9);
    assert!(found == wanted[..after as usize]);
}

/// Owners are listed, for people and programs, and stopped: not while what is attached is in use,
/// then with all that others serve through them. `-an` is refused while they are there.
#[test]
fn owners_are_listed_and_stopped() {
    let world = World::new();
    assert_eq!(world.ashlar().arg("owners").succeed().text(), "");
    let mut first = world.serve("s", &["vg0/linear1"]);
    let mut second = world.serve("t", &["vg0/stripe3"]);
    let attach = world.ashlar().args(["attach", "vg0/linear2"]);
    let node = PathBuf::from(attach.succeed().text().trim_end());
    let json = ["owners", "vg0", "--reportformat", "json"];
    let listed = world.ashlar().args(json).succeed().text();
    let pid = first.daemon.pid();
    for (name, attached) in [
        ("linear1", ""),
        ("linear2", &*node.display().to_string()),
        ("stripe3", ""),
    ] {
        let row = format!(
            "{{\"vg_name\":\"vg0\", \"owner_pid\":\"{pid}\", \"lv_name\":\"{name}\", \
             \"lv_users\":\"1\", \"copy_percent\":\"\", \"lv_health_status\":\"\", \
             \"lv_attached\":\"{attached}\"}}"
        );
        assert!(listed.contains(&row), "{listed}");
    }
    let inactive = |words: [&str; 3]| {
        let refused = world.ashlar().args(words).exit(5).complaints();
        let who = format!("process {pid} serves it; `ashlar stop vg0' ends that");
        assert!(refused.contains(&who), "{refused}");
    };
    inactive(["vgchange", "-an", "vg0"]);
    inactive(["lvchange", "-an", "vg0/stripe3"]);
    // What is attached is active; what is not is no more so afterwards.
    for words in [
        ["lvchange", "-an", "vg0/ext4"],
        ["lvchange", "-ay", "vg0/linear2"],
    ] {
        world.ashlar().args(words).succeed();
    }
    let open = fs::File::open(&node).expect("the node");
    let refused = world.ashlar().args(["stop", "vg0"]).exit(5).complaints();
    assert!(refused.contains("vg0/linear2 is in use"), "{refused}");
    assert!(first.daemon.is_running() && second.daemon.is_running());
    drop(open);
    world.ashlar().args(["stop", "vg0"]).succeed();
    assert_eq!(first.daemon.ended(LIMIT), Some(0));
    assert_eq!(second.daemon.ended(LIMIT), Some(5));
    let none = world.ashlar().args(["stop", "vg0"]).exit(5).complaints();
    assert!(none.contains("has no owner"), "{none}");
    let said = world.ashlar().args(["vgchange", "-an", "vg0"]).succeed();
    assert!(said.text().contains("0 logical volume(s)"));
}

/// An owner keeps to what its clients allow to be missing.
#[test]
fn owners_heed_activation_modes() {
    let world = World::new();
    fs::remove_file(&world.golden.images()[1]).expect("a disk is lost");
    let _served = world.serve("s", &["vg0/linear1"]);
    let serve = |volume: &str, mode: &str| {
        let serve = world.ashlar().args(["serve", volume, "--run=true"]);
        serve.args(["--activationmode", mode])
    };
    for (volume, mode) in [
        ("vg0/mirror2", "complete"),
        ("vg0/linear2", "complete"),
        ("vg0/linear2", "degraded"),
    ] {
        let refused = serve(volume, mode).exit(5).complaints();
        assert!(refused.contains("which is missing"), "{refused}");
    }
    serve("vg0/mirror2", "degraded").succeed();
    let _partial = Daemon::start(
        world
            .ashlar()
            .args(["serve", "vg0/linear2", "--activationmode=partial"])
            .arg(format!("--nbd=unix:{}", world.scratch.join("p").display())),
        || UnixStream::connect(world.scratch.join("p")).is_ok(),
    );
    let refused = serve("vg0/linear2", "degraded").exit(5).complaints();
    let why = "served like that with --activationmode partial, which is more than degraded allows";
    assert!(refused.contains(why), "{refused}");
    serve("vg0/linear2", "partial").succeed();
}

/// A killed owner is in nobody's way, and a client that talks nonsense to a living one gets an
/// error line and harms nobody.
#[test]
fn owners_are_killed_and_pestered() {
    let world = World::new();
    let served = world.serve("s", &["vg0/linear1"]);
    let groups = world.scratch.join("run/groups");
    let group = fs::read_dir(&groups).unwrap().next().expect("an owner");
    let socket = group.unwrap().path().join("socket");
    let long = format!("{{\"ashlar\":1,\"request\":\"{}\"}}", "x".repeat(200_000));
    let deep = "[".repeat(60_000);
    let lines = [
        "",
        "nonsense",
        "{}",
        "{\"ashlar\":2,\"request\":\"status\"}",
        "{\"ashlar\":1,\"request\":\"answer\",\"yes\":true}",
        "{\"ashlar\":1,\"request\":\"run\",\"words\":[\"lvs\"],\"folder\":\"/\"}",
        "{\"ashlar\":1,\"request\":\"run\",\"words\":[],\"folder\":\"/\"}",
        "{\"ashlar\":1,\"request\":\"export\",\"volumes\":[\"linear1\"],\"read_only\":false,\
         \"way\":\"nbd\"}",
        "{\"ashlar\":1,\"request\":\"export\",\"volumes\":[],\"read_only\":false,\"way\":\"fuse\"}",
        "\u{1}\"\\ud800",
        &long,
        &deep,
    ];
    for line in lines {
        use std::io::{BufRead, BufReader, Write};
        let mut stream = UnixStream::connect(&socket).expect("it listens");
        let limit = Some(LIMIT);
        stream.set_read_timeout(limit).expect("a limit");
        // It may have had enough before all was said.
        let _ = stream.write_all(line.as_bytes());
        let _ = stream.write_all(b"\n");
        let mut replies = BufReader::new(stream).lines();
        let hello = replies.next().expect("a greeting").expect("a line");
        assert!(hello.contains("\"reply\":\"hello\""), "{hello}");
        if let Some(Ok(reply)) = replies.next() {
            let answers = ["\"reply\":\"error\"", "\"reply\":\"err\""];
            assert!(
                answers.iter().any(|answer| reply.contains(answer)),
                "{line:.60}: {reply}"
            );
        }
    }
    served.daemon.signal(rustix::process::Signal::KILL);
    // Nobody has to clean up first.
    let again = world.serve("t", &["vg0/linear1"]);
    let extend = world.ashlar().args(["lvextend", "-l", "+1", "vg0/linear1"]);
    extend.succeed();
    again.daemon.stop();
    drop(served);
    let extend = world.ashlar().args(["lvextend", "-l", "+1", "vg0/linear1"]);
    extend.succeed();
}
