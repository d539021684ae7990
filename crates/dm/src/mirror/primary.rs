//! The image that the metadata names first, and how that is kept right before it does harm.
//!
//! Whoever runs a mirror after us may not read the record in the log: the kernel takes the image
//! for right that its table names first, and a log in memory has no record at all. The order of the
//! images in the mirror's description is what everybody reads. So this holds at all times:
//!
//! ```text
//!   the primary image, the first in the description, holds everything that was answered
//! ```
//!
//! When that image is lost, or out of sync at the start, a notice asks whoever keeps the
//! description (the updater) to put the images in sync first. Until the message comes that this is
//! durable, nothing is answered that the primary image missed; reads go on. If it cannot be done,
//! what waits fails, and so does all that is written from then on: an error now, rather than old
//! data later.
//!
//! ```text
//!   mirror ── order 1 2 lost 0 ──▸ updater         updater ── persisted ─────────▸ mirror
//!                                                         ╲ persist-failed WHY ─▸
//! ```
//!
//! Where nothing has to be written down, a notice says all the same which images were lost:
//! redundancy does not go in silence. Nothing waits for that one.
//!
//! Where the description says that all images are in sync (nothing is copied at a start, and there
//! is no log on disk), it is changed when any image is lost.

use std::time::Duration;

use block::{Error, Kind};

use super::Mirror;
use super::config::Primary;
use crate::machine::{Step, Steps};

const ORDER: &str = "order";
const LOST: &str = "lost";
const PERSISTED: &str = "persisted";
const PERSIST_FAILED: &str = "persist-failed";

/// The order in which the images have to be described. Each is its place in the mirror's
/// [`super::MirrorConfig::images`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageOrder {
    /// The images that hold everything.
    pub in_sync: Vec<usize>,
    /// The others. From now on nobody may read them where images may differ.
    pub out_of_sync: Vec<usize>,
}

impl ImageOrder {
    /// What a notice of a mirror asks for; `None`: it is about something else.
    pub fn of_notice(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        if words.next() != Some(ORDER) {
            return None;
        }
        let (mut in_sync, mut out_of_sync) = (Vec::new(), Vec::new());
        let mut list = &mut in_sync;
        for word in words {
            if word == LOST {
                list = &mut out_of_sync;
            } else {
                list.push(word.parse().ok()?);
            }
        }
        Some(Self {
            in_sync,
            out_of_sync,
        })
    }

    fn notice(&self) -> String {
        let mut words = vec![ORDER.to_owned()];
        words.extend(self.in_sync.iter().map(usize::to_string));
        words.push(LOST.to_owned());
        words.extend(self.out_of_sync.iter().map(usize::to_string));
        words.join(" ")
    }
}

/// The images of which a notice says that they were lost, where nothing else is asked for; `None`:
/// it is about something else.
pub fn lost_in(text: &str) -> Option<Vec<usize>> {
    let mut words = text.split(' ');
    if words.next() != Some(LOST) {
        return None;
    }
    words.map(|word| word.parse().ok()).collect()
}

/// The message that the images are described in the order that was asked for last, durably.
pub fn persisted() -> String {
    PERSISTED.to_owned()
}

/// The message that they cannot be.
pub fn persist_failed(why: &str) -> String {
    format!("{PERSIST_FAILED} {why}")
}

/// Why not, if not; `None`: the message is about something else.
pub(super) fn answer_in(text: &str) -> Option<Result<(), String>> {
    match text.split_once(' ') {
        None if text == PERSISTED => Some(Ok(())),
        Some((PERSIST_FAILED, why)) => Some(Err(why.to_owned())),
        _ => None,
    }
}

impl Mirror {
    /// Whether the description names an image as right that is not.
    pub(super) fn primary_is_out_of_sync(&self) -> bool {
        match self.config.primary {
            Primary::Unrecorded => false,
            Primary::Image(image) => !self.images[image].in_sync,
            Primary::All => self.images.iter().any(|image| !image.in_sync),
        }
    }

    /// Asks for another primary image; a round of lost images waits for the answer.
    pub(super) fn persist_primary(&mut self, steps: &mut Steps) {
        let in_sync = |image: &usize| self.images[*image].in_sync;
        let (in_sync, out_of_sync): (Vec<_>, Vec<_>) = (0..self.images.len()).partition(in_sync);
        assert!(!in_sync.is_empty(), "the last image in sync is never lost");
        self.drops.persisting = Some(in_sync[0]);
        steps.push(Step::Notice(
            ImageOrder {
                in_sync,
                out_of_sync,
            }
            .notice(),
        ));
    }

    /// Says which images are lost.
    pub(super) fn report_loss(&self, steps: &mut Steps) {
        let lost = self
            .images
            .iter()
            .enumerate()
            .filter(|(_, image)| image.lost);
        let places = lost.map(|(place, _)| format!(" {place}"));
        steps.push(Step::Notice(format!(
            "{LOST}{}",
            places.collect::<String>()
        )));
    }

    /// The primary image is written down, or cannot be.
    pub(super) fn primary_persisted(
        &mut self,
        answer: Result<(), String>,
        now: Duration,
        steps: &mut Steps,
    ) -> block::Result<String> {
        let Some(image) = self.drops.persisting.take() else {
            let what = format!("{}: no order of images was asked for", self.config.name);
            return Err(Error::new(Kind::Unsupported, what));
        };
        let result = answer.map_err(|why| {
            let what = format!(
                "{}: an image was lost, and the metadata cannot be updated to say so; writes are \
                 refused, since the next activation could read the lost image; mend the cause \
                 and activate the mirror again: {why}",
                self.config.name
            );
            Error::new(Kind::Io, what)
        });
        if result.is_ok() {
            self.config.primary = Primary::Image(image);
        }
        self.end_drop_round(&result, now, steps);
        Ok(self.status())
    }
}
