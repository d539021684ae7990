//! `pvck`: what stands in the headers and metadata areas of one device, good or damaged.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use ashlar::host::Location;
use ashlar::scan::Source;
use lvm2::Bytes;
use lvm2::ondisk::{AreaHeader, Ring, Span, Version, versions};

use super::Session;
use super::change::pvck::{REPAIR, REPAIR_TYPE};
use super::report::wrong_word;
use crate::args::{Arguments, Command, Error, Example, flags};

mod headers;
mod settings;

use headers::{Area, Headers, Line};
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
    let [device, others @ ..] = arguments.operands() else {
        let what = "Name a device, as in: pvck --dump headers /dev/sdb";
        return Err(Error::lacking(arguments.command(), what));
    };
    let Some(what) = arguments.value(&flags::DUMP) else {
        return check_all(arguments, session);
    };
    if let [other, ..] = others {
        let what = format!("Command does not accept argument: {other}.");
        return Err(Error::form(what));
    }
    let job = begin(arguments, device, session)?;
    match what {
        "headers" => {
            for line in job.headers.lines() {
                let text = match line {
                    Line::Text(text) => Some(text.clone()),
                    Line::CurrentText(index) => job.current(&job.headers.areas()[*index]),
                };
                if let Some(text) = text {
                    session.line(&text)?;
                }
            }
            if job.headers.is_damaged() {
                return Err(Error::failed("Found bad header or metadata values."));
            }
            Ok(())
        }
        "metadata" => job.metadata(session),
        "metadata_all" | "metadata_search" => job.all(session, what == "metadata_search"),
        "metadata_area" => job.area(session),
        other => Err(wrong_word(
            "dump",
            other,
            &[
                "headers",
                "metadata",
                "metadata_all",
                "metadata_search",
                "metadata_area",
            ],
        )),
    }
}

/// Looks for the labels of all devices that are named.
fn check_all(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.has(&flags::SETTINGS) {
        return Err(Error::form("Command does not accept option: --settings."));
    }
    for device in arguments.operands() {
        let job = begin(arguments, device, session);
        if let Err(error) = job.and_then(|job| job.check(session, device)) {
            session.fail_later(&error.to_string());
        }
    }
    Ok(())
}

/// Reads the headers of a device.
fn begin<'a>(
    arguments: &'a Arguments,
    device: &str,
    session: &mut Session,
) -> Result<Job<'a>, Error> {
    let settings = Settings::parse(arguments.values(&flags::SETTINGS))?;
    let source = open(arguments, device, session)?;
    let headers = Headers::read(&source).map_err(|error| Error::failed(error.to_string()))?;
    Ok(Job {
        arguments,
        source,
        headers,
        settings,
    })
}

/// Opens the device by its path, or by the name under which a partition of an image is known.
fn open(arguments: &Arguments, device: &str, session: &mut Session) -> Result<Source, Error> {
    let what = if arguments.has(&flags::DUMP) {
        ""
    } else {
        "device "
    };
    let missing = || Error::failed(format!("Cannot access {what}{device}."));
    let location = if Path::new(device).exists() {
        let kind = std::fs::metadata(device).map(|known| known.file_type());
        if !kind.is_ok_and(|kind| kind.is_file() || kind.is_block_device()) {
            return Err(missing());
        }
        Location::whole(device)
    } else {
        let scan = session.disks(arguments)?.scan;
        let known = scan.find_device(device, None).ok_or_else(missing)?;
        scan.device(known).location.clone()
    };
    Source::open(&location, device).map_err(|error| Error::failed(error.to_string()))
}

impl Job<'_> {
    fn check(&self, session: &mut Session, device: &str) -> Result<(), Error> {
        let label = self.headers.label_sector();
        let begin = if label.is_some() {
            "CHECK: "
        } else {
            "CHECK: label_header"
        };
        for line in self.headers.lines() {
            if let Line::Text(text) = line
                && text.starts_with(begin)
            {
                session.line(text)?;
            }
        }
        let Some(sector) = label else {
            return Err(Error::failed(format!(
                "Could not find LVM label on {device}"
            )));
        };
        session.line(&format!(
            "Found label on {device}, sector {sector}, type=LVM2 001"
        ))?;
        for area in self.headers.areas() {
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

    /// Describes the text that an area's header points to.
    fn current(&self, area: &Area) -> Option<String> {
        let bytes = self.read(area).ok()?;
        let header = area.header_for_texts();
        let text = Ring::new(&header).text(&bytes, &header.committed?).ok()?;
        let at = area.span.offset.0 + header.committed?.offset.0;
        Some(describe_text(at, &text))
    }

    fn metadata(&self, session: &mut Session) -> Result<(), Error> {
        if let Some(offset) = self.settings.text_offset {
            return self.text_at(session, offset);
        }
        let Some(area) = self.chosen() else {
            return Ok(session.line("zero metadata copies")?);
        };
        let bytes = self.read(&area)?;
        let header = area.header_for_texts();
        let Some(location) = header.committed else {
            return Ok(());
        };
        let text = Ring::new(&header)
            .text(&bytes, &location)
            .map_err(|error| Error::failed(error.to_string()))?;
        session.line(&describe_text(
            area.span.offset.0 + location.offset.0,
            &text,
        ))?;
        self.put(session, &text)
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
        let Some(area) = self.chosen() else {
            return Ok(session.line("zero metadata copies")?);
        };
        let (start, size) = (area.span.offset.0, area.span.size.0);
        if search {
            session.line(&format!(
                "Searching for metadata at offset {start} size {size}"
            ))?;
        }
        let mut all = Vec::new();
        for (version, text) in self.found(&area)? {
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
        let Some(area) = self.chosen() else {
            return Ok(session.line("zero metadata copies")?);
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

fn save(path: &str, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes)
        .map_err(|error| Error::failed(format!("Could not write {path}")).because(error))
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
