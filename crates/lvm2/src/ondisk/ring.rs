//! Where texts lie in a metadata area, and where the next one goes.
//!
//! Behind the area's header the rest of the area is a ring. A text that reaches the area's end
//! goes on at byte 512, behind the header:
//!
//! ```text
//!     0        512                                                       size
//!     | header | …end of B |  text A, old  |  text C, live  | start of B… |
//! ```
//!
//! Stock puts the next text behind the live one, at the next sector. Ours differs, because we want
//! every state that a power cut leaves to hold a readable text, and a disk may tear a whole
//! physical block: it begins on a physical-block boundary, it never shares a block with the header
//! or with a live text, and so it does not wrap. A text longer than a quarter of the ring is put
//! at either end of it, so that it leaves one large piece free and not two small ones. Only on
//! disks with blocks of 512 bytes, where no block is shared anyway, the stock rule is the second
//! choice. Stock reads all of it: only offset, size and checksum count.
//!
//! Promises: a place that is handed out lies in the ring, apart from the live texts, whatever the
//! area's header says.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::area::{AREA_HEADER_SIZE, AreaHeader, RawLocation};
use crate::error::{Error, Kind};
use crate::text::TEXT_SIZE_MAX;
use crate::units::{Bytes, SECTOR_SIZE};

/// Where the ring begins in its area.
const RING_START: u64 = AREA_HEADER_SIZE as u64;
/// A text that takes more than this part of the ring is put at one of its ends.
const LARGE_PART: u64 = 4;

/// A metadata area as a place for texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    start: Bytes,
    size: Bytes,
}

/// A piece of an area that is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingSpan {
    /// Its first byte, from the area's start.
    pub offset: Bytes,
    /// Its length.
    pub size: Bytes,
}

/// A piece of an area that is to be written: whole blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingWrite {
    /// Its first byte, from the area's start.
    pub offset: Bytes,
    /// What is to stand there.
    pub bytes: Vec<u8>,
}

impl Ring {
    /// The ring of an area.
    pub fn new(header: &AreaHeader) -> Self {
        Self {
            start: header.start,
            size: header.size,
        }
    }

    /// The same on a device whose first physical block begins at byte `first`, as a partition's may
    /// that does not begin on one; blocks have `block` bytes.
    pub fn aligned_at(self, first: Bytes, block: Bytes) -> Self {
        assert!(block.0 > 0, "a block has bytes");
        let skew = block.0 - first.0 % block.0;
        Self {
            start: Bytes(self.start.0 + skew % block.0),
            ..self
        }
    }

    /// The longest text, with its NUL, of which two fit: stock's limit.
    pub fn text_max(&self) -> Bytes {
        Bytes((self.size.0.saturating_sub(RING_START) / 2).saturating_sub(SECTOR_SIZE))
    }

    /// Where to read a text: one piece, or two where it wraps.
    pub fn spans(&self, text: &RawLocation) -> Result<Vec<RingSpan>, Error> {
        let (offset, size) = (text.offset.0, text.size.0);
        let wrong = |kind: Kind, what: &str| {
            let start = self.start.0;
            let context =
                format!("the text of the metadata area at byte {start} is said to {what}");
            Err(Error::new(
                kind,
                format!("{context} (offset {offset}, size {size})"),
            ))
        };
        if !(RING_START..self.size.0).contains(&offset) {
            return wrong(Kind::AreaText, "begin outside its ring");
        }
        if size == 0 {
            return wrong(Kind::AreaText, "be empty");
        }
        if size > self.size.0 - RING_START {
            return wrong(Kind::AreaText, "be longer than its ring");
        }
        if size > TEXT_SIZE_MAX as u64 {
            return wrong(Kind::Limit, "be longer than any text that is read");
        }
        Ok(self.pieces(offset, size))
    }

