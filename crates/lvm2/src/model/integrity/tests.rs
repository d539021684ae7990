//! What is said of checksums: as stock says it, and refused where it is anything else.

use super::{IntegrityMode, IntegritySettings};
use crate::Sectors;
use crate::model::samples::{every_type, lv, read, text};
use crate::model::{check, has_errors};

/// The segment that stock wrote is read, and nothing is wrong with it.
#[test]
fn what_stock_wrote_is_read() {
    let group = every_type();
    let image = group.lv_by_name("ri_rimage_0").expect("it has checksums");
    let settings = IntegritySettings::of(&group.lv(image).segments[0]).expect("stock wrote it");
    let expected = IntegritySettings {
        data_sectors: Sectors(8192),
        mode: IntegrityMode::Journal,
        block_size: 512,
        allows_discards: false,
        journal_sectors: Some(2048),
    };
    assert_eq!(settings, expected);
    assert!(!has_errors(&check(&group)));
}

/// What is missing or is nothing that LVM2 writes is named, and the group is said to be damaged;
/// which keys there are does not matter else.
#[test]
fn anything_else_is_refused() {
    let fields = "origin = \"o\" data_sectors = 4096 mode = \"B\" tag_size = 4 block_size = 4096 \
                  internal_hash = \"crc32c\" meta_dev = \"m\" allow_discards = 1 commit_time = 9";
    let group = |fields: &str| {
        let plain = |name: &str, at: u32| {
            lv(
                name,
                2,
                "striped",
                &format!("stripe_count = 1 stripes = [\"pv0\", {at}]"),
            )
        };
        let volumes = [
            lv("i", 2, "integrity", fields),
            plain("o", 0),
            plain("m", 2),
        ];
        read(&text(&volumes))
    };
    let said = |fields: &str| {
        let group = group(fields);
        let lv = group.lv_by_name("i").expect("it is there");
        let settings = IntegritySettings::of(&group.lv(lv).segments[0]);
        assert_eq!(settings.is_err(), has_errors(&check(&group)), "{fields}");
        settings.map_err(|error| error.context)
    };
    let settings = said(fields).expect("all is there");
    assert_eq!(
        (settings.block_size, settings.mode),
        (4096, IntegrityMode::Bitmap)
    );
    assert!(settings.allows_discards && settings.journal_sectors.is_none());
    for (old, new, key) in [
        ("\"B\"", "\"D\"", "mode"),
        ("mode = \"B\"", "", "mode"),
        ("tag_size = 4", "tag_size = 32", "tag_size"),
        ("crc32c", "sha256", "internal_hash"),
        ("block_size = 4096", "block_size = 8192", "block_size"),
        ("block_size = 4096", "block_size = 700", "block_size"),
        ("data_sectors = 4096", "", "data_sectors"),
    ] {
        let error = said(&fields.replace(old, new)).expect_err("it is refused");
        assert!(error.starts_with(key), "{error}");
    }
}
