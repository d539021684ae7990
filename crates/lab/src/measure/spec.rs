//! A study, read from its file.
//!
//! ```text
//!   kind = "measured"   title = "…"   about = "…"
//!   rounds = 20   slice_ms = 60   size = "96M"   zone = 0.05   media = ["memory", "file"]
//!   [subject.linear]  way = "direct"  over = "linear"  states_us = 0.02  states = "a lookup"
//!   [load.read]       operation = "read"  order = "random"  size = "4K"  depth = 1
//!   [[rule]]  claim = "C.9"  what = "…"  media = ["memory"]  load = "read"  metric = "p50_us"
//!             other = "loop2"  base = "loop1"  as = "ratio"  confirm = [1.0, inf]
//! ```
//!
//! `as` is `ratio`, `difference`, or `steps`: the difference over that of `first = [other, base]`.
//! What a subject *states* is what emulations are told that it costs a request.

use crate::error::{Error, Kind, Result};
use crate::experiment::hash;
use crate::settings::Table;

/// Name and text of each, by name; made from the folder when the program is built.
const TEXTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/measured.rs"));

/// The name of the base of all comparisons.
pub(super) const NATIVE: &str = "native";
/// The name of its second run in a round.
pub(super) const CONTROL: &str = "control";
/// The largest request, in bytes.
const SIZE_MAX: u64 = 1 << 20;
/// The most requests under way at once.
const DEPTH_MAX: u64 = 256;

/// A study.
#[derive(Debug, Clone)]
pub struct Study {
    /// The name of its file: `measured-loops`.
    pub name: String,
    /// One line.
    pub title: String,
    /// Why it is as it is: paragraphs.
    pub about: String,
    /// How many rounds.
    pub rounds: u64,
    /// How long each subject is measured in a round, in nanoseconds.
    pub slice_ns: u64,
    /// The bytes that are read and written, a multiple of 8 MiB.
    pub size: u64,
    /// Differences that do not matter, and what the control has to stay within.
    pub zone: f64,
    /// Where the images lie.
    pub media: Vec<Medium>,
    /// What is compared; `native` is among them.
    pub subjects: Vec<SubjectSpec>,
    /// What they are asked.
    pub loads: Vec<Load>,
    /// What it decides.
    pub rules: Vec<Rule>,
    /// Of all that decides its results.
    pub hash: u64,
}

/// Where images lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Medium {
    /// In memory: tmpfs.
    Memory,
    /// In a folder, past the page cache where its file system allows that.
    File,
}

/// A subject, as it is declared.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectSpec {
    /// Its name.
    pub name: String,
    /// By which way it is reached.
    pub way: Way,
    /// What lies at the end of the way.
    pub over: Over,
    /// What emulations are told that it adds to a request, in microseconds.
    pub states_us: Option<f64>,
    /// What that number is.
    pub states: String,
}

/// By which way a device is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// In this process.
    Direct,
    /// So many kernel loop devices over the file, nested: 1 to 3.
    Loops(u8),
    /// NBD on a unix socket: our server and our client.
    NbdUnix,
    /// NBD on a TCP port of this machine.
    NbdTcp,
    /// As `attach` does it: FUSE, and a loop device over that.
    Attach,
}

/// What lies at the end of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// The image file.
    File,
    /// A linear volume in it.
    Linear,
    /// A striped volume over two images.
    Striped,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Its name.
    pub name: String,
    /// Whether it reads or writes.
    pub operation: Operation,
    /// In which order.
    pub order: Order,
    /// The bytes of a request.
    pub size: u32,
    /// Requests under way.
    pub depth: u32,
}

/// Whether a load reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Reads.
    Read,
    /// Writes, without flushes.
    Write,
}

/// In which order blocks are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Any block is as likely as any other.
    Random,
    /// One after the other, again and again.
    Sequential,
}

/// A rule: which relation of which subjects decides a claim.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(super) claim: String,
    pub(super) what: String,
    pub(super) medium: Medium,
    pub(super) load: String,
    pub(super) metric: String,
    pub(super) other: String,
    pub(super) base: String,
    pub(super) relation: Relation,
    /// Where the claim holds.
    pub(super) confirm: (f64, f64),
    /// Where it is wrong: inside of each of these.
    pub(super) refute: Vec<(f64, f64)>,
}

/// How two subjects are put in relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// Other over base.
    Ratio,
    /// Other less base.
    Difference,
    /// Other less base, over the difference of two others.
    Steps(String, String),
}

