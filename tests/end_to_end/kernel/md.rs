//! Arrays of md's that go back and forth between mdadm on a stock kernel and us, with a leg away on
//! either side.
//!
//! ```text
//!   kernel   mdadm makes some of the arrays; we make the others, in each format of each level
//!   here     a group on each, filled whole, then once more while leg 1 is away
//!   kernel   mdadm assembles each, does not believe leg 1, takes it again, and fills it: with a
//!            bitmap what is marked only; finds no copy or parity that is wrong; reads what we
//!            wrote; writes, once more while leg 0 is away
//!   here     leg 0 gets what it lacks, all goes together, and any leg may be lost
//! ```

use std::fmt::Write;
use std::path::PathBuf;

use tests::{Dialogue, Finished, Kernel, Scratch, Tool, ashlar, sha256};

use super::group::{file, images, pattern};

const MIB: u64 = 24;
/// Of each volume.
const SIZE: u64 = 4 << 20;
/// What the kernel writes while a leg is away.
const PART: u64 = 1 << 20;

/// Who makes an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Mdadm,
    Ashlar,
}

/// An array to be.
#[derive(Debug, Clone, Copy)]
struct Plan {
    maker: Maker,
    metadata: &'static str,
    level: &'static str,
    legs: usize,
    bitmap: &'static str,
}

/// An array, and the group on it.
struct Made {
    plan: Plan,
    number: usize,
    disks: Vec<PathBuf>,
    /// The first of its disks, as the machine counts.
    first: usize,
    /// As mdadm and we write it.
    uuid: String,
    name: String,
    folder: PathBuf,
}

/// Every format with every level, made by us; of mdadm's every one of levels 0, 4 and linear, and
/// one of each other level. Half of those that may lose a leg have a bitmap.
fn plans() -> Vec<Plan> {
    let formats = ["0.90", "1.0", "1.1", "1.2"];
    let levels = [
        ("1", 2),
        ("5", 3),
        ("6", 4),
        ("10", 4),
        ("4", 3),
        ("0", 2),
        ("linear", 2),
    ];
    let mut plans = Vec::new();
    for (format, metadata) in formats.into_iter().enumerate() {
        for (number, (level, legs)) in levels.into_iter().enumerate() {
            for (maker, is_odd) in [(Maker::Mdadm, 0), (Maker::Ashlar, 1)] {
                // Of mdadm's a diagonal, where legs are filled: the bus has places for so many
                // disks, and the kernel takes its time.
                let is_left_out = number < formats.len() && format != number;
                // mdadm 4.2 wants to write down an order of stripes there, and finds no place.
                let is_impossible = (level, metadata) == ("0", "0.90");
                if maker == Maker::Mdadm && (is_left_out || is_impossible) {
                    continue;
                }
                let has_copies = !matches!(level, "0" | "linear");
                let has_bitmap = has_copies && (format + number + is_odd) % 2 == 0;
                let bitmap = if has_bitmap { "internal" } else { "none" };
                plans.push(Plan {
                    maker,
                    metadata,
                    level,
                    legs,
                    bitmap,
                });
            }
        }
    }
    plans
}

const LIB: &str = r#"
must() {
    "$@" >/tmp/said 2>&1 || { echo "failed: $*"; cat /tmp/said /proc/mdstat; exit 1; }
}
whole() {
    until [ "$(cat /sys/block/$1/md/degraded)" = 0 ] &&
        [ "$(cat /sys/block/$1/md/sync_action)" = idle ]; do sleep 0.2; done
}
vg() {
    must "$1" "$2" --config 'devices { filter = [ "a|^/dev/md|", "r|.*|" ] }' "$3"
}
put() {
    dd if=/job/$1 of=$2 bs=64k oflag=direct conv=notrunc,fsync status=none
}
mkdir -p /run/mdadm
modprobe -a raid0 raid1 raid10 raid456
"#;

impl Plan {
    fn has_chunks(self) -> bool {
        !matches!(self.level, "1" | "linear")
    }

    fn has_copies(self) -> bool {
        !matches!(self.level, "0" | "linear")
    }
}

impl Made {
    fn devices(&self) -> Vec<String> {
        let numbers = self.first..self.first + self.disks.len();
        numbers.map(Kernel::device).collect()
    }

    fn node(&self) -> String {
        format!("md{}", 100 + self.number)
    }

    fn group(&self) -> String {
        format!("v{}", self.number)
    }

