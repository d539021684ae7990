//! Where something is in doubt: nowhere, in some regions, or anywhere.
//!
//! It is found before an array is used (`assembly.rs`), where nobody may have written down where
//! not. Of an array that is written it is always about regions.

use super::bitmap::Dirty;

/// Where what goes together may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// Nowhere.
    Nowhere,
    /// In these regions.
    Regions(Dirty),
    /// Anywhere: nobody has written down where not.
    Everywhere,
}

impl Doubt {
    /// In these regions, if there are some.
    pub(super) fn in_regions(dirty: Dirty) -> Self {
        match dirty.count() {
            0 => Self::Nowhere,
            _ => Self::Regions(dirty),
        }
    }

    /// The same about regions of another size, those of `shape`, which has as many bytes.
    pub(super) fn in_shape(&self, shape: &Dirty) -> Self {
        let dirty = match self {
            Self::Nowhere => return Self::Nowhere,
            Self::Everywhere => return Self::in_regions(shape.filled()),
            Self::Regions(dirty) => dirty,
        };
        let (from, to) = (dirty.region(), shape.region());
        let mut found = shape.emptied();
        let mut at = dirty.next(0);
        while let Some(region) = at {
            let end = ((region + 1) * from).div_ceil(to).min(shape.regions());
            (region * from / to..end).for_each(|region| found.set(region));
            at = dirty.next(region + 1);
        }
        Self::in_regions(found)
    }

    /// It is about this region, too, one of those of `shape`.
    pub(super) fn add(&mut self, region: u64, shape: &Dirty) {
        if let Self::Nowhere = self {
            *self = Self::Regions(shape.emptied());
        }
        if let Self::Regions(dirty) = self {
            dirty.set(region);
        }
    }

    /// It is not about this region any more.
    ///
    /// # Panics
    ///
    /// It is about everything.
    pub(super) fn remove(&mut self, region: u64) {
        match self {
            Self::Nowhere => {}
            Self::Everywhere => panic!("it is not about regions"),
            Self::Regions(dirty) => {
                dirty.clear(region);
                if dirty.count() == 0 {
                    *self = Self::Nowhere;
                }
            }
        }
    }

    /// The first region from one on that it is about.
    pub(super) fn next(&self, region: u64) -> Option<u64> {
        match self {
            Self::Nowhere => None,
            Self::Everywhere => panic!("it is not about regions"),
            Self::Regions(dirty) => dirty.next(region),
        }
    }

    /// The regions that it is about, of those of `shape`.
    pub(super) fn regions(&self, shape: &Dirty) -> Dirty {
        match self {
            Self::Nowhere => shape.emptied(),
            Self::Everywhere => shape.filled(),
            Self::Regions(dirty) => dirty.clone(),
        }
    }

    /// Whether it is about some of these bytes.
    pub fn overlaps(&self, range: block::Range) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Regions(dirty) => dirty.overlaps(range),
            Self::Everywhere => true,
        }
    }

    /// How much it is about, for people; `None`: nothing.
    pub(super) fn count(&self) -> Option<String> {
        match self {
            Self::Nowhere => None,
            Self::Regions(dirty) => Some(format!("{} of its regions", dirty.count())),
            Self::Everywhere => Some("any of its regions".into()),
        }
    }
}
