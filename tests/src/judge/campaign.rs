//! A number of lines, what came of them on both sides, and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::bench::{Bench, Outcome, Side, State};
use super::forms::{Usage, parse};
use super::known::{Known, known};
use super::lines::{COMMANDS_LEFT_OUT, line};
use super::neutral;
use super::outcome::{Difference, compare};
use super::random::Random;
use super::states::{Recipe, all};
use crate::tool::Tool;

/// Commands with so many forms that they get more lines.
const OFTEN: &[&str] = &[
    "lvcreate",
    "lvconvert",
    "lvchange",
    "vgchange",
    "lvextend",
    "vgcreate",
];

/// How many more numbers of lines a class shows.
const OTHERS_MAX: usize = 6;

/// Characters of a line that an example shows.
const SHOWN_MAX: usize = 120;

/// What is to be compared.
#[derive(Debug, Clone, Default)]
pub struct Campaign {
    /// How many lines.
    pub cases: u64,
    /// Where the numbers that choose them begin.
    pub seed: u64,
    /// Lines of these commands only, with commas between them.
    pub only: Option<String>,
    /// The line of this number only, with all that both sides did.
    pub at: Option<u64>,
    /// This line only, in each state that is asked for, with all that both sides did. `@2` is the
    /// third disk there, `@files` the folder of files.
    pub line: Option<String>,
    /// Lines from these states only, with commas between them.
    pub state: Option<String>,
}

/// Lines that differ in one way.
#[derive(Debug, Clone, Default)]
pub struct Class {
    /// How many.
    pub count: u64,
    /// One of them.
    pub example: String,
    /// The numbers of the next ones.
    pub others: Vec<u64>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// Lines that ran.
    pub lines: u64,
    /// States that they started from.
    pub states: usize,
    /// Lines that differ only as listed.
    pub listed: u64,
    /// Lines that differ in other ways.
    pub unlisted: u64,
    /// Those of them that differ in words only.
    pub words: u64,
    /// By command and kind of difference.
    pub classes: BTreeMap<String, Class>,
    /// Lines of each command, and those of them that differ in ways that are not listed.
    pub commands: BTreeMap<String, (u64, u64)>,
    /// Lines by the reason for which their differences are listed.
    pub reasons: BTreeMap<&'static str, u64>,
    /// All that both sides did with the line that was asked for.
    pub shown: String,
}

/// A line to be run.
struct Case {
    number: u64,
    state: usize,
    command: String,
}

impl Campaign {
    /// Compares, and tells after each line how many were done.
    pub fn run(&self, mut tell: impl FnMut(u64, &Report)) -> Report {
        let usages = usages(self.only.as_deref());
        let mut recipes = all();
        if let Some(states) = &self.state {
            recipes.retain(|recipe| states.split(',').any(|one| one == recipe.name));
        }
        let bench = Bench::new();
        let known = known();
        let mut report = Report::default();
        let mut cases = self.chosen(&usages, &recipes);
        cases.sort_by_key(|case| case.state);
        let mut state: Option<(usize, State)> = None;
        for case in cases {
            if state
                .as_ref()
                .is_none_or(|(number, _)| *number != case.state)
            {
                state = Some((case.state, bench.state(&recipes[case.state])));
                report.states += 1;
            }
            let (_, start) = state.as_ref().expect("it was made above");
            self.compare(&bench, start, &case, &usages, &known, &mut report);
            tell(report.lines, &report);
        }
        report
    }

    fn chosen(&self, usages: &BTreeMap<String, Usage>, recipes: &[Recipe]) -> Vec<Case> {
        let often = OFTEN
            .iter()
            .filter(|name| usages.contains_key(**name))
            .flat_map(|name| [*name; 2]);
        let commands: Vec<&str> = usages.keys().map(String::as_str).chain(often).collect();
        if let Some(line) = &self.line {
            let command = line.split(' ').next().unwrap_or_default().to_owned();
            let in_state = |state| Case {
                number: state as u64,
                state,
                command: command.clone(),
            };
            return (0..recipes.len()).map(in_state).collect();
        }
        let numbers = match self.at {
            Some(number) => number..number + 1,
            None => 0..self.cases,
        };
        let choose = |number| {
            let mut random = Random::new(!self.seed, number);
            Case {
                number,
                state: random.below(recipes.len()),
                command: random.pick(&commands).to_owned(),
            }
        };
        numbers.map(choose).collect()
    }

