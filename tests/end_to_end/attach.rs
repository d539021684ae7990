//! Volumes as block device nodes and as files: attached, mounted, held, killed and cleaned up.
//!
//! The servers are processes of their own, and nothing here opens a served file in the tests'
//! process: a client that waits for a server which waits for the client's process never ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use tests::{
    Access, Daemon, Golden, Group, LoopDevice, Mounted, Scratch, Tool, apart, ashlar,
    assert_fuse_for_all, assert_root, copy_ashlar, is_over, kill_server, sha256, wait_until,
};

/// How often a server is killed whose node has pages that were not written.
const KILLS: usize = 5;

/// A runtime folder of this test's own, and what is attached there.
struct World {
    scratch: Scratch,
}

impl World {
    fn new() -> Self {
        assert_root();
        Self {
            scratch: Scratch::new("attach"),
        }
    }

    fn runtime(&self) -> PathBuf {
        self.scratch.join("run")
    }

    fn command(&self, io: &str) -> Tool {
        ashlar()
            .env("ASHLAR_RUNTIME_DIR", self.runtime())
            .env("ASHLAR_IO", io)
    }

    /// Attaches a golden volume and returns its place.
    fn attach(&self, disks: &Path, volume: &str, io: &str) -> PathBuf {
        let attach = self.command(io).arg("--devices").arg(disks);
        let place = attach.args(["attach", "--readonly", volume]).succeed();
        PathBuf::from(place.text().trim_end())
    }

    fn detach(&self, name: impl AsRef<std::ffi::OsStr>) -> Tool {
        self.command("").arg("detach").arg(name)
    }

    /// The only record's line that begins with `key`.
    fn record(&self, key: &str) -> String {
        let folder = fs::read_dir(self.runtime().join("attached")).expect("the runtime directory");
        let records: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
        let [folder] = &records[..] else {
            panic!("one attachment is there, not {records:?}");
        };
        let text = fs::read_to_string(folder.join("record")).expect("its record");
        let value = text.lines().find_map(|line| line.strip_prefix(key));
        value
            .unwrap_or_else(|| panic!("{key} in {text}"))
            .to_owned()
    }

    fn assert_nothing_left(&self) {
        let attached = self.runtime().join("attached");
        assert_eq!(fs::read_dir(&attached).expect("the directory").count(), 0);
        let mounts = fs::read_to_string("/proc/self/mounts").expect("the mounts");
        let ours = self.scratch.path().display().to_string();
        assert!(!mounts.contains(&ours), "a mount is left: {mounts}");
    }
}

impl Drop for World {
    /// Takes down what a failed test left, however it failed.
    fn drop(&mut self) {
        let _ = Tool::new("umount").arg(self.scratch.join("mnt")).run();
        let _ = self.command("").args(["detach", "--all"]).run();
    }
}

/// The golden ext4 volume is mounted from its node, every file has its content, and the node
/// cannot be taken away meanwhile; with both engines.
#[test]
fn a_node_is_mounted_and_held() {
    let golden = Golden::shared();
    for io in ["threads", "uring"] {
        let world = World::new();
        let node = world.attach(golden.folder(), "vg0/ext4", io);
        let mount = world.scratch.join("mnt");
        let options = ["-t", "ext4", "-o", "ro,noload"];
        let mounted = Mounted::new(node.as_ref(), &mount, &options);
        for (sum, path) in Golden::ext4_files() {
            let found = Tool::new("sha256sum")
                .arg(mount.join(&path))
                .succeed()
                .text();
            assert_eq!(found.split(' ').next(), Some(sum.as_str()), "{path}");
        }
        let refused = world.detach("vg0/ext4").exit(5).complaints();
        let wanted = format!("vg0/ext4 is in use at {} by a mount", node.display());
        assert!(refused.contains(&wanted), "{refused}");
        mounted.unmount();
        world.detach(&node).succeed();
        world.assert_nothing_left();
    }
}

