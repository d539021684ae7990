//! Copies, images and stripes: none comes to a physical volume where another one is.

use super::{Ask, abort, ended};
use crate::model::samples::{hidden_linear, linear, lv, read, text};
use crate::model::{AllocationPolicy, VolumeGroup};
use crate::plan::samples::{done, layout};

/// A mirror with a copy on each of the first two physical volumes and its log on the second.
fn mirrored() -> VolumeGroup {
    let fields = "mirror_count = 2 mirror_log = \"m_mlog\" region_size = 2048 \
                  mirrors = [\"m_mimage_0\", 0, \"m_mimage_1\", 0]";
    read(&text(&[
        lv("m", 4, "mirror", fields),
        hidden_linear("m_mimage_0", 0, 0, 4),
        hidden_linear("m_mimage_1", 1, 0, 4),
        hidden_linear("m_mlog", 1, 4, 1),
    ]))
}

/// A volume of two stripes, with extents on the same physical volumes behind it.
fn striped() -> VolumeGroup {
    let fields = "stripe_count = 2 stripe_size = 128 stripes = [\"pv0\", 0, \"pv1\", 0]";
    read(&text(&[
        lv("s", 12, "striped", fields),
        linear("b", 0, 6, 4),
    ]))
}

/// A RAID with an image on each of the first `images` physical volumes.
fn raid(level: &str, images: usize, fields: &str) -> VolumeGroup {
    let numbers = 0..images;
    let pairs: Vec<String> = numbers
        .clone()
        .map(|number| format!("\"r_rmeta_{number}\", \"r_rimage_{number}\""))
        .collect();
    let fields = format!(
        "device_count = {images} region_size = 2048 {fields} raids = [{}]",
        pairs.join(", ")
    );
    let mut lvs = vec![lv("r", 4, level, &fields)];
    for number in numbers {
        lvs.push(hidden_linear(&format!("r_rmeta_{number}"), number, 0, 1));
        let length = if level == "raid1" { 4 } else { 2 };
        lvs.push(hidden_linear(
            &format!("r_rimage_{number}"),
            number,
            1,
            length,
        ));
    }
    read(&text(&lvs))
}

#[test]
fn a_copy_keeps_away_from_the_other_one() {
    // Proves: a copy comes to where no other is, though another physical volume is nearer, and is
    // refused where there is none; a log moves as it likes; anywhere, all may meet.
    let vg = mirrored();
    let (begun, mover) = Ask::of("pv0", &[]).begun(&vg);
    assert_eq!(layout(&begun)[4], "pvmove0: 0+4 mirror pv0:0 pv2:0");
    assert_eq!(layout(&done(abort(&begun, mover))), layout(&vg));
    assert_eq!(
        layout(&ended(&begun, mover))[1],
        "m_mimage_0: 0+4 linear pv2:0"
    );
    let refused = Ask::of("pv0", &["pv1"]).refusal(&vg);
    assert_eq!(
        refused,
        "Insufficient free space: 4 extents needed, but only 0 available; other copies or stripes \
         are on /dev/sd1\nUnable to allocate mirror extents for vg/pvmove0.\nFailed to convert \
         pvmove LV to mirrored."
    );
    let anywhere = Ask {
        policy: Some(AllocationPolicy::Anywhere),
        ..Ask::of("pv0", &["pv1"])
    };
    let (begun, _) = anywhere.begun(&vg);
    assert_eq!(layout(&begun)[4], "pvmove0: 0+4 mirror pv0:0 pv1:5");
}

#[test]
fn a_log_would_rather_be_alone() {
    // Proves: a log comes to where no copy is, and to one where there is no other place; what
    // moves beside it counts where it comes to.
    let vg = mirrored();
    let (begun, _) = Ask::of("pv1:4", &[]).begun(&vg);
    assert_eq!(layout(&begun)[4], "pvmove0: 0+1 mirror pv1:4 pv2:0");
    let (begun, _) = Ask::of("pv1:4", &["pv0"]).begun(&vg);
    assert_eq!(layout(&begun)[4], "pvmove0: 0+1 mirror pv1:4 pv0:4");
    let (begun, _) = Ask::of("pv1", &[]).begun(&vg);
    assert_eq!(
        layout(&begun)[4..],
        [
            "pvmove0: 0+4 mirror pv1:0 pv2:0",
            "pvmove0: 4+1 mirror pv1:4 pv0:4"
        ]
    );
}

