//! What is read, cut and refused.

use super::{Area, Array, Cut, Disk, DiskKind, Layout, Level, METADATA, Order, Segment, parse};
use crate::error::Result;

const DISKS: &str = "[disk.c]\ncap = { iops = 600, size = \"10G\" }\n\
                     [disk.w]\nprofile = \"wd800bd-like\"\nscheduler = \"sptf\"\n";

fn one(layout: &str) -> Result<Layout> {
    let text = format!("{DISKS}[layout.x]\n{layout}");
    parse("t.toml", &text).map(|mut all| all.remove(0))
}

fn refused(layout: &str, wanted: &str) {
    let error = one(layout).expect_err("it is refused").to_string();
    assert!(error.contains(wanted), "{error} says {wanted}");
}

#[test]
fn a_layout_is_read_as_it_stands() {
    // Disks are counted, areas spread, sizes have units.
    let layout = one("disks = [\"c*2\", \"w\"]\nmapping_ns = 20\n\
        volume = [{ striped = \"0..1+1M\", chunk = \"64K\", size = \"2G\" },\n\
        { linear = \"2+1G\", size = \"4G\", pieces = 4, order = \"shuffled\", gap = \"4K\" }]\n\
        loops = [{ request_us = 6.2 }]\nlink = { megabits = 100 }\n")
    .expect("it is sound");
    assert_eq!(layout.disks.len(), 3);
    assert_eq!(layout.size(), 6 << 30);
    assert_eq!(layout.loops[0].request_ns, 6200);
    assert_eq!(layout.link.expect("a link").round_trip_ns, 200_000);
    let areas = [0, 1].map(|disk| Area {
        disk,
        start: 1 << 20,
    });
    let striped = Segment::Striped {
        len: 2 << 30,
        chunk: 65536,
        areas: areas.to_vec(),
    };
    assert_eq!(layout.volume[0], striped);
    let Segment::Linear { cut, .. } = layout.volume[1] else {
        panic!("it is linear");
    };
    let expected = Cut {
        pieces: 4,
        order: Order::Shuffled,
        gap: 4096,
    };
    assert_eq!(cut, Some(expected));
}

#[test]
fn arrays_take_room_for_metadata_data_and_redundancy() {
    // What is said is read, what is not is LVM2's; legs have what their level asks for, and stay
    // on their disks.
    let volume = |text: &str| one(&format!("disks = \"c*5\"\nvolume = [{{ {text} }}]\n"));
    let layout = volume("raid5 = \"0..3+1M\", size = \"3G\", begin = \"192K\"").expect("sound");
    let leg = |disk| Area {
        disk,
        start: 1 << 20,
    };
    let wanted = Array {
        level: Level::Five,
        len: 3 << 30,
        chunk: 64 << 10,
        region: 2 << 20,
        begin: 192 << 10,
        legs: (0..4).map(leg).collect(),
    };
    assert_eq!(layout.volume, [Segment::Raid(wanted)]);
    let bytes = |text: &str| {
        let areas = volume(text).expect("sound").volume[0].areas();
        areas.iter().map(|(_, len)| len - METADATA).sum::<u64>() >> 20
    };
    assert_eq!(bytes("raid1 = \"0..2\", size = \"1G\""), 3 << 10);
    assert_eq!(bytes("raid4 = \"0..4\", size = \"4G\""), 5 << 10);
    assert_eq!(bytes("raid6 = \"0..4\", size = \"3G\""), 5 << 10);
    assert_eq!(bytes("raid10 = \"0..4\", size = \"5G\""), 10 << 10);
    let raid0 = volume("raid0 = \"0..3\", chunk = \"64K\", size = \"1G\"");
    let striped = volume("striped = \"0..3\", chunk = \"64K\", size = \"1G\"");
    assert_eq!(raid0.expect("sound").volume, striped.expect("sound").volume);
    let refused = |text: &str, wanted: &str| {
        let error = volume(text).expect_err("it is refused").to_string();
        assert!(error.contains(wanted), "{error} says {wanted}");
    };
    refused(
        "raid5 = \"0..1\", size = \"1G\"",
        "raid5 on 2 areas; 3 at least",
    );
    refused(
        "raid6 = \"0..3\", size = \"1G\"",
        "raid6 on 4 areas; 5 at least",
    );
    refused("raid5 = \"0..3\", size = \"40G\"", "of disk 0");
    refused(
        "raid5 = \"0..3\", size = \"1G\", region = \"3M\"",
        "regions of",
    );
    refused(
        "raid5 = \"0..3\", size = \"1G\", region = \"4G\"",
        "regions of 4294967296 bytes",
    );
    refused(
        "raid5 = \"0..3\", size = \"8G\", region = \"512\"",
        "regions; at most",
    );
    refused(
        "raid5 = \"0..3\", size = \"1G\", chunk = 100",
        "chunks of 100 bytes",
    );
    refused(
        "raid5 = \"0..3\", size = \"1G\", begin = 100",
        "begins at byte 100",
    );
}

