//! Arrays of md's with logs of partial parity, cut off while they are written: by us, for the
//! kernel to make right, and by the kernel, for us.
//!
//! ```text
//!   kernel   mdadm makes four arrays with such logs
//!   here     a group on each, filled; blocks of three of them are written until we are killed
//!   kernel   two: takes them for clean because of our logs, and finds no parity wrong
//!            the third: makes it right without a leg
//!            writes blocks of the fourth until power is cut
//!   here     the fourth is right in the same two ways
//! ```

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use tests::{Dialogue, Kernel, Scratch, Tool, ashlar, killing, was_killed};

use super::group::{file, images, pattern};
use crate::md_partial::{BLOCK, NEW, STEP, WRITE_CALLS, writes};

const LEGS: usize = 4;
const MIB: u64 = 24;
/// Of each volume.
const SIZE: u64 = 8 << 20;
const WRITES: usize = 400;
/// Blocks that the kernel writes before its power is cut, at least.
const CUT_AT: usize = 40;
/// At which write of a thread we are killed.
const KILLS: [usize; 3] = [16, 31, 47];

const LIB: &str = r#"
must() {
    "$@" >/tmp/said 2>&1 || { echo "failed: $*"; cat /tmp/said /proc/mdstat; exit 1; }
}
vg() {
    must "$1" "$2" --config 'devices { filter = [ "a|^/dev/md|", "r|.*|" ] }' "$3"
}
mkdir -p /run/mdadm
modprobe -a raid456
"#;

/// An array, and the group on it.
struct Made {
    number: usize,
    disks: Vec<PathBuf>,
    folder: PathBuf,
}

impl Made {
    fn node(&self) -> String {
        format!("md{}", 100 + self.number)
    }

    fn group(&self) -> String {
        format!("v{}", self.number)
    }

    fn devices(&self) -> Vec<String> {
        let first = self.number * LEGS;
        (first..first + LEGS).map(Kernel::device).collect()
    }

    fn of(&self, tool: Tool, disks: &[PathBuf]) -> Tool {
        let names: Vec<String> = disks
            .iter()
            .map(|disk| disk.display().to_string())
            .collect();
        tool.env("ASHLAR_DEVICES", names.join(":"))
            .env("LVM_SYSTEM_DIR", &self.folder)
            .env("XDG_STATE_HOME", &self.folder)
            .env("ASHLAR_RUNTIME_DIR", self.folder.join("run"))
            .env("ASHLAR_IO", "threads")
    }

    fn on(&self, words: &[&str]) -> String {
        self.of(ashlar(), &self.disks).args(words).succeed().text()
    }

    /// A group with two volumes, one of which holds this file.
    fn begin(&self, content: &Path) {
        let listed = self.on(&["md", "list", "--json"]);
        let line = listed.lines().next().expect("an array");
        let listed: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(listed["consistency"], "ppl", "{listed}");
        let group = self.group();
        let name = listed["name"].as_str().expect("a name");
        self.on(&["vgcreate", "-s", "1m", &group, name]);
        self.on(&["lvcreate", "-L", "8m", "-n", "data", &group]);
        self.on(&["lvcreate", "-L", "1m", "-n", "other", &group]);
        let to = format!("{group}/data");
        self.on(&["cp", &content.display().to_string(), &to]);
    }

    /// Writes every third block, many at a time, until it is killed.
    fn write_and_die(&self, call: usize) {
        let line = writes(WRITES);
        let tool = killing(WRITE_CALLS, call, &self.folder.join("record"));
        let data = format!("{}/data", self.group());
        let served = self
            .of(tool, &self.disks)
            .args(["serve", &data, "--run", &line]);
        assert!(was_killed(&served.run()), "it makes {call} writes");
    }
}

/// Each block is as it was, or as it is written, or where it was written some of both.
fn judge(found: &[u8], old: &[u8], lost: Option<usize>) {
    assert_eq!(found.len(), old.len(), "all is read");
    let mut written = 0;
    for (number, (found, old)) in found.chunks(BLOCK).zip(old.chunks(BLOCK)).enumerate() {
        if !(number.is_multiple_of(STEP) && number / STEP < WRITES) {
            assert!(found == old, "block {number}, without leg {lost:?}");
            continue;
        }
        let is_new = found.iter().all(|byte| *byte == NEW);
        written += usize::from(is_new);
        let mut sectors = found.chunks(512).zip(old.chunks(512));
        let is_right = |(new, old): (&[u8], &[u8])| new == old || *new == [NEW; 512];
        // What was being written on a leg that is lost may be anything.
        let is_right = lost.is_some() || sectors.all(is_right);
        assert!(is_right, "block {number}");
    }
    assert!(written > 0, "some of it was written");
}

fn create(machine: &mut Dialogue, all: &[Made]) {
    let mut script = LIB.to_owned();
    for made in all {
        let node = made.node();
        let _ = write!(
            script,
            "must mdadm --create /dev/{node} --run --assume-clean --level=5 --chunk=16 \
             --raid-devices={LEGS} --consistency-policy=ppl {}\n\
             must mdadm --stop /dev/{node}\n",
            made.devices().join(" ")
        );
    }
    machine.succeed(&script);
}

