//! What real programs send to LVM2, and what they read in the answers.
//!
//! `cargo xtask programs` runs the programs themselves; here they are not needed. A recording in
//! `tests/programs/recorded` has in each line
//!
//! ```text
//!   $ NAME ARGUMENT…    a command that the program sent, as a shell reads it
//!   = STATUS            its status, if not 0
//!   | TEXT              a line of its output, which the program reads; `*` stands for anything
//!   ? TEXT              what is in its complaints, because the program looks for it
//!   ! COMMAND           what happens meanwhile: a file system is made, or mounted on `mnt`
//! ```
//!
//! Disks are DISK0 to DISK3 and UUIDs UUID. Spaces and the order of lines are not compared, since
//! they follow from the names of disks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use tests::{Access, Finished, LoopDevice, Scratch, Tool, ashlar_path, assert_root};

/// As `tests/programs/real/world` makes them.
const DISK_BYTES: u64 = 1 << 30;

/// How often a report is asked for that is not what was recorded, and how long that waits.
const LOOKS_MAX: usize = 20;
const INTERVAL: Duration = Duration::from_millis(100);

/// A machine with four disks and LVM2's names for the program.
struct Machine {
    scratch: Scratch,
    disks: Vec<LoopDevice>,
}

/// One command of a recording.
#[derive(Default)]
struct Step {
    line: String,
    is_ours: bool,
    status: i32,
    output: Vec<String>,
    complaints: Vec<String>,
}

impl Machine {
    fn new() -> Self {
        assert_root();
        let scratch = Scratch::new("programs");
        for folder in ["bin", "etc", "mnt"] {
            fs::create_dir(scratch.join(folder)).expect("a folder");
        }
        let image = |number| scratch.sparse(&format!("disk{number}"), DISK_BYTES);
        let images: Vec<PathBuf> = (0..4).map(image).collect();
        let disks = images
            .iter()
            .map(|image| LoopDevice::attach(image, Access::ReadWrite));
        let disks = disks.collect();
        Self { scratch, disks }
    }

    /// A line with the names of this machine. Commands know volumes by `/dev/VG/LV` wherever their
    /// names are.
    fn named(&self, step: &Step) -> String {
        let dev = self.scratch.join("dev").display().to_string();
        let line = if step.is_ours {
            step.line.clone()
        } else {
            step.line.replace("/dev/", &format!("{dev}/"))
        };
        let line = line.replace("WORLD", &self.scratch.path().display().to_string());
        let disks = self.disks.iter().enumerate();
        disks.fold(line, |line, (number, disk)| {
            line.replace(&format!("DISK{number}"), &disk.path().display().to_string())
        })
    }

    /// A line with the names of recordings.
    fn masked(&self, line: &str) -> String {
        let words = line.split_whitespace().map(|word| {
            let disks = self.disks.iter().enumerate();
            let word = disks.fold(word.to_owned(), |word, (number, disk)| {
                let name = disk.path().display().to_string();
                let is_whole = word
                    .split_once(&name)
                    .is_some_and(|(_, rest)| !rest.starts_with(|c: char| c.is_ascii_digit()));
                if is_whole {
                    word.replace(&name, &format!("DISK{number}"))
                } else {
                    word
                }
            });
            let dev = self.scratch.join("dev").display().to_string();
            without_uuid(&word.replace(&dev, "/dev"))
        });
        let words = words.collect::<Vec<_>>().join(" ");
        // Which entry of a list is the last one follows from the order.
        words.trim_end_matches(',').to_owned()
    }

    fn shell(&self, line: &str) -> Tool {
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.scratch.join("bin");
        let path = format!("{}:{path}:/usr/sbin:/sbin", bin.display());
        let disks: Vec<String> = self
            .disks
            .iter()
            .map(|disk| disk.path().display().to_string())
            .collect();
        Tool::new("sh")
            .args(["-ec", line])
            .within(self.scratch.path())
            .env("PATH", path)
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
            .env("ASHLAR_DEVICES", disks.join(":"))
            .env("DM_DEV_DIR", self.scratch.join("dev"))
            .env("LVM_SYSTEM_DIR", self.scratch.join("etc"))
            .env("LVM_LOCKING_DIR", self.scratch.join("locks"))
    }

    fn run(&self, step: &Step) -> Finished {
        if step.is_ours {
            let name = step.line.split(' ').next().expect("a command");
            let link = self.scratch.join("bin").join(name);
            if !link.exists() {
                symlink(ashlar_path(), &link).expect("a link");
            }
        }
        self.shell(&self.named(step)).run()
    }

