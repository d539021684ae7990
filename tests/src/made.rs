//! Volume groups that stock LVM2 makes for a test, on machines with and without device-mapper.
//!
//! ```text
//!   Made::volume   group `made`, one linear volume `data` that fills most of one image
//!   Made::many     group `made`, thousands of volumes `v0`, `v1`, … of one extent each
//! ```
//!
//! Volumes are made inactive and without zeroing, which needs no kernel driver. Thousands of them
//! would take hours one at a time; their metadata is restored from one text instead.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::loops::{Access, LoopDevice};
use crate::scratch::Scratch;
use crate::stock::Stock;

/// Size of a piece of metadata that comfortably holds ten thousand volumes.
const METADATA_SIZE: &str = "32m";
/// What one image holds besides its volume: label, metadata area, rest of the last extent.
const OVERHEAD: u64 = 64 << 20;
const EXTENT_KIB: u64 = 64;

/// An image that carries the group `made`.
#[derive(Debug)]
pub struct Made {
    scratch: Option<Scratch>,
    image: PathBuf,
}

impl Made {
    /// An image in `folder` with one linear volume `data` of `size` bytes, a multiple of 64 KiB.
    pub fn volume(folder: &Path, size: u64) -> Self {
        assert_eq!(size % (EXTENT_KIB << 10), 0, "whole extents only");
        let image = folder.join("made.img");
        let file = fs::File::create(&image).and_then(|file| file.set_len(size + OVERHEAD));
        file.unwrap_or_else(|error| panic!("{}: {error}", image.display()));
        let device = LoopDevice::attach(&image, Access::ReadWrite);
        let stock = group(&device);
        let extents = (size / (EXTENT_KIB << 10)).to_string();
        stock
            .without_driver("lvcreate")
            .args([
                "-y", "-an", "-Zn", "-Wn", "-n", "data", "-l", &extents, "made",
            ])
            .succeed();
        Made {
            scratch: None,
            image,
        }
    }

    /// An image with `count` volumes.
    pub fn many(count: usize) -> Self {
        let scratch = Scratch::new("many");
        let extents = count as u64 * (EXTENT_KIB << 10);
        let image = scratch.sparse("made.img", extents + OVERHEAD);
        let device = LoopDevice::attach(&image, Access::ReadWrite);
        let stock = group(&device);
        let file = scratch.join("made.vg");
        stock
            .without_driver("vgcfgbackup")
            .arg("-f")
            .arg(&file)
            .arg("made")
            .succeed();
        let text = fs::read_to_string(&file).expect("the metadata");
        let head = text
            .trim_end()
            .strip_suffix('}')
            .expect("the group is closed last");
        let volumes = (0..count).fold(String::new(), |mut volumes, number| {
            push_volume(&mut volumes, number);
            volumes
        });
        let text = format!("{head}\n\tlogical_volumes {{\n{volumes}\t}}\n}}\n");
        fs::write(&file, text).expect("the metadata can be written");
        stock
            .without_driver("vgcfgrestore")
            .arg("-f")
            .arg(&file)
            .arg("made")
            .succeed();
        fs::remove_file(&file).expect("the metadata can be removed");
        Made {
            scratch: Some(scratch),
            image,
        }
    }

    /// The image.
    pub fn image(&self) -> &Path {
        &self.image
    }

    /// Where on the image the volume `data` begins, in bytes: the group's first extent.
    pub fn data_start(&self) -> u64 {
        let device = LoopDevice::attach(&self.image, Access::ReadOnly);
        let report = Stock::on([&device])
            .without_driver("pvs")
            .args([
                "--noheadings",
                "--nosuffix",
                "--units",
                "b",
                "-o",
                "pe_start",
            ])
            .succeed();
        report.text().trim().parse().expect("a number of bytes")
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if self.scratch.is_none() {
            // The folder is the caller's; only the image is ours.
            let _ = fs::remove_file(&self.image);
        }
    }
}

fn group(device: &LoopDevice) -> Stock {
    let stock = Stock::on([device]);
    let create = stock
        .without_driver("pvcreate")
        .args(["--metadatasize", METADATA_SIZE]);
    create.arg(device.path()).succeed();
    let extent = format!("{EXTENT_KIB}k");
    let create = stock
        .without_driver("vgcreate")
        .args(["-s", &extent, "made"]);
    create.arg(device.path()).succeed();
    stock
}

fn push_volume(text: &mut String, number: usize) {
    let digits = format!("{:032}", number + 1);
    let cuts = [0, 6, 10, 14, 18, 22, 26, 32];
    let parts: Vec<&str> = cuts.windows(2).map(|cut| &digits[cut[0]..cut[1]]).collect();
    let uuid = parts.join("-");
    write!(
        text,
        "v{number} {{\nid = \"{uuid}\"\nstatus = [\"READ\", \"WRITE\", \"VISIBLE\"]\nflags = []\n\
         creation_time = 1700000000\ncreation_host = \"made\"\nsegment_count = 1\n\
         segment1 {{\nstart_extent = 0\nextent_count = 1\ntype = \"striped\"\nstripe_count = 1\n\
         stripes = [\n\"pv0\", {number}\n]\n}}\n}}\n"
    )
    .expect("a string takes all");
}
