//! Volumes of the golden disks, read and refused.

use std::collections::HashMap;
use std::fmt::Write;

use block::{Device, Holes, Piece, Range, read_stream};
use dm::volume::Access;
use sha2::{Digest, Sha256};

use super::{Activated, Activator, MissingPolicy, Options};
use crate::host::Host;
use crate::scan::Scan;
use crate::tests::fixture::{Folder, golden_path};
use crate::{Kind, Result};

pub(super) fn activate(scan: &Scan, name: &str, options: Options) -> Result<Activated> {
    let host = Host::without_config();
    let (group, lv) = scan.find_volume(name).expect("is there");
    Activator::new(scan, &host).activate(group, lv, options)
}

pub(crate) fn checksum(device: &dyn Device) -> block::Result<String> {
    let mut hash = Sha256::new();
    let range = Range::new(0, device.info().size);
    read_stream(device, range, Holes::Read, |_, piece| {
        match piece {
            Piece::Data(bytes) => hash.update(bytes),
            Piece::Zeroes(len) => hash.update(vec![0; len as usize]),
        }
        Ok::<(), block::Error>(())
    })?;
    Ok(hash
        .finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
}

/// Name, checksum and size of each golden volume.
pub(super) fn manifest() -> HashMap<String, (String, u64)> {
    let text = std::fs::read_to_string(golden_path("manifest.txt")).expect("is there");
    let line = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let (sum, size) = (words.next()?, words.next()?.parse().ok()?);
        Some((words.next()?, (sum, size)))
    };
    text.lines().filter_map(line).collect()
}

/// What is served has the content that the kernel showed, and the rest is refused by name.
#[test]
fn golden_volumes_have_the_kernels_content() {
    let folder = Folder::golden_whole();
    let scan = folder.scan();
    let mut served = Vec::new();
    for (name, (sum, size)) in manifest() {
        match activate(&scan, &format!("vg0/{name}"), Options::default()) {
            Ok(active) => {
                assert_eq!(active.volume.info().size, size, "{name}");
                assert_eq!(checksum(&active.volume).expect("reads"), sum, "{name}");
                served.push(name);
            }
            Err(error) => {
                assert_eq!(error.kind(), Kind::Unsupported, "{error}");
                assert!(
                    error.to_string().contains("which is not served yet"),
                    "{error}"
                );
            }
        }
    }
    served.sort();
    assert_eq!(
        served,
        [
            "ext4", "linear1", "linear2", "mirror2", "origin", "raid0", "raid1", "raid10",
            "raid1x3", "raid4", "raid5", "raid5_la", "raid5_ra", "raid5_rs", "raid6", "snap1",
            "snap2", "stripe2x", "stripe3"
        ]
    );
    for (name, kind) in [("thin1", "thin"), ("thin1s", "thin")] {
        let error = activate(&scan, &format!("vg0/{name}"), Options::default()).expect_err(name);
        let expected = format!("vg0/{name} has the type {kind}, which is not served yet");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

/// A volume needs only the disks that it stands on, and says which one is missing.
#[test]
fn a_missing_disk_matters_only_where_it_is_needed() {
    let folder = Folder::golden();
    let whole = folder.scan();
    let needs = |scan: &Scan, name: &str| activate(scan, name, Options::default());
    let (mut refused, mut served) = (0, 0);
    for disk in 0..5 {
        let folder = Folder::golden();
        folder.remove(&format!("a{disk}.img"));
        let scan = folder.scan();
        for name in ["vg0/linear1", "vg0/linear2", "vg0/stripe3", "vg0/ext4"] {
            needs(&whole, name).expect("all disks are there");
            match needs(&scan, name) {
                Ok(_) => served += 1,
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.kind(), Kind::Missing);
                    let text = error.to_string();
                    assert!(text.starts_with(&format!("{name} needs PV ")), "{text}");
                    assert!(text.contains("--activationmode partial"), "{text}");
                    let partial = Options {
                        missing: MissingPolicy::Partial,
                        ..Options::default()
                    };
                    let active = activate(&scan, name, partial).expect("partial serves");
                    assert_eq!(active.gaps.len(), 1);
                    assert!(checksum(&active.volume).is_err(), "the gap cannot be read");
                }
            }
        }
    }
    assert!(
        refused >= 4 && served >= 4,
        "{refused} refused, {served} served"
    );
}

/// What lies behind the end of a truncated image is missing like a missing disk.
#[test]
fn a_truncated_disk_ends_where_it_ends() {
    let folder = Folder::golden();
    let file = std::fs::File::options()
        .write(true)
        .open(folder.path("a0.img"))
        .expect("opens");
    file.set_len(3 << 20).expect("shrinks");
    let error = activate(&folder.scan(), "vg0/linear1", Options::default()).expect_err("is cut");
    assert!(error.to_string().contains("needs the end of"), "{error}");
    assert_eq!(error.kind(), Kind::Missing);
}

/// Writing is refused where somebody else may write, with the reason.
#[test]
fn writing_is_refused_with_a_reason() {
    let write = Options {
        access: Access::ReadWrite,
        ..Options::default()
    };
    let cases = [
        (
            "flags = []",
            "flags = []\nsystem_id = \"other\"",
            "system ID other",
        ),
        (
            "flags = []",
            "flags = []\nlock_type = \"dlm\"",
            "shared by several hosts through dlm",
        ),
        ("\"RESIZEABLE\"", "\"RESIZEABLE\", \"EXPORTED\"", "exported"),
    ];
    for (from, to, reason) in cases {
        let folder = Folder::golden();
        for number in 0..5 {
            folder.rewrite(&format!("a{number}.img"), |text| text.replacen(from, to, 1));
        }
        let scan = folder.scan();
        let error = activate(&scan, "vg0/linear1", write).expect_err("is refused");
        assert_eq!(error.kind(), Kind::Refused);
        assert!(error.to_string().contains(reason), "{error}");
        activate(&scan, "vg0/linear1", Options::default()).expect("can be read");
    }
    let folder = Folder::golden();
    let scan = folder.scan();
    let error = activate(&scan, "vg0/raid1_rimage_0", write).expect_err("is a part");
    assert!(
        error.to_string().contains("part of another volume"),
        "{error}"
    );
    activate(&scan, "vg0/linear1", write).expect("is allowed");
}

/// Volumes that stand on themselves are refused.
#[test]
fn a_loop_of_volumes_is_refused() {
    let folder = Folder::golden();
    for number in 0..5 {
        folder.rewrite(&format!("a{number}.img"), |text| {
            let at = text.find("linear1 {").expect("is there");
            let (head, tail) = text.split_at(at);
            let stripes = tail.find("stripes = [\n").expect("is there");
            let end = stripes + tail[stripes..].find(']').expect("ends");
            format!(
                "{head}{}stripes = [\n\"linear1\", 0\n{}",
                &tail[..stripes],
                &tail[end..]
            )
        });
    }
    let scan = folder.scan();
    let error = activate(&scan, "vg0/linear1", Options::default()).expect_err("is a loop");
    assert!(error.to_string().contains("it stands on itself"), "{error}");
    activate(&scan, "vg0/linear2", Options::default()).expect("the others are healthy");
}