#[test]
fn pieces_are_the_same_for_one_seed_and_cover_everything() {
    // Shuffling moves pieces; it loses none.
    let layout = one(
        "disks = \"c\"\nvolume = [{ linear = \"0\", size = \"4G\", pieces = 64,\n\
        order = \"shuffled\" }]\n",
    )
    .expect("it is sound");
    assert_eq!(layout.segments(1), layout.segments(1));
    assert_ne!(layout.segments(1), layout.segments(2));
    let mut starts: Vec<u64> = layout
        .segments(7)
        .iter()
        .map(|one| one.areas()[0].0.start)
        .collect();
    starts.sort_unstable();
    let expected: Vec<u64> = (0..64).map(|piece| piece << 26).collect();
    assert_eq!(starts, expected);
}

#[test]
fn a_replicate_moves_all_of_a_volume_as_far_as_its_disks_have_room() {
    // The same seed the same way, inside the disk, aligned; a full disk leaves no room.
    let layout = one("disks = \"c*2\"\n\
        volume = [{ striped = \"0..1+1M\", chunk = \"64K\", size = \"2G\" },\n\
        { linear = \"1+9G\", size = \"1020M\" }]")
    .expect("it is sound");
    let mut steps = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let moved = layout.moved(seed).expect("it has room");
        moved.validate().expect("it is inside");
        assert_eq!(moved, layout.moved(seed).expect("it has room"));
        let starts = |of: &Layout| -> Vec<u64> {
            let areas = of.volume.iter().flat_map(Segment::areas);
            areas.map(|(area, _)| area.start).collect()
        };
        let (old, new) = (starts(&layout), starts(&moved));
        let by = new[0] - old[0];
        assert!(by <= 4 << 20 && by.is_multiple_of(4096));
        assert!(old.iter().zip(&new).all(|(old, new)| new - old == by));
        steps.insert(by);
    }
    assert!(steps.len() > 40, "seeds differ");
    let full = one("disks = \"c\"\nvolume = [{ linear = \"0\", size = \"10G\" }]");
    let full = full.expect("it is sound");
    assert_eq!(full.moved(3).expect("it is sound"), full);
}

#[test]
fn what_cannot_be_is_named_with_its_place() {
    // Overlaps, ends, unknown disks and fields.
    refused(
        "disks = \"c\"\nvolume = [{ linear = \"0\", size = \"11G\" }]",
        "disk 0, which has",
    );
    refused(
        "disks = \"c\"\nvolume = [{ linear = \"0\", size = \"2G\" },\n\
         { linear = \"0+1G\", size = \"2G\" }]",
        "segments 0 and 1 overlap",
    );
    refused("disks = \"d\"\n", "t.toml line 7: layout.x.disks: 'd'");
    refused(
        "disks = \"c\"\nvolume = [{ linear = \"1\", size = \"1G\" }]",
        "no disk 1",
    );
    refused("disks = \"c\"\nvolume = [{ round = \"0\" }]", "volume[0]");
    refused(
        "disks = \"c*2\"\nvolume = [{ striped = \"0..1\", size = \"1G\", chunk = 1000 }]",
        "chunks of 1000 bytes",
    );
    refused(
        "disks = \"c\"\nspeed = 3\nvolume = [{ linear = \"0\", size = \"1G\" }]",
        "no such field",
    );
    let four =
        "disks = \"c\"\nvolume = [{ linear = \"0\", size = \"1G\" }]\nloops = [{}, {}, {}, {}]";
    refused(four, "4 loops");
    let error = parse("d.toml", "[disk.a]\nprofile = \"nothing\"\n").expect_err("no such disk");
    assert!(
        error
            .to_string()
            .starts_with("d.toml line 2: disk.a.profile: there is no disk"),
        "{error}"
    );
}

#[test]
fn a_drive_can_be_made_faster_in_one_respect() {
    // More blocks on a track are a larger drive; a faster arm is not.
    let drive = |more: &str| {
        let text = format!(
            "[disk.w]\nprofile = \"wd800bd-like\"\n{more}\n\
             [layout.x]\ndisks = \"w\"\nvolume = [{{ linear = \"0\", size = \"1G\" }}]\n"
        );
        let layout = parse("t.toml", &text).map(|mut all| all.remove(0));
        layout.map(|layout| layout.disks[0].clone())
    };
    let seek_ns = |disk: &Disk| match &disk.kind {
        DiskKind::Drive(profile) => profile.mechanics.seek.time_ns(100, 116_000),
        other => panic!("{other:?} is no drive"),
    };
    let size = |disk: &Disk| disk.size().expect("a possible drive") as f64;
    let plain = drive("").expect("it is sound");
    let medium = drive("media_percent = 125").expect("it is sound");
    assert!((1.24..1.26).contains(&(size(&medium) / size(&plain))));
    assert_eq!(seek_ns(&medium), seek_ns(&plain));
    let arm = drive("seek_percent = 80").expect("it is sound");
    assert_eq!(arm.size().ok(), plain.size().ok());
    assert!(seek_ns(&arm).abs_diff(seek_ns(&plain) * 4 / 5) <= 1);
    let error = drive("seek_percent = 5").expect_err("too fast").to_string();
    assert!(
        error.contains("disk.w.seek_percent: 10 to 1,000"),
        "{error}"
    );
}
