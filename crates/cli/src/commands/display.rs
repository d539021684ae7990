//! What the display and scan commands have in common: sizes in words, lines of a label and a value.

use super::Session;
use crate::args::{Arguments, Error, Flag, flags};
use crate::output::report::{Instant, Zone};
use crate::output::{Form, Units};

/// How values are printed in the long form.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    units: Units,
    zone: Zone,
    /// The name of a volume is its path, as it was before LVM2 had both.
    pub(super) shows_full_paths: bool,
}

impl Values {
    /// As the options ask for.
    pub(super) fn of(arguments: &Arguments, session: &mut Session) -> Result<Self, Error> {
        let config = session.config(arguments)?;
        Ok(Self {
            units: session.units(arguments)?,
            zone: Zone::local(),
            shows_full_paths: config.flag("global/lvdisplay_shows_full_device_path", false),
        })
    }

    /// `95.00 MiB`
    pub(super) fn size(&self, sectors: u64) -> String {
        self.units.show(sectors.saturating_mul(512), Form::Long)
    }
    /// `2026-11-21 02:35:25 +0000`
    pub(super) fn time(&self, seconds: u64) -> String {
        self.zone
            .show(Instant(i64::try_from(seconds).unwrap_or(i64::MAX)))
    }
}

/// Refuses options of the table without it, and with it those of the long form: `long` are the
/// command's own.
pub(super) fn check_form(arguments: &Arguments, long: &[Flag]) -> Result<(), Error> {
    let of_table = [
        flags::ALIGNED,
        flags::BINARY,
        flags::NO_HEADINGS,
        flags::OPTIONS,
        flags::SEPARATOR,
        flags::SORT,
        flags::UNBUFFERED,
    ];
    let wrong = if arguments.has(&flags::COLUMNS) {
        long
    } else {
        &of_table[..]
    };
    if wrong.iter().any(|flag| arguments.has(flag)) {
        return Err(Error::usage("Incompatible options selected"));
    }
    Ok(())
}

/// `read/write`, in stock's words.
pub(super) fn write_access(writable: bool) -> &'static str {
    if writable { "read/write" } else { "read only" }
}