/// A node is read by others as what the manifest says, and cannot be written.
#[test]
fn a_node_holds_the_volume() {
    let (golden, world) = (Golden::shared(), World::new());
    let node = world.attach(golden.folder(), "vg0/stripe3", "");
    let wanted = Golden::volume("stripe3");
    let size = Tool::new("blockdev")
        .arg("--getsize64")
        .arg(&node)
        .succeed();
    assert_eq!(size.text().trim(), wanted.size.to_string());
    let read = Tool::new("sha256sum").arg(&node).succeed().text();
    assert_eq!(read.split(' ').next(), Some(wanted.sha256.as_str()));
    let output = format!("of={}", node.display());
    let written = Tool::new("dd")
        .args(["if=/dev/zero", &output, "count=1", "oflag=direct"])
        .run();
    assert!(written.code != Some(0), "a read-only node takes no writes");
    world.detach("vg0/stripe3").succeed();
    world.assert_nothing_left();
}

/// A killed server leaves a loop device and a mount; the next attach or detach cleans them up.
#[test]
fn a_killed_server_is_cleaned_up() {
    let (golden, world) = (Golden::shared(), World::new());
    for next in ["attach", "detach"] {
        world.attach(golden.folder(), "vg0/linear1", "");
        let pid = world.record("pid=").parse().expect("a number");
        kill_server(Pid::from_raw(pid).expect("a process"));
        if next == "attach" {
            let node = world.attach(golden.folder(), "vg0/linear1", "");
            let read = Tool::new("sha256sum").arg(&node).succeed().text();
            assert!(read.starts_with(&Golden::volume("linear1").sha256));
        }
        world.detach("vg0/linear1").succeed();
        world.assert_nothing_left();
    }
}

/// The connection of FUSE behind a mount. A test that fails ends it: whoever waits for it, and so
/// each `sync` of the machine, would wait for ever.
struct Connection(String);

impl Connection {
    /// The one over the file of an attached volume.
    fn of(file: &Path) -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
        let is_it = |line: &&str| line.split(' ').nth(4) == file.to_str();
        let line = mounts.lines().find(is_it).expect("it is mounted");
        let device = line.split(' ').nth(2).expect("a device");
        Self(device.trim_start_matches("0:").to_owned())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let folder = "/sys/fs/fuse/connections";
            let _ = Tool::new("mount")
                .args(["-t", "fusectl", "none", folder])
                .run();
            let _ = fs::write(format!("{folder}/{}/abort", self.0), "1");
        }
    }
}

/// Who writes to a node with caches leaves pages that only its server can write. A server that is
/// killed does not wait for them, and then nobody does: its loop device goes, and `sync` ends.
#[test]
fn a_killed_server_waits_for_no_page() {
    let group = Group::new("killed-cached", 1, 64 << 20);
    group.create("l", &["-L", "32m"]);
    for _ in 0..KILLS {
        let node = group.attach("l");
        let file = group.join("run/attached/vg0-l/volume");
        let _connection = Connection::of(&file);
        let output = format!("of={}", node.display());
        let cached = Tool::new("dd").args(["if=/dev/urandom", &output, "bs=1M", "count=24"]);
        cached.succeed();
        group.kill("l");
        let file = file.display().to_string();
        wait_until("the loop device is left", || !is_over(&node, &file));
        Tool::new("sync").succeed();
        group.detach("l");
    }
}

/// A keeper that is killed takes the node with it, once nobody uses it; the server says so.
#[test]
fn a_killed_keeper_ends_its_server() {
    let group = Group::new("killed-keeper", 1, 64 << 20);
    group.create("l", &["-L", "32m"]);
    let node = group.attach("l");
    Tool::new("mkfs.ext4").arg("-q").arg(&node).succeed();
    let mounted = group.mount(&node);
    let server = group.server("l").as_raw_nonzero();
    let children = fs::read_dir(format!("/proc/{server}/task")).expect("its threads");
    let children = children.filter_map(|thread| {
        fs::read_to_string(thread.expect("a thread").path().join("children")).ok()
    });
    let keeper: String = children.collect();
    let keeper = keeper.trim().parse().expect("one child");
    rustix::process::kill_process(
        Pid::from_raw(keeper).unwrap(),
        rustix::process::Signal::KILL,
    )
    .expect("it lives");
    // What is mounted stays so.
    let output = format!("of={}", group.join("mnt/file").display());
    let write = Tool::new("dd").args(["if=/dev/zero", &output, "count=8", "conv=fsync"]);
    write.succeed();
    mounted.unmount();
    let attachment = group.join("run/attached/vg0-l");
    wait_until("it is attached still", || !attachment.exists());
    let log = fs::read_to_string(group.join("run/log")).expect("what servers say");
    assert!(log.contains("vg0/l: the process that held"), "{log}");
}

