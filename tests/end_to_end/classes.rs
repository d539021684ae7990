//! The lab's model of ext2 and ext3 beside the kernel's: blocks of each class, phase by phase.
//!
//! The same calls are made on both: on a file system of 20 GiB on an attached volume, each phase
//! recorded from mounting to unmounting, and on the model. What mounting and unmounting alone take
//! is recorded too and taken off.
//!
//! Today's kernel drives both kinds by its ext4 driver. What that does and the drivers of 2.6.27
//! did not is switched off: reading tables and bitmaps ahead, and packing the blocks of small files
//! of all directories together. It also prefers groups whose bitmaps are in memory to the
//! directory's own, so all block bitmaps are read first; those that a phase changes count as read.
//! Without a log it leaves inodes alone that were deleted in the last minutes, by a clock that no
//! test may turn: the times of deletion are cleared on the disk instead.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use lab::component::Component;
use lab::disk::capped::{Cap, Capped};
use lab::filesystem::program::run;
use lab::filesystem::{BLOCK, FileSystem, Journaling, LogPlace, Options};
use lab::trace::Class;
use lab::workload::program::SmallFiles;
use tests::{Group, Tool};

const SEED: u64 = 42;
const PROGRAM: SmallFiles = SmallFiles {
    files: 3000,
    bytes_max: 100_000,
    append_max: 20_000,
    directories: 80,
};
/// Bytes of the volume.
const VOLUME: u64 = 20 << 30;
/// Classes with fewer blocks than this, in the kernel and in the model, are not judged.
const JUDGED_MIN: f64 = 50.0;
/// How far the model may be off, as a share of the kernel's blocks.
const ERROR_MAX: f64 = 0.05;
const ATTEMPTS: usize = 3;
/// Blocks of 4 KiB read and written, by class.
type Blocks = BTreeMap<Component, [f64; 2]>;

/// What `lab record` printed of places, by component of Eq. 1.
fn blocks(recorded: &str) -> Blocks {
    let mut blocks = Blocks::new();
    let places = recorded.lines().skip_while(|line| !line.contains("place "));
    for line in places.skip(1) {
        let (name, numbers) = line[2..].split_at(18);
        let class = Class::ALL.iter().find(|class| class.name() == name.trim());
        let class = class.unwrap_or_else(|| panic!("a class: {line}"));
        let mut numbers = numbers.split_whitespace().map(|number| {
            let kibibytes: f64 = number.parse().expect("a number");
            kibibytes / 4.0
        });
        let (mut read, written) = (numbers.next().expect("two"), numbers.next().expect("two"));
        if *class == Class::BlockBitmap {
            // All were read beforehand, and the phase need not read them again.
            read += written;
        }
        if let Some(component) = class.component() {
            let sums = blocks.entry(component).or_default();
            *sums = [sums[0] + read, sums[1] + written];
        }
    }
    blocks
}

/// A file system that is recorded.
struct Recorded {
    group: Group,
    /// What the shell does first.
    prepare: String,
}

/// The kernel as it was, as far as it has switches for that.
const AS_IT_WAS: &str = "set -e; dev=$(basename $device); \
                         cat /proc/fs/ext4/$dev/mb_groups > /dev/null; cd /sys/fs/ext4/$dev; \
                         echo 0 > mb_prefetch; \
                         echo 9999999 > mb_stream_req; echo 1 > mb_group_prealloc; \
                         cd $mountpoint; ";
/// On a busy machine a phase takes more than the 5 seconds after which it would be committed.
const ONE_COMMIT: &str = "mount -o remount,commit=300 .; ";

impl Recorded {
    fn new(kind: &str) -> Self {
        let group = Group::new(&format!("classes-{kind}"), 1, VOLUME + (64 << 20));
        group.create("data", &["-L", &format!("{VOLUME}b")]);
        let node = group.attach("data");
        let make = Tool::new(format!("mkfs.{kind}")).args(["-q", "-F", "-b", "4096"]);
        make.arg(&node).succeed();
        // Mounting reads the root's inode, and would read blocks of others ahead.
        let options = Tool::new("tune2fs").args(["-E", "mount_opts=inode_readahead_blks=0"]);
        options.arg(&node).succeed();
        group.detach("data");
        let log = if kind == "ext3" { ONE_COMMIT } else { "" };
        let prepare = format!("{AS_IT_WAS}{log}");
        Self { group, prepare }
    }

    /// Records a command, and counts what it took.
    fn record(&self, command: &str) -> Blocks {
        let record = self.group.ashlar();
        let record = record.args(["lab", "record", "vg0/data", "--output"]);
        let record = record.arg(self.group.join("run.trace"));
        let command = format!("{}{command}", self.prepare);
        blocks(&record.args(["--", "sh", "-c", &command]).succeed().text())
    }

    fn phase(&self, name: &str) -> Blocks {
        let SmallFiles {
            files,
            bytes_max,
            append_max,
            directories,
        } = PROGRAM;
        let caller = env!("CARGO_BIN_EXE_caller");
        self.record(&format!(
            "{caller} . {name} {SEED} {files} {bytes_max} {append_max} {directories}"
        ))
    }

