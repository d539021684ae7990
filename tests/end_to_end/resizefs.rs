//! `--resizefs`: a volume and its file system get another size together, or neither is harmed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tests::{Daemon, Finished, Group, LIMIT, Tool, apart, wait_until};

use super::filesystems::{CAP_SYS_RESOURCE, effective_capabilities};

const MIB: u64 = 1 << 20;
/// The checksum of the file that every file system of these tests holds.
const SUM: &str = "sha256sum < data";

/// What fails a test that waits for the end of what is behind a killed command.
const STILL_ATTACHED: &str = "what a killed command attached is still there";

/// A file system: how it is made and checked, and how large it may be.
struct Kind {
    mkfs: &'static str,
    check: &'static str,
    large: u64,
    small: u64,
}

const EXT4: Kind = Kind {
    mkfs: "mkfs.ext4 -q -F",
    check: "e2fsck -fn",
    large: 80,
    small: 40,
};
const EXT2: Kind = Kind {
    mkfs: "mkfs.ext2 -q -F",
    ..EXT4
};
const XFS: Kind = Kind {
    mkfs: "mkfs.xfs -q",
    check: "xfs_repair -n",
    large: 340,
    small: 300,
};
const BTRFS: Kind = Kind {
    mkfs: "mkfs.btrfs -q",
    check: "btrfs check -q",
    large: 300,
    small: 260,
};

/// The group `vg0` with the volume `u` of this size in MiB.
fn group(name: &str, mib: u64) -> Group {
    let group = Group::new(name, 1, 400 * MIB);
    group.create("u", &[&format!("-L{mib}m")]);
    group
}

/// The same with a file system in it that holds a file; gives the file's checksum.
fn filled(name: &str, kind: &Kind, mib: u64) -> (Group, String) {
    let group = group(name, mib);
    on_node(&group, &format!("{} $LV_U", kind.mkfs));
    let sum = mounted(
        &group,
        &format!("head -c 9m /dev/urandom > data; sync; {SUM}"),
    );
    (group, sum)
}

/// What a script says that finds the volume's node as `$LV_U`.
fn on_node(group: &Group, script: &str) -> String {
    let run = group.ashlar().args(["run", "vg0/u", "--", "sh", "-ec"]);
    run.arg(script).succeed().text()
}

/// What a script says in the file system, mounted meanwhile.
fn mounted(group: &Group, script: &str) -> String {
    on_node(group, &in_it(group, script))
}

fn in_it(group: &Group, script: &str) -> String {
    let point = group.join("look");
    fs::create_dir_all(&point).expect("a mount point");
    let point = point.display();
    format!("mount $LV_U {point}; cd {point}; {script}; cd /; umount {point}")
}

/// The volume has this size, its file system is sound, no larger, and holds what it held; nothing
/// is attached.
fn assert_sound(group: &Group, kind: &Kind, mib: u64, sum: &str) {
    assert_eq!(size(group), mib, "the volume's size in MiB");
    let look = format!("{} $LV_U >&2; {}", kind.check, in_it(group, SUM));
    assert_eq!(on_node(group, &look), sum, "the content");
    assert_free(group);
}

fn assert_free(group: &Group) {
    let owners = group.ashlar().arg("owners").succeed();
    assert_eq!(owners.text(), "", "nothing is left attached");
}

fn size(group: &Group) -> u64 {
    let fields = [
        "--noheadings",
        "--nosuffix",
        "--units",
        "m",
        "-o",
        "lv_size",
    ];
    let text = group
        .ashlar()
        .arg("lvs")
        .args(fields)
        .arg("vg0/u")
        .succeed()
        .text();
    text.trim().trim_end_matches(".00").parse().expect("a size")
}

/// The size of the ext file system, in MiB.
fn ext_size(group: &Group) -> u64 {
    let text = on_node(group, "dumpe2fs -h $LV_U 2>/dev/null");
    let number = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.expect("is listed").trim().parse().expect("a number")
    };
    number("Block count:") * number("Block size:") / MIB
}

fn resize(group: &Group, command: &str, mib: u64) -> Tool {
    let size = format!("-L{mib}m");
    group.ashlar().args([command, "-r", &size, "vg0/u"])
}

