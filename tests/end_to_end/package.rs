//! The Debian package: what it installs works, and all of it goes away.
//!
//! The package is made of the program under test, which need not be static; `tests/fresh` does the
//! same with what `cargo xtask dist` builds, in a root of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tests::{Golden, Scratch, Tool, ashlar_path};

/// Building the tool that makes the package may come first.
const LIMIT: Duration = Duration::from_mins(10);

/// Makes the package in `folder`.
fn package(folder: &Path) -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let words = [
        "run",
        "--quiet",
        "--locked",
        "-p",
        "xtask",
        "--manifest-path",
        manifest,
    ];
    let made = Tool::new(env!("CARGO"))
        .args(words)
        .args(["--", "dist", "--binary"])
        .arg(ashlar_path())
        .arg("--out")
        .arg(folder)
        .limit(LIMIT)
        .succeed()
        .text();
    // The last line names it.
    let line = made.lines().last();
    line.and_then(|line| line.strip_prefix("dist: "))
        .expect("it says where the package is")
        .into()
}

fn files(folder: &Path) -> Vec<String> {
    let found = Tool::new("find")
        .arg(folder)
        .args(["!", "-type", "d", "-printf", "%P\n"]);
    let mut names: Vec<String> = found.succeed().text().lines().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn the_package_is_installed_used_and_purged() {
    // Proves: dpkg installs the package where nothing else is, the program reads disks there, no
    // page or program has another package's name, and after a purge not even a folder is left.
    let scratch = Scratch::new("package");
    let package = package(scratch.path());
    let root = scratch.join("installed");
    let dpkg = |words: &[&str]| {
        Tool::new("dpkg")
            .arg(format!("--instdir={}", root.display()))
            .arg(format!("--admindir={}", root.join("admin").display()))
            .args(["--log=/dev/null", "--force-not-root"])
            .args(words)
    };
    for folder in ["admin/info", "admin/updates", "admin/triggers"] {
        std::fs::create_dir_all(root.join(folder)).expect("is made");
    }
    std::fs::write(root.join("admin/status"), "").expect("is made");
    dpkg(&["--install", &package.display().to_string()]).succeed();

    let installed = files(&root.join("usr"));
    for wanted in [
        "bin/ashlar",
        "lib/systemd/system/ashlar-activation.service",
        "lib/systemd/system/ashlar@.service",
        "lib/systemd/system/ashlar@.socket",
        "lib/systemd/system/run-ashlar-attached-.mount.d/ashlar.conf",
        "share/bash-completion/completions/ashlar",
        "share/doc/ashlar/copyright",
        "share/fish/vendor_completions.d/ashlar.fish",
        "share/man/man8/ashlar-lvs.8.gz",
        "share/man/man8/ashlar.8.gz",
        "share/zsh/vendor-completions/_ashlar",
    ] {
        assert!(
            installed.iter().any(|name| name == wanted),
            "{wanted}: {installed:?}"
        );
    }
    let foreign = |name: &&String| !name.contains("ashlar");
    assert_eq!(installed.iter().find(foreign), None);
    let golden = Golden::shared();
    let lvs = Tool::new(root.join("usr/bin/ashlar")).args(["lvs", "--noheadings", "--devices"]);
    let seen = lvs.arg(golden.folder()).succeed().text();
    assert!(seen.contains("linear1"), "{seen}");

    dpkg(&["--purge", "ashlar"]).succeed();
    assert!(!root.join("usr").exists(), "{:?}", files(&root));
}
