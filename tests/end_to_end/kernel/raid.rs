//! Arrays that go back and forth between the stock kernel and us, with a disk away on either side.
//!
//! ```text
//!   here     all are written whole, then once more while a disk is away, which comes back
//!   kernel   fills that disk again, finds what we wrote, and no parity or copy that is wrong;
//!            writes all, and once more while another disk is away
//!   here     that disk gets what it lacks, and then any disk may be lost
//! ```

use std::path::{Path, PathBuf};

use tests::{Kernel, RaidSet, Scratch, sha256};

use super::group::{Group, file, pattern};

/// What makers of sets share: `in_sync`, `hide`, `put`.
const LIB: &str = include_str!("../../fixtures/raid/make/lib.sh");
/// The disk that is away while we write, and the one that is away while the kernel does.
const OURS_AWAY: usize = 2;
const KERNELS_AWAY: usize = 1;

/// Reads all, looks for parity and copies that are wrong, and writes all twice.
const BOOT: &str = r#"
say vgs -o vg_name,vg_attr,vg_missing_pv_count || true
must vgchange -ay levels
volumes='VOLUMES'
for name in $volumes; do in_sync levels/$name; done
say dmsetup status --target raid
for name in $volumes; do
    hand_over "read $name" /dev/levels/$name 0
    lvchange --syncaction check levels/$name
done
sleep 2
for name in $volumes; do
    in_sync levels/$name
    echo "mismatches $name" $(lvs --noheadings -o raid_mismatch_count,lv_health_status levels/$name)
done
for name in $volumes; do put /job/third levels/$name 0; done
must vgchange -an levels
hide /dev/vdb
must vgchange -ay --activationmode degraded levels
for name in $volumes; do put /job/fourth levels/$name 0; done
must vgchange -an levels
"#;

/// The arrays of the set, and their sizes in bytes.
fn volumes(set: &RaidSet) -> Vec<(String, u64)> {
    let all = set.volumes().into_iter();
    let arrays = all.filter(|volume| volume.segment_type != "raid0_meta");
    let named = arrays.map(|volume| {
        let (_, name) = volume.name.split_once('/').expect("a group and a name");
        (name.to_owned(), volume.bytes)
    });
    named.collect()
}

fn without(images: &[PathBuf], away: usize) -> Group {
    let mut images = images.to_vec();
    images.remove(away);
    Group::on("levels", images)
}

fn put_all(group: &Group, scratch: &Scratch, volumes: &[(String, u64)], word: &str) {
    for (volume, size) in volumes {
        let bytes = pattern(word, *size);
        let path = file(scratch, word, &bytes);
        group.fill(volume, Path::new(&path));
    }
}

fn assert_holds(group: &Group, volumes: &[(String, u64)], word: &str, what: &str) {
    for (volume, size) in volumes {
        let found = group.read(volume);
        assert!(found == pattern(word, *size), "{volume}, {what}");
    }
}

#[test]
fn arrays_go_back_and_forth() {
    // Proves, in one boot: of every level and layout the kernel reads what we wrote, and finds
    // parity and copies right, also where we wrote without a disk that is back: it is filled again.
    // What the kernel writes we read, and fill the disk that it wrote without: then any disk may be
    // lost.
    let scratch = Scratch::new("kernel-raid");
    let set = RaidSet::copy("levels");
    let (images, volumes) = (set.images(), volumes(&set));
    let all = Group::on("levels", images.clone());
    put_all(&all, &scratch, &volumes, "first");
    put_all(&without(&images, OURS_AWAY), &scratch, &volumes, "second");
    assert_holds(&all, &volumes, "second", "with the disk that was away");

    let names: Vec<&str> = volumes.iter().map(|(name, _)| &**name).collect();
    let least = volumes.iter().map(|(_, size)| *size).min().expect("some");
    let script = format!("{LIB}{}", BOOT.replace("VOLUMES", &names.join(" ")));
    let outcome = Kernel::new("raid-judged")
        .disks(&images)
        .file("third", &pattern("third", least))
        .file("fourth", &pattern("fourth", least))
        .succeed(&script);
    for (volume, size) in &volumes {
        let found = &outcome.collected[&format!("read {volume}")];
        let wanted = sha256(&pattern("second", *size));
        assert_eq!(found.sha256, wanted, "{volume}: {outcome}");
        let line = format!("mismatches {volume} 0");
        assert!(
            outcome.text().lines().any(|said| said.trim() == line),
            "{line}: {outcome}"
        );
    }
    let held = |size: u64| {
        let mut bytes = pattern("second", size);
        let fourth = pattern("fourth", least);
        bytes[..fourth.len()].copy_from_slice(&fourth);
        bytes
    };
    for (volume, size) in &volumes {
        assert!(
            all.read(volume) == held(*size),
            "{volume}, written by the kernel"
        );
        all.bring_in_sync(volume);
    }
    for away in 0..images.len() {
        let rest = without(&images, away);
        for (volume, size) in &volumes {
            assert!(
                rest.read(volume) == held(*size),
                "{volume} without disk {away}"
            );
        }
    }
    assert_ne!(OURS_AWAY, KERNELS_AWAY, "each has one of its own");
}
