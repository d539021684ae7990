//! `cargo xtask programs`: runs programs that call LVM2, with Ashlar in LVM2's place.
//!
//! ```text
//!   cargo xtask programs [NAME…]      all, or these
//!   cargo xtask programs --record     writes down what they send: target/programs/NAME.txt
//! ```
//!
//! Each program is the distribution's or the registry's own, unchanged, and is led through a life
//! of volumes by a script in `tests/programs/real`, in the namespaces that `world` there makes. One
//! that is not installed is named with how to get it, and makes the exit code 2. What came of them
//! is in `docs/programs.md`.
//!
//! What they sent is kept in `tests/programs/recorded`, where lines for what happens between the
//! commands, and for what is looked for in complaints, are added by hand.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Outcome, target_folder, tidy};

/// A program, and the script that leads it.
struct Program {
    name: &'static str,
    /// A command of the shell that succeeds where it is installed.
    is_there: &'static str,
    get: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "ansible",
        is_there: "\"${ANSIBLE_PLAYBOOK:-ansible-playbook}\" --version",
        get: "pip install ansible; name ansible-playbook in ANSIBLE_PLAYBOOK unless PATH has it",
    },
    Program {
        name: "blockdev",
        is_there: "/usr/bin/python3 -c 'import gi; gi.require_version(\"BlockDev\", \"2.0\")' && \
                   ls /usr/lib/*/libbd_lvm.so.2",
        get: "apt install gir1.2-blockdev-2.0 libblockdev-lvm2 python3-gi",
    },
    Program {
        name: "clone",
        is_there: "true",
        get: "",
    },
    Program {
        name: "fai",
        is_there: "command -v setup-storage",
        get: "apt install fai-setup-storage",
    },
    Program {
        name: "libvirt",
        is_there: "command -v libvirtd && command -v virsh",
        get: "apt install libvirt-daemon libvirt-clients",
    },
    Program {
        name: "mylvmbackup",
        is_there: "command -v mylvmbackup && command -v mkfs.xfs",
        get: "apt install mylvmbackup xfsprogs",
    },
    Program {
        name: "os-brick",
        is_there: "\"${OS_BRICK_PYTHON:-python3}\" -c 'import os_brick'",
        get: "pip install os-brick; name its python in OS_BRICK_PYTHON",
    },
    Program {
        name: "partman",
        is_there: "test -f \"$PARTMAN_LVM/lib/partman/lib/lvm-base.sh\"",
        get: "apt-get download partman-lvm (from main/debian-installer), dpkg-deb -x it into a \
              folder; name that in PARTMAN_LVM",
    },
];

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let (options, names): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|word| word.starts_with('-'));
    let records = match options[..] {
        [] => false,
        [option] if option == "--record" => true,
        _ => return Outcome::Unusable("usage: programs [--record] [NAME…]".to_owned()),
    };
    let is_known = |name: &&&String| PROGRAMS.iter().any(|program| program.name == **name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        let all: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        let all = all.join(" ");
        return Outcome::Unusable(format!("no program is called '{name}'; there are {all}"));
    }
    if !rustix::process::geteuid().is_root() {
        return Outcome::Unusable("loop devices, mounts and namespaces need root".to_owned());
    }
    let ashlar = match built() {
        Ok(path) => path,
        Err(outcome) => return outcome,
    };
    let (mut failed, mut absent) = (0, 0);
    for program in PROGRAMS {
        if !names.is_empty() && !names.iter().any(|name| *name == program.name) {
            continue;
        }
        let Program { name, get, .. } = program;
        if !succeeds(Command::new("sh").args(["-c", program.is_there])) {
            println!("{name:<12} not installed: {get}");
            absent += 1;
            continue;
        }
        let start = Instant::now();
        match live(name, &ashlar, records) {
            Ok(()) => println!("{name:<12} ok ({} s)", start.elapsed().as_secs()),
            Err(why) => {
                println!("{name:<12} failed: {why}");
                failed += 1;
            }
        }
    }
    match (failed, absent) {
        (0, 0) => Outcome::Passed,
        (0, _) => Outcome::Code(2),
        _ => Outcome::Failed,
    }
}

/// Leads one through its life; why not, where it did not come to its end.
fn live(name: &str, ashlar: &Path, records: bool) -> Result<(), String> {
    let programs = tidy::root().join("tests/programs");
    let log = target_folder().join(format!("programs/{name}.log"));
    let start = || -> std::io::Result<bool> {
        std::fs::create_dir_all(log.parent().unwrap_or(Path::new("/")))?;
        let output = std::fs::File::create(&log)?;
        let mut world = Command::new(programs.join("real/world"));
        world.arg(ashlar).arg(programs.join("real").join(name));
        if records {
            let record = log.with_extension("txt");
            std::fs::File::create(&record)?;
            world.arg(record);
        }
        world.stdin(Stdio::null()).stdout(output.try_clone()?);
        Ok(world.stderr(output).status()?.success())
    };
    match start() {
        Ok(true) => Ok(()),
        Ok(false) => {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            Err(format!("{} ({})", last.unwrap_or("no word"), log.display()))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The program under test: `ASHLAR_BIN`, or the workspace's own.
fn built() -> Result<PathBuf, Outcome> {
    if let Some(path) = env::var_os("ASHLAR_BIN").map(PathBuf::from) {
        let message = || Outcome::Unusable(format!("ASHLAR_BIN names {}, no file", path.display()));
        return path.canonicalize().map_err(|_| message());
    }
    let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--quiet", "--locked", "-p", "ashlar-cli"]);
    match build.current_dir(tidy::root()).status() {
        Ok(status) if status.success() => Ok(target_folder().join("debug/ashlar")),
        _ => Err(Outcome::Unusable("ashlar was not built".to_owned())),
    }
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
