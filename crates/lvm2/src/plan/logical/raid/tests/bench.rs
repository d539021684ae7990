//! A group with room for arrays, and how stock's texts are compared.

use std::collections::BTreeSet;

use crate::model::samples::read;
use crate::model::{
    Area, Flags, LvFlag, LvId, Place, RaidLevel, SegmentType, VolumeGroup, to_text,
};
use crate::plan::change::{Before, Change};
use crate::plan::logical::{NewKind, NewVolume, RaidOptions, create_volume};
use crate::plan::places::Places;
use crate::plan::samples::{by_author, id};
use crate::plan::size::SizeArgument;
use crate::text::Style;
use crate::{Bytes, Result};

/// A group `vg` of eight physical volumes with 63 extents of 1 MiB.
pub(super) fn empty() -> VolumeGroup {
    group(2048, 63)
}

/// The same with extents of so many sectors, and so many of them on each physical volume.
pub(super) fn group(extent_size: u64, extents: u64) -> VolumeGroup {
    let pv = |index: usize| {
        format!(
            "pv{index} {{ id = \"pv{:x>26}{index:04}\" device = \"/dev/vd{index}\" \
             status = [\"ALLOCATABLE\"] flags = [] dev_size = 4194304 pe_start = 2048 \
             pe_count = {extents} }}\n",
            ""
        )
    };
    let pvs: String = (0..8).map(pv).collect();
    read(&format!(
        "vg {{ id = \"vg{:x>30}\" seqno = 1 format = \"lvm2\" status = [\"RESIZEABLE\", \"READ\", \
         \"WRITE\"] flags = [] extent_size = {extent_size} max_lv = 0 max_pv = 0 \
         metadata_copies = 0\nphysical_volumes {{ {pvs} }} }}\n",
        ""
    ))
}

/// An array of a level, with everything as it is where nothing is said.
pub(super) fn options(level: &str) -> RaidOptions {
    RaidOptions::of(RaidLevel::from_name(level).expect("it is a level"))
}

pub(super) fn create(
    vg: &VolumeGroup,
    name: &str,
    size: &str,
    options: RaidOptions,
) -> Result<Change> {
    let new = NewVolume {
        name: Some(name),
        kind: NewKind::Raid(options),
        ..NewVolume::linear(SizeArgument::from_extents(size).expect("it is a size"))
    };
    by_author(|author| create_volume(vg, &new, author))
}

/// The physical volumes with these numbers, in this order.
pub(super) fn places(vg: &VolumeGroup, numbers: &[usize]) -> Places {
    let names: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let find = |name: &str| {
        let number: usize = name.parse().ok()?;
        vg.pvs().map(|(pv, _)| pv).nth(number)
    };
    Places::parse(vg, &names, find).expect("they are there")
}

/// The volumes of a group as `raid-created.txt` has them.
pub(super) fn shown(vg: &VolumeGroup) -> BTreeSet<String> {
    let text = String::from_utf8(to_text(vg, Style::Raw)).expect("it is text");
    let is_part = |name: &str| name.contains("_rimage_") || name.contains("_rmeta_");
    let all = vg.lvs().map(|(id, lv)| {
        if is_part(lv.name()) {
            part(vg, id)
        } else {
            whole(&text, lv.name())
        }
    });
    all.collect()
}

fn part(vg: &VolumeGroup, id: LvId) -> String {
    let lv = vg.lv(id);
    let names = |flags: &Flags<LvFlag>| flags.names(Place::Status).collect::<Vec<_>>().join(" ");
    let mut line = format!("{}: {}", lv.name(), names(&lv.flags));
    if let Some(policy) = lv.allocation {
        line = format!("{line} {}", policy.name());
    }
    for segment in &lv.segments {
        let at = match segment.areas() {
            [Area::Pv { pv, start }] => format!("pv{}:{}", pv.index(), start.0),
            other => format!("{other:?}"),
        };
        line = format!("{line} {}+{}@{at}", segment.start.0, segment.length.0);
    }
    line
}

/// The block of a volume on one line, without what is another each time.
pub(super) fn whole(text: &str, name: &str) -> String {
    let start = text.find(&format!("\n{name} {{\n")).expect("it is written");
    let mut line = String::new();
    let mut depth = 0_i32;
    for row in text[start + 1..].lines() {
        let row = row.split('#').next().unwrap_or("").trim();
        let is_left_out = ["id = ", "creation_"]
            .iter()
            .any(|one| row.starts_with(one));
        if row.is_empty() || is_left_out {
            continue;
        }
        depth += i32::from(row.ends_with('{')) - i32::from(row == "}");
        line = format!("{line} {row}");
        if depth == 0 {
            break;
        }
    }
    line.trim().to_owned()
}

/// Whether all bytes of a volume's images or metadata in a range are zeroed before the commit.
pub(super) fn is_zeroed(change: &Change, name: &str, length: u64) -> bool {
    let vg = change.vg().expect("a group");
    let wanted = crate::plan::pieces(vg, id(vg, name), Bytes(0), Bytes(length));
    let wanted = wanted.expect("it lies somewhere");
    let is_within = |one: &crate::plan::Piece, all: &crate::plan::Piece| {
        one.pv == all.pv
            && all.start <= one.start
            && one.start + one.length <= all.start + all.length
    };
    wanted.iter().all(|one| {
        change.before.iter().any(|step| match step {
            Before::Fill { pieces, byte: 0 } => pieces.iter().any(|all| is_within(one, all)),
            _ => false,
        })
    })
}

/// The extents of an image and of its metadata.
pub(super) fn lengths(vg: &VolumeGroup, name: &str, number: usize) -> (u64, u64) {
    let of = |part: &str| {
        vg.lv(id(vg, &format!("{name}_{part}_{number}")))
            .extents()
            .0
    };
    (of("rimage"), of("rmeta"))
}

/// What one bit of an array's bitmap covers, in sectors.
pub(super) fn region(vg: &VolumeGroup, name: &str) -> u64 {
    match vg.lv(id(vg, name)).first() {
        Some(SegmentType::Raid(raid)) => raid.region_size.0,
        other => panic!("{name} is {other:?}"),
    }
}
