//! What an audit finds: the line, the field, the rule that is broken, and what would fit.

use std::fmt;

/// The rules. The numbered ones are those of the lab's list of claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// R.1: a bandwidth is a volume by a time.
    Bandwidth,
    /// R.2: requests per second are the bandwidth by the block size.
    Requests,
    /// R.3: by Little's law no more requests are under way than were allowed.
    Little,
    /// R.4: extents times their size is the printed size; parts of a layout agree.
    Extents,
    /// R.5: one workload moves one volume, so its read and write rates keep their ratio.
    Ratio,
    /// R.6: an elapsed time in whole seconds gives all rates of a run.
    Elapsed,
    /// R.7: a cost of mapping is in proportion to what was mapped.
    Mapping,
    /// R.8: percentages and factors follow from their table.
    Percentage,
    /// R.9: a metric that keeps a processor busy is none of storage.
    Processor,
    /// R.10: a spindle turns only so fast.
    Spindle,
    /// R.11: repetitions, spread and memory are stated, or nothing is decided.
    Stated,
    /// Parts add up to their whole, and a number printed twice is one number.
    Parts,
    /// Smallest, mean and largest are in order; percentiles rise.
    Order,
}

impl Rule {
    /// Its name in the lab's list; `parts` and `order` are not on it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bandwidth => "R.1",
            Self::Requests => "R.2",
            Self::Little => "R.3",
            Self::Extents => "R.4",
            Self::Ratio => "R.5",
            Self::Elapsed => "R.6",
            Self::Mapping => "R.7",
            Self::Percentage => "R.8",
            Self::Processor => "R.9",
            Self::Spindle => "R.10",
            Self::Stated => "R.11",
            Self::Parts => "parts",
            Self::Order => "order",
        }
    }
}

/// What a finding means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Weight {
    /// The numbers cannot all be right.
    Impossible,
    /// They can, but do not show what they are said to show.
    Weak,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// The field, as the text calls it.
    pub field: String,
    /// The rule.
    pub rule: Rule,
    /// Impossible or weak.
    pub weight: Weight,
    /// What is wrong.
    pub problem: String,
    /// What would be consistent.
    pub consistent: String,
    /// The claim that falls with it, if the text names one.
    pub claim: Option<String>,
}

/// What an audit did and found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audit {
    /// Kinds of results that were recognised.
    pub formats: Vec<&'static str>,
    /// Rules applied, counted for each number that one was applied to.
    pub checks: usize,
    /// Broken rules, by line.
    pub findings: Vec<Finding>,
}

impl Audit {
    /// Whether all numbers can be right.
    pub fn is_possible(&self) -> bool {
        self.impossible().next().is_none()
    }

    /// The findings that cannot be explained by weakness.
    pub fn impossible(&self) -> impl Iterator<Item = &Finding> {
        let impossible = |finding: &&Finding| finding.weight == Weight::Impossible;
        self.findings.iter().filter(impossible)
    }

    /// Counts a check; if it failed, keeps what it says.
    pub(super) fn check(&mut self, holds: bool, finding: impl FnOnce() -> Finding) {
        self.checks += 1;
        if !holds {
            self.findings.push(finding());
        }
    }
}

impl Finding {
    pub(super) fn impossible(line: usize, field: impl Into<String>, rule: Rule) -> Self {
        Self {
            line,
            field: field.into(),
            rule,
            weight: Weight::Impossible,
            problem: String::new(),
            consistent: String::new(),
            claim: None,
        }
    }

    pub(super) fn weak(line: usize, field: impl Into<String>, rule: Rule) -> Self {
        Self {
            weight: Weight::Weak,
            ..Self::impossible(line, field, rule)
        }
    }

    pub(super) fn says(mut self, problem: impl Into<String>) -> Self {
        self.problem = problem.into();
        self
    }

    pub(super) fn fits(mut self, consistent: impl Into<String>) -> Self {
        self.consistent = consistent.into();
        self
    }

    pub(super) fn of_claim(mut self, claim: &str) -> Self {
        self.claim = Some(claim.to_owned());
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = self.rule.name();
        write!(
            f,
            "line {}: {} [{rule}]: {}",
            self.line, self.field, self.problem
        )?;
        if !self.consistent.is_empty() {
            write!(f, "; consistent would be {}", self.consistent)?;
        }
        match &self.claim {
            Some(claim) => write!(f, " (claim {claim})"),
            None => Ok(()),
        }
    }
}
