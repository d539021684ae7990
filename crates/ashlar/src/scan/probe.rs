//! One device, read: label, header, metadata areas, texts; or a partition table.
//!
//! ```text
//!   0        8 KiB           areas                texts
//!   |label…  | 1 read        | 1 read each (none  | 1 or 2 reads each
//!                              where the first
//!                              read had it)
//! ```
//!
//! Nothing on a device is believed: places are checked against the device's size, lists are short,
//! and what is damaged is a finding while the rest goes on.

use std::sync::Arc;

use block::Range;
use dm::raid::md::{self, Claim};
use lvm2::ondisk::{AREA_HEADER_SIZE, AreaHeader, AreaUse, Label, Ring, Span};
use lvm2::{Bytes, SECTOR_SIZE};

use super::finding::{Finding, FindingKind, Severity};
use super::source::Source;
use super::texts::{Text, Texts};
use crate::host::{Candidate, DeviceId, DeviceNumber, KernelPartitions, Location, Origin, Window};
use crate::{Error, Result};

/// The first read: the label's sectors, and the header of the first area where stock puts it.
pub(super) const HEAD_SIZE: u64 = 8192;
/// The most metadata areas that are looked at. LVM2 makes two.
const AREAS_MAX: usize = 4;
/// Where the type stands in a label's sector.
const LABEL_TYPE: usize = 24;

/// A device that was looked at.
#[derive(Debug, Clone)]
pub(super) struct Probed {
    pub(super) name: String,
    pub(super) location: Location,
    pub(super) number: Option<DeviceNumber>,
    pub(super) id: Option<DeviceId>,
    pub(super) size: u64,
    pub(super) content: ProbedContent,
    /// It is a device of an array of md's, and what it says of that.
    pub(super) claim: Option<Box<Claim>>,
    /// Without the device, which has no index yet.
    pub(super) findings: Vec<Finding>,
}

/// What was on it.
#[derive(Debug, Clone)]
pub(super) enum ProbedContent {
    Pv(Box<ProbedPv>),
    Other,
    Partitions,
    Skipped(String),
    Unreadable,
}

/// A physical volume.
#[derive(Debug, Clone)]
pub(super) struct ProbedPv {
    pub(super) label: Label,
    pub(super) areas: Vec<ProbedArea>,
}

/// A metadata area of it.
#[derive(Debug, Clone)]
pub(super) struct ProbedArea {
    pub(super) span: Span,
    pub(super) header: Option<AreaHeader>,
    /// The text, or why it cannot be used; `None` where there is none, or the area is set aside.
    pub(super) text: Option<std::result::Result<Arc<Text>, Unusable>>,
}

/// Why a metadata area, or the text in it, cannot be used.
#[derive(Debug, Clone)]
pub(super) struct Unusable {
    /// A sentence.
    pub(super) why: String,
    /// Where LVM2 would find the same.
    pub(super) known: Option<Known>,
}

/// What LVM2 has words for, too.
#[derive(Debug, Clone)]
pub(super) enum Known {
    /// These parts of a header are wrong.
    Header(Vec<String>),
    /// A text is not what its checksum says, at this byte of the device.
    Text(u64),
}

impl Probed {
    /// A device that nothing is known about yet.
    pub(super) fn new(candidate: &Candidate, content: ProbedContent) -> Self {
        Self {
            name: candidate.name.clone(),
            location: candidate.location.clone(),
            number: candidate.number,
            id: candidate.id.clone(),
            size: 0,
            content,
            claim: None,
            findings: Vec::new(),
        }
    }

    pub(super) fn unreadable(mut self, error: &Error) -> Self {
        let finding = Finding::new(FindingKind::Unreadable, Severity::Error, error.to_string());
        self.findings
            .push(finding.remedy("check the device, or leave it out with --devices"));
        self.content = ProbedContent::Unreadable;
        self
    }
}