    /// Sends what a recording has.
    fn replay(&self, name: &str) {
        let steps = steps(name);
        assert!(
            steps.iter().filter(|step| step.is_ours).count() > 5,
            "{name}"
        );
        for step in &steps {
            let mut ended = self.run(step);
            for _ in 0..LOOKS_MAX {
                if step.output.is_empty() || self.is_printed(step, &ended) {
                    break;
                }
                // Whoever looks at all devices has each open for a moment.
                sleep(INTERVAL);
                ended = self.run(step);
            }
            assert_eq!(ended.code, Some(step.status), "{ended}");
            assert!(
                self.is_printed(step, &ended),
                "{ended}\nis not {:#?}",
                step.output
            );
            for said in &step.complaints {
                assert!(
                    ended.complaints().contains(said.as_str()),
                    "{said}: {ended}"
                );
            }
        }
    }

    /// Whether a command printed what the recording has.
    fn is_printed(&self, step: &Step, ended: &Finished) -> bool {
        let sorted = |lines: &mut dyn Iterator<Item = &str>| {
            let lines = lines.map(|line| self.masked(line));
            let mut lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
            lines.sort();
            lines
        };
        if step.output.is_empty() {
            return true;
        }
        let text = ended.text();
        let found = sorted(&mut text.lines());
        let wanted = sorted(&mut step.output.iter().map(String::as_str));
        found.len() == wanted.len()
            && found
                .iter()
                .zip(&wanted)
                .all(|(found, wanted)| is_like(found, wanted))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = Tool::new("umount")
            .arg("-lq")
            .arg(self.scratch.join("mnt"))
            .run();
        let link = self.scratch.join("bin/ashlar");
        let _ = symlink(ashlar_path(), &link);
        let _ = self.shell("ashlar stop --all").run();
        let _ = self.shell("ashlar detach --all").run();
    }
}

/// Whether a line is a pattern's, in which `*` stands for anything.
fn is_like(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let mut is_open = false;
    for part in parts {
        is_open = part.is_empty();
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    is_open || rest.is_empty()
}

/// Puts UUID in place of LVM2's, which are 32 letters with six hyphens between.
fn without_uuid(word: &str) -> String {
    const LENGTHS: [usize; 7] = [6, 4, 4, 4, 4, 4, 6];
    const UUID: usize = 38;
    let is_uuid = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        let is_part = |(part, len): (&&str, &usize)| {
            part.len() == *len && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        parts.len() == LENGTHS.len() && parts.iter().zip(&LENGTHS).all(is_part)
    };
    let found = (0..word.len().saturating_sub(UUID - 1))
        .find(|start| word.get(*start..start + UUID).is_some_and(is_uuid));
    found.map_or(word.to_owned(), |start| {
        format!("{}UUID{}", &word[..start], &word[start + UUID..])
    })
}

fn steps(name: &str) -> Vec<Step> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/recorded");
    let path = folder.join(format!("{name}.txt"));
    let text = fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (mark, rest) = line.split_at(line.len().min(2));
        let is_step = matches!(mark, "$ " | "! ");
        if is_step {
            steps.push(Step {
                line: rest.to_owned(),
                is_ours: mark == "$ ",
                ..Step::default()
            });
            continue;
        }
        let step = steps.last_mut();
        match (mark.trim_end(), step) {
            ("#", _) => {}
            ("=", Some(step)) => step.status = rest.parse().expect("a status"),
            ("|", Some(step)) => step.output.push(rest.to_owned()),
            ("?", Some(step)) => step.complaints.push(rest.to_owned()),
            _ => panic!("{}: {line}", path.display()),
        }
    }
    steps
}

/// A test for each recording.
macro_rules! replays {
    ($($name:ident: $recording:literal)*) => {$(
        #[test]
        fn $name() {
            // Proves: what the program sent when it was recorded ends as it did then, and what it
            // reads in the answers is there.
            Machine::new().replay($recording);
        }
    )*};
}

replays! {
    ansible_is_answered: "ansible"
    blockdev_is_answered: "blockdev"
    cloning_is_answered: "clone"
    fai_is_answered: "fai"
    libvirt_is_answered: "libvirt"
    mylvmbackup_is_answered: "mylvmbackup"
    os_brick_is_answered: "os-brick"
    partman_is_answered: "partman"
    topolvm_is_answered: "topolvm"
}
