//! The headers and the metadata of one device as they should be, whatever stands there.
//!
//! A label is made of what the group's text says of its physical volume; areas are where the old
//! headers, or whoever rescues, say that they are. What an area's good header points to stays
//! until the new text and the new header are durable.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::Message;
use super::initialise::{Initialised, StartOfDevice};
use crate::model::{PvId, VolumeGroup};
use crate::ondisk::{
    AreaHeader, AreaUse, Extension, Label, PvHeader, PvUse, RawLocation, Ring, SECTOR_DEFAULT, Span,
};
use crate::{Bytes, Error, Kind, Result, SECTOR_SIZE, Sectors, Uuid};

/// Where the first metadata area begins, unless something says otherwise.
pub const AREA_START: Bytes = Bytes(4096);

/// A metadata area as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundArea {
    /// Where it is.
    pub span: Span,
    /// Its header, where that is good.
    pub header: Option<AreaHeader>,
}

/// What a device is to get.
#[derive(Debug, Clone, Copy)]
pub struct PvRepair<'a> {
    /// The name of the device.
    pub device: &'a str,
    /// Its size.
    pub device_size: Bytes,
    /// Its group, as a backup says.
    pub group: &'a VolumeGroup,
    /// Which of its physical volumes it is.
    pub pv: PvId,
    /// All its metadata areas; none: where LVM2 puts one.
    pub areas: &'a [FoundArea],
    /// The label that stands there, where that is good.
    pub label: Option<&'a Label>,
}

