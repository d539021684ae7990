//! Which flushes and checks are made: all, except where a test wants to see what one is for.

/// A place where what was written must be durable before the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlushPoint {
    /// What was read is durable before anything relies on it: a command that was killed may have
    /// left its commit in a cache.
    Adopted,
    /// An older label, before the areas are made anew to which it may point.
    OlderLabel,
    /// The areas of a new physical volume, before the label that points to them.
    NewAreas,
    /// The label of a new physical volume, before a group relies on it.
    NewLabel,
    /// Zeros and contents of new volumes, before the commit that makes them reachable.
    Contents,
    /// Use flags that are cleared, and other edits of labels, before the commit.
    LabelsBefore,
    /// The texts, before any header points to them.
    Texts,
    /// The headers, before success is reported and before anything freed is touched.
    Headers,
    /// Identities in labels, before the commit that forgets the old ones.
    LabelsBetween,
    /// The headers of areas that are ignored from now on.
    IgnoredHeaders,
    /// Headers that point to older texts, cleared before those that point to the newest.
    Stale,
    /// Headers of areas that no group uses any more.
    Cleared,
    /// Use flags that are set, after the commit.
    LabelsAfter,
    /// A label that is removed.
    LabelRemoved,
}

impl FlushPoint {
    /// All of them, in the order in which a command comes by.
    pub const ALL: [Self; 14] = [
        Self::Adopted,
        Self::OlderLabel,
        Self::NewAreas,
        Self::NewLabel,
        Self::Contents,
        Self::LabelsBefore,
        Self::Texts,
        Self::Headers,
        Self::LabelsBetween,
        Self::IgnoredHeaders,
        Self::Stale,
        Self::Cleared,
        Self::LabelsAfter,
        Self::LabelRemoved,
    ];
}

/// Which flushes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FlushPolicy {
    /// All.
    #[default]
    Strict,
    /// All but one: a seeded fault.
    Without(FlushPoint),
    /// None, as stock.
    None,
    /// All flushes, and not these checks: a seeded fault.
    Trusting(Trust),
}

/// What is believed of disks that others may have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// That they are as they were when the plan was made: they are not read again under the locks.
    Plan,
    /// Besides, that no version on them is as new as the one that is written.
    PlanAndVersion,
}

impl FlushPolicy {
    /// Whether the flush at `point` is made.
    pub fn keeps(self, point: FlushPoint) -> bool {
        match self {
            Self::Strict | Self::Trusting(_) => true,
            Self::Without(left_out) => left_out != point,
            Self::None => false,
        }
    }

    /// Whether disks that are locked have to be what the plan was made from.
    pub(super) fn compares_disks(self) -> bool {
        !matches!(self, Self::Trusting(_))
    }

    /// Whether a version that is written has to be newer than those that are there.
    pub(super) fn compares_versions(self) -> bool {
        self != Self::Trusting(Trust::PlanAndVersion)
    }
}
