//! What came of it all, in numbers.

use std::collections::BTreeMap;

use dm::raid::scrub::Unchecked;

use super::finding::{Finding, FindingKind};

/// What came of a scrub.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Bytes of the arrays.
    pub size: u64,
    /// Bytes of them that were compared.
    pub checked: u64,
    /// Sectors that do not go together: of a row, or of a byte's copies, each counts once.
    pub mismatches: u64,
    /// Those of them of which is known who is wrong.
    pub known: u64,
    /// How many findings that was.
    pub places: u64,
    /// Bytes of legs that cannot be read.
    pub unreadable: u64,
    /// Bytes that were not compared, and why.
    pub unchecked: BTreeMap<Unchecked, u64>,
    /// Legs that were not read, or not everywhere.
    pub left_out: Vec<LeftOut>,
}

/// A leg that was not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The leg's name.
    pub leg: String,
    /// Why, as a clause that begins with the name.
    pub why: String,
    /// How many bytes of it.
    pub bytes: u64,
}

impl Summary {
    /// Whether all that was compared goes together and could be read.
    pub fn is_clean(&self) -> bool {
        self.places == 0 && self.unreadable == 0
    }

    /// One more finding.
    pub(super) fn count(&mut self, finding: &Finding) {
        match &finding.kind {
            FindingKind::Unreadable => self.unreadable += finding.len,
            FindingKind::Mismatch(_) => {
                self.places += 1;
                self.mismatches += finding.sectors();
                if finding.unknown().is_none() {
                    self.known += finding.sectors();
                }
            }
        }
        assert!(self.known <= self.mismatches, "a part is known");
    }

    /// So many bytes of the arrays were compared, or not: why.
    pub(super) fn cover(&mut self, bytes: u64, unchecked: Option<Unchecked>) {
        match unchecked {
            None => self.checked += bytes,
            Some(why) => *self.unchecked.entry(why).or_insert(0) += bytes,
        }
        let unchecked: u64 = self.unchecked.values().sum();
        assert!(
            self.checked + unchecked <= self.size,
            "no byte is counted twice"
        );
    }

    /// So many bytes of a leg were not read.
    pub(super) fn leave_out(&mut self, leg: &str, why: &str, bytes: u64) {
        let mut known = self.left_out.iter_mut();
        match known.find(|one| one.leg == leg && one.why == why) {
            Some(one) => one.bytes += bytes,
            None => self.left_out.push(LeftOut {
                leg: leg.to_owned(),
                why: why.to_owned(),
                bytes,
            }),
        }
    }
}