    /// Has deleted inodes look as if never used, to a kernel that does without a log.
    fn clear_deletions(&self) {
        clear_deletions(&self.group.attach("data"));
        self.group.detach("data");
    }
}

/// Clears the time of deletion of each inode that has one. Places are those of `struct
/// ext2_super_block`, `ext2_group_desc` and `ext2_inode` in the kernel's `fs/ext2/ext2.h`.
fn clear_deletions(node: &Path) {
    const INODE_SIZE: usize = 256;
    const DELETED_AT: usize = 20;
    let node = File::options().read(true).write(true).open(node);
    let node = node.expect("an attached node");
    let read = |size: usize, offset: u64| {
        let mut bytes = vec![0; size];
        node.read_exact_at(&mut bytes, offset)
            .expect("a file system");
        bytes
    };
    let number = |bytes: &[u8], at: usize| {
        let bytes = bytes[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    };
    let superblock = read(1024, 1024);
    assert_eq!(number(&superblock, 88) & 0xffff, INODE_SIZE as u32);
    let per_group = number(&superblock, 40) as usize;
    let groups = number(&superblock, 4).div_ceil(number(&superblock, 32)) as usize;
    let mut cleared = 0;
    for group in read(groups * 32, BLOCK).chunks_exact(32) {
        let place = u64::from(number(group, 8)) * BLOCK;
        let mut inodes = read(per_group * INODE_SIZE, place);
        let all = inodes.chunks_exact_mut(INODE_SIZE);
        let deleted = all.map(|inode| &mut inode[DELETED_AT..DELETED_AT + 4]);
        let deleted = deleted.filter(|time| time.iter().any(|byte| *byte != 0));
        let count = deleted.map(|time| time.fill(0)).count();
        if count > 0 {
            node.write_all_at(&inodes, place).expect("it is written");
        }
        cleared += count;
    }
    node.sync_all().expect("it is flushed");
    assert!(cleared > 0, "the phase before deleted files");
}

/// The phases on the model.
fn modelled(journaling: Journaling) -> Vec<Blocks> {
    let device = Capped::new(Cap {
        blocks: VOLUME / 512,
        operations: None,
        bytes: Some(2 << 30),
        burst_ns: 0,
        latency_ns: 20_000,
    });
    let options = Options {
        journaling,
        log_place: LogPlace::Start,
        memory_bytes: 4 << 30,
        ..Options::default()
    };
    let device = Box::new(device.expect("a possible volume"));
    let mut system = FileSystem::new(device, options).expect("it fits");
    let outcome = run(&mut system, PROGRAM.stream(SEED)).expect("calls that can be made");
    system.check();
    let blocks = |component: Component, phase: &lab::filesystem::program::Phase| {
        let tally = phase.measured.account.class(component);
        let blocks = [tally.read_bytes, tally.written_bytes].map(|bytes| bytes as f64);
        (component, blocks.map(|bytes| bytes / BLOCK as f64))
    };
    let phases = outcome.phases.iter();
    phases
        .map(|phase| {
            Component::ALL
                .map(|component| blocks(component, phase))
                .into()
        })
        .collect()
}

/// Prints the table, and returns what is off by too much.
fn compare(kind: &str, journaling: Journaling) -> Vec<String> {
    let recorded = Recorded::new(kind);
    let idle = recorded.record("true");
    let mut off = Vec::new();
    println!("{kind}: blocks of the kernel, model");
    for (name, model) in SmallFiles::PHASES.iter().zip(modelled(journaling)) {
        if *name == "again" {
            recorded.clear_deletions();
        }
        let real = recorded.phase(name);
        for (component, model) in model {
            let of = |blocks: &Blocks| blocks.get(&component).copied().unwrap_or_default();
            let (real, idle) = (of(&real), of(&idle));
            for (index, done) in ["read", "written"].into_iter().enumerate() {
                let (real, model) = (real[index] - idle[index], model[index]);
                let what = format!("{name:8} {:10} {done:8}", component.name());
                println!("{what} {real:7} {model:7}");
                let judged = real.max(model) > JUDGED_MIN;
                if judged && (real - model).abs() > ERROR_MAX * real {
                    off.push(format!("{what} kernel {real}, model {model}"));
                }
            }
        }
    }
    off
}

/// Compares until all is well, a few times at most: a `sync` of anybody on the machine in the midst
/// of a phase has blocks written that are changed again.
fn agrees(kind: &str, journaling: Journaling) {
    let off = (0..ATTEMPTS).map(|_| compare(kind, journaling));
    let off: Vec<Vec<String>> = off.take_while(|off| !off.is_empty()).collect();
    assert!(off.len() < ATTEMPTS, "{off:#?}");
}

/// The model of ext3 reads and writes as many blocks of each class as the kernel, within 5 %.
#[test]
fn the_model_of_ext3_asks_for_the_kernels_blocks() {
    agrees("ext3", Journaling::Ordered);
}

/// The model of ext2 does so too.
#[test]
fn the_model_of_ext2_asks_for_the_kernels_blocks() {
    agrees("ext2", Journaling::None);
}
