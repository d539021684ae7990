//! An experiment, read from its file.
//!
//! ```text
//!   title = "…"   about = "…"   replicates = 10
//!   [factors]  depth = [1, 16]
//!   [disk.…]  [layout.…]                     as `layout` reads them
//!   [load.hot]  rw = "randread"  iodepth = "{depth}"      fio's options
//!   [[rule]]  claim = "D.1"  other = "striped hot depth=16"  base = "linear hot depth=16"
//!             metric = "iops"  confirm = [1.8, 2.05]
//! ```
//!
//! Factors are put into the text before it is read: `"{depth}"` becomes a number, `{depth}` inside
//! a text becomes its digits. `skip` names arms that are not wanted, in the words of a rule.

use std::fmt::Write;

use super::rule::Rule;
use super::work::{Load, Work};
use crate::error::{Error, Kind, Result};
use crate::layout::{Layout, disks, layouts};
use crate::settings::Table;

/// Arms of one experiment at most.
const ARMS_MAX: usize = 4096;
/// Replicates unless the file says otherwise: enough for intervals with some meaning.
const REPLICATES: u64 = 10;

/// An experiment.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The name of its file.
    pub name: String,
    /// One line.
    pub title: String,
    /// Why it is as it is: paragraphs.
    pub about: String,
    /// How often each arm is run.
    pub replicates: u64,
    /// Every combination of layout, load and factors.
    pub arms: Vec<Arm>,
    /// What it decides.
    pub rules: Vec<Rule>,
    /// The file.
    pub text: String,
}

/// One combination.
#[derive(Debug, Clone)]
pub struct Arm {
    /// The layout's name.
    pub layout_name: String,
    /// The load's name.
    pub load_name: String,
    /// Names and values of factors.
    pub factors: Vec<(String, String)>,
    /// What runs.
    pub layout: Layout,
    /// What it does there.
    pub work: Work,
    /// The load as a job file, for whoever wants to run it on a real disk.
    pub job_file: String,
    /// Of all that decides its results.
    pub hash: u64,
}

impl Arm {
    /// What results call it: `striped hot depth=16`.
    pub fn key(&self) -> String {
        let mut key = format!("{} {}", self.layout_name, self.load_name);
        for (name, value) in &self.factors {
            // Writing to memory does not fail.
            let _ = write!(key, " {name}={value}");
        }
        key
    }

    /// Whether the words name it: its layout, its load, values of factors, in any order; what is
    /// not named may be anything.
    pub fn is_named(&self, words: &str) -> bool {
        words
            .split_whitespace()
            .all(|word| match word.split_once('=') {
                Some((name, value)) => {
                    let named = |(one, is): &(String, String)| one == name && is == value;
                    self.factors.iter().any(named)
                }
                None => word == self.layout_name || word == self.load_name,
            })
    }
}

impl Experiment {
    /// Reads an experiment; its name is that of the file.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let file = format!("{name}.toml");
        let mut table = Table::parse(&file, text)?;
        let mut experiment = Self {
            name: name.to_owned(),
            title: table.need_text("title")?,
            about: table.text("about")?.unwrap_or_default().trim().to_owned(),
            replicates: table
                .count("replicates")?
                .unwrap_or(REPLICATES)
                .clamp(1, 10_000),
            arms: Vec::new(),
            rules: Vec::new(),
            text: text.to_owned(),
        };
        let factors = factors(&mut table)?;
        let skip = table.texts("skip")?;
        for combination in combinations(&factors) {
            let mut filled = text.to_owned();
            for (name, value) in &combination {
                if value.parse::<f64>().is_ok() {
                    filled = filled.replace(&format!("\"{{{name}}}\""), value);
                }
                filled = filled.replace(&format!("{{{name}}}"), value);
            }
            experiment.fill(&file, &filled, &combination)?;
        }
        experiment
            .arms
            .retain(|arm| !skip.iter().any(|words| arm.is_named(words)));
        if experiment.arms.is_empty() || experiment.arms.len() > ARMS_MAX {
            let count = experiment.arms.len();
            return Err(table.error("", format!("{count} arms; 1 to {ARMS_MAX} can be run")));
        }
        for rule in table.tables("rule")? {
            let rule = Rule::parse(rule, &experiment.arms)?;
            experiment.rules.extend(rule);
        }
        Ok(experiment)
    }

    /// Adds the arms of one combination of factors.
    fn fill(&mut self, file: &str, text: &str, factors: &[(String, String)]) -> Result<()> {
        let mut table = Table::parse(file, text)?;
        let disks = disks(&mut table)?;
        let layouts = layouts(&mut table, &disks)?;
        let mut loads = Vec::new();
        for (name, load) in table.named("load")? {
            loads.push(Load::read(name, load)?);
        }
        for known in ["title", "about", "replicates", "factors", "skip", "rule"] {
            table.forget(known);
        }
        table.finish()?;
        for layout in &layouts {
            for load in &loads {
                let (work, job_file) = load.on(layout)?;
                let said = format!("{layout:?} {work:?}");
                self.arms.push(Arm {
                    layout_name: layout.name.clone(),
                    load_name: load.name.clone(),
                    factors: factors.to_vec(),
                    layout: layout.clone(),
                    work,
                    hash: hash(said.as_bytes()),
                    job_file,
                });
            }
        }
        Ok(())
    }

    /// The arms that the words name; an error if there are none.
    pub fn named<'a>(arms: &'a [Arm], words: &str) -> Result<Vec<&'a Arm>> {
        let found: Vec<&Arm> = arms.iter().filter(|arm| arm.is_named(words)).collect();
        if found.is_empty() {
            let what = format!("no arm is called '{words}'");
            return Err(Error::new(Kind::Syntax, what));
        }
        Ok(found)
    }
}

type Factor = (String, Vec<String>);

fn factors(table: &mut Table) -> Result<Vec<Factor>> {
    let Some(mut inner) = table.table("factors")? else {
        return Ok(Vec::new());
    };
    let mut factors = Vec::new();
    for name in inner.names() {
        let values = inner.texts(&name)?;
        if values.is_empty() {
            return Err(inner.error(&name, "a factor without values"));
        }
        factors.push((name, values));
    }
    Ok(factors)
}

fn combinations(factors: &[Factor]) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new()];
    for (name, values) in factors {
        all = all
            .into_iter()
            .flat_map(|before: Vec<(String, String)>| {
                values.iter().map(move |value| {
                    let mut with = before.clone();
                    with.push((name.clone(), value.clone()));
                    with
                })
            })
            .take(ARMS_MAX + 1)
            .collect();
    }
    all
}

/// FNV-1a: enough to tell descriptions apart, and the same everywhere.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}
