//! Programs outside the workspace, on the packages as others get them.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tests::{Daemon, Golden, Scratch, Tool, ashlar, sha256};

/// What `ashlar` and `ashlar-nbd` consist of.
const PACKAGES: &[&str] = &[
    "ashlar",
    "ashlar-block",
    "ashlar-dm",
    "ashlar-lvm2",
    "ashlar-nbd",
];
/// For what compiles all of it.
const COMPILE_MAX: Duration = Duration::from_mins(20);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn cargo(arguments: &[&str]) -> Tool {
    let cargo = Tool::new(env!("CARGO")).args(arguments);
    cargo.args(["--quiet", "--offline"]).limit(COMPILE_MAX)
}

/// The packages, as they would be published, unpacked below `scratch`.
fn publish(scratch: &Scratch) {
    let target = scratch.join("packages");
    // Complaints about addresses that the packages do not have yet go with the rest of what a
    // tool says that succeeds.
    let package = cargo(&["package", "--no-verify", "--allow-dirty"]);
    let named = PACKAGES.iter().flat_map(|name| ["-p", name]);
    let manifest = root().join("Cargo.toml");
    package
        .args(named)
        .arg("--target-dir")
        .arg(&target)
        .arg("--manifest-path")
        .arg(manifest)
        .succeed();
    for name in PACKAGES {
        let archive = target.join("package").join(format!("{name}-0.1.0.crate"));
        let unpack = Tool::new("tar").arg("-xzf").arg(archive);
        unpack.arg("-C").arg(scratch.path()).succeed();
    }
}

/// Builds a program of `tests/outside` away from the workspace, which sees the packages only.
fn build(scratch: &Scratch, name: &str) -> PathBuf {
    let folder = scratch.join(name);
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let source = root().join("tests/outside").join(name);
    for file in ["Cargo.toml", "src/main.rs"] {
        fs::copy(source.join(file), folder.join(file)).expect("a program");
    }
    // The versions that were fetched for the workspace: nothing is asked of a network.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the versions");
    let mut compile = cargo(&["build"]).within(&folder);
    for package in PACKAGES {
        let path = scratch.join(format!("{package}-0.1.0"));
        let patch = format!("patch.crates-io.{package}.path={:?}", path.display());
        compile = compile.args(["--config", &patch]);
    }
    let target = scratch.join("target");
    compile.env("CARGO_TARGET_DIR", &target).succeed();
    target.join("debug").join(name)
}

/// Twenty lines that depend on the packaged `ashlar` read a file system out of a golden volume; so
/// do twenty that depend on `ashlar-nbd` alone, from a server.
#[test]
fn programs_build_on_the_packages() {
    let scratch = Scratch::new("outside");
    publish(&scratch);
    let golden = Golden::shared();
    let wanted = Golden::volume("ext4");

    let reader = Tool::new(build(&scratch, "reader"));
    let read = reader.args(["vg0", "ext4"]).arg(golden.folder()).succeed();
    assert_eq!(sha256(&read.stdout), wanted.sha256);

    let socket = scratch.join("socket");
    let serve = ashlar().arg("--devices").arg(golden.folder());
    let serve = serve.args(["serve", "--readonly", "vg0/ext4"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let network = Tool::new(build(&scratch, "network"));
    let address = format!("nbd+unix:///vg0/ext4?socket={}", socket.display());
    let read = network.arg(address).succeed();
    assert_eq!(sha256(&read.stdout), wanted.sha256);
    drop(server);
}