impl PvRepair<'_> {
    /// The label, written anew. The areas stay as they are.
    ///
    /// # Errors
    ///
    /// An area does not lie on the device, or two are in one place.
    pub fn header(&self) -> Result<Initialised> {
        let spans = self.spans()?;
        let label = self.new_label(&spans)?;
        let mut messages = vec![self.label_message(&label)?];
        messages.push(self.areas_message(&label)?);
        Ok(self.initialised(label, Vec::new(), Vec::new(), messages))
    }

    /// The metadata, written to all areas that are not ignored, below the label that is there.
    ///
    /// `text` is the group's, without its NUL or with it.
    ///
    /// # Errors
    ///
    /// There is no label, or it is another physical volume's; an area has no place for the text.
    pub fn metadata(&self, text: &[u8]) -> Result<Initialised> {
        let uuid = self.group.pv(self.pv).uuid;
        let Some(label) = self.label.filter(|label| label.pv.uuid == uuid) else {
            let what = format!(
                "No label of the physical volume {uuid} on {}: repair that, too (pvck --repair)",
                self.device
            );
            return Err(Error::new(Kind::Label, what));
        };
        if self.areas.is_empty() {
            let what = format!(
                "The label of {} names no metadata area, so that there is nothing to repair",
                self.device
            );
            return Err(Error::new(Kind::AreaHeader, what));
        }
        let (areas, texts, messages) = self.texts(&self.spans()?, text)?;
        Ok(self.initialised(label.clone(), areas, texts, messages))
    }

    /// Both.
    ///
    /// # Errors
    ///
    /// Those of [`PvRepair::header`], and where an area has no place for the text.
    pub fn both(&self, text: &[u8]) -> Result<Initialised> {
        let mut repaired = self.header()?;
        let (areas, texts, messages) = self.texts(&repaired.label.pv.metadata_areas, text)?;
        repaired.areas = areas;
        repaired.texts = texts;
        repaired.messages.extend(messages);
        Ok(repaired)
    }

    fn initialised(
        &self,
        label: Label,
        areas: Vec<AreaHeader>,
        texts: Vec<(Bytes, Vec<u8>)>,
        messages: Vec<Message>,
    ) -> Initialised {
        Initialised {
            label,
            areas,
            texts,
            pe_start: self.group.pv(self.pv).pe_start,
            size: self.device_size.whole_sectors(),
            start: StartOfDevice::Kept,
            messages,
        }
    }

    /// Where the areas are: apart from each other, from the label and from the extents.
    fn spans(&self) -> Result<Vec<Span>> {
        let pv = self.group.pv(self.pv);
        let first = bytes(pv.pe_start)?;
        let mut spans: Vec<Span> = self.areas.iter().map(|area| area.span).collect();
        if spans.is_empty() {
            let size = first.checked_sub(AREA_START).unwrap_or_default();
            spans.push(Span {
                offset: AREA_START,
                size,
            });
        }
        spans.sort_unstable_by_key(|span| span.offset);
        let extents = pv.pe_count.to_sectors(self.group.extent_size);
        let behind = extents.and_then(|length| pv.pe_start.checked_add(length));
        let behind = behind.and_then(Sectors::to_bytes);
        let behind = behind.unwrap_or(Bytes(u64::MAX));
        let mut taken = vec![(Bytes::ZERO, AREA_START)];
        for span in &spans {
            let wrong = |why: &str| {
                let Span { offset, size } = span;
                let what = format!(
                    "{}: a metadata area of {} bytes at byte {} {why}; say where it is with \
                     --settings \"mda_offset=BYTES mda_size=BYTES\"",
                    self.device, size.0, offset.0
                );
                Err(Error::new(Kind::AreaHeader, what))
            };
            let Some(end) = span.end_within(self.device_size) else {
                return wrong("does not lie on the device");
            };
            let is_whole =
                span.offset.0.is_multiple_of(SECTOR_SIZE) && span.size.0 >= 2 * SECTOR_SIZE;
            if !is_whole {
                return wrong("has no room, or begins within a sector");
            }
            let meets = |(from, to): &(Bytes, Bytes)| span.offset < *to && *from < end;
            if taken.iter().any(meets) {
                return wrong("meets the label, or another area");
            }
            if span.offset < behind && first < end {
                return wrong("meets the extents");
            }
            taken.push((span.offset, end));
        }
        assert!(
            spans.is_sorted_by(|one, next| one.offset < next.offset),
            "areas have an order"
        );
        Ok(spans)
    }

    fn new_label(&self, spans: &[Span]) -> Result<Label> {
        let pv = self.group.pv(self.pv);
        let bootloader = pv.ba_start.zip(pv.ba_size);
        let bootloader = match bootloader.filter(|(_, size)| *size > Sectors::ZERO) {
            Some((start, size)) => vec![Span {
                offset: bytes(start)?,
                size: bytes(size)?,
            }],
            None => Vec::new(),
        };
        let mut header = PvHeader {
            uuid: pv.uuid,
            device_size: self.device_size,
            data_areas: vec![Span {
                offset: bytes(pv.pe_start)?,
                size: Bytes::ZERO,
            }],
            metadata_areas: spans.to_vec(),
            extension: Some(Extension {
                version: 2,
                flags: 0,
                bootloader_areas: bootloader,
            }),
        };
        header.set_usage(PvUse::Used);
        Ok(Label {
            sector: self.label.map_or(SECTOR_DEFAULT, |label| label.sector),
            pv: header,
        })
    }

    fn label_message(&self, label: &Label) -> Result<Message> {
        Ok(Message::note(format!(
            "Writing label_header.crc 0x{:08x} pv_header uuid {} device_size {}",
            label.checksum()?,
            plain(label.pv.uuid),
            self.device_size.0
        )))
    }

    fn areas_message(&self, label: &Label) -> Result<Message> {
        let area = |number: usize| {
            let span = label.pv.metadata_areas.get(number);
            span.map_or((Bytes::ZERO, Bytes::ZERO), |span| (span.offset, span.size))
        };
        let (first, second) = (area(0), area(1));
        Ok(Message::note(format!(
            "Writing data_offset {} mda1_offset {} mda1_size {} mda2_offset {} mda2_size {}",
            bytes(self.group.pv(self.pv).pe_start)?.0,
            first.0.0,
            first.1.0,
            second.0.0,
            second.1.0
        )))
    }

    /// The text in each area, and the headers that point to it.
    #[expect(clippy::type_complexity, reason = "what a layout has of it")]
    fn texts(
        &self,
        spans: &[Span],
        text: &[u8],
    ) -> Result<(Vec<AreaHeader>, Vec<(Bytes, Vec<u8>)>, Vec<Message>)> {
        let mut text = text.to_vec();
        if text.last() != Some(&0) {
            text.push(0);
        }
        let (mut headers, mut writes, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        for (number, span) in spans.iter().enumerate() {
            let found = self.areas.iter().find(|area| area.span == *span);
            let found = found.and_then(|area| area.header);
            let old = found.unwrap_or(AreaHeader::new(*span));
            if old.usage == AreaUse::Ignored {
                continue;
            }
            let live: Vec<RawLocation> = old.committed.into_iter().collect();
            let ring = Ring::new(&old);
            let (size, block) = (Bytes(text.len() as u64), Bytes(SECTOR_SIZE));
            let place = ring.place(&live, size, block)?;
            let location = RawLocation::new(place, &text);
            for piece in ring.writes(place, &text, block) {
                let at = old.start.checked_add(piece.offset);
                writes.push((at.expect("an area ends on its device"), piece.bytes));
            }
            headers.push(AreaHeader {
                committed: Some(location),
                precommitted: None,
                ..old
            });
            let name = format!("mda{}", number + 1);
            let at = old.start.0 + place.0;
            let ends_before = |live: &RawLocation| place.0 + size.0 <= live.offset.0;
            let begins_behind = |live: &RawLocation| live.offset.0 + live.size.0 <= place.0;
            assert!(
                live.iter()
                    .all(|live| ends_before(live) || begins_behind(live)),
                "the text that counts stays"
            );
            messages.push(Message::note(format!(
                "Writing metadata at {at} length {} crc 0x{:08x} {name}",
                size.0, location.checksum
            )));
            let what = format!("Writing mda_header at {} {name}", old.start.0);
            messages.push(Message::note(what));
        }
        assert!(
            headers.len() <= spans.len(),
            "an area gets one text at most"
        );
        Ok((headers, writes, messages))
    }
}

