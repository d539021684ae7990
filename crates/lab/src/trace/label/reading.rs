//! Reading a layout that may be hostile: so much, and no more; what was odd is noted.

use std::collections::BTreeMap;

use super::source::Source;
use crate::error::{Error, Kind, Result};

/// What may be read beyond the size of the file system, and at most, in bytes.
const READ_SLACK: u64 = 16 << 20;
const READ_MAX: u64 = 256 << 30;

/// A volume that is read within limits: on a sound one nothing is read twice.
pub(super) struct Reading<'a> {
    source: &'a mut dyn Source,
    left: u64,
    /// What was odd, and how often.
    odd: BTreeMap<&'static str, u64>,
}

impl<'a> Reading<'a> {
    /// Of a file system of `size` bytes.
    pub(super) fn new(source: &'a mut dyn Source, size: u64) -> Self {
        Self {
            source,
            left: size.saturating_add(READ_SLACK).min(READ_MAX),
            odd: BTreeMap::new(),
        }
    }

    /// Notes that a structure of this name was not as it should be, and is left out.
    pub(super) fn odd(&mut self, what: &'static str) {
        *self.odd.entry(what).or_default() += 1;
    }

    /// The bytes `start`..`start + count`, which lie on the volume.
    pub(super) fn bytes(&mut self, start: u64, count: u64) -> Result<Vec<u8>> {
        self.left = self.left.checked_sub(count).ok_or_else(|| {
            let what = "more is to be read than the file system holds; have it checked";
            Error::new(Kind::Unsupported, what)
        })?;
        let mut bytes = vec![0; count as usize];
        self.source.read_at(start, &mut bytes)?;
        Ok(bytes)
    }

    /// What was odd, for people.
    pub(super) fn remarks(&self) -> Vec<String> {
        let remark = |(what, count): (&&str, &u64)| {
            format!("{count} places of kind '{what}' lie outside or are damaged")
        };
        self.odd.iter().map(remark).collect()
    }
}
