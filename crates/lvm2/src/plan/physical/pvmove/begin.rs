//! A move begins: targets are allocated for all of it, and the layer comes below the volumes.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::choose;
use super::list::MoveMode;
use super::pieces::{Piece, Pieces};
use crate::model::{
    AllocationPolicy, Area, LogicalVolume, LvFlag, LvId, Mirror, PvFlag, PvId, Relations, Segment,
    SegmentType, VolumeGroup,
};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, pv_name, refused, require_known_segments, wrong};
use crate::plan::places::{FreeSpace, Place, Places};
use crate::plan::segments;
use crate::{Error, Extents, Kind, Result, Sectors, Uuid};

/// What the name of a move's volume begins with; a number follows.
const NAME: &str = "pvmove";
/// What a note covers where nothing was said.
pub(super) const REGION_SIZE_DEFAULT: Sectors = Sectors(4096);
/// No kernel takes regions that are smaller than a page.
const REGION_SIZE_MIN: Sectors = Sectors(8);

/// What `pvmove` was asked for.
#[derive(Debug, Clone)]
pub struct MoveRequest<'a> {
    /// The physical volume to be emptied, and which of its extents: one place, as in stock.
    pub source: &'a Places,
    /// `-n`: only extents of this volume and its hidden parts.
    pub volume: Option<&'a str>,
    /// Where extents may go, the source excluded; without it, anywhere else in the group.
    pub targets: Option<&'a Places>,
    /// `--alloc`; without it as the group says. Only with *anywhere* the source is a target too.
    pub policy: Option<AllocationPolicy>,
    /// `--atomic`.
    pub mode: MoveMode,
    /// The longest piece, in extents, one at least: so much is copied again after a crash.
    pub piece_max: Extents,
    /// The size of the regions in which a piece is copied; without it 2 MiB. It is reduced to what
    /// divides all pieces.
    pub region_size: Option<Sectors>,
}

/// Begins a move. Besides, the identity of the volume that has what is moved.
pub fn begin_move(
    vg: &VolumeGroup,
    request: &MoveRequest<'_>,
    author: &mut Author<'_>,
) -> Result<(Change, Uuid)> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    if request.piece_max == Extents::ZERO {
        return Err(wrong("A piece of a move must have one extent at least"));
    }
    let source = source(vg, request.source)?;
    let only = request.volume.map(|name| choose::named(vg, name));
    let only = only.transpose()?;
    let policy = request.policy.unwrap_or(vg.allocation);
    let space = space(&mut draft, request, source.pv, policy)?;
    let relations = Relations::of(vg);
    let chosen = choose::volumes(&mut draft, &relations, source, only)?;
    assert!(!chosen.is_empty(), "there is something to move");
    let mover = add_mover(&mut draft, author)?;
    let name = free_name(vg);
    let mut pieces = Pieces::new(vg, &relations, source, space, policy, mover);
    pieces.require_space(&chosen, &name)?;
    for lv in chosen {
        let volume = draft.vg.lv_mut(lv);
        volume.segments = pieces.take(lv, request.piece_max, &name)?;
        volume.flags.insert(LvFlag::Locked);
    }
    let pieces = pieces.finish();
    let region_size = request.region_size.unwrap_or(REGION_SIZE_DEFAULT);
    let uuid = fill(
        &mut draft,
        mover,
        &pieces,
        request.mode,
        region_size,
        author,
    )?;
    Ok((draft.finish(author)?, uuid))
}

/// Adds the volume of a move, which has nothing yet.
pub(super) fn add_mover(draft: &mut Draft, author: &mut Author<'_>) -> Result<LvId> {
    let name = free_name(&draft.old);
    draft.vg.add_lv(hidden(&name, author))
}

/// Gives the volume of a move its pieces; its identity.
pub(super) fn fill(
    draft: &mut Draft,
    mover: LvId,
    pieces: &[Piece],
    mode: MoveMode,
    region_size_max: Sectors,
    author: &mut Author<'_>,
) -> Result<Uuid> {
    let name = String::from(draft.vg.lv(mover).name());
    assert!(!pieces.is_empty(), "something is moved");
    assert!(
        pieces.iter().all(|one| one.length > Extents::ZERO),
        "pieces have extents"
    );
    let extent_size = draft.vg.extent_size;
    let whole: Extents = pieces.iter().map(|piece| piece.length).sum();
    let made = match mode {
        MoveMode::Pieces => {
            let lengths = pieces.iter().map(|piece| piece.length);
            let region = region_size(extent_size, region_size_max, lengths)?;
            mirrors(pieces, region)
        }
        MoveMode::Atomic => {
            let region = region_size(extent_size, region_size_max, core::iter::once(whole))?;
            let vg = &mut draft.vg;
            let from = linear(pieces, |piece| piece.from);
            let to = linear(pieces, |piece| piece.to);
            let images = [
                image(vg, &name, 0, from, author)?,
                image(vg, &name, 1, to, author)?,
            ];
            let kind = mirror(
                images.map(|lv| Area::Lv {
                    lv,
                    start: Extents::ZERO,
                }),
                region,
            );
            vec![segments::segment(Extents::ZERO, whole, kind)]
        }
    };
    let volume = draft.vg.lv_mut(mover);
    volume.segments = made;
    assert_eq!(volume.extents(), whole, "the move has all pieces");
    volume.allocation = Some(AllocationPolicy::Contiguous);
    volume.flags.insert(LvFlag::Pvmove);
    volume.flags.insert(LvFlag::Locked);
    Ok(volume.uuid)
}