fn says(finished: &Finished, words: &[&str]) {
    let all = format!("{}{}", finished.text(), finished.complaints());
    for word in words {
        assert!(all.contains(word), "{word:?} is not in: {all}");
    }
}

/// A directory with a tool that is really this script, for the front of `PATH`.
fn instead_of(group: &Group, tool: &str, script: &str) -> String {
    let bin = group.join("bin");
    fs::create_dir_all(&bin).expect("a directory");
    let path = bin.join(tool);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is ours");
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", bin.display())
}

/// Volumes that nobody has attached: ext2, ext4 and btrfs become smaller and larger, XFS becomes
/// larger and is refused to become smaller; what they hold stays, and nothing stays attached.
#[test]
fn file_systems_follow_volumes_that_nobody_uses() {
    for (name, kind) in [("ext2", &EXT2), ("ext4", &EXT4), ("btrfs", &BTRFS)] {
        let (group, sum) = filled(&format!("fs-{name}"), kind, kind.large);
        let plan = group.ashlar().args(["plan", "lvreduce", "-r"]);
        let plan = plan
            .arg(format!("-L{}m", kind.small))
            .arg("vg0/u")
            .succeed();
        let tool = if name == "btrfs" {
            "btrfs"
        } else {
            "resize2fs"
        };
        let steps = [
            &format!("File system {name} found on vg0/u."),
            "is larger than the requested size",
            &format!("File system reduce is required using {tool}."),
            &format!("In front of the change it would run: {tool} "),
        ];
        says(&plan, &steps);
        assert_sound(&group, kind, kind.large, &sum);
        let reduced = resize(&group, "lvreduce", kind.small).succeed();
        says(
            &reduced,
            &[&format!("Reduced file system {name} on vg0/u.")],
        );
        assert_sound(&group, kind, kind.small, &sum);
        let plan = group
            .ashlar()
            .args(["plan", "lvextend", "-r", "-l+1", "vg0/u"]);
        let step = format!("Behind the change it would run: {tool} ");
        says(&plan.succeed(), &[&step]);
        let extended = resize(&group, "lvresize", kind.large).succeed();
        says(
            &extended,
            &[&format!("Extended file system {name} on vg0/u.")],
        );
        assert_sound(&group, kind, kind.large, &sum);
    }
    let (group, sum) = filled("fs-xfs", &XFS, XFS.small);
    let before = mounted(&group, "stat -f -c %b .");
    resize(&group, "lvextend", XFS.large).succeed();
    let after = mounted(&group, "stat -f -c %b .");
    let blocks = |text: &str| -> u64 { text.trim().parse().expect("a number") };
    assert_eq!(blocks(&after) - blocks(&before), 40 * MIB / 4096, "it grew");
    let refused = resize(&group, "lvreduce", XFS.small).exit(5);
    says(
        &refused,
        &["File system reduce is required and not supported (xfs)."],
    );
    assert_sound(&group, &XFS, XFS.large, &sum);
}

/// A swap area is made anew in both directions, and keeps its UUID and label; one that the kernel
/// swaps to is left alone.
#[test]
fn swap_keeps_its_name() {
    let group = group("fs-swap", 80);
    on_node(&group, "mkswap -q -L scratch $LV_U");
    let about = || on_node(&group, "swaplabel $LV_U");
    let before = about();
    assert!(before.contains("scratch"), "{before}");
    for (command, mib) in [("lvreduce", 40), ("lvextend", 60)] {
        resize(&group, command, mib).succeed();
        assert_eq!(size(&group), mib);
        assert_eq!(about(), before, "UUID and label");
        let pages = on_node(&group, "od -An -tu4 -j1028 -N4 $LV_U");
        let pages: u64 = pages.trim().parse().expect("a number");
        assert_eq!((pages + 1) * 4096, mib * MIB, "all of the volume");
    }
    assert_free(&group);
}

