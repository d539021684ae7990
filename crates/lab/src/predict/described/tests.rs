//! Descriptions as questions.

use crate::layout::parse;
use crate::predict::samples::random;
use crate::predict::subject::{Above, Load, Shape, Volume};
use crate::predict::{Uncertainty, explain};

const DISKS: &str = "[disk.c]\ncap = { iops = 600, size = \"100G\" }\n";

fn described(layout: &str) -> crate::error::Result<(Volume, Above)> {
    let text = format!("{DISKS}[layout.x]\n{layout}");
    Volume::described(&parse("t.toml", &text)?[0], 1)
}

fn load(volume: &Volume) -> Load {
    Load {
        blocks: 32,
        grain: 32,
        ..random(volume, 640)
    }
}

/// Six disks of 600 operations a second with 640 outstanding: nearly six times one of them if
/// striped, one of them if the data lies at the begin of a linear volume.
#[test]
fn six_capped_disks() {
    let text =
        "disks = \"c*6\"\nvolume = [{ striped = \"0..5\", chunk = \"64K\", size = \"48G\" }]\n";
    let (volume, above) = described(text).unwrap();
    assert_eq!(volume.shape, Shape::Striped { chunk: 128 });
    let uncertainty = Uncertainty::default();
    let told = explain(&volume, &above, &load(&volume), &uncertainty).unwrap();
    assert!((3400.0..3601.0).contains(&told.per_second.value), "{told}");
    let text = "disks = \"c*6\"\nvolume = [{ linear = \"0..5\", size = \"48G\" }]\n\
                mapping_ns = 20\nloops = [{ request_us = 6.2 }]\n";
    let (volume, above) = described(text).unwrap();
    assert_eq!((above.mapping_ns, above.loops.len()), (20, 1));
    let mut load = load(&volume);
    load.region_blocks = 10 << 20;
    let told = explain(&volume, &above, &load, &uncertainty).unwrap();
    assert!((590.0..610.0).contains(&told.per_second.value), "{told}");
}

/// What no formula is there for is refused by name.
#[test]
fn mixed_segments_are_refused() {
    let text = "disks = \"c*2\"\nvolume = [\n\
                { striped = \"0..1\", chunk = \"64K\", size = \"2G\" },\n\
                { linear = \"0+2G\", size = \"4G\" }]\n";
    let error = described(text).unwrap_err().to_string();
    assert!(error.contains("segments of several kinds"), "{error}");
}
