//! The demo, as a newcomer sees it.

use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use tests::{Daemon, LIMIT, Scratch, Tool, ashlar, assert_fuse_for_all, assert_root, copy_ashlar};

/// The demo has many steps, and the machine may have much else to do.
const PATIENCE: Duration = Duration::from_mins(8);

/// Fails if there is a file in `folder` but the page of the tour, or a mount or a loop device of
/// something in it.
fn assert_nothing_left(folder: &Path) {
    let files = fs::read_dir(folder).expect("the directory").flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let names: Vec<_> = names
        .filter(|name| !name.starts_with("ashlar-demo-"))
        .collect();
    assert!(names.is_empty(), "{names:?}");
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
    let place = folder.to_str().expect("a plain name");
    assert!(!mounts.contains(place), "{mounts}");
    for device in fs::read_dir("/sys/block").expect("devices").flatten() {
        let file = fs::read_to_string(device.path().join("loop/backing_file"));
        assert!(!file.is_ok_and(|file| file.contains(place)), "{device:?}");
    }
}

/// Everything is shown, compared and read back, and nothing is left.
#[test]
fn the_demo_shows_everything() {
    assert_root();
    let scratch = Scratch::new("demo");
    let shown = ashlar()
        .args(["demo", "--quick"])
        .limit(PATIENCE)
        .env("TMPDIR", scratch.path())
        .succeed()
        .text();
    let lines = [
        "  VG  #PV #LV #SN Attr   VSize   VFree",
        "  linear1  vg0 -wi-------  8.00m",
        "   a0.img    0  AAAAAAAABBBBBBCCC",
        "$ ashlar cat vg0/stripe2x | sha256sum",
        "our own client: same as the kernel saw",
        "nbdcopy: same as the kernel saw",
        "qemu-img: same as the kernel saw",
        "mount -o ro /dev/loop",
        "all 51 files hold what was written to them",
        "Logical volume \"safe\" created.",
        "12 MiB became 18 MiB during",
        "MiB of file system became",
        "demo/monday: Merged: 100.00%",
        "holds, byte for byte, what it held before",
        "without disk1.img all of",
        "and with disk5.img back its old image is not read",
        "disk6.img holds now what it held, and all of them are there",
        "nothing lost",
        "striped over 3  read",
        "Do two striped disks double the requests per second?",
        "both see the same volumes, field by field",
        "Nothing is left behind",
    ];
    // Where a long line is broken depends on the numbers in it.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let flat = words(&shown);
    for line in lines {
        assert!(flat.contains(&words(line)), "{line} is not in\n{shown}");
    }
    for name in [
        "linear1", "linear2", "stripe3", "stripe2x", "mirror2", "ext4",
    ] {
        let is_line = |line: &str| line.trim().starts_with(name) && line.ends_with("same");
        assert!(shown.lines().any(is_line), "{name} is not in\n{shown}");
    }
    assert!(!shown.contains('\x1b'), "colours are for terminals");
    let folder = scratch.join("ashlar-demo-0");
    let page = fs::read_to_string(folder.join("tour.html")).expect("the page");
    let picture = fs::read_to_string(folder.join("tour.svg")).expect("the picture");
    assert!(page.contains(&picture), "the page stands alone");
    for words in [
        "both see the same volumes",
        "disk6.img",
        "What does each layer cost?",
        "<h2>12. ",
    ] {
        assert!(page.contains(words), "{words} is not in\n{page}");
    }
    assert_nothing_left(scratch.path());
}

/// An ordinary user gets the volume as a file, and is told what only root can have. The many rings
/// that are made and closed on the way do not exhaust the user's locked memory.
#[test]
fn an_ordinary_user_sees_the_demo_too() {
    assert_root();
    assert_fuse_for_all();
    let scratch = Scratch::new("demo-user");
    let (program, folder) = (scratch.join("ashlar"), scratch.join("tmp"));
    copy_ashlar(&program);
    fs::create_dir(&folder).expect("a directory");
    fs::set_permissions(&folder, Permissions::from_mode(0o1777)).expect("a directory for all");
    let shown = Tool::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["demo", "--quick"])
        .limit(PATIENCE)
        .env("ASHLAR_IO", "uring")
        .env("TMPDIR", &folder)
        .succeed()
        .text();
    assert!(shown.contains("needs root: left out"), "{shown}");
    assert!(
        shown.contains("the file: same as the kernel saw"),
        "{shown}"
    );
    assert_nothing_left(&folder);
}

/// Interrupted while a volume is attached, it cleans up, says where it was, and fails.
#[test]
fn an_interrupted_demo_leaves_nothing() {
    assert_root();
    let scratch = Scratch::new("demo-end");
    let is_attached = || {
        let mut folders = fs::read_dir(scratch.path())
            .expect("the directory")
            .flatten();
        folders.any(|folder| folder.path().join("run/attached").exists())
    };
    let tool = ashlar()
        .args(["demo", "--quick"])
        .limit(PATIENCE)
        .env("TMPDIR", scratch.path());
    let mut demo = Daemon::start(tool, is_attached);
    demo.signal(Signal::INT);
    let deadline = Instant::now() + LIMIT;
    while demo.is_running() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    let complaints = demo.stop();
    assert!(complaints.contains("It was interrupted"), "{complaints}");
    assert!(complaints.contains("step 6"), "{complaints}");
    assert_nothing_left(scratch.path());
}

/// What a killed demo left, mounts and a server, the next one takes away.
#[test]
fn the_next_demo_cleans_up_after_a_killed_one() {
    assert_root();
    let scratch = Scratch::new("demo-kill");
    let folders = || {
        let folders = fs::read_dir(scratch.path())
            .expect("the directory")
            .flatten();
        folders.map(|folder| folder.path()).collect::<Vec<_>>()
    };
    let is_attached = || folders().iter().any(|folder| folder.join("mnt").exists());
    let tool = || {
        ashlar()
            .args(["demo", "--quick"])
            .limit(PATIENCE)
            .env("TMPDIR", scratch.path())
    };
    let demo = Daemon::start(tool(), is_attached);
    demo.signal(Signal::KILL);
    demo.stop();
    let [left] = &folders()[..] else {
        panic!("a killed demo leaves its directory");
    };
    let old = SystemTime::now() - Duration::from_mins(1);
    let times = FileTimes::new().set_modified(old);
    let folder = File::open(left).expect("the directory");
    folder.set_times(times).expect("the directory can grow old");
    let shown = tool().succeed().text();
    assert!(shown.contains("A killed process left"), "{shown}");
    assert_nothing_left(scratch.path());
}

/// The disks stay where they were asked for, and no file is overwritten.
#[test]
fn kept_disks_stay() {
    let scratch = Scratch::new("demo-keep");
    let folder = scratch.join("kept");
    let demo = || {
        ashlar()
            .args(["demo", "--quick", "--keep"])
            .limit(PATIENCE)
            .arg(&folder)
    };
    demo().succeed();
    ashlar()
        .arg("--devices")
        .arg(&folder)
        .args(["lvs", "vg0"])
        .succeed();
    let complaints = demo().exit(5).complaints();
    assert!(complaints.contains("a0.img: File exists"), "{complaints}");
    assert_eq!(fs::read_dir(&folder).expect("the directory").count(), 8);
    let tour = folder.join("tour");
    let listed = ashlar().arg("--devices").arg(&tour).args(["lvs", "demo"]);
    assert!(
        listed.succeed().text().contains("plain"),
        "the tour's disks"
    );
}