#[test]
fn a_stripe_keeps_away_from_the_others() {
    // Proves: one stripe moves and the other stays; it does not come to the other's physical
    // volume; both are cut where either has a piece, and joined in the end.
    let vg = striped();
    let ask = Ask {
        piece_max: 4,
        ..Ask::of("pv0", &[])
    };
    let (begun, mover) = ask.begun(&vg);
    assert_eq!(
        layout(&begun),
        [
            "s: 0+8 striped pvmove0 pv1:0",
            "s: 8+4 striped pvmove0 pv1:4",
            "b: 0+4 linear pvmove0",
            "pvmove0: 0+4 mirror pv0:0 pv2:0",
            "pvmove0: 4+2 mirror pv0:4 pv2:4",
            "pvmove0: 6+4 mirror pv0:6 pv1:6",
        ]
    );
    assert_eq!(layout(&done(abort(&begun, mover))), layout(&vg));
    assert_eq!(
        layout(&ended(&begun, mover)),
        ["s: 0+12 striped pv2:0 pv1:0", "b: 0+4 linear pv1:6"]
    );
    let refused = Ask::of("pv0:0-5", &["pv1"]).refusal(&vg);
    assert!(
        refused.contains("other copies or stripes are on /dev/sd1\n"),
        "{refused}"
    );
}

#[test]
fn stripes_that_share_their_source_part_where_they_can() {
    // Proves: two stripes on one physical volume come to two, and to one where there is no other;
    // the pieces of both are cut in the same places, as stock demands.
    let fields = "stripe_count = 2 stripe_size = 128 stripes = [\"pv0\", 0, \"pv0\", 50]";
    let vg = read(&text(&[lv("s", 12, "striped", fields)]));
    let (begun, mover) = Ask::of("pv0", &["pv1:0-3:10-11:20-29", "pv2"]).begun(&vg);
    assert_eq!(
        layout(&begun),
        [
            "s: 0+12 striped pvmove0 pvmove0",
            "pvmove0: 0+6 mirror pv0:0 pv1:20",
            "pvmove0: 6+6 mirror pv0:50 pv2:0",
        ]
    );
    assert_eq!(
        layout(&ended(&begun, mover)),
        ["s: 0+12 striped pv1:20 pv2:0"]
    );
    let (begun, mover) = Ask::of("pv0", &["pv1:0-3:10-11:20-29"]).begun(&vg);
    assert_eq!(
        layout(&begun),
        [
            "s: 0+8 striped pvmove0 pvmove0",
            "s: 8+4 striped pvmove0 pvmove0",
            "pvmove0: 0+4 mirror pv0:0 pv1:20",
            "pvmove0: 4+2 mirror pv0:4 pv1:24",
            "pvmove0: 6+4 mirror pv0:50 pv1:0",
            "pvmove0: 10+2 mirror pv0:54 pv1:10",
        ]
    );
    assert_eq!(layout(&done(abort(&begun, mover))), layout(&vg));
}

#[test]
fn images_of_a_raid_keep_apart() {
    // Proves: image and metadata of one leg move together, and never to another leg's place.
    let vg = raid("raid1", 2, "");
    let (begun, mover) = Ask::of("pv0", &[]).begun(&vg);
    assert_eq!(
        layout(&ended(&begun, mover))[1..3],
        [
            "r_rmeta_0: 0+1 linear pv2:0",
            "r_rimage_0: 0+4 linear pv2:1"
        ]
    );
    let refused = Ask::of("pv0", &["pv1"]).refusal(&vg);
    assert!(
        refused.contains("other copies or stripes are on /dev/sd1\n"),
        "{refused}"
    );
    let vg = raid("raid5", 3, "stripe_size = 128");
    let refused = Ask::of("pv0", &[]).refusal(&vg);
    assert!(refused.contains("are on /dev/sd1, /dev/sd2\n"), "{refused}");
}

#[test]
fn parts_of_parts_keep_what_those_above_promise() {
    // Proves: a copy that stands on a volume of its own keeps away from the other copy, and from
    // both ends of a move that the other copy is in.
    let fields =
        "mirror_count = 2 region_size = 2048 mirrors = [\"x_mimage_0\", 0, \"x_mimage_1\", 0]";
    let on = |name: &str| format!("stripe_count = 1 stripes = [\"{name}\", 0]");
    let vg = read(&text(&[
        lv("x", 4, "mirror", fields),
        crate::model::samples::hidden("x_mimage_0", 4, "striped", &on("below")),
        hidden_linear("x_mimage_1", 1, 0, 4),
        hidden_linear("below", 0, 0, 4),
    ]));
    let (begun, _) = Ask::of("pv0", &[]).begun(&vg);
    assert_eq!(layout(&begun)[4], "pvmove0: 0+4 mirror pv0:0 pv2:0");
    let (begun, _) = Ask::of("pv1", &["pv2:0-9"]).begun(&vg);
    let refused = Ask::of("pv0", &["pv1", "pv2"]).refusal(&begun);
    assert!(refused.contains("are on /dev/sd1, /dev/sd2\n"), "{refused}");
}
