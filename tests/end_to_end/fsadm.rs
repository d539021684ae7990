//! `fsadm`: file systems on active volumes and other devices are checked and resized by their
//! tools, with the exit codes that callers of LVM2's script know.

use std::path::{Path, PathBuf};

use tests::{Group, Tool, apart, wait_until};

const MIB: u64 = 1 << 20;

/// The group `vg0` with the volume `u`, attached, with a file system in it.
fn filled(name: &str, mib: u64, mkfs: &str) -> (Group, PathBuf) {
    let group = Group::new(name, 1, 400 * MIB);
    group.create("u", &[&format!("-L{mib}m")]);
    let node = group.attach("u");
    let mut words = mkfs.split(' ');
    let tool = Tool::new(words.next().expect("a program"));
    tool.args(words).arg(&node).succeed();
    (group, node)
}

fn fsadm(group: &Group, line: &str) -> Tool {
    group.ashlar().arg("fsadm").args(line.split(' '))
}

/// The MiB that an ext4 takes.
fn ext_mib(node: &Path) -> u64 {
    let told = Tool::new("dumpe2fs").arg("-h").arg(node).succeed().text();
    let number = |what: &str| -> u64 {
        let line = told.lines().find_map(|line| line.strip_prefix(what));
        line.expect(what).trim().parse().expect("a number")
    };
    number("Block count:") * number("Block size:") / MIB
}

fn sound(node: &Path) {
    Tool::new("e2fsck").arg("-fn").arg(node).succeed();
}

/// Proves: an ext4 becomes smaller and larger on a device that keeps its size, by bytes, blocks and
/// to all of it, is sound each time, and -n changes nothing; sizes that the device has not are
/// refused.
#[test]
fn a_file_system_gets_a_size_of_its_own() {
    let (group, node) = filled("fsadm", 64, "mkfs.ext4 -q -F");
    let dry = fsadm(&group, "-n resize vg0/u 32M").succeed().text();
    let shown = node.display();
    assert_eq!(
        dry,
        format!("  Dry execution e2fsck -f -p {shown}\n  Dry execution resize2fs {shown} 32768k\n")
    );
    assert_eq!(ext_mib(&node), 64);
    // Without -v it says nothing, as LVM2's lvresize expects of it.
    let quiet = fsadm(&group, "resize vg0/u 32M").succeed();
    assert_eq!(
        (quiet.text(), quiet.complaints()),
        (String::new(), String::new())
    );
    assert_eq!(ext_mib(&node), 32);
    sound(&node);
    let told = fsadm(&group, "-v resize vg0/u 49152K").succeed().text();
    assert!(
        told.contains(&format!("  Executing resize2fs {shown} 49152k\n")),
        "{told}"
    );
    assert_eq!(ext_mib(&node), 48);
    let path = node.display().to_string();
    // Blocks of the file system, which has small ones.
    let blocks = group.ashlar().args(["fsadm", "resize", &path, "40960"]);
    blocks.succeed();
    assert_eq!(ext_mib(&node), 40);
    group.ashlar().args(["fsadm", "resize", &path]).succeed();
    assert_eq!(ext_mib(&node), 64);
    sound(&node);
    let told = fsadm(&group, "resize vg0/u 65M").exit(1).complaints();
    assert!(told.contains("-l does both"), "{told}");
    let told = fsadm(&group, "resize vg0/u 4M").exit(1).complaints();
    assert!(told.contains("resize2fs failed"), "{told}");
    assert_eq!(ext_mib(&node), 64);
    group.detach("u");
}

