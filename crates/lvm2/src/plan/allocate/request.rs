//! What is to be allocated, what came of it, and why nothing did.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::model::{AllocationPolicy, PvId};
use crate::plan::size::Exactness;
use crate::{Error, Extents, Kind};

/// What is to be allocated.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The extents of each area, over all runs.
    pub length: Extents,
    /// The areas of a leg.
    pub stripes: usize,
    /// Copies that must not share a physical volume; one where there are no copies.
    pub legs: Vec<Leg>,
    /// Physical volumes that no leg may use, because other copies are there.
    pub apart: BTreeSet<PvId>,
    /// How extents are chosen.
    pub policy: AllocationPolicy,
    /// Whether less will do.
    pub exactness: Exactness,
    /// The tags that make physical volumes belong together; `@*` stands for all tags.
    pub cling_tags: &'a [String],
}

/// What there is already of a leg.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leg {
    /// The physical volumes on which it stands.
    pub pvs: BTreeSet<PvId>,
    /// Where each of its stripes would go on; empty for a new leg.
    pub behind: Vec<(PvId, Extents)>,
}

impl Request<'_> {
    /// A request for new areas on which nothing stands yet.
    pub fn new(length: Extents, legs: usize, stripes: usize, policy: AllocationPolicy) -> Self {
        Self {
            length,
            stripes,
            legs: vec![Leg::default(); legs],
            apart: BTreeSet::new(),
            policy,
            exactness: Exactness::Exact,
            cling_tags: &[],
        }
    }

    /// How many areas there are, over all legs.
    pub fn area_count(&self) -> usize {
        self.legs.len() * self.stripes
    }
}

/// A run: for each area, leg by leg, as many extents from its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocated {
    /// The extents of each area.
    pub length: Extents,
    /// Where the areas begin.
    pub areas: Vec<(PvId, Extents)>,
}

/// Why not enough could be allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// The extents that were asked for, over all areas.
    pub needed: Extents,
    /// The free extents where they might have been.
    pub available: Extents,
    /// The extents for which no place was found.
    pub missing: Extents,
    /// The policy that was to be obeyed.
    pub policy: AllocationPolicy,
    /// The areas that had to lie on distinct physical volumes.
    pub areas: usize,
}

impl Shortage {
    /// The same in stock's words.
    pub fn error(&self, volume: &str) -> Error {
        let context = if self.available < self.needed {
            format!(
                "Insufficient free space: {} extents needed, but only {} available",
                self.needed.0, self.available.0
            )
        } else {
            let how = match self.policy {
                AllocationPolicy::Contiguous => "contiguous ",
                _ => "",
            };
            let why = match (self.policy, self.areas) {
                (
                    AllocationPolicy::Anywhere
                    | AllocationPolicy::Normal
                    | AllocationPolicy::Contiguous,
                    1,
                ) => String::new(),
                (policy, 1) => format!(" (allocation policy {})", policy.name()),
                (policy, areas) => format!(
                    " ({areas} parts on distinct physical volumes, allocation policy {})",
                    policy.name()
                ),
            };
            format!(
                "Insufficient suitable {how}allocatable extents for logical volume {volume}: {} \
                 more required{why}",
                self.missing.0
            )
        };
        Error::new(Kind::Space, context)
    }
}
