//! Writing one group: texts, flush, headers, flush.

use lvm2::Bytes;
use lvm2::model::{VolumeGroup, from_text, to_text};
use lvm2::ondisk::{AREA_HEADER_SIZE, AreaHeader, AreaUse, RawLocation, Ring, RingWrite};
use lvm2::plan::AreaChange;
use lvm2::text::{Style, parse};

use super::areas::{Failure, flush_all, list, write_header};
use super::flush_policy::{FlushPoint, FlushPolicy};
use super::hooks::{Hooks, Reach};
use super::open_pv::{Held, OpenArea, OpenPv};
use crate::{Error, Kind, Result, log};

/// An area that gets the new text.
struct Place {
    pv: usize,
    area: usize,
    /// As it will be once it is committed.
    header: AreaHeader,
    writes: Vec<RingWrite>,
}

/// Commits `vg` on those of `pvs` that belong to it. `changes` says which areas are used or ignored
/// from this commit on.
pub fn write_group(
    pvs: &mut [OpenPv],
    vg: &VolumeGroup,
    changes: &[AreaChange],
    flush_policy: FlushPolicy,
    hooks: &mut dyn Hooks,
) -> Result<()> {
    if flush_policy.compares_versions() {
        require_newer(pvs, vg)?;
    }
    vg.check();
    let (places, ignored) = places(pvs, vg, changes)?;
    write_texts(pvs, vg, &places, flush_policy)?;
    hooks.suspend(vg).inspect_err(|_| hooks.resume())?;
    // From here on there is no way back: a header that was submitted may be durable.
    let (failures, is_nowhere) = write_headers(pvs, vg, &places, flush_policy);
    if let Some(error) = incomplete(pvs, vg, &places, &failures) {
        if is_nowhere {
            hooks.resume();
        } else {
            hooks.publish(Reach::Some);
        }
        return Err(error);
    }
    let held = Held::Version {
        group: vg.uuid,
        seqno: vg.seqno,
    };
    let is_held = |place: &Place| pvs[place.pv].areas[place.area].held == held;
    assert!(
        places.iter().all(is_held),
        "what is committed is known to be there"
    );
    hooks.publish(Reach::All);
    log::verbose(|| {
        let names = list(pvs, places.iter().map(|place| place.pv), |_| true);
        format!(
            "VG {}: version {} is committed on {names}: texts written and flushed, then headers.",
            vg.name, vg.seqno
        )
    });
    ignore(pvs, vg, ignored, flush_policy)
}

/// What is written must be newer than all that is there: otherwise somebody else has changed the
/// group, in spite of all locks.
fn require_newer(pvs: &[OpenPv], vg: &VolumeGroup) -> Result<()> {
    for pv in pvs {
        for area in &pv.areas {
            let Held::Version { group, seqno } = area.held else {
                continue;
            };
            if group == vg.uuid && area.usage() == AreaUse::Used && seqno >= vg.seqno {
                let what = format!(
                    "VG {} has version {seqno} on {}, so that version {} cannot be written; \
                     somebody else changed it meanwhile: run the command again",
                    vg.name,
                    pv.name(),
                    vg.seqno
                );
                return Err(Error::new(Kind::Refused, what));
            }
        }
    }
    Ok(())
}

/// Where the text goes, and which headers become those of ignored areas.
fn places(
    pvs: &[OpenPv],
    vg: &VolumeGroup,
    changes: &[AreaChange],
) -> Result<(Vec<Place>, Vec<Place>)> {
    let mut text = to_text(vg, Style::Raw);
    if text.last() != Some(&0) {
        text.push(0);
    }
    require_readable(vg, &text)?;
    let (mut places, mut ignored) = (Vec::new(), Vec::new());
    for (number, pv) in pvs.iter().enumerate() {
        if vg.pv_by_uuid(&pv.uuid_in_text()).is_none() {
            continue;
        }
        for (index, area) in pv.areas.iter().enumerate() {
            let change = changes
                .iter()
                .find(|change| change.pv == pv.uuid() && change.area == index);
            let usage = change.map_or(area.usage(), |change| change.usage);
            match (usage, area.usage()) {
                (AreaUse::Used, _) => {
                    let (header, writes) = place(pv, area, &text)?;
                    places.push(Place {
                        pv: number,
                        area: index,
                        header,
                        writes,
                    });
                }
                (AreaUse::Ignored, AreaUse::Used) => ignored.push(Place {
                    pv: number,
                    area: index,
                    header: AreaHeader {
                        precommitted: None,
                        usage,
                        ..area.header.unwrap_or(AreaHeader::new(area.span))
                    },
                    writes: Vec::new(),
                }),
                (AreaUse::Ignored, AreaUse::Ignored) => {}
            }
        }
    }
    if places.is_empty() {
        let what = format!(
            "VG {} has no metadata area that can be written; name the devices that have one, or \
             use one with pvchange --metadataignore n",
            vg.name
        );
        return Err(Error::new(Kind::Missing, what));
    }
    let order = |places: &[Place]| {
        let mut pairs = places.windows(2);
        pairs.all(|pair| (pair[0].pv, pair[0].area) < (pair[1].pv, pair[1].area))
    };
    assert!(order(&places), "an area is written once");
    assert!(order(&ignored), "an area is set aside once");
    Ok((places, ignored))
}

