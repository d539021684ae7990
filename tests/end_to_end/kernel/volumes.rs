//! What the stock kernel reads from disks that we made, and from its own that we changed.

use tests::{DiskSet, Golden, Kernel, Scratch, sha256};

use super::group::{Group, file, images, pattern};

const MIB: u64 = 1 << 20;

/// Every volume of our group, how large it is at last, in MiB, and what it is made with.
const VOLUMES: &[(&str, u64, &str)] = &[
    ("linear", 3, "-L 3m"),
    ("pieces", 7, "-L 2m"),
    ("stripes", 6, "-i 3 -I 8k -L 6m"),
    ("wide", 16, "-i 2 -I 64k -L 8m"),
    ("mirror", 4, "--type mirror -m 1 -R 512k -L 4m"),
    ("copies", 5, "--type mirror -m 2 --corelog -R 512k -L 5m"),
    ("turned", 5, "-L 5m"),
    ("halved", 4, "--type mirror -m 1 -R 512k -L 4m"),
];

/// What is done to them before they are filled.
const BEFORE: &[(&str, &str)] = &[("lvextend -L 7m", "pieces"), ("lvextend -L 16m", "wide")];
/// And after.
const AFTER: &[(&str, &str)] = &[
    ("lvconvert --type mirror -m 1", "turned"),
    ("lvconvert -m 0", "halved"),
];

/// Volumes of every kind that we make, on four disks.
fn make(scratch: &Scratch) -> Group {
    let group = Group::create("ours", images(scratch, "ours", 4, 48));
    for (name, _, options) in VOLUMES {
        group.volume(name, options);
    }
    for (command, volume) in BEFORE {
        group.change(command, volume);
    }
    for (name, mib, _) in VOLUMES {
        let content = pattern(name, mib * MIB);
        group.fill(name, &file(scratch, name, &content));
    }
    for (command, volume) in AFTER {
        group.change(command, volume);
    }
    for (name, mib, _) in VOLUMES {
        assert!(group.read(name) == pattern(name, mib * MIB), "{name}");
    }
    group
}

/// The golden disks, with one volume more that we made there.
fn changed_golden() -> (Golden, Group) {
    let golden = Golden::copy();
    let group = Group::on("vg0", golden.images());
    group.volume("more", "-L 2m");
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
    for (name, mib, _) in VOLUMES {
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
