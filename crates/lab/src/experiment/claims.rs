//! All claims of the seed documents, and where each stands.
//!
//! `experiments/claims.toml` has a row for each: what it says, and who decides it. An experiment
//! or a measurement does by its rules, the audit by what it finds in the seed's own tables,
//! arithmetic by a check that the tests of the lab repeat; some wait for what is not built, and say
//! for what. Where rules decide a part of a claim only, it is undecided as long as they do not
//! refute it, and its row says what is open.

use super::record::Read;
use super::rule::{Evidence, judge};
use super::spec::Experiment;
use crate::audit::audit;
use crate::error::Result;
use crate::measure;
use crate::settings::Table;
use crate::stats::Verdict;

const TEXT: &str = include_str!("../../experiments/claims.toml");

/// The tables of the seeds, as the audit reads them.
const STUDIES: &[(&str, &str)] = &[
    ("000", include_str!("../audit/fixtures/seed000.txt")),
    ("001", include_str!("../audit/fixtures/seed001.txt")),
    ("003", include_str!("../audit/fixtures/seed003.txt")),
];

/// A claim.
#[derive(Debug, Clone)]
pub struct Claim {
    /// As the list of claims has it.
    pub id: String,
    /// The number of the seed document.
    pub seed: String,
    /// What it says.
    pub text: String,
    /// Who decides.
    pub deciding: Deciding,
}

/// Who decides a claim.
#[derive(Debug, Clone)]
pub enum Deciding {
    /// The rules of experiments that name it.
    Experiment {
        /// What no rule decides of it, and what would; empty if they decide all of it. Then the
        /// claim can be refuted, and not confirmed.
        open: String,
        /// What has to be known beside the verdict; may be empty.
        reason: String,
    },
    /// The rules of what is measured on real machines.
    Measured {
        /// What the numbers do not say.
        reason: String,
    },
    /// What the audit finds in the tables of a seed: a rule, and words of the field.
    Audit {
        /// The seed.
        study: String,
        /// The rule's name.
        rule: String,
        /// Words of the field; empty for any.
        field: String,
        /// What a finding says of the claim.
        found: Verdict,
        /// Why that is so.
        reason: String,
    },
    /// A check by hand that tests repeat.
    Arithmetic {
        /// What it says.
        verdict: Verdict,
        /// Which check.
        reason: String,
    },
    /// Something that is not built.
    Waits {
        /// For what, and what it will do.
        reason: String,
    },
}

/// A claim and where it stands.
#[derive(Debug, Clone)]
pub struct Row {
    /// The claim.
    pub claim: Claim,
    /// Where it stands.
    pub standing: Standing,
    /// What rules of experiments came to.
    pub evidence: Vec<Evidence>,
    /// Why, in words.
    pub reason: String,
}

/// Where a claim stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Decided, or decided to be undecided.
    Judged(Verdict),
    /// Its experiment was not run, or with too few replicates.
    NotRun,
    /// It waits for something that is not built.
    Waits,
}

impl Standing {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Judged(Verdict::Confirmed) => "confirmed",
            Self::Judged(Verdict::Refuted) => "refuted",
            Self::Judged(Verdict::Equivalent) => "equivalent",
            Self::Judged(Verdict::Undecided) => "undecided",
            Self::NotRun => "not run",
            Self::Waits => "waits",
        }
    }
}

/// All claims, in the order of the list.
pub fn claims() -> Result<Vec<Claim>> {
    let mut table = Table::parse("claims.toml", TEXT)?;
    let rows = table.tables("claim")?;
    table.finish()?;
    rows.into_iter().map(claim).collect()
}

fn claim(mut table: Table) -> Result<Claim> {
    let id = table.need_text("id")?;
    let seed = table.need_text("seed")?;
    let text = table.need_text("text")?;
    let by = table.need_text("by")?;
    let reason = table.text("reason")?.unwrap_or_default();
    let deciding = match by.as_str() {
        "experiment" => Deciding::Experiment {
            open: table.text("open")?.unwrap_or_default(),
            reason,
        },
        "measured" => Deciding::Measured { reason },
        "audit" => Deciding::Audit {
            study: table.need_text("study")?,
            rule: table.need_text("rule")?,
            field: table.text("field")?.unwrap_or_default(),
            found: verdict(&mut table)?,
            reason,
        },
        "arithmetic" => Deciding::Arithmetic {
            verdict: verdict(&mut table)?,
            reason,
        },
        "waits" => Deciding::Waits { reason },
        _ => {
            let what = "one of experiment, measured, audit, arithmetic and waits is expected";
            return Err(table.error("by", what));
        }
    };
    table.finish()?;
    Ok(Claim {
        id,
        seed,
        text,
        deciding,
    })
}

