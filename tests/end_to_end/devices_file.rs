//! The devices file: kept by the program as stock LVM2 keeps it, side by side on disks of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use tests::{Access, Daemon, Finished, LoopDevice, Scratch, Tool, apart, ashlar};

const DISKS: usize = 3;
const SYSTEM: &str = "system.devices";

/// Who works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Ashlar,
    Stock,
}

/// Disks of its own for one of both, and a configuration that shows no others.
struct Side {
    who: Who,
    loops: Vec<LoopDevice>,
    scratch: Scratch,
}

impl Side {
    fn new(who: Who, name: &str) -> Self {
        let scratch = Scratch::new(name);
        let disk = |number| {
            let image = scratch.sparse(&format!("d{number}"), 16 << 20);
            LoopDevice::attach(&image, Access::ReadWrite)
        };
        let loops: Vec<LoopDevice> = (0..DISKS).map(disk).collect();
        let accepted = loops
            .iter()
            .map(|disk| format!("\"a|^{}$|\", ", disk.path().display()));
        let filter: String = accepted.collect();
        let lock = scratch.join("lock");
        let text = format!(
            "devices {{ filter = [ {filter} \"r|.*|\" ]\n global_filter = [ {filter} \"r|.*|\" ]\n \
             use_devicesfile = 1\n obtain_device_list_from_udev = 0\n \
             external_device_info_source = \"none\"\n hints = \"none\" }}\n\
             global {{ locking_dir = \"{}\"\n use_lvmpolld = 0\n use_lvmlockd = 0\n \
             event_activation = 0 }}\n\
             activation {{ udev_sync = 0\n udev_rules = 0\n monitoring = 0 }}\n\
             backup {{ backup = 0\n archive = 0 }}\n",
            lock.display()
        );
        fs::create_dir(&lock).expect("a directory for locks");
        fs::create_dir(scratch.join("devices")).expect("a directory for devices files");
        fs::write(scratch.join("lvm.conf"), text).expect("a configuration");
        Self {
            who,
            loops,
            scratch,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scratch.join("devices").join(name)
    }

    fn node(&self, number: usize) -> String {
        self.loops[number].path().display().to_string()
    }

    /// A command line in which `@0` is the first disk.
    fn tool(&self, line: &str) -> Tool {
        let words = line.split(' ').map(|word| {
            let mut word = word.to_owned();
            for number in 0..DISKS {
                word = word.replace(&format!("@{number}"), &self.node(number));
            }
            word
        });
        let tool = match self.who {
            Who::Ashlar => ashlar(),
            Who::Stock => Tool::new("lvm"),
        };
        let tool = tool.args(words).args(["--driverloaded", "n"]);
        tool.env("LVM_SYSTEM_DIR", self.scratch.path())
    }

    fn run(&self, line: &str) -> Finished {
        self.tool(line).run()
    }

    fn wipe(&self) {
        for disk in &self.loops {
            fs::write(disk.path(), vec![0; 2 << 20]).expect("a disk");
        }
    }

    fn begin(&self, content: &[u8]) {
        self.wipe();
        for entry in fs::read_dir(self.scratch.join("devices")).expect("a directory") {
            fs::remove_file(entry.expect("an entry").path()).expect("a file");
        }
        fs::write(self.file(SYSTEM), content).expect("a devices file");
    }

    /// All devices files, without what differs by nature: processes, times, UUIDs, disks.
    fn files(&self) -> Vec<(String, String)> {
        let entries = fs::read_dir(self.scratch.join("devices")).expect("a directory");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let mut files: Vec<(String, String)> = paths
            .map(|path| {
                let name = path.file_name().expect("a name").to_string_lossy();
                let bytes = fs::read(&path).expect("a devices file");
                // One letter for each byte, so that none is lost.
                let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
                let lines = text.split('\n').map(|line| self.plain(line));
                (name.into_owned(), lines.collect::<Vec<_>>().join("\n"))
            })
            .collect();
        files.sort();
        files
    }

    fn plain(&self, line: &str) -> String {
        if let Some((start, rest)) = line.split_once(" pid ") {
            let time = rest.split_once(" at ").expect("a time").1;
            assert_eq!(time.split_whitespace().count(), 5, "{line}");
            return start.to_owned();
        }
        let line = line.replace(&self.scratch.path().display().to_string(), "");
        let words = line.split(' ').map(|word| match word.split_once('=') {
            Some(("PVID", pv)) if pv.len() == 32 => "PVID=a".to_owned(),
            Some((key @ ("DEVNAME" | "IDNAME"), node)) => {
                let number = (0..DISKS).find(|number| self.node(*number) == node);
                number.map_or(word.to_owned(), |number| format!("{key}=@{number}"))
            }
            _ => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// A line of output, without what differs by nature.
    fn said(&self, line: &str) -> String {
        let folder = self.scratch.path().display().to_string();
        let words = line.split_whitespace().map(|word| {
            let word = word.replace(&folder, "");
            let (word, stop) = match word.strip_suffix('.') {
                Some(word) => (word.to_owned(), "."),
                None => (word, ""),
            };
            let plain = word.trim_matches(['(', ')']);
            let is_id = plain.len() == 32 && plain.chars().all(|c| c.is_ascii_alphanumeric());
            let word = if is_id {
                "ID".to_owned()
            } else {
                self.plain(&word)
            };
            let node = (0..DISKS).find(|number| self.node(*number) == word);
            node.map_or(word, |number| format!("@{number}")) + stop
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// The IDs of the physical volumes in the file, in its order.
    fn listed(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file(SYSTEM)).expect("a devices file");
        let words = text.split_whitespace();
        let ids = words.filter_map(|word| word.strip_prefix("PVID="));
        ids.map(str::to_owned).collect()
    }
}

/// What stock alone has to say.
const ITS_OWN: &[&str] = &[
    "Please remove the lvm.conf",
    "Activation disabled",
    "NOT backed up",
    "Correct command syntax",
    "vgimportdevices VG",
    "vgimportdevices -a",
    "Run `",
    "File desc",
    // Of a device of another test, which went away while stock looked at all that there are.
    "Error reading device",
];

/// Both sides, which do the same.
struct Both([Side; 2]);

impl Both {
    fn new(name: &str) -> Self {
        Self([Who::Ashlar, Who::Stock].map(|who| Side::new(who, name)))
    }

    fn begin(&self, content: &[u8]) {
        for side in &self.0 {
            side.begin(content);
        }
    }

    fn empty(&self) {
        self.begin(b"");
        for side in &self.0 {
            fs::remove_file(side.file(SYSTEM)).expect("a devices file");
        }
    }

    /// The same, and what is printed and said must be equal, too; gives what is printed.
    fn same(&self, line: &str) -> String {
        let [ours, theirs] = self.0.each_ref().map(|side| side.run(line));
        assert_eq!(ours.code, theirs.code, "{line}\n{ours}\n{theirs}");
        let [here, there] = self.0.each_ref().map(Side::files);
        assert_eq!(here, there, "{line}\n{ours}\n{theirs}");
        let shown = |side: &Side, text: &str| {
            let lines = text.lines().map(|line| side.said(line));
            lines.collect::<Vec<_>>().join("\n")
        };
        let [our_side, their_side] = &self.0;
        let printed = shown(our_side, &ours.text());
        assert_eq!(printed, shown(their_side, &theirs.text()), "{line}\n{ours}");
        for said in shown(their_side, &theirs.complaints()).lines() {
            if !ITS_OWN.iter().any(|own| said.contains(own)) {
                let complaints = shown(our_side, &ours.complaints());
                assert!(complaints.contains(said), "{line}: {said}\n{ours}");
            }
        }
        printed
    }

    /// Runs the line on both sides; exit statuses and devices files must be equal.
    fn run(&self, line: &str) -> Finished {
        let [ours, theirs] = self.0.each_ref().map(|side| side.run(line));
        assert_eq!(ours.code, theirs.code, "{line}\n{ours}\n{theirs}");
        let [here, there] = self.0.each_ref().map(Side::files);
        assert_eq!(here, there, "{line}\n{ours}\n{theirs}");
        ours
    }
}

/// Proves: entries, their order, the count of writes and the exit status are stock's after each of
/// the commands that keep the file, alone and several at once, also where they fail in part.
#[test]
fn entries_are_kept_as_stock_keeps_them() {
    let both = Both::new("devices-file-kept");
    both.begin(b"");
    for line in [
        "pvcreate @1",
        "pvcreate @2 @0",
        "vgcreate vg @2",
        "vgextend vg @0 @1",
        "vgreduce vg @0",
        "pvremove @0",
        "vgextend vg @0",
        "vgreduce vg @0",
        "pvcreate @0 @1",
        "pvremove @0 @1",
        "pvchange -u @1",
        "pvchange -x n @1",
        "vgremove vg",
        "pvremove @1 @2",
        "vgcreate vg @2 @1 @0",
        "pvcreate -t -ff -y @1",
        "vgcreate bad/name @0",
    ] {
        both.run(line);
    }
    for side in &both.0 {
        let looked = side.tool("pvs --noheadings -o pv_uuid @0 @1 @2").succeed();
        let mut there: Vec<String> = looked
            .text()
            .split_whitespace()
            .map(|id| id.replace('-', ""))
            .collect();
        let mut listed = side.listed();
        there.sort();
        listed.sort();
        assert_eq!(listed, there);
    }
}

/// Proves: lvmdevices and vgimportdevices show, add, take away, check and correct entries as stock
/// does, with its words and statuses.
#[test]
fn the_list_is_shown_and_corrected_as_by_stock() {
    let both = Both::new("devices-file-list");
    both.empty();
    let same = |line: &str| both.same(line);
    same("lvmdevices");
    same("lvmdevices --adddev @0");
    assert!(same("lvmdevices").contains("PVID=none"));
    same("lvmdevices --deldev @0");
    same("lvmdevices --deldev @0");
    both.run("pvcreate @0 @1");
    both.run("vgcreate vg @0");
    for line in [
        "lvmdevices --deldev @0",
        "vgimportdevices vg",
        "vgimportdevices -a",
        "vgimportdevices nosuch",
        "vgimportdevices @nosuch",
        "vgimportdevices",
        "vgimportdevices -a vg",
        "vgimportdevices --devicesfile other vg",
        "lvmdevices",
        "lvmdevices --devicesfile other",
        "lvmdevices --devicesfile nosuch",
        "lvmdevices --check",
        "lvmdevices --update",
        "lvmdevices --config devices/use_devicesfile=0",
        "vgimportdevices --config devices/use_devicesfile=0 vg",
        "lvmdevices --adddev /dev/nosuch",
        "lvmdevices --addpvid nosuch",
        "lvmdevices --addpvid aaaa2hRTqol8MvPnHWlr0OIuHPbEA4fD",
        "lvmdevices --delpvid aaaa2hRTqol8MvPnHWlr0OIuHPbEA4fD",
        "lvmdevices --adddev @2 --deviceidtype nosuch",
        "lvmdevices --adddev @2 --deviceidtype sys_wwid",
        "lvmdevices --adddev @2 --deviceidtype devname",
        "lvmdevices",
        "lvmdevices --deldev @2 --deviceidtype devname",
        "lvmdevices --deldev nosuch",
        "lvmdevices -t --deldev @1",
        "lvmdevices x",
        "lvmdevices --check --update",
    ] {
        same(line);
    }
    let edit = |from: &dyn Fn(&Side) -> String, to: &str| {
        for side in &both.0 {
            let text = fs::read_to_string(side.file(SYSTEM)).expect("a devices file");
            let from = from(side);
            assert!(text.contains(&from), "{from}: {text}");
            fs::write(side.file(SYSTEM), text.replace(&from, to)).expect("a devices file");
        }
    };
    edit(
        &|side| format!("DEVNAME={}", side.node(1)),
        "DEVNAME=/dev/gone",
    );
    same("lvmdevices");
    same("lvmdevices --check");
    same("lvmdevices --update");
    same("lvmdevices --check");
    edit(&|side| format!("PVID={}", side.listed()[0]), "PVID=.");
    same("lvmdevices");
    same("lvmdevices --check");
    same("lvmdevices --update");
    edit(
        &|side| side.scratch.join("d1").display().to_string(),
        "/nowhere",
    );
    same("lvmdevices");
    same("lvmdevices --check");
    same("lvmdevices --update");
    same("lvmdevices --deldev /nowhere --deviceidtype loop_file");
    let ids = both.0.each_ref().map(|side| side.listed()[0].clone());
    for (side, id) in both.0.iter().zip(&ids) {
        let taken = side.run(&format!("lvmdevices --delpvid {id}"));
        assert_eq!(taken.code, Some(0), "{taken}");
        let found = side.run(&format!("lvmdevices --addpvid {id}"));
        let words = format!("Found PVID {id} on {}.", side.node(0));
        assert!(found.text().contains(&words), "{found}");
    }
    same("lvmdevices");
}

/// Proves: a device that the file lacks is added by the commands that make physical volumes of it
/// or take it into a group, and refused by the others, in stock's words.
#[test]
fn what_is_not_listed_is_added_or_refused() {
    let both = Both::new("devices-file-unlisted");
    let unlisted = "--config=devices/use_devicesfile=0";
    for line in ["pvcreate @0", "vgcreate vg @0"] {
        both.begin(b"");
        assert_eq!(both.run(line).code, Some(0));
    }
    both.run(&format!("pvcreate @1 {unlisted}"));
    both.run("vgextend vg @1");
    both.run(&format!("pvcreate @2 {unlisted}"));
    for line in ["pvremove @2", "pvchange -u @2", "pvresize @2", "pvs @2"] {
        let refused = both.run(line);
        let said = refused.complaints();
        assert!(said.contains(": device is not in devices file"), "{said}");
    }
    // What belongs to a group is seen, although it is not listed.
    for side in &both.0 {
        fs::write(side.file(SYSTEM), "").expect("a devices file");
    }
    let refused = both.run("pvcreate @0").complaints();
    assert!(
        refused.contains("of volume group \"vg\" without -ff"),
        "{refused}"
    );
    both.run("vgcreate other @0");
}

/// Proves: a file that is missing is begun where stock begins one; `--devices`, `--devicesfile ""`
/// and `use_devicesfile=0` leave everything as it is.
#[test]
fn a_file_is_begun_where_stock_begins_one() {
    let both = Both::new("devices-file-begun");
    both.empty();
    assert!(
        both.run("pvcreate @0")
            .complaints()
            .contains("Creating devices file ")
    );
    both.run("vgcreate vg @0");
    both.empty();
    both.run("vgcreate vg @0 --config=devices/use_devicesfile=0");
    let said = both.run("pvcreate @1").complaints();
    assert!(
        said.contains("Not creating system devices file due to existing VGs."),
        "{said}"
    );
    both.run("vgextend vg @1");
    both.empty();
    both.run("pvcreate @0 --config=devices/use_devicesfile=0");
    both.run("vgcreate vg @1");
    both.empty();
    for line in [
        "pvcreate @0 --devicesfile other",
        "vgcreate vg @1 --devicesfile other",
        "vgextend vg @2 --devicesfile third",
        "pvremove @2 --devicesfile fourth",
        "vgreduce vg @2 --devicesfile other",
        "pvcreate @2 --devicesfile a/b",
    ] {
        both.run(line);
    }
    both.begin(b"# nothing\n");
    for line in [
        "pvcreate @0 --devices @0",
        "vgcreate vg --devices @0,@1 @0 @1",
        "vgremove vg --devices @0,@1",
        "pvremove --devices @1 @1",
        "pvcreate @1 --config=devices/use_devicesfile=0",
        "pvremove @1 --config=devices/use_devicesfile=0",
    ] {
        both.run(line);
        assert_eq!(both.0[0].files()[0].1, "# nothing\n", "{line}");
    }
    let side = &both.0[0];
    side.tool("pvremove @0")
        .args(["--devicesfile", ""])
        .succeed();
    assert_eq!(side.files()[0].1, "# nothing\n");
}

/// Proves: what stands in a file that was written by others or by hand is kept or lost as with
/// stock: comments, unknown lines, bytes that are no UTF-8, versions.
#[test]
fn strange_files_are_kept_or_left_alone_as_by_stock() {
    let both = Both::new("devices-file-strange");
    for content in [
        &b"# mine\n\nfoo bar\nVERSION=1.1.7\n\
          IDTYPE=devname IDNAME=/dev/zz DEVNAME=/dev/zz PVID=abc\n# end"[..],
        b"# k\xe4se\nVERSION=1.1.7\n\
          IDTYPE=devname IDNAME=/dev/\xff\xfe DEVNAME=/dev/\xff PVID=abc PART=3\n",
        b"IDTYPE=sys_wwid IDNAME=a\"b DEVNAME=sda PVID=.x\n\
          \x20 IDNAME=foo   IDTYPE=sys_serial EXTRA=1\nHASH=123\n",
        b"VERSION=1.1.7\r\nIDTYPE=devname IDNAME=/dev/zz DEVNAME=/dev/zz PVID=abc\r\n",
        b"VERSION=1.9.5\n",
        b"VERSION=2.1.5\n",
        b"VERSION=abc\n",
        b"VERSION=1.1.4294967295\n",
        b"VERSION=\n",
    ] {
        both.begin(content);
        let made = both.run("pvcreate -ff -y @1");
        assert_eq!(made.code, Some(0), "{made}");
        both.run("pvcreate -ff -y @0");
    }
    both.begin(b"VERSION=2.1.5\n");
    let said = both.run("pvcreate @1").complaints();
    assert!(
        said.contains("is not updated: it has a larger major version"),
        "{said}"
    );
    both.begin(b"VERSION=1.1.1\nSYSTEMID=me\n");
    both.run("pvcreate @1 --config=global/system_id_source=\"lvmlocal\"local/system_id=\"me\"");
}

/// Proves: where the file cannot be written the command does its work, says so, and succeeds, as
/// with stock.
#[test]
fn a_file_that_cannot_be_written_costs_a_warning() {
    let both = Both::new("devices-file-readonly");
    both.begin(b"VERSION=1.1.1\n");
    let read_only = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && shift && \
                     exec \"$@\"";
    for line in ["pvcreate @0", "vgcreate vg @1"] {
        for side in &both.0 {
            let program = match side.who {
                Who::Ashlar => tests::ashlar_path().to_owned(),
                Who::Stock => PathBuf::from("lvm"),
            };
            let tool = apart(side.scratch.path(), read_only)
                .arg(side.scratch.join("devices"))
                .arg(program)
                .args(line.split(' ').map(|word| {
                    let number = word
                        .strip_prefix('@')
                        .and_then(|number| number.parse().ok());
                    number.map_or(word.to_owned(), |number| side.node(number))
                }))
                .args(["--driverloaded", "n"])
                .env("LVM_SYSTEM_DIR", side.scratch.path());
            let finished = tool.succeed();
            if side.who == Who::Ashlar {
                let said = finished.complaints();
                assert!(
                    said.contains("is not updated: ") && said.contains("ead-only"),
                    "{said}"
                );
            }
            let looked = side.tool("pvs --devices @0 @0").succeed();
            assert!(looked.text().contains("lvm2"), "{looked}");
            let text = fs::read_to_string(side.file(SYSTEM)).expect("a devices file");
            assert_eq!(text, "VERSION=1.1.1\n");
        }
    }
    // A leftover that is in the way.
    for side in &both.0 {
        let name = format!("{SYSTEM}_new");
        fs::create_dir(side.file(&name)).expect("a directory");
        side.tool("pvcreate @2").succeed();
        fs::remove_dir(side.file(&name)).expect("a directory");
        fs::write(side.file(&name), "half a fi").expect("a leftover");
    }
    both.run("pvremove @2");
    both.run("pvcreate @2");
}

/// Proves: names with blanks and quotes get into the file as stock writes them, are found there
/// again, and by stock.
#[test]
fn odd_names_are_written_as_by_stock() {
    let scratch = Scratch::new("devices-file-odd");
    let sides = [Who::Ashlar, Who::Stock].map(|who| Side::new(who, "devices-file-odd"));
    let images = ["ours", "theirs"].map(|side| {
        fs::create_dir(scratch.join(side)).expect("a directory");
        scratch.sparse(&format!("{side}/d  4'\"\u{fc} x.img"), 16 << 20)
    });
    let disks = images
        .each_ref()
        .map(|image| LoopDevice::attach(image, Access::ReadWrite));
    let mut lines = Vec::new();
    for (side, disk) in sides.iter().zip(&disks) {
        side.begin(b"");
        side.tool("pvcreate").arg(disk.path()).succeed();
        let text = fs::read_to_string(side.file(SYSTEM)).expect("a devices file");
        let line = text.lines().last().expect("an entry");
        let name = line.split(' ').nth(1).expect("a name");
        lines.push(name.rsplit_once('/').expect("a path").1.to_owned());
        for reader in [ashlar(), Tool::new("lvm")] {
            let reader = reader
                .arg("pvs")
                .arg(disk.path())
                .args(["--driverloaded", "n"]);
            reader.env("LVM_SYSTEM_DIR", side.scratch.path()).succeed();
        }
        side.tool("pvremove").arg(disk.path()).succeed();
    }
    assert_eq!(lines[0], "d__4'\"\u{fc}_x.img");
    assert_eq!(lines[0], lines[1]);
}

fn has_open(process: u32, path: &Path) -> bool {
    let entries = fs::read_dir(format!("/proc/{process}/fd"));
    let mut targets = entries.into_iter().flatten().flatten();
    targets.any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == path))
}

/// Proves: the lock on the file is stock's, it is taken before anything is written, and a wait for
/// it ends at once when the process is asked to end.
#[test]
fn the_lock_is_the_one_that_stock_takes() {
    let side = Side::new(Who::Ashlar, "devices-file-locked");
    side.begin(b"VERSION=1.1.1\n");
    let path = side.scratch.join("lock").join(format!("D_{SYSTEM}"));
    // Stock has made it once, and left it.
    let stock = Tool::new("lvm").args(["pvcreate", &side.node(1), "--driverloaded", "n"]);
    stock.env("LVM_SYSTEM_DIR", side.scratch.path()).succeed();
    let lock = fs::File::open(&path).expect("stock's lock file");
    let before = fs::read(side.file(SYSTEM)).expect("a devices file");
    flock(&lock, FlockOperation::LockExclusive).expect("a lock");
    let mut waiting = Daemon::start(side.tool("pvcreate @0"), || true);
    let start = Instant::now();
    while !has_open(waiting.pid(), &path) {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "it does not lock"
        );
        thread::sleep(Duration::from_millis(5));
    }
    waiting.signal(Signal::INT);
    // It has the file open a moment before it knows that it has to wait; then the signal ends it.
    let code = waiting.ended(Duration::from_secs(30));
    let said = waiting.stop();
    let is_told = said.contains("Interrupted while waiting for a lock: ") && said.contains(SYSTEM);
    assert!(
        code.is_none() || (code == Some(5) && is_told),
        "{code:?}: {said}"
    );
    assert_eq!(fs::read(side.file(SYSTEM)).expect("a devices file"), before);
    let head = fs::read(side.loops[0].path()).expect("a disk");
    assert!(
        head[..4096].iter().all(|byte| *byte == 0),
        "something was written"
    );
    drop(lock);
    side.tool("pvcreate @0").succeed();
    assert!(path.exists(), "stock may wait for it");
}