/// A record may name a node whose number went to somebody else when its server was killed: that
/// one, mounted as it may be, neither keeps the attachment nor is taken away with it.
#[test]
fn a_node_that_went_to_somebody_else_is_left_alone() {
    let world = World::new();
    let image = world.scratch.join("image");
    fs::File::create(&image)
        .and_then(|file| file.set_len(1 << 20))
        .expect("an image");
    let other = LoopDevice::attach(&image, Access::ReadOnly);
    let _user = fs::File::open(other.path()).expect("the node");
    let folder = world.runtime().join("attached/vg0-linear1");
    fs::create_dir_all(&folder).expect("a directory");
    let record = folder.join("record");
    fs::write(&record, "").expect("a record");
    // A server that holds its record, and lost its node.
    let lock = || Tool::new("flock").arg("--no-fork");
    let is_held = || {
        let shared = lock().args(["--shared", "--nonblock"]).arg(&record);
        shared.arg("true").run().code == Some(1)
    };
    let holder = Daemon::start(lock().arg(&record).args(["sleep", "60"]), is_held);
    let text = format!(
        "volume=vg0/linear1\npid={}\nfile={}\nnode={}\n",
        holder.pid(),
        folder.join("volume").display(),
        other.path().display()
    );
    fs::write(&record, text).expect("a record");
    world.detach("vg0/linear1").succeed();
    world.assert_nothing_left();
    let backing = Tool::new("losetup")
        .args(["--noheadings", "--output", "BACK-FILE"])
        .arg(other.path())
        .succeed();
    assert_eq!(backing.text().trim(), image.display().to_string());
}

/// The same volume is attached once, and what is not attached cannot be detached.
#[test]
fn names_are_told() {
    let (golden, world) = (Golden::shared(), World::new());
    let node = world.attach(golden.folder(), "vg0/linear2", "");
    let again = world.command("").arg("--devices").arg(golden.folder());
    let refused = again
        .args(["attach", "-r", "vg0/linear2"])
        .exit(5)
        .complaints();
    let wanted = format!("vg0/linear2 is already attached at {}", node.display());
    assert!(refused.contains(&wanted), "{refused}");
    let refused = world.detach("vg0/nothing").exit(5).complaints();
    assert!(refused.contains("vg0/nothing is not attached"), "{refused}");
    world.detach("vg0/linear2").succeed();
    world.assert_nothing_left();
}

/// An ordinary user gets a volume as a file, reads it, and takes it away.
/// The golden disks, the program and a folder for a user who is nobody.
struct Nobody {
    world: World,
    golden: Golden,
    binary: PathBuf,
    home: PathBuf,
}

impl Nobody {
    fn new() -> Self {
        let world = World::new();
        let golden = Golden::copy();
        let open = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
        };
        open(golden.folder(), 0o755);
        golden.images().iter().for_each(|image| open(image, 0o644));
        let binary = world.scratch.join("ashlar");
        copy_ashlar(&binary);
        let home = world.scratch.join("home");
        fs::create_dir(&home).expect("a directory");
        std::os::unix::fs::chown(&home, Some(65534), Some(65534)).expect("its owner");
        open(world.scratch.path(), 0o755);
        Self {
            world,
            golden,
            binary,
            home,
        }
    }

    /// `tool` with the words that make the rest of them run as this user.
    fn run(&self, tool: Tool) -> Tool {
        tool.args([
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--",
        ])
        .env("ASHLAR_RUNTIME_DIR", self.home.join("run"))
    }

    fn attach(&self, tool: Tool, file: &Path) -> Tool {
        let attach = self.run(tool).arg(&self.binary).arg("--devices");
        let attach = attach.arg(self.golden.folder());
        attach
            .args(["attach", "-r", "vg0/stripe2x", "--file"])
            .arg(file)
    }
}

