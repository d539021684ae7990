//! What the display and scan commands have in common: sizes in words, lines of a label and a value.

use crate::args::{Arguments, Error, flags};
use crate::output::report::{Instant, Zone};
use crate::output::{Form, Units};

/// How values are printed in the long form.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    units: Units,
    zone: Zone,
}

impl Values {
    /// As the options ask for.
    pub(super) fn of(arguments: &Arguments) -> Result<Self, Error> {
        let zone = Zone::local();
        let Some(text) = arguments.value(&flags::UNITS) else {
            return Ok(Self {
                units: Units::default(),
                zone,
            });
        };
        let units = Units::parse(text);
        let mut units = units.map_err(|error| Error::usage(format!("{error}: {text}")))?;
        if arguments.has(&flags::NO_SUFFIX) {
            units = units.without_suffix();
        }
        Ok(Self { units, zone })
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

/// `read/write`, in stock's words.
pub(super) fn write_access(writable: bool) -> &'static str {
    if writable { "read/write" } else { "read only" }
}
