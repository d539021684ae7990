//! What happens to people: commands that are killed, that run at once, that find a disk full.
//!
//! A command is killed by `strace` as it makes its Nth call that touches a disk or a lock, for one
//! N after the other until it lives to its end; so each moment between two writes is met, and not
//! the few that a timer would hit. `ASHLAR_EVERY_KILL=1` meets all of them, otherwise every
//! seventh is.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;

use tests::{Disks, Finished, Scratch, Tool, ashlar, killing, was_killed};

const DISKS: usize = 4;
const DISK: u64 = 16 << 20;
const BLOCK: usize = 64 << 10;
/// Calls of the thread engine, of locks and of files beside the disks.
const CALLS: &str = "pwrite64,pwritev,pwritev2,fdatasync,fsync,fallocate,fcntl,flock,renameat2";
/// A step without a divisor in common with the pattern of writes to three disks.
const STRIDE: usize = 7;
/// More calls than any command makes.
const CALLS_MAX: usize = 1000;

/// Disks that can be put back to what they were.
struct Bench {
    disks: Disks,
}

impl Bench {
    fn new(name: &str) -> Self {
        let disks = Disks::new(name, [DISK; DISKS]);
        Self { disks }
    }

    /// `@0` to `@3` in a line stand for the disks.
    fn words(&self, line: &str) -> Vec<String> {
        let nodes = self.disks.nodes();
        let word = |word: &str| match word.strip_prefix('@').map(str::parse::<usize>) {
            Some(Ok(disk)) => nodes[disk].display().to_string(),
            _ => word.to_owned(),
        };
        line.split_whitespace().map(word).collect()
    }

    fn on_disks(&self, tool: Tool) -> Tool {
        self.disks.seen_by(tool).env("ASHLAR_IO", "threads")
    }

    fn stock(&self, name: &str) -> Tool {
        self.disks.stock().without_driver(name)
    }

    fn ashlar(&self, line: &str) -> Tool {
        self.on_disks(ashlar()).args(self.words(line))
    }

    /// Three disks in a group with a volume of each kind, and one blank disk.
    fn fill(&self) {
        for line in [
            "vgcreate -s 512k vg @0 @1 @2",
            "lvcreate -y -l 4 -n a vg @0",
            "lvcreate -y -i 2 -I 64k -l 4 -n s vg @0 @1",
            "lvcreate -y --type mirror -m 1 --mirrorlog core -l 3 -n m vg @0 @1",
        ] {
            self.ashlar(line).succeed();
        }
    }

    fn bytes(&self) -> Vec<Vec<u8>> {
        let read = |image| fs::read(image).expect("our own image");
        self.disks.images().iter().map(read).collect()
    }

    /// Writes back what differs; the loop devices stay.
    fn restore(&self, base: &[Vec<u8>]) {
        for (image, base) in self.disks.images().iter().zip(base) {
            let now = fs::read(image).expect("our own image");
            let file = OpenOptions::new().write(true).open(image);
            let file = file.expect("our own image");
            let blocks = base.chunks(BLOCK).zip(now.chunks(BLOCK)).enumerate();
            for (number, (base, _)) in blocks.filter(|(_, (base, now))| base != now) {
                let at = (number * BLOCK) as u64;
                file.write_all_at(base, at).expect("room for our own image");
            }
        }
        for node in self.disks.nodes() {
            Tool::new("blockdev").arg("--flushbufs").arg(node).succeed();
        }
    }

    /// What is on the disks, as far as a command changes it.
    fn seen(&self) -> String {
        let mut seen = String::new();
        for line in [
            "lvs -a --segments --noheadings -o lv_full_name,lv_size,segtype,seg_pe_ranges,lv_tags",
            "pvs --noheadings -o pv_name,vg_name,pv_size,pv_attr,pv_tags,pv_mda_used_count",
            "vgs --noheadings -o vg_name,vg_attr,vg_tags,vg_extent_size",
        ] {
            seen.push_str(&self.ashlar(line).succeed().text());
        }
        seen
    }

    /// Runs a command that is killed as it makes its call number `call`. Whether it was.
    fn killed(&self, line: &str, call: usize) -> bool {
        let tool = self.on_disks(killing(CALLS, call, &self.disks.join("calls")));
        was_killed(&tool.args(self.words(line)).run())
    }
}

/// What is killed, and a command that works before and after it.
const KILLED: &[(&str, &str)] = &[
    ("lvcreate -y -l 5 -n b vg", "lvchange --addtag t vg/a"),
    ("lvextend -l +3 vg/a", "lvchange --addtag t vg/a"),
    ("lvreduce -f -l -2 vg/s", "lvchange --addtag t vg/a"),
    ("lvremove -f vg/s", "lvchange --addtag t vg/a"),
    ("lvrename vg a z", "lvchange --addtag t vg/s"),
    ("lvconvert -y -m 0 vg/m", "lvchange --addtag t vg/a"),
    (
        "lvconvert -y --type mirror -m 1 --mirrorlog core vg/a",
        "lvchange --addtag t vg/s",
    ),
    ("vgchange --addtag x vg", "lvchange --addtag t vg/a"),
    ("vgreduce vg @2", "lvchange --addtag t vg/a"),
    ("pvchange -x n @1", "lvchange --addtag t vg/a"),
];

