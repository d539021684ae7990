//! Stripes and spans beside drawn ones, and beside a list of all chunks.

use proptest::prelude::{Just, prop_assert_eq, prop_oneof, proptest};

use super::{Spans, ZoneOrder, Zones};
use crate::raid::geometry::Spot;

const CHUNK: u64 = 1024;

/// What each leg holds: the number of each of its chunks.
fn drawn(sizes: &[u64], order: ZoneOrder) -> Vec<String> {
    let sizes: Vec<u64> = sizes.iter().map(|chunks| chunks * CHUNK + 512).collect();
    let zones = Zones::new(&sizes, CHUNK, Some(order)).unwrap();
    let mut legs = vec![Vec::new(); sizes.len()];
    for chunk in 0..zones.size() / CHUNK {
        let spot = zones.spot(chunk * CHUNK);
        legs[spot.leg].push((spot.start / CHUNK, chunk));
    }
    let draw = |mut leg: Vec<(u64, u64)>| {
        leg.sort_unstable();
        let places = leg.iter().enumerate();
        assert!(
            places
                .into_iter()
                .all(|(place, (row, _))| place as u64 == *row)
        );
        let numbers = leg.iter().map(|(_, chunk)| format!("{chunk:X}"));
        numbers.collect::<Vec<_>>().join(" ")
    };
    legs.into_iter().map(draw).collect()
}

/// Zones are where the essay draws them, and before 3.14 the array's chunk chose the leg.
#[test]
fn zones_are_where_they_are_drawn() {
    let sizes = [3, 5, 6];
    let alternate = ["0 3 6", "1 4 7 9 B", "2 5 8 A C D"];
    assert_eq!(drawn(&sizes, ZoneOrder::Alternate), alternate);
    let original = ["0 3 6", "1 4 7 A C", "2 5 8 9 B D"];
    assert_eq!(drawn(&sizes, ZoneOrder::Original), original);
    for order in [ZoneOrder::Original, ZoneOrder::Alternate] {
        assert_eq!(drawn(&[2, 2], order), ["0 2", "1 3"]);
    }
}

/// Without an order legs of one size are served, and others are not.
#[test]
fn an_order_is_needed_where_it_matters() {
    assert!(Zones::new(&[8192, 8192 + 512], CHUNK, None).is_ok());
    let error = Zones::new(&[8192, 16384], CHUNK, None).expect_err("nobody said");
    assert!(error.to_string().contains("layout-original"), "{error}");
    assert_eq!(ZoneOrder::from_md(0), None);
    assert_eq!(ZoneOrder::from_md(2), Some(ZoneOrder::Alternate));
}

/// Stripes and spans that cannot be are refused.
#[test]
fn impossible_arrays_are_refused() {
    for (sizes, chunk) in [
        (&[][..], CHUNK),
        (&[4096; 65], CHUNK),
        (&[4096, 4096], 0),
        (&[4096, 4096], 1000),
        (&[4096, 512], CHUNK),
        (&[u64::MAX, u64::MAX], CHUNK),
    ] {
        assert!(Zones::new(sizes, chunk, Some(ZoneOrder::Original)).is_err());
    }
    assert!(Spans::new(&[], 0).is_err());
    assert!(Spans::new(&[u64::MAX, 1], 0).is_err());
}

proptest! {
    /// Each byte is in one place, in the order of legs that a naive walk finds.
    #[test]
    fn zones_are_a_walk(sizes in proptest::collection::vec(1_u64..9, 1..6)) {
        let bytes: Vec<u64> = sizes.iter().map(|chunks| chunks * CHUNK).collect();
        let zones = Zones::new(&bytes, CHUNK, Some(ZoneOrder::Alternate)).unwrap();
        let rows = 0..sizes.iter().copied().max().unwrap_or(0);
        let legs = 0..sizes.len();
        let walk = rows.flat_map(|row| legs.clone().map(move |leg| (row, leg)));
        let walk = walk.filter(|(row, leg)| *row < sizes[*leg]);
        prop_assert_eq!(zones.size(), bytes.iter().sum::<u64>());
        for (chunk, (row, leg)) in walk.enumerate() {
            let offset = chunk as u64 * CHUNK + 7;
            prop_assert_eq!(zones.spot(offset), Spot { leg, start: row * CHUNK + 7 });
            prop_assert_eq!(zones.run(offset), CHUNK - 7);
        }
    }

    /// Zones as stripes say the same as byte by byte, in both orders.
    #[test]
    fn stripes_are_where_their_bytes_are(
        sizes in proptest::collection::vec(1_u64..9, 1..6),
        order in prop_oneof![Just(ZoneOrder::Original), Just(ZoneOrder::Alternate)],
    ) {
        let bytes: Vec<u64> = sizes.iter().map(|chunks| chunks * CHUNK).collect();
        let zones = Zones::new(&bytes, CHUNK, Some(order)).unwrap();
        let mut offset = 0;
        for stripes in zones.stripes() {
            let count = stripes.legs.len() as u64;
            for chunk in 0..stripes.len / CHUNK {
                let start = stripes.leg_start + chunk / count * zones.chunk();
                let leg = stripes.legs[(chunk % count) as usize];
                prop_assert_eq!(zones.spot(offset), Spot { leg, start });
                offset += CHUNK;
            }
        }
        prop_assert_eq!(offset, zones.size());
    }

    /// Spans follow one another.
    #[test]
    fn spans_follow_one_another(sizes in proptest::collection::vec(0_u64..5000, 1..6)) {
        let spans = Spans::new(&sizes, 0).unwrap();
        let bytes = sizes.iter().enumerate().flat_map(|(leg, size)| {
            (0..*size).map(move |start| Spot { leg, start })
        });
        let mut count = 0;
        for (offset, spot) in bytes.enumerate() {
            prop_assert_eq!(spans.spot(offset as u64), spot);
            count += 1;
        }
        prop_assert_eq!(spans.size(), count);
        prop_assert_eq!(spans.lengths().collect::<Vec<_>>(), &sizes[..]);
        let whole: u64 = sizes.iter().map(|size| size - size % CHUNK).sum();
        prop_assert_eq!(Spans::new(&sizes, CHUNK).unwrap().size(), whole);
    }
}
