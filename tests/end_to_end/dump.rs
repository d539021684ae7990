//! `lvmdump`: what is gathered for whoever helps, and that it is nobody else's to read.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tests::{Group, Tool};

/// Bytes of a disk.
const SIZE: u64 = 64 << 20;

/// Proves: the archive lies in the home directory, is readable by its owner only, and holds what
/// reports, owners and nodes say, the configuration, and the bytes of the metadata; and nothing of
/// the environment that is a secret.
#[test]
fn the_archive_holds_what_a_report_needs() {
    let group = Group::new("dump", 1, SIZE);
    group.create("data", &["-l", "2"]);
    group.attach("data");
    let home = group.join("home");
    fs::create_dir(&home).expect("a folder");
    let dump = group.ashlar().args(["lvmdump", "-am"]).env("HOME", &home);
    let told = dump.env("SOME_TOKEN", "secret").succeed().text();
    let line = told.lines().last().expect("it says what it makes");
    let archive = line.trim().strip_prefix("Creating report tarball in ");
    let archive = archive
        .and_then(|line| line.strip_suffix("..."))
        .expect("a path");
    let mode = fs::metadata(archive).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    assert_eq!(
        fs::read_dir(&home).expect("a folder").count(),
        1,
        "no more is left"
    );

    let out = group.join("out");
    fs::create_dir(&out).expect("a folder");
    let unpack = Tool::new("tar").args(["--strip-components=1", "-xzf", archive, "-C"]);
    unpack.arg(&out).succeed();
    let file = |name: &str| fs::read_to_string(out.join(name)).expect(name);
    for (name, wanted) in [
        ("lvs", "data"),
        ("pvs", "d0.img"),
        ("vgs", "vg0"),
        ("owners", "vg0"),
        ("nodes_info", "vg0-data"),
        ("nodes_table", "vg0-data: 0 16384 linear "),
        ("versions", "Ashlar version"),
        ("environment", "ASHLAR_RUNTIME_DIR="),
        ("lvmdump.log", "Gathering LVM volume info..."),
        ("dev_listing", "null"),
    ] {
        assert!(file(name).contains(wanted), "{name}: {}", file(name));
    }
    assert!(!file("environment").contains("secret"));
    let mut metadata = fs::read_dir(out.join("metadata")).expect("it was asked for");
    let one = metadata.next().expect("one disk").expect("a file").path();
    let (one, disk) = (fs::read(one), fs::read(group.disk(0)));
    let (one, disk) = (one.expect("a file"), disk.expect("the disk"));
    assert_eq!(one.len(), 1 << 20, "all in front of the first extent");
    assert!(disk.starts_with(&one));
    group.detach("data");
}

/// Proves: with -d all stays in a directory, and nothing is written over what is there, with the
/// exit codes of stock's script.
#[test]
fn a_directory_is_filled_and_none_written_over() {
    let group = Group::new("dump-directory", 1, SIZE);
    let folder = group.join("dump");
    let dump = || group.ashlar().args(["lvmdump", "-d"]).arg(&folder);
    dump().succeed();
    assert!(folder.join("owners").exists());
    assert!(!folder.join("lvs").exists(), "only -a looks at all disks");
    let mode = fs::metadata(&folder).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
    let told = dump().exit(5).complaints();
    assert!(told.contains("already exists and is not empty"), "{told}");
    let file = group.ashlar().args(["lvmdump", "-d"]).arg(group.disk(0));
    file.exit(3);
    group.ashlar().args(["lvmdump", "more"]).exit(3);
}