/// What is written must be what will be read: a text that is not is a bug of ours, and is found
/// before it lies anywhere. Debug builds look at all of it, others at what tells groups apart.
fn require_readable(vg: &VolumeGroup, text: &[u8]) -> Result<()> {
    let read = parse(text).and_then(|tree| Ok((from_text(&tree)?, tree)));
    let is_same = read.as_ref().is_ok_and(|(read, _)| {
        let counts = |vg: &VolumeGroup| (vg.pv_count(), vg.lv_count(), vg.extent_count());
        (read.uuid, read.seqno, &read.name) == (vg.uuid, vg.seqno, &vg.name)
            && counts(read) == counts(vg)
    });
    if let (true, Ok((read, tree))) = (cfg!(debug_assertions), &read) {
        let again = to_text(read, Style::Raw);
        assert_eq!(
            parse(&again).as_ref(),
            Ok(tree),
            "what is written is what is read"
        );
    }
    if is_same {
        return Ok(());
    }
    let what = format!(
        "version {} of VG {} could not be read again, so it is not written: this is a bug of \
         ashlar; nothing was changed",
        vg.seqno, vg.name
    );
    Err(Error::new(Kind::Refused, what))
}

/// The header that `area` will have, and what goes into its ring.
fn place(pv: &OpenPv, area: &OpenArea, text: &[u8]) -> Result<(AreaHeader, Vec<RingWrite>)> {
    let fits = area.span.end_within(pv.size()).is_some();
    if area.header.is_none() && (!fits || area.span.size.0 <= AREA_HEADER_SIZE as u64) {
        let what = format!(
            "the metadata area at byte {} of {} does not lie on the device; give the device its \
             size back, or take it out of the group",
            area.span.offset.0,
            pv.name()
        );
        return Err(Error::new(Kind::Damaged, what));
    }
    let old = area.header.unwrap_or(AreaHeader::new(area.span));
    assert_eq!(old.start, area.span.offset, "a header begins its area");
    let ring = Ring::new(&old);
    let (size, live) = (Bytes(text.len() as u64), area.live());
    let committed: Vec<_> = old.committed.into_iter().collect();
    let (block, logical) = (pv.block(), pv.logical_block());
    let ring = ring.aligned_at(pv.first_block(), block);
    let tries = [(&live, block), (&committed, block), (&committed, logical)];
    let mut found = Err(None);
    for (live, block) in tries {
        match ring.place(live, size, block) {
            Ok(offset) => {
                found = Ok((offset, block));
                break;
            }
            Err(error) => found = found.map_err(|first: Option<_>| first.or(Some(error))),
        }
    }
    let (offset, block) = found.map_err(|error: Option<lvm2::Error>| {
        let error = error.expect("a try failed");
        Error::new(Kind::Refused, format!("{}: {}", pv.name(), error.context))
    })?;
    let header = AreaHeader {
        committed: Some(RawLocation::new(offset, text)),
        precommitted: None,
        usage: AreaUse::Used,
        ..old
    };
    let location = header.committed.expect("it was just set");
    assert!(ring.spans(&location).is_ok(), "what is written can be read");
    Ok((header, ring.writes(offset, text, block)))
}

