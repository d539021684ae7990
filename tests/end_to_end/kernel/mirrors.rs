//! Mirrors that go back and forth between the stock kernel and us, stopped at bad moments.
//!
//! ```text
//!   first boot    the kernel makes mirrors, writes them, and its power is cut: a leg lacks writes
//!   here          we read them and bring them back in sync; and leave mirrors of ours as bad
//!   second boot   the kernel finds its own in sync, and brings ours back in sync
//! ```

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use block::BlockingDevice;
use tests::{Kernel, Scratch, Tool, sha256};

use super::group::{Group, file, images, pattern};

const MIB: u64 = 1 << 20;
/// Of every mirror here.
const SIZE: u64 = 8 * MIB;
const REGION: u64 = 512 << 10;
const REGIONS: u64 = SIZE / REGION;
/// Regions that are being written when all ends.
const DIRTY: [u64; 2] = [5, 11];
/// For copying some MiB on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// The kernel makes two mirrors. All of `settled` is written and in sync; then its second leg is
/// held, so that later writes are on the first one only. `fresh` is what a first copy leaves that
/// has come half way: a fast machine copies all of it before anybody can cut the power, so the
/// second half of its second leg and of its log's bits are taken back. Then the power is cut.
const FIRST_BOOT: &str = r#"
set -e
modprobe dm_mirror
vgcreate -s 1m kernel /dev/vda /dev/vdb /dev/vdc
make() { lvcreate -y -Wn -Zn --type mirror -m 1 --mirrorlog disk -R 512k -L 8m -n $1 kernel; }
make settled
until dmsetup status kernel-settled | grep ' 16/16 '; do sleep 0.2; done
dd if=/job/settled of=/dev/kernel/settled bs=1M oflag=direct conv=fsync status=none
# The log's bits are set again within seconds.
log=/dev/mapper/kernel-settled_mlog
bits() { dd if=$log bs=512 skip=2 count=1 iflag=direct status=none | head -c 2 | xxd -p; }
until [ "$(bits)" = ffff ]; do sleep 0.2; done
dmsetup suspend --noflush --nolockfs kernel-settled_mimage_1
for region in 5 11; do
    dd if=/job/changed of=/dev/kernel/settled bs=512k count=1 seek=$region oflag=direct \
        conv=notrunc status=none &
done
for region in 5 11; do
    leg="dd if=/dev/mapper/kernel-settled_mimage_0 bs=512k count=1 iflag=direct status=none"
    until $leg skip=$region | cmp -s - /job/changed; do sleep 0.2; done
done
make fresh
dd if=/job/fresh of=/dev/kernel/fresh bs=1M oflag=direct conv=fsync status=none
until dmsetup status kernel-fresh | grep ' 16/16 '; do sleep 0.2; done
log=/dev/mapper/kernel-fresh_mlog
until [ "$(bits)" = ffff ]; do sleep 0.2; done
dmsetup suspend kernel-fresh
dd if=/dev/zero of=/dev/mapper/kernel-fresh_mimage_1 bs=512k seek=8 count=8 oflag=direct \
    conv=notrunc status=none
dd if=$log of=/tmp/bits bs=512 skip=2 count=1 iflag=direct status=none
printf '\377\000' | dd of=/tmp/bits conv=notrunc status=none
dd if=/tmp/bits of=$log bs=512 seek=2 count=1 oflag=direct conv=notrunc status=none
[ "$(bits)" = ff00 ]
dmsetup status
echo ready
crash
"#;

/// The kernel finds its own mirrors in sync, and brings ours there.
const SECOND_BOOT: &str = r"
set -e
vgchange -ay kernel
for volume in settled fresh; do
    dmsetup status kernel-$volume | grep ' 16/16 1 AA '
    collect kernel/$volume /dev/kernel/$volume
done
modprobe dm_mirror
vgchange -ay ours
for volume in cut filled; do
    until dmsetup status ours-$volume | grep ' 16/16 '; do sleep 0.2; done
    collect ours/$volume /dev/ours/$volume
