//! Tests: what people write is what is taken from.

use super::{FreeSpace, Places};
use crate::model::samples::{linear, read, text};
use crate::model::{ExtentRange, PvId, VolumeGroup};
use crate::{Extents, Kind};

fn find(vg: &VolumeGroup) -> impl Fn(&str) -> Option<PvId> {
    let known: Vec<(String, PvId)> = vg
        .pvs()
        .map(|(id, pv)| (pv.device.clone().unwrap_or_default(), id))
        .collect();
    move |name| {
        let found = known.iter().find(|(device, _)| device == name);
        found.map(|(_, id)| *id)
    }
}

fn shown(vg: &VolumeGroup, arguments: &[&str]) -> String {
    let places = Places::parse(vg, arguments, find(vg)).expect("they are places");
    let parts = places.iter().map(|place| {
        let ranges = place
            .ranges
            .iter()
            .map(|range| format!("{}+{}", range.start.0, range.length.0));
        format!(
            "{}:{}",
            place.pv.index(),
            ranges.collect::<Vec<_>>().join(",")
        )
    });
    parts.collect::<Vec<_>>().join(" ")
}

#[test]
fn places_are_understood() {
    // Proves: ranges, tags, repeated names, and names with colons.
    let mut vg = read(&text(&[]));
    let ids: Vec<PvId> = vg.pvs().map(|(id, _)| id).collect();
    vg.pv_mut(ids[2]).tags.push("fast".to_owned());
    vg.pv_mut(ids[1]).device = Some("/dev/disk/by-path/pci-0:1".to_owned());
    assert_eq!(shown(&vg, &[]), "0:0+100 1:0+100 2:0+100");
    assert_eq!(shown(&vg, &["/dev/sd2"]), "2:0+100");
    assert_eq!(shown(&vg, &["/dev/sd0:90-:0-9:15"]), "0:0+10,15+1,90+10");
    assert_eq!(shown(&vg, &["/dev/sd0:3+4", "/dev/sd0:7"]), "0:3+5");
    assert_eq!(shown(&vg, &["@fast:10-19"]), "2:10+10");
    assert_eq!(shown(&vg, &["/dev/disk/by-path/pci-0:1"]), "1:0+100");
    assert_eq!(shown(&vg, &["/dev/disk/by-path/pci-0:1:2-3"]), "1:2+2");
}

#[test]
fn wrong_places_are_refused() {
    // Proves: stock's sentences for what does not exist.
    let vg = read(&text(&[]));
    let refusal = |argument: &str| {
        let error = Places::parse(&vg, &[argument], find(&vg)).expect_err("it is refused");
        assert_eq!(error.kind, Kind::Request);
        error.context
    };
    assert_eq!(
        refusal("/dev/sd9"),
        "Physical Volume \"/dev/sd9\" not found in Volume Group \"vg\"."
    );
    assert_eq!(
        refusal("/dev/sd0:50-100"),
        "PE range error: start extent 50 to end extent 100."
    );
    assert_eq!(
        refusal("/dev/sd0:20-10"),
        "PE range error: start extent 20 to end extent 10."
    );
    for (range, rest) in [("x", "x"), ("1-x", "x"), ("2x", "x"), ("0-9:x-2", "x-2")] {
        let said = refusal(&format!("/dev/sd0:{range}"));
        assert_eq!(said, format!("Physical extent parsing error at {rest}."));
    }
    assert_eq!(
        refusal("/dev/sd0:0-9:5"),
        "Overlapping PE ranges specified (5-5, 0-9) on /dev/sd0."
    );
}

#[test]
fn of_what_is_full_the_ranges_do_not_matter() {
    // Proves: it is told before what is wrong with a later argument, and refuses nothing itself.
    let vg = read(&text(&[linear("a", 0, 0, 100)]));
    let places = |words: &[&str]| Places::for_extents(&vg, words, find(&vg));
    let one = places(&["/dev/sd0:999", "/dev/sd0:5", "/dev/sd1:3"]).expect("they are places");
    assert_eq!(one.iter().count(), 2);
    let error = places(&["/dev/sd0:999", "/dev/sd9"]).expect_err("there is no such disk");
    assert_eq!(
        error.context,
        "WARNING: No free extents on physical volume \"/dev/sd0\".\nPhysical Volume \"/dev/sd9\" \
         not found in Volume Group \"vg\"."
    );
    places(&["/dev/sd1:999"]).expect_err("it has no such extent");
}

#[test]
fn free_space_is_what_is_free_there() {
    // Proves: used extents and ranges that were not named are left out; taking splits.
    let vg = read(&text(&[linear("a", 0, 10, 20)]));
    let places = Places::parse(&vg, &["/dev/sd0:0-49"], find(&vg)).expect("a place");
    let mut space = FreeSpace::of(&vg, &places);
    assert_eq!(space.total(), Extents(30));
    let pv = space.places()[0].pv;
    let taken = ExtentRange {
        start: Extents(33),
        length: Extents(2),
    };
    space.take(pv, taken);
    assert_eq!(space.total(), Extents(28));
    assert_eq!(space.run_at(pv, Extents(33)), None);
    let run = space.run_at(pv, Extents(31)).expect("it is left");
    assert_eq!(run.end(), Extents(33));
}