/// A mounted ext4 grows while it is mounted, is unmounted to become smaller only after a question,
/// or not at all with --fsmode nochange, and is mounted again; with offline it is not.
#[test]
fn a_mounted_ext4_is_unmounted_only_by_agreement() {
    const QUESTION: &str =
        "Continue with ext4 file system reduce steps: unmount, fsck, resize2fs? [y/n]:";
    let (group, sum) = filled("fs-mounted", &EXT4, 40);
    let node = group.attach("u");
    let mount = group.mount(&node);
    let extended = resize(&group, "lvextend", 80);
    let mount = if effective_capabilities(std::process::id()) & CAP_SYS_RESOURCE != 0 {
        let words = ["found on vg0/u mounted at", "Extended file system ext4"];
        says(&extended.succeed(), &words);
        mount
    } else {
        println!("no CAP_SYS_RESOURCE: ext4 is resized while it is not mounted");
        let words = [
            "Permission denied",
            "new size, 80.00 MiB",
            "needs 40.00 MiB",
        ];
        says(&extended.exit(5), &words);
        let rest = ["lvextend", "-r", "-l20", "--fsmode", "offline", "vg0/u"];
        group.ashlar().args(rest).succeed();
        group.mount(&node)
    };
    let content = || {
        let look = Tool::new("sh").args(["-c", SUM]).within(mount.path());
        look.succeed().text()
    };
    assert_eq!(content(), sum);
    let is_mounted = || {
        Tool::new("mountpoint")
            .arg("-q")
            .arg(mount.path())
            .run()
            .code
            == Some(0)
    };
    let refused = resize(&group, "lvreduce", 40).input("n\n").exit(5);
    says(&refused, &[QUESTION, "Logical volume vg0/u NOT resized."]);
    let refused = resize(&group, "lvreduce", 40).args(["--fsmode", "nochange"]);
    says(
        &refused.exit(5),
        &["File system unmount is needed for reduce"],
    );
    assert!(is_mounted() && size(&group) == 80, "nothing changed");
    // Whoever uses it keeps it mounted, and as large.
    let held = fs::File::open(mount.path().join("data")).expect("opens");
    let refused = resize(&group, "lvreduce", 40).arg("-y").exit(5);
    says(&refused, &["umount failed", "NOT reduced", "80.00 MiB"]);
    drop(held);
    let reduced = resize(&group, "lvreduce", 40).input("y\n").succeed();
    says(&reduced, &[QUESTION, "Reduced file system ext4 on vg0/u."]);
    assert!(
        !reduced.complaints().contains("THIS MAY DESTROY"),
        "{reduced}"
    );
    assert!(is_mounted(), "again");
    assert_eq!(content(), sum);
    let offline = resize(&group, "lvreduce", 36).args(["--fsmode", "offline"]);
    offline.succeed();
    assert!(!is_mounted(), "it was to stay unmounted");
    drop(mount);
    group.detach("u");
    assert_sound(&group, &EXT4, 36, &sum);
}

/// btrfs becomes smaller and larger while it is mounted.
#[test]
fn a_mounted_btrfs_stays_mounted() {
    let (group, sum) = filled("fs-mounted-btrfs", &BTRFS, 300);
    let node = group.attach("u");
    let mount = group.mount(&node);
    resize(&group, "lvreduce", 260).succeed();
    assert_eq!(size(&group), 260);
    resize(&group, "lvextend", 280).succeed();
    let content = Tool::new("sh").args(["-c", SUM]).within(mount.path());
    assert_eq!(content.succeed().text(), sum);
    mount.unmount();
    group.detach("u");
    assert_sound(&group, &BTRFS, 280, &sum);
}

