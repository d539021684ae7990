//! Texts that stock wrote come back byte for byte.

use crate::model::{VolumeGroup, from_text, read_header_comments, to_text};
use crate::text::{Style, parse};

/// The text that stock wrote last on the golden disks.
const RAW: &str = include_str!("../../../../../tests/fixtures/texts/vg0-44.txt");
/// A backup file of the same group, with its machine's traces taken out.
const BACKUP: &str = include_str!("../../../../../tests/fixtures/golden/vg0.vgcfg");

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
