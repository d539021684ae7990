//! `pvck`: what stands in the headers and metadata areas of one device, good or damaged.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use ashlar::host::Location;
use ashlar::scan::Source;
use lvm2::Bytes;
use lvm2::ondisk::{AreaHeader, RawLocation, Ring, Span, Version, versions};

use super::Session;
use super::change::pvck::{REPAIR, REPAIR_TYPE};
use crate::args::{Arguments, Command, Error, Example, flags};

mod headers;
mod settings;

pub(in crate::commands) use headers::Headers;
use headers::{Area, Line};
pub(in crate::commands) use settings::Settings;

/// `pvck`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "pvck",
    summary: "Check, print or repair the headers and metadata of a device",
    operands: "DEVICE ...",
    description: "Looks at one device only, and at it as it is: nothing has to be in order. \
        Without --dump says whether a label and which metadata areas were found. With --dump \
        prints the headers (damaged values are marked CHECK), the current metadata, all versions \
        that are still in a metadata area, or copies an area into a file. With --repair writes \
        headers and metadata anew from a backup of the group, where they are damaged or gone; \
        other devices are not touched, and neither is what is behind the headers.",
    flags: &[
        &[
            flags::DUMP,
            flags::FILE,
            flags::SETTINGS,
            flags::LABEL_SECTOR,
            flags::PV_METADATA_COPIES,
            REPAIR,
            REPAIR_TYPE,
        ],
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "pvck --dump headers /dev/sdb",
            does: "prints all headers",
        },
        Example {
            line: "pvck --dump metadata_search --settings seqno=40 -f old.txt /dev/sdb",
            does: "saves version 40 of the metadata, found without the headers' help",
        },
        Example {
            line: "pvck --repair -f /etc/lvm/backup/vg0 /dev/sdb",
            does: "makes /dev/sdb, whose first sectors were overwritten, a disk of vg0 again",
        },
    ],
    run,
};

/// The most of an area that is read; stock's default area has 1 MiB.
const AREA_READ_MAX: u64 = 256 << 20;

/// The place and the size of a first area, in bytes.
const FIRST_AREA: (u64, u64) = (4096, 1_044_480);
/// What the place of a second area is a multiple of, in bytes.
const SECOND_AREA: u64 = 1 << 20;

/// A device and what was asked of it.
struct Job<'a> {
    arguments: &'a Arguments,
    source: Source,
    headers: Headers,
    settings: Settings,
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.has(&REPAIR) || arguments.has(&REPAIR_TYPE) {
        return super::change::run(arguments, session);
    }
    let [device, ..] = arguments.operands() else {
        let what = "Name a device, as in: pvck --dump headers /dev/sdb";
        return Err(Error::lacking(arguments.command(), what));
    };
    if let Some(what) = arguments.value(&flags::DUMP) {
        return begin(arguments, device, session)?.dump(session, what);
    }
    check_all(arguments, session);
    Ok(())
}

/// Looks for the labels of all devices that are named.
fn check_all(arguments: &Arguments, session: &mut Session) {
    let is_one = arguments.operands().len() == 1;
    for device in arguments.operands() {
        let job = match begin(arguments, device, session) {
            Err(_) if !is_one && !is_there(device) => {
                session.fail_later(&format!("Cannot use {device}: device not found."));
                continue;
            }
            job => job,
        };
        if let Err(error) = job.and_then(|job| job.check(session, device)) {
            session.fail_later(&error.to_string());
        }
    }
}

/// Reads the headers of a device.
fn begin<'a>(
    arguments: &'a Arguments,
    device: &str,
    session: &mut Session,
) -> Result<Job<'a>, Error> {
    let source = open(arguments, device, session)?;
    let settings = Settings::parse(arguments.values(&flags::SETTINGS))?;
    let headers = Headers::read(&source, label_sector(arguments));
    let headers = headers.map_err(|error| Error::failed(error.to_string()))?;
    Ok(Job {
        arguments,
        source,
        headers,
        settings,
    })
}

/// The sector that is said to have the label.
pub(in crate::commands) fn label_sector(arguments: &Arguments) -> Option<usize> {
    arguments.value(&flags::LABEL_SECTOR)?.parse().ok()
}

fn is_there(device: &str) -> bool {
    let kind = std::fs::metadata(device).map(|known| known.file_type());
    kind.is_ok_and(|kind| kind.is_file() || kind.is_block_device())
}

