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
//! description (the updater) to put the images in sync first. Until the order comes that this is
//! durable, nothing is answered that the primary image missed; reads go on. If it cannot be done,
//! what waits fails, and so does all that is written from then on: an error now, rather than old
//! data later.
//!
//! ```text
//!   mirror ── Persist(order) ──▸ updater         updater ── Persisted ──────────▸ mirror
//!                                                       ╲ PersistFailed(why) ─▸
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
use super::control::Notice;
use super::control::{Step, Steps};

/// The order in which the images have to be described. Each is its place in the mirror's
/// [`super::MirrorConfig::images`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageOrder {
    /// The images that hold everything.
    pub in_sync: Vec<usize>,
    /// The others. From now on nobody may read them where images may differ.
    pub out_of_sync: Vec<usize>,
}

impl Mirror {
    /// Whether the description names an image as right that is not.
    pub(super) fn primary_is_out_of_sync(&self) -> bool {
        match self.config.primary {
            // A source is never lost: the others are never in sync.
            Primary::Unrecorded | Primary::Source => false,
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
        steps.push(Step::Notice(Notice::Persist(ImageOrder {
            in_sync,
            out_of_sync,
        })));
    }

    /// Says which images are lost.
    pub(super) fn report_loss(&self, steps: &mut Steps) {
        let lost = |image: &usize| self.images[*image].lost;
        let lost = (0..self.images.len()).filter(lost).collect();
        steps.push(Step::Notice(Notice::Lost(lost)));
    }

    /// The primary image is written down, or cannot be.
    pub(super) fn primary_persisted(
        &mut self,
        answer: Result<(), String>,
        now: Duration,
        steps: &mut Steps,
    ) -> block::Result<()> {
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
        Ok(())
    }
}
