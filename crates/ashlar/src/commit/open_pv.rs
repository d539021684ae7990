//! A physical volume that is open for writing: its device, its label, and what its areas hold.
//!
//! It is read when it is opened, under the locks that its [`Disk`] stands for, so that what is
//! written is based on what is there and not on an earlier scan. From then on it is kept up to date
//! by what is written.

use block::{Range, Unmap};
use lvm2::model::from_text;
use lvm2::ondisk::{
    AREA_HEADER_SIZE, AreaHeader, AreaUse, LABEL_SCAN_SIZE, Label, RawLocation, Ring, Span,
};
use lvm2::text::parse;
use lvm2::{Bytes, Uuid};

use super::disk::{Disk, unreadable};
use super::flush_policy::{FlushPoint, FlushPolicy};
use crate::{Error, Kind, Result, log};

/// A device that is open for writing metadata.
#[derive(Debug)]
pub struct OpenPv {
    disk: Disk,
    /// Its identity in texts that are written; the label follows after the commit.
    uuid_in_text: Uuid,
    pub(super) label: Label,
    pub(super) areas: Vec<OpenArea>,
}

/// A metadata area of it.
#[derive(Debug, Clone)]
pub struct OpenArea {
    /// Where it is, as the physical volume's header says.
    pub span: Span,
    /// Its header; `None` where that is damaged.
    pub header: Option<AreaHeader>,
    /// What the header points to.
    pub held: Held,
}

/// What an area holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// No text.
    Nothing,
    /// A text of this group.
    Version {
        /// The group's UUID.
        group: Uuid,
        /// The text's sequence number.
        seqno: u32,
    },
    /// A text that no group can be made of.
    Damaged,
}

impl OpenPv {
    /// Reads label and areas of `disk`.
    pub fn open(mut disk: Disk) -> Result<Self> {
        let (label, areas) = read_all(&mut disk)?;
        assert_eq!(
            areas.len(),
            label.metadata_areas().len(),
            "each area is known"
        );
        Ok(Self {
            disk,
            uuid_in_text: label.pv.uuid,
            label,
            areas,
        })
    }

    /// What people know it by.
    pub fn name(&self) -> &str {
        self.disk.name()
    }

    /// Its identity.
    pub fn uuid(&self) -> Uuid {
        self.label.pv.uuid
    }

    /// Its identity in texts that are written.
    pub fn uuid_in_text(&self) -> Uuid {
        self.uuid_in_text
    }

    /// It gets another identity with the next commit.
    pub fn set_uuid_in_text(&mut self, uuid: Uuid) {
        self.uuid_in_text = uuid;
    }

    /// Its label.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Its metadata areas.
    pub fn areas(&self) -> &[OpenArea] {
        &self.areas
    }

    /// What is written at once: texts do not share such a block with anything that matters.
    pub(super) fn block(&self) -> Bytes {
        let info = self.disk.info();
        Bytes(u64::from(info.physical_block.max(info.logical_block)).max(lvm2::SECTOR_SIZE))
    }

    /// Where the first of such blocks begins.
    pub(super) fn first_block(&self) -> Bytes {
        Bytes(u64::from(self.disk.info().alignment_offset))
    }

    /// The size of a logical block, at least a sector.
    pub(crate) fn logical_block(&self) -> Bytes {
        Bytes(u64::from(self.disk.info().logical_block).max(lvm2::SECTOR_SIZE))
    }

    /// The device's size.
    pub(super) fn size(&self) -> Bytes {
        Bytes(self.disk.info().size)
    }

    pub(crate) fn read(&mut self, range: Range) -> block::Result<Vec<u8>> {
        self.disk.read(range)
    }

    pub(crate) fn write_zeroes(&mut self, range: Range, unmap: Unmap) -> block::Result<()> {
        self.disk.write_zeroes(range, unmap)
    }

    /// Says that nothing in `range` is needed any more; what the device does is its own matter.
    pub(crate) fn discard(&mut self, range: Range) {
        let _ = self.disk.discard(range);
    }

    pub(crate) fn write(&mut self, start: Bytes, bytes: &[u8]) -> block::Result<()> {
        self.disk.write(start, bytes)?;
        log::debug(|| {
            format!(
                "{}: wrote {} bytes at byte {}",
                self.name(),
                bytes.len(),
                start.0
            )
        });
        Ok(())
    }

    /// Makes what was written durable, unless the flush policy leaves this flush out.
    pub(crate) fn flush(
        &mut self,
        flush_policy: FlushPolicy,
        point: FlushPoint,
    ) -> block::Result<()> {
        if flush_policy.keeps(point) {
            self.disk.flush()?;
            log::debug(|| format!("{}: flushed ({point:?})", self.name()));
            Ok(())
        } else {
            Ok(())
        }
    }