    fn on(&self, disks: &[PathBuf]) -> Tool {
        let names: Vec<String> = disks
            .iter()
            .map(|disk| disk.display().to_string())
            .collect();
        ashlar()
            .env("ASHLAR_DEVICES", names.join(":"))
            .env("LVM_SYSTEM_DIR", &self.folder)
            .env("XDG_STATE_HOME", &self.folder)
    }

    fn without(&self, leg: usize) -> Vec<PathBuf> {
        let mut disks = self.disks.clone();
        disks.remove(leg);
        disks
    }

    fn fill(&self, disks: &[PathBuf], path: &PathBuf) {
        let to = format!("{}/data", self.group());
        self.on(disks).arg("cp").arg(path).arg(to).succeed();
    }

    fn read(&self, disks: &[PathBuf]) -> String {
        let from = format!("{}/data", self.group());
        sha256(&self.on(disks).args(["cat", &from]).succeed().stdout)
    }

    /// What is known of it.
    fn listed(&self) -> serde_json::Value {
        let listed = self
            .on(&self.disks)
            .args(["md", "list", "--json"])
            .succeed();
        serde_json::from_str(listed.text().lines().next().expect("an array")).expect("JSON")
    }

    fn check(&self) -> Finished {
        self.on(&self.disks).args(["md", "check"]).run()
    }
}

/// mdadm makes those arrays that are its.
fn make_theirs(machine: &mut Dialogue, all: &[Made]) {
    let mut script = LIB.to_owned();
    for made in all.iter().filter(|made| made.plan.maker == Maker::Mdadm) {
        let Plan {
            metadata,
            level,
            legs,
            bitmap,
            ..
        } = made.plan;
        let node = made.node();
        let chunk = if made.plan.has_chunks() {
            "--chunk=64"
        } else {
            ""
        };
        let bitmap = match (made.plan.has_copies(), bitmap) {
            (false, _) => String::new(),
            (true, "internal") => "--bitmap=internal --bitmap-chunk=1M".into(),
            (true, bitmap) => format!("--bitmap={bitmap}"),
        };
        let _ = write!(
            script,
            "must mdadm --create /dev/{node} --run --assume-clean --metadata={metadata} \
             --level={level} --raid-devices={legs} {chunk} {bitmap} {}\n\
             must mdadm --stop /dev/{node}\n",
            made.devices().join(" ")
        );
    }
    machine.succeed(&script);
}

/// We make those that are ours.
fn make_ours(made: &Made) {
    let name = format!("ours{}", made.number);
    let mut create = made
        .on(&made.disks)
        .args(["md", "create", "--level", made.plan.level]);
    create = create.args([
        "--metadata",
        made.plan.metadata,
        "--bitmap",
        made.plan.bitmap,
    ]);
    if made.plan.has_chunks() {
        create = create.args(["--chunk", "64k"]);
    }
    create.arg(name).args(&made.disks).succeed();
}

/// The kernel takes an array as we left it, and leaves it without leg 0.
fn judge(made: &Made) -> String {
    let (node, group, devices) = (made.node(), made.group(), made.devices());
    let mut script = LIB.to_owned();
    let all = devices.join(" ");
    let (away, lost) = (&devices[1], &devices[0]);
    let _ = write!(script, "must mdadm --examine {all}\ncat /tmp/said\n");
    let _ = writeln!(
        script,
        "mdadm --assemble --run /dev/{node} {all} || cat /proc/mdstat"
    );
    if made.plan.has_copies() {
        let add = if made.plan.bitmap == "internal" {
            "--re-add"
        } else {
            "--add"
        };
        let _ = write!(
            script,
            "echo degraded {node} $(cat /sys/block/{node}/md/degraded)\n\
             must mdadm /dev/{node} {add} {away}\n\
             whole {node}\n\
             echo check >/sys/block/{node}/md/sync_action\n\
             whole {node}\n\
             echo mismatches {node} $(cat /sys/block/{node}/md/mismatch_cnt)\n"
        );
    }
    let _ = write!(
        script,
        "vg vgchange -ay {group}\n\
         collect {group} /dev/{group}/data\n\
         put third /dev/{group}/data\n"
    );
    if made.plan.has_copies() {
        let _ = write!(
            script,
            "must mdadm /dev/{node} --fail {lost}\n\
             must mdadm /dev/{node} --remove {lost}\n\
             put fourth /dev/{group}/data\n"
        );
    }
    let _ = write!(
        script,
        "vg vgchange -an {group}\nmust mdadm --stop /dev/{node}\n"
    );
    script
}

