//! Lines for both sides: a form of a command, some of its options, values that fit or do not.

use super::forms::{Choice, Form, Usage};
use super::random::Random;
use super::values::{self, Names};

/// Options that are in no line, and why. Lines without them are compared.
pub(super) const LEFT_OUT: &[(&str, &str)] = &[
    ("activate", ACTIVE),
    ("refresh", ACTIVE),
    ("monitor", ACTIVE),
    ("poll", ACTIVE),
    ("sysinit", ACTIVE),
    ("syncaction", ACTIVE),
    ("startpoll", ACTIVE),
    ("driverloaded", ACTIVE),
    ("debug", DEBUG),
    ("verbose", DEBUG),
    ("help", HELP),
    ("longhelp", HELP),
    ("version", HELP),
];
const ACTIVE: &str = "activation: stock has no device-mapper here, both run without the driver";
const DEBUG: &str = "says what the program does inside";
const HELP: &str = "the text is our own";

/// Commands that are in no line: they say what the program is, wait for others, or do nothing.
pub(super) const COMMANDS_LEFT_OUT: &[&str] = &[
    "help",
    "version",
    "lvpoll",
    "lastlog",
    "lvmsadc",
    "lvmsar",
    "lvmchange",
    "pvdata",
];

/// A line without the program's name.
pub(super) fn line(
    command: &str,
    usage: &Usage,
    names: &Names,
    random: &mut Random,
) -> Vec<String> {
    let mut words = Vec::new();
    let forms: Vec<&Form> = usage.forms.iter().filter(|form| is_kept(form)).collect();
    if forms.is_empty() {
        return vec![command.to_owned()];
    }
    let form = random.pick(&forms);
    for choice in &form.needed {
        if !random.percent(4) {
            words.push(option(choice, names, random));
        }
    }
    let one_of = kept(&form.one_of);
    if !one_of.is_empty() && !random.percent(4) {
        let choice = random.pick(&one_of);
        words.push(option(choice, names, random));
    }
    let more = [kept(&form.optional), one_of].concat();
    let common = kept(&usage.common);
    for _ in 0..[0, 1, 1, 1, 2, 2, 3][random.below(7)] {
        let from = if random.percent(15) || more.is_empty() {
            &common
        } else {
            &more
        };
        if from.is_empty() {
            continue;
        }
        let choice = random.pick(from);
        words.push(option(choice, names, random));
    }
    if random.percent(4) {
        let other: Vec<&Form> = usage.forms.iter().filter(|form| is_kept(form)).collect();
        let other = kept(&random.pick(&other).needed);
        if !other.is_empty() {
            let choice = random.pick(&other);
            words.push(option(choice, names, random));
        }
    }
    let has = |long: &str| more.iter().chain(&common).any(|choice| choice.long == long);
    if has("yes") && random.percent(40) {
        words.push(vec!["-y".to_owned()]);
    }
    if has("force") && random.percent(15) {
        words.push(vec![random.pick(&["-f", "--force", "-ff"]).to_owned()]);
    }
    random.shuffle(&mut words);
    let operands = operands(form, names, random);
    let at = random.below(words.len() + 1);
    let at = if random.percent(50) { words.len() } else { at };
    words.insert(at, operands);
    let words = words.into_iter().flatten();
    std::iter::once(command.to_owned()).chain(words).collect()
}

fn is_kept(form: &Form) -> bool {
    form.needed.iter().all(|choice| !is_left_out(choice))
}

fn is_left_out(choice: &Choice) -> bool {
    LEFT_OUT.iter().any(|(long, _)| *long == choice.long)
}

fn kept(choices: &[Choice]) -> Vec<&Choice> {
    choices
        .iter()
        .filter(|choice| !is_left_out(choice))
        .collect()
}

/// An option with its value, written in one of the ways there are.
fn option(choice: &Choice, names: &Names, random: &mut Random) -> Vec<String> {
    let long = format!("--{}", choice.long);
    let short = choice
        .short
        .filter(|_| random.percent(60))
        .map(|short| format!("-{short}"));
    let word = short.clone().unwrap_or(long);
    let Some(value) = values::of(choice, names, random) else {
        return vec![word];
    };
    match random.below(3) {
        0 if short.is_some() && !value.is_empty() => vec![word + &value],
        0 if short.is_none() => vec![format!("{word}={value}")],
        _ => vec![word, value],
    }
}

fn operands(form: &Form, names: &Names, random: &mut Random) -> Vec<String> {
    let mut words = Vec::new();
    for operand in &form.operands {
        let mut count = match (operand.is_needed, operand.repeats) {
            (true, true) => 1 + random.below(2),
            (true, false) => 1,
            (false, true) => [0, 0, 1, 1, 2][random.below(5)],
            (false, false) => random.below(2),
        };
        if random.percent(4) {
            count = random.below(3);
        }
        for _ in 0..count {
            words.push(values::operand(&operand.what, names, random));
        }
    }
    if random.percent(2) {
        words.push("extra".to_owned());
    }
    words
}