/// The label in the first sectors of a device, made readable again where only its own header is
/// damaged: the header of the physical volume in it is taken for good.
///
/// # Errors
///
/// There is none, or it has no header of a physical volume that can be read.
pub fn mended_label(head: &[u8], device: &str) -> Result<Label> {
    Label::mended(head).ok_or_else(|| Error::new(Kind::PvHeader, no_header(device)))
}

/// Why a label cannot be made readable.
pub fn no_header(device: &str) -> String {
    format!(
        "The header of the physical volume on {device} is damaged, too: pvck --repair -f FILE \
         DEVICE makes it anew from a backup of its group"
    )
}

/// The layout that writes a label again, and nothing else.
///
/// # Errors
///
/// It does not fit its sector.
pub fn rewritten(label: Label, device_size: Bytes) -> Result<Initialised> {
    let text = format!("Writing label_header.crc 0x{:08x}", label.checksum()?);
    let start = label.pv.data_areas.first().map(|area| area.offset);
    Ok(Initialised {
        pe_start: start.unwrap_or_default().whole_sectors(),
        size: device_size.whole_sectors(),
        label,
        areas: Vec::new(),
        texts: Vec::new(),
        start: StartOfDevice::Kept,
        messages: vec![Message::note(text)],
    })
}

fn bytes(sectors: Sectors) -> Result<Bytes> {
    sectors.to_bytes().ok_or_else(|| {
        let what = format!("{sectors} are more than any device has");
        Error::new(Kind::Limit, what)
    })
}

/// An identity as headers have it.
fn plain(uuid: Uuid) -> String {
    format!("{uuid}").replace('-', "")
}

#[cfg(test)]
mod tests;