/// The kernel finds an array clean that we did not leave so, and leaves what is there.
fn judged_whole(machine: &mut Dialogue, made: &Made, old: &[u8]) {
    let (node, group) = (made.node(), made.group());
    let outcome = machine.succeed(&format!(
        "{LIB}
         must mdadm --assemble --run /dev/{node} {}
         echo resync {node} $(cat /sys/block/{node}/md/resync_start)
         until [ $(cat /sys/block/{node}/md/sync_action) = idle ]; do sleep 0.2; done
         echo check >/sys/block/{node}/md/sync_action
         until [ $(cat /sys/block/{node}/md/sync_action) = idle ]; do sleep 0.2; done
         echo mismatches {node} $(cat /sys/block/{node}/md/mismatch_cnt)
         must mdadm --stop /dev/{node}",
        made.devices().join(" ")
    ));
    for line in [
        format!("resync {node} none"),
        format!("mismatches {node} 0"),
    ] {
        assert!(
            outcome.text().lines().any(|said| said.trim() == line),
            "{line}: {outcome}"
        );
    }
    let data = format!("{group}/data");
    let found = made
        .of(ashlar(), &made.disks)
        .args(["cat", &data])
        .succeed();
    judge(&found.stdout, old, None);
}

/// The kernel starts an array without its first leg, and what nobody wrote is as it was.
fn judged_without(machine: &mut Dialogue, made: &Made, old: &[u8]) {
    let (node, group) = (made.node(), made.group());
    // With --force mdadm calls it clean, and the kernel does not look at logs.
    let outcome = machine.succeed(&format!(
        "{LIB}
         must mdadm --assemble --run /dev/{node} {}
         dmesg | grep {node}:
         must mdadm --stop /dev/{node}",
        made.devices()[1..].join(" ")
    ));
    let said = outcome.text();
    assert!(said.contains("dirty degraded array with PPL"), "{outcome}");
    let data = format!("{group}/data");
    let read = made.of(ashlar(), &made.disks[1..]).args(["cat", &data]);
    judge(&read.succeed().stdout, old, Some(0));
}

/// The kernel writes blocks, some at a time, until power is cut.
fn cut(machine: Dialogue, made: &Made) {
    let (node, group) = (made.node(), made.group());
    let mut script = format!(
        "{LIB}
         must mdadm --assemble --run /dev/{node} {}
         vg vgchange -ay {group}\n: >/tmp/written\n",
        made.devices().join(" ")
    );
    for lane in 0..4 {
        let _ = write!(
            script,
            "(n={lane}; while true; do
                dd if=/job/new of=/dev/{group}/data bs={BLOCK} seek=$((n % {WRITES} * {STEP})) \
                count=1 oflag=direct conv=notrunc status=none
                echo $n >>/tmp/written; n=$((n + 4)); done) &\n"
        );
    }
    // However slow the machine is, some are written, and more are being.
    let _ = writeln!(
        script,
        "until [ $(wc -l </tmp/written) -ge {CUT_AT} ]; do sleep 0.05; done"
    );
    machine.crash(&script);
}

/// We find right what the kernel was cut off from.
fn recovered(made: &Made, old: &[u8]) {
    let listed = made.on(&["md", "list"]);
    assert!(
        listed.contains("not clean"),
        "it was being written: {listed}"
    );
    let group = made.group();
    let small = made.folder.join("small");
    fs::write(&small, vec![7; BLOCK]).expect("a file");
    let copies = |name: &str| -> Vec<PathBuf> {
        let copy = |(leg, disk): (usize, &PathBuf)| {
            let path = made.folder.join(format!("{name}{leg}.img"));
            fs::copy(disk, &path).expect("there is space for it");
            path
        };
        made.disks.iter().enumerate().map(copy).collect()
    };
    let read = |disks: &[PathBuf], lost: Option<usize>| {
        let on = |words: &[&str]| made.of(ashlar(), disks).args(words).succeed();
        let other = format!("{group}/other");
        on(&["cp", &small.display().to_string(), &other]);
        judge(&on(&["cat", &format!("{group}/data")]).stdout, old, lost);
    };
    for lost in 0..LEGS {
        let mut left = copies("left");
        left.remove(lost);
        read(&left, Some(lost));
    }
    read(&made.disks, None);
    let listed = made.on(&["md", "list"]);
    assert!(
        !listed.contains("not clean"),
        "its logs were enough: {listed}"
    );
    let checked = made.on(&["md", "check"]);
    assert!(checked.contains("no mismatches in"), "{checked}");
}

#[test]
fn what_was_cut_off_is_made_right() {
    // Proves, in one boot: what the module's essay draws.
    let scratch = Scratch::new("kernel-md-partial");
    let made = |number: usize| {
        let folder = scratch.join(format!("array{number}"));
        fs::create_dir(&folder).expect("a directory");
        let disks = images(&scratch, &format!("a{number}-"), LEGS, MIB);
        Made {
            number,
            disks,
            folder,
        }
    };
    let all: Vec<Made> = (0..=KILLS.len()).map(made).collect();
    let old = pattern("old", SIZE);
    let content = file(&scratch, "old", &old);
    let mut machine = Kernel::new("md-partial")
        .disks(all.iter().flat_map(|made| &made.disks))
        .program("mdadm")
        .file("new", &[NEW; BLOCK])
        .listen();
    create(&mut machine, &all);
    for made in &all {
        made.begin(&content);
    }
    for (made, call) in all.iter().zip(KILLS) {
        made.write_and_die(call);
    }
    judged_whole(&mut machine, &all[0], &old);
    judged_whole(&mut machine, &all[1], &old);
    judged_without(&mut machine, &all[2], &old);
    cut(machine, &all[3]);
    recovered(&all[3], &old);
}