done
e2fsck -f -n /dev/ours/files
mount -t ext4 /dev/ours/files /mnt
cmp /mnt/fresh /job/fresh
cp /job/settled /mnt/settled
umount /mnt
e2fsck -f -n /dev/ours/files
dmsetup status
vgchange -an kernel ours
";

/// The bytes of a mirror's log that say something.
struct Log {
    version: u32,
    regions: u64,
    bits: u64,
}

impl Log {
    fn of(group: &Group, volume: &str) -> Self {
        let bytes = group.place(&format!("{volume}_mlog")).read();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
        assert_eq!(word(0), 0x4d69_5272, "the log of {volume}");
        Self {
            version: word(4),
            regions: long(8),
            bits: long(1024),
        }
    }

    fn is_set(&self, region: u64) -> bool {
        self.bits >> region & 1 == 1
    }

    /// That of a mirror which is in sync and was stopped, whoever ran it.
    fn assert_settled(&self, volume: &str) {
        let said = (self.version, self.regions, self.bits);
        assert_eq!(said, (2, REGIONS, (1 << REGIONS) - 1), "{volume}");
    }
}

fn leg(group: &Group, volume: &str, number: u32) -> Vec<u8> {
    group.place(&format!("{volume}_mimage_{number}")).read()
}

fn region(bytes: &[u8], region: u64) -> &[u8] {
    &bytes[(region * REGION) as usize..][..REGION as usize]
}

/// `bytes`, with `piece` in these regions.
fn with(bytes: &[u8], regions: &[u64], piece: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    for region in regions {
        changed[(region * REGION) as usize..][..piece.len()].copy_from_slice(piece);
    }
    changed
}

/// Runs a mirror until its log says that all is in sync.
fn synchronise(group: &Group, volume: &str) {
    group.run(volume, |_| {
        let start = Instant::now();
        while (0..REGIONS).any(|region| !Log::of(group, volume).is_set(region)) {
            assert!(start.elapsed() < PATIENCE, "{volume} is not copied");
            thread::sleep(Duration::from_millis(20));
        }
    });
    Log::of(group, volume).assert_settled(volume);
    assert!(leg(group, volume, 0) == leg(group, volume, 1), "{volume}");
}

/// What the kernel left is read as it wrote it, and brought in sync.
fn take_over(kernel: &Group, settled: &[u8], fresh: &[u8], piece: &[u8]) {
    let log = Log::of(kernel, "settled");
    assert_eq!((log.version, log.regions), (2, REGIONS));
    for dirty in DIRTY {
        assert!(!log.is_set(dirty), "region {dirty} was being written");
        let legs = [leg(kernel, "settled", 0), leg(kernel, "settled", 1)];
        assert!(region(&legs[0], dirty) == piece, "one leg was written");
        assert!(region(&legs[1], dirty) == region(settled, dirty), "one not");
    }
    let log = Log::of(kernel, "fresh");
    assert_eq!(log.bits, 0xff, "half of it is not copied");
    let settled = with(settled, &DIRTY, piece);
    assert!(kernel.read("settled") == settled);
    assert!(kernel.read("fresh") == fresh);
    let first = kernel.place("settled_mimage_0");
    let others = kernel.images.iter().filter(|image| *image != first.image());
    let others = Group::on("kernel", others.cloned().collect());
    others.refuse("settled");
    for volume in ["settled", "fresh"] {
        synchronise(kernel, volume);
    }
    assert!(kernel.read("settled") == settled);
    assert!(kernel.read("fresh") == fresh);
}