    /// The text at a location, out of a whole area's bytes.
    pub fn text(&self, area: &[u8], text: &RawLocation) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        for span in self.spans(text)? {
            let range = span.offset.0 as usize..(span.offset.0 + span.size.0) as usize;
            let piece = area.get(range).ok_or_else(|| {
                Error::new(Kind::AreaText, "the metadata area was not read to its end")
            })?;
            bytes.extend_from_slice(piece);
        }
        Ok(bytes)
    }

    /// Where stock puts the next text.
    pub fn next_stock(&self, live: Option<&RawLocation>) -> Bytes {
        let Some(live) = live else {
            return Bytes(RING_START);
        };
        let end = live.offset.0.saturating_add(live.size.0);
        let end = if end > self.size.0 {
            end - self.size.0 + RING_START
        } else {
            end
        };
        let room_from = |at: u64| self.size.0.saturating_sub(at);
        if room_from(end) < SECTOR_SIZE {
            return Bytes(RING_START);
        }
        let next = (end + 1).next_multiple_of(SECTOR_SIZE);
        Bytes(if room_from(next) < SECTOR_SIZE {
            RING_START
        } else {
            next
        })
    }

    /// Where we put the next text, of `size` bytes with its NUL, on a device whose physical blocks
    /// have `block` bytes. `live` are the texts that must survive, the committed one first.
    ///
    /// Fails with [`Kind::Limit`] where there is no place. With a smaller `block` there may be
    /// one, at the price of what blocks guard against.
    pub fn place(&self, live: &[RawLocation], size: Bytes, block: Bytes) -> Result<Bytes, Error> {
        let block = block.0;
        assert!(
            block > 0 && block.is_multiple_of(SECTOR_SIZE),
            "a block has whole sectors"
        );
        assert!(size.0 > 0, "a text has at least its NUL");
        if size > self.text_max() {
            return Err(self.no_place(size, "at most", self.text_max()));
        }
        let ring = self.block_range(block);
        let needed = size.0.next_multiple_of(block);
        let gaps = self.gaps(live, &ring, block);
        let fits = |gap: &&Range<u64>| gap.end - gap.start >= needed;
        let place = if needed > (ring.end - ring.start) / LARGE_PART {
            let at_start = gaps.iter().filter(fits).find(|gap| gap.start == ring.start);
            let at_end = gaps.iter().filter(fits).find(|gap| gap.end == ring.end);
            at_start
                .map(|gap| gap.start)
                .or(at_end.map(|gap| gap.end - needed))
                .or(gaps.iter().find(fits).map(|gap| gap.start))
        } else {
            let after = live.first().map_or(0, |live| live.offset.0);
            let behind = gaps.iter().filter(fits).find(|gap| gap.start > after);
            behind.or(gaps.iter().find(fits)).map(|gap| gap.start)
        };
        if let Some(place) = place {
            let end = place + needed;
            assert!(
                ring.start <= place && end <= ring.end,
                "a text lies in the ring"
            );
            let is_apart = |taken: &Range<u64>| end <= taken.start || taken.end <= place;
            assert!(
                self.taken(live, block).iter().all(is_apart),
                "the live texts stay"
            );
        }
        match place {
            Some(place) => Ok(Bytes(place)),
            None if block == SECTOR_SIZE => self.place_wrapped(live, size),
            None => {
                let largest = gaps
                    .iter()
                    .map(|gap| gap.end - gap.start)
                    .max()
                    .unwrap_or(0);
                Err(self.no_place(size, "beside the live text only", Bytes(largest)))
            }
        }
    }

    /// What to write so that `text`, which ends with its NUL, lies at `offset`: up to the next
    /// block the bytes behind it are zero.
    pub fn writes(&self, offset: Bytes, text: &[u8], block: Bytes) -> Vec<RingWrite> {
        assert_eq!(text.last(), Some(&0), "a text ends with a NUL");
        let mut rest = text;
        let mut writes = Vec::new();
        for span in self.pieces(offset.0, text.len() as u64) {
            let (piece, behind) = rest.split_at(span.size.0 as usize);
            rest = behind;
            let mut bytes = piece.to_vec();
            let end = self.start.0 + span.offset.0 + span.size.0;
            let padding = end.next_multiple_of(block.0) - end;
            let room = self.size.0 - (span.offset.0 + span.size.0);
            bytes.resize(bytes.len() + padding.min(room) as usize, 0);
            assert!(span.offset.0 >= RING_START, "the header stays");
            let end_of_write = span.offset.0 + bytes.len() as u64;
            assert!(end_of_write <= self.size.0, "what is behind the area stays");
            writes.push(RingWrite {
                offset: span.offset,
                bytes,
            });
        }
        assert!(rest.is_empty(), "all of it is written");
        writes
    }

    /// Stock's place, where it does not touch a sector of a live text.
    fn place_wrapped(&self, live: &[RawLocation], size: Bytes) -> Result<Bytes, Error> {
        let place = self.next_stock(live.first());
        let pieces = self.pieces(place.0, size.0);
        let is_free = pieces.iter().all(|piece| {
            let piece = piece.offset.0..(piece.offset.0 + piece.size.0);
            self.taken(live, SECTOR_SIZE)
                .iter()
                .all(|taken| piece.end <= taken.start || taken.end <= piece.start)
        });
        if is_free {
            Ok(place)
        } else {
            Err(self.no_place(size, "beside the live texts less than", size))
        }
    }

    /// The part of the ring that consists of whole blocks apart from the header's.
    fn block_range(&self, block: u64) -> Range<u64> {
        let start = self.start.0;
        let header_end = start + RING_START;
        let first = header_end
            .checked_next_multiple_of(block)
            .map_or(self.size.0, |at| at - start);
        let end = start + self.size.0;
        let last = (end - end % block).saturating_sub(start);
        first.min(last)..last
    }

    /// The blocks that live texts touch.
    fn taken(&self, live: &[RawLocation], block: u64) -> Vec<Range<u64>> {
        let start = self.start.0;
        let mut taken = Vec::new();
        // A location that cannot be read has nothing that could be lost.
        for span in live
            .iter()
            .filter_map(|text| self.spans(text).ok())
            .flatten()
        {
            let (first, end) = (start + span.offset.0, start + span.offset.0 + span.size.0);
            let first = (first - first % block).saturating_sub(start);
            taken.push(first..end.next_multiple_of(block) - start);
        }
        taken
    }

    /// What is free in `ring`, in its order.
    fn gaps(&self, live: &[RawLocation], ring: &Range<u64>, block: u64) -> Vec<Range<u64>> {
        let mut taken = self.taken(live, block);
        taken.sort_by_key(|taken| taken.start);
        let mut gaps = Vec::new();
        let mut at = ring.start;
        for taken in taken {
            let until = taken.start.min(ring.end);
            if at < until {
                gaps.push(at..until);
            }
            at = at.max(taken.end);
        }
        if at < ring.end {
            gaps.push(at..ring.end);
        }
        gaps
    }

    fn pieces(&self, offset: u64, size: u64) -> Vec<RingSpan> {
        assert!(offset < self.size.0, "a text begins in its area");
        let first = size.min(self.size.0 - offset);
        let mut pieces = vec![RingSpan {
            offset: Bytes(offset),
            size: Bytes(first),
        }];
        if first < size {
            assert!(
                RING_START + (size - first) <= offset,
                "a text does not meet itself"
            );
            pieces.push(RingSpan {
                offset: Bytes(RING_START),
                size: Bytes(size - first),
            });
        }
        pieces
    }

    fn no_place(&self, size: Bytes, limit: &str, room: Bytes) -> Error {
        let context = format!(
            "the metadata needs {} bytes, but the metadata area at byte {} takes {limit} {}; \
             physical volumes with a larger metadata area are needed (pvcreate --metadatasize)",
            size.0, self.start.0, room.0
        );
        Error::new(Kind::Limit, context)
    }
}

#[cfg(test)]
mod tests;