#[test]
fn a_killed_command_has_happened_or_has_not() {
    // Proves: kill -9 at a call that writes, flushes or locks leaves the old or the new state, no
    // lock, and nothing that stock or the next command would stumble over.
    let every = std::env::var_os("ASHLAR_EVERY_KILL").is_some();
    let stride = if every { 1 } else { STRIDE };
    let bench = Bench::new("killed");
    bench.fill();
    let base = bench.bytes();
    let old = bench.seen();
    let mut kills = 0;
    for (number, (line, next)) in KILLED.iter().enumerate() {
        bench.restore(&base);
        bench.ashlar(line).succeed();
        let new = bench.seen();
        assert_ne!(old, new, "{line} changes something");
        let mut call = 1 + number % stride;
        while call < CALLS_MAX {
            bench.restore(&base);
            if !bench.killed(line, call) {
                break;
            }
            kills += 1;
            let seen = bench.seen();
            assert!(
                seen == old || seen == new,
                "{line}, killed at call {call}, left\n{seen}"
            );
            bench.stock("vgck").arg("vg").succeed();
            let after = bench.ashlar(next).succeed();
            assert!(!after.complaints().contains("lock"), "{after}");
            bench.stock("vgck").arg("vg").succeed();
            call += stride;
        }
        assert!(call < CALLS_MAX, "{line} never ended");
    }
    assert!(kills > KILLED.len(), "commands were killed");
    println!("{kills} kills");
}

#[test]
fn commands_at_once_lose_nothing() {
    // Proves: ours and stock's on one group wait for each other; every success is there.
    const EACH: usize = 5;
    let bench = Bench::new("at-once");
    bench.ashlar("vgcreate -s 256k vg @0 @1 @2").succeed();
    let create = |who: &str, number: usize| -> Finished {
        let name = format!("{who}{number}");
        let common = ["-an", "-Zn", "-Wn", "-l", "1", "-n", &name, "vg"];
        match who {
            "stock" => bench.stock("lvcreate").args(common).run(),
            _ => bench.ashlar("lvcreate -y").args(common).run(),
        }
    };
    thread::scope(|scope| {
        for who in ["stock", "one", "two"] {
            let create = &create;
            scope.spawn(move || {
                for number in 0..EACH {
                    let finished = create(who, number);
                    assert_eq!(finished.code, Some(0), "{finished}");
                }
            });
        }
    });
    let names = bench.ashlar("lvs --noheadings -o lv_name vg").succeed();
    assert_eq!(names.text().lines().count(), 3 * EACH, "{names}");
    bench.stock("vgck").arg("vg").succeed();
    let seqno = bench.ashlar("vgs --noheadings -o vg_seqno vg").succeed();
    assert_eq!(seqno.text().trim(), (1 + 3 * EACH).to_string());
}

/// A small file system in memory, unmounted with the test.
struct Small {
    folder: PathBuf,
}

impl Small {
    fn mount(scratch: &Scratch, size: &str) -> Self {
        let folder = scratch.join("small");
        fs::create_dir(&folder).expect("a directory");
        Tool::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "small"])
            .arg(&folder)
            .succeed();
        Self { folder }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        Tool::new("umount").arg("-l").arg(&self.folder).run();
    }
}

#[test]
fn a_full_disk_is_named_and_keeps_what_it_has() {
    // Proves: where an image cannot grow, writing fails with its name and the reason, and the
    // group stays as it was.
    let scratch = Scratch::new("full");
    let small = Small::mount(&scratch, "6m");
    let image = small.folder.join("full.img");
    let file = fs::File::create(&image).and_then(|file| file.set_len(64 << 20));
    file.expect("a sparse image");
    let run = |words: &[&str]| {
        ashlar()
            .env("LVM_SYSTEM_DIR", scratch.join("lvm"))
            .env("ASHLAR_RUNTIME_DIR", scratch.join("run"))
            .env("ASHLAR_DEVICES", &image)
            .args(words)
            .run()
    };
    let image_name = image.display().to_string();
    let made = run(&["vgcreate", "-s", "1m", "vg", &image_name]);
    assert_eq!(made.code, Some(0), "{made}");
    let made = run(&["lvcreate", "-y", "-l", "20", "-n", "a", "vg"]);
    assert_eq!(made.code, Some(0), "{made}");
    let content = scratch.join("content");
    fs::write(&content, vec![0x5a; 16 << 20]).expect("room for a file");
    let copied = run(&["cp", &content.display().to_string(), "vg/a"]);
    assert_eq!(copied.code, Some(5), "{copied}");
    let said = copied.complaints();
    assert!(said.contains("full.img"), "{copied}");
    assert!(said.to_lowercase().contains("space"), "{copied}");
    // Now there is not even room for another version of the metadata.
    let before = run(&["lvs", "-o", "lv_name,lv_size"]).text();
    let made = run(&["lvcreate", "-y", "-Zn", "-Wn", "-l", "1", "-n", "b", "vg"]);
    let after = run(&["lvs", "-o", "lv_name,lv_size"]);
    assert_eq!(after.code, Some(0), "{after}");
    if made.code == Some(0) {
        // The ring's block was there already.
        assert!(after.text().contains(" b "), "{after}");
    } else {
        assert!(made.complaints().contains("full.img"), "{made}");
        assert_eq!(after.text(), before, "{made}");
    }
}
