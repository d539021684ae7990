//! `pvck --repair`: a label, and metadata, as a backup of the group says that they were.

use std::path::Path;

use ashlar::apply::{NewLabel, Planned, Question, Request, Signatures};
use ashlar::host::Location;
use ashlar::scan::{Content, DeviceIndex, Duplicate, Scan, Source};
use ashlar::{Error as Failure, Kind};
use lvm2::model::{PvId, VolumeGroup, to_text};
use lvm2::ondisk::{AREA_HEADER_SIZE, AreaHeader, LABEL_SCAN_SIZE, Label, Span};
use lvm2::plan::initialise::Initialised;
use lvm2::plan::repair::{AREA_START, FoundArea, PvRepair, mended_label, no_header, rewritten};
use lvm2::plan::{Change, Message};
use lvm2::text::Style;
use lvm2::{Bytes, SECTOR_SIZE, Sectors, Uuid};

use super::backup_file::read;
use super::finder::Finder;
use super::work::Work;
use crate::args::{Arguments, Error, Flag, flags};
use crate::commands::pvck::{Headers, Settings, label_sector, no_access};

/// `--repair`
pub(in crate::commands) const REPAIR: Flag = Flag::switch(
    "repair",
    "Write the label, the header and the metadata anew, as they are in --file: a backup of the \
     group, or what --dump metadata has printed.",
);
/// `--repairtype`
pub(in crate::commands) const REPAIR_TYPE: Flag = Flag::value(
    "repairtype",
    "pv_header|metadata|label_header",
    "Write only this anew: the label with the header of the physical volume, or the metadata, both \
     from --file; or what is around the header in the label, from what it says itself.",
);

/// Behind its extents a device is searched so far for its second metadata area, in bytes.
const SEARCHED_MAX: u64 = 64 << 20;

/// What is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    LabelHeader,
    PvHeader,
    Metadata,
    Both,
}

/// Repairs the one device that is named.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let what = what(arguments)?;
    let [device] = arguments.operands() else {
        return Err(Error::usage(
            "pvck: name one device, as in: pvck --repair -f FILE /dev/sdb",
        ));
    };
    let finder = work.finder();
    require_device(&finder, device, work)?;
    let settings = Settings::parse(arguments.values(&flags::SETTINGS))?;
    let file = arguments.value(&flags::FILE);
    let backup = file.map(|file| group_of(&work.path(file), file));
    let backup = backup.transpose()?.filter(|_| what != What::LabelHeader);
    if what == What::Metadata && backup.is_none() {
        return Err(Error::failed("Metadata input file is required."));
    }
    examine(arguments, what, &settings, work)?;
    if what == What::PvHeader && backup.is_none() {
        return Err(Error::failed(
            "Metadata input file is needed for pv_header info.\nSee pvck --dump to locate and \
             create a metadata file.",
        ));
    }
    let request = Request {
        changes_pvs: true,
        ..work.request()
    };
    work.change(&request, |scan, _| {
        let index = finder.device(scan, device)?;
        let mut layout = match &backup {
            None => label_only(scan, index)?,
            Some(backup) => repaired(scan, index, backup, what, &settings)?,
        };
        let name = &scan.device(index).name;
        let objects: &[&str] = match what {
            What::LabelHeader | What::PvHeader => &["header"],
            What::Metadata => &["metadata"],
            What::Both => &["header", "metadata"],
        };
        let questions = objects.iter().map(|object| Question {
            text: format!("Write new LVM {object} to {name}? "),
            refusal: "Command failed with status code 5.".to_owned(),
        });
        let mut said = std::mem::take(&mut layout.messages);
        let of_metadata = said.split_off(said.len().min(OF_HEADER));
        let announced = match what {
            What::Both => vec![said, of_metadata],
            _ => vec![[said, of_metadata].concat()],
        };
        Ok(Planned {
            questions: questions.collect(),
            announced,
            new: vec![NewLabel {
                device: index,
                layout,
                others: Signatures::Kept,
            }],
            change: Change {
                messages: warnings(scan, backup.as_ref(), what),
                ..Change::default()
            },
            ..Planned::default()
        })
    })?;
    Ok(())
}

fn require_device(finder: &Finder, device: &str, work: &Work<'_>) -> Result<(), Error> {
    if finder.device(&*work.scan()?, device).is_ok() {
        return Ok(());
    }
    let what = no_access(device, false);
    Err(Error::failed(if what.starts_with("Cannot use") {
        what
    } else {
        format!("{what}\nFailed to set up device {device}.")
    }))
}

/// How many lines say what is written with the header of a physical volume.
const OF_HEADER: usize = 2;

/// The group in a file; that there is nothing to read is said as stock says it.
fn group_of(path: &Path, shown: &str) -> Result<VolumeGroup, Error> {
    match std::fs::metadata(path) {
        Err(_) => Err(Error::failed(format!("Cannot open file: {shown}"))),
        Ok(found) if found.is_file() && found.len() == 0 => {
            Err(Error::failed(format!("Empty file: {shown}")))
        }
        Ok(_) => read(path),
    }
}

