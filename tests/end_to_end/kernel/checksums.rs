//! Arrays over images with checksums that go back and forth between the stock kernel and us.
//!
//! ```text
//!   here     what a stock kernel made and left, cut off or not, is written whole; so is what we
//!            made, and what has got checksums here; others lose a disk and are repaired, grow,
//!            or get another copy
//!   kernel   finds what we wrote, and no checksum that is wrong; writes all, and loses its power
//!   here     that is there, and is written once more
//! ```

use std::fs::File;
use std::path::Path;

use tests::{Kernel, RaidSet, Scratch, sha256};

use super::group::{Group, file, images, pattern};

/// Each image has a journal.
const ONE: &str = "--type raid1 -m 1 --raidintegrity y -l 3";
/// Each image has a bitmap.
const FIVE: &str = "--type raid5 -i 2 --raidintegrity y --raidintegritymode bitmap -l 4";

const LIB: &str = include_str!("../../fixtures/raid/make/lib.sh");

/// Reads all, counts checksums that are wrong, and writes all before the power goes.
const BOOT: &str = r#"
modprobe crc32c_generic
modprobe dm_integrity
must vgchange -ay GROUPS
volumes='VOLUMES'
for name in $volumes; do
    in_sync $name
    hand_over "read $name" /dev/$name 0
    # LVM2 does not ask for that where there are checksums.
    must dmsetup message "$(mapped $name)" 0 check
done
sleep 2
for name in $volumes; do
    in_sync $name
    counted=$(lvs --noheadings -o raid_mismatch_count,integritymismatches,lv_health_status $name)
    echo "mismatches $name" $counted
done
for name in $volumes; do put /job/second $name 0; done
crash
"#;

/// Bytes by which volumes grow.
const GROWN: u64 = 2 << 20;

/// Volumes that go back and forth: their groups and names, and what the kernel is to read.
type Volumes<'g> = Vec<(&'g Group, String, Vec<u8>)>;

fn put(scratch: &Scratch, (group, volume, size): (&Group, &str, u64), word: &str) {
    let path = file(scratch, word, &pattern(word, size));
    group.fill(volume, Path::new(&path));
}

/// Fills a volume, which the kernel is to read.
fn filled<'g>(
    scratch: &Scratch,
    group: &'g Group,
    name: &str,
    size: u64,
) -> (&'g Group, String, Vec<u8>) {
    put(scratch, (group, name, size), "first");
    (group, name.to_owned(), pattern("first", size))
}

/// The kernel reads the volumes, and finds all images alike and each checksum right; what it writes
/// then and leaves without an end we read and write on.
fn go_back_and_forth(scratch: &Scratch, groups: &[&Group], volumes: &Volumes<'_>) {
    let names: Vec<String> = volumes
        .iter()
        .map(|(group, name, _)| format!("{}/{name}", group.name))
        .collect();
    let sizes = volumes.iter().map(|(.., first)| first.len());
    let least = sizes.min().expect("some");
    let second = pattern("second", least as u64);
    let group_names: Vec<&str> = groups.iter().map(|group| group.name).collect();
    let boot = BOOT.replace("VOLUMES", &names.join(" "));
    let script = format!("{LIB}{}", boot.replace("GROUPS", &group_names.join(" ")));
    let outcome = Kernel::new("checksums")
        .disks(groups.iter().flat_map(|group| group.images.clone()))
        .file("second", &second)
        .run(&script);
    for (name, (.., first)) in names.iter().zip(volumes) {
        let found = outcome.collected.get(&format!("read {name}"));
        let found = found.unwrap_or_else(|| panic!("{name} is not read: {outcome}"));
        assert_eq!(found.sha256, sha256(first), "{name}: {outcome}");
        let line = format!("mismatches {name} 0 0");
        assert!(
            outcome.text().lines().any(|said| said.trim() == line),
            "{line}: {outcome}"
        );
    }
    for (group, volume, first) in volumes {
        let mut wanted = first.clone();
        wanted[..least].copy_from_slice(&second);
        assert!(group.read(volume) == wanted, "{volume}, left by the kernel");
    }
    for (name, (group, volume, first)) in names.iter().zip(volumes) {
        let size = first.len() as u64;
        put(scratch, (group, volume, size), "third");
        assert!(group.read(volume) == pattern("third", size), "{volume}");
        let devices: Vec<String> = group.names().collect();
        let scrub = || group.ashlar_on(&devices).args(["scrub", name]);
        // An image that the kernel has filled is one to be filled for LVM2, until we have noted it.
        for _ in 0..10 {
            if scrub().run().code == Some(0) {
                break;
            }
            group.bring_in_sync(volume);
        }
        scrub().succeed();
    }
}

