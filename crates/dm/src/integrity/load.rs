//! The start: the superblock is read, and then what stands behind it, a journal or a bitmap.
//!
//! ```text
//!   superblock ─▸ zeros                                 nobody has used it: no checksums
//!              ╲─▸ with a bitmap ─▸ bits                 what was written when all ended has none
//!               ╲─▸ without ─▸ journal, a piece each     what it holds is read from it
//! ```

use block::{Buffer, Completion, Info, Request};

use super::config::{DATA, IntegrityConfig, METADATA};
use super::journal::{self, Found};
use super::places::{JOURNAL_START, Places};
use super::superblock::Superblock;
use super::trust::Trust;
use crate::{Error, Kind, Result};

/// What is read at once, in bytes.
const PIECE: u64 = 1 << 20;

/// What is known when all is read.
#[derive(Debug)]
pub(super) struct Known {
    /// Where all is; `None`: nobody has used it, and there is nothing.
    pub(super) places: Option<Places>,
    pub(super) superblock: Option<Superblock>,
    pub(super) trust: Trust,
    /// The bitmap, where it has one.
    pub(super) bitmap: Vec<u8>,
    /// The journal, where it holds something.
    pub(super) journal: Vec<u8>,
    pub(super) found: Option<Found>,
}

/// How far it is.
#[derive(Debug)]
pub(super) enum Load {
    Superblock,
    /// What was read of so many bytes behind the superblock.
    Area(Box<Area>),
    /// All is known.
    Done(Box<Known>),
    Over,
}

impl Load {
    /// What is read first.
    pub(super) fn start(&mut self) -> Request {
        *self = Self::Superblock;
        read(0, Superblock::LEN as u64)
    }

    /// Whether something is being read.
    pub(super) fn is_out(&self) -> bool {
        matches!(self, Self::Superblock | Self::Area(_))
    }

    /// Takes an answer; what is read next, if something is.
    pub(super) fn answered(
        &mut self,
        config: &IntegrityConfig,
        legs: &[Info],
        answer: Completion,
    ) -> Result<Option<Request>> {
        let state = std::mem::replace(self, Self::Over);
        if let Err(error) = answer.result {
            let what = "its checksums cannot be read";
            return Err(Error::device(what, error));
        }
        let area = match state {
            Self::Superblock => look(config, legs, &answer.buffer)?,
            Self::Area(mut area) => {
                area.bytes.extend_from_slice(&answer.buffer);
                Some(*area)
            }
            Self::Done(_) | Self::Over => unreachable!("nothing was asked"),
        };
        let Some(area) = area else {
            *self = Self::Done(Box::new(Known {
                places: None,
                superblock: None,
                trust: Trust::nothing(),
                bitmap: Vec::new(),
                journal: Vec::new(),
                found: None,
            }));
            return Ok(None);
        };
        let rest = area.len - area.bytes.len() as u64;
        if rest == 0 {
            *self = Self::Done(Box::new(known(area)?));
            return Ok(None);
        }
        let start = JOURNAL_START + area.bytes.len() as u64;
        *self = Self::Area(Box::new(area));
        Ok(Some(read(start, rest.min(PIECE))))
    }

    /// What is known, once.
    pub(super) fn known(&mut self) -> Option<Known> {
        match std::mem::replace(self, Self::Over) {
            Self::Done(known) => Some(*known),
            other => {
                *self = other;
                None
            }
        }
    }
}

/// What stands behind a superblock, as far as it is read.
#[derive(Debug)]
pub(super) struct Area {
    superblock: Superblock,
    places: Places,
    bytes: Vec<u8>,
    len: u64,
}

/// What a superblock says is read next, if anything.
fn look(config: &IntegrityConfig, legs: &[Info], bytes: &[u8]) -> Result<Option<Area>> {
    let Some(superblock) = Superblock::decode(bytes)? else {
        return Ok(None);
    };
    let places = Places::new(&superblock, legs[DATA].size, legs[METADATA].size)?;
    if places.block != u64::from(config.block) {
        let what = format!(
            "its blocks have {} bytes, and {} in the metadata",
            places.block, config.block
        );
        return Err(Error::new(Kind::Damaged, what));
    }
    let len = if superblock.has_bitmap {
        places.bitmap_len()
    } else {
        places.journal_len()
    };
    Ok(Some(Area {
        superblock,
        places,
        bytes: Vec::new(),
        len,
    }))
}

/// What the bytes behind a superblock mean.
fn known(area: Area) -> Result<Known> {
    let Area {
        superblock,
        places,
        bytes,
        ..
    } = area;
    let (trust, found) = if superblock.has_bitmap {
        (Trust::new(&superblock, &places, &bytes), None)
    } else {
        let found = journal::look(&places, &bytes)?;
        (Trust::new(&superblock, &places, &[]), Some(found))
    };
    let is_needed = found.as_ref().is_some_and(|found| !found.blocks.is_empty());
    let (bitmap, journal) = match (superblock.has_bitmap, is_needed) {
        (true, _) => (bytes, Vec::new()),
        (false, true) => (Vec::new(), bytes),
        (false, false) => (Vec::new(), Vec::new()),
    };
    Ok(Known {
        places: Some(places),
        superblock: Some(superblock),
        trust,
        bitmap,
        journal,
        found,
    })
}

fn read(start: u64, len: u64) -> Request {
    assert!(len > 0, "something is asked for");
    Request::read(0, start, Buffer::zeroed(len as usize))
}
