//! The shipped units under a real systemd, which runs as the first process of namespaces of its own
//! (`tests/systemd/boot`).

use std::fs;
use std::path::Path;
use std::time::Duration;

use tests::{Group, Tool, ashlar_path};

/// How long a boot and its end may take, which are done in a second.
const LIMIT: Duration = Duration::from_mins(3);

/// The folder of this package's parent.
fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().expect("it lies in the repository")
}

/// Takes away the empty groups of processes that such a systemd leaves.
fn remove_cgroups() {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    for line in own.lines() {
        let path = line.rsplit(':').next().unwrap_or_default();
        for base in [
            "/sys/fs/cgroup/systemd",
            "/sys/fs/cgroup/unified",
            "/sys/fs/cgroup",
        ] {
            let base = format!("{base}{path}");
            let slice = fs::read_dir(format!("{base}/system.slice"));
            // What holds processes, or other groups, stays.
            for unit in slice.into_iter().flatten().flatten() {
                let _ = fs::remove_dir(unit.path());
            }
            for name in ["system.slice", "init.scope"] {
                let _ = fs::remove_dir(format!("{base}/{name}"));
            }
        }
    }
}

/// Proves: the machine's start makes volumes active in front of the file systems of /etc/fstab,
/// which are mounted from them; those that are not to be so by themselves stay inactive; and the
/// machine's end unmounts, writes everything, and leaves no volume active.
#[test]
fn a_machine_mounts_its_volumes_and_ends_cleanly() {
    let group = Group::new("systemd", 1, 96 << 20);
    group.create("data", &["-L", "32m"]);
    group.create("later", &["-L", "4m", "--setautoactivation", "n"]);
    let node = group.attach("data");
    Tool::new("mkfs.ext4")
        .args(["-q", "-F"])
        .arg(&node)
        .succeed();
    let mounted = group.mount(&node);
    fs::write(mounted.path().join("file"), "kept\n").expect("it is mounted");
    mounted.unmount();
    group.detach("data");
    let [disks, out, machine] = ["disks", "out", "machine"].map(|name| group.join(name));
    for folder in [&out, &machine] {
        fs::create_dir(folder).expect("a folder");
    }
    let namespaces = [
        "--mount", "--pid", "--fork", "--uts", "--ipc", "--net", "--cgroup",
    ];
    let boot = Tool::new("unshare").args(namespaces).arg("--kill-child");
    let boot = boot.arg(root().join("tests/systemd/boot"));
    let boot = boot.args([&machine, &disks, &out, &root().join("packaging")]);
    // Its exit status is that of a first process that powers its machine off.
    let ended = boot.arg(ashlar_path()).limit(LIMIT).run();
    remove_cgroups();
    let told = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    let (said, errors) = (told("told"), told("errors"));
    let lines: Vec<&str> = said.lines().collect();
    let node = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines.len(), 7, "{ended}\n{said}\n{errors}");
    assert_eq!(lines[0], "kept", "the file system is mounted");
    let active = node(lines[2]);
    assert_eq!(active[0], "vg0-data");
    assert_eq!(
        active[2..],
        ["open", "write", "65536", "linear", "/nodes/vg0/data"]
    );
    assert_eq!(lines[3..5], ["active", "active"], "both units are up");
    assert_eq!(lines[5..], ["stopped: success", "  No volumes are active."]);
    let log = told("log");
    assert!(log.contains("Unmounted mnt.mount"), "{log}");
    assert!(!log.contains("Failed unmounting"), "{log}");
    let again = group.attach("data");
    let clean = Tool::new("dumpe2fs").arg("-h").arg(&again).succeed().text();
    let state = clean
        .lines()
        .find(|line| line.starts_with("Filesystem state:"));
    assert_eq!(
        state.and_then(|line| line.split_whitespace().last()),
        Some("clean")
    );
    let new = Tool::new("debugfs").args(["-R", "cat new"]).arg(&again);
    assert_eq!(new.succeed().text(), "written\n");
    group.detach("data");
}

/// Proves: systemd understands all of each shipped unit.
#[test]
fn the_units_have_no_mistakes() {
    let group = Group::new("units", 1, 64 << 20);
    let folder = group.join("units");
    fs::create_dir(&folder).expect("a folder");
    for name in [
        "ashlar-activation.service",
        "ashlar@.service",
        "ashlar@.socket",
    ] {
        let text = fs::read_to_string(root().join("packaging").join(name)).expect("it is shipped");
        // Where the program is installed is not said of this machine.
        let text = text.replace("/usr/bin/ashlar", &ashlar_path().display().to_string());
        fs::write(folder.join(name), text).expect("a unit");
    }
    let units = [
        "ashlar-activation.service",
        "ashlar@vg0.service",
        "ashlar@vg0.socket",
    ];
    let verify = Tool::new("systemd-analyze").args(["verify", "--man=no", "--recursive-errors=no"]);
    // It ends with 1 for any of them. What it says of KillMode is meant: see the unit.
    let said = verify.args(units).within(&folder).run().complaints();
    let ours = said.lines().filter(|line| line.contains("ashlar"));
    let others: Vec<&str> = ours
        .filter(|line| !line.contains("KillMode=none"))
        .collect();
    assert_eq!(others, Vec::<&str>::new());
}