#[test]
fn checksums_go_back_and_forth() {
    // Proves, in one boot: what we write to arrays with checksums the kernel reads, of both modes
    // and both sizes of blocks, whatever state it had left them in, and finds each checksum right;
    // and what it writes then and leaves without an end we read and write on.
    let scratch = Scratch::new("kernel-checksums");
    let set = RaidSet::copy("integrity");
    let theirs = Group::on("integrity", set.images());
    let ours = Group::create("made", images(&scratch, "made", 4, 48));
    ours.volume("journal", ONE);
    ours.volume("bitmap", &format!("{FIVE} --raidintegrityblocksize 4096"));
    ours.volume("later", "--type raid1 -m 1 -l 3");
    ours.change("lvconvert --raidintegrity y", "later");
    let mut volumes = Volumes::new();
    for volume in set.volumes() {
        let (_, name) = volume.name.split_once('/').expect("a group and a name");
        volumes.push(filled(&scratch, &theirs, name, volume.bytes));
    }
    for (name, mib) in [("journal", 3), ("bitmap", 4), ("later", 3)] {
        volumes.push(filled(&scratch, &ours, name, mib << 20));
    }
    go_back_and_forth(&scratch, &[&theirs, &ours], &volumes);
}

#[test]
fn changed_arrays_have_their_checksums() {
    // Proves, in one boot: the kernel fills an image with checksums that we put in the place of a
    // lost one, and goes on where we filled it; it has a new copy, and more extents than anybody
    // has used; it finds all alike and each checksum right, as above.
    let scratch = Scratch::new("kernel-checksums");
    let ours = Group::create("made", images(&scratch, "made", 3, 64));
    let mended = Group::create("mended", images(&scratch, "mended", 5, 48));
    let mut volumes = Volumes::new();
    for (group, name, mib) in [
        (&ours, "grown", 3),
        (&ours, "grown5", 4),
        (&ours, "copied", 3),
        (&mended, "mend", 3),
        (&mended, "mend5", 4),
    ] {
        group.volume(name, if mib == 3 { ONE } else { FIVE });
        volumes.push(filled(&scratch, group, name, mib << 20));
        group.bring_in_sync(name);
    }
    for (_, volume, first) in &mut volumes[..2] {
        ours.change(&format!("lvextend -L +{GROWN}b"), volume);
        // What came is zeros on all images.
        first.resize(first.len() + GROWN as usize, 0);
    }
    ours.change("lvconvert -m 2", "copied");
    let disk = File::options().write(true).open(&mended.images[1]);
    let disk = disk.expect("an image");
    let size = disk.metadata().expect("it has a size").len();
    for len in [0, size] {
        disk.set_len(len).expect("it is lost");
    }
    for volume in ["mend", "mend5"] {
        mended.change("lvconvert --repair", volume);
    }
    mended.bring_in_sync("mend5");
    let reduce = mended.ashlar_on(&mended.names().collect::<Vec<_>>());
    reduce
        .args(["vgreduce", "--removemissing", "mended"])
        .succeed();
    go_back_and_forth(&scratch, &[&ours, &mended], &volumes);
}