/// Says what is wrong with the headers that are there, and asks what has to be known of them.
fn examine(
    arguments: &Arguments,
    what: What,
    settings: &Settings,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    // What has no path is looked at when the disks are.
    let device = &arguments.operands()[0];
    let Ok(source) = Source::open(&Location::whole(work.path(device)), device) else {
        return Ok(());
    };
    let Ok(headers) = Headers::read(&source, label_sector(arguments)) else {
        return Ok(());
    };
    for line in headers.label_checks() {
        work.note(line);
    }
    let has_label = headers.label_sector().is_some();
    match what {
        What::Metadata if !has_label => {
            return Err(Error::failed(
                "No lvm label found on device.\nSee --repairtype pv_header to repair headers.",
            ));
        }
        What::Metadata if settings.number > headers.count_areas() && settings.area.is_none() => {
            return Err(Error::failed(
                "No mda2 offset found.\nSee --repairtype pv_header to repair headers.",
            ));
        }
        What::Metadata => return Ok(()),
        _ if has_label => return Ok(()),
        _ => {}
    }
    work.warn(&format!(
        "No LVM label found on {device}.  It may not be an LVM device."
    ));
    let is_without = settings.area.is_some_and(|area| area.size == Bytes(0));
    if what == What::LabelHeader {
        return Err(Error::failed(no_header(device)));
    }
    if is_without {
        return Ok(());
    }
    work.warn("no previous metadata areas found on device.");
    if work.agrees("Should a metadata area be included? ") {
        return Ok(());
    }
    Err(Error::failed(
        "To repair with zero metadata areas, use --settings \"mda_offset=0 mda_size=0\".",
    ))
}

fn what(arguments: &Arguments) -> Result<What, Error> {
    match (arguments.has(&REPAIR), arguments.value(&REPAIR_TYPE)) {
        (true, None) => Ok(What::Both),
        (false, Some("pv_header")) => Ok(What::PvHeader),
        (false, Some("metadata")) => Ok(What::Metadata),
        (false, Some("label_header")) => Ok(What::LabelHeader),
        (_, _) => Err(Error::form("Command does not accept option: --repair.")),
    }
}

fn source_of(scan: &Scan, index: DeviceIndex) -> ashlar::Result<Source> {
    let device = scan.device(index);
    if let Content::Skipped(reason) = &device.content {
        let what = format!("Cannot use {}: {reason}", device.name);
        return Err(Failure::new(Kind::Refused, what));
    }
    Source::open(&device.location, &device.name)
}

fn head(source: &Source) -> ashlar::Result<Vec<u8>> {
    source.read(0, source.size().min(LABEL_SCAN_SIZE as u64) as usize)
}

fn label_only(scan: &Scan, index: DeviceIndex) -> ashlar::Result<Initialised> {
    let source = source_of(scan, index)?;
    let label = mended_label(&head(&source)?, &scan.device(index).name)?;
    Ok(rewritten(label, Bytes(source.size()))?)
}

/// What is written to a device that was one of the group in `backup`.
fn repaired(
    scan: &Scan,
    index: DeviceIndex,
    backup: &VolumeGroup,
    what: What,
    settings: &Settings,
) -> ashlar::Result<Initialised> {
    let device = scan.device(index);
    let source = source_of(scan, index)?;
    let label = Label::scan(&head(&source)?).label;
    let pv = which(scan, index, backup, label.as_ref(), settings)?;
    require_not_elsewhere(scan, index, backup.pv(pv).uuid)?;
    let size = Bytes(source.size());
    let found = areas(&source, backup, pv, label.as_ref(), settings);
    let repair = PvRepair {
        device: &device.name,
        device_size: size,
        group: backup,
        pv,
        areas: &found,
        label: label.as_ref(),
    };
    let text = text(scan, backup);
    Ok(match what {
        What::PvHeader => repair.header()?,
        What::Metadata => repair.metadata(&text)?,
        What::Both | What::LabelHeader => repair.both(&text)?,
    })
}

/// The text to be written: where other physical volumes have this version, theirs, byte for byte.
fn text(scan: &Scan, backup: &VolumeGroup) -> Vec<u8> {
    let mut same = scan.groups.iter().filter(|group| {
        let on_disk = to_text(&group.model, Style::Raw);
        group.uuid == backup.uuid && group.seqno == backup.seqno && {
            let mut ours = backup.clone();
            ours.header = group.model.header.clone();
            to_text(&ours, Style::Raw) == on_disk
        }
    });
    match same.next() {
        Some(group) => group.text.to_vec(),
        None => to_text(backup, Style::Raw),
    }
}