/// Until this is done, nothing that counts has changed.
fn write_texts(
    pvs: &mut [OpenPv],
    vg: &VolumeGroup,
    places: &[Place],
    flush_policy: FlushPolicy,
) -> Result<()> {
    let unchanged = |name: &str, error: block::Error| {
        let what = format!(
            "cannot write metadata of VG {} to {name}; nothing was changed; check the device, and \
             whether there is room where an image lies",
            vg.name
        );
        Error::new(Kind::Device, what).because(error)
    };
    for place in places {
        let pv = &mut pvs[place.pv];
        for write in &place.writes {
            let end = write.offset.0 + write.bytes.len() as u64;
            assert!(
                write.offset.0 >= AREA_HEADER_SIZE as u64,
                "no header is written yet"
            );
            assert!(end <= place.header.size.0, "what is behind the area stays");
            let start = Bytes(place.header.start.0 + write.offset.0);
            if let Err(error) = pv.write(start, &write.bytes) {
                return Err(unchanged(pv.name(), error));
            }
        }
    }
    let touched = places.iter().map(|place| place.pv);
    match flush_all(pvs, touched, flush_policy, FlushPoint::Texts).pop() {
        Some(failure) => Err(unchanged(pvs[failure.pv].name(), failure.error)),
        None => Ok(()),
    }
}

/// Tries all of them, and gives back those of which it is not known that they are durable; and
/// whether no disk took any.
fn write_headers(
    pvs: &mut [OpenPv],
    vg: &VolumeGroup,
    places: &[Place],
    flush_policy: FlushPolicy,
) -> (Vec<Failure>, bool) {
    let held = Held::Version {
        group: vg.uuid,
        seqno: vg.seqno,
    };
    assert!(!places.is_empty(), "it is committed somewhere");
    let mut failures = Vec::new();
    for place in places {
        assert!(
            place.header.committed.is_some(),
            "a header leads to its text"
        );
        assert!(
            place.header.precommitted.is_none(),
            "no other change is under way"
        );
        let written = write_header(&mut pvs[place.pv], place.area, place.header, held);
        failures.extend(written.err().map(|error| Failure {
            pv: place.pv,
            error,
        }));
    }
    let is_nowhere = failures.len() == places.len();
    let touched = places.iter().map(|place| place.pv);
    failures.extend(flush_all(pvs, touched, flush_policy, FlushPoint::Headers));
    (failures, is_nowhere)
}

/// What people are told where a commit did not reach all areas.
fn incomplete(
    pvs: &[OpenPv],
    vg: &VolumeGroup,
    places: &[Place],
    failures: &[Failure],
) -> Option<Error> {
    let first = failures.first()?;
    let failed = |pv: usize| failures.iter().any(|failure| failure.pv == pv);
    let names = |wanted: bool| list(pvs, places.iter().map(|p| p.pv), |pv| failed(pv) == wanted);
    assert!(
        failures.iter().all(|failure| failure.pv < pvs.len()),
        "each is of a disk"
    );
    let (good, bad) = (names(false), names(true));
    let what = if good.is_empty() {
        format!(
            "the change of VG {} may or may not have reached {bad}; check the device, then see \
             with vgs {} which it is",
            vg.name, vg.name
        )
    } else {
        format!(
            "the change of VG {} is committed on {good}, and possibly not on {bad}; check the \
             device, then run vgck --updatemetadata {}",
            vg.name, vg.name
        )
    };
    Some(Error::new(Kind::Incomplete, what).because(first.error.to_string()))
}

/// Areas are set aside only when the others are durable: an area that is not read must not be the
/// only one to hold a text.
fn ignore(
    pvs: &mut [OpenPv],
    vg: &VolumeGroup,
    places: Vec<Place>,
    flush_policy: FlushPolicy,
) -> Result<()> {
    let failed = |name: &str| {
        let what = format!(
            "VG {} is changed, but a metadata area of {name} could not be set aside; check the \
             device, then run the command again",
            vg.name
        );
        Error::new(Kind::Incomplete, what)
    };
    let touched: Vec<usize> = places.iter().map(|place| place.pv).collect();
    for place in places {
        let pv = &mut pvs[place.pv];
        assert_eq!(place.header.usage, AreaUse::Ignored, "it is set aside");
        let held = pv.areas[place.area].held;
        if let Err(error) = write_header(pv, place.area, place.header, held) {
            return Err(failed(pv.name()).because(error));
        }
    }
    match flush_all(pvs, touched, flush_policy, FlushPoint::IgnoredHeaders).pop() {
        Some(failure) => Err(failed(pvs[failure.pv].name()).because(failure.error)),
        None => Ok(()),
    }
}
