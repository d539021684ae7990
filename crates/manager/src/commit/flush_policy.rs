//! Which flushes are made: all of them, except where a test wants to see what one is for.

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
}

impl FlushPolicy {
    /// Whether the flush at `point` is made.
    pub fn keeps(self, point: FlushPoint) -> bool {
        match self {
            Self::Strict => true,
            Self::Without(left_out) => left_out != point,
            Self::None => false,
        }
    }
}