/// What others use in ways that cannot be seen, or what holds no file system that is known, is
/// refused before anything is done.
#[test]
fn what_cannot_be_known_is_refused() {
    let (group, sum) = filled("fs-refused", &EXT4, 80);
    let file = group.join("as-a-file");
    group
        .ashlar()
        .arg("attach")
        .arg("--file")
        .arg(&file)
        .arg("vg0/u")
        .succeed();
    let refused = resize(&group, "lvreduce", 40).exit(5);
    says(&refused, &["in use: process", "attached as the file"]);
    group.detach("u");
    let node = group.ashlar().args(["attach", "-r", "vg0/u"]).succeed();
    says(
        &resize(&group, "lvreduce", 40).exit(5),
        &["in use: process"],
    );
    drop(node);
    group.detach("u");
    let serve = ["serve", "vg0/u", "--run"];
    let inner = format!(
        "{} --devices {} lvreduce -r -L40m vg0/u; echo ended $?",
        tests::ashlar_path().display(),
        group.disk(0).display()
    );
    let served = group.ashlar().args(serve).arg(&inner).run();
    says(&served, &["in use: process", "ended 5"]);
    assert_sound(&group, &EXT4, 80, &sum);
    // What cannot be smaller is not.
    let refused = resize(&group, "lvreduce", 4).exit(5);
    says(
        &refused,
        &[
            "resize2fs failed",
            "NOT reduced: it has 80.00 MiB as before",
        ],
    );
    assert_sound(&group, &EXT4, 80, &sum);
    on_node(&group, "wipefs -qa $LV_U");
    says(
        &resize(&group, "lvreduce", 40).exit(5),
        &["No file system found on vg0/u."],
    );
    says(
        &resize(&group, "lvextend", 84).succeed(),
        &["No file system found on vg0/u."],
    );
    assert_eq!(size(&group), 84);
}

/// Where a tool fails the volume is not reduced, and the message names the tool, what it said and
/// the state; where one is missing its package is named before anything is done.
#[test]
fn a_tool_that_fails_leaves_the_volume() {
    let (group, sum) = filled("fs-tools", &EXT4, 80);
    let path = instead_of(&group, "resize2fs", "echo out of luck >&2; exit 3");
    let failed = resize(&group, "lvreduce", 40).env("PATH", &path).exit(5);
    let words = [
        "resize2fs failed (exit status 3): resize2fs /dev/loop",
        "out of luck",
        "Logical volume vg0/u NOT reduced: it has 80.00 MiB as before",
        "the file system ext4 in it needs 80.00 MiB",
    ];
    says(&failed, &words);
    assert_sound(&group, &EXT4, 80, &sum);
    let failed = resize(&group, "lvextend", 100).env("PATH", &path).exit(5);
    let words = [
        "out of luck",
        "has its new size, 100.00 MiB, and the file system ext4 in it needs 80.00 MiB",
        "`lvextend -r -l 25 vg0/u' does the rest",
    ];
    says(&failed, &words);
    assert_sound(&group, &EXT4, 100, &sum);
    assert_eq!(ext_size(&group), 80);
    group
        .ashlar()
        .args(["lvextend", "-r", "-l", "25", "vg0/u"])
        .succeed();
    assert_eq!(ext_size(&group), 100);
    // Hidden below a file that nobody can run, where nobody else sees it.
    let ashlar = format!(
        "mount --bind /dev/null /usr/sbin/resize2fs; exec {} --devices {} lvreduce -r -L40m vg0/u",
        tests::ashlar_path().display(),
        group.disk(0).display()
    );
    let missing = apart(&group.join("."), &ashlar);
    let missing = missing.env("ASHLAR_RUNTIME_DIR", group.join("run"));
    let missing = missing.env("LVM_LOCKING_DIR", group.join("locks"));
    let words = ["not installed: resize2fs (Debian's package e2fsprogs). Nothing was changed."];
    says(&missing.exit(5), &words);
    assert_sound(&group, &EXT4, 100, &sum);
}