/// Opens the device by its path, or by the name under which a partition of an image is known.
fn open(arguments: &Arguments, device: &str, session: &mut Session) -> Result<Source, Error> {
    let is_dump = arguments.has(&flags::DUMP);
    if is_dump && Path::new(device).exists() && !is_there(device) {
        return Err(Error::failed(format!(
            "Cannot use {device}: device not found."
        )));
    }
    let location = if is_there(device) && !arguments.has(&flags::DEVICES) {
        Location::whole(device)
    } else {
        let scan = session.quiet_disks(arguments)?.scan;
        let Some(known) = scan.find_device(device, None) else {
            return Err(Error::failed(no_access(device, is_dump)));
        };
        scan.device(known).location.clone()
    };
    Source::open(&location, device).map_err(|error| Error::failed(error.to_string()))
}

/// Why there is no such device to be looked at.
pub(in crate::commands) fn no_access(device: &str, is_dump: bool) -> String {
    if is_there(device) {
        return format!("Cannot use {device}: device is not in devices list.");
    }
    match (Path::new(device).exists(), is_dump) {
        // Stock's spelling.
        (true, false) => format!("Invaild device type {device}."),
        (_, false) => format!("Cannot access device {device}."),
        (_, true) => format!("Cannot access {device}."),
    }
}

