//! What the bytes of a volume are made of, asked from its devices through the table.
//!
//! Devices are asked beyond the piece at hand and their last answer is kept, so a striped volume
//! costs one question per extent of a device and not one per chunk. The number of questions and of
//! pieces looked at is bounded; the answer then covers less than was asked, as it may.

use block::{Error, Extent, ExtentKind, Kind, Range, Result};

use super::generation::Generation;
use crate::table::{Hint, Leaf};

/// Questions to devices per call. Each may cost two system calls.
const QUESTIONS_MAX: usize = 1024;

/// Pieces looked at per call; at 10 ns each, about 1 ms.
const PIECES_MAX: usize = 1 << 17;

/// The last answer of a device: the bytes that it covers and what they are.
type Answer = Option<(Range, ExtentKind)>;

/// See [`block::Device::extents`].
pub(super) fn of(generation: &Generation, range: Range, count_max: usize) -> Result<Vec<Extent>> {
    let table = &generation.table;
    if range.end() > table.size() {
        let name = &generation.info.name;
        let what = format!("{name}: {range:?} lies outside the volume");
        return Err(Error::new(Kind::InvalidRequest, what));
    }
    let mut extents: Vec<Extent> = Vec::new();
    let mut hint = Hint::default();
    let mut answers: Vec<Answer> = vec![None; generation.legs.len()];
    let mut questions = QUESTIONS_MAX;
    let mut at = range.start();
    for _ in 0..PIECES_MAX {
        if at == range.end() || questions == 0 {
            break;
        }
        let mapped = table.lookup(at, &mut hint);
        let mut len = mapped.len.min(range.end() - at);
        let kind = match mapped.leaf {
            Leaf::Device { device, offset } => {
                let answer = &mut answers[device];
                let known = |(range, _): &(Range, _)| range.contains(Range::new(offset, 1));
                let (covered, kind) = if let Some(answer) = answer.filter(known) {
                    answer
                } else {
                    questions -= 1;
                    let left = range.end() - at;
                    *answer.insert(ask(generation, device, offset, left)?)
                };
                len = len.min(covered.end() - offset);
                kind
            }
            Leaf::Zero => ExtentKind::Hole,
            Leaf::Error { .. } => ExtentKind::Data,
        };
        let full = extents.len() == count_max.max(1);
        match extents.last_mut() {
            Some(last) if last.kind == kind => last.len += len,
            _ if full => break,
            _ => extents.push(Extent { len, kind }),
        }
        at += len;
    }
    Ok(extents)
}

/// What the byte at `offset` of a device is, and how far that goes within `len` bytes.
fn ask(
    generation: &Generation,
    device: usize,
    offset: u64,
    len: u64,
) -> Result<(Range, ExtentKind)> {
    let leg = &generation.legs[device];
    let room = leg.device.info().size.saturating_sub(offset);
    let asked = Range::new(offset, len.min(room).max(1));
    let answer = leg.device.extents(asked, 1);
    let answer = answer.map_err(|error| error.within(&generation.info.name))?;
    // No answer is not allowed, but costs nothing to survive.
    let (len, kind) = answer.first().map_or((asked.len(), ExtentKind::Data), |e| {
        (e.len.clamp(1, asked.len()), e.kind)
    });
    Ok((Range::new(offset, len), kind))
}
