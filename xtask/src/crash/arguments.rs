//! What is to be explored, and how much of it.

use super::subjects::{SUBJECTS, Subject};

/// What the command line says.
#[derive(Clone)]
pub(super) struct Arguments {
    pub(super) subjects: Vec<&'static Subject>,
    /// The first seed; `None`: the subject's own.
    pub(super) seed: Option<u64>,
    /// Different states that are wanted; `None`: the subject's own number.
    pub(super) states: Option<u64>,
    /// Only this mistake, and nothing else.
    pub(super) plant: Option<String>,
}

impl Arguments {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut parsed = Self {
            subjects: Vec::new(),
            seed: None,
            states: None,
            plant: None,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || {
                rest.next()
                    .ok_or(format!("{argument} needs a value\n{}", usage()))
            };
            match argument.as_str() {
                "--seed" => parsed.seed = Some(number(value()?)?),
                "--states" => parsed.states = Some(number(value()?)?),
                "--plant" => parsed.plant = Some(value()?.clone()),
                name => match SUBJECTS.iter().find(|subject| subject.name == name) {
                    Some(subject) => parsed.subjects.push(subject),
                    None => return Err(format!("'{name}' is not understood\n{}", usage())),
                },
            }
        }
        if parsed.subjects.is_empty() {
            parsed.subjects = SUBJECTS.iter().collect();
        }
        Ok(parsed)
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("'{text}' is no number\n{}", usage()))
}

fn usage() -> String {
    let names: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
    format!(
        "usage: cargo xtask crash [{}]… [--seed N] [--states N] [--plant NAME]",
        names.join("|")
    )
}
