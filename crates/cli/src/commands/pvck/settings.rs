//! `--settings`: where to look instead of where the headers say.

use lvm2::Bytes;
use lvm2::ondisk::Span;

use crate::args::Error;

/// What was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings {
    /// Which area, from 1.
    pub(super) number: usize,
    /// Where the area is.
    pub(super) area: Option<Span>,
    /// Where a text begins on the device.
    pub(super) text_offset: Option<u64>,
    /// The number of a version.
    pub(super) seqno: Option<u64>,
}

impl Settings {
    /// Reads `key=value` pairs, separated by spaces.
    pub(super) fn parse<'a>(given: impl Iterator<Item = &'a str>) -> Result<Self, Error> {
        let mut settings = Self {
            number: 1,
            area: None,
            text_offset: None,
            seqno: None,
        };
        let (mut offset, mut size) = (None, None);
        for pair in given.flat_map(str::split_whitespace) {
            let wrong = || Error::failed(format!("Invalid setting at: {pair}"));
            let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
            let value: u64 = value.parse().map_err(|_| wrong())?;
            match key {
                "mda_num" if value == 1 || value == 2 => settings.number = value as usize,
                "mda_offset" => offset = Some(value),
                "mda_size" => size = Some(value),
                "metadata_offset" => settings.text_offset = Some(value),
                "seqno" => settings.seqno = Some(value),
                _ => return Err(wrong()),
            }
        }
        settings.area = match (offset, size) {
            (Some(offset), Some(size)) => Some(Span {
                offset: Bytes(offset),
                size: Bytes(size),
            }),
            (None, None) => None,
            _ => return Err(Error::usage("mda_offset and mda_size belong together")),
        };
        Ok(settings)
    }
}