    fn compare(
        &self,
        bench: &Bench,
        state: &State,
        case: &Case,
        usages: &BTreeMap<String, Usage>,
        known: &[Known],
        report: &mut Report,
    ) {
        let mut random = Random::new(self.seed, case.number);
        let words = if let Some(line) = &self.line {
            let line = line.replace("@files", &state.names.folder);
            line.split(' ').map(|word| bench.word(word)).collect()
        } else {
            let usage = &usages[&case.command];
            line(&case.command, usage, &state.names, &mut random)
        };
        let input = random.pick(&["", "n\n", "y\n", "y\ny\ny\n"]);
        let stock = bench.run(state, Side::Stock, &words, input);
        let ours = bench.run(state, Side::Ours, &words, input);
        let differences = compare(&case.command, &stock, &ours);
        report.lines += 1;
        let of_command = report.commands.entry(case.command.clone()).or_default();
        of_command.0 += 1;
        let shown = format!("#{} {}: lvm {}", case.number, state.name, shown(&words));
        if self.at.is_some() || self.line.is_some() {
            let (theirs, here) = (said("stock", &stock), said("ours", &ours));
            let all = format!("{shown}\n{theirs}{here}{differences:#?}\n");
            report.shown.push_str(&all);
        }
        if differences.is_empty() {
            return;
        }
        let about = known
            .iter()
            .filter(|known| known.is_about(&case.command, state.name));
        let about: Vec<&Known> = about.collect();
        if let Some(all) = about
            .iter()
            .find(|known| known.covers_all(&words.join(" "), &stock, &ours))
        {
            report.listed += 1;
            *report.reasons.entry(all.reason).or_default() += 1;
            return;
        }
        let mut reasons = BTreeSet::new();
        let mut left: Vec<&Difference> = Vec::new();
        for difference in &differences {
            match about.iter().find(|known| known.covers(difference)) {
                Some(known) => drop(reasons.insert(known.reason)),
                None => left.push(difference),
            }
        }
        if left.is_empty() {
            report.listed += 1;
            for reason in reasons {
                *report.reasons.entry(reason).or_default() += 1;
            }
            return;
        }
        of_command.1 += 1;
        report.unlisted += 1;
        report.words += u64::from(left.iter().all(|one| one.what.is_words()));
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let known = &state.names;
        names.extend(known.groups.iter().chain(&known.tags).map(String::as_str));
        names.extend(
            known
                .volumes
                .iter()
                .filter_map(|name| name.rsplit('/').next()),
        );
        names.extend(
            words
                .iter()
                .skip(1)
                .map(String::as_str)
                .filter(|word| word.len() < 3),
        );
        let classes: BTreeSet<String> = left
            .iter()
            .map(|one| class(&case.command, one, &names))
            .collect();
        for name in classes {
            let class = report.classes.entry(name).or_default();
            class.count += 1;
            if class.example.is_empty() {
                let (theirs, here) = (first_word(&stock), first_word(&ours));
                class.example = format!("{shown}\n        {theirs} -> {here}");
            } else if class.others.len() < OTHERS_MAX {
                class.others.push(case.number);
            }
        }
    }
}

/// The class of a difference: its command and its kind.
fn class(command: &str, difference: &Difference, names: &BTreeSet<&str>) -> String {
    use super::outcome::What;
    let kind = match difference.what {
        What::Field => {
            let (path, _) = difference
                .text
                .split_once(": ")
                .unwrap_or((&difference.text, ""));
            path.rsplit('/').next().unwrap_or_default().to_owned()
        }
        What::Report => String::new(),
        What::Hang | What::Code => difference.text.clone(),
        What::Lacks | What::Form | What::Adds => neutral::kind(&difference.text, names),
    };
    format!("{command} {} {kind}", difference.what.name())
}

/// The first line that a side says in complaint, or else at all.
fn first_word(outcome: &Outcome) -> String {
    let said = [&outcome.stderr, &outcome.stdout].map(|text| neutral::lines(text));
    let first = said.iter().flatten().next();
    let line = first.map_or("(nothing)", String::as_str);
    line.chars().take(SHOWN_MAX).collect()
}

fn said(who: &str, outcome: &Outcome) -> String {
    format!(
        "--- {who}: {:?}\n{}{}",
        outcome.code, outcome.stdout, outcome.stderr
    )
}

/// A line as one would type it.
fn shown(words: &[String]) -> String {
    let is_plain = |word: &str| {
        let fine = |c: char| c.is_alphanumeric() || "-_+=/.,:@%".contains(c);
        !word.is_empty() && word.chars().all(fine)
    };
    let show = |word: &String| {
        if is_plain(word) {
            word.clone()
        } else {
            format!("'{word}'")
        }
    };
    words.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// What stock says of its commands' lines.
fn usages(only: Option<&str>) -> BTreeMap<String, Usage> {
    let ask = |words: &[&str]| {
        let tool = Tool::new("lvm")
            .env("LVM_SUPPRESS_FD_WARNINGS", "1")
            .args(words)
            .run();
        tool.text() + &tool.complaints()
    };
    let list = ask(&["help"]);
    let names = list
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let names = names.map(|(name, _)| name).filter(|name| {
        let is_name = name.chars().all(|c| c.is_ascii_lowercase());
        is_name && !name.is_empty() && !COMMANDS_LEFT_OUT.contains(name)
    });
    let names = names.filter(|name| {
        let is_one = |only: &str| only.split(',').any(|one| one == *name);
        only.is_none_or(is_one)
    });
    names
        .map(|name| (name.to_owned(), parse(name, &ask(&[name, "--longhelp"]))))
        .collect()
}

impl Report {
    /// How many lines of a hundred differ in ways that are not listed.
    pub fn unlisted_percent(&self) -> f64 {
        100.0 * self.unlisted as f64 / self.lines.max(1) as f64
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)?;
        let mut classes: Vec<_> = self.classes.iter().collect();
        classes.sort_by_key(|(_, class)| std::cmp::Reverse(class.count));
        for (name, class) in classes {
            writeln!(f, "{:>6}  {name}\n        {}", class.count, class.example)?;
            if !class.others.is_empty() {
                let numbers = class.others.iter().map(|number| format!("#{number}"));
                writeln!(f, "        also {}", numbers.collect::<Vec<_>>().join(" "))?;
            }
        }
        for (name, (lines, unlisted)) in &self.commands {
            writeln!(f, "{unlisted:>6}  of {lines} lines of {name} differ")?;
        }
        for (reason, count) in &self.reasons {
            writeln!(f, "{count:>6}  listed: {reason}")?;
        }
        let percent = |count: u64| 100.0 * count as f64 / self.lines.max(1) as f64;
        let (listed, unlisted) = (percent(self.listed), percent(self.unlisted));
        let words = percent(self.words);
        let (lines, states) = (self.lines, self.states);
        writeln!(
            f,
            "{lines} lines from {states} states: {unlisted:.1} % differ ({words:.1} % in words \
             only), {listed:.1} % as listed"
        )
    }
}