/// All studies, by name.
pub fn studies() -> Result<Vec<Study>> {
    let texts = TEXTS.iter();
    texts.map(|(name, text)| Study::parse(name, text)).collect()
}

/// The one called `name`, with or without `measured-`.
pub fn study(name: &str) -> Result<Study> {
    let short = |known: &str| known.strip_prefix("measured-") == Some(name);
    let found = TEXTS
        .iter()
        .find(|(known, _)| *known == name || short(known));
    let Some((name, text)) = found else {
        let names: Vec<&str> = TEXTS.iter().map(|(name, _)| *name).collect();
        let what = format!(
            "there is nothing to measure called '{name}'; there are {}",
            names.join(", ")
        );
        return Err(Error::new(Kind::Unsupported, what));
    };
    Study::parse(name, text)
}

impl Study {
    /// Reads a study; its name is that of the file.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let mut table = Table::parse(&format!("{name}.toml"), text)?;
        if table.need_text("kind")? != "measured" {
            return Err(table.error("kind", "\"measured\" is expected"));
        }
        let mut study = Self {
            name: name.to_owned(),
            title: table.need_text("title")?,
            about: table.text("about")?.unwrap_or_default().trim().to_owned(),
            rounds: table.count("rounds")?.unwrap_or(20).clamp(1, 10_000),
            slice_ns: table.time("slice_ms", 1e6)?.unwrap_or(60_000_000),
            size: table.need_bytes("size")?,
            zone: table.number("zone")?.unwrap_or(0.05),
            media: media(&mut table)?,
            subjects: Vec::new(),
            loads: Vec::new(),
            rules: Vec::new(),
            hash: 0,
        };
        if study.size == 0 || !study.size.is_multiple_of(8 << 20) || study.size > 1 << 30 {
            return Err(table.error("size", "a multiple of 8 MiB up to 1 GiB is expected"));
        }
        let zone = crate::stats::Zone::of_share(study.zone);
        zone.map_err(|error| table.error("zone", error))?;
        for (name, inner) in table.named("subject")? {
            study.subjects.push(SubjectSpec::read(name, inner)?);
        }
        for (name, inner) in table.named("load")? {
            study.loads.push(Load::read(name, inner)?);
        }
        if !study.subjects.iter().any(|one| one.name == NATIVE) || study.loads.is_empty() {
            return Err(table.error("subject", "there has to be one called native, and a load"));
        }
        for inner in table.tables("rule")? {
            let rules = study.rule(inner)?;
            study.rules.extend(rules);
        }
        table.finish()?;
        let says = (study.size, study.slice_ns, &study.subjects, &study.loads);
        study.hash = hash(format!("{says:?}").as_bytes());
        Ok(study)
    }

    fn rule(&self, mut table: Table) -> Result<Vec<Rule>> {
        let media = media(&mut table)?;
        let mut subject = |key: &str| {
            let name = table.need_text(key)?;
            self.subject(&table, key, name)
        };
        let (other, base) = (subject("other")?, subject("base")?);
        let load = table.need_text("load")?;
        if !self.loads.iter().any(|known| known.name == load) {
            return Err(table.error("load", format!("there is no load '{load}'")));
        }
        let relation = match table.need_text("as")?.as_str() {
            "ratio" => Relation::Ratio,
            "difference" => Relation::Difference,
            "steps" => match table.texts("first")?.as_slice() {
                [high, low] => Relation::Steps(
                    self.subject(&table, "first", high.clone())?,
                    self.subject(&table, "first", low.clone())?,
                ),
                _ => return Err(table.error("first", "two subjects are expected")),
            },
            _ => return Err(table.error("as", "ratio, difference or steps is expected")),
        };
        let confirm = region(&mut table, "confirm")?.ok_or_else(|| table.missing("confirm"))?;
        let mut refute: Vec<(f64, f64)> = region(&mut table, "refute")?.into_iter().collect();
        if let Some((low, high)) = region(&mut table, "refute_outside")? {
            refute.extend([(f64::NEG_INFINITY, low), (high, f64::INFINITY)]);
        }
        let rule = Rule {
            claim: table.need_text("claim")?,
            what: table.need_text("what")?,
            medium: Medium::Memory,
            load,
            metric: table.need_text("metric")?,
            other,
            base,
            relation,
            confirm,
            refute,
        };
        table.finish()?;
        let each = |medium| Rule {
            medium,
            ..rule.clone()
        };
        Ok(media.into_iter().map(each).collect())
    }

    fn subject(&self, table: &Table, key: &str, name: String) -> Result<String> {
        if self.subjects.iter().any(|known| known.name == name) {
            return Ok(name);
        }
        Err(table.error(key, format!("there is no subject '{name}'")))
    }

    /// The claims that it has something to say about.
    pub fn claims(&self) -> Vec<&str> {
        let mut claims: Vec<&str> = self.rules.iter().map(|rule| &*rule.claim).collect();
        claims.dedup();
        claims
    }
}

