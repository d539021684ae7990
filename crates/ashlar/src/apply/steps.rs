//! What is done around the commits: contents before them, discards after them.

use std::collections::BTreeSet;

use block::{Range, Unmap};
use lvm2::model::VolumeGroup;
use lvm2::plan::{Before, Change, Message, Piece, pieces};
use lvm2::{Bytes, SECTOR_SIZE, Uuid};

use super::prompt::{Answer, Prompt};
use super::signatures::{Signature, find_signatures};
use crate::commit::{FlushPoint, FlushPolicy, OpenPv};
use crate::{Error, Kind, Result};

/// How much is written at once where bytes are not zero.
const CHUNK: u64 = 1 << 20;

/// Signatures to be wiped from a new volume.
#[derive(Debug)]
pub(super) struct Wipe {
    lv: Uuid,
    path: String,
    signatures: Vec<Signature>,
}

impl Wipe {
    /// The physical volumes that are written where this is done.
    pub(super) fn written(&self, vg: &VolumeGroup) -> Vec<Uuid> {
        let Some(id) = vg.lv_by_uuid(&self.lv) else {
            return Vec::new();
        };
        let of_signature = |signature: &Signature| {
            let length = Bytes(signature.length as u64);
            pieces(vg, id, signature.offset, length).unwrap_or_default()
        };
        let all = self.signatures.iter().flat_map(of_signature);
        all.map(|piece| piece.pv).collect()
    }
}

/// Looks for signatures on new volumes, and asks what to do about them. `read` reads from a
/// physical volume.
pub(super) fn ask_for_wipes(
    change: &Change,
    read: &mut dyn FnMut(Uuid, Range) -> Option<Vec<u8>>,
    prompt: &mut dyn Prompt,
) -> Result<Vec<Wipe>> {
    let mut wipes = Vec::new();
    let Some(vg) = change.vg() else {
        return Ok(wipes);
    };
    for step in &change.before {
        let Before::WipeSignatures { lv } = step else {
            continue;
        };
        let Some(id) = vg.lv_by_uuid(lv) else {
            continue;
        };
        let volume = vg.lv(id);
        let size = volume
            .size(vg.extent_size)
            .and_then(lvm2::Sectors::to_bytes);
        let path = format!("/dev/{}/{}", vg.name, volume.name());
        let of_volume = |start: Bytes, length: usize| {
            let places = pieces(vg, id, start, Bytes(length as u64)).ok()?;
            let place = places.first()?;
            let length = place.length.0.min(length as u64);
            read(place.pv, Range::new(place.start.0, length))
        };
        let signatures = find_signatures(size.unwrap_or_default(), of_volume);
        for signature in &signatures {
            if confirm(&path, signature, prompt) == Answer::No {
                let what = format!(
                    "Aborted wiping of {}. 1 existing signature left on the device. Failed to \
                     wipe signatures on logical volume {}/{}; -Wn leaves them there",
                    signature.name,
                    vg.name,
                    volume.name()
                );
                return Err(Error::new(Kind::Request, what));
            }
        }
        wipes.push(Wipe {
            lv: *lv,
            path,
            signatures,
        });
    }
    Ok(wipes)
}

/// Asks whether a signature may go.
pub(super) fn confirm(path: &str, signature: &Signature, prompt: &mut dyn Prompt) -> Answer {
    prompt.ask_to_wipe(&format!(
        "WARNING: {} signature detected on {path} at offset {}. Wipe it? [y/n]: ",
        signature.name, signature.offset.0
    ))
}

/// Makes all that the commit will make reachable durable.
pub(super) fn prepare(
    pvs: &mut [OpenPv],
    change: &Change,
    wipes: &[Wipe],
    flush_policy: FlushPolicy,
    prompt: &mut dyn Prompt,
) -> Result<()> {
    let mut touched = BTreeSet::new();
    if let Some(vg) = change.vg() {
        for wipe in wipes {
            wipe_volume(pvs, vg, wipe, &mut touched, prompt)?;
        }
    }
    for step in &change.before {
        if let Before::Copy { from, to } = step {
            let pv = find(pvs, to.pv)?;
            copy(pv, *from, *to)?;
            touched.insert(to.pv);
        }
    }
    for step in &change.before {
        if let Before::Fill { pieces, byte } = step {
            for piece in pieces {
                fill(find(pvs, piece.pv)?, *piece, *byte)?;
                touched.insert(piece.pv);
            }
        }
    }
    for step in &change.before {
        if let Before::Write { piece, bytes } = step {
            let pv = find(pvs, piece.pv)?;
            assert_eq!(piece.length.0, bytes.len() as u64, "it fills its place");
            pv.write(piece.start, bytes)
                .map_err(|error| unprepared(pv.name(), error))?;
            touched.insert(piece.pv);
        }
    }
    for uuid in touched {
        let pv = find(pvs, uuid)?;
        pv.flush(flush_policy, FlushPoint::Contents)
            .map_err(|error| unprepared(pv.name(), error))?;
    }
    Ok(())
}

