//! Snapshots that the stock kernel made, wrote, filled up and began to merge, as we read them; and
//! those that we made, as it runs them.

use block::BlockingDevice;
use dm::volume::Volume;
use tests::{Kernel, Scratch, sha256};

use super::group::{Group, file, images, pattern};

const MIB: u64 = 1 << 20;

/// Volumes that get snapshots, how large they are in MiB, and what they are made with.
const VOLUMES: &[(&str, u64, &str)] = &[
    ("plain", 8, "-L 8m"),
    ("wide", 6, "-i 3 -I 8k -L 6m"),
    ("full", 4, "-L 4m"),
    ("back", 8, "-L 8m"),
    ("soon", 4, "-L 4m"),
    ("both", 8, "-L 8m"),
    ("ours", 8, "-L 8m"),
    ("joined", 4, "-L 4m"),
    ("store", 4, "-L 4m"),
];

/// `put DEVICE AT COUNT` writes so many pieces of 4 KiB, every third from there on.
///
/// `back` is cut off in the middle of its merge, after at least one chunk; `soon` is told to merge
/// while it is open, so that the merge would begin with its next activation.
const MAKE: &str = r#"
set -e
modprobe dm_snapshot
vgchange -ay made
put() {
    at=$2
    for piece in $(seq $3); do
        dd if=/job/noise of=/dev/made/$1 bs=4k seek=$at skip=$(( (at + piece) % 250 )) count=1 \
            oflag=direct conv=notrunc status=none
        at=$(( at + 3 ))
    done
}
snap() { lvcreate -y -s -n $2 -L $3 -c $4 made/$1; }
snap plain plain1 8m 4k
put plain 5 60
put plain1 100 50
snap plain plain2 8m 64k
put plain 20 70
put plain1 700 30
put plain2 1 20
snap wide wide1 6m 16k
put wide 0 80
put wide1 900 40
snap full full1 1m 4k
dd if=/job/noise of=/dev/made/full bs=64k count=16 oflag=direct conv=notrunc status=none
dd if=/job/noise of=/dev/made/full bs=64k count=16 seek=32 oflag=direct conv=notrunc status=none
lvs -o name,attr made
snap back back1 8m 4k
put back 0 600
snap soon soon1 4m 8k
put soon 50 60
put soon1 300 20
put ours 3 60
put joined 0 40
put store 500 20
lvs --noheadings -o name,origin,attr,chunk_size,data_percent made/ours1 made/store
for volume in plain plain1 plain2 wide wide1 full back1 soon1 ours ours1 joined store; do
    collect $volume /dev/made/$volume
done
for volume in both both1 both2; do collect $volume.before /dev/made/$volume; done
lvs --noheadings -o name,origin,attr,chunk_size,data_percent made/both1 made/both2
put both 7 90
put both1 1 60
for volume in both both1 both2; do collect $volume /dev/made/$volume; done
used() { dmsetup status made-back | cut -d' ' -f4 | cut -d/ -f1; }
exec 3</dev/made/soon
lvconvert -y --merge made/soon1
exec 3<&-
lvconvert -y -b --merge made/back1 &
until dmsetup status made-back | grep -q snapshot-merge; do :; done
before=$(used)
until [ "$(used)" -lt "$before" ]; do :; done
dmsetup suspend made-back
dmsetup status made-back
crash
"#;

/// Writes pieces of many sizes all over a volume of 8 MiB, each round at other places.
fn write(volume: &Volume, round: u64) {
    let mut device = BlockingDevice::open(volume).expect("opens");
    for piece in 0..40 {
        let at = (piece * 199 + round * 17) % 2000 * 4096 + piece % 8 * 512;
        let bytes = vec![(round * 40 + piece + 1) as u8; (1 + piece as usize % 13) * 1024];
        device.write_at(&bytes, at).expect("is written");
        if piece % 16 == 7 {
            device.flush().expect("is flushed");
        }
    }
    device.flush().expect("is flushed");
}

#[test]
fn snapshots_of_the_kernel_are_read() {
    // Proves, in one boot: snapshots of plain and striped volumes, several of one origin, with
    // chunks of any size, written on both sides, hold for us what they hold for the kernel; one
    // that overflowed is told, and its origin is whole; an origin whose merge was cut off in the
    // middle, or has not begun, is read as what it will be. Snapshots that we made, of a new store
    // and of a volume that held something, keep for the kernel what their origins held; those that
    // we wrote are for the kernel what they are for us, and it goes on with them. We end the merges
    // that it began.
    let scratch = Scratch::new("kernel-snapshots");
    let group = Group::create("made", images(&scratch, "made", 3, 48));
    for (name, mib, options) in VOLUMES {
        group.volume(name, options);
        group.fill(name, &file(&scratch, name, &pattern(name, mib * MIB)));
    }
    group.change("lvcreate -s -L 6m -c 16k -n ours1", "ours");
    group.change("lvconvert -s -c 64k made/joined", "store");
    group.change("lvcreate -s -L 10m -c 4k -n both1", "both");
    group.change("lvcreate -s -L 10m -c 32k -n both2", "both");
    for (round, volume) in ["both", "both1", "both", "both2", "both1"]
        .into_iter()
        .enumerate()
    {
        group.run(volume, |volume| write(volume, round as u64));
    }
    let both = ["both", "both1", "both2"];
    let written = both.map(|volume| sha256(&group.read(volume)));
    let outcome = Kernel::new("snapshots")
        .disks(&group.images)
        .file("noise", &pattern("noise", MIB))
        .run(MAKE);
    assert_eq!(outcome.code, None, "the power is cut: {outcome}");
    let read = |volume: &str| sha256(&group.read(volume));
    let held = |volume: &str| outcome.collected[volume].sha256.clone();
    for volume in [
        "plain", "plain1", "plain2", "wide", "wide1", "full", "ours", "ours1", "joined", "store",
    ] {
        assert_eq!(read(volume), held(volume), "{volume}: {outcome}");
    }
    let before = both.map(|volume| held(&format!("{volume}.before")));
    assert_eq!(before, written, "{outcome}");
    assert_eq!(both.map(read), both.map(held), "{outcome}");
    assert_ne!(held("plain1"), held("plain2"), "they were written apart");
    group.refuse("full1");
    assert_eq!(read("back"), held("back1"), "{outcome}");
    assert_eq!(read("soon"), held("soon1"), "{outcome}");
    group.refuse("back1");
    // What the kernel had begun, and what it was told of, goes on with us.
    for (origin, snapshot) in [("back", "back1"), ("soon", "soon1")] {
        group.merge(origin, snapshot);
        assert_eq!(read(origin), held(snapshot), "{outcome}");
    }
    let taken = sha256(&pattern("ours", 8 * MIB));
    assert_eq!(held("ours1"), taken, "{outcome}");
    assert_ne!(held("ours"), taken, "the origin was written");
    assert_ne!(held("store"), held("joined"), "they were written apart");
    // As small as it can be, and split off and joined again, it is still the same.
    group.change("lvreduce -L 1m", "ours1");
    assert_eq!(read("ours1"), taken);
    group.change("lvconvert --splitsnapshot", "ours1");
    assert_eq!(group.read("ours1").len() as u64, MIB);
    group.change("lvconvert -s -Z n -c 16k made/ours", "ours1");
    assert_eq!(read("ours1"), taken);
}
