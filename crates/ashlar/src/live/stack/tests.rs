//! Versions of the golden group, edited as text.

use lvm2::model::{VolumeGroup, from_text};
use lvm2::text::parse;

use super::Version;

const TEXT: &str = include_str!("../../../../../tests/fixtures/texts/vg0-44.txt");

fn read(text: &str) -> VolumeGroup {
    from_text(&parse(text.as_bytes()).expect("it parses")).expect("it is a group")
}

/// The part of the text that describes a volume.
fn volume(name: &str) -> &'static str {
    let begin = TEXT.find(&format!("\n{name} {{")).expect("is there") + 1;
    let end = TEXT[begin..].find("\n}\n}\n").expect("ends") + 5;
    &TEXT[begin..begin + end]
}

/// The group with another word in the description of one volume.
fn edited(name: &str, from: &str, to: &str) -> VolumeGroup {
    let old = volume(name);
    let new = old.replacen(from, to, 1);
    assert_ne!(old, new, "{name} has {from}");
    read(&TEXT.replace(old, &new))
}

/// Whether the volume is the same in an edited version.
fn stays(name: &str, version: &VolumeGroup) -> bool {
    let golden = read(TEXT);
    let uuid = golden.lv(golden.lv_by_name(name).expect("is there")).uuid;
    let same = Version::of(&golden).has_same(&uuid, &Version::of(version));
    same.expect("is there")
}

/// What is not served differs always; all else is the same where only the numbers of volumes
/// changed.
#[test]
fn numbers_of_volumes_do_not_matter() {
    let without = read(&TEXT.replace(volume("linear1"), ""));
    for name in ["linear2", "stripe3", "mirror2", "mirror2_mlog", "raid5"] {
        assert!(stays(name, &without), "{name}");
    }
    assert!(!stays("thin1", &read(TEXT)), "nobody knows");
}

/// Another place, another size, another order below a volume make it another one.
#[test]
fn other_places_are_seen() {
    let moved = edited("linear1", "\"pv0\", 0", "\"pv0\", 1");
    assert!(!stays("linear1", &moved));
    assert!(stays("linear2", &moved));
    let moved = edited("mirror2_mimage_1", "\"pv1\"", "\"pv2\"");
    assert!(!stays("mirror2", &moved), "it stands on it");
    let finer = edited("mirror2", "region_size = 4096", "region_size = 8192");
    assert!(!stays("mirror2", &finer));
    let moved = "mirror_count = 2\nextents_moved = 1";
    let moved = edited("mirror2", "mirror_count = 2", moved);
    assert!(!stays("mirror2", &moved), "its bytes are somewhere else");
}

/// A mirror is found below what stands on it, and nowhere else.
#[test]
fn mirrors_are_found() {
    let golden = read(TEXT);
    let version = Version::of(&golden);
    let has = |name: &str| version.has_state(golden.lv_by_name(name).expect("is there"));
    assert!(has("mirror2"));
    assert!(!has("mirror2_mimage_0"));
    assert!(!has("linear1"));
}

/// Images with checksums stay what they are with their data, their checksums and how these are
/// kept: what else the group becomes does not stop them.
#[test]
fn checksums_are_compared() {
    const TEXT: &str = include_str!("../../../../../tests/fixtures/texts/vgx-raw.txt");
    let old = read(TEXT);
    let stays = |text: &str| {
        let new = read(text);
        let uuid = old.lv(old.lv_by_name("ri").expect("is there")).uuid;
        let same = Version::of(&old).has_same(&uuid, &Version::of(&new));
        same.expect("is there")
    };
    assert!(stays(&TEXT.replace("\nz {", "\nother {")));
    let origin = "origin = \"ri_rimage_0_iorig\"";
    let begin = TEXT.find(origin).expect("it has checksums");
    for (from, to) in [
        ("mode = \"J\"", "mode = \"B\""),
        ("block_size = 512", "block_size = 4096"),
        ("ri_rimage_0_imeta", "ri_rimage_1_imeta"),
        ("ri_rimage_0_iorig", "ri_rimage_1_iorig"),
    ] {
        let changed = TEXT[begin..].replacen(from, to, 1);
        assert_ne!(changed, TEXT[begin..], "{from}");
        assert!(!stays(&format!("{}{changed}", &TEXT[..begin])), "{from}");
    }
}

/// Whoever has an array at work is told that an image is to be filled, or set aside, or that its
/// disk is back; that one is filled, or its disk away, it knows.
#[test]
fn what_becomes_of_images_is_seen() {
    let golden = read(TEXT);
    let is_told = |from: &VolumeGroup, to: &VolumeGroup| {
        let uuid = golden
            .lv(golden.lv_by_name("raid5").expect("is there"))
            .uuid;
        let same = Version::of(from).has_same(&uuid, &Version::of(to));
        !same.expect("is there")
    };
    let filled = edited("raid5_rimage_0", "\"READ\"", "\"READ\", \"REBUILD\"");
    assert!(is_told(&golden, &filled));
    assert!(!is_told(&filled, &golden));
    let aside = "status = [\"READ\", \"VISIBLE\"]";
    let aside = edited("raid5_rimage_0", "status = [\"READ\", \"WRITE\"]", aside);
    assert!(is_told(&golden, &aside) && is_told(&aside, &golden));
    let disk = "[\"ALLOCATABLE\"]\nflags = [";
    let away = TEXT.replacen(disk, &format!("{disk}\"MISSING\""), 1);
    assert_ne!(away, TEXT);
    let away = read(&away);
    assert!(is_told(&away, &golden));
    assert!(!is_told(&golden, &away));
}