/// Killed between the file system and the volume, in both directions: the file system is not
/// larger than the volume, sound, and the same command does the rest; asked to end, it ends there.
#[test]
fn a_kill_between_the_steps_leaves_what_works() {
    const REAL: &str = "$(PATH=/usr/sbin:/sbin command -v resize2fs)";
    let (group, sum) = filled("fs-killed", &EXT4, 80);
    // The server of the killed command detaches the volume by itself.
    let wait_until_free = || {
        wait_until(STILL_ATTACHED, || {
            group.ashlar().arg("owners").succeed().text().is_empty()
        });
    };
    for (signal, smaller) in [("KILL", 40), ("TERM", 32)] {
        let script = format!("{REAL} \"$@\" || exit; kill -{signal} $PPID");
        let path = instead_of(&group, "resize2fs", &script);
        let ended = resize(&group, "lvreduce", smaller).env("PATH", &path).run();
        assert_ne!(ended.code, Some(0), "{ended}");
        if signal == "TERM" {
            says(
                &ended,
                &["Interrupted.", "NOT reduced: it has 40.00 MiB as before"],
            );
        }
        wait_until_free();
        assert_eq!(
            ext_size(&group),
            smaller,
            "the file system is smaller already"
        );
        let before = if signal == "KILL" { 80 } else { 40 };
        assert_sound(&group, &EXT4, before, &sum);
        resize(&group, "lvreduce", smaller).succeed();
        assert_sound(&group, &EXT4, smaller, &sum);
    }
    let path = instead_of(&group, "resize2fs", "kill -KILL $PPID");
    resize(&group, "lvextend", 60).env("PATH", &path).run();
    wait_until_free();
    assert_eq!(ext_size(&group), 32, "the volume is larger already");
    assert_sound(&group, &EXT4, 60, &sum);
    resize(&group, "lvextend", 60).succeed();
    assert_eq!(ext_size(&group), 60);
    assert_sound(&group, &EXT4, 60, &sum);
}

/// While a tool works nobody else uses the volume, attached by somebody or by the command itself;
/// what is written meanwhile would land where the tool moved something else. Killed, the command
/// leaves it so until the tool has ended; then all is free.
#[test]
fn nobody_writes_while_a_tool_works() {
    const WORKS: &str = "touch $PLACE/works; for turn in $(seq 2000); do \
                         [ ! -e $PLACE/goes-on ] || break; sleep 0.02; done";
    let (group, sum) = filled("fs-alone", &EXT4, 80);
    let (works, goes_on) = (group.join("works"), group.join("goes-on"));
    let script = format!("{WORKS}; exec $(PATH=/usr/sbin:/sbin command -v resize2fs) \"$@\"");
    let path = instead_of(&group, "resize2fs", &script);
    let start = |command: &str, mib| {
        for file in [&works, &goes_on] {
            let _ = fs::remove_file(file);
        }
        let tool = resize(&group, command, mib).env("PATH", &path);
        Daemon::start(tool.env("PLACE", group.join(".")), || works.exists())
    };
    let assert_refused = || {
        let socket = format!("unix:{}", group.join("s").display());
        let file = group.join("file").display().to_string();
        for (words, why) in [
            (&["serve", "vg0/u", "--nbd", &socket][..], "in use"),
            (
                &["serve", "--readonly", "vg0/u", "--nbd", &socket],
                "in use",
            ),
            (&["attach", "--file", &file, "vg0/u"], "already attached"),
            (&["detach", "vg0/u"], "in use"),
            (&["lvrename", "vg0/u", "vg0/v"], "in use"),
            (&["lvchange", "-pr", "vg0/u"], "in use"),
            (&["lvreduce", "-r", "-y", "-L", "32m", "vg0/u"], "in use"),
        ] {
            says(&group.ashlar().args(words).exit(5), &["vg0/u", why]);
        }
    };
    for attached in [false, true] {
        if attached {
            group.attach("u");
        }
        let mut command = start("lvreduce", if attached { 40 } else { 60 });
        assert_refused();
        fs::write(&goes_on, "").expect("our own folder");
        assert_eq!(command.ended(LIMIT), Some(0), "attached: {attached}");
    }
    let mut killed = start("lvextend", 60);
    killed.kill();
    assert_refused();
    fs::write(&goes_on, "").expect("our own folder");
    wait_until(STILL_ATTACHED, || {
        let status = group
            .ashlar()
            .args(["serve", "vg0/u", "--run", "true"])
            .run();
        status.code == Some(0)
    });
    group.detach("u");
    let mut killed = start("lvextend", 80);
    killed.kill();
    assert_refused();
    fs::write(&goes_on, "").expect("our own folder");
    wait_until(STILL_ATTACHED, || {
        group.ashlar().arg("owners").succeed().text().is_empty()
    });
    assert_sound(&group, &EXT4, 80, &sum);
}
