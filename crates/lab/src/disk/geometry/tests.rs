//! The map against a plain walk over all slots.

use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};

use super::{Geometry, Layout, Serpentine, Sparing, Zone};
use crate::disk::rotation::CIRCLE;
use crate::error::Kind;

/// The slot of every block, by the plainest walk: slot after slot, range after range.
fn oracle(layout: &Layout, zone: &Zone) -> Vec<u64> {
    let track = u64::from(zone.per_track);
    let cylinder = track * u64::from(layout.heads);
    let cylinders = u64::from(zone.last_cylinder - zone.first_cylinder + 1);
    let slots = cylinder * cylinders;
    let slips = |slot: u64| match layout.sparing {
        Sparing::None => false,
        Sparing::Tracks => zone.slips.contains(&(slot / track)),
        _ => zone.slips.contains(&slot),
    };
    let slipped = zone.slips.len() as u64;
    let (range, total) = match layout.sparing {
        Sparing::None => (slots, slots),
        Sparing::Tracks => (slots, slots - zone.spares * track),
        Sparing::SectorsPerTrack => (track, slots - zone.spares * slots / track),
        Sparing::SectorsPerCylinder | Sparing::SectorsAtFront => {
            (cylinder, slots - zone.spares * cylinders)
        }
        Sparing::SectorsPerCylinderSlipToEnd | Sparing::SectorsAtFrontSlipToEnd => {
            (cylinder, slots - zone.spares * cylinders - slipped)
        }
        Sparing::SectorsAtEnd => (slots, slots - slipped),
        Sparing::SectorsPerRange { cylinders: n } => {
            let whole = cylinders / u64::from(n);
            (cylinder * u64::from(n), slots - zone.spares * whole)
        }
        Sparing::SectorsPerZone => (slots, slots - zone.spares),
        Sparing::SectorsPerZoneSlipToEnd => (slots, slots - zone.spares - slipped),
    };
    let front = matches!(
        layout.sparing,
        Sparing::SectorsAtFront | Sparing::SectorsAtFrontSlipToEnd
    );
    let to_end = matches!(
        layout.sparing,
        Sparing::SectorsPerCylinderSlipToEnd | Sparing::SectorsAtFrontSlipToEnd
    );
    let mut all = Vec::new();
    for start in (0..slots).step_by(range as usize) {
        let end = slots.min(start + range);
        let mut places: Vec<u64> = (start..end).collect();
        if front {
            places.drain(..zone.spares as usize);
        } else if to_end {
            places.truncate(places.len() - zone.spares as usize);
        }
        places.retain(|&slot| !slips(slot));
        if !to_end && !front && range < slots && end < slots {
            places.truncate((end - start - zone.spares) as usize);
        }
        all.extend(places);
    }
    let mut all: Vec<u64> = all.into_iter().skip(zone.empty_front as usize).collect();
    all.truncate((total - zone.empty_front) as usize);
    for slot in &mut all {
        if let Some(&(_, to)) = zone.remapped.iter().find(|(from, _)| from == slot) {
            *slot = to;
        }
    }
    all
}

fn slot_of(geometry: &Geometry, layout: &Layout, block: u64) -> (usize, u64) {
    let place = geometry.locate(block);
    let number = layout
        .zones
        .iter()
        .position(|zone| (zone.first_cylinder..=zone.last_cylinder).contains(&place.cylinder))
        .expect("a place lies in a zone");
    let zone = &layout.zones[number];
    let inside = place.cylinder - zone.first_cylinder;
    let reversed = match layout.serpentine {
        Serpentine::No => false,
        Serpentine::WithinZone => inside % 2 == 1,
        Serpentine::WholeDisk => place.cylinder % 2 == 1,
    };
    let order = if reversed {
        layout.heads - 1 - place.head
    } else {
        place.head
    };
    let track = u64::from(inside) * u64::from(layout.heads) + u64::from(order);
    (
        number,
        track * u64::from(zone.per_track) + u64::from(place.sector),
    )
}

fn check_against_oracle(layout: &Layout) {
    let geometry = layout.clone().build().expect("the layout is possible");
    geometry.check();
    let mut block = 0;
    for (number, zone) in layout.zones.iter().enumerate() {
        for slot in oracle(layout, zone) {
            assert_eq!(
                slot_of(&geometry, layout, block),
                (number, slot),
                "block {block}"
            );
            let place = geometry.locate(block);
            assert_eq!(
                geometry.block_at(place.cylinder, place.head, place.sector),
                Some(block),
                "and back"
            );
            block += 1;
        }
    }
    assert_eq!(
        geometry.blocks(),
        block,
        "no more blocks than the zones hold"
    );
}

