//! A number of cases, spread over all that there are, and what came of them.

use std::collections::BTreeMap;
use std::fmt;

use super::bench::{Bench, Template};
use super::cases::{Case, all};
use super::verdict::{Verdict, compare};

/// A step that shares no divisor with the numbers of cases that there are likely to be.
const STRIDE: usize = 7919;
/// Failures that are printed.
const SHOWN_MAX: usize = 40;

/// What is to be compared.
#[derive(Debug, Clone, Copy)]
pub struct Campaign {
    /// How many cases; all where there are fewer.
    pub cases: usize,
    /// Where it begins.
    pub seed: usize,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// By command and verdict.
    counts: BTreeMap<(String, String), usize>,
    /// Where less is left here than in stock.
    pub worse: Vec<String>,
    cases: usize,
}

impl Campaign {
    /// Compares, and tells after each case how many were done.
    pub fn run(&self, mut tell: impl FnMut(usize)) -> Report {
        let cases = all();
        let bench = Bench::new();
        let mut report = Report::default();
        let count = self.cases.min(cases.len());
        let mut chosen: Vec<&Case> = (0..count)
            .map(|number| &cases[(self.seed + number * STRIDE) % cases.len()])
            .collect();
        chosen.sort_by_key(|case| case.disks);
        let mut template: Option<(usize, Template)> = None;
        for case in chosen {
            if template
                .as_ref()
                .is_none_or(|(disks, _)| *disks != case.disks)
            {
                template = Some((case.disks, bench.template(case.disks)));
            }
            let (_, made) = template.as_ref().expect("it was made above");
            let [before, stock, ours] = bench.run(made, case);
            report.add(case, compare(&before, &stock, &ours, &case.command));
            tell(report.cases);
        }
        report
    }
}

impl Report {
    fn add(&mut self, case: &Case, verdict: Verdict) {
        let words = case
            .command
            .split(' ')
            .filter(|word| !word.contains(['/', '@']));
        let command = words.collect::<Vec<_>>().join(" ");
        let name = match verdict {
            Verdict::Same => "the same".to_owned(),
            Verdict::Better(reason) => format!("{reason:?}"),
            Verdict::Worse(what) => {
                self.worse.push(format!("{case}: {what}"));
                "WORSE".to_owned()
            }
        };
        self.cases += 1;
        *self.counts.entry((command, name)).or_default() += 1;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((command, verdict), count) in &self.counts {
            writeln!(f, "{count:>6}  {verdict:<12} {command}")?;
        }
        for worse in self.worse.iter().take(SHOWN_MAX) {
            writeln!(f, "worse: {worse}")?;
        }
        writeln!(f, "{} cases, {} worse", self.cases, self.worse.len())
    }
}
