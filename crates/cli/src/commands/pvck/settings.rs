//! `--settings`: where to look instead of where the headers say.

use lvm2::ondisk::Span;
use lvm2::{Bytes, Uuid};

use crate::args::Error;

/// What was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) struct Settings {
    /// Which area, from 1.
    pub(in crate::commands) number: usize,
    /// Where the area is.
    pub(in crate::commands) area: Option<Span>,
    /// Whether only its place or only its size was said.
    pub(super) is_partly: bool,
    /// Where the second area is; for repairs.
    pub(in crate::commands) second_area: Option<Span>,
    /// Which physical volume the device is; for repairs.
    pub(in crate::commands) pv_uuid: Option<Uuid>,
    /// Where a text begins on the device.
    pub(in crate::commands) text_offset: Option<u64>,
    /// The number of a version.
    pub(in crate::commands) seqno: Option<u64>,
}

impl Settings {
    /// Reads `key=value` pairs, separated by spaces.
    pub(in crate::commands) fn parse<'a>(
        given: impl Iterator<Item = &'a str>,
    ) -> Result<Self, Error> {
        let mut settings = Self {
            number: 1,
            area: None,
            is_partly: false,
            second_area: None,
            pv_uuid: None,
            text_offset: None,
            seqno: None,
        };
        let (mut first, mut second) = ((None, None), (None, None));
        for pair in given.flat_map(str::split_whitespace) {
            let wrong = || Error::failed(format!("Invalid setting at: {pair}"));
            let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
            let wrong = || Error::failed(format!("Invalid setting: {key}"));
            if key == "pv_uuid" {
                settings.pv_uuid = Some(value.parse().map_err(|_| {
                    let what = "Failed to parse UUID from pv_uuid setting.";
                    Error::failed(format!("{what}\nInvalid setting: {key}"))
                })?);
                continue;
            }
            let value: u64 = value.parse().map_err(|_| wrong())?;
            match key {
                "mda_num" if value == 1 || value == 2 => settings.number = value as usize,
                "mda_offset" => first.0 = Some(value),
                "mda_size" => first.1 = Some(value),
                "mda2_offset" => second.0 = Some(value),
                "mda2_size" => second.1 = Some(value),
                "metadata_offset" => settings.text_offset = Some(value),
                "seqno" => settings.seqno = Some(value),
                _ => return Err(wrong()),
            }
        }
        settings.area = span(first);
        settings.second_area = span(second);
        settings.is_partly = settings.area.is_none() && (first.0.or(first.1)).is_some();
        Ok(settings)
    }
}

/// An area counts where both its place and its size are said.
fn span((offset, size): (Option<u64>, Option<u64>)) -> Option<Span> {
    Some(Span {
        offset: Bytes(offset?),
        size: Bytes(size?),
    })
}