fn verdict(table: &mut Table) -> Result<Verdict> {
    match table.need_text("verdict")?.as_str() {
        "confirmed" => Ok(Verdict::Confirmed),
        "refuted" => Ok(Verdict::Refuted),
        _ => Err(table.error("verdict", "confirmed or refuted is expected")),
    }
}

/// Where every claim stands by these results.
pub fn rows(experiments: &[Experiment], results: &Read) -> Result<Vec<Row>> {
    let judged = |experiment| judge(experiment, &results.records);
    let mut evidence: Vec<Evidence> = experiments.iter().flat_map(judged).collect();
    let shipped = measure::shipped();
    for study in measure::studies()? {
        evidence.extend(measure::evidence(&study, &results.measured, &shipped));
    }
    let row = |claim: Claim| {
        let own = |one: &&Evidence| one.rule.claim == claim.id;
        let evidence: Vec<Evidence> = evidence.iter().filter(own).cloned().collect();
        let (standing, reason) = stand(&claim.deciding, &evidence);
        Row {
            claim,
            standing,
            evidence,
            reason,
        }
    };
    Ok(claims()?.into_iter().map(row).collect())
}

fn stand(deciding: &Deciding, evidence: &[Evidence]) -> (Standing, String) {
    match deciding {
        Deciding::Experiment { open, reason } => {
            if evidence.iter().any(|one| one.interval.is_none()) || evidence.is_empty() {
                let what = "fewer than six replicates of an arm have been run".to_owned();
                return (Standing::NotRun, what);
            }
            let verdict = all(evidence);
            if open.is_empty() || verdict == Verdict::Refuted {
                return (Standing::Judged(verdict), reason.clone());
            }
            let end = if reason.is_empty() { "" } else { "; " };
            let reason = format!("{reason}{end}{open}");
            (Standing::Judged(Verdict::Undecided), reason)
        }
        Deciding::Measured { reason } => {
            if evidence.iter().any(|one| one.interval.is_none()) || evidence.is_empty() {
                let what = "waits for a measurement on this machine: run `ashlar lab measure`";
                return (Standing::Waits, what.to_owned());
            }
            (Standing::Judged(all(evidence)), reason.clone())
        }
        Deciding::Audit {
            study,
            rule,
            field,
            found,
            reason,
        } => {
            let text = STUDIES.iter().find(|(number, _)| number == study);
            let findings = text.and_then(|(_, text)| audit(text).ok());
            let findings = findings.map(|audit| audit.findings).unwrap_or_default();
            let hit = findings.iter().find(|finding| {
                let claim = finding.claim.as_deref().unwrap_or("");
                finding.rule.name() == rule
                    && (finding.field.contains(field.as_str()) || claim == field)
            });
            match hit {
                Some(finding) => (Standing::Judged(*found), format!("{reason} [{finding}]")),
                None => (
                    Standing::Judged(Verdict::Undecided),
                    format!("the audit by {rule} found nothing in {study}"),
                ),
            }
        }
        Deciding::Arithmetic { verdict, reason } => (Standing::Judged(*verdict), reason.clone()),
        Deciding::Waits { reason } => (Standing::Waits, reason.clone()),
    }
}

/// One wrong rule refutes; what is left open leaves the claim open.
fn all(evidence: &[Evidence]) -> Verdict {
    let has = |verdict| evidence.iter().any(|one| one.verdict == verdict);
    if has(Verdict::Refuted) {
        Verdict::Refuted
    } else if has(Verdict::Undecided) {
        Verdict::Undecided
    } else if has(Verdict::Equivalent) {
        Verdict::Equivalent
    } else {
        Verdict::Confirmed
    }
}
