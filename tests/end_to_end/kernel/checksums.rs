//! Arrays over images with checksums that go back and forth between the stock kernel and us.
//!
//! ```text
//!   here     what a stock kernel made and left, cut off or not, is written whole; so is what we
//!            made, and what has got checksums here
//!   kernel   finds what we wrote, and no checksum that is wrong; writes all, and loses its power
//!   here     that is there, and is written once more
//! ```

use std::path::Path;

use tests::{Kernel, RaidSet, Scratch, sha256};

use super::group::{Group, file, images, pattern};

const LIB: &str = include_str!("../../fixtures/raid/make/lib.sh");

/// Reads all, counts checksums that are wrong, and writes all before the power goes.
const BOOT: &str = r#"
modprobe crc32c_generic
modprobe dm_integrity
must vgchange -ay integrity made
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
    counted=$(lvs --noheadings -o integritymismatches,lv_health_status $name)
    echo "mismatches $name" $counted
done
for name in $volumes; do put /job/second $name 0; done
crash
"#;

#[test]
fn checksums_go_back_and_forth() {
    // Proves, in one boot: what we write to arrays with checksums the kernel reads, of both modes
    // and both sizes of blocks, whatever state it had left them in, and finds each checksum right;
    // and what it writes then and leaves without an end we read and write on.
    let scratch = Scratch::new("kernel-checksums");
    let set = RaidSet::copy("integrity");
    let theirs = Group::on("integrity", set.images());
    let ours = Group::create("made", images(&scratch, "made", 4, 48));
    ours.volume("journal", "--type raid1 -m 1 --raidintegrity y -l 3");
    let five = "--type raid5 -i 2 --raidintegrity y --raidintegritymode bitmap";
    ours.volume(
        "bitmap",
        &format!("{five} --raidintegrityblocksize 4096 -l 4"),
    );
    ours.volume("later", "--type raid1 -m 1 -l 3");
    ours.change("lvconvert --raidintegrity y", "later");
    let mut volumes: Vec<(&Group, String, u64)> = Vec::new();
    for volume in set.volumes() {
        let (_, name) = volume.name.split_once('/').expect("a group and a name");
        volumes.push((&theirs, name.to_owned(), volume.bytes));
    }
    for (name, mib) in [("journal", 3), ("bitmap", 4), ("later", 3)] {
        volumes.push((&ours, name.to_owned(), mib << 20));
    }
    let put_all = |word: &str| {
        for (group, volume, size) in &volumes {
            let path = file(&scratch, word, &pattern(word, *size));
            group.fill(volume, Path::new(&path));
        }
    };
    put_all("first");
    let full = |group: &Group, name: &str| format!("{}/{name}", group.name);
    let names: Vec<String> = volumes
        .iter()
        .map(|(group, name, _)| full(group, name))
        .collect();
    let least = volumes.iter().map(|(.., size)| *size).min().expect("some");
    let script = format!("{LIB}{}", BOOT.replace("VOLUMES", &names.join(" ")));
    let outcome = Kernel::new("checksums")
        .disks([theirs.images.clone(), ours.images.clone()].concat())
        .file("second", &pattern("second", least))
        .run(&script);
    for (name, (.., size)) in names.iter().zip(&volumes) {
        let found = outcome.collected.get(&format!("read {name}"));
        let found = found.unwrap_or_else(|| panic!("{name} is not read: {outcome}"));
        let wanted = sha256(&pattern("first", *size));
        assert_eq!(found.sha256, wanted, "{name}: {outcome}");
        let line = format!("mismatches {name} 0");
        assert!(
            outcome.text().lines().any(|said| said.trim() == line),
            "{line}: {outcome}"
        );
    }
    for (group, volume, size) in &volumes {
        let mut wanted = pattern("first", *size);
        wanted[..least as usize].copy_from_slice(&pattern("second", least));
        assert!(group.read(volume) == wanted, "{volume}, left by the kernel");
    }
    put_all("third");
    for (group, volume, size) in &volumes {
        assert!(group.read(volume) == pattern("third", *size), "{volume}");
        let scrub = group.ashlar_on(&group.names().collect::<Vec<_>>());
        scrub.args(["scrub", &full(group, volume)]).succeed();
    }
}