/// A group of ours with a file system and two mirrors. `filled` was stopped before anything of it
/// was in sync, `cut` while it was written: its second leg lacks a write.
fn leave(scratch: &Scratch, cut: &[u8], filled: &[u8], piece: &[u8]) -> Group {
    let made = Group::create("ours", images(scratch, "made", 3, 64));
    for volume in ["cut", "filled"] {
        made.volume(volume, "--type mirror -m 1 --mirrorlog disk -R 512k -L 8m");
    }
    made.volume("files", "-L 24m");
    made.fill("files", &file_system(scratch));
    made.fill("cut", &file(scratch, "cut", cut));
    synchronise(&made, "cut");
    made.fill("filled", &file(scratch, "filled", filled));
    let left = made.images.iter().map(|image| {
        let name = image.file_name().expect("a name").to_string_lossy();
        scratch.join(format!("left-{name}"))
    });
    let left = Group::on("ours", left.collect());
    made.run("cut", |volume| {
        let mut device = BlockingDevice::open(volume).expect("a device");
        let start = Instant::now();
        loop {
            for dirty in DIRTY {
                let written = device.write_at(piece, dirty * REGION);
                written.expect("it is written");
            }
            for (from, to) in made.images.iter().zip(&left.images) {
                copy(from, to);
            }
            let log = Log::of(&left, "cut");
            // The log has rested if this machine was too slow.
            if DIRTY.iter().all(|dirty| !log.is_set(*dirty)) {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "the log is never caught dirty");
        }
    });
    let behind = left.place("cut_mimage_1");
    behind.write(DIRTY[1] * REGION, region(cut, DIRTY[1]));
    assert_eq!(Log::of(&left, "cut").version, 1, "it is claimed");
    left.place("filled_mimage_1")
        .write(0, &pattern("old", SIZE));
    left.place("filled_mlog").write(1024, &[0; 8]);
    left
}

fn copy(from: &Path, to: &Path) {
    Tool::new("cp")
        .arg("--sparse=always")
        .args([from, to])
        .succeed();
}

/// An image of a file system that holds the file `fresh`.
fn file_system(scratch: &Scratch) -> PathBuf {
    let image = scratch.sparse("files.img", 24 * MIB);
    let folder = scratch.join("files");
    std::fs::create_dir(&folder).expect("a directory");
    std::fs::write(folder.join("fresh"), pattern("fresh", SIZE)).expect("a file");
    Tool::new("mkfs.ext4")
        .args(["-q", "-F", "-d"])
        .args([&folder, &image])
        .succeed();
    image
}

#[test]
fn mirrors_go_back_and_forth() {
    // Proves, in two boots: a mirror that the kernel left when its power was cut is read by us as
    // the kernel wrote it, and brought in sync; the kernel then finds nothing to copy. A mirror
    // that we left, never in sync or cut while it was written, is brought in sync by the kernel
    // and holds what we wrote; so does a file system of ours, which it writes on.
    let scratch = Scratch::new("kernel-mirrors");
    let (settled, fresh) = (pattern("settled", SIZE), pattern("fresh", SIZE));
    let (cut, filled) = (pattern("cut", SIZE), pattern("filled", SIZE));
    let piece = pattern("changed", REGION);
    let kernel = Group::on("kernel", images(&scratch, "kernel", 3, 48));
    let outcome = Kernel::new("mirrors-made")
        .disks(&kernel.images)
        .file("settled", &settled)
        .file("fresh", &fresh)
        .file("changed", &piece)
        .run(FIRST_BOOT);
    assert!(outcome.text().ends_with("ready"), "{outcome}");
    assert_eq!(outcome.code, None, "{outcome}");
    take_over(&kernel, &settled, &fresh, &piece);

    let ours = leave(&scratch, &cut, &filled, &piece);
    let outcome = Kernel::new("mirrors-judged")
        .disks(&kernel.images)
        .disks(&ours.images)
        .program("e2fsck")
        .file("settled", &settled)
        .file("fresh", &fresh)
        .succeed(SECOND_BOOT);
    let expected = [
        ("kernel/settled", with(&settled, &DIRTY, &piece)),
        ("kernel/fresh", fresh),
        ("ours/cut", with(&cut, &DIRTY, &piece)),
        ("ours/filled", filled),
    ];
    for (name, bytes) in &expected {
        let found = &outcome.collected[*name];
        assert_eq!(found.sha256, sha256(bytes), "{name}: {outcome}");
        let (group, volume) = name.split_once('/').expect("two names");
        let group = if group == "ours" { &ours } else { &kernel };
        Log::of(group, volume).assert_settled(name);
        for number in 0..2 {
            assert!(leg(group, volume, number) == *bytes, "{name} {number}");
        }
        assert!(group.read(volume) == *bytes, "{name}");
    }
}
