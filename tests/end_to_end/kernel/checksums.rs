//! Arrays over images with checksums that go back and forth between the stock kernel and us.
//!
//! ```text
//!   here     what a stock kernel made and left, cut off or not, is written whole
//!   kernel   finds what we wrote, and no checksum that is wrong; writes all, and loses its power
//!   here     that is there, and is written once more
//! ```

use std::path::Path;

use tests::{Kernel, RaidSet, Scratch, sha256};

use super::group::{Group, file, pattern};

const LIB: &str = include_str!("../../fixtures/raid/make/lib.sh");

/// Reads all, counts checksums that are wrong, and writes all before the power goes.
const BOOT: &str = r#"
modprobe crc32c_generic
modprobe dm_integrity
must vgchange -ay integrity
volumes='VOLUMES'
for name in $volumes; do
    in_sync integrity/$name
    hand_over "read $name" /dev/integrity/$name 0
    # LVM2 does not ask for that where there are checksums.
    must dmsetup message "$(mapped integrity/$name)" 0 check
done
sleep 2
for name in $volumes; do
    in_sync integrity/$name
    counted=$(lvs --noheadings -o integritymismatches,lv_health_status integrity/$name)
    echo "mismatches $name" $counted
done
for name in $volumes; do put /job/second integrity/$name 0; done
crash
"#;

#[test]
fn checksums_go_back_and_forth() {
    // Proves, in one boot: what we write to arrays with checksums the kernel reads, of both modes
    // and both sizes of blocks, whatever state it had left them in, and finds each checksum right;
    // and what it writes then and leaves without an end we read and write on.
    let scratch = Scratch::new("kernel-checksums");
    let set = RaidSet::copy("integrity");
    let (images, volumes) = (set.images(), set.volumes());
    let group = Group::on("integrity", images.clone());
    let named = volumes.iter().map(|volume| {
        let (_, name) = volume.name.split_once('/').expect("a group and a name");
        (name.to_owned(), volume.bytes)
    });
    let volumes: Vec<(String, u64)> = named.collect();
    let put_all = |word: &str| {
        for (volume, size) in &volumes {
            let path = file(&scratch, word, &pattern(word, *size));
            group.fill(volume, Path::new(&path));
        }
    };
    put_all("first");
    let names: Vec<&str> = volumes.iter().map(|(name, _)| &**name).collect();
    let least = volumes.iter().map(|(_, size)| *size).min().expect("some");
    let script = format!("{LIB}{}", BOOT.replace("VOLUMES", &names.join(" ")));
    let outcome = Kernel::new("checksums")
        .disks(&images)
        .file("second", &pattern("second", least))
        .run(&script);
    for (volume, size) in &volumes {
        let found = outcome.collected.get(&format!("read {volume}"));
        let found = found.unwrap_or_else(|| panic!("{volume} is not read: {outcome}"));
        assert_eq!(
            found.sha256,
            sha256(&pattern("first", *size)),
            "{volume}: {outcome}"
        );
        let line = format!("mismatches {volume} 0");
        assert!(
            outcome.text().lines().any(|said| said.trim() == line),
            "{line}: {outcome}"
        );
    }
    for (volume, size) in &volumes {
        let mut wanted = pattern("first", *size);
        wanted[..least as usize].copy_from_slice(&pattern("second", least));
        assert!(group.read(volume) == wanted, "{volume}, left by the kernel");
    }
    put_all("third");
    for (volume, size) in &volumes {
        assert!(group.read(volume) == pattern("third", *size), "{volume}");
        let scrub = group.ashlar_on(&group.names().collect::<Vec<_>>());
        scrub
            .args(["scrub", &format!("integrity/{volume}")])
            .succeed();
    }
}