/// The beginning of a device, where its label is.
pub(super) fn read_head(source: &Source) -> Result<Vec<u8>> {
    source.read(0, source.size().min(HEAD_SIZE) as usize)
}

/// Asks the kernel for what will be read behind this head: texts whose header is in it, and other
/// headers; without a label superblocks of md's. What is wrong with any of it is found when it is
/// read.
pub(super) fn ask_for_texts(source: &Source, head: &[u8]) {
    let Some(label) = Label::scan(head).label else {
        for (_, range) in md::candidates(source.size()) {
            if range.end() > HEAD_SIZE {
                source.ask_for(range.start(), range.len());
            }
        }
        return;
    };
    for span in label.metadata_areas().iter().take(AREAS_MAX) {
        let Some(sector) = header_in(head, *span) else {
            source.ask_for(span.offset.0, AREA_HEADER_SIZE as u64);
            continue;
        };
        let Ok(header) = AreaHeader::decode(sector, *span, Bytes(source.size())) else {
            continue;
        };
        let location = header.committed.as_ref();
        let spans = location.and_then(|location| Ring::new(&header).spans(location).ok());
        for span in spans.into_iter().flatten() {
            source.ask_for(header.start.0 + span.offset.0, span.size.0);
        }
    }
}

/// Looks at a device that is open, and at its partitions if nobody else does.
pub(super) fn probe_source(
    candidate: &Candidate,
    source: &Source,
    head: Result<Vec<u8>>,
    texts: &Texts,
) -> Vec<Probed> {
    let probed = Probed::new(candidate, ProbedContent::Other);
    let (mut probed, head) = match examine(probed, source, head, texts) {
        Ok(done) => done,
        Err(probed) => return vec![*probed],
    };
    if matches!(probed.content, ProbedContent::Skipped(_)) {
        return vec![probed];
    }
    let has_partitions = candidate.kernel_partitions == KernelPartitions::Present;
    let is_old = |claim: &Claim| claim.place == md::Place::EndOld;
    if has_partitions && probed.claim.as_deref().is_some_and(is_old) {
        // It may be the last partition's.
        probed.claim = None;
    }
    if probed.claim.is_some() {
        return vec![probed];
    }
    if has_partitions {
        refuse_label(&mut probed);
        probed.content = ProbedContent::Partitions;
        return vec![probed];
    }
    let table = super::partitions::find(source, &probed.name, &head);
    if !table.windows.is_empty() {
        refuse_label(&mut probed);
        probed.content = ProbedContent::Partitions;
        probed.findings.extend(table.findings);
        let mut all = vec![probed];
        all.extend(look_into(candidate, &table.windows, source, texts));
        assert_eq!(
            all.len(),
            1 + table.windows.len(),
            "a device has a whole and parts"
        );
        return all;
    }
    if matches!(probed.content, ProbedContent::Other) {
        probed.findings.extend(table.findings);
        if candidate.origin == Origin::Named {
            probed.findings.extend(foreign_format(&probed.name, &head));
        }
    }
    vec![probed]
}

/// A label on a disk that has partitions is a leftover, or the partitions are: stock does not use
/// it either.
fn refuse_label(probed: &mut Probed) {
    if matches!(probed.content, ProbedContent::Pv(_)) {
        let message = format!("{} has partitions; its label is not used", probed.name);
        let remedy = "if it is a physical volume and not a partitioned disk, remove the partition \
                      table (wipefs -a -t gpt,dos)";
        let finding = Finding::new(FindingKind::SecondLabel, Severity::Warning, message);
        probed.findings.push(finding.remedy(remedy));
    }
}