/// The one place from which extents are moved.
fn source<'a>(vg: &VolumeGroup, places: &'a Places) -> Result<&'a Place> {
    let mut all = places.iter();
    let (Some(source), None) = (all.next(), all.next()) else {
        return Err(wrong(
            "Extents are moved from one physical volume at a time: name one",
        ));
    };
    let name = pv_name(vg, source.pv);
    if vg.pv(source.pv).flags.has(PvFlag::Missing) {
        return Err(refused(format!(
            "Physical volume {name} is missing: what was on it cannot be moved; repair the volumes \
             that stand on it, or run vgreduce --removemissing"
        )));
    }
    choose::require_no_move(vg, source.pv, &name)?;
    Ok(source)
}

/// The free extents that may be taken. As in stock it is another refusal where there is no other
/// physical volume than where others are full.
fn space(
    draft: &mut Draft,
    request: &MoveRequest<'_>,
    source: PvId,
    policy: AllocationPolicy,
) -> Result<FreeSpace> {
    let all = Places::all(&draft.old);
    let (space, places) = match request.targets {
        Some(places) => {
            let space = FreeSpace::of_named(&draft.old, places, &mut draft.messages)?;
            (space, places.usable(&draft.old))
        }
        None => (FreeSpace::of(&draft.old, &all), all),
    };
    let kept_away = match policy {
        AllocationPolicy::Anywhere => BTreeSet::new(),
        _ => BTreeSet::from([source]),
    };
    if places.without(&kept_away).is_empty() {
        return Err(Error::new(
            Kind::Space,
            "No extents available for allocation.",
        ));
    }
    Ok(space.without(&kept_away))
}

/// `pvmove` with the number behind the highest one in use.
fn free_name(vg: &VolumeGroup) -> String {
    let numbers = vg
        .lvs()
        .filter_map(|(_, lv)| lv.name().strip_prefix(NAME)?.parse::<u64>().ok());
    let next = numbers.max().map_or(0, |number| number.saturating_add(1));
    format!("{NAME}{next}")
}

fn hidden(name: &str, author: &mut Author<'_>) -> LogicalVolume {
    let mut lv = LogicalVolume::new(name, author.uuid());
    lv.flags.insert(LvFlag::Read);
    lv.flags.insert(LvFlag::Write);
    lv.creation_time = Some(author.time);
    lv.creation_host = Some(author.host.clone());
    lv
}

/// Adds a copy of an atomic move.
fn image(
    vg: &mut VolumeGroup,
    name: &str,
    number: usize,
    segments: Vec<Segment>,
    author: &mut Author<'_>,
) -> Result<LvId> {
    let mut lv = hidden(&format!("{name}_mimage_{number}"), author);
    lv.segments = segments;
    vg.add_lv(lv)
}

fn mirrors(pieces: &[Piece], region: Sectors) -> Vec<Segment> {
    let mut start = Extents::ZERO;
    let made = pieces.iter().map(|piece| {
        let areas = [piece.from, piece.to].map(|(pv, start)| Area::Pv { pv, start });
        let made = segments::segment(start, piece.length, mirror(areas, region));
        start += piece.length;
        made
    });
    made.collect()
}

fn linear(pieces: &[Piece], end: impl Fn(&Piece) -> (PvId, Extents)) -> Vec<Segment> {
    let mut start = Extents::ZERO;
    let made = pieces.iter().map(|piece| {
        let kind = segments::striped(&[end(piece)], Sectors::ZERO);
        let made = segments::segment(start, piece.length, kind);
        start += piece.length;
        made
    });
    made.collect()
}

fn mirror(copies: [Area; 2], region_size: Sectors) -> SegmentType {
    SegmentType::Mirror(Mirror {
        extents_moved: Some(Extents::ZERO),
        log: None,
        region_size,
        images: copies.to_vec(),
    })
}

/// The largest power of two up to what was asked for that divides pieces of these lengths.
fn region_size(
    extent_size: Sectors,
    mut size: Sectors,
    lengths: impl Iterator<Item = Extents>,
) -> Result<Sectors> {
    if !size.0.is_power_of_two() {
        return Err(wrong(format!(
            "Region size {} is not a power of 2",
            crate::plan::display_size(size)
        )));
    }
    for length in lengths {
        let sectors = length
            .to_sectors(extent_size)
            .ok_or_else(|| Error::new(Kind::Limit, "The move is too large"))?;
        assert!(sectors > Sectors::ZERO, "a piece has extents");
        size = size.min(Sectors(1 << sectors.0.trailing_zeros()));
    }
    Ok(size.max(REGION_SIZE_MIN))
}
