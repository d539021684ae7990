//! Lines of measurements, in the same file as those of emulations.
//!
//! ```text
//!   {"kind":"measuring","id":"…","experiment":"…","config":"…","command":"…","version":"…",
//!    "revision":"…","machine":"…","date":…,"quick":0,"place":"…","settings":{…},"absent":{…}}
//!   {"kind":"measured","id":"…","medium":"memory","load":"read","round":0,"seed":1,
//!    "subjects":{"native":{"p50_us":…},…},"latency":{"native":"…",…}}
//! ```
//!
//! What measures under one identity is one machine, program and study; a round has its own line.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::drive::Driven;
use super::spec::{Medium, Study};
use crate::audit::json::{Node, Value};
use crate::experiment::{Values, as_digits, hash, line};

/// A recording that comes with the program, for whoever has measured nothing: the lines of
/// `ashlar lab measure`, less their histograms.
const SHIPPED: &str = include_str!("../../experiments/measured.jsonl");

/// Who measured, with what, where and when.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Measuring {
    /// The study.
    pub experiment: String,
    /// The hash of what it measures.
    #[serde(serialize_with = "as_digits")]
    pub config: u64,
    /// The command line.
    pub command: String,
    /// Of the program.
    pub version: String,
    /// Of its sources, if known.
    pub revision: String,
    /// What it ran on, with the kernel.
    pub machine: String,
    /// Seconds since 1970 began.
    pub date: u64,
    /// Whether slices were too short to conclude anything.
    #[serde(rename = "quick", serialize_with = "as_number")]
    pub is_quick: bool,
    /// The file systems of the images, and the engine.
    pub place: String,
    /// By name, in words: how the images were reached, how large they were.
    pub settings: BTreeMap<String, String>,
    /// What could not run here, and why: by medium and subject.
    pub absent: BTreeMap<String, String>,
}

/// One round: every subject once, the base twice.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename = "measured")]
pub struct Block {
    /// Of its [`Measuring`].
    #[serde(serialize_with = "as_digits")]
    pub id: u64,
    /// Where the images lay.
    #[serde(serialize_with = "as_word")]
    pub medium: Medium,
    /// What was asked.
    pub load: String,
    /// Which round, from 0.
    pub round: u64,
    /// What the order and the places were drawn from.
    pub seed: u64,
    /// What was seen, by subject.
    pub subjects: BTreeMap<String, Values>,
    /// The histograms of latencies as text, by subject; empty where they were left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub latency: BTreeMap<String, String>,
}

/// The measurements of a file of results.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// In the order of their lines.
    pub measuring: Vec<Measuring>,
    /// In the order of their lines.
    pub blocks: Vec<Block>,
    /// Real programs, in the order of their lines.
    pub driven: Vec<Driven>,
}

impl Measuring {
    /// What tells it apart: machine, place, program and study, not the day.
    pub fn id(&self) -> u64 {
        let program = (&self.version, &self.revision);
        let whereabouts = (&self.machine, &self.place);
        let says = (
            &self.experiment,
            self.config,
            program,
            whereabouts,
            self.is_quick,
        );
        hash(format!("{says:?}").as_bytes())
    }

    /// The line, with its end.
    pub fn to_line(&self) -> String {
        #[derive(Serialize)]
        #[serde(tag = "kind", rename = "measuring")]
        struct Said<'a> {
            #[serde(serialize_with = "as_digits")]
            id: u64,
            #[serde(flatten)]
            measuring: &'a Measuring,
        }
        line(&Said {
            id: self.id(),
            measuring: self,
        })
    }

    fn read(node: &Node) -> Result<Self, String> {
        Ok(Self {
            experiment: text(node, "experiment")?,
            config: digits(node, "config")?,
            command: text(node, "command")?,
            version: text(node, "version")?,
            revision: text(node, "revision")?,
            machine: text(node, "machine")?,
            date: number(node, "date")? as u64,
            is_quick: number(node, "quick")? > 0.0,
            place: text(node, "place")?,
            settings: read_texts(node, "settings")?,
            absent: read_texts(node, "absent")?,
        })
    }
}

impl Block {
    /// The line, with its end.
    pub fn to_line(&self) -> String {
        line(self)
    }