impl SubjectSpec {
    fn read(name: String, mut table: Table) -> Result<Self> {
        if name == CONTROL {
            return Err(table.error("", "'control' is native once more, by itself"));
        }
        let over = match table.need_text("over")?.as_str() {
            "file" => Over::File,
            "linear" => Over::Linear,
            "striped" => Over::Striped,
            _ => return Err(table.error("over", "file, linear or striped is expected")),
        };
        let levels = table.count("levels")?.unwrap_or(1);
        let way = match table.need_text("way")?.as_str() {
            "direct" => Way::Direct,
            "nbd-unix" => Way::NbdUnix,
            "nbd-tcp" => Way::NbdTcp,
            "attach" => Way::Attach,
            "loop" if over == Over::File && (1..=3).contains(&levels) => Way::Loops(levels as u8),
            "loop" => return Err(table.error("levels", "1 to 3 over a file are expected")),
            _ => {
                let what = "direct, loop, nbd-unix, nbd-tcp or attach is expected";
                return Err(table.error("way", what));
            }
        };
        let found = Self {
            name,
            way,
            over,
            states_us: table.number("states_us")?,
            states: table.text("states")?.unwrap_or_default(),
        };
        table.finish()?;
        Ok(found)
    }
}

impl Load {
    fn read(name: String, mut table: Table) -> Result<Self> {
        let operation = match table.need_text("operation")?.as_str() {
            "read" => Operation::Read,
            "write" => Operation::Write,
            _ => return Err(table.error("operation", "read or write is expected")),
        };
        let order = match table.need_text("order")?.as_str() {
            "random" => Order::Random,
            "sequential" => Order::Sequential,
            _ => return Err(table.error("order", "random or sequential is expected")),
        };
        let size = table.need_bytes("size")?;
        if !(512..=SIZE_MAX).contains(&size) || !size.is_power_of_two() {
            return Err(table.error("size", "a power of two from 512 to 1 MiB is expected"));
        }
        let depth = table.count("depth")?.unwrap_or(1);
        if !(1..=DEPTH_MAX).contains(&depth) {
            return Err(table.error("depth", format!("1 to {DEPTH_MAX} are expected")));
        }
        table.finish()?;
        Ok(Self {
            name,
            operation,
            order,
            size: size as u32,
            depth: depth as u32,
        })
    }

    /// What it is, for people.
    pub fn words(&self) -> String {
        let size = self.size >> 10;
        let (order, operation) = match (self.order, self.operation) {
            (Order::Random, Operation::Read) => ("random", "reads"),
            (Order::Random, Operation::Write) => ("random", "writes"),
            (Order::Sequential, Operation::Read) => ("sequential", "reads"),
            (Order::Sequential, Operation::Write) => ("sequential", "writes"),
        };
        format!(
            "{order} {operation} of {size} KiB, {} at a time",
            self.depth
        )
    }
}

impl Medium {
    /// As files and people say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => "file",
        }
    }

    /// The one that a word means.
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Memory, Self::File];
        all.into_iter().find(|medium| medium.word() == word)
    }
}

fn media(table: &mut Table) -> Result<Vec<Medium>> {
    let words = table.texts("media")?;
    let media: Option<Vec<Medium>> = words.iter().map(|word| Medium::from_word(word)).collect();
    let media = media.filter(|media| !media.is_empty());
    media.ok_or_else(|| table.error("media", "memory, file or both are expected"))
}

fn region(table: &mut Table, key: &str) -> Result<Option<(f64, f64)>> {
    match table.numbers(key)?.as_deref() {
        None => Ok(None),
        Some(&[low, high]) if low <= high => Ok(Some((low, high))),
        Some(_) => Err(table.error(key, "two numbers, the smaller first, are expected")),
    }
}