/// Proves: what is mounted is not checked (3), is unmounted for what needs that only by agreement,
/// is mounted again, and grows where it is.
#[test]
fn mounted_file_systems_are_asked_about() {
    let (group, node) = filled("fsadm-mounted", 64, "mkfs.ext4 -q -F");
    fsadm(&group, "check vg0/u").succeed();
    fsadm(&group, "resize vg0/u 40M").succeed();
    let mounted = group.mount(&node);
    std::fs::write(mounted.path().join("file"), "kept").expect("it is mounted");
    let told = fsadm(&group, "check vg0/u").exit(3).complaints();
    assert!(told.contains("is mounted at"), "{told}");
    fsadm(&group, "resize vg0/u 32M").input("n\n").exit(1);
    assert_eq!(ext_mib(&node), 40);
    // Whoever made himself a mount namespace keeps the file system in use for a moment.
    let folder = mounted.path().parent().expect("the group's own");
    let holder = apart(folder, "touch \"$0/copied\"; sleep 2");
    let holder = std::thread::spawn(|| holder.succeed());
    wait_until("there is no other namespace", || {
        group.join("copied").exists()
    });
    fsadm(&group, "-y resize vg0/u 32M").succeed();
    holder.join().expect("it ends");
    assert_eq!(ext_mib(&node), 32);
    let kept = || std::fs::read_to_string(mounted.path().join("file")).expect("it is mounted");
    assert_eq!(kept(), "kept");
    fsadm(&group, "-e -y resize vg0/u").succeed();
    assert_eq!(ext_mib(&node), 64);
    assert_eq!(kept(), "kept");
    mounted.unmount();
    sound(&node);
    group.detach("u");
}

/// Proves: -l changes volume and file system together, whether or not the volume is active.
#[test]
fn a_volume_follows_its_file_system() {
    let (group, node) = filled("fsadm-volume", 32, "mkfs.ext4 -q -F");
    let size = || {
        let report = [
            "lvs",
            "--noheadings",
            "--units",
            "m",
            "--nosuffix",
            "-o",
            "lv_size",
        ];
        group
            .ashlar()
            .args(report)
            .succeed()
            .text()
            .trim()
            .to_owned()
    };
    fsadm(&group, "-l -n resize vg0/u 64M").succeed();
    assert_eq!((size().as_str(), ext_mib(&node)), ("32.00", 32));
    fsadm(&group, "-l -y resize vg0/u 64M").succeed();
    assert_eq!((size().as_str(), ext_mib(&node)), ("64.00", 64));
    group.detach("u");
    fsadm(&group, "-l -y resize vg0/u 40M").succeed();
    assert_eq!(size(), "40.00");
    let node = group.attach("u");
    assert_eq!(ext_mib(&node), 40);
    sound(&node);
    group.detach("u");
}

/// Proves: damage that needs an answer fails a check, what is no file system or none of these is
/// named, and every failure is a 1.
#[test]
fn failures_are_told_apart() {
    let (group, node) = filled("fsadm-wrong", 64, "mkswap -q");
    let swap = fsadm(&group, "check vg0/u").exit(1).complaints();
    assert!(
        swap.contains("File system swap on vg0/u is not supported"),
        "{swap}"
    );
    Tool::new("wipefs").arg("-qa").arg(&node).succeed();
    let none = fsadm(&group, "resize vg0/u").exit(1).complaints();
    assert!(none.contains("No file system found on vg0/u."), "{none}");
    Tool::new("mkfs.ext4")
        .args(["-q", "-F"])
        .arg(&node)
        .succeed();
    // The root directory goes, which e2fsck -p leaves to people.
    let clear = Tool::new("debugfs")
        .args(["-w", "-R", "clri <2>"])
        .arg(&node);
    clear.succeed();
    fsadm(&group, "check -f vg0/u").exit(1);
    let image = group.disk(0).display().to_string();
    for line in [
        "check vg0/none".to_owned(),
        "check".to_owned(),
        "resize".to_owned(),
        "resize vg0/u 12Q".to_owned(),
        "shrink vg0/u".to_owned(),
        "check vg0/u more".to_owned(),
        "--nonsense check vg0/u".to_owned(),
        "-c resize vg0/u".to_owned(),
        format!("check {image}"),
    ] {
        let told = fsadm(&group, &line).exit(1).complaints();
        assert!(!told.is_empty(), "{line}");
    }
    group.detach("u");
}
