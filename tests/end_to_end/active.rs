//! What reports say of volumes that are served or attached: the truth, and quickly.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, major, minor};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, Signal, kill_process};
use tests::{Daemon, Group, LIMIT, wait_until};

/// Bytes of a disk.
const SIZE: u64 = 64 << 20;
/// How long a report may take that does not wait for a stuck owner for long: that is a second, on a
/// machine that does nothing else.
const REPORT_MAX: Duration = Duration::from_secs(25);

const FIELDS: &str = "lv_name,lv_attr,lv_active,lv_active_locally,lv_active_remotely,\
    lv_active_exclusively,lv_path,lv_dm_path,lv_device_open,lv_suspended,lv_permissions";

fn report(group: &Group, words: &[&str]) -> String {
    group.ashlar().args(words).succeed().text()
}

/// The fields of one volume.
fn fields(group: &Group, volume: &str, fields: &str) -> String {
    let name = format!("vg0/{volume}");
    let words = [
        "lvs",
        "--noheadings",
        "--separator",
        "|",
        "-o",
        fields,
        &name,
    ];
    report(group, &words).trim().to_owned()
}

fn serve(group: &Group, volume: &str) -> Daemon {
    let socket = group.join(format!("{volume}.sock"));
    let serve = group.ashlar().args(["serve", &format!("vg0/{volume}")]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    Daemon::start(serve, || UnixStream::connect(&socket).is_ok())
}

/// Every way to have a volume shows it as active, at the place where it is, and open where somebody
/// uses it; the others are reported as before, and so are all of them afterwards.
#[test]
fn served_and_attached_volumes_are_active() {
    let group = Group::new("active", 1, SIZE);
    for name in ["node", "served", "read", "rest"] {
        group.create(name, &["-l", "1"]);
    }
    let all = ["lvs", "-a", "-o", "lv_all", "--reportformat", "json"];
    let (before, scanned) = (report(&group, &all), report(&group, &["lvscan"]));
    let displayed = report(&group, &["lvdisplay"]);
    // Reports make nothing in the runtime folder.
    assert!(!group.join("run").join("groups").exists());
    // Before any owner is there: it is only read, and by nobody else.
    let read = group.ashlar().args(["attach", "-r", "vg0/read"]).succeed();
    let read = read.text().trim_end().to_owned();
    let node = group.attach("node");
    let served = serve(&group, "served");
    let place = node.display().to_string();
    let of = |volume: &str| fields(&group, volume, FIELDS);
    let state = "active|active locally||active exclusively";
    // Whoever looks at all devices has each open for a moment.
    let idle = |volume: &str, wanted: &str| {
        wait_until(wanted, || of(volume) == wanted);
    };
    idle(
        "node",
        &format!("node|-wi-a-----|{state}|{place}|{place}|||writeable"),
    );
    assert_eq!(
        of("served"),
        format!("served|-wi-ao----|{state}|/dev/vg0/served|/dev/mapper/vg0-served|open||writeable")
    );
    idle(
        "read",
        &format!("read|-Ri-a-----|{state}|{read}|{read}|||read-only-override"),
    );
    assert_eq!(
        of("rest"),
        "rest|-wi-------|||||/dev/vg0/rest|/dev/mapper/vg0-rest|unknown|unknown|unknown"
    );
    displays_show(&group, &node);
    let selected = [
        "lvs",
        "--noheadings",
        "-o",
        "lv_name",
        "-S",
        "lv_active=active",
    ];
    let selected = report(&group, &selected);
    let names: Vec<&str> = selected.split_whitespace().collect();
    assert_eq!(names, ["node", "read", "served"]);
    let json = [&all[..], &["vg0/node"]].concat();
    let json = report(&group, &json);
    assert!(json.contains(&format!("\"lv_path\":\"{place}\"")), "{json}");
    assert!(json.contains("\"lv_active\":\"active\""), "{json}");
    // A name that changes goes with it.
    report(&group, &["lvrename", "vg0/node", "new"]);
    assert_eq!(
        fields(&group, "new", "lv_active,lv_path"),
        format!("active|{place}")
    );
    report(&group, &["lvrename", "vg0/new", "node"]);
    served.stop();
    group.detach("node");
    group.detach("read");
    assert_eq!(report(&group, &all), before);
    assert_eq!(report(&group, &["lvscan"]), scanned);
    assert_eq!(report(&group, &["lvdisplay"]), displayed);
}

/// The displays say the same as the tables.
fn displays_show(group: &Group, node: &Path) {
    let number = std::os::unix::fs::MetadataExt::rdev(&node.metadata().expect("a node"));
    let (major, minor) = (major(number), minor(number));
    let kernel = "lv_kernel_major,lv_kernel_minor";
    assert_eq!(fields(group, "node", kernel), format!("{major}|{minor}"));
    assert_eq!(fields(group, "served", kernel), "-1|-1");
    let scanned = report(group, &["lvscan"]);
    let line = format!(
        "  ACTIVE            '{}' [4.00 MiB] inherit",
        node.display()
    );
    assert!(scanned.contains(&line), "{scanned}");
    assert!(
        scanned.contains("  inactive          '/dev/vg0/rest'"),
        "{scanned}"
    );
    let displayed = report(group, &["lvdisplay", "vg0/node"]);
    for line in [
        format!("  LV Path                {}\n", node.display()),
        "  LV Status              available\n  # open                 ".to_owned(),
        format!("  Block device           {major}:{minor}\n"),
    ] {
        assert!(displayed.contains(&line), "{displayed}");
    }
    // Only the served one is used, but for glances.
    wait_until("nobody has the node open", || {
        report(group, &["lvdisplay", "vg0/node"]).contains("  # open                 0\n")
    });
    wait_until("one is open", || {
        report(group, &["vgdisplay", "vg0"]).contains("  Open LV               1\n")
    });
    assert!(!report(group, &["vgdisplay", "-A"]).is_empty());
}

/// A process that is stopped, and goes on when this is dropped.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: Pid) -> Self {
        kill_process(pid, Signal::STOP).expect("it is there");
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

/// An owner that does not answer makes no report wait for long, even when so many wait for it that
/// it takes no more connections: its volumes are unknown, one warning says so, and other commands
/// name it.
#[test]
fn a_stuck_owner_holds_no_report_up() {
    let group = Group::new("stuck", 1, SIZE);
    for name in ["a", "b"] {
        group.create(name, &["-l", "1"]);
    }
    group.attach("a");
    let pid = group.server("a");
    let stopped = Stopped::new(pid);
    let number = pid.as_raw_nonzero();
    let ask = || {
        let begun = Instant::now();
        let asked = group
            .ashlar()
            .args(["lvs", "--noheadings", "-o", "lv_attr,lv_active"]);
        let asked = asked.succeed();
        assert!(
            begun.elapsed() < REPORT_MAX,
            "it took {:?}",
            begun.elapsed()
        );
        let told = asked.complaints();
        let warning = format!("Which volumes of vg0 are active is unknown: process {number}");
        assert_eq!(told.matches("WARNING").count(), 1, "{told}");
        assert!(told.contains(&warning), "{told}");
        assert_eq!(asked.text().matches("-wi-XX---- unknown").count(), 2);
    };
    ask();
    // Other reports have nothing to ask.
    let groups = group.ashlar().arg("vgs").succeed();
    assert_eq!(groups.complaints(), "");
    let owners = group
        .ashlar()
        .args(["owners", "--reportformat", "json_std"])
        .exit(5);
    let row = format!("\"vg_name\":\"vg0\", \"owner_pid\":{number}, \"lv_name\":\"\"");
    assert!(owners.text().contains(&row), "{}", owners.text());
    assert!(owners.complaints().contains("did not say within 1 s"));
    let waiting = fill(&group);
    ask();
    drop(waiting);
    drop(stopped);
    // It has many to greet first, and turns some away meanwhile.
    let deadline = Instant::now() + LIMIT;
    while fields(&group, "a", "lv_attr,lv_active") != "-wi-a-----|active" {
        assert!(Instant::now() < deadline, "it goes on, and does not say so");
    }
    group.detach("a");
}

/// Connections to the only owner, as many as wait to be let in.
fn fill(group: &Group) -> Vec<rustix::fd::OwnedFd> {
    let owners = group
        .join("run/groups")
        .read_dir()
        .expect("there are groups");
    let folders: Vec<PathBuf> = owners.map(|owner| owner.expect("is read").path()).collect();
    let [folder] = &folders[..] else {
        panic!("one owner")
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty()).expect("a folder");
    let number = std::os::fd::AsRawFd::as_raw_fd(&folder);
    let path = format!("/proc/self/fd/{number}/socket");
    let address = SocketAddrUnix::new(path).expect("a short name");
    let mut waiting = Vec::new();
    loop {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let socket = socket.expect("a socket");
        match rustix::net::connect(&socket, &address) {
            Ok(()) => waiting.push(socket),
            Err(rustix::io::Errno::AGAIN) => return waiting,
            Err(error) => panic!("it cannot be connected: {error}"),
        }
    }
}
