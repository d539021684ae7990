//! Words, and what is wrong with them.

use crate::disk::catalog;
use crate::layout::{Disk, DiskKind};

/// Words are disks of their sizes.
#[test]
fn words_are_disks() {
    let size = |word: &str, bytes| {
        Disk::from_word(word, bytes)
            .expect(word)
            .size()
            .expect(word)
    };
    assert_eq!(size("wd800bd-like", None), 156_301_488 * 512);
    assert!(size("wd800bd-like:size=200G", None) >= 200 << 30);
    assert_eq!(size("cap:iops=600:size=1T", None), 1 << 40);
    assert_eq!(size("cap:iops=600", Some(1 << 30)), 1 << 30);
    let flash = Disk::from_word("flash:units=4:size=8G", None).expect("flash");
    assert!(matches!(flash.kind, DiskKind::Flash(flash) if flash.units == 4));
    let cap = Disk::from_word("cap:mbps=100:latency_us=500:size=8G", None).expect("a cap");
    assert!(
        matches!(cap.kind, DiskKind::Capped(cap) if cap.bytes == Some(100_000_000)
            && cap.latency_ns == 500_000)
    );
}

/// A profile that was kept as a file is a disk, and can be stretched.
#[test]
fn profiles_in_files_are_disks() {
    let path = std::env::temp_dir().join(format!("word-{}.toml", std::process::id()));
    let text = crate::disk::file::write(&catalog::hp97560());
    std::fs::write(&path, text).expect("a file");
    let word = path.display().to_string();
    let found = Disk::from_word(&word, None).expect("a disk");
    let large = Disk::from_word(&format!("{word}:size=20G"), None).expect("a disk");
    std::fs::remove_file(&path).expect("it is there");
    assert_eq!(found.name, "HP 97560");
    assert!(large.size().expect("a size") >= 20 << 30);
}

/// Mistakes name what is wrong and what there is.
#[test]
fn mistakes_are_named() {
    for (word, wanted) in [
        ("nothing", "there is no disk 'nothing'"),
        ("cap:iops=600", "say how large"),
        ("cap:speed=3:size=1G", "no speed; there are size, iops"),
        ("cap:iops=many:size=1G", "a number is expected"),
        ("wd800bd-like:iops=3", "has a size, no iops"),
        ("flash:size=many", "a size is expected"),
        ("flash:fast", "'fast' is not KEY=VALUE"),
        ("nowhere.toml:x", "nowhere.toml"),
    ] {
        let refused = Disk::from_word(word, None).expect_err(word).to_string();
        assert!(refused.contains(wanted), "{refused} says {wanted}");
    }
}