/// Looks for a physical volume on `source`; gives back its head.
fn examine(
    mut probed: Probed,
    source: &Source,
    head: Result<Vec<u8>>,
    texts: &Texts,
) -> std::result::Result<(Probed, Vec<u8>), Box<Probed>> {
    probed.size = source.size();
    let head = match head {
        Ok(head) => head,
        Err(error) => return Err(Box::new(probed.unreadable(&error))),
    };
    let scan = Label::scan(&head);
    let has_label = scan.label.is_some();
    let damaged: Vec<_> = scan
        .problems
        .iter()
        .filter(|problem| !is_wiped(&head, problem.sector))
        .collect();
    for problem in &damaged {
        let message = format!("{}: {}", probed.name, problem.error);
        probed.findings.push(if has_label {
            Finding::new(FindingKind::SecondLabel, Severity::Warning, message)
                .remedy("wipe it if it is a leftover (dd one sector of zeros over it)")
        } else {
            Finding::new(FindingKind::DamagedLabel, Severity::Error, message).remedy(
                "its physical volume is not used: write the label again with \
                 pvcreate --uuid UUID --restorefile BACKUP, or wipe it with wipefs",
            )
        });
    }
    match scan.label {
        Some(label) => {
            // A volume that was made on an array has the array's size, which is less than a leg's.
            if label.pv.device_size.0 != source.size()
                && let Err(error) = find_claim(&mut probed, source)
            {
                skip_damaged(&mut probed, &error);
            }
            if matches!(probed.content, ProbedContent::Other) && probed.claim.is_none() {
                probed.content = ProbedContent::Pv(Box::new(read_pv(label, source, &head, texts)));
            }
        }
        None if !damaged.is_empty() => probed.content = ProbedContent::Unreadable,
        // What is left of a superblock is a signature, for who makes something of the disk.
        None => {
            if let Err(error) = find_claim(&mut probed, source) {
                let message = format!("{}: an md superblock is damaged: {error}", probed.name);
                let finding = Finding::new(FindingKind::Skipped, Severity::Note, message);
                let remedy = "if it is a leg of an array, leave it out and name the other legs";
                probed.findings.push(finding.remedy(remedy));
            }
        }
    }
    Ok((probed, head))
}

/// Whether the label in a sector was taken away on purpose: wipefs zeroes the type and leaves the
/// rest.
fn is_wiped(head: &[u8], sector: u64) -> bool {
    let at = sector as usize * SECTOR_SIZE as usize + LABEL_TYPE;
    head.get(at..at + 8) == Some(&[0; 8])
}

fn read_pv(label: Label, source: &Source, head: &[u8], texts: &Texts) -> ProbedPv {
    let spans = label.metadata_areas().iter().take(AREAS_MAX);
    let areas: Vec<ProbedArea> = spans
        .map(|span| read_area(*span, source, head, texts))
        .collect();
    assert!(areas.len() <= AREAS_MAX, "areas have a limit");
    ProbedPv { label, areas }
}

fn read_area(span: Span, source: &Source, head: &[u8], texts: &Texts) -> ProbedArea {
    let mut known = None;
    let mut header = || -> Result<AreaHeader> {
        let read;
        let sector = if let Some(sector) = header_in(head, span) {
            sector
        } else {
            read = source.read(span.offset.0, AREA_HEADER_SIZE)?;
            &read
        };
        let decoded = AreaHeader::decode(sector, span, Bytes(source.size()));
        if decoded.is_err() {
            let wrong = AreaHeader::wrong_parts(sector, span);
            known = (!wrong.is_empty()).then_some(Known::Header(wrong));
        }
        Ok(decoded?)
    };
    let header = match header() {
        Ok(header) => header,
        Err(error) => {
            let why = error.to_string();
            return ProbedArea {
                span,
                header: None,
                text: Some(Err(Unusable { why, known })),
            };
        }
    };
    let text = match header.usage {
        AreaUse::Used => read_text(&header, source, texts).transpose(),
        AreaUse::Ignored => None,
    };
    ProbedArea {
        span,
        header: Some(header),
        text,
    }
}

