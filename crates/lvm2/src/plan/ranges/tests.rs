//! Tests: where bytes lie.

use super::pieces;
use crate::Bytes;
use crate::model::samples::{every_type, hidden_linear, linear, lv, read, text};

#[test]
fn bytes_are_found() {
    // Proves: linear, stripes, mirrors and arrays, against places counted by hand.
    let vg = read(&text(&[
        linear("a", 0, 3, 2),
        lv(
            "s",
            4,
            "striped",
            "stripe_count = 2 stripe_size = 8 stripes = [\"pv1\", 0, \"pv2\", 5]",
        ),
        lv(
            "m",
            2,
            "mirror",
            "mirror_count = 2 region_size = 1024 \
             mirrors = [\"m_mimage_0\", 0, \"m_mimage_1\", 0]",
        ),
        lv(
            "r",
            2,
            "raid5",
            "device_count = 3 region_size = 1024 stripe_size = 8 raids = [\"r_rmeta_0\", \
             \"r_rimage_0\", \"r_rmeta_1\", \"r_rimage_1\", \"r_rmeta_2\", \"r_rimage_2\"]",
        ),
        hidden_linear("r_rimage_0", 0, 31, 1),
        hidden_linear("r_rmeta_0", 0, 30, 1),
        hidden_linear("r_rimage_1", 1, 31, 1),
        hidden_linear("r_rmeta_1", 1, 30, 1),
        hidden_linear("r_rimage_2", 2, 31, 1),
        hidden_linear("r_rmeta_2", 2, 30, 1),
        hidden_linear("m_mimage_0", 0, 10, 2),
        hidden_linear("m_mimage_1", 1, 20, 2),
    ]));
    let places = |name: &str, start: u64, length: u64| {
        let lv = vg.lv_by_name(name).expect("it is there");
        let found = pieces(&vg, lv, Bytes(start), Bytes(length)).expect("it can be found");
        let uuids: Vec<_> = vg.pvs().map(|(_, pv)| pv.uuid).collect();
        let number = |piece: &super::Piece| {
            let pv = uuids
                .iter()
                .position(|uuid| *uuid == piece.pv)
                .expect("it is known");
            (pv, piece.start.0, piece.length.0)
        };
        let mut all: Vec<_> = found.iter().map(number).collect();
        all.sort_unstable();
        all
    };
    let mib = 1 << 20;
    assert_eq!(places("a", 0, 4096), [(0, 4 * mib, 4096)]);
    assert_eq!(places("a", mib - 512, 1024), [(0, 5 * mib - 512, 1024)]);
    assert_eq!(places("s", 0, 4096), [(1, mib, 4096)]);
    assert_eq!(
        places("s", 2048, 8192),
        [(1, mib + 2048, 4096), (2, 6 * mib, 4096)]
    );
    assert_eq!(
        places("s", 0, 4 * mib),
        [(1, mib, 2 * mib), (2, 6 * mib, 2 * mib)]
    );
    assert_eq!(
        places("m", 0, 4096),
        [(0, 11 * mib, 4096), (1, 21 * mib, 4096)]
    );
    // The second row has its parity on image 1, and begins behind that.
    assert_eq!(
        places("r", 4096, 8192),
        [(1, 32 * mib, 4096), (2, 32 * mib + 4096, 4096)]
    );
}

/// What has checksums lies where its data are; its checksums are elsewhere.
#[test]
fn bytes_with_checksums_are_found() {
    let vg = every_type();
    let of = |name: &str| {
        let lv = vg.lv_by_name(name).expect("it is there");
        pieces(&vg, lv, Bytes(8192), Bytes(4096)).expect("it can be found")
    };
    let image = of("ri_rimage_1");
    assert_eq!(image, of("ri_rimage_1_iorig"));
    assert_ne!(image, of("ri_rimage_0_iorig"));
    let (both, other) = (of("ri"), of("ri_rimage_0"));
    assert!(both.contains(&image[0]) && both.contains(&other[0]) && both.len() == 2);
}