fn schemes() -> impl Strategy<Value = Sparing> {
    prop_oneof![
        Just(Sparing::None),
        Just(Sparing::Tracks),
        Just(Sparing::SectorsPerCylinder),
        Just(Sparing::SectorsPerTrack),
        Just(Sparing::SectorsPerCylinderSlipToEnd),
        Just(Sparing::SectorsAtFrontSlipToEnd),
        Just(Sparing::SectorsAtEnd),
        (1_u32..4).prop_map(|cylinders| Sparing::SectorsPerRange { cylinders }),
        Just(Sparing::SectorsPerZone),
        Just(Sparing::SectorsPerZoneSlipToEnd),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every block of random layouts lies where a plain walk over the slots puts it.
    #[test]
    fn blocks_lie_where_a_plain_walk_finds_them(
        sparing in schemes(),
        heads in 1_u32..4,
        widths in proptest::collection::vec((1_u32..7, 8_u32..20), 1..4),
        slips in proptest::collection::btree_set(0_u64..40, 0..2),
        spares in 2_u64..4,
        empty in 0_u64..5,
        turned in 0_usize..3,
    ) {
        let mut next = 0;
        let zones: Vec<Zone> = widths
            .iter()
            .map(|&(cylinders, per_track)| {
                let first = next;
                next += cylinders;
                let tracks = sparing == Sparing::Tracks;
                let unit = if tracks { 1 } else { u64::from(per_track) };
                let slots = u64::from(cylinders * heads) * unit;
                let room = !tracks || slots > 4;
                Zone {
                    first_cylinder: first,
                    last_cylinder: next - 1,
                    per_track,
                    empty_front: if room { empty } else { 0 },
                    spares: if room { spares } else { 0 },
                    slips: slips.iter().copied().filter(|&slip| room && slip < slots).collect(),
                    ..Zone::default()
                }
            })
            .collect();
        let serpentine =
            [Serpentine::No, Serpentine::WithinZone, Serpentine::WholeDisk][turned];
        check_against_oracle(&Layout { heads, cylinders: next, zones, sparing, serpentine });
    }
}

fn two_zones() -> Layout {
    let zone = |first_cylinder, last_cylinder, per_track| Zone {
        first_cylinder,
        last_cylinder,
        per_track,
        track_skew_millisectors: 2_500,
        cylinder_skew_millisectors: 4_000,
        ..Zone::default()
    };
    Layout {
        heads: 2,
        cylinders: 5,
        zones: vec![zone(0, 2, 20), zone(3, 4, 10)],
        ..Layout::default()
    }
}

/// Skews add up track by track: closed form.
#[test]
fn the_first_sector_of_each_track_is_skewed() {
    let geometry = two_zones().build().unwrap();
    let sector = |block| geometry.locate(block).angle.units();
    assert_eq!(sector(0), 0);
    assert_eq!(
        sector(20),
        CIRCLE * 25 / 200,
        "the second head is 2.5 sectors on"
    );
    assert_eq!(
        sector(40),
        CIRCLE * 65 / 200,
        "the second cylinder 4 sectors more"
    );
    assert_eq!(
        sector(41),
        CIRCLE * 75 / 200,
        "and its second sector one more"
    );
    assert_eq!(sector(120), 0, "a zone begins anew");
}

/// A track's bounds hold all of its blocks and no others.
#[test]
fn tracks_have_bounds() {
    let mut layout = two_zones();
    layout.sparing = Sparing::SectorsPerZone;
    layout.zones[0].slips = vec![25];
    layout.zones[0].spares = 3;
    let geometry = layout.build().unwrap();
    assert_eq!(geometry.track_of(0), (0, 20));
    assert_eq!(geometry.track_of(20), (20, 39), "one sector is slipped");
    assert_eq!(geometry.track_of(38), (20, 39));
    assert_eq!(geometry.track_of(39), (39, 59));
    assert_eq!(geometry.track_of(116), (99, 117), "spares end the zone");
    assert_eq!(geometry.track_of(117), (117, 127));
}

/// A remapped sector is found where its spare is, and its old place holds nothing.
#[test]
fn remapped_sectors_move() {
    let mut layout = two_zones();
    layout.sparing = Sparing::SectorsPerZone;
    layout.zones[0].spares = 5;
    layout.zones[0].remapped = vec![(7, 118)];
    let geometry = layout.clone().build().unwrap();
    assert_eq!(geometry.locate(7).cylinder, 2);
    assert_eq!(geometry.block_at(0, 0, 7), None);
    assert_eq!(geometry.locate(6).run, 1, "no run over the gap");
    check_against_oracle(&layout);
}

/// Layouts that no disk can have are refused, not built.
#[test]
fn impossible_layouts_are_refused() {
    let mut overlap = two_zones();
    overlap.zones[1].first_cylinder = 2;
    let mut empty = two_zones();
    empty.zones[0].per_track = 0;
    let mut spared = two_zones();
    spared.sparing = Sparing::SectorsPerTrack;
    spared.zones[0].spares = 21;
    let mut beyond = two_zones();
    beyond.cylinders = 4;
    for layout in [overlap, empty, spared, beyond, Layout::default()] {
        assert_eq!(layout.build().unwrap_err().kind(), Kind::Impossible);
    }
}