/// The header of the area at `span`, if it is in the head.
fn header_in(head: &[u8], span: Span) -> Option<&[u8]> {
    let start = usize::try_from(span.offset.0).ok()?;
    head.get(start..start.checked_add(AREA_HEADER_SIZE)?)
}

fn read_text(
    header: &AreaHeader,
    source: &Source,
    texts: &Texts,
) -> std::result::Result<Option<Arc<Text>>, Unusable> {
    let Some(location) = header.committed else {
        return Ok(None);
    };
    let unusable = |error: Error, known| Unusable {
        why: error.to_string(),
        known,
    };
    let spans = Ring::new(header).spans(&location);
    let spans = spans.map_err(|error| unusable(error.into(), None))?;
    let read = || -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for span in spans {
            let piece = source.read(header.start.0 + span.offset.0, span.size.0 as usize)?;
            if bytes.is_empty() {
                bytes = piece;
            } else {
                bytes.extend_from_slice(&piece);
            }
        }
        assert_eq!(bytes.len() as u64, location.size.0, "all of a text is read");
        location.verify(&bytes)?;
        Ok(bytes)
    };
    let text = texts.take(location.checksum, location.size.0, read);
    text.map(Some).map_err(|error| {
        let is_damaged = error.kind() == crate::Kind::Damaged;
        let at = header.start.0.saturating_add(location.offset.0);
        unusable(error, is_damaged.then_some(Known::Text(at)))
    })
}

/// The partitions of an image, or of a block device that the kernel does not look into.
fn look_into(
    candidate: &Candidate,
    windows: &[Window],
    source: &Source,
    texts: &Texts,
) -> Vec<Probed> {
    let look = |window: &Window| {
        let mut part = Probed::new(candidate, ProbedContent::Other);
        part.location.window = Some(*window);
        part.name = format!("{}:{}", candidate.name, window.partition);
        part.number = None;
        part.id = None;
        match source.window(*window, &part.name) {
            Ok(inner) => match examine(part, &inner, read_head(&inner), texts) {
                Ok((part, _)) => part,
                Err(part) => *part,
            },
            Err(error) => part.unreadable(&error),
        }
    };
    windows.iter().map(look).collect()
}

/// Asks the device what array it is of.
fn find_claim(probed: &mut Probed, source: &Source) -> dm::Result<()> {
    let read = |range: Range| {
        let bytes = source.read(range.start(), range.len() as usize);
        bytes.map_err(|error| dm::Error::new(dm::Kind::Device, error.to_string()))
    };
    probed.claim = md::find(source.size(), read)?.map(Box::new);
    Ok(())
}

/// What a device holds whose superblock is damaged may be an array's: it is not taken for a disk of
/// its own.
fn skip_damaged(probed: &mut Probed, error: &dm::Error) {
    let reason = format!("it is of a software RAID array, with a superblock: {error}");
    let message = format!("{} is not used: {reason}", probed.name);
    let finding = Finding::new(FindingKind::Skipped, Severity::Warning, message);
    let remedy = "name the array's other devices; if there is no such array, mdadm \
                  --zero-superblock removes what is left of it";
    probed.findings.push(finding.remedy(remedy));
    probed.content = ProbedContent::Skipped(reason);
}

/// A hint for who names an image that is not raw.
fn foreign_format(name: &str, head: &[u8]) -> Option<Finding> {
    let magics: [(&[u8], &str); 4] = [
        (b"QFI\xfb", "qcow2"),
        (b"KDMV", "vmdk"),
        (b"conectix", "vpc"),
        (b"vhdxfile", "vhdx"),
    ];
    let (_, format) = magics.iter().find(|(magic, _)| head.starts_with(magic))?;
    let message = format!("{name} is an image in the format {format}, of which nothing is read");
    let remedy = format!(
        "convert it (qemu-img convert -f {format} -O raw), or connect it with qemu-nbd and name \
         that device"
    );
    Some(Finding::new(FindingKind::Skipped, Severity::Warning, message).remedy(remedy))
}