/// Which physical volume of the group the device is: what its label or the settings say, else the
/// one whose device had this name.
fn which(
    scan: &Scan,
    index: DeviceIndex,
    backup: &VolumeGroup,
    label: Option<&Label>,
    settings: &Settings,
) -> ashlar::Result<PvId> {
    let name = &scan.device(index).name;
    let known = label.map(|label| label.pv.uuid);
    if let Some(uuid) = settings.pv_uuid.or(known) {
        return backup.pv_by_uuid(&uuid).ok_or_else(|| {
            let (shown, place) = match settings.pv_uuid {
                Some(_) => (uuid.to_string(), ""),
                None => (uuid.to_string().replace('-', ""), " in existing pv_header"),
            };
            let what = format!(
                "PV UUID {shown}{place} not found in metadata file.\nNo valid PV UUID, specify a \
                 PV UUID from metadata in --settings."
            );
            Failure::new(Kind::NotFound, what)
        });
    }
    let mut all = backup.pvs();
    if let Some((pv, _)) = all.find(|(_, pv)| pv.device.as_deref() == Some(name)) {
        return Ok(pv);
    }
    let what = format!(
        "PV name {name} not found in metadata file.\nNo valid PV UUID, specify a PV UUID from \
         metadata in --settings."
    );
    Err(Failure::new(Kind::NotFound, what))
}

/// An identity must not be given to two. Where two have it, the one that is used may be repaired.
fn require_not_elsewhere(scan: &Scan, index: DeviceIndex, uuid: Uuid) -> ashlar::Result<()> {
    let all = scan.physical_volumes.iter();
    let mut used = all.filter(|pv| pv.uuid == uuid && pv.duplicate != Duplicate::Unchosen);
    match used.find(|pv| pv.device != index) {
        None => Ok(()),
        Some(other) => {
            let (uuid, other) = (uuid.as_str(), &scan.device(other.device).name);
            let what = format!("Cannot use PV UUID {uuid} which exists on {other}");
            Err(Failure::new(Kind::Refused, what))
        }
    }
}

/// The metadata areas: what the settings say, else the label, else what is found.
fn areas(
    source: &Source,
    backup: &VolumeGroup,
    pv: PvId,
    label: Option<&Label>,
    settings: &Settings,
) -> Vec<FoundArea> {
    let said = [settings.area, settings.second_area];
    let said: Vec<Span> = said.into_iter().flatten().collect();
    if !said.is_empty() {
        return said.into_iter().map(|span| found(source, span)).collect();
    }
    if let Some(label) = label {
        let spans = label.pv.metadata_areas.iter();
        return spans.map(|span| found(source, *span)).collect();
    }
    let pv = backup.pv(pv);
    let first = pv.pe_start.to_bytes().unwrap_or_default();
    let end = pv.pe_count.to_sectors(backup.extent_size);
    let end = end.and_then(|length| pv.pe_start.checked_add(length));
    let end = end.and_then(Sectors::to_bytes).unwrap_or(Bytes(u64::MAX));
    let default = Span {
        offset: AREA_START,
        size: first.checked_sub(AREA_START).unwrap_or_default(),
    };
    let mut all: Vec<FoundArea> = search(source, default).into_iter().collect();
    let searched = source.size().min(end.0.saturating_add(SEARCHED_MAX));
    let starts = (end.0..searched).step_by(SECTOR_SIZE as usize);
    let second = starts.filter_map(|offset| {
        let size = Bytes(source.size().saturating_sub(offset));
        let offset = Bytes(offset);
        search(source, Span { offset, size })
    });
    all.extend(second.take(1));
    all
}

/// The area at `span`, which counts also where its header is damaged.
fn found(source: &Source, span: Span) -> FoundArea {
    let sector = source.read(span.offset.0, AREA_HEADER_SIZE).ok();
    let size = Bytes(source.size());
    let header = sector.and_then(|sector| AreaHeader::decode(&sector, span, size).ok());
    FoundArea { span, header }
}

/// The area that begins where `span` does, if a good header says so; it says how long it is.
fn search(source: &Source, span: Span) -> Option<FoundArea> {
    let header = found(source, span).header?;
    let span = Span {
        offset: header.start,
        size: header.size,
    };
    Some(FoundArea {
        span,
        header: Some(header),
    })
}

/// What else there is of the group, where it is not what is written.
fn warnings(scan: &Scan, backup: Option<&VolumeGroup>, what: What) -> Vec<Message> {
    let Some(backup) = backup.filter(|_| what != What::PvHeader) else {
        return Vec::new();
    };
    let others = scan.groups.iter().filter(|group| group.uuid == backup.uuid);
    let warned = others.filter_map(|group| {
        let (now, then) = (group.seqno, backup.seqno);
        let what = match now.cmp(&then) {
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Greater => format!(
                "The metadata of {} has seqno {then} in the file and {now} on other devices, which \
                 counts; vgck --updatemetadata {} brings this device up to it.",
                group.name, group.name
            ),
            std::cmp::Ordering::Less => format!(
                "The metadata of {} has seqno {then} in the file and {now} on other devices: what \
                 the file says counts from now on.",
                group.name
            ),
        };
        Some(Message::warning(what))
    });
    warned.collect()
}
