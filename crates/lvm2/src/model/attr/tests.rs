//! Letters, words, sizes and areas against what stock's `lvs` says of the same texts.

use super::lv_attr;
use crate::model::samples;
use crate::model::{Area, LogicalVolume, Relations, VolumeGroup, lv_layout, lv_roles};

const GOLDEN: &str = include_str!("../../../../../tests/fixtures/texts/vg0-44-lvs.txt");
const EVERY_TYPE: &str = include_str!("../../../../../tests/fixtures/texts/vgx-lvs.txt");

/// A line of stock's for each segment: name, letters, size in sectors, areas.
fn assert_as_stock(vg: &VolumeGroup, table: &str) {
    let relations = Relations::of(vg);
    let mut seen = Vec::new();
    for line in table.lines().skip(1) {
        let fields: Vec<_> = line.split('|').collect();
        let name = fields[0].trim_matches(['[', ']']);
        let id = vg
            .lv_by_name(name)
            .unwrap_or_else(|| panic!("{name} is not there"));
        let letters: String = lv_attr(vg, &relations, id).iter().collect();
        assert_eq!(known(&letters), known(fields[1]), "{name}");
        assert_eq!(lv_layout(vg, &relations, id).join(","), fields[2], "{name}");
        assert_eq!(lv_roles(vg, &relations, id).join(","), fields[3], "{name}");
        let lv = vg.lv(id);
        let size = lv.size(vg.extent_size).expect("it is small");
        assert_eq!(size.0.to_string(), fields[5], "{name}");
        assert_eq!(
            relations.is_visible(vg, id),
            !fields[0].starts_with('['),
            "{name}"
        );
        let segment = seen.iter().filter(|seen| *seen == name).count();
        assert_eq!(ranges(vg, lv, segment), fields[6], "{name}");
        seen.push(name.to_owned());
    }
    assert!(seen.len() > 40);
}

/// The letters that a text alone can say: the others are `X` where stock has no device-mapper.
fn known(letters: &str) -> String {
    let letters = letters.char_indices();
    letters
        .map(|(index, letter)| {
            if matches!(index, 4 | 5 | 8) {
                '.'
            } else {
                letter
            }
        })
        .collect()
}

fn ranges(vg: &VolumeGroup, lv: &LogicalVolume, segment: usize) -> String {
    let ranges = lv.segments[segment]
        .reported_areas(vg)
        .into_iter()
        .map(|(area, length)| {
            let (name, start) = match area {
                Area::Pv { pv, start } => (vg.pv(pv).key.as_str(), start.0),
                Area::Lv { lv, start } => (vg.lv(lv).name(), start.0),
            };
            format!("{name}:{start}-{}", start + length.0 - 1)
        });
    ranges.collect::<Vec<_>>().join(" ")
}

#[test]
fn golden_volumes_as_stock_reports_them() {
    // Proves: what the disks of stock's making hold is reported as stock does.
    assert_as_stock(&samples::golden(), GOLDEN);
}

#[test]
fn every_type_as_stock_reports_it() {
    // Proves: the same for every segment type, caches and moves and reshapes too.
    assert_as_stock(&samples::every_type(), EVERY_TYPE);
}