/// All arrays that are planned, each on disks of its own.
fn planned(scratch: &Scratch) -> Vec<Made> {
    let mut all = Vec::new();
    let mut first = 0;
    for (number, plan) in plans().into_iter().enumerate() {
        let disks = images(scratch, &format!("a{number}-"), plan.legs, MIB);
        all.push(Made {
            plan,
            number,
            disks,
            first,
            uuid: String::new(),
            name: String::new(),
            folder: scratch.path().to_owned(),
        });
        first += plan.legs;
    }
    all
}

impl Made {
    /// It is made, if it is ours, and listed as what it was planned.
    fn begin(&mut self) {
        if self.plan.maker == Maker::Ashlar {
            make_ours(self);
        }
        let listed = self.listed();
        let uuid = listed["uuid"].as_str().expect("a UUID");
        uuid.clone_into(&mut self.uuid);
        let name = listed["name"].as_str().expect("a name");
        name.clone_into(&mut self.name);
        assert_eq!(listed["metadata"], self.plan.metadata, "{listed}");
        let level = match self.plan.level {
            "linear" => "linear".to_owned(),
            level => format!("raid{level}"),
        };
        assert_eq!(listed["level"], level, "{listed}");
        assert_eq!(listed["legs"], self.plan.legs, "{listed}");
        let bitmap = self.plan.bitmap.replace("internal", "bitmap");
        assert_eq!(listed["consistency"], bitmap, "{listed}");
    }
}

/// What the kernel wrote is there, leg 0 gets what it lacks, and any leg may be lost.
fn take_back(made: &Made, wanted: &str) {
    let plan = made.plan;
    let found = made.read(&made.disks);
    assert_eq!(found, wanted, "{plan:?}, written by the kernel");
    if !plan.has_copies() {
        return;
    }
    let away = made.disks[0].display().to_string();
    let add = made.on(&made.disks).args(["md", "add", &made.uuid, &away]);
    add.succeed();
    let checked = made.check();
    assert_eq!(checked.code, Some(0), "{plan:?}: {checked}");
    let said = checked.text();
    assert!(said.contains("no mismatches in "), "{plan:?}: {checked}");
    for leg in 0..plan.legs {
        let found = made.read(&made.without(leg));
        assert_eq!(found, wanted, "{plan:?} without {leg}");
    }
}

#[test]
fn arrays_of_md_go_back_and_forth() {
    // Proves, in one boot: what the module's essay draws.
    let scratch = Scratch::new("kernel-md");
    let mut all = planned(&scratch);
    let third = pattern("third", SIZE);
    let mut last = third.clone();
    let fourth = pattern("fourth", PART);
    last[..fourth.len()].copy_from_slice(&fourth);
    let mut machine = Kernel::new("md")
        .disks(all.iter().flat_map(|made| &made.disks))
        .program("mdadm")
        .file("third", &third)
        .file("fourth", &fourth)
        .listen();
    if machine
        .run("modprobe -q linear || modprobe -q md-linear")
        .code
        != Some(0)
    {
        all.retain(|made| made.plan.level != "linear");
    }
    make_theirs(&mut machine, &all);

    let first = file(&scratch, "first", &pattern("first", SIZE));
    let second_bytes = pattern("second", SIZE);
    let second = file(&scratch, "second", &second_bytes);
    for made in &mut all {
        made.begin();
        let on = |words: &[&str]| made.on(&made.disks).args(words).succeed();
        let group = made.group();
        on(&["vgcreate", "-s", "1m", &group, &made.name]);
        on(&["lvcreate", "-L", "4m", "-n", "data", &group]);
        made.fill(&made.disks, &first);
        if made.plan.has_copies() {
            made.fill(&made.without(1), &second);
        } else {
            made.fill(&made.disks, &second);
        }
        assert_eq!(
            made.read(&made.disks),
            sha256(&second_bytes),
            "{:?}",
            made.plan
        );
    }

    for made in &all {
        let plan = made.plan;
        let outcome = machine.succeed(&judge(made));
        let said = outcome.text();
        let uuids = said.matches(&*made.uuid).count();
        assert!(uuids >= plan.legs, "{plan:?}: {outcome}");
        assert!(!said.contains("expected"), "{plan:?}: {outcome}");
        let found = &outcome.collected[&made.group()];
        assert_eq!(found.sha256, sha256(&second_bytes), "{plan:?}: {outcome}");
        if plan.has_copies() {
            let node = made.node();
            for line in [format!("degraded {node} 1"), format!("mismatches {node} 0")] {
                assert!(
                    said.lines().any(|said| said.trim() == line),
                    "{plan:?}: {outcome}"
                );
            }
        }
    }
    drop(machine);

    for made in &all {
        let wanted = if made.plan.has_copies() {
            &last
        } else {
            &third
        };
        take_back(made, &sha256(wanted));
    }
}
