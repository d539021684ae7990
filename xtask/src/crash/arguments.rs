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
    pub(super) fault: Option<String>,
    /// Only this case, and nothing else.
    pub(super) case: Option<String>,
}

impl Arguments {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut parsed = Self {
            subjects: Vec::new(),
            seed: None,
            states: None,
            fault: None,
            case: None,
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
                "--fault" => parsed.fault = Some(value()?.clone()),
                "--case" => parsed.case = Some(value()?.clone()),
                "--help" | "-h" => return Err(help()),
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
        "usage: cargo xtask crash [{}]… [--seed N] [--states N] [--case NAME] [--fault NAME]",
        names.join("|")
    )
}

fn help() -> String {
    let mut text = usage();
    text.push_str(
        "\n\nTakes the power away at every moment, and looks at what is left. Each subject prints \
         the number of\nits states, and then makes mistakes on purpose, each of which must be \
         found.\n\n",
    );
    let line = |subject: &Subject| format!("  {:10} {}\n", subject.name, subject.what);
    text.extend(SUBJECTS.iter().map(line));
    text.push_str(
        "
  --seed N      for what is chosen by chance; 1 if nothing is said
  --states N    metadata, faults: cases chosen by the seed, until there are so many states;
                races: so many orders as cost the same; mirror, move, snapshot, merge, raid,
                integrity: so many different states
  --case NAME   one case of metadata: 2.1.17 is on 2 disks with 1 area each, number 17; or the
                number of a pair of races
  --fault NAME  only this mistake: a flush that is left out (metadata), or another one (races,
                mirror, move, snapshot, merge, raid, integrity)

The same arguments give the same states in the same order. What is broken is printed with the
command that repeats it. docs/crash.md has the argument behind it, and what was found.",
    );
    text
}
