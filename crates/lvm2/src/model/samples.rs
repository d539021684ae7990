//! Groups for tests: those of the golden disks, and small ones written on the spot.

use super::{VolumeGroup, from_text};
use crate::text::parse;

/// Extents of each physical volume of [`text`].
pub(crate) const PE_COUNT: u64 = 100;

/// The group of the golden disks.
pub(crate) fn golden() -> VolumeGroup {
    read(include_str!("../../../../tests/fixtures/texts/vg0-44.txt"))
}

/// A group with a volume of every segment type, an unknown one too.
pub(crate) fn every_type() -> VolumeGroup {
    read(include_str!("../../../../tests/fixtures/texts/vgx-raw.txt"))
}

/// The group of a text that must be readable.
pub(crate) fn read(text: &str) -> VolumeGroup {
    from_text(&parse(text.as_bytes()).expect("it parses")).expect("it is a group")
}

/// Why the text is refused.
pub(crate) fn refusal(text: &str) -> String {
    let tree = parse(text.as_bytes()).expect("it parses");
    from_text(&tree).expect_err("it is refused").to_string()
}

/// A group `vg` of extents of 1 MiB, with three physical volumes and these logical ones.
pub(crate) fn text(lvs: &[String]) -> String {
    let pv = |index: usize| {
        format!(
            "pv{index} {{ id = \"{}\" device = \"/dev/sd{index}\" status = [\"ALLOCATABLE\"] \
             flags = [] dev_size = 210000 pe_start = 2048 pe_count = {PE_COUNT} }}\n",
            uuid("pv", index)
        )
    };
    let pvs: String = (0..3).map(pv).collect();
    format!(
        "vg {{ id = \"{}\" seqno = 1 format = \"lvm2\" status = [\"RESIZEABLE\", \"READ\", \
         \"WRITE\"] flags = [] extent_size = 2048 max_lv = 0 max_pv = 0 metadata_copies = 0\n\
         physical_volumes {{ {pvs} }}\nlogical_volumes {{\n{} }} }}\n",
        uuid("vg", 0),
        lvs.join("\n")
    )
}

/// A visible volume of one segment.
pub(crate) fn lv(name: &str, length: u64, kind: &str, fields: &str) -> String {
    volume(
        name,
        "\"READ\", \"WRITE\", \"VISIBLE\"",
        length,
        kind,
        fields,
    )
}

/// A hidden volume of one segment.
pub(crate) fn hidden(name: &str, length: u64, kind: &str, fields: &str) -> String {
    volume(name, "\"READ\", \"WRITE\"", length, kind, fields)
}

/// A visible linear volume.
pub(crate) fn linear(name: &str, pv: usize, start: u64, length: u64) -> String {
    lv(name, length, "striped", &linear_fields(pv, start))
}

/// A hidden linear volume.
pub(crate) fn hidden_linear(name: &str, pv: usize, start: u64, length: u64) -> String {
    hidden(name, length, "striped", &linear_fields(pv, start))
}

fn linear_fields(pv: usize, start: u64) -> String {
    format!("stripe_count = 1 stripes = [\"pv{pv}\", {start}]")
}

fn volume(name: &str, status: &str, length: u64, kind: &str, fields: &str) -> String {
    format!(
        "{name} {{ id = \"{}\" status = [{status}] flags = [] segment_count = 1\n\
         segment1 {{ start_extent = 0 extent_count = {length} type = \"{kind}\" {fields} }} }}",
        uuid(name, 0)
    )
}

/// A UUID that depends on the name: different ones for different names of up to 26 letters.
fn uuid(name: &str, index: usize) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '0' })
        .collect();
    format!("{name:x>28}{index:04}")
}
