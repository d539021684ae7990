//! What a mirror is in the middle of: one operation per request, flush, copy or piece of the log.
//!
//! Requests to images carry the number of their operation as the tag; an operation asks each image
//! at most once at a time.

use std::time::Duration;

use block::{Buffer, Error, Range, Request};

use crate::slab::Slab;

/// A set of images, by their place in the mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ImageSet(u32);

impl ImageSet {
    pub(super) fn insert(&mut self, image: usize) {
        self.0 |= 1 << image;
    }

    pub(super) fn contains(self, image: usize) -> bool {
        self.0 >> image & 1 == 1
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (0..u32::BITS as usize).filter(move |image| self.contains(*image))
    }
}

/// The answers of several images to one question.
#[derive(Debug, Default)]
pub(super) struct Gather {
    pub(super) out: u32,
    pub(super) good: ImageSet,
    pub(super) bad: ImageSet,
    pub(super) error: Option<Error>,
}

impl Gather {
    /// Notes an answer; whether it was the last one.
    pub(super) fn note(&mut self, image: usize, result: block::Result<()>) -> bool {
        self.out -= 1;
        match result {
            Ok(()) => self.good.insert(image),
            Err(error) => {
                self.bad.insert(image);
                self.error.get_or_insert(error);
            }
        }
        self.out == 0
    }
}

#[derive(Debug)]
pub(super) enum Operation {
    /// The log is read, up to this byte so far.
    LoadLog {
        at: u64,
    },
    /// A run of the log is written.
    LogWrite,
    Read(Reading),
    Write(Writing),
    Flush(Flushing),
    /// Images are flushed so that resting regions may be called clean.
    Clean(Cleaning),
    /// Images are flushed so that a lost image may be called out of sync.
    DropFlush(Gather),
    /// Images are flushed so that all may be called copies.
    FinishFlush(Finishing),
    Copy(Copying),
}

#[derive(Debug)]
pub(super) struct Reading {
    /// Its buffer is with the image.
    pub(super) request: Request,
    pub(super) tried: ImageSet,
    pub(super) image: usize,
}

#[derive(Debug)]
pub(super) struct Writing {
    /// Its buffer is with the first image while that is asked.
    pub(super) request: Request,
    /// The part that is written now; long ranges of zeros are cut.
    pub(super) piece: Range,
    /// Regions of the piece that are not open yet.
    pub(super) blocked: usize,
    /// The image that has the request's own buffer.
    pub(super) first: usize,
    pub(super) gather: Gather,
    pub(super) error: Option<Error>,
}

#[derive(Debug)]
pub(super) struct Flushing {
    pub(super) request: Request,
    pub(super) gather: Gather,
}

#[derive(Debug)]
pub(super) struct Cleaning {
    /// Regions and their versions.
    pub(super) regions: Vec<(u64, u64)>,
    /// Whether all images are in sync afterwards.
    pub(super) promotes: bool,
    pub(super) gather: Gather,
}

#[derive(Debug)]
pub(super) struct Finishing {
    /// The order that is obeyed.
    pub(super) order: u64,
    pub(super) gather: Gather,
}

#[derive(Debug)]
pub(super) struct Copying {
    pub(super) region: u64,
    pub(super) end: u64,
    /// The part that is copied now.
    pub(super) piece: Range,
    /// Images that could not be read.
    pub(super) tried: ImageSet,
    pub(super) source: usize,
    /// When the piece was asked for.
    pub(super) begun: Duration,
    pub(super) gather: Gather,
    /// What was read, when it is not with the images.
    pub(super) buffer: Buffer,
}

/// Operations by their number.
pub(super) type Operations = Slab<Operation>;

impl Operations {
    pub(super) fn write(&mut self, id: usize) -> &mut Writing {
        match self.get_mut(id) {
            Operation::Write(write) => write,
            other => unreachable!("{other:?} is no write"),
        }
    }

    pub(super) fn copy(&mut self, id: usize) -> &mut Copying {
        match self.get_mut(id) {
            Operation::Copy(copy) => copy,
            other => unreachable!("{other:?} is no copy"),
        }
    }
}
