//! Texts that stock wrote come back byte for byte.

use crate::model::{Header, VolumeGroup, from_text, read_header_comments, to_text};
use crate::text::{Style, parse};

/// The text that stock wrote last on the golden disks.
const RAW: &str = include_str!("../../../../../tests/fixtures/texts/vg0-44.txt");
/// A backup file of the same group, with its machine's traces taken out.
const BACKUP: &str = include_str!("../../../../../tests/fixtures/golden/vg0.vgcfg");

/// A group with every segment type, restored by stock from a text of ours and printed by it again:
/// from its metadata area, and by vgcfgbackup.
const EVERY_RAW: &str = include_str!("../../../../../tests/fixtures/texts/vgx-raw.txt");
const EVERY_BACKUP: &str = include_str!("../../../../../tests/fixtures/texts/vgx-backup.txt");

fn read(text: &str) -> VolumeGroup {
    let mut vg = from_text(&parse(text.as_bytes()).expect("it parses")).expect("it is a group");
    read_header_comments(&mut vg.header, text);
    vg
}

fn assert_same(printed: &[u8], text: &str) {
    let printed = String::from_utf8(printed.to_vec()).expect("stock wrote ASCII");
    for (number, (ours, theirs)) in printed.lines().zip(text.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", number + 1);
    }
    assert_eq!(printed, text);
}

#[test]
fn a_raw_text_comes_back() {
    // Proves: what stock wrote into a metadata area is printed byte for byte.
    assert_same(&to_text(&read(RAW), Style::Raw), RAW);
}

#[test]
fn a_backup_file_comes_back() {
    // Proves: the same for vgcfgbackup's layout, with its hints.
    assert_same(&to_text(&read(BACKUP), Style::Backup), BACKUP);
}

#[test]
fn every_segment_type_comes_back() {
    // Proves: both layouts of every type, of unknown ones, and of all the optional keys.
    assert_same(&to_text(&read(EVERY_RAW), Style::Raw), &quoted(EVERY_RAW));
    assert_same(
        &to_text(&read(EVERY_BACKUP), Style::Backup),
        &quoted(EVERY_BACKUP),
    );
}

#[test]
fn layouts_hold_the_same() {
    // Proves: what is read from one layout is what is read from the other.
    let (mut raw, mut backup) = (read(EVERY_RAW), read(EVERY_BACKUP));
    (raw.header, backup.header) = (Header::default(), Header::default());
    assert_eq!(raw, backup);
}

/// The one value that stock writes without its quotes and we write with them.
fn quoted(text: &str) -> String {
    text.replace("write_policy = sync", "write_policy = \"sync\"")
}