impl Job<'_> {
    /// Prints what was asked for, and behind it whether the headers are good.
    fn dump(&self, session: &mut Session, what: &str) -> Result<(), Error> {
        let mut is_wrong = self.headers.is_damaged();
        if what == "headers" {
            for line in self.headers.lines() {
                let text = match line {
                    Line::Text(text) | Line::Check(text) => Some(text.clone()),
                    Line::CurrentText(index) => {
                        is_wrong |= self.say_current(session, *index)?;
                        None
                    }
                };
                if let Some(text) = text {
                    session.line(&text)?;
                }
            }
        } else {
            let is_search = what == "metadata_search";
            let all: Vec<&str> = if is_search {
                self.headers.label_checks().collect()
            } else {
                self.headers.checks().collect()
            };
            for line in all {
                session.line(line)?;
            }
            match what {
                "metadata" => is_wrong |= self.metadata(session)?,
                "metadata_area" => self.area(session)?,
                _ => self.all(session, is_search)?,
            }
            if is_search {
                return Ok(());
            }
        }
        // Of a device without a label nothing is expected.
        if is_wrong && self.headers.label_sector().is_some() {
            return Err(Error::failed("Found bad header or metadata values."));
        }
        Ok(())
    }

    fn check(&self, session: &mut Session, device: &str) -> Result<(), Error> {
        for line in self.headers.checks() {
            session.line(line)?;
        }
        let sector = self.headers.label_sector();
        let Some(sector) = sector.filter(|_| self.headers.has_known_type()) else {
            return Err(Error::failed(format!(
                "Could not find LVM label on {device}"
            )));
        };
        session.line(&format!(
            "Found label on {device}, sector {sector}, type=LVM2 001"
        ))?;
        for area in self.headers.areas().iter().filter(|area| !area.is_damaged) {
            let (offset, size) = (area.span.offset.0, area.span.size.0);
            session.line(&format!(
                "Found text metadata area: offset={offset}, size={size}"
            ))?;
        }
        if self.headers.is_damaged() {
            let what = format!(
                "Found bad header or metadata values on {device}; pvck --repair -f FILE {device} \
                 makes them anew from a backup of the group."
            );
            return Err(Error::failed(what));
        }
        Ok(())
    }

    /// The area that the settings choose, or the first.
    fn chosen(&self) -> Option<Area> {
        let span = self.settings.area.or_else(|| {
            let areas = self.headers.areas();
            Some(areas.get(self.settings.number.saturating_sub(1))?.span)
        })?;
        Area::read(&self.source, span)
    }

    fn read(&self, area: &Area) -> Result<Vec<u8>, Error> {
        let len = area.span.size.0.min(AREA_READ_MAX);
        let bytes = self.source.read(area.span.offset.0, len as usize);
        bytes.map_err(|error| Error::failed(error.to_string()))
    }

    /// Describes the text that the header of an area points to; whether its checksum is wrong.
    fn say_current(&self, session: &mut Session, index: usize) -> Result<bool, Error> {
        let text = self.current(&self.headers.areas()[index]);
        let Some((location, text)) = text.ok().flatten() else {
            return Ok(false);
        };
        let start = self.headers.areas()[index].span.offset.0 + location.offset.0;
        let is_wrong = say_mismatch(session, index, start, &location, &text)?;
        session.line(&describe_text(start, &text))?;
        Ok(is_wrong)
    }

    /// The text that the header of an area points to, and where that is in the area.
    fn current(&self, area: &Area) -> Result<Option<(RawLocation, Vec<u8>)>, Error> {
        let bytes = self.read(area)?;
        let header = area.header_for_texts();
        let Some(location) = header.committed else {
            return Ok(None);
        };
        let text = Ring::new(&header).text(&bytes, &location);
        let text = text.map_err(|error| Error::failed(error.to_string()))?;
        Ok(Some((location, text)))
    }

    /// The area that is meant; where there is none, that is said.
    fn area_or_none(&self, session: &mut Session) -> Result<Option<Area>, Error> {
        let has_areas = !self.headers.areas().is_empty();
        if has_areas && self.arguments.value(&flags::PV_METADATA_COPIES) == Some("0") {
            return Ok(None);
        }
        let chosen = self.chosen();
        if chosen.is_none() {
            if has_areas {
                session.line("CHECK: second mda not found")?;
                return Err(Error::failed("Found bad header or metadata values."));
            }
            session.line("zero metadata copies")?;
        }
        Ok(chosen)
    }

    /// The area that is searched: where none is known, that of a usual device.
    fn searched(&self, session: &mut Session) -> Result<Area, Error> {
        if self.settings.is_partly {
            return Err(Error::failed(
                "Specify at least two values from: mda_num, mda_offset, mda_size.",
            ));
        }
        let number = match self.arguments.value(&flags::PV_METADATA_COPIES) {
            Some("0") => return Err(Error::failed("No mda location.")),
            Some("2") => 2,
            _ => self.settings.number,
        };
        if let Some(area) = self.chosen().filter(|_| number == self.settings.number) {
            return Ok(area);
        }
        let size = self.source.size();
        let (which, offset, length) = if number == 2 {
            let last = size.saturating_sub(SECOND_AREA) / SECOND_AREA * SECOND_AREA;
            ("defaults for second", last, size - last)
        } else {
            ("common defaults for first", FIRST_AREA.0, FIRST_AREA.1)
        };
        session.line(&format!(
            "Using {which} mda: offset {offset} size {length}."
        ))?;
        session
            .line("Override defaults with --settings \"mda_offset=<bytes> mda_size=<bytes>\"")?;
        let span = Span {
            offset: Bytes(offset),
            size: Bytes(length),
        };
        Area::read(&self.source, span).ok_or_else(|| Error::failed("No mda location."))
    }

    /// Prints the text that counts; whether its checksum is wrong.
    fn metadata(&self, session: &mut Session) -> Result<bool, Error> {
        if let Some(offset) = self.settings.text_offset {
            return self.text_at(session, offset).map(|()| false);
        }
        let Some(area) = self.area_or_none(session)? else {
            return Ok(false);
        };
        let Some((location, text)) = self.current(&area)? else {
            if self.headers.areas().is_empty() {
                session.line("zero metadata copies")?;
            }
            return Ok(false);
        };
        let index = self.settings.number.saturating_sub(1);
        let start = area.span.offset.0 + location.offset.0;
        let is_wrong = say_mismatch(session, index, start, &location, &text)?;
        session.line(&describe_text(start, &text))?;
        self.put(session, &text)?;
        Ok(is_wrong)
    }

    /// A text where the settings say that one is.
    fn text_at(&self, session: &mut Session, offset: u64) -> Result<(), Error> {
        let area = self
            .chosen()
            .ok_or_else(|| Error::failed("There is no metadata area."))?;
        let found = self.found(&area)?;
        let start = area.span.offset.0;
        let version = found
            .iter()
            .find(|(version, _)| start + version.location.offset.0 == offset);
        let Some((_, text)) = version else {
            return Err(Error::failed(format!(
                "There is no metadata text at byte {offset}."
            )));
        };
        session.line(&describe_text(offset, text))?;
        self.put(session, text)
    }

    /// Prints a text, or writes it into the file that was asked for.
    fn put(&self, session: &mut Session, text: &[u8]) -> Result<(), Error> {
        let text = text.strip_suffix(b"\0").unwrap_or(text);
        if let Some(path) = self.arguments.value(&flags::FILE) {
            return save(path, text);
        }
        session.line("---")?;
        session.out().write_all(text)?;
        session.print("\n")?;
        Ok(session.line("---")?)
    }

    /// The versions in an area with their texts, by place.
    fn found(&self, area: &Area) -> Result<Vec<(Version, Vec<u8>)>, Error> {
        let bytes = self.read(area)?;
        let header = area.header_for_texts();
        let ring = Ring::new(&header);
        let mut found: Vec<(Version, Vec<u8>)> = versions(&bytes, &header)
            .into_iter()
            .filter_map(|version| {
                let text = ring.text(&bytes, &version.location).ok()?;
                Some((version, text))
            })
            .collect();
        found.sort_by_key(|(version, _)| version.location.offset);
        Ok(found)
    }

    fn all(&self, session: &mut Session, search: bool) -> Result<(), Error> {
        let area = if search {
            self.searched(session)?
        } else {
            match self.area_or_none(session)? {
                Some(area) => area,
                None => return Ok(()),
            }
        };
        let (start, size) = (area.span.offset.0, area.span.size.0);
        if search {
            session.line(&format!(
                "Searching for metadata at offset {start} size {size}"
            ))?;
        }
        let mut all = Vec::new();
        let found = self.found(&area)?;
        if !search && found.is_empty() && self.headers.areas().is_empty() {
            return Ok(session.line("zero metadata copies")?);
        }
        for (version, text) in found {
            let at = start + version.location.offset.0;
            if self
                .settings
                .seqno
                .is_some_and(|seqno| seqno != version.seqno)
                || self.settings.text_offset.is_some_and(|offset| offset != at)
            {
                continue;
            }
            session.line(&format!(
                "metadata at {at} length {} crc {:08x} vg {} seqno {} id {}",
                version.location.size.0,
                version.location.checksum,
                version.vg_name,
                version.seqno,
                version.vg_uuid,
            ))?;
            if session.is_verbose() {
                for line in remarks(&text) {
                    session.line(&line)?;
                }
                session.print("\n")?;
            }
            all.extend_from_slice(text.strip_suffix(b"\0").unwrap_or(&text));
            all.push(b'\n');
        }
        match self.arguments.value(&flags::FILE) {
            Some(path) => save(path, &all),
            None => Ok(()),
        }
    }

    /// Copies an area, its header included, into a file.
    fn area(&self, session: &mut Session) -> Result<(), Error> {
        let Some(area) = self.area_or_none(session)? else {
            return Ok(());
        };
        let Some(path) = self.arguments.value(&flags::FILE) else {
            return Err(Error::usage(
                "pvck: --dump metadata_area needs --file for the copy",
            ));
        };
        let bytes = self.read(&area)?;
        // Stock leaves the last sector out; so does this, for scripts that compare.
        save(path, &bytes[..bytes.len().saturating_sub(512)])
    }
}