fn wipe_volume(
    pvs: &mut [OpenPv],
    vg: &VolumeGroup,
    wipe: &Wipe,
    touched: &mut BTreeSet<Uuid>,
    prompt: &mut dyn Prompt,
) -> Result<()> {
    let Some(id) = vg.lv_by_uuid(&wipe.lv) else {
        return Ok(());
    };
    for signature in &wipe.signatures {
        prompt.tell(&Message::note(format!(
            "Wiping {} signature on {}.",
            signature.name, wipe.path
        )));
        let length = Bytes(signature.length as u64);
        for piece in pieces(vg, id, signature.offset, length)? {
            let pv = find(pvs, piece.pv)?;
            pv.write(piece.start, &vec![0; piece.length.0 as usize])
                .map_err(|error| unprepared(pv.name(), error))?;
            touched.insert(piece.pv);
        }
    }
    Ok(())
}

/// Copies within a physical volume; what is zero is not written out, so that images stay as sparse
/// as they were.
fn copy(pv: &mut OpenPv, from: Piece, to: Piece) -> Result<()> {
    let mut at = 0;
    assert_eq!(from.length, to.length, "a copy is as long");
    while at < from.length.0 {
        let len = CHUNK.min(from.length.0 - at);
        let read = pv.read(Range::new(from.start.0 + at, len));
        let bytes = read.map_err(|error| unprepared(pv.name(), error))?;
        let part = Piece {
            start: Bytes(to.start.0 + at),
            length: Bytes(len),
            ..to
        };
        assert_eq!(bytes.len() as u64, len, "all of it is read");
        if bytes.iter().all(|byte| *byte == 0) {
            fill(pv, part, 0)?;
        } else {
            let written = pv.write(part.start, &bytes);
            written.map_err(|error| unprepared(pv.name(), error))?;
        }
        at += len;
    }
    Ok(())
}

fn fill(pv: &mut OpenPv, piece: Piece, byte: u8) -> Result<()> {
    let (start, length) = (piece.start.0, piece.length.0);
    let block = pv.logical_block().0.max(SECTOR_SIZE);
    let is_whole = start.is_multiple_of(block) && length.is_multiple_of(block);
    assert!(length > 0, "something is filled");
    if byte == 0 && is_whole && length > 0 {
        let zeroed = pv.write_zeroes(Range::new(start, length), Unmap::Allowed);
        return zeroed.map_err(|error| unprepared(pv.name(), error));
    }
    let mut at = 0;
    while at < length {
        let len = CHUNK.min(length - at);
        pv.write(Bytes(start + at), &vec![byte; len as usize])
            .map_err(|error| unprepared(pv.name(), error))?;
        at += len;
    }
    Ok(())
}

/// Tells devices about space that nothing uses any more. A device that refuses costs nothing.
pub(super) fn discard(pvs: &mut [OpenPv], change: &Change) {
    for piece in &change.freed {
        if let Ok(pv) = find(pvs, piece.pv) {
            pv.discard(Range::new(piece.start.0, piece.length.0));
        }
    }
}

pub(super) fn find(pvs: &mut [OpenPv], uuid: Uuid) -> Result<&mut OpenPv> {
    pvs.iter_mut()
        .find(|pv| pv.uuid() == uuid || pv.uuid_in_text() == uuid)
        .ok_or_else(|| {
            let what = format!("PV {uuid} is needed and missing; nothing was changed");
            Error::new(Kind::Missing, what)
        })
}

fn unprepared(name: &str, error: block::Error) -> Error {
    let what = format!(
        "cannot prepare new extents on {name}; the group was not changed: check the device, or \
         choose another one"
    );
    Error::new(Kind::Device, what).because(error)
}