#[test]
fn an_ordinary_user_gets_a_file() {
    assert_fuse_for_all();
    let user = Nobody::new();
    let file = user.home.join("volume.img");
    let attach = user.attach(Tool::new("env"), &file);
    assert_eq!(Path::new(attach.succeed().text().trim_end()), file);
    // Root may not look into a user's mount; the user may.
    let words = || user.run(Tool::new("env"));
    let read = words().arg("sha256sum").arg(&file).succeed().text();
    assert!(read.starts_with(&Golden::volume("stripe2x").sha256));
    let copy = user.home.join("copy");
    let mut compare = words().args(["qemu-img", "convert", "-O", "raw"]);
    compare = compare.args([&file, &copy]);
    compare.succeed();
    assert_eq!(
        sha256(&fs::read(&copy).expect("the copy")),
        Golden::volume("stripe2x").sha256
    );
    words().arg(&user.binary).arg("detach").arg(&file).succeed();
    assert_eq!(fs::metadata(&file).expect("the file is back").len(), 0);
}

#[test]
fn without_rights_to_fuse_the_remedy_is_named() {
    // In a mount namespace of its own /dev/fuse is what root alone may open, as without udev.
    let user = Nobody::new();
    let closed = user.world.scratch.join("closed");
    fs::write(&closed, "").expect("a file");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).expect("permissions");
    let script = "mount --bind \"$0/closed\" /dev/fuse; exec \"$@\"";
    let unshared = apart(user.world.scratch.path(), script);
    let file = user.home.join("volume.img");
    let refused = user.attach(unshared, &file).exit(5);
    let said = refused.complaints();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("chmod 0666 /dev/fuse"), "{said}");
    assert!(!file.exists(), "the file that was made for it is gone");
}

/// Puts in place of `/etc` a folder of links to all that is in it.
const LINKED: &str = r#"
    mkdir -p "$0/etc/old" "$0/etc/new"
    mount --bind /etc "$0/etc/old"
    for name in /etc/* /etc/.[!.]*; do
        [ ! -e "$name" ] || ln -sfT "$0/etc/old/${name#/etc/}" "$0/etc/new/${name#/etc/}"
    done
    ln -sfT /proc/self/mounts "$0/etc/new/mtab"
    mount --bind "$0/etc/new" /etc
"#;

/// Runs a script where `/etc` is [`LINKED`], and not by others.
fn linked(folder: &Path, script: &str) -> Tool {
    apart(folder, &format!("{LINKED}\n{script}"))
}

#[test]
fn without_a_list_of_mounts_the_remedy_is_named() {
    // Where fusermount3 would mount and could not unmount, nothing is mounted: by attach and run.
    let user = Nobody::new();
    let folder = user.world.scratch.path();
    let file = user.home.join("volume.img");
    let words = || linked(folder, "rm /etc/mtab; exec \"$@\"");
    let run = user.run(words()).arg(&user.binary).arg("--devices");
    let run = run.arg(user.golden.folder());
    let run = run.args(["run", "-r", "vg0/stripe2x", "--", "touch"]);
    for refused in [user.attach(words(), &file), run.arg(&file)] {
        let refused = refused.exit(5);
        let said = refused.complaints();
        assert_eq!(said.lines().count(), 1, "{said}");
        let remedy = "ln -s /proc/self/mounts /etc/mtab";
        assert!(said.contains(remedy), "{refused}");
        assert!(!file.exists(), "what was made for it is gone");
    }
}

#[test]
fn a_file_that_stays_mounted_is_not_detached() {
    // A server that cannot unmount its file ends all the same; detach says what is left.
    assert_fuse_for_all();
    let user = Nobody::new();
    let file = user.home.join("volume.img");
    let script = r#"
        user="setpriv --reuid=65534 --regid=65534 --clear-groups --"
        $user "$1" --devices "$2" attach -r vg0/stripe2x --file "$3" >/dev/null
        rm /etc/mtab
        code=0
        $user "$1" detach "$3" || code=$?
        umount "$3"
        exit $code
    "#;
    let tool = linked(user.world.scratch.path(), script);
    let tool = tool.env("ASHLAR_RUNTIME_DIR", user.home.join("run"));
    let tool = tool.args([&user.binary, user.golden.folder(), &file]);
    let said = tool.exit(5).complaints();
    let wanted = format!("{} is still mounted: unmount it", file.display());
    assert!(said.contains(&wanted), "{said}");
}