    /// Writes the label as it stands in memory.
    pub(super) fn write_label(&mut self) -> Result<()> {
        let sector = self.label.encode()?;
        let start = Bytes(self.label.sector * lvm2::SECTOR_SIZE);
        let end = start.0 + sector.len() as u64;
        assert!(
            end <= LABEL_SCAN_SIZE as u64,
            "a label lies where it is looked for"
        );
        self.write(start, &sector).map_err(|error| {
            let what = format!(
                "cannot write the label of {}; check the device",
                self.name()
            );
            Error::new(Kind::Device, what).because(error)
        })
    }
}

impl OpenArea {
    /// Whether metadata is kept in it. A damaged one is: it gets a new header.
    pub fn usage(&self) -> AreaUse {
        self.header
            .as_ref()
            .map_or(AreaUse::Used, |header| header.usage)
    }

    /// Whether it holds a text of this group.
    pub fn holds(&self, uuid: Uuid) -> bool {
        matches!(self.held, Held::Version { group, .. } if group == uuid)
    }

    /// The texts that the header points to.
    pub(super) fn live(&self) -> Vec<RawLocation> {
        let header = self.header.iter();
        header
            .flat_map(|header| header.committed.into_iter().chain(header.precommitted))
            .collect()
    }
}

/// Makes what was read from all of `pvs` durable.
pub fn adopt(pvs: &mut [OpenPv], flush_policy: FlushPolicy) -> Result<()> {
    for pv in pvs {
        pv.flush(flush_policy, FlushPoint::Adopted)
            .map_err(|error| {
                let what = format!(
                    "cannot flush {}; nothing was changed, check the device",
                    pv.name()
                );
                Error::new(Kind::Device, what).because(error)
            })?;
    }
    Ok(())
}

fn read_all(disk: &mut Disk) -> Result<(Label, Vec<OpenArea>)> {
    let (name, io) = (disk.name().to_owned(), disk);
    let size = io.info().size;
    let head = Range::new(0, size.min(LABEL_SCAN_SIZE as u64));
    let head = io.read(head).map_err(|error| unreadable(&name, error))?;
    let label = Label::scan(&head).label.ok_or_else(|| {
        let what = format!("{name} is no physical volume any more; run the command again");
        Error::new(Kind::Damaged, what)
    })?;
    let mut areas = Vec::new();
    for span in label.metadata_areas() {
        areas.push(read_area(&name, io, *span)?);
    }
    Ok((label, areas))
}

fn read_area(name: &str, io: &mut Disk, span: Span) -> Result<OpenArea> {
    let damaged = OpenArea {
        span,
        header: None,
        held: Held::Damaged,
    };
    let size = Bytes(io.info().size);
    if span
        .end_within(size)
        .is_none_or(|_| span.size.0 < AREA_HEADER_SIZE as u64)
    {
        return Ok(damaged);
    }
    let sector = Range::new(span.offset.0, AREA_HEADER_SIZE as u64);
    // Where the live text lies has to be known: the new one must not be written over it.
    let sector = io.read(sector).map_err(|error| unreadable(name, error))?;
    let Ok(header) = AreaHeader::decode(&sector, span, size) else {
        return Ok(damaged);
    };
    assert_eq!(header.start, span.offset, "a header begins its area");
    let held = match &header.committed {
        None => Held::Nothing,
        Some(location) => read_held(name, io, &header, location)?,
    };
    Ok(OpenArea {
        span,
        header: Some(header),
        held,
    })
}

fn read_held(
    name: &str,
    io: &mut Disk,
    header: &AreaHeader,
    location: &RawLocation,
) -> Result<Held> {
    let mut text = Vec::new();
    let Ok(spans) = Ring::new(header).spans(location) else {
        return Ok(Held::Damaged);
    };
    for span in spans {
        let piece = Range::new(header.start.0 + span.offset.0, span.size.0);
        // What cannot be read now may be read later: it must not be taken for nothing.
        text.extend(io.read(piece).map_err(|error| unreadable(name, error))?);
    }
    assert_eq!(text.len() as u64, location.size.0, "all of a text is read");
    let group = || -> lvm2::Result<Held> {
        location.verify(&text)?;
        let text = text.strip_suffix(&[0]).unwrap_or(&text);
        let group = from_text(&parse(text)?)?;
        Ok(Held::Version {
            group: group.uuid,
            seqno: group.seqno,
        })
    };
    Ok(group().unwrap_or(Held::Damaged))
}