    fn read(node: &Node) -> Result<Self, String> {
        let medium = Medium::from_word(&text(node, "medium")?);
        let mut subjects = BTreeMap::new();
        let found = node.get("subjects").ok_or("subjects: is missing")?;
        for (name, values) in found.members() {
            let mut numbers = Values::new();
            for (key, value) in values.members() {
                let Value::Number(value) = &value.value else {
                    return Err(format!("subjects.{name}.{key}: a number is expected"));
                };
                numbers.insert(key.clone(), value.value);
            }
            subjects.insert(name.clone(), numbers);
        }
        let latency = match node.get("latency") {
            Some(_) => read_texts(node, "latency")?,
            None => BTreeMap::new(),
        };
        Ok(Self {
            id: digits(node, "id")?,
            medium: medium.ok_or("medium: memory or file is expected")?,
            load: text(node, "load")?,
            round: number(node, "round")? as u64,
            seed: number(node, "seed")? as u64,
            subjects,
            latency,
        })
    }
}

impl Recorded {
    /// Takes a line, if it is a measurement's; says whether it is.
    pub(crate) fn take(&mut self, kind: &str, node: &Node) -> Result<bool, String> {
        match kind {
            "measuring" => self.measuring.push(Measuring::read(node)?),
            "measured" => self.blocks.push(Block::read(node)?),
            "driven" => self.driven.push(driven(node)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The last one that measured what the study says now, and was in no hurry; with all that was
    /// said under its identity.
    pub(super) fn latest(&self, study: &Study) -> Option<Measuring> {
        let fits = |one: &&Measuring| {
            let is_same = one.experiment == study.name && one.config == study.hash;
            is_same && !one.is_quick && self.blocks.iter().any(|block| block.id == one.id())
        };
        let mut latest = self.measuring.iter().rev().find(fits)?.clone();
        let id = latest.id();
        for one in self.measuring.iter().filter(|one| one.id() == id) {
            latest.settings.extend(one.settings.clone());
            latest.absent.extend(one.absent.clone());
        }
        Some(latest)
    }

    /// The rounds of one medium and load, in their order; of a round done twice the last one.
    pub(super) fn rounds(&self, id: u64, medium: Medium, load: &str) -> Vec<&Block> {
        let own = |block: &&Block| block.id == id && block.medium == medium && block.load == load;
        let own = self.blocks.iter().filter(own);
        let rounds: BTreeMap<u64, &Block> = own.map(|block| (block.round, block)).collect();
        rounds.into_values().collect()
    }
}

/// The recording that comes with the program; nothing if it cannot be read, which a test excludes.
pub fn shipped() -> Recorded {
    crate::experiment::read("measured.jsonl", SHIPPED)
        .map_or_else(|_| Recorded::default(), |found| found.measured)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn as_number<S: Serializer>(is_so: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u8(u8::from(*is_so))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn as_word<S: Serializer>(medium: &Medium, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(medium.word())
}

fn driven(node: &Node) -> Result<Driven, String> {
    Ok(Driven {
        command: text(node, "command")?,
        elapsed_s: number(node, "elapsed_s")?,
        cpu_s: number(node, "cpu_s")?,
        date: number(node, "date")? as u64,
        about: read_texts(node, "about")?,
        output: text(node, "output")?,
    })
}

fn read_texts(node: &Node, name: &str) -> Result<BTreeMap<String, String>, String> {
    let inner = node
        .get(name)
        .ok_or_else(|| format!("{name}: is missing"))?;
    let text = |(key, node): &(String, Node)| match &node.value {
        Value::Text(text) => Ok((key.clone(), text.clone())),
        _ => Err(format!("{name}.{key}: a text is expected")),
    };
    inner.members().iter().map(text).collect()
}

fn text(node: &Node, name: &str) -> Result<String, String> {
    let found = node.text(name).map(str::to_owned);
    found.ok_or_else(|| format!("{name}: a text is expected"))
}

fn number(node: &Node, name: &str) -> Result<f64, String> {
    match node.get(name).map(|node| &node.value) {
        Some(Value::Number(number)) => Ok(number.value),
        _ => Err(format!("{name}: a number is expected")),
    }
}

fn digits(node: &Node, name: &str) -> Result<u64, String> {
    let found = u64::from_str_radix(&text(node, name)?, 16);
    found.map_err(|_| format!("{name}: 16 hexadecimal digits are expected"))
}
