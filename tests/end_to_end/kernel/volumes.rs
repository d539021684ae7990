//! What the stock kernel reads from disks that we made, and from its own that we changed.

use lvm::Sectors;
use lvm::plan::logical::{
    Initial, MirrorLog, MirrorOptions, NewKind, Resize, Stripes, resize_volume,
};
use lvm::plan::size::{ResizeTo, SizeArgument};
use tests::{DiskSet, Golden, Kernel, Scratch, sha256};

use super::group::{Group, file, images, pattern};

const MIB: u64 = 1 << 20;

/// Every volume of our group and how large it is, in MiB.
const VOLUMES: &[(&str, u64)] = &[
    ("linear", 3),
    ("stripes", 6),
    ("pieces", 7),
    ("mirror", 4),
    ("copies", 5),
];

fn stripes(count: usize, size: Option<u64>) -> Stripes {
    Stripes {
        count,
        size: size.map(Sectors),
    }
}

fn mirrored(legs: usize, log: MirrorLog) -> NewKind {
    let options = MirrorOptions {
        legs,
        log,
        region_size: Some(Sectors(1024)),
        initial: Initial::Synchronise,
    };
    NewKind::Mirror(options, stripes(1, None))
}

/// Volumes of every kind that we make, on four disks.
fn make(scratch: &Scratch) -> Group {
    let group = Group::create("ours", images(scratch, "ours", 4, 48));
    group.volume("linear", 3, |_| {});
    group.volume("pieces", 2, |_| {});
    group.volume("stripes", 6, |new| {
        new.kind = NewKind::Striped(stripes(3, Some(16)));
    });
    group.volume("mirror", 4, |new| new.kind = mirrored(2, MirrorLog::Disk));
    group.volume("copies", 5, |new| new.kind = mirrored(3, MirrorLog::Core));
    group.plan("lvextend", |found, author| {
        let larger = Resize {
            volume: "pieces",
            size: SizeArgument::extents(7),
            direction: ResizeTo::Larger,
            stripes: None,
            stripe_size: None,
            places: None,
            policy: None,
            cling_tags: &[],
        };
        resize_volume(&found.model, &larger, author)
    });
    for (name, mib) in VOLUMES {
        let content = pattern(name, mib * MIB);
        group.fill(name, &file(scratch, name, &content));
        assert_eq!(group.read(name), content, "{name}");
    }
    group
}

/// The golden disks, with one volume more that we made there.
fn changed_golden() -> (Golden, Group) {
    let golden = Golden::copy();
    let group = Group::on("vg0", golden.images());
    group.volume("more", 2, |_| {});
    let content = pattern("more", 2 * MIB);
    group.fill("more", &file(&Scratch::new("more"), "more", &content));
    (golden, group)
}

#[test]
fn it_reads_what_we_wrote() {
    // Proves, in one boot: the kernel activates volumes of every kind that we make and reads what
    // we put there; and of its own disks, as they are and after a change of ours, what it did.
    let scratch = Scratch::new("kernel-volumes");
    let ours = make(&scratch);
    let untouched = Golden::shared();
    let (_golden, changed) = changed_golden();
    let sets: Vec<DiskSet> = vec![
        ours.images.clone(),
        untouched.images(),
        changed.images.clone(),
    ];
    let sums = Kernel::sums("volumes", &sets);
    assert_eq!(sums[0].len(), VOLUMES.len(), "{:?}", sums[0].keys());
    for (name, mib) in VOLUMES {
        let sum = &sums[0][&format!("ours/{name}")];
        assert_eq!(sum.size, mib * MIB, "{name}");
        assert_eq!(sum.sha256, sha256(&pattern(name, sum.size)), "{name}");
    }
    for volume in Golden::volumes() {
        for sums in &sums[1..] {
            let sum = &sums[&format!("vg0/{}", volume.name)];
            assert_eq!(sum.size, volume.size, "{}", volume.name);
            assert_eq!(sum.sha256, volume.sha256, "{}", volume.name);
        }
    }
    let more = sha256(&pattern("more", 2 * MIB));
    assert_eq!(sums[2]["vg0/more"].sha256, more);
}
