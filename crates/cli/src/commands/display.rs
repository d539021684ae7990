//! What the display and scan commands have in common: sizes in words, lines of a label and a value.

use crate::args::{Arguments, Error, flags};
use crate::output::{Form, Units};

/// How values are printed in the long form.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Values {
    units: Units,
}

impl Values {
    /// As the options ask for.
    pub(super) fn of(arguments: &Arguments) -> Result<Self, Error> {
        let Some(text) = arguments.value(&flags::UNITS) else {
            return Ok(Self::default());
        };
        let units = Units::parse(text);
        let mut units = units.map_err(|error| Error::usage(format!("{error}: {text}")))?;
        if arguments.has(&flags::NO_SUFFIX) {
            units = units.without_suffix();
        }
        Ok(Self { units })
    }

    /// `95.00 MiB`
    pub(super) fn size(self, sectors: u64) -> String {
        self.units.show(sectors.saturating_mul(512), Form::Long)
    }
}