/// Says where a text is not the one that the header of its area means; whether it is so.
fn say_mismatch(
    session: &mut Session,
    index: usize,
    at: u64,
    location: &RawLocation,
    text: &[u8],
) -> Result<bool, Error> {
    let is_wrong = lvm2::ondisk::checksum(text) != location.checksum;
    if is_wrong {
        let number = index + 1;
        session.line(&format!(
            "CHECK: metadata text at {at} crc does not match \
             mda_header_{number}.raw_locn[0].checksum"
        ))?;
    }
    Ok(is_wrong)
}

/// Makes a file, which must not be there: what it has may be the only copy.
fn save(path: &str, bytes: &[u8]) -> Result<(), Error> {
    let failed = |_| Error::failed(format!("Failed to create file {path}"));
    let mut file = File::create_new(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)
}

/// `metadata text at 708608 crc 0xc27d44fc # vgname vg0 seqno 44`
fn describe_text(at: u64, text: &[u8]) -> String {
    let crc = lvm2::ondisk::checksum(text);
    let shown = String::from_utf8_lossy(text);
    let name = shown
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches('{')
        .trim();
    let seqno = shown
        .lines()
        .find_map(|line| line.strip_prefix("seqno = "))
        .unwrap_or("?");
    format!("metadata text at {at} crc 0x{crc:x} # vgname {name} seqno {seqno}")
}

/// The lines of a text that say what wrote it, and when.
fn remarks(text: &[u8]) -> Vec<String> {
    let shown = String::from_utf8_lossy(text);
    let wanted = ["description = ", "creation_time = "];
    let mut lines = Vec::new();
    for key in wanted {
        // The group's own keys stand at the end, behind its volumes.
        let last = shown.lines().rfind(|line| line.starts_with(key));
        lines.extend(last.map(str::to_owned));
    }
    lines
}

/// An area as the header says it is, or as somebody says that it is.
fn blank_header(span: Span) -> AreaHeader {
    AreaHeader::new(Span {
        offset: span.offset,
        size: Bytes(span.size.0),
    })
}
