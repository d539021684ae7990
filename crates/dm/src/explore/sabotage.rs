//! Mistakes that are made on purpose, where a machine's steps become requests of its disks.

use std::fmt;

use block::Request;

/// What becomes of a request to a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// A write counts as done before it is durable, though it was asked to be.
    Volatile,
    /// A write or a flush is answered, and never done.
    Skipped,
    /// A write is answered, and done some time later, before anybody asks for the same place.
    Early,
    /// A read is done by this leg instead.
    Elsewhere(usize),
}

/// Looks at each request to a leg, by its number, before it begins.
pub(crate) struct Saboteur(Box<Choice>);

type Choice = dyn FnMut(usize, &Request) -> Option<Sabotage>;

impl Saboteur {
    /// Does to each request what `choose` says.
    pub(crate) fn new(choose: impl FnMut(usize, &Request) -> Option<Sabotage> + 'static) -> Self {
        Self(Box::new(choose))
    }

    /// Leaves all as it is.
    pub(crate) fn none() -> Self {
        Self::new(|_, _| None)
    }

    pub(super) fn choose(&mut self, leg: usize, request: &Request) -> Option<Sabotage> {
        (self.0)(leg, request)
    }
}

impl fmt::Debug for Saboteur {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Saboteur")
    }
}
